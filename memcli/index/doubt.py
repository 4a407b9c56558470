"""Which facts are quarantined by lineage: a page, an import or what was concluded from one stands behind them.

The index tells it by hashes, a whole generation at a time, so that a block over a thousand candidates reads no file for
it. A basis that is no longer there is looked up among the former values of its key: taking the page away makes no summary
of it sound.
"""

from memcli.base import ids
from memcli.index import document, rows
from memcli.index.database import BY_ID
from memcli.model import keys, labels, policy
from memcli.model.records import Fact
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memcli.index.look import Look

_CHUNK = 500
_PLACES = ("archive", "trash")
_COLUMNS = "rid, kind, level, lineage"


def among(look: "Look", rids: "Iterable[int]") -> set[int]:
    """Those of these rows that are quarantined, by their own source or by lineage. Rows that stand in no index are not
    looked at."""
    return _Walk(look).doubtful({rid for rid in rids if rid > 0})


def of_facts(look: "Look", known: "Iterable[Fact]") -> set[str]:
    """The ids of those of these facts that are quarantined, by their own source or by lineage."""
    held = list(known)
    found = {f.id for f in held if policy.quarantined(f.source)}
    derived = [f for f in held if f.derived_from and f.id not in found]
    if not derived:
        return found
    numbers = {
        f.id: look.con.execute(f"SELECT rid FROM record WHERE {BY_ID}", {"id": f.id}).fetchone() for f in derived
    }
    doubtful = _Walk(look).doubtful({row[0] for row in numbers.values() if row is not None})
    return found | {made for made, row in numbers.items() if row is not None and row[0] in doubtful}


def _rows(look: "Look", columns: str, rids: "Iterable[int]") -> "list[tuple[Any, ...]]":
    listed, found = list(rids), []
    for start in range(0, len(listed), _CHUNK):
        inside = ",".join(map(str, listed[start : start + _CHUNK]))
        found += look.con.execute(f"SELECT {columns} FROM record WHERE rid IN ({inside})").fetchall()
    return found


class _Walk:
    """One look at the bases of some rows, generation by generation; each row is looked at once, so circles are safe."""

    def __init__(self, look: "Look") -> None:
        self._look = look
        self._sources = {document.hash_of(id_) for id_ in look.blocked.untrusted}
        self._bases: dict[int, set[int]] = {}
        self._bad: set[int] = set()

    def doubtful(self, rids: set[int]) -> set[int]:
        front = rids
        while front:
            front = self._look_at(front) - self._bases.keys()
        built: dict[int, list[int]] = {}
        for rid, bases in self._bases.items():
            for base in bases:
                built.setdefault(base, []).append(rid)
        stack, found = list(self._bad), set(self._bad)
        while stack:
            for rid in built.get(stack.pop(), ()):
                if rid not in found:
                    found.add(rid)
                    stack.append(rid)
        return found & rids

    def _look_at(self, front: set[int]) -> set[int]:
        """Judge some rows by themselves; the rows that they were derived from."""
        refs: dict[int, document.Bases] = {}
        for rid, kind, level, lineage in _rows(self._look, _COLUMNS, front):
            bases = document.bases(lineage)
            self._bases[rid] = set()
            if self._own(rid, kind, level) or (not bases.lifted and self._outside(bases)):
                self._bad.add(rid)
            elif bases.hashes and not bases.lifted:
                refs[rid] = bases
        by_hash = self._of_keys({h for b in refs.values() for h in b.hashes})
        by_id = self._of_ids({i for b in refs.values() for i in b.ids})
        for rid, bases in refs.items():
            named = {document.hash_of(i): by_id[i] for i in bases.ids if i in by_id}
            missing = [h for h in bases.hashes if h not in by_hash and h not in named]
            self._bases[rid] = {r for h in bases.hashes for r in (*by_hash.get(h, ()), *named.get(h, ()))}
            if missing and self._was_doubtful(rid, set(missing)):
                self._bad.add(rid)
        return {base for rid in refs for base in self._bases[rid]}

    def _own(self, rid: int, kind: str | None, level: int) -> bool:
        if level <= int(document.SHOWN_UP_TO):
            return kind in labels.UNTRUSTED_KINDS
        record = self._look.served(rid)  # the index has no word of it
        return record is None or policy.quarantined(record.source)

    def _outside(self, bases: "document.Bases") -> bool:
        return bases.untrusted or bool(self._sources and self._sources & bases.hashes)

    def _of_keys(self, hashes: set[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        listed = list(hashes)
        for start in range(0, len(listed), _CHUNK):
            inside = ",".join(map(str, listed[start : start + _CHUNK]))
            sql = f"SELECT key_hash, rid FROM record INDEXED BY record_key WHERE layer = {rows.FACT} AND key_hash IN"
            for key_hash, rid in self._look.con.execute(f"{sql} ({inside})").fetchall():
                found.setdefault(key_hash, []).append(rid)
        return found

    def _of_ids(self, named: set[str]) -> dict[str, list[int]]:
        sql = f"SELECT rid FROM record WHERE {BY_ID}"
        found = {i: [rid for (rid,) in self._look.con.execute(sql, {"id": i}).fetchall()] for i in named}
        return {i: rids for i, rids in found.items() if rids}

    def _was_doubtful(self, rid: int, missing: set[int]) -> bool:
        """Whether a basis that is gone was quarantined by its own source when it was there."""
        record = self._look.served(rid)
        refs = [r for r in record.derived_from if document.hash_of(r) in missing] if isinstance(record, Fact) else []
        return any(self._former(ref) for ref in refs)

    def _former(self, ref: str) -> bool:
        store = self._look.store
        if ids.valid(ref):
            sql = f"SELECT name FROM record WHERE layer = {rows.FACT} AND supersedes = ?"
            names = [n for (n,) in self._look.con.execute(sql, (ref,)).fetchall()]
        else:
            names = [keys.file_name(keys.normal(ref))] if keys.possible(ref) else []
        values = (v.fact for n in names for place in _PLACES for v in facts.former(store, n, place))
        return any(ref in (f.id, f.key) and policy.quarantined(f.source) for f in values)
