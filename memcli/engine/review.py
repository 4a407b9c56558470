"""One queue of what a person should look at, computed from the store: nothing has to be remembered to be in it.

proposal       a proposed fact
procedure      a pending procedure, or one that is due for review
doubted        a fact that was denied, or marked for review
drift          a fact that was made or edited by hand
stale          a fact whose check failed
basis          a fact derived from a value that is no longer current
contradiction  two facts that are opposites of each other, or a proposal against a fact
echo           a fact or an episode that still asserts the former value of another fact
"""

import json
from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import fanout, gate, procedural, promotion, remember, verify
from memcli.model import policy, records, words
from memcli.model.records import Fact, Opinion
from memcli.store import archive, episodes, facts, procedures, proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

KINDS = ("proposal", "procedure", "doubted", "drift", "stale", "basis", "contradiction", "echo")
_OPPOSITES = ("opposite", "contradicts")
_WAVED = "reviewed.json"


@value
class Item(Value):
    """One thing to look at. ref: what accept, reject and show take; why: in words; rival: the other side, if any;
    layer: where it stands; basis: of an episode, the id of the value that made it doubtful."""

    ref: str
    kind: str
    key: str
    text: str
    why: str
    sensitivity: "Sensitivity"
    rival: str = ""
    layer: str = facts.LAYER
    basis: str = ""


