"""Episodes in the index: a month's log that grew is read from where it ended, any other change reads it whole."""

from zlib import crc32

from memcli.base import clock, files
from memcli.base.value import Value, value
from memcli.index import database, document, rows
from memcli.model import labels
from memcli.store import episodes, monthly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.index.database import Connection
    from memcli.index.entries import Entries
    from memcli.model.records import Episode
    from memcli.store.folder import Store

_TICK_NS = 50 * 10**6


@value
class Change(Value):
    """Logs that changed, each with its new stamps, and logs that are gone."""

    stamps: dict[str, tuple[int, int]]
    gone: tuple[str, ...]


def changed(con: "Connection", store: "Store") -> Change | None:
    """The logs that are not as the index knows them; None when all are. There are few: each is looked at every time."""
    known = {m: (t, k) for m, t, k in con.execute("SELECT month, time, mark FROM log").fetchall()}
    months = episodes.months(store)
    with store.folder(episodes.LAYER) as folder:
        wall = clock.wall_ns()
        found = dict(zip(months, folder.stamps(months, episodes.SUFFIX), strict=True))
    steady = {m: (t if t + _TICK_NS < wall else -1, k) for m, (t, k) in found.items()}
    stamps = {m: s for m, s in steady.items() if known.get(m) != s or -1 in s}
    gone = tuple(m for m in known if m not in found)
    return Change(stamps=stamps, gone=gone) if stamps or gone else None


def apply(entries: "Entries", store: "Store", change: Change) -> None:
    """Read again what is new in the logs."""
    con = entries.con
    for month in change.gone:
        entries.drop("layer = 1 AND name = ?", (month,))
        con.execute("DELETE FROM log WHERE month = ?", (month,))
        entries.withdrew = True
    with store.folder(episodes.LAYER) as folder:
        for month, stamps in change.stamps.items():
            data = _read(folder, month)
            known = con.execute("SELECT size, crc FROM log WHERE month = ?", (month,)).fetchone()
            grown = known is not None and len(data) >= known[0] and crc32(data[: known[0]]) == known[1]
            start = known[0] if grown else 0
            if not (start and _add(entries, month, data, start)):
                _compare(entries, month, data)
            con.execute("INSERT OR REPLACE INTO log VALUES(?, ?, ?, ?, ?)", (month, *stamps, len(data), crc32(data)))


def unread(con: "Connection", store: "Store") -> int:
    """How many months have a log that cannot be read; only one of which the index knows no entry is looked at."""
    none = "NOT EXISTS (SELECT 1 FROM record WHERE record.layer = 1 AND record.name = log.month)"
    empty = con.execute(f"SELECT month FROM log WHERE {none}").fetchall()
    return sum(episodes.unreadable(episodes.read(store, month)) for (month,) in empty)


class Months:
    """The episodes behind rows; a log is read once, however many of them stand in it."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._held: dict[str, tuple[bytes, dict[str, labels.Sensitivity]]] = {}

    def serve(self, month: str, start: int, stop: int, id_: str, level: int) -> "Episode | None":
        """The episode that the index knows at this place, None when something else stands there now."""
        data, raised = self._log(month)
        found = next((e for _, _, e in monthly.spans(data[start:stop], []) if e.id == id_), None)
        if found is None:
            return None
        # Raised after the index was asked, or before it.
        label = max(found.sensitivity, labels.Sensitivity(level), raised.get(id_, labels.PUBLIC))
        return found.replace(month=month, sensitivity=label)

    def _log(self, month: str) -> tuple[bytes, dict[str, labels.Sensitivity]]:
        if month not in self._held:
            with self._store.folder(episodes.LAYER) as folder:
                data = _read(folder, month)
            self._held[month] = data, monthly.raised_labels(data) if b"<!-- raise " in data else {}
        return self._held[month]


def _read(folder: files.Folder, month: str) -> bytes:
    """The log; one that is no plain file reads as empty, as it does for every reader."""
    try:
        return monthly.normal(folder.read(month + episodes.SUFFIX, limit=None) or b"")
    except files.NotAFile:
        return b""


def _add(entries: "Entries", month: str, data: bytes, start: int) -> bool:
    """Take in what was appended by itself; False, with nothing done, when it may change what stands before it.

    It stands alone when the log ended with a whole entry, when all of its end markers are of entries that begin in it, and
    when no label is raised by it or for it.
    """
    con = entries.con
    sql = "SELECT 1 FROM record WHERE layer = 1 AND name = ? AND stop = ? LIMIT 1"
    if len(data) > start and con.execute(sql, (month, start)).fetchone() is None:
        return False
    placed = monthly.placed(data[start:], month)
    ids = {entry.id for _, _, entry in placed}
    if monthly.raised_labels(data[start:]) or not ids.issuperset(monthly.ended_ids(data[start:])):
        return False
    if not ids.isdisjoint(monthly.raised_labels(data[:start])):
        return False
    sql = f"SELECT 1 FROM record WHERE {database.BY_ID} AND +layer = 1 AND name = :month"
    if any(con.execute(sql, {"id": id_, "month": month}).fetchone() for id_ in ids):
        return False
    for begin, end, entry in placed:
        span, mark = (start + begin, start + end), crc32(data[start + begin : start + end])
        entries.add(rows.EPISODE, month, entry, span=span, mark=mark)
    return True


def _compare(entries: "Entries", month: str, data: bytes) -> None:
    """The whole month: entries that are as they were keep their rows."""
    con = entries.con
    listed = con.execute(
        "SELECT id, rid, level, key_hash FROM record WHERE layer = 1 AND name = ?", (month,)
    ).fetchall()
    known = {id_: (rid, level, mark) for id_, rid, level, mark in listed}
    for begin, end, entry in monthly.placed(data, month):
        mark = crc32(data[begin:end])
        rid, level, before = known.pop(entry.id, (0, 0, -1))
        if rid and level == int(entry.sensitivity) and before == mark:
            con.execute("UPDATE record SET start = ?, stop = ? WHERE rid = ?", (begin, end, rid))
            continue
        if rid:
            entries.drop("rid = ?", (rid,))
            entries.withdrew |= level <= document.SHOWN_UP_TO < entry.sensitivity
        entries.add(rows.EPISODE, month, entry, span=(begin, end), mark=mark)
    for rid, _, _ in known.values():
        entries.drop("rid = ?", (rid,))
