"""One reader's look at the index: the rows that are current, cleared and wanted, and the records behind them.

It is the `Corpus` that ranking asks. Rows tell what to read; what is served is read from its files and checked again.
"""

from datetime import datetime
from heapq import nlargest

from memcli.base import ids
from memcli.index import document, logs, rows
from memcli.index.rows import Row
from memcli.index.scope import Scope as Scope
from memcli.index.scope import Totals
from memcli.model import labels, policy, words
from memcli.model.records import Episode, Fact
from memcli.store import facts, naming, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeVar

    from memcli.index.database import Connection
    from memcli.index.document import Record
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

    T = TypeVar("T")

_COLUMNS = (
    "r.rid, r.layer, r.id, s.strong, s.weak, r.speaker, r.session, r.place, r.seen_at, r.flags, r.importance,"
    " r.believed, r.protected, r.kind, r.via, r.source, r.domain,"
    " r.state, r.key"
)
STATE = "CASE WHEN expires_at <= :now THEN 'expired' WHEN fades_at < :now THEN 'faded' ELSE 'current' END"
_CURRENT = (
    "r.rival = 0 AND r.level <= :level"
    " AND (r.expires_at IS NULL OR r.expires_at > :now) AND (r.fades_at IS NULL OR r.fades_at >= :now)"
)
_SIZE = "SELECT coalesce(sum(count), 0), coalesce(sum(length), 0) FROM tally WHERE level <= ?"
_ENDED = (
    f"SELECT layer, level, supersedes != '', {STATE}, count(*) FROM record WHERE rival = 0 AND rid IN ("
    "SELECT rid FROM record INDEXED BY record_expiry WHERE expires_at <= :now"
    " UNION SELECT rid FROM record INDEXED BY record_fading WHERE fades_at < :now) GROUP BY 1, 2, 3, 4"
)
_DAY = 86400.0
_FOREMOST = 1000
_CHUNK = 500
# A session, a neighbour: nothing that a reader with a clearance sees beside the index stands next to anything.
_APART = -1_000_000


