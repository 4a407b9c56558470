"""Erasing for good: all former values of a key, what was proposed of it, what was derived; tombstones for what it said."""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import keys
from memcli.model.records import Episode, Fact
from memcli.store import archive, episodes, facts, folder, pair, procedures, proposals, retrievals, tombstones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from memcli.store.folder import Store, Writing

PLACES = ("archive", "trash")
# The index in .memcli/; it is made anew from the files.
_DERIVED, _DERIVED_LOCK = "index.", "index.lock"
_VECTORS = "vectors.sqlite"


@value
class Erasure(Value):
    """What erasing a key takes away.

    plan: (layer, file name, place) to the ids of its lines, None for all of them; proposed: live proposals of the key;
    values: (key, text) of all that goes, the live value included; names: the file names that it had; ids: of all of it;
    count: former values.
    """

    plan: dict[tuple[str, str, str], frozenset[str] | None]
    proposed: tuple[Fact, ...]
    values: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    ids: frozenset[str]
    count: int


def of_key(store: "Store", key: str, gone: list[Fact]) -> Erasure:
    """All former values of a key, also those from before it was renamed, and what was proposed of it.

    gone: the live facts of the key, which the caller takes out.
    """
    plan: dict[tuple[str, str, str], frozenset[str] | None] = {}
    all_of_it = list(gone)
    count = 0
    for name, place, rows, old in _former(store, key, gone):
        plan[facts.LAYER, name, place] = None if len(old) == len(rows) else frozenset(old)
        all_of_it += [f for f in rows if f.id in old]
        count += len(old)
    for name in archive.names(store, proposals.LAYER, "trash"):
        rows = facts_of(archive.read(store, proposals.LAYER, name, "trash"))
        old = {f.id for f in rows if _same_key(f.key, key)}
        if old:
            plan[proposals.LAYER, name, "trash"] = None if len(old) == len(rows) else frozenset(old)
            all_of_it += [f for f in rows if f.id in old]
    proposed = tuple(p for p in proposals.every(store) if _same_key(p.key, key))
    all_of_it += proposed
    return Erasure(
        plan=plan,
        proposed=proposed,
        values=tuple(dict.fromkeys((f.key, f.text) for f in all_of_it)),
        names=tuple(dict.fromkeys([*(f.name for f in gone), *(name for _, name, _ in plan)])),
        ids=frozenset(f.id for f in all_of_it),
        count=count,
    )


def check_readable(store: "Store", wanted: set[str]) -> None:
    """Raise BadData where a file of one of these keys cannot be read: what it says would stay, and nobody would know it."""
    if not wanted:
        return
    names = {name for key in wanted if keys.possible(key) for name in (keys.file_name(key), keys.hidden_name(key))}
    for layer, every in (
        (facts.LAYER, facts.every),
        (proposals.LAYER, proposals.every),
        (procedures.LAYER, procedures.every),
    ):
        unread: list[str] = []
        for _ in every(store, unread):
            pass
        with store.folder(*layer.split("/")) as d:
            for name in unread:
                told = pair.told_key(d, name)
                if name in names or (told and any(_same_key(told, key) for key in wanted)):
                    raise errors.BadData(
                        "a file of this key cannot be read, and would stay",
                        path=d.where(name + pair.MD),
                        hint="mend it, or move it away; then forget again",
                    )


def carry_out(w: "Writing", what: Erasure, now: datetime) -> None:
    """Erase what the plan names. The live facts are in the trash by now, and so are covered by it."""
    store = w.store
    if what.proposed:
        proposals.remove(w, [(p, "forgotten") for p in what.proposed], now)
        for p in what.proposed:
            archive.without(store, proposals.LAYER, p.name, {p.id}, "trash")
    for (layer, name, place), held in what.plan.items():
        archive.without(store, layer, name, None if held is None else set(held), place)
    drop_derived(w, what.ids)


