"""Forgetting what is neither fact nor episode: procedures, proposals by id, and what a session holds in mind.

Procedures and proposals go through the trash like facts. Working memory has no trash: what is taken out of a session does
not come back.
"""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.engine import erase, gate
from memcli.model import keys
from memcli.model.records import Fact, Procedure
from memcli.model.working import Entry, Item, Session
from memcli.store import archive, episodes, facts, procedures, proposals, tombstones, working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.store.folder import Store, Writing
    from memcli.store.tombstones import Buried

WORKING = "working"


@value
class Other(Value):
    """What a key or id means that no fact and no episode has.

    layer: procedures, proposed/facts or working; gone: the live records; session: that holds it; erased: how many former
    values a purge erases; said: (key, text) pairs to look for; buried: for tombstones; names: files that it had.
    """

    layer: str
    gone: "tuple[Procedure | Fact | Item | Entry, ...]"
    session: Session | None = None
    erased: int = 0
    said: tuple[tuple[str, str], ...] = ()
    buried: "tuple[Buried, ...]" = ()
    names: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the live records."""
        return tuple(r.id for r in self.gone)


def find(store: "Store", ref: str, *, purge: bool = False) -> Other | None:
    """The procedure of a key or id, the proposal of an id, or what a session holds under it; None for none of these.

    purge: also a procedure that only the archive or the trash has.
    """
    return _procedure(store, ref, purge) or (_by_id(store, ref) if ids.valid(ref) else None)


def carry_out(w: "Writing", what: Other, now: datetime, *, purge: bool, tombstone: bool) -> int:
    """Take it out, and with purge erase it; how many tombstones are new. Raises Refused where an agent takes a no away."""
    if any(isinstance(p, Procedure) and p.state == "rejected" for p in what.gone):
        gate.check_person("takes away a procedure that was rejected", w.store)  # it could be proposed again
    buried = tombstones.add(w, what.buried, now) if purge and tombstone else 0
    if what.layer == procedures.LAYER and what.gone:
        procedures.remove(w, [_whole(p, now) for p in what.gone if isinstance(p, Procedure)], now)
    elif what.layer == proposals.LAYER:
        proposals.remove(w, [(p, "forgotten") for p in what.gone if isinstance(p, Fact)], now)
    elif what.session is not None:
        _take_out(w, what.session, set(what.ids), now)
    if purge:
        _erase(w, what)
    return buried


def restore(w: "Writing", ref: str, now: datetime, *, again: bool) -> Procedure | Fact | None:
    """Bring a procedure or a proposal back out of the trash; None when nothing there has this key or id.

    again: also one that was purged. Raises Exists, UsageError when several could be meant, Purged, Refused.
    """
    found = [p for p in _trashed(w.store) if ref == p.id or (not ids.valid(ref) and p.key == keys.normal(ref))]
    if len({p.id for p in found}) > 1:
        listed = ", ".join(p.id for p in found)
        raise errors.UsageError("several forgotten procedures could be meant", hint=f"name one id: {listed}")
    if found:
        return _back(w, found[-1], again)
    return _proposal_back(w, ref, again) if ids.valid(ref) else None


def _back(w: "Writing", found: Procedure, again: bool) -> Procedure:
    live = next((p for p in procedures.every(w.store) if p.key == found.key), None)
    if live is not None and live.id != found.id:
        raise errors.Exists("a procedure of this key exists", hint="forget that one first")
    erase.check(w, procedures.LAYER, found.key, procedures.said(found), again=again)
    back = live
    if back is None:
        # As strict as any copy of it, and as what came after it.
        later = [p.sensitivity for _, _, p in _kept(w.store) if p.key == found.key and p.id >= found.id]
        back = found.replace(sensitivity=max([found.sensitivity, *later]))
        procedures.put(w, back)
    archive.without(w.store, procedures.LAYER, found.name, {found.id}, "trash")
    return back


def _proposal_back(w: "Writing", ref: str, again: bool) -> Fact | None:
    """The proposal of an id that was forgotten or rejected."""
    for name in archive.names(w.store, proposals.LAYER, "trash"):
        for row in archive.read(w.store, proposals.LAYER, name, "trash"):
            gone = row["meta"]["id"] == ref and row["reason"] in ("forgotten", proposals.REJECTED)
            found = facts.from_row(row) if gone else None
            if found is None:
                continue
            if row["reason"] == proposals.REJECTED:
                gate.check_person("brings up again what was rejected", w.store)
            erase.check(w, facts.LAYER, found.key, found.text, again=again)
            live = proposals.find(w.store, found.key, found.text)
            if live is not None and live.id != found.id:
                raise errors.Exists("the same is proposed again by now", hint="memcli review list")
            known = facts.get(w.store, found.key)  # what is said of a key is held as closely as its fact
            label = max(found.sensitivity, known.sensitivity) if known is not None else found.sensitivity
            back = live or proposals.put(w, found.replace(sensitivity=label))
            archive.without(w.store, proposals.LAYER, name, {ref}, "trash")
            return back
    return None


def _procedure(store: "Store", ref: str, purge: bool) -> Other | None:
    every = list(procedures.every(store))
    key = next((p.key for p in every if p.id == ref), "") if ids.valid(ref) else keys.normal(ref)
    live = [p for p in every if p.key == key] if key else []
    if not live and not purge:
        return None
    held = list(_kept(store)) if purge else []
    if not key:
        key = next((p.key for _, _, p in held if p.id == ref), "")
    gone = [*live, *(p for _, _, p in held if p.key == key)]
    if not key or not gone:
        return None
    former = [name for name, _, p in held if p.key == key]
    return Other(
        layer=procedures.LAYER,
        gone=tuple(live),
        erased=len(former),
        said=tuple(dict.fromkeys((p.key, text) for p in gone for text in _texts(p))),
        buried=tuple(dict.fromkeys((procedures.LAYER, p.key, procedures.said(p)) for p in gone)),
        names=tuple(dict.fromkeys([*(p.name for p in live), *former])),
    )


def _texts(p: Procedure) -> "Iterator[str]":
    yield p.text
    if p.title != p.key:
        yield p.title
    for step in p.steps:
        yield from (step.action, step.expected)


def _kept(store: "Store") -> "Iterator[tuple[str, str, Procedure]]":
    """(file name, place, procedure) of all that archive and trash keep."""
    for place in erase.PLACES:
        for name in archive.names(store, procedures.LAYER, place):
            yield from ((name, place, p) for p in procedures.former(store, name, place))


def _trashed(store: "Store") -> "Iterator[Procedure]":
    return (p for _, place, p in _kept(store) if place == "trash")


def _by_id(store: "Store", ref: str) -> Other | None:
    for proposal in proposals.every(store):
        if proposal.id == ref:
            pairs = ((proposal.key, proposal.text),)
            lost: tuple[Buried, ...] = ((facts.LAYER, proposal.key, proposal.text),)
            return Other(layer=proposals.LAYER, gone=(proposal,), said=pairs, buried=lost, names=(proposal.name,))
    for session in working.every(store):
        held = [h for h in session.held if h.id == ref] if session is not None else []
        if held:
            said = tuple((h.key if isinstance(h, Entry) else "", h.text) for h in held)
            # What a session notes becomes an episode or a fact: that is what must not be learned again.
            buried = tuple((facts.LAYER if key else episodes.LAYER, key, text) for key, text in said)
            return Other(layer=WORKING, gone=tuple(held), session=session, said=said, buried=buried)
    return None


def _take_out(w: "Writing", session: Session, gone: set[str], now: datetime) -> None:
    left = session.replace(
        entries=tuple(e for e in session.entries if e.id not in gone),
        items=tuple(i for i in session.items if i.id not in gone),
    )
    if left.empty and not left.taken:
        working.remove(w, session.id)
    else:
        working.write(w, left, now)


def _erase(w: "Writing", what: Other) -> None:
    gone = set(what.ids)
    for name in what.names if what.layer == procedures.LAYER else ():
        for place in erase.PLACES:
            # By key: a hand-made one got its id only on the way to the trash.
            old = {p.id for p in procedures.former(w.store, name, place) if p.key == what.buried[0][1]}
            archive.without(w.store, procedures.LAYER, name, old, place)
            gone |= old
    for name in what.names if what.layer == proposals.LAYER else ():
        archive.without(w.store, proposals.LAYER, name, gone, "trash")
    erase.drop_derived(w, gone)


def _whole(procedure: Procedure, now: datetime) -> Procedure:
    """A procedure as the trash can hold it: a hand-made one gets an id."""
    return procedure if ids.valid(procedure.id) else procedure.replace(id=ids.new(now))
