"""From proposed to known: a proposal becomes a fact after enough independent observations, or when a person accepts it.

Independent means another run or session, one count a run, whatever the source's name. A proposal whose key has another
value already is never promoted by itself: that is a contradiction, and waits for a person.

Where memcli.toml says "immediate" for a kind of source, what it states is a fact at once. It still replaces no value of
a source that is trusted more, and none that a person set: there it is proposed like everything else.
"""

from datetime import datetime, timedelta

from memcli.base import clock, errors, ids
from memcli.engine import trust
from memcli.model import policy
from memcli.model.records import Fact, Opinion
from memcli.store import facts, proposals, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.store.folder import Store, Writing

_BY_HAND = ("user", "system")


def due(store: "Store", now: datetime, held: "Iterable[Fact] | None" = None) -> list[Fact]:
    """Proposals that the store's settings promote now: observed often enough, in nobody's way, not doubted, not purged.

    held: the proposals to look at, all of the store unless given.
    """
    enough = store.settings["promotion.observations"]
    blocked = sources.Blocked(store)
    found = []
    buried = store.tombstones()
    for proposal in proposals.every(store) if held is None else held:
        if buried is not None and buried.hold(facts.LAYER, proposal.key, proposal.text):
            continue
        if proposal.state != "ok" or lapsed(store, proposal, now) or proposal.denials or proposal.source.id in blocked:
            continue
        needed = enough if _waits(store, proposal) else 1
        if proposals.observations(proposal) < needed or rival(store, proposal, now) or not sound(store, proposal):
            continue
        found.append(proposal)
    return found


def _waits(store: "Store", proposal: Fact) -> bool:
    """Whether one observation is not enough. What an import proposes gains nothing by the source that it names."""
    kinds = {proposal.source.kind, proposal.source.via or proposal.source.kind}
    return any(gated(store, kind) for kind in kinds)


def sound(store: "Store", proposal: Fact) -> bool:
    """True unless the fact that a proposal would become is derived from itself, through the facts that there are now."""
    try:
        _check_basis(store, proposal)
    except errors.UsageError:
        return False
    return True


def _check_basis(store: "Store", fact: Fact) -> None:
    if fact.derived_from:
        from memcli.engine import lineage

        lineage.Web(store).check(fact)


def lapsed(store: "Store", proposal: Fact, now: datetime) -> bool:
    """True when a proposal has ended: its own TTL has run out, or nobody has observed it again for too long.

    Too long is the setting promotion.proposal_ttl_minutes, counted from the last observation; 0 = never.
    """
    minutes = store.settings["promotion.proposal_ttl_minutes"]
    old = minutes > 0 and now - policy.last_seen(proposal) >= timedelta(minutes=min(minutes, clock.MAX_TTL_MINUTES))
    return old or policy.expired(proposal, now)


def rival(store: "Store", proposal: Fact, now: datetime) -> Fact | None:
    """The current fact of the same key that says something else."""
    live = facts.get(store, proposal.key)
    return live if live is not None and contradicts(proposal, live, now, store) else None


def contradicts(proposal: Fact, live: Fact, now: datetime, store: "Store") -> bool:
    """True when a fact is current and says something else than the proposal."""
    if not policy.current(live, now, store.settings):
        return False
    return proposals.same(live.key, live.text) != proposals.same(proposal.key, proposal.text)


def promote(w: "Writing", proposal: Fact, now: datetime, *, by: Opinion | None = None) -> Fact:
    """Make a fact of a proposal and take the proposal away. by: the person who accepted it, who counts as a witness.

    A current fact that says the same gains the proposal's witnesses; another value is superseded.
    Raises BadData when the stored fact is damaged, Purged when this was purged, UsageError when it would be derived from
    itself; Withheld never: labels are kept.
    """
    stored = settle(w, proposal, now, witnesses=_witnesses(proposal, by))
    proposals.remove(w, [(proposal, "promoted")], now)
    return stored


def promote_many(w: "Writing", ready: list[Fact], now: datetime, *, by: Opinion) -> None:
    """As `promote`, for proposals of different keys that nothing stands against, with a handful of syncs in all."""
    made: list[tuple[Fact, Fact | None]] = []
    with facts.Shelf(w.store) as shelf:
        for proposal in ready:
            live = shelf.get(proposal.key)
            made.append((_value(proposal, live, _witnesses(proposal, by), now, w.store), live))
    for fact, live in made:
        if live is not None and live.id != fact.id:  # not current any more, and archived as such
            facts.put(w, fact, live, at=now, reason="expired")
    facts.put_many(w, [(fact, live) for fact, live in made if live is None or live.id == fact.id], now)
    proposals.remove(w, [(proposal, "promoted") for proposal in ready], now)


def _witnesses(proposal: Fact, by: Opinion | None) -> tuple[Opinion, ...]:
    return (*proposal.confirmations, *((by,) if by else ()))


def settle(w: "Writing", proposal: Fact, now: datetime, *, witnesses: tuple[Opinion, ...] = ()) -> Fact:
    """Make a fact of what a proposal says, whether or not it lies in `proposed/`. Raises BadData, Purged, UsageError."""
    store = w.store
    store.check_forgotten(facts.LAYER, proposal.key, proposal.text, hint=errors.Purged.by_set)
    _check_basis(store, proposal)
    live = facts.get(store, proposal.key)
    if live is not None and live.state in ("damaged", "conflict"):
        raise errors.BadData(f"the stored record is {live.state}", path=f"facts/{live.name}.md", hint="memcli doctor")
    made = _value(proposal, live, witnesses, now, store)
    reason = "superseded" if live is not None and policy.current(live, now, store.settings) else "expired"
    return facts.put(w, made, live, at=now, reason=reason)


def _value(proposal: Fact, live: Fact | None, witnesses: tuple[Opinion, ...], now: datetime, store: "Store") -> Fact:
    strict = max(proposal.sensitivity, live.sensitivity) if live else proposal.sensitivity
    if live and policy.current(live, now, store.settings) and not contradicts(proposal, live, now, store):
        seen = tuple(dict.fromkeys((*live.confirmations, proposals.first(proposal), *witnesses)))
        return live.replace(confirmations=seen, confirmed_at=now, sensitivity=strict)
    return proposal.replace(
        id=ids.new(now, after=max(proposal.id, live.id) if live else proposal.id),
        supersedes=live.id if live else "",
        created_at=live.created_at if live else proposal.created_at,
        updated_at=now,
        confirmations=witnesses,
        confirmed_at=now if witnesses else None,
        sensitivity=strict,
        name=live.name if live else "",
        digest="",
    )


def gated(store: "Store", kind: str) -> bool:
    """True when the store keeps what is observed of this kind of source out of the facts until it is promoted."""
    said: str = store.settings[f"promotion.{kind}"] or store.settings["promotion.policy"]
    return said == "gated"


def at_once(store: "Store", made: Fact, live: Fact | None, now: datetime) -> Fact | None:
    """The fact to write without waiting, or None where it must be proposed. live: the current fact of the key.

    It is no surer than its source is trusted.
    """
    if gated(store, made.source.kind) or made.source.id in sources.Blocked(store):
        return None
    ledger = trust.Ledger(store, now, ())
    own = ledger.source(made.source)
    if live is not None and (live.source.kind in _BY_HAND or ledger.source(live.source) > own):
        return None
    with facts.Shelf(store) as shelf:
        there = shelf.get(made.key)  # ended or not
        if there.state != "ok" if there is not None else shelf.taken(facts.new_name(made)):
            return None  # edited by hand, damaged, or another file is in the way: for a person to look at
    return made.replace(confidence=min(made.confidence, own))
