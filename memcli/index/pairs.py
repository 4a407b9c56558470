"""Facts and procedures in the index: which of their files changed, and reading those again.

Whether a file changed is told by its ctime, inode and size. Whether a folder gained or lost names is told by its mtime.
Editors that write in place leave the folder's time alone, so each read looks at every `.md`, up to WATCHED of them;
above that, and for whatever else may slip through, all is looked at once RECHECK_NS have passed.
"""

from array import array

from memcli.base import clock
from memcli.base.value import Value, value
from memcli.index import document, rows
from memcli.store import facts, pair, procedures, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.base.files import Folder
    from memcli.index.database import Connection
    from memcli.index.entries import Entries
    from memcli.store.folder import Store

    Stamps = dict[str, tuple[int, int, int, int]]

LAYERS = ((rows.FACT, facts.LAYER), (rows.PROCEDURE, procedures.LAYER))
WATCHED = 20_000
RECHECK_NS = 30 * 10**9
# What changed so short a time ago may change again within the same tick of the file system's clock.
_TICK_NS = 50 * 10**6
# How sure the state of a folder is: look at all of it next time, look at all of it before long, sure.
_RACY, _CHAINED, _CERTAIN = 0, 1, 2


@value
class Change(Value):
    """What is new in a folder. stamps: of the names that are to be read again; gone: names without files; temps: whether
    a stopped writer's files lie there."""

    stamp: int
    certain: int
    whole: bool
    temps: bool
    stamps: "Stamps"
    gone: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        """True when no record has to be read again."""
        return not self.stamps and not self.gone


def changed(con: "Connection", store: "Store", layer: int, *, watch: bool, fresh: bool) -> Change | None:
    """What to do for one layer; None when the index says what the files say.

    watch: look for edits in place; fresh: look at everything.
    """
    sql = "SELECT stamp, checked_ns, certain, temps, names, times FROM folder WHERE layer = ?"
    known = con.execute(sql, (layer,)).fetchone()
    with store.folder(dict(LAYERS)[layer]) as folder:
        info = folder.info()
        stamp, wall = info.st_mtime_ns if info else 0, clock.wall_ns()
        if known is None or fresh:
            return _all(con, folder, layer, stamp, wall)
        due = not 0 <= wall - known[1] < RECHECK_NS
        if known[2] == _RACY or (due and known[2] == _CHAINED):
            return _all(con, folder, layer, stamp, wall)
        if stamp != known[0]:
            names = touched.between(store, dict(LAYERS)[layer], known[0], stamp)
            if names is None:
                return _all(con, folder, layer, stamp, wall)
            return _some(folder, names, stamp, wall, temps=bool(known[3]))
        return _edited(con, folder, layer, known, wall, due=due) if watch else None


def apply(entries: "Entries", store: "Store", layer: int, change: Change) -> None:
    """Read again what changed and note the state of the folder."""
    con, every = entries.con, facts if layer == rows.FACT else procedures
    upset: set[tuple[int, str]] = set()
    with store.folder(dict(LAYERS)[layer]) as folder:
        for name in change.gone:
            upset.update((h, i) for h, i, _ in entries.drop("layer = ? AND name = ?", (layer, name)))
            con.execute("DELETE FROM pair WHERE layer = ? AND name = ?", (layer, name))
        for name, stamps in change.stamps.items():
            before = [] if entries.bulk else entries.drop("layer = ? AND name = ?", (layer, name))
            record = every.named(store, folder, name)
            if record is not None:
                entries.add(layer, name, record)
                upset.add((document.hash_of(record.key), record.id))
            shown = record is not None and record.sensitivity <= document.SHOWN_UP_TO
            entries.withdrew |= not shown and any(level <= document.SHOWN_UP_TO for _, _, level in before)
            upset.update((h, i) for h, i, _ in before)
            con.execute("INSERT OR REPLACE INTO pair VALUES(?, ?, ?, ?, ?, ?)", (layer, name, *stamps))
        if layer == rows.FACT and not entries.bulk:
            _settle(entries, store, folder, upset)
    if change.nothing and not change.whole:
        con.execute("UPDATE folder SET checked_ns = ? WHERE layer = ?", (clock.wall_ns(), layer))
        return
    state = (layer, change.stamp, clock.wall_ns(), change.certain, change.temps, *_watched(con, layer))
    con.execute("INSERT OR REPLACE INTO folder VALUES(?, ?, ?, ?, ?, ?, ?)", state)


def tidy(con: "Connection") -> list[str]:
    """The layers whose folders held no file of a stopped writer when the index was last brought up to date."""
    found = con.execute("SELECT layer FROM folder WHERE NOT temps").fetchall()
    return [dict(LAYERS)[layer] for (layer,) in found]


def _all(con: "Connection", folder: "Folder", layer: int, stamp: int, wall: int) -> Change:
    listed = folder.names()
    stamps = _stamps(folder, pair.stems(listed), wall)
    known = _known(con, layer)
    return Change(
        stamp=stamp,
        certain=_RACY if wall - stamp < _TICK_NS else _CERTAIN,
        whole=True,
        temps=any(n.endswith(".tmp") for n in listed),
        stamps={n: s for n, s in stamps.items() if known.get(n) != s},
        gone=tuple(n for n in known if n not in stamps),
    )