def queue(
    store: "Store", now: datetime, *, held: "list[Fact] | None" = None, unread: "list[str] | None" = None
) -> list[Item]:
    """Everything that waits, in the order of KINDS, whatever its label: callers show only what the reader may see.

    held: all facts, where the caller has read them. unread: gets the names of records whose file cannot be read.
    """
    every = facts.every(store, unread) if held is None else held
    live = [f for f in every if policy.current(f, now, store.settings)]
    known = {f.key: f for f in live}
    found = [
        _proposal(store, p, known, now) for p in proposals.every(store, unread) if not promotion.lapsed(store, p, now)
    ]
    found += [i for p in procedures.every(store, unread) if (i := _procedure(p, now)) is not None]
    failed = verify.stale(store)
    for fact in live:
        found += _of_fact(fact, failed)
    found += _bases(live)
    found += _contradictions(live)
    found += _echoes(store, live, now)
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

    Raises Refused where a yes has no meaning (a contradiction is settled by rejecting one side) or who says it may not
    (engine/gate.py), NotFound, UsageError.
    """
    item = find(store, ref, now)
    who = gate.judge(store, by, default_kind)
    record = _record(store, item)
    gate.check(who, record, gone=promotion.rival(store, record, now) if item.kind == "proposal" else None)
    opinion = Opinion(source=str(who), run=f"review {now:%Y-%m-%dT%H:%M:%SZ}", at=now)
    if item.kind == "proposal":
        with store.writing() as w:
            promotion.promote(w, _held(store, item), now, by=opinion)
    elif item.kind == "procedure":
        procedural.approve(store, item.key, now=now, by=str(who))
    elif item.kind == "drift":
        remember.adopt(store, item.key, now=now, source=by or (None if who.kind in policy.PEOPLE else str(who)))
    elif item.layer == episodes.LAYER:
        _wave_through(store, item)
    elif item.kind in ("doubted", "basis", "echo"):
        _keep(store, item, opinion, now)
    else:
        raise errors.Refused(f"a {item.kind} is not settled by a yes", hint=_NO_YES[item.kind])
    return item


def reject(store: "Store", ref: str, *, now: datetime, by: str | None = None, default_kind: str = "unknown") -> Item:
    """Say no: a proposal or a fact goes to the trash, a procedure is set aside. Raises Refused, NotFound."""
    item = find(store, ref, now)
    who, record = gate.judge(store, by, default_kind), _record(store, item)
    gate.check(who, record, gone=record if item.kind not in ("proposal", "procedure") else None)
    if item.kind == "proposal":
        with store.writing() as w:
            proposals.remove(w, [(_held(store, item), proposals.REJECTED)], now)
    elif item.kind == "procedure":
        procedural.reject(store, item.key, now=now, by=by, default_kind=default_kind)
    elif item.layer == episodes.LAYER:
        from memcli.engine import forget

        forget.forget(store, item.ref, now=now)
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
    gate.check(gate.judge(store, by, default_kind), held, gone=promotion.rival(store, held, now))
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


def _record(store: "Store", item: Item) -> "Any":
    """What an item is about. Raises NotFound when it is gone."""
    if item.kind == "proposal":
        return _held(store, item)
    if item.kind == "procedure":
        found: Any = procedures.get(store, item.key)
    elif item.layer == episodes.LAYER:
        found = next((e for e in episodes.newest(store) if e.id == item.ref), None)
    else:
        found = facts.get(store, item.key)
    if found is None:
        raise errors.NotFound("the record is gone already")
    return found


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


def _proposal(store: "Store", p: Fact, known: dict[str, Fact], now: datetime) -> Item:
    rival = known.get(p.key)
    rival = rival if rival is not None and promotion.contradicts(p, rival, now, store) else None
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
    """Facts derived from an id that is no longer current, or from a key whose value has changed or was denied since."""
    by_id, by_key = {f.id: f for f in live}, {f.key: f for f in live}
    former = {f.supersedes for f in live if f.supersedes}
    found = []
    for fact in live:
        for ref in fact.derived_from:
            base = by_key.get(ref) or by_id.get(ref)
            if base is not None and (at := _denied_at(base)) and policy.last_seen(fact) <= at:
                found.append(_item(fact, "basis", "what it was derived from was denied"))
                break
            moved = base is not None and ref == base.key and _before(fact, base)
            if moved or (ref in former and ref not in by_id):
                found.append(_item(fact, "basis", "what it was derived from has changed"))
                break
    return found


def _before(fact: Fact, other: Fact) -> bool:
    """Whether a fact was last said to hold before another one's value was written.

    Times are whole seconds: within one a superseded value counts as the later, since a needless look costs little.
    """
    seen = policy.last_seen(fact)
    return seen < other.updated_at or (seen == other.updated_at and bool(other.supersedes))


def _denied_at(fact: Fact) -> datetime | None:
    """When a value was last denied; None when nobody did, or when somebody has confirmed it since."""
    at = max((o.at for o in fact.denials), default=None)
    return None if at is None or (fact.confirmed_at is not None and fact.confirmed_at > at) else at


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


def _echoes(store: "Store", live: list[Fact], now: datetime) -> list[Item]:
    """What still says what was superseded or denied elsewhere: refuting one value does not leave the rest standing."""
    refuted = [*_superseded(store, live), *_denied(live)]
    if not refuted:
        return []
    found: dict[str, Item] = {}
    held = [(f, set(words.terms(f.text))) for f in live]
    for gone in refuted:
        for other, said in held:
            if other.key != gone.fact.key and gone.words <= said and policy.last_seen(other) <= gone.at:
                found.setdefault(other.id, _echo(_item(other, "echo", ""), gone))
    seen = _waved(store)
    for episode in episodes.newest(store):
        if policy.expired(episode, now):
            continue
        said = set(words.terms(" ".join((episode.text, *episode.findings))))
        for gone in refuted:
            if gone.words <= said and episode.at <= gone.at and [episode.id, gone.fact.id] not in seen:
                found.setdefault(episode.id, _echo(_of_episode(episode), gone))
    return list(found.values())


@value
class _Refuted(Value):
    """A value that no longer holds: the fact whose it was or is, its words, when it was refuted, and how."""

    fact: Fact
    words: set[str]
    at: datetime
    how: str


def _superseded(store: "Store", live: list[Fact]) -> "Iterator[_Refuted]":
    """Former values whose words are enough to tell, and gone from the present one."""
    for fact in (f for f in live if f.supersedes):
        old = next((r for r in archive.read(store, facts.LAYER, fact.name) if r["meta"]["id"] == fact.supersedes), None)
        lost = set(words.terms(old["text"])) if old else set()
        if len(lost) >= fanout.LEAST_WORDS and not lost <= set(words.terms(fact.text)):
            yield _Refuted(fact=fact, words=lost, at=fact.updated_at, how="superseded")


def _denied(live: list[Fact]) -> "Iterator[_Refuted]":
    for fact in live:
        at, said = _denied_at(fact), set(words.terms(fact.text))
        if at is not None and len(said) >= fanout.LEAST_WORDS:
            yield _Refuted(fact=fact, words=said, at=at, how="denied")


def _echo(item: Item, gone: _Refuted) -> Item:
    why = f"still says what was {gone.how} in: {gone.fact.key}"
    return item.replace(why=why, sensitivity=max(item.sensitivity, gone.fact.sensitivity), basis=gone.fact.id)


def _of_episode(episode: "records.Episode") -> Item:
    return Item(
        ref=episode.id,
        kind="echo",
        key=episode.task or episode.id,
        text=episode.text,
        why="",
        sensitivity=episode.sensitivity,
        layer=episodes.LAYER,
    )


def _waved(store: "Store") -> list[list[str]]:
    """Episodes that a person let stand although a value that they tell of was superseded: [episode, value] by id.

    An episode is never rewritten for it, so this is kept on this machine alone; an unreadable file counts as empty.
    """
    try:
        with store.folder(".memcli") as state:
            found = json.loads(state.read(_WAVED) or b"[]")
        return found if isinstance(found, list) else []
    except (errors.MemcliError, ValueError, RecursionError):
        return []


def _wave_through(store: "Store", item: Item) -> None:
    with store.writing(), store.folder(".memcli", create=True) as state:
        state.replace(_WAVED, json.dumps([*_waved(store), [item.ref, item.basis]]).encode())


def _item(fact: Fact, kind: str, why: str) -> Item:
    return Item(ref=fact.id, kind=kind, key=fact.key, text=fact.text, why=why, sensitivity=fact.sensitivity)
