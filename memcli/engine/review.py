"""One queue of what a person should look at, computed from the store: nothing has to be remembered to be in it.

proposal       a proposed fact
procedure      a pending procedure, or one that is due for review
doubted        a fact that was denied, or marked for review
drift          a fact that was made or edited by hand
stale          a fact whose check failed
basis          a fact derived from a value that is no longer current
contradiction  two facts that are opposites of each other, or a proposal against a fact
echo           a fact that still asserts the former value of another
"""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import intake, procedural, promotion, remember, verify
from memcli.model import policy, records, words
from memcli.model.records import Fact, Opinion
from memcli.store import archive, facts, procedures, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

KINDS = ("proposal", "procedure", "doubted", "drift", "stale", "basis", "contradiction", "echo")
# Shorter former values ("yes", "8080") would be found everywhere.
ECHO_LEAST_WORDS = 3
_OPPOSITES = ("opposite", "contradicts")


@value
class Item(Value):
    """One thing to look at. ref: what accept, reject and show take; why: in words; rival: the other side, if any."""

    ref: str
    kind: str
    key: str
    text: str
    why: str
    sensitivity: "Sensitivity"
    rival: str = ""


def queue(store: "Store", now: datetime) -> list[Item]:
    """Everything that waits, in the order of KINDS, whatever its label: callers show only what the reader may see."""
    live = [f for f in facts.every(store) if policy.current(f, now, store.settings)]
    found = [_proposal(store, p, now) for p in proposals.every(store) if not promotion.lapsed(store, p, now)]
    found += [i for p in procedures.every(store) if (i := _procedure(p, now)) is not None]
    failed = verify.stale(store)
    for fact in live:
        found += _of_fact(fact, failed)
    found += _bases(live)
    found += _contradictions(live)
    found += _echoes(store, live)
    return sorted(found, key=lambda i: (KINDS.index(i.kind), i.key))


def find(store: "Store", ref: str, now: datetime) -> Item:
    """The item of a ref (an id, its last 8 digits or more, or a key). Raises NotFound, Refused when it is not unique."""
    every = queue(store, now)
    found = [i for i in every if ref in (i.ref, i.key)] or [i for i in every if len(ref) >= 8 and i.ref.endswith(ref)]
    if not found:
        raise errors.NotFound("nothing of this ref waits for review", hint="memcli review list")
    if len({i.ref for i in found}) > 1:
        raise errors.Refused("several items could be meant", hint="name the ref that memcli review list shows")
    return found[0]


def accept(store: "Store", ref: str, *, now: datetime, by: str | None = None, default_kind: str = "unknown") -> Item:
    """Say yes: promote a proposal, approve a procedure, keep a doubted fact, take over a hand edit.

    Raises Refused where a yes has no meaning (a contradiction is settled by rejecting one side), NotFound, UsageError.
    """
    item = find(store, ref, now)
    who = records.source(by) if by else intake.default_source(default_kind)
    opinion = Opinion(source=str(who), run=f"review {now:%Y-%m-%dT%H:%M:%SZ}", at=now)
    if item.kind == "proposal":
        with store.writing() as w:
            promotion.promote(w, _held(store, item), now, by=opinion)
    elif item.kind == "procedure":
        procedural.approve(store, item.key, now=now, by=str(who))
    elif item.kind == "drift":
        remember.adopt(store, item.key, now=now, source=by)
    elif item.kind in ("doubted", "basis", "echo"):
        _keep(store, item, opinion, now)
    else:
        raise errors.Refused(f"a {item.kind} is not settled by a yes", hint=_NO_YES[item.kind])
    return item


def reject(store: "Store", ref: str, *, now: datetime, by: str | None = None, default_kind: str = "unknown") -> Item:
    """Say no: a proposal or a fact goes to the trash, a procedure is set aside. Raises Refused, NotFound."""
    item = find(store, ref, now)
    if item.kind == "proposal":
        with store.writing() as w:
            proposals.remove(w, [(_held(store, item), "rejected")], now)
    elif item.kind == "procedure":
        procedural.reject(store, item.key, now=now, by=by, default_kind=default_kind)
    else:
        with store.writing() as w:
            fact = facts.get(store, item.key)
            if fact is None:
                raise errors.NotFound("the fact is gone already")
            facts.remove(w, [(fact, "forgotten")], now, place="trash")
    return item


def amend(
    store: "Store", ref: str, text: str, *, now: datetime, by: str | None = None, default_kind: str = "user"
) -> Item:
    """Say yes to a proposal in other words: the text becomes the fact, set by the person, and the proposal goes.

    Unchanged text is a plain yes. Raises Refused for what is no proposal, and what set_fact raises.
    """
    item = find(store, ref, now)
    if item.kind != "proposal":
        raise errors.Refused(f"a {item.kind} is not edited here", hint=_NO_EDIT.get(item.kind, "memcli fact edit KEY"))
    if text == item.text:
        return accept(store, item.ref, now=now, by=by, default_kind=default_kind)
    held, live = _held(store, item), facts.get(store, item.key)
    remember.set_fact(
        store,
        held.key,
        text,
        now=now,
        source=by,
        sensitivity=max(held.sensitivity, live.sensitivity) if live else held.sensitivity,
        tags=held.tags or None,
        domain=held.domain or None,
        importance=held.importance,
        default_kind=default_kind,
    )
    with store.writing() as w:
        proposals.remove(w, [(held, "promoted")], now)
    return item.replace(text=text)