def _some(folder: "Folder", names: "Iterable[str]", stamp: int, wall: int, *, temps: bool) -> Change:
    """What memcli's own writers say they changed."""
    stamps = _stamps(folder, names, wall)
    there = {n: s for n, s in stamps.items() if s[0] or s[2]}
    return Change(
        stamp=stamp,
        certain=_CHAINED,
        whole=False,
        temps=temps,
        stamps=there,
        gone=tuple(n for n in stamps if n not in there),
    )


def _edited(
    con: "Connection",
    folder: "Folder",
    layer: int,
    known: "tuple[int, int, int, int, str | None, bytes]",
    wall: int,
    *,
    due: bool,
) -> Change | None:
    """Edits in place of `.md` files: all are looked at on each read where there are few, else now and then."""
    stamp, _, certain, temps, names, times = known
    many = names is None
    if names and array("q", folder.change_times(names.split("\n"))).tobytes() == times:
        return None
    if many and not due:
        return None
    listed = con.execute("SELECT name, md_time, md_mark FROM pair WHERE layer = ?", (layer,)).fetchall()
    now = folder.stamps([row[0] for row in listed], pair.MD)
    odd = [row[0] for row, found in zip(listed, now, strict=True) if row[1:] != found]
    if not odd and not many:
        return None
    return Change(
        stamp=stamp, certain=certain, whole=False, temps=bool(temps), stamps=_stamps(folder, odd, wall), gone=()
    )


def _watched(con: "Connection", layer: int) -> "tuple[str | None, bytes]":
    """The `.md` files of a folder and their times, packed so that to compare them all costs no more than to look.

    None when there are too many to look at each time, "" when they have to be looked at one by one.
    """
    sql = "SELECT name, md_time FROM pair WHERE layer = ? ORDER BY name LIMIT ?"
    listed = con.execute(sql, (layer, WATCHED + 1)).fetchall()
    there = [(name + pair.MD, time) for name, time in listed if time]
    if len(listed) > WATCHED:
        return None, b""
    if len(there) != len(listed) or any("\n" in name for name, _ in there):
        return "", b""
    return "\n".join(name for name, _ in there), array("q", [time for _, time in there]).tobytes()


def _stamps(folder: "Folder", names: "Iterable[str]", wall: int) -> "Stamps":
    listed = list(names)
    texts, sides = folder.stamps(listed, pair.MD), folder.stamps(listed, pair.SIDE)
    return {
        # A file that changed within this tick is read again next time.
        name: (_steady(text[0], wall), text[1], _steady(side[0], wall), side[1])
        for name, text, side in zip(listed, texts, sides, strict=True)
    }


def _steady(time_ns: int, wall: int) -> int:
    return time_ns if time_ns + _TICK_NS < wall else -1 if time_ns else 0


def _known(con: "Connection", layer: int) -> "Stamps":
    listed = con.execute("SELECT name, md_time, md_mark, side_time, side_mark FROM pair WHERE layer = ?", (layer,))
    return {name: (a, b, c, d) for name, a, b, c, d in listed}


def _settle(entries: "Entries", store: "Store", folder: "Folder", upset: set[tuple[int, str]]) -> None:
    """One fact a key: where several files claim a key or an id, decide as `facts.every` does which one is shown."""
    con, layer = entries.con, rows.FACT
    for key_hash, id_ in upset:
        claims = con.execute(
            "SELECT name, rival OR state = 'conflict' FROM record WHERE layer = ? AND (key_hash = ? OR (id = ? AND id != ''))",
            (layer, key_hash, id_),
        ).fetchall()
        if len(claims) > 1 or any(odd for _, odd in claims):
            _decide(entries, store, folder, [name for name, _ in claims])


def settle_all(entries: "Entries", store: "Store") -> None:
    """After everything was read at once: the keys and ids that several files claim."""
    twice = "SELECT {0} FROM record WHERE layer = 0 AND {0} != '' GROUP BY {0} HAVING count(*) > 1"
    upset = {(h, "") for (h,) in entries.con.execute(twice.format("key_hash")).fetchall()}
    upset |= {(-1, i) for (i,) in entries.con.execute(twice.format("id")).fetchall()}
    if upset:
        with store.folder(facts.LAYER) as folder:
            _settle(entries, store, folder, upset)


def _decide(entries: "Entries", store: "Store", folder: "Folder", names: list[str]) -> None:
    found = {n: f for n in names if (f := facts.named(store, folder, n)) is not None}
    shown = {f.name: f for f in facts.chosen(list(found.values()))}
    for name, fact in found.items():
        before = entries.drop("layer = ? AND name = ?", (rows.FACT, name))
        entries.add(rows.FACT, name, shown.get(name, fact), rival=name not in shown)
        hidden = name not in shown or shown[name].sensitivity > document.SHOWN_UP_TO
        entries.withdrew |= hidden and any(level <= document.SHOWN_UP_TO for _, _, level in before)
