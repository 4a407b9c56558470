"""Proposing facts: what was observed goes to `proposed/`, each new run that observes it again is one more witness.

It is a fact at once only where memcli.toml says so for the kind of its source (`engine/promotion.py`). Texts are masked,
never refused: nobody is there to be asked.
"""

import re
from datetime import datetime

from memcli.base import errors, ids, sha256
from memcli.base.value import Value, value
from memcli.engine import promotion
from memcli.model import keys, labels, policy, redact
from memcli.model.labels import Sensitivity
from memcli.model.records import Fact, Source
from memcli.store import episodes, facts, proposals, tombstones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memcli.store.folder import Store, Writing

CONFIDENCE = labels.CONFIDENCE_WORDS["medium"]
_PLACEHOLDER = re.compile(r"\[[A-Z_]{2,24}\]")


@value
class Claim(Value):
    """One statement that somebody made, and all that is known of where it comes from.

    origin: whose item it was found in; again: it may be learned though it was purged.
    """

    key: str
    text: str
    source: Source
    run: str
    sensitivity: Sensitivity
    importance: float
    origin: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    modality: str = "text"
    agent: str = ""
    ttl_minutes: int = 0
    again: bool = False


@value
class Proposed(Value):
    """What becomes of a claim.

    how: "proposed", "seen again" (one more witness), "written" (a fact at once), "unchanged", "known" (a fact already) or
    "purged" (a tombstone keeps it out).
    """

    fact: Fact
    how: str

    @property
    def writes(self) -> bool:
        """True when a file changes."""
        return self.how in ("proposed", "seen again", "written")


def plan(store: "Store", claim: Claim, now: datetime) -> Proposed | None:
    """What would become of a claim; None for one that cannot be kept (its key is personal, nothing is left of it)."""
    made = _cleaned(store, claim, now)
    if made is None:
        return None
    known = _fact(store, made, now)
    if known is not None:
        made = made.replace(key=known.key)
        if proposals.same(known.key, known.text) == proposals.same(made.key, made.text):
            return Proposed(fact=known, how="known")
    if not claim.again and _purged(store, made.key, made.text):
        return Proposed(fact=made, how="purged")
    old = proposals.find(store, made.key, made.text)
    ready = promotion.at_once(store, made, known, now)
    if ready is not None and not (old and (old.state != "ok" or old.denials)):
        return Proposed(fact=ready, how="written")
    if old is None or (old.state == "ok" and promotion.lapsed(store, old, now)):
        return Proposed(fact=made, how="proposed")
    if old.state != "ok" or proposals.same(old.key, old.text) != proposals.same(made.key, made.text):
        return Proposed(fact=old, how="unchanged")  # a person has changed it
    return again(old, made, now)


def write(w: "Writing", claims: "Iterable[Claim]", now: datetime) -> list[Proposed]:
    """Propose under the lock: each claim is looked at again, so what changed since it was planned counts."""
    done = []
    for claim in claims:
        found = plan(w.store, claim, now)
        if found is None:
            continue
        if claim.again and found.writes and _purged(w.store, found.fact.key, found.fact.text):
            tombstones.lift(w, facts.LAYER, found.fact.key, found.fact.text)
        done.append(found.replace(fact=_write(w, found, now)) if found.writes else found)
    return done


def _write(w: "Writing", found: Proposed, now: datetime) -> Fact:
    old = proposals.find(w.store, found.fact.key, found.fact.text)
    lapsed = old is not None and promotion.lapsed(w.store, old, now)
    if found.how != "written":
        if old is not None and lapsed:
            proposals.remove(w, [(old, "expired")], now)
        return proposals.put(w, found.fact, None if lapsed else old)
    if old is None or lapsed:
        return promotion.settle(w, found.fact, now)
    more = again(old, found.fact, now).fact  # what others have observed before counts for it
    stored = promotion.settle(w, more.replace(confidence=found.fact.confidence), now, witnesses=more.confirmations)
    proposals.remove(w, [(old, "promoted")], now)
    return stored


def _cleaned(store: "Store", claim: Claim, now: datetime) -> Fact | None:
    """The claim as a fact that may be stored."""
    from memcli.engine import intake

    if redact.scan(claim.key) or redact.scan(f"{claim.key}: {claim.text}", families=("secret",)):
        return None
    try:
        key = keys.normal(claim.key)
        taken = intake.take(store.settings, {"value": intake.clean(claim.text)}, mask_secrets=True)
    except errors.UsageError:
        return None
    text = taken.texts["value"].strip()
    if not any(c.isalnum() for c in _PLACEHOLDER.sub("", text)):
        return None
    return Fact(
        id=ids.derived(now, sha256.binary("\n".join((*proposals.same(key, text), claim.run)).encode())),
        key=key,
        text=text,
        source=claim.source,
        run=claim.run,
        agent=claim.agent,
        confidence=CONFIDENCE,
        ttl_minutes=claim.ttl_minutes or store.settings["defaults.ttl_minutes"],
        sensitivity=max(labels.INTERNAL, claim.sensitivity, taken.least),
        importance=claim.importance,
        domain=claim.domain,
        tags=claim.tags,
        modality=claim.modality,
        created_at=now,
        updated_at=now,
    )


def check_forgotten(store: "Store", text: str, claims: "Iterable[Claim]", *, again: bool) -> None:
    """Raise Purged for a text that was purged as an episode, or that states a fact that was."""
    if store.tombstones() is None:
        return
    store.check_forgotten(episodes.LAYER, "", text, again=again)
    for claim in claims:
        store.check_forgotten(facts.LAYER, claim.key, claim.text, again=again)


def _purged(store: "Store", key: str, text: str) -> bool:
    held = store.tombstones()
    return held is not None and held.hold(facts.LAYER, key, text)


def _fact(store: "Store", made: Fact, now: datetime) -> Fact | None:
    """The current fact of this key, however its first letters are written."""
    with facts.Shelf(store) as shelf:
        return current(store, shelf, made.key, now)


def current(store: "Store", shelf: facts.Shelf, key: str, now: datetime) -> Fact | None:
    """The current fact of a key, or of the same with other first letters."""
    return next((f for f in of_key(shelf, key) if policy.current(f, now, store.settings)), None)


def of_key(shelf: facts.Shelf, key: str) -> "Iterator[Fact]":
    """The fact of a key, and those of the same with other first letters, current or not."""
    for each in dict.fromkeys((key, key.lower(), key[:1].upper() + key[1:], key.title())):
        found = shelf.get(each)
        if found is not None:
            yield found


def again(old: Fact, made: Fact, now: datetime) -> Proposed:
    """The same seen once more: another run is one more witness, and a stricter label holds."""
    opinion = proposals.first(made).replace(at=now)
    spoken = {policy.witness(o) for o in (proposals.first(old), *old.confirmations, *old.denials)}
    label = max(old.sensitivity, made.sensitivity)
    if policy.witness(opinion) in spoken and label == old.sensitivity:
        return Proposed(fact=old, how="unchanged")
    new = old.replace(sensitivity=label)
    if policy.witness(opinion) not in spoken:
        new = new.replace(confirmations=(*old.confirmations, opinion), confirmed_at=now)
    return Proposed(fact=new, how="seen again")