class Look:
    """What a reader with a clearance may see at an instant, within a scope."""

    def __init__(
        self,
        con: "Connection",
        store: "Store",
        now: datetime,
        clearance: "Sensitivity" = labels.INTERNAL,
        scope: Scope | None = None,
        beside: "Sequence[tuple[Row, Any]]" = (),
    ) -> None:
        """beside: rows with numbers below zero, of what stands in no index, and what they stand for."""
        self.con, self.store, self.now, self.clearance = con, store, now, clearance
        self.scope = scope or Scope()
        self.blocked = sources.Blocked(store)
        self._months = logs.Months(store)
        self._hidden: dict[str, bool] = {}
        self._at = document.seconds(now)
        self._half_life = store.settings["decay.fact_half_life_days"]
        self._trust = {document.source_name(id_): trust for id_, trust in self.blocked.trust.items()}
        self._values = {"now": self._at, "level": int(clearance), **self.scope.values}
        self._bans = self._blocked()
        self._where = " AND ".join((_CURRENT, *([f"NOT {self._bans}"] if self._bans else []), *self.scope.conditions))
        self._beside: dict[int, tuple[Row, Any]] = {row.rid: (row, held) for row, held in beside}
        if clearance > document.SHOWN_UP_TO:
            self._read_beside()
        count, length = con.execute(_SIZE, (int(document.SHOWN_UP_TO),)).fetchone()
        self.count = count + len(self._beside)
        self.mean_length = (length + sum(row.length for row, _ in self._beside.values())) / max(self.count, 1)

    # --- What ranking asks (rows.Corpus)

    def frequencies(self, stems: "Iterable[str]") -> dict[str, int]:
        """In how many rows each stem stands."""
        found = {}
        for stem in stems:
            row = self.con.execute("SELECT doc FROM vocabulary WHERE term = ?", (stem,)).fetchone()
            found[stem] = row[0] if row else 0
            if self._beside:
                found[stem] += sum(stem in _stems(held) for held, _ in self._beside.values())
        return found

    def matching(self, stems: "Sequence[str]", limit: int) -> list[Row]:
        """Rows that hold any of the stems, best first; without stems the most important, surest and newest, and of them
        as many as a person may want to page through."""
        if not stems and not self.scope.phrases:
            return self._foremost(max(limit, _FOREMOST))
        # Only the best are read whole.
        best = (
            "SELECT w.rowid AS best, bm25(words, 2.0, 1.0) AS score FROM words w JOIN record r ON r.rid = w.rowid"
            f" WHERE words MATCH :match AND {self._where} ORDER BY score LIMIT :limit"
        )
        sql = (
            f"SELECT {_COLUMNS} FROM ({best}) JOIN record r ON r.rid = best JOIN stems s ON s.rid = best ORDER BY score"
        )
        found = self._rows(sql, match=self._match(stems), limit=limit)
        wanted = set(stems)
        return found + [row for row, _ in self._beside.values() if not wanted or wanted & _stems(row)]

    def around(self, near: "Iterable[Row]", reach: int) -> list[Row]:
        """Rows of the same session at most `reach` places away, without the ones given."""
        given: set[int] = set()
        places: dict[str, set[int]] = {}
        for row in near:
            given.add(row.rid)
            if row.layer == rows.EPISODE and row.session and row.rid > 0:
                places.setdefault(row.session, set()).update(range(row.place - reach, row.place + reach + 1))
        found = []
        for session, wanted in places.items():
            sql = f"SELECT {_COLUMNS} FROM record r JOIN stems s ON s.rid = r.rid WHERE r.session = :session AND r.place IN"
            sql += f" ({','.join(map(str, sorted(wanted)))}) AND {self._where}"
            found += [row for row in self._rows(sql, session=session) if row.rid not in given]
        return found

    def of_sessions(self, sessions: "Iterable[str]", limit: int) -> list[Row]:
        """The rows of sessions, at most `limit` of each, in order of place."""
        sql = (
            f"SELECT {_COLUMNS} FROM record r JOIN stems s ON s.rid = r.rid"
            f" WHERE r.session = :session AND {self._where} ORDER BY r.place LIMIT :limit"
        )
        return [row for name in sessions for row in self._rows(sql, session=name, limit=limit)]

    def spelled_like(self, stem: str, limit: int) -> list[str]:
        """Stems that share many three-letter groups with this one."""
        groups = dict.fromkeys(stem[i : i + 3] for i in range(len(stem) - 2))
        if not groups:
            return []
        found = self.con.execute(
            "SELECT stem FROM letters WHERE letters MATCH ? ORDER BY rank, stem LIMIT ?",
            (" OR ".join(map(_quoted, groups)), limit + 1),
        )
        return [other for (other,) in found.fetchall() if other != stem][:limit]

    # --- What else readers ask

    def totals(self) -> Totals:
        """The store in numbers, which no query changes."""
        current, expired, blocked = ({0: 0, 1: 0, 2: 0} for _ in range(3))
        faded = superseded = withheld = 0
        level = int(self.clearance)
        for layer, label, replaced, count in self.con.execute(
            "SELECT layer, level, replaced, count FROM tally"
        ).fetchall():
            if label > level:
                withheld += count
            else:
                current[layer] += count
                superseded += count * replaced
        # Few have ended: a sweep moves them away.
        for layer, label, replaced, state, count in self.con.execute(_ENDED, self._values).fetchall():
            if label > level:
                withheld -= count
                continue
            current[layer] -= count
            superseded -= count * replaced
            expired[layer] += count if state == "expired" else 0
            faded += count if state == "faded" else 0
        if self._bans:
            sql = f"SELECT r.layer, count(*), sum(r.supersedes != '') FROM record r WHERE {_CURRENT} AND {self._bans}"
            for layer, count, replaced in self.con.execute(f"{sql} GROUP BY 1", self._values).fetchall():
                blocked[layer], current[layer] = count, current[layer] - count
                superseded -= replaced
        return Totals(
            current=current, expired=expired, blocked=blocked, faded=faded, superseded=superseded, withheld=withheld
        )

    def withheld(self, layer: int) -> int:
        """How many current records of a layer are above the clearance."""
        sql = f"SELECT count(*) FROM record r WHERE {_CURRENT.replace('<=', '>', 1)} AND r.layer = :layer"
        return int(self.con.execute(sql, {**self._values, "layer": layer}).fetchone()[0])

    def ended(self) -> "list[tuple[str, int, str, str, str]]":
        """What the reader is cleared for and does not get: id, layer, key, supersedes, and expired, faded or blocked."""
        over = f"SELECT rid, id, layer, key, supersedes, {STATE} AS why FROM record WHERE rival = 0 AND level <= :level"
        found = self.con.execute(f"SELECT * FROM ({over}) WHERE why != 'current'", self._values).fetchall()
        if self._bans:
            banned = "SELECT r.rid, r.id, r.layer, r.key, r.supersedes, 'blocked' FROM record r"
            found += self.con.execute(f"{banned} WHERE {_CURRENT} AND {self._bans}", self._values).fetchall()
        return [(id_, layer, key, former, why) for _, id_, layer, key, former, why in found]

    def key(self, rid: int) -> str:
        """The key of a record that stands in the index without it; "" for any other."""
        found = self._beside.get(rid)
        return found[0].key if found else ""

    def wanted(self, more: str = "1") -> int:
        """How many rows the scope holds, of those that meet one more condition."""
        sql = f"SELECT count(*) FROM record r WHERE {self._where} AND {more}"
        return int(self.con.execute(sql, self._values).fetchone()[0])

    def select(self, columns: str, more: str = "1") -> "list[tuple[Any, ...]]":
        """Columns of the rows in the scope that meet one more condition."""
        sql = f"SELECT {columns} FROM record r WHERE {self._where} AND {more}"
        return list(self.con.execute(sql, self._values).fetchall())

    def any(self, what: str) -> bool:
        """True when any fact has a check ("checked"), or names what it was derived from ("lineage")."""
        where = f"{what} != ''" if what == "lineage" else what
        sql = f"SELECT 1 FROM record INDEXED BY record_{what} WHERE {where} LIMIT 1"
        return self.con.execute(sql).fetchone() is not None

    def derived_from(self, refs: "Iterable[str]") -> "tuple[list[Record], int]":
        """The records that name one of these ids or keys as what they were derived from, and how many are withheld."""
        marks = [f"instr(lineage, '{document.lineage((ref,))}')" for ref in refs if ref]
        sql = f"SELECT rid, level FROM record INDEXED BY record_lineage WHERE lineage != '' AND ({' OR '.join(marks)})"
        listed = self.con.execute(sql).fetchall() if marks else []
        shown = ",".join(str(rid) for rid, level in listed if level <= int(self.clearance))
        sql = (
            f"SELECT {_COLUMNS} FROM record r JOIN stems s ON s.rid = r.rid WHERE r.rid IN ({shown}) AND {self._where}"
        )
        found = [f for row in self._rows(sql) if (f := self.record(row)) is not None]
        return found, sum(level > int(self.clearance) for _, level in listed)

    def holding(self, stems: "Sequence[str]", limit: int) -> "list[Record]":
        """Facts and episodes that hold all of these stems."""
        sql = (
            f"SELECT {_COLUMNS} FROM words w JOIN record r ON r.rid = w.rowid JOIN stems s ON s.rid = r.rid"
            f" WHERE words MATCH :match AND r.layer < 2 AND {self._where} LIMIT :limit"
        )
        listed = self._rows(sql, match=_all(stems), limit=limit)
        return [f for row in listed if (f := self.record(row)) is not None]

    def important(self, limit: int) -> list[Row]:
        """Facts that matter whatever is asked."""
        sql = (
            f"SELECT {_COLUMNS} FROM record r INDEXED BY record_importance JOIN stems s ON s.rid = r.rid"
            f" WHERE r.importance >= {policy.PROTECTED_FROM} AND r.layer = 0 AND {self._where}"
            " ORDER BY r.importance DESC, r.seen_at DESC, r.id DESC LIMIT :limit"
        )
        return self._rows(sql, limit=limit)

    def record(self, row: Row) -> "Record | None":
        """The record behind a row as its files have it now; None when it is not there any more, or no longer for this
        reader: above the clearance, ended, or of a blocked source."""
        found = self._beside[row.rid][1] if row.rid in self._beside else self.served(row.rid)
        return self._current(row.layer, found)

    def shown(self, record: "T") -> "T":
        """A record as this reader may see it: without relations and bases that name a fact which is withheld."""
        if not isinstance(record, Fact) or not (record.relations or record.derived_from):
            return record
        named = {str(r.get("target")) for r in record.relations}.union(record.derived_from)
        return naming.without(record, {key for key in named if self.hides(key)})  # type: ignore[return-value]

    def hides(self, key: str) -> bool:
        """Whether a key is that of a fact which is withheld, so that nothing else may name it."""
        if key not in self._hidden:
            sql = "SELECT max(level) FROM record WHERE layer = 0 AND key_hash = ?"
            level = self.con.execute(sql, (document.hash_of(key),)).fetchone()[0]
            if level is None and not ids.valid(key):  # it may have had one
                self._hidden[key] = self._was_hidden(key)
            else:
                self._hidden[key] = level is not None and level > int(self.clearance)
        return self._hidden[key]

    # --- How

    def _blocked(self) -> str:
        """An SQL condition: the source is blocked; "" when none of them is."""
        if not self.blocked:
            return ""
        known = self.con.execute("SELECT DISTINCT source FROM record").fetchall()
        listed = {document.source_name(id_) for id_ in self.blocked.ids}
        names = [name for (name,) in known if name in self.blocked or name in listed]
        self._values |= {f"blocked{i}": name for i, name in enumerate(names)}
        return f"r.source IN ({', '.join(f':blocked{i}' for i in range(len(names)))})" if names else ""

    def _was_hidden(self, key: str) -> bool:
        """Whether a key that no fact has now is that of a withheld one before its renaming, or of one that is gone."""
        sql = "SELECT max(level) FROM record INDEXED BY record_formerly WHERE formerly != '' AND instr(formerly, ?)"
        level = self.con.execute(sql, (document.lineage((key,)),)).fetchone()[0]
        renamed = level is not None and level > int(self.clearance)
        return renamed or naming.ended_withheld(self.store, key, self.clearance)

    def _current(self, layer: int, found: "Record | None") -> "Record | None":
        if found is None or not policy.cleared(found.sensitivity, self.clearance) or found.source.id in self.blocked:
            return None
        if layer == rows.WORKING:
            return found
        if layer == rows.FACT:
            return found if policy.current(found, self.now, self.store.settings) else None  # type: ignore[arg-type]
        return None if policy.expired(found, self.now) else found

    def served(self, rid: int) -> "Record | None":
        """The record of a row as its files have it, whoever may see it."""
        layer, name, start, stop, id_, key_hash, level = self.con.execute(
            "SELECT layer, name, start, stop, id, key_hash, level FROM record WHERE rid = ?", (rid,)
        ).fetchone()
        if layer == rows.EPISODE:
            return self._months.serve(name, start, stop, id_, level)
        if layer == rows.PROCEDURE:
            with self.store.folder(procedures.LAYER) as folder:
                return procedures.named(self.store, folder, name)
        claims = self.con.execute("SELECT name FROM record WHERE layer = 0 AND key_hash = ?", (key_hash,)).fetchall()
        with self.store.folder(facts.LAYER) as folder:
            found = [f for (n,) in claims if (f := facts.named(self.store, folder, n)) is not None]
        return next((f for f in facts.chosen(found) if document.hash_of(f.key) == key_hash), None)

    def _read_beside(self) -> None:
        """What stands in the index without a word of it, but may be seen by this reader: read from its files."""
        # Of a scope only its layers can be asked of such a row; who serves a record asks it the rest.
        layers = [c for c in self.scope.conditions if c.startswith(("r.layer = ", "r.layer IN "))]
        where = " AND ".join(("r.rival = 0 AND r.level > :shown AND r.level <= :level", *layers))
        sql = f"SELECT r.rid, r.layer FROM record r WHERE {where}"
        hidden = self.con.execute(sql, {**self._values, "shown": int(document.SHOWN_UP_TO)}).fetchall()
        for rid, layer in hidden:
            record = self._current(layer, self.served(rid))
            if record is None:
                continue
            columns, stems = document.document(record.replace(sensitivity=labels.PUBLIC), self.store.settings)
            assert stems is not None
            names = ("speaker", "session", "seen_at", "flags", "importance", "believed", "protected", "kind", "via")
            values = {n: columns.get(n, "") for n in (*names, "domain")}
            speaker, session, *rest = values.values()
            row = (
                rid,
                layer,
                record.id,
                *stems,
                speaker,
                session,
                _APART - 10 * rid,
                *rest[:-1],
                document.source_name(record.source.id),
                rest[-1],
            )
            key = "" if isinstance(record, Episode) else record.key
            self._beside[rid] = self._row((*row, record.state, key)), record

    def _match(self, stems: "Sequence[str]") -> str:
        parts = [_quoted(" ".join(phrase)) for phrase in self.scope.phrases]
        if stems:
            parts.append(f"({' OR '.join(map(_quoted, stems))})")
        match = " AND ".join(parts)
        if not self.scope.without:
            return match
        return f"({match}) NOT ({' OR '.join(f'({_all(stems_)})' for stems_ in self.scope.without)})"

    def _foremost(self, limit: int) -> list[Row]:
        """The rows that matter most without any question; ranking sorts them by its own weights."""
        listed = self.select("r.rid, r.importance, r.believed, r.protected, r.seen_at, r.layer")
        best = nlargest(limit, listed, key=self._weight)
        found: list[Row] = []
        for start in range(0, len(best), _CHUNK):
            rids = ",".join(str(rid) for rid, *_ in best[start : start + _CHUNK])
            found += self._rows(
                f"SELECT {_COLUMNS} FROM record r JOIN stems s ON s.rid = r.rid WHERE r.rid IN ({rids})"
            )
        return found + [row for row, _ in self._beside.values()]

    def _weight(self, row: "tuple[Any, ...]") -> float:
        _, importance, believed, protected, seen, layer = row
        age = max(self._at - seen, 0.0)
        sure = self._confidence(layer, believed, protected, seen)
        return float(0.5 * importance + 0.3 * sure + 0.2 * 0.5 ** (age / (90 * _DAY)))

    def _rows(self, sql: str, **values: object) -> list[Row]:
        found = self.con.execute(sql, {**self._values, **values}).fetchall()
        return [self._row(columns) for columns in found]

    def _row(self, columns: "tuple[Any, ...]") -> Row:
        (rid, layer, id_, strong, weak, speaker, session, place, seen, flags, importance, believed, protected, kind,
         via, source, domain, state, key) = columns  # fmt: skip
        trust = min(self._trust.get(source, labels.KIND_TRUST.get(kind, 0.4)), labels.KIND_TRUST.get(via, 1.0))
        return Row(
            rid,
            layer,
            id_,
            strong,
            weak,
            speaker,
            domain if layer == rows.FACT else session,
            place,
            seen,
            flags,
            importance,
            self._confidence(layer, believed, protected, seen),
            trust,
            kind,
            state,
            key,
        )

    def _confidence(self, layer: int, believed: float, protected: int, seen: float) -> float:
        age = self._at - seen
        if layer != rows.FACT or protected or self._half_life <= 0 or age <= 0:
            return believed
        return float(believed * 0.5 ** (age / (self._half_life * _DAY)))


def phrase(text: str) -> tuple[str, ...]:
    """The stems of a phrase, to stand side by side."""
    return tuple(words.terms(text))


def _stems(row: Row) -> set[str]:
    return {*row.strong.split(), *row.weak.split()}


def _all(stems: "Iterable[str]") -> str:
    return " AND ".join(map(_quoted, stems))


def _quoted(stem: str) -> str:
    return '"' + stem.replace('"', "") + '"'
