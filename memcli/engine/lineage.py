"""What a fact was concluded from, and what that was concluded from in turn: references that lead nowhere, and circles.

`derived_from` names keys or ids of facts, ids of other records and of sources, or something outside the store: an
address, a path, a file. memcli writes no circle; one that was made by hand does no harm to readers and is reported.
"""

from memcli.base import errors, ids
from memcli.model import keys
from memcli.model.records import Fact
from memcli.store import archive, episodes, facts, procedures, proposals, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memcli.store.folder import Store

PLACES = ("archive", "trash")


class Web:
    """The facts of a store by what other facts call them: their key, or the id of their current value."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._more: dict[str, Fact] = {}
        self._by_id: dict[str, Fact] | None = None

    def learn(self, fact: Fact) -> None:
        """Add a fact that is about to be written; it stands for what the store has under its key."""
        self._more |= {fact.key: fact, fact.id: fact}

    def find(self, ref: str) -> Fact | None:
        """The fact that a reference means; None for anything else, former values too."""
        if ref in self._more:
            return self._more[ref]
        if ids.valid(ref):
            if self._by_id is None:
                self._by_id = {f.id: f for f in facts.every(self._store)}
            found = self._by_id.get(ref)
        else:
            found = facts.get(self._store, keys.normal(ref)) if keys.possible(ref) else None
        return None if found is not None and found.key in self._more else found

    def check(self, fact: Fact) -> None:
        """Raise UsageError when what the fact is derived from leads back to it.

        A former value of its own key is no circle: a new value may well be concluded from the one before.
        """
        stack, seen = list(fact.derived_from), set()
        while stack:
            ref = stack.pop()
            if ref == fact.id or (keys.possible(ref) and keys.normal(ref) == fact.key):
                raise errors.UsageError(
                    "derived_from would lead in a circle: the fact would be concluded from itself",
                    hint="memcli fact get KEY --json shows what a fact is derived from",
                )
            parent = None if ref in seen else self.find(ref)
            seen.add(ref)
            if parent is not None and parent.key != fact.key:
                stack += parent.derived_from


def circular(known: "Iterable[Fact]") -> list[Fact]:
    """The facts that are, over others or directly, derived from themselves."""
    held = list(known)
    by_ref = {ref: f for f in held for ref in (f.id, f.key)}
    basis = {f.key: {p.key for ref in f.derived_from if (p := by_ref.get(ref)) is not None} for f in held}
    left = _trimmed(_turned(_trimmed(_turned(basis))))
    return [f for f in held if f.key in left and _reaches(f.key, left)]


def unknown(store: "Store", known: "Iterable[Fact]") -> "Iterator[tuple[Fact, int]]":
    """Facts that are derived from what is nowhere in the store, with how many references lead nowhere.

    What looks like an address, a path or a file is outside the store and not looked for. Former, forgotten and expired
    records count as being there.
    """
    held = list(known)
    loose = {f.id: {r for r in f.derived_from if _inside(r)} for f in held}
    if not any(loose.values()):
        return
    there = {ref for f in held for ref in (f.id, f.key, f.supersedes, *f.renamed_from)}
    if set().union(*loose.values()) - there:
        there |= set(_others(store))
    for fact in held:
        gone = loose[fact.id] - there
        if gone:
            yield fact, len(gone)


def _inside(ref: str) -> bool:
    """True for what can only be a key or an id: no address, no path, no name of a file, no place in one."""
    return not any(mark in ref for mark in ("/", "\\", ":", "#")) and not _is_file(ref)


def _is_file(ref: str) -> bool:
    stem, dot, ending = ref.rpartition(".")
    return bool(stem and dot) and ending.isalnum() and len(ending) <= 5 and " " not in ending


def _others(store: "Store") -> "Iterator[str]":
    """What else a reference may mean: proposals, procedures, episodes, sources, and all that has ended."""
    for fact in proposals.every(store):
        yield from (fact.id, fact.key)
    for procedure in procedures.every(store):
        yield from (procedure.id, procedure.key)
    for source in sources.every(store):
        yield from (source.id, f"{source.kind}:{source.id}")
    for episode in episodes.newest(store):
        yield episode.id
    for place in PLACES:
        yield from (e.id for e, _, _ in episodes.former(store, place))
        for layer in (facts.LAYER, procedures.LAYER, proposals.LAYER):
            for name in archive.names(store, layer, place):
                for row in archive.read(store, layer, name, place):
                    yield from (str(row["meta"].get(n)) for n in ("id", "key"))


def _turned(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same edges the other way round."""
    turned: dict[str, set[str]] = {key: set() for key in edges}
    for key, ends in edges.items():
        for end in ends:
            turned[end].add(key)
    return turned


def _trimmed(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the keys to which nothing leads, and then without those to which nothing leads now (Kahn 1962)."""
    into = dict.fromkeys(edges, 0)
    for ends in edges.values():
        for end in ends:
            into[end] += 1
    free = [key for key, count in into.items() if not count]
    for key in free:
        for end in edges[key]:
            into[end] -= 1
            if not into[end]:
                free.append(end)
    gone = set(free)
    return {key: ends - gone for key, ends in edges.items() if key not in gone}


def _reaches(start: str, basis: dict[str, set[str]]) -> bool:
    """True when a key can be reached from itself."""
    stack, seen = list(basis[start]), set()
    while stack:
        key = stack.pop()
        if key == start:
            return True
        if key not in seen:
            seen.add(key)
            stack += basis[key]
    return False
