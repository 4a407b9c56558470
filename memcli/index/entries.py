"""Rows of the index: one record in, one record out, and what follows for its stems."""

from memcli.index import database, document
from memcli.index.document import COLUMNS
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from memcli.index.database import Connection
    from memcli.index.document import Record
    from memcli.model.settings import Settings

_INSERT = f"INSERT INTO record({', '.join(COLUMNS)}) VALUES({', '.join('?' * len(COLUMNS))})"
_EMPTY: "dict[str, Any]" = dict.fromkeys(COLUMNS, "") | {
    "start": 0,
    "stop": 0,
    "place": 0,
    "flags": 0,
    "length": 0,
    "said": 0,
}


_STEP = 500


class Entries:
    """The rows of one index while it is brought up to date.

    bulk: the index is being filled, so that the full-text engine reads all stems once at the end;
    progress: told now and then how many records came in;
    withdrew: a text went that readers may no longer see, so that nothing of it may stay in the file.
    """

    def __init__(
        self,
        con: "Connection",
        settings: "Settings",
        *,
        bulk: bool,
        progress: "Callable[[int], None] | None" = None,
    ) -> None:
        self.con, self.settings, self.bulk = con, settings, bulk
        self._progress, self._added = progress, 0
        self.withdrew = False
        self.sessions: set[str] = set()
        self._tally: dict[tuple[int, int, bool], tuple[int, int]] = {}
        self._stems: set[str] = set()
        self._left: set[str] = set()
        self._thinned: set[str] = set()

    def add(
        self,
        layer: int,
        name: str,
        record: "Record",
        *,
        span: tuple[int, int] = (0, 0),
        mark: int = 0,
        rival: bool = False,
    ) -> int:
        """Take a record in; the number of its row. name: of its file or month.

        span, mark: where it stands in the month's log, and a check sum of what stands there; rival: another file has its
        key and is shown instead.
        """
        columns, stems = document.document(
            record.replace(sensitivity=labels.RESTRICTED) if rival else record, self.settings
        )
        row = {
            **_EMPTY,
            **columns,
            "layer": layer,
            "name": name,
            "start": span[0],
            "stop": span[1],
            "rival": int(rival),
        }
        if mark:
            row["key_hash"] = mark
        rid = int(self.con.execute(_INSERT, [row[c] for c in COLUMNS]).lastrowid)
        self._added += 1
        if self._progress is not None and self._added % _STEP == 0:
            self._progress(self._added)
        if not rival:
            self._count(layer, row["level"], bool(row["supersedes"]), 1, row["length"])
        if row["session"]:
            self.sessions.add(row["session"])
        if stems is None:
            return rid
        self.con.execute("INSERT INTO stems VALUES(?, ?, ?)", (rid, *stems))
        if not self.bulk:
            self.con.execute("INSERT INTO words(rowid, strong, weak) VALUES(?, ?, ?)", (rid, *stems))
            self._stems.update(*(s.split() for s in stems))
        return rid

    def drop(self, where: str, values: "Iterable[Any]") -> list[tuple[int, str, int]]:
        """Take rows out; their (key_hash, id, level). where: an SQL condition."""
        sql = f"SELECT rid, key_hash, id, level, rival, layer, supersedes, session, length FROM record WHERE {where}"
        found = self.con.execute(sql, tuple(values)).fetchall()
        for rid, _, _, level, rival, layer, supersedes, session, length in found:
            self.hide(rid)
            if session:
                self._thinned.add(session)
            self.con.execute("DELETE FROM record WHERE rid = ?", (rid,))
            if not rival:
                self._count(layer, level, bool(supersedes), -1, -length)
        return [(key_hash, id_, level) for _, key_hash, id_, level, *_ in found]

    def _count(self, layer: int, level: int, replaced: bool, step: int, length: int) -> None:
        kind = (layer, level, replaced)
        count, stems = self._tally.get(kind, (0, 0))
        self._tally[kind] = count + step, stems + length

    def hide(self, rid: int) -> None:
        """Take the stems of a row out of the full text."""
        stems = self.con.execute("SELECT strong, weak FROM stems WHERE rid = ?", (rid,)).fetchone()
        if stems is not None:
            if not self.bulk:
                self.con.execute(
                    "INSERT INTO words(words, rowid, strong, weak) VALUES('delete', ?, ?, ?)", (rid, *stems)
                )
                self._left.update(*(s.split() for s in stems))
            self.con.execute("DELETE FROM stems WHERE rid = ?", (rid,))

    def finish(self) -> None:
        """What can only be said once all rows are there: places in sessions, the engine's words, their spelling, sums."""
        for kind, sums in self._tally.items():
            sql = (
                "INSERT INTO tally VALUES(?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET count = count + excluded.count, length = length + excluded.length"
            )
            self.con.execute(sql, (*kind, *sums))
        self._tally.clear()
        if self.bulk:
            database.make_indexes(self.con)
            self._number("")
            self.sessions.clear()
            self.con.execute("INSERT INTO words(words) VALUES('rebuild')")
            terms = self.con.execute("SELECT term FROM vocabulary").fetchall()
            self.con.executemany("INSERT INTO spelling(stem) VALUES(?)", [t for t in terms if _spelled(*t)])
            self.con.execute("INSERT INTO letters(letters) VALUES('rebuild')")
            return
        for session in self._thinned:
            self._number(session)
        for session in self.sessions - self._thinned:
            self._append_place(session)
        self._spell()
        self._unspell()
        if self.withdrew:
            self._clean()

    def _append_place(self, session: str) -> None:
        """Number what is new in a session: at its end when it is later than all the rest, else the whole session."""
        new = self.con.execute("SELECT rid, seen_at FROM record WHERE session = ? AND place = 0", (session,)).fetchall()
        last = self.con.execute(
            "SELECT place, seen_at, id FROM record WHERE session = ? ORDER BY place DESC LIMIT 1", (session,)
        ).fetchone()
        if len(new) == 1 and last[0] and new[0][1] > last[1]:
            self.con.execute("UPDATE record SET place = ? WHERE rid = ?", (last[0] + 1, new[0][0]))
        elif new:
            self._number(session)

    def _number(self, session: str) -> None:
        which, values = ("session = ?", (session,)) if session else ("session != ''", ())
        self.con.execute(
            "UPDATE record SET place = numbered.n FROM (SELECT rid AS r, row_number() OVER"
            " (PARTITION BY session ORDER BY seen_at, id, name, start) AS n"
            f" FROM record WHERE {which}) AS numbered WHERE rid = r",
            values,
        )

    def _spell(self) -> None:
        for stem in self._stems:
            if _spelled(stem):
                made = self.con.execute("INSERT OR IGNORE INTO spelling(stem) VALUES(?)", (stem,))
                if made.rowcount > 0:
                    self.con.execute("INSERT INTO letters(rowid, stem) VALUES(?, ?)", (made.lastrowid, stem))

    def _unspell(self) -> None:
        """Words that no record holds any more are no spelling of anything."""
        for stem in self._left - self._stems:
            known = _spelled(stem) and self.con.execute("SELECT rid FROM spelling WHERE stem = ?", (stem,)).fetchone()
            if known and not self.con.execute("SELECT 1 FROM vocabulary WHERE term = ?", (stem,)).fetchone():
                self.con.execute("INSERT INTO letters(letters, rowid, stem) VALUES('delete', ?, ?)", (*known, stem))
                self.con.execute("DELETE FROM spelling WHERE rid = ?", known)

    def _clean(self) -> None:
        """Nothing of a text that was withdrawn may stay: not in the engine's segments, not in the spelling."""
        self.con.execute("INSERT INTO words(words) VALUES('optimize')")
        self.con.execute("DELETE FROM spelling WHERE stem NOT IN (SELECT term FROM vocabulary)")
        self.con.execute("INSERT INTO letters(letters) VALUES('rebuild')")


def _spelled(stem: str) -> bool:
    """True for what may be a misspelled word: not short, not endless, letters alone."""
    return 4 <= len(stem) <= 24 and stem.isalpha()