def bury(w: "Writing", what: Erasure, now: datetime) -> int:
    """Tombstones for all that was said of the key; how many are new. Before anything is erased: after, nobody knows it."""
    return tombstones.add(w, [(facts.LAYER, key, text) for key, text in what.values], now)


def bury_episode(w: "Writing", episode: Episode, now: datetime) -> int:
    """A tombstone for the text of an episode."""
    return tombstones.add(w, [(episodes.LAYER, "", episode.text or episode.task)], now)


def check(w: "Writing", layer: str, key: str, text: str, *, again: bool) -> None:
    """Raise Purged for a value that was purged; with `again` take its tombstone away instead."""
    if w.store.check_forgotten(layer, key, text, again=again):
        tombstones.lift(w, layer, key, text)


def check_episode(w: "Writing", episode: Episode, *, again: bool) -> None:
    """As `check`, for an episode."""
    check(w, episodes.LAYER, "", episode.text or episode.task, again=again)


def drop_derived(w: "Writing", gone: "Collection[str]") -> None:
    """Remove the index (pages that are free still hold what was deleted), the vectors of what is gone, and ids and
    questions from the log of retrievals: a question may say what is forgotten. Whoever builds an index now is waited
    for: it may hold it too.
    """
    from memcli.base import lock

    retrievals.erase(w.store, gone)
    with w.store.folder(folder.STATE) as state:
        encoded = any(name.startswith(_VECTORS) for name in state.names())
    if encoded:
        from memcli.index import vectors

        vectors.forget(w.store, gone)
    with w.store.folder(folder.STATE) as state, lock.Lock(state.where(_DERIVED_LOCK), wait_seconds=60):
        for name in state.names():
            if name.startswith(_DERIVED) and name != _DERIVED_LOCK:
                state.remove(name)
        state.sync()


def file_names(store: "Store", key: str) -> list[str]:
    """The file names under which a key's values may lie."""
    live = facts.get(store, key) if keys.possible(key) else None
    regular = [keys.file_name(key), keys.hidden_name(key)] if keys.possible(key) else []
    return regular if live is None or live.name in regular else [live.name, *regular]


def facts_of(rows: "list[dict[str, Any]]") -> list[Fact]:
    """The facts of archived lines; damaged ones left out."""
    return [f for f in map(facts.from_row, rows) if f is not None]


def _former(store: "Store", key: str, gone: list[Fact]) -> "Iterator[tuple[str, str, list[Fact], set[str]]]":
    """(file name, place, its values, ids of those to erase) of each file that may hold a former value of the key."""
    chain = {f.supersedes for f in gone}
    own = list(gone)  # values of this fact: they say which keys it had before
    waiting = [key, *_former_keys(gone)]
    seen: set[str] = set()
    while waiting:
        each = waiting.pop(0)
        if each in seen:
            continue
        seen.add(each)
        names = dict.fromkeys([*(f.name for f in gone if each == key), *file_names(store, each)])
        kept = {(n, p): facts.former(store, n, p) for n in names for p in PLACES}
        for row in [f.fact for rows in kept.values() for f in reversed(rows)]:
            if each == key or row.id in chain:
                chain.add(row.supersedes)
                own.append(row)
        waiting += _former_keys(own)
        # Another fact may have taken an old key since: of its file only what leads to this one, and what was before it.
        born = max((f.created_at for f in own if each in f.renamed_from and each != key), default=None)
        taken = each != key and keys.possible(each) and facts.get(store, each) is not None
        for (name, place), rows in kept.items():
            old = {f.fact.id for f in rows if born is None or f.at < born or (f.at == born and not taken)}
            old |= {f.fact.id for f in rows if f.fact.id in chain}
            yield name, place, [f.fact for f in rows], old


def _former_keys(found: list[Fact]) -> list[str]:
    return [k for f in found for k in reversed(f.renamed_from)]


def _same_key(one: str, other: str) -> bool:
    return proposals.same(one, "")[0] == proposals.same(other, "")[0]