_NO_EDIT = {"procedure": "edit its file below procedures/, or propose another"}
_NO_YES = {
    "stale": "set a new value, or run memcli verify again",
    "contradiction": "memcli review reject the side that does not hold",
}


def _held(store: "Store", item: Item) -> Fact:
    found = next((p for p in proposals.every(store) if p.id == item.ref), None)
    if found is None:
        raise errors.NotFound("the proposal is gone already")
    return found


def _keep(store: "Store", item: Item, opinion: Opinion, now: datetime) -> None:
    """A person looked and it holds: the mark goes, his word counts, and it is younger than what made it doubtful."""
    with store.writing() as w:
        fact = remember.usable(store, item.key, now)
        kept = fact.replace(needs_review="", confirmations=(*fact.confirmations, opinion), confirmed_at=now)
        facts.put(w, kept, fact)


def _proposal(store: "Store", p: Fact, now: datetime) -> Item:
    rival = promotion.rival(store, p, now)
    label = max(p.sensitivity, rival.sensitivity) if rival else p.sensitivity
    seen = proposals.observations(p)
    why = f"seen in {seen} independent run{'s' if seen != 1 else ''}" + ("; another value is known" if rival else "")
    return Item(
        ref=p.id, kind="proposal", key=p.key, text=p.text, why=why, sensitivity=label, rival=rival.text if rival else ""
    )


def _procedure(p: "records.Procedure", now: datetime) -> Item | None:
    why = "pending" if p.state == "pending" else policy.procedure_review(p, now)
    if not why or p.state == "rejected":
        return None
    return Item(ref=p.id, kind="procedure", key=p.key, text=p.title, why=why, sensitivity=p.sensitivity)


def _of_fact(fact: Fact, failed: dict[str, datetime]) -> list[Item]:
    found = []
    if fact.needs_review:
        found.append(_item(fact, "doubted", fact.needs_review))
    if fact.state in ("drift", "bare"):
        found.append(_item(fact, "drift", "edited by hand" if fact.state == "drift" else "made by hand"))
    if fact.id in failed:
        found.append(_item(fact, "stale", f"its check failed {failed[fact.id]:%Y-%m-%d}"))
    return found


def _bases(live: list[Fact]) -> list[Item]:
    """Facts derived from an id that is no longer current, or from a key whose value has changed since."""
    by_id, by_key = {f.id for f in live}, {f.key: f for f in live}
    former = {f.supersedes for f in live if f.supersedes}
    found = []
    for fact in live:
        for ref in fact.derived_from:
            base = by_key.get(ref)
            moved = base is not None and base.updated_at > policy.last_seen(fact)
            if moved or (ref in former and ref not in by_id):
                found.append(_item(fact, "basis", "what it was derived from has changed"))
                break
    return found


def _contradictions(live: list[Fact]) -> list[Item]:
    by_key = {f.key: f for f in live}
    found = []
    for fact in live:
        for row in fact.relations:
            other = by_key.get(str(row.get("target"))) if row.get("type") in _OPPOSITES else None
            if other is not None:
                label = max(fact.sensitivity, other.sensitivity)
                item = _item(fact, "contradiction", f"opposite of: {other.key}")
                found.append(item.replace(sensitivity=label, rival=other.text))
    return found


def _echoes(store: "Store", live: list[Fact]) -> list[Item]:
    """Facts that still say what another key's former value said: refuting one does not leave the rest standing."""
    held = [(f, set(words.terms(f.text))) for f in live]
    found: dict[str, Item] = {}
    for fact in (f for f in live if f.supersedes):
        old = next((r for r in archive.read(store, facts.LAYER, fact.name) if r["meta"]["id"] == fact.supersedes), None)
        gone = set(words.terms(old["text"])) if old else set()
        if len(gone) < ECHO_LEAST_WORDS or gone <= set(words.terms(fact.text)):
            continue
        for other, said in held:
            if other.key != fact.key and gone <= said and policy.last_seen(other) < fact.updated_at:
                label = max(other.sensitivity, fact.sensitivity)
                item = _item(other, "echo", f"still says what was superseded in: {fact.key}")
                found.setdefault(other.id, item.replace(sensitivity=label))
    return list(found.values())


def _item(fact: Fact, kind: str, why: str) -> Item:
    return Item(ref=fact.id, kind=kind, key=fact.key, text=fact.text, why=why, sensitivity=fact.sensitivity)
