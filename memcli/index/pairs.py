"""Facts and procedures in the index: which of their files changed, and reading those again.

Whether a file changed is told by its ctime, inode and size. Whether a folder gained or lost names is told by its ctime
(programs that copy or unpack set its mtime back).
Editors that write in place leave the folder's time alone, so each read looks at every `.md`, up to WATCHED records, and at
every sidecar, which few people edit, up to SIDES_WATCHED; above that a sidecar is looked at when its record is served and
when the folder changes. Above WATCHED, and where the folder was only known from what writers said, all is looked at once
RECHECK_NS have passed.
"""

from array import array
from zlib import crc32

from memcli.base import clock, sha256
from memcli.base.value import Value, value
from memcli.index import database, document, rows
from memcli.store import facts, pair, procedures, touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.base.files import Folder
    from memcli.index.database import Connection
    from memcli.index.entries import Entries
    from memcli.store.folder import Store

    # Of the two files of a name, and of what stopped writers left beside them.
    Stamps = dict[str, tuple[int, int, int, int, int]]
    Known = tuple[int, int, int, int, str | None, bytes]

LAYERS = ((rows.FACT, facts.LAYER), (rows.PROCEDURE, procedures.LAYER))
WATCHED = 20_000
SIDES_WATCHED = 2_000
RECHECK_NS = 30 * 10**9
# What changed so short a time ago may change again within the same tick of the file system's clock.
_TICK_NS = 50 * 10**6
# How sure the state of a folder is: look at all of it next time, look for new names next time (where files are watched) and
# at all of it before long, look at all of it before long, sure.
_RACY, _CHAINED_RACY, _CHAINED, _CERTAIN = 0, 1, 2, 3
# So many records may have changed since the files to watch were written down, until they are written down again.
_MOST_LOOSE = 200
_CHUNK = 500
_NOTHING = (0, 0, 0, 0, 0)


@value
class Change(Value):
    """What is new in a folder. stamps: of the names that are to be read again; gone: names without files; temps: whether
    a stopped writer's files lie there; whole: whether all was looked at; then checked_ns: when, seen: a digest of it, and
    same: whether that is the one that the index has."""

    stamp: int
    certain: int
    whole: bool
    temps: bool
    stamps: "Stamps"
    gone: tuple[str, ...]
    checked_ns: int = 0
    seen: bytes = b""
    same: bool = False


def changed(
    con: "Connection", store: "Store", layer: int, *, watch: bool, fresh: bool, quick: bool = False
) -> Change | None:
    """What to do for one layer; None when the index says what the files say.

    watch: look for edits in place; fresh: look at everything; quick: never look at all of a large folder, only at what
    memcli's own writers say they changed.
    """
    sql = "SELECT stamp, checked_ns, certain, temps, names, times FROM folder WHERE layer = ?"
    known = con.execute(sql, (layer,)).fetchone()
    with store.folder(dict(LAYERS)[layer]) as folder:
        info = folder.info()
        stamp, wall = info.st_ctime_ns if info else 0, clock.wall_ns()
        if known is None or fresh:
            return _all(con, folder, layer, stamp, wall)
        quick, many = quick and _large(con, layer), known[4] is None
        due = not quick and not 0 <= wall - known[1] < RECHECK_NS
        if (known[2] == _RACY and not quick) or (due and (many or known[2] != _CERTAIN)):
            return _all(con, folder, layer, stamp, wall)
        edited = None if many or not (watch or due) else _edited(con, folder, layer, known, wall)
        if stamp == known[0]:
            return edited
        names = touched.between(store, dict(LAYERS)[layer], known[0], stamp)
        if names is None:
            return None if quick else _all(con, folder, layer, stamp, wall)
        return _some(folder, names, stamp, wall, temps=bool(known[3]), edited=edited)


def _large(con: "Connection", layer: int) -> bool:
    sql = "SELECT count(*) FROM (SELECT 1 FROM pair WHERE layer = ? LIMIT ?)"
    return bool(con.execute(sql, (layer, SIDES_WATCHED + 1)).fetchone()[0] > SIDES_WATCHED)


def apply(entries: "Entries", store: "Store", layer: int, change: Change) -> None:
    """Read again what changed and note the state of the folder."""
    con, every = entries.con, facts if layer == rows.FACT else procedures
    upset: set[tuple[int, str]] = set()
    shown_before: list[tuple[int, str]] = []
    with store.folder(dict(LAYERS)[layer]) as folder:
        for name in change.gone:
            before = _drop(entries, layer, name)
            shown_before += [(h, i) for h, i, level in before if level <= document.SHOWN_UP_TO]
            upset.update((h, i) for h, i, _ in before)
            con.execute("DELETE FROM pair WHERE layer = ? AND name = ?", (layer, name))
        for name, stamps in change.stamps.items():
            before = [] if entries.bulk else _drop(entries, layer, name)
            record = every.named(store, folder, name)
            rid = None
            if record is not None:
                rid = entries.add(layer, name, record)
                if not entries.bulk:  # else `settle_all` finds what hangs together
                    upset.add((document.hash_of(record.key), record.id))
            if record is None:
                shown_before += [(h, i) for h, i, level in before if level <= document.SHOWN_UP_TO]
            elif record.sensitivity > document.SHOWN_UP_TO:
                entries.withdrew |= any(level <= document.SHOWN_UP_TO for _, _, level in before)
            upset.update((h, i) for h, i, _ in before)
            if record is not None and record.state == "half":
                stamps = (-1, *stamps[1:])  # it is read from the archive too
                change = change.replace(seen=b"")
            con.execute(
                "INSERT OR REPLACE INTO pair VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (layer, name, *stamps, int(not change.whole), rid),
            )
        if layer == rows.FACT and not entries.bulk:
            _settle(entries, store, folder, upset)
    entries.withdrew |= any(_hidden_now(con, layer, *each) for each in shown_before)
    _note(con, layer, change)


def _drop(entries: "Entries", layer: int, name: str) -> list[tuple[int, str, int]]:
    """Take the record of a file name out, if there is one."""
    return entries.drop("rid = (SELECT rid FROM pair WHERE layer = ? AND name = ?)", (layer, name))


def _hidden_now(con: "Connection", layer: int, key_hash: int, id_: str) -> bool:
    """True when what had been shown under a name that is gone stands under another one and is shown no more."""
    sql = "SELECT max(level) FROM record WHERE {} AND +layer = :layer AND +rival = 0"
    values = {"layer": layer, "hash": key_hash, "id": id_}
    found = [con.execute(sql.format("layer = :layer AND key_hash = :hash"), values).fetchone()[0]]
    found.append(con.execute(sql.format(f"{database.BY_ID} AND id != ''"), values).fetchone()[0])
    return any(level is not None and level > document.SHOWN_UP_TO for level in found)


def _note(con: "Connection", layer: int, change: Change) -> None:
    """The state of the folder; the files to watch are written down anew when many records have changed since."""
    if change.same:
        sql = "UPDATE folder SET stamp = ?, certain = ?, checked_ns = ? WHERE layer = ?"
        con.execute(sql, (change.stamp, change.certain, change.checked_ns, layer))
        return
    if change.whole:
        state = (layer, change.stamp, change.checked_ns, change.certain, change.temps, "", b"", change.seen)
        con.execute("INSERT OR REPLACE INTO folder VALUES(?, ?, ?, ?, ?, ?, ?, ?)", state)
    else:
        sql = "UPDATE folder SET stamp = ?, certain = ?, temps = ?, seen = x'' WHERE layer = ?"
        con.execute(sql, (change.stamp, change.certain, change.temps, layer))
        sql = "SELECT count(*) FROM (SELECT 1 FROM pair INDEXED BY pair_loose WHERE layer = ? AND loose LIMIT ?)"
        if con.execute(sql, (layer, _MOST_LOOSE + 1)).fetchone()[0] <= _MOST_LOOSE:
            return
    con.execute("UPDATE pair INDEXED BY pair_loose SET loose = 0 WHERE layer = ? AND loose", (layer,))
    con.execute("UPDATE folder SET names = ?, times = ? WHERE layer = ?", (*_watched(con, layer), layer))


def unread(con: "Connection", layer: int) -> int:
    """How many names have a text that is there and cannot be read: no plain file, not UTF-8, or no right to."""
    sql = "SELECT count(*) FROM pair INDEXED BY pair_unread WHERE layer = ? AND rid IS NULL AND md_time != 0"
    return int(con.execute(sql, (layer,)).fetchone()[0])


def tidy(con: "Connection") -> list[str]:
    """The layers whose folders held no file of a stopped writer when the index was last brought up to date."""
    found = con.execute("SELECT layer FROM folder WHERE NOT temps").fetchall()
    return [dict(LAYERS)[layer] for (layer,) in found]


def _all(con: "Connection", folder: "Folder", layer: int, stamp: int, wall: int) -> Change:
    listed, certain = folder.names(), _RACY if wall - stamp < _TICK_NS else _CERTAIN
    before = con.execute("SELECT temps, seen FROM folder WHERE layer = ?", (layer,)).fetchone()
    # Where nothing is known, all is looked at in full anyway.
    looked = folder.change_times(listed) if before else [0] * len(listed)
    seen = _seen(listed, looked, wall) if before else b""
    if seen and seen == before[1]:
        return Change(
            stamp=stamp,
            checked_ns=wall,
            certain=certain,
            whole=True,
            temps=bool(before[0]),
            stamps={},
            gone=(),
            seen=seen,
            same=True,
        )
    temps = _temps(folder, listed, wall)
    odd = _odd(con, layer, dict(zip(listed, looked, strict=True)), temps)
    known = _known(con, layer, odd) if before else {}
    stamps = {n: (*s[:4], temps.get(n, 0)) for n, s in _stamps(folder, odd, wall).items()}
    gone = {n for n, s in stamps.items() if not (s[0] or s[2])}
    return Change(
        stamp=stamp,
        checked_ns=wall,
        certain=certain,
        whole=True,
        temps=any(n.endswith(".tmp") for n in listed),
        stamps={n: s for n, s in stamps.items() if n not in gone and (known.get(n) != s or -1 in s)},
        gone=tuple(n for n in known if n in gone),
        seen=seen,
    )


def _seen(listed: list[str], times: list[int], wall: int) -> bytes:
    """A digest of all names of a folder and their times; b"" when one of them may change again within its tick."""
    if max(times, default=0) + _TICK_NS >= wall:
        return b""
    return sha256.binary("\0".join(listed).encode("utf-8", "surrogateescape") + array("q", times).tobytes())


def _odd(con: "Connection", layer: int, times: dict[str, int], temps: dict[str, int]) -> list[str]:
    """The names whose files have other times than the index knows, or of which it knows nothing.

    times: of all files of the folder by name; temps: as `_temps` gives it.
    """
    sql = "SELECT name || ?, {0} FROM pair WHERE layer = ? AND {0}"
    both = f"{sql.format('md_time')} UNION ALL {sql.format('side_time')}"
    known = dict(con.execute(both, (pair.MD, layer, pair.SIDE, layer)).fetchall())
    take = known.pop
    other = [file for file, time in times.items() if take(file, None) != time]
    left = dict(con.execute("SELECT name, temps FROM pair WHERE layer = ? AND temps", (layer,)).fetchall())
    changed = [name for name in {**left, **temps} if left.get(name, 0) != temps.get(name, 0) or temps.get(name) == -1]
    return list(dict.fromkeys((*pair.stems([*other, *known]), *changed)))


def _some(
    folder: "Folder", names: "Iterable[str]", stamp: int, wall: int, *, temps: bool, edited: "Change | None"
) -> Change:
    """What memcli's own writers say they changed, and what was edited in place meanwhile."""
    stamps = (edited.stamps if edited else {}) | _stamps(folder, names, wall)
    there = {n: s for n, s in stamps.items() if s[0] or s[2]}
    return Change(
        stamp=stamp,
        certain=_CHAINED_RACY if wall - stamp < _TICK_NS else _CHAINED,
        whole=False,
        temps=temps,
        stamps=there,
        gone=tuple(n for n in stamps if n not in there),
    )


def _edited(con: "Connection", folder: "Folder", layer: int, known: "Known", wall: int) -> Change | None:
    """Edits in place, where there are so few files that all of them are looked at on each read."""
    stamp, _, certain, temps, names, times = known
    rows = _suspects(con, folder, layer, names, times) if names else _listed(con, layer)
    if certain == _CHAINED_RACY:
        rows = dict.fromkeys(_slipped(folder, names or "", rows), _NOTHING) | rows
        certain = _CHAINED if wall - stamp >= _TICK_NS else certain
    stamps = _stamps(folder, rows, wall)
    odd = {n: (*s[:4], rows[n][4]) for n, s in stamps.items() if s[:4] != rows[n][:4] or -1 in s}
    if not odd and certain == known[2]:
        return None
    return Change(
        stamp=stamp,
        certain=certain,
        whole=False,
        temps=bool(temps),
        stamps=odd,
        gone=(),
    )


def _suspects(con: "Connection", folder: "Folder", layer: int, names: str, times: bytes) -> "Stamps":
    """What the index knows of the records whose files have another time than when they were written down, and of those
    that have changed since."""
    found = _listed(con, layer, "loose", using="INDEXED BY pair_loose")
    files, before = names.split("\n"), array("q", times)
    now = array("q", folder.change_times(files))
    if now != before:
        other = {_stem(f) for f, a, b in zip(files, now, before, strict=True) if a != b}
        left = sorted(other - found.keys())
        found |= dict.fromkeys(left, _NOTHING) | _known(con, layer, left)
    return found


def _slipped(folder: "Folder", names: str, rows: "Stamps") -> list[str]:
    """Names that came in within the tick of the folder's time, which did not change it any more."""
    known = {_stem(file) for file in names.split("\n")}
    return [n for n in pair.stems(folder.names()) if n not in known and n not in rows]


def _stem(file: str) -> str:
    return file[: -len(pair.SIDE)] if file.endswith(pair.SIDE) else file[: -len(pair.MD)]


def _known(con: "Connection", layer: int, names: list[str]) -> "Stamps":
    """What the index knows of these names."""
    found: Stamps = {}
    for start in range(0, len(names), _CHUNK):
        part = names[start : start + _CHUNK]
        found |= _listed(con, layer, f"name IN ({', '.join('?' * len(part))})", part)
    return found


def _listed(con: "Connection", layer: int, which: str = "1", values: "Iterable[str]" = (), using: str = "") -> "Stamps":
    sql = f"SELECT name, md_time, md_mark, side_time, side_mark, temps FROM pair {using} WHERE layer = ? AND {which}"
    return {name: tuple(stamps) for name, *stamps in con.execute(sql, (layer, *values)).fetchall()}


def _watched(con: "Connection", layer: int) -> "tuple[str | None, bytes]":
    """The files of a folder and their times, packed so that to compare them all costs little more than to look.

    None when there are too many to look at each time, "" when they have to be looked at one by one.
    """
    sql = "SELECT name, md_time, side_time FROM pair WHERE layer = ? ORDER BY name LIMIT ?"
    listed = con.execute(sql, (layer, WATCHED + 1)).fetchall()
    if len(listed) > WATCHED:
        return None, b""
    there = [(name + pair.MD, time) for name, time, _ in listed if time]
    if len(listed) <= SIDES_WATCHED:
        there += [(name + pair.SIDE, time) for name, _, time in listed if time]
    if any("\n" in name for name, _ in there):
        return "", b""
    return "\n".join(name for name, _ in there), array("q", [time for _, time in there]).tobytes()


def _temps(folder: "Folder", listed: "Iterable[str]", wall: int) -> dict[str, int]:
    """What stands for the temporary files of each record from which readers may have to read it: one figure a record."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for file in listed:
        if file.endswith(".tmp") and file.startswith(".") and ".md." in file:
            ((time, mark),) = folder.stamps([file])
            found.setdefault(file[1:].rpartition(".md.")[0], []).append((file, _steady(time, wall), mark))
    return {
        name: -1 if any(time < 0 for _, time, _ in temps) else crc32(repr(sorted(temps)).encode()) + 1
        for name, temps in found.items()
    }


def _stamps(folder: "Folder", names: "Iterable[str]", wall: int) -> "Stamps":
    listed = list(names)
    texts, sides = folder.stamps(listed, pair.MD), folder.stamps(listed, pair.SIDE)
    return {
        # A file that changed within this tick is read again next time.
        name: (_steady(text[0], wall), text[1], _steady(side[0], wall), side[1], 0)
        for name, text, side in zip(listed, texts, sides, strict=True)
    }


def _steady(time_ns: int, wall: int) -> int:
    return time_ns if time_ns + _TICK_NS < wall else -1 if time_ns else 0


def _settle(entries: "Entries", store: "Store", folder: "Folder", upset: set[tuple[int, str]]) -> None:
    """One fact a key: where several files claim a key or an id, decide as `facts.every` does which one is shown."""
    decided: set[str] = set()
    for each in upset:
        claims = _claims(entries.con, each)
        # What was decided for one of them may have been before the rest of its group was known.
        if not decided.issuperset(claims) and (len(claims) > 1 or any(claims.values())):
            _decide(entries, store, folder, sorted(claims))
            decided.update(claims)


def _claims(con: "Connection", one: tuple[int, str]) -> dict[str, bool]:
    """The names that hang together: each shares its key or its id with another; and whether it was decided on before."""
    sql = "SELECT name, key_hash, id, rival OR state = 'conflict' FROM record WHERE {}"
    found: dict[str, bool] = {}
    waiting, seen = [one], {one}
    while waiting:
        key_hash, id_ = waiting.pop()
        rows_ = con.execute(sql.format("layer = ? AND key_hash = ?"), (rows.FACT, key_hash)).fetchall()
        if id_:
            rows_ += con.execute(sql.format(f"{database.BY_ID} AND +layer = 0"), {"id": id_}).fetchall()
        for name, other_key, other_id, odd in rows_:
            found[name] = bool(odd)
            if (other_key, other_id) not in seen:
                seen.add((other_key, other_id))
                waiting.append((other_key, other_id))
    return found


def settle_all(entries: "Entries", store: "Store") -> None:
    """After everything was read at once: the keys and ids that several files claim."""
    twice = "SELECT {0} FROM record WHERE {1} GROUP BY {0} HAVING count(*) > 1"
    keys_ = entries.con.execute(twice.format("key_hash", "layer = 0"))
    upset = {(h, "") for (h,) in keys_.fetchall()}
    end = "substr(id, 25)"
    ends = twice.format(end, f"{end} != ''")
    sql = f"SELECT id FROM record WHERE {end} IN ({ends}) AND +layer = 0"
    upset |= {(-1, i) for (i,) in entries.con.execute(sql).fetchall()}
    if upset:
        with store.folder(facts.LAYER) as folder:
            _settle(entries, store, folder, upset)


def _decide(entries: "Entries", store: "Store", folder: "Folder", names: list[str]) -> None:
    found = {n: f for n in names if (f := facts.named(store, folder, n)) is not None}
    shown = {f.name: f for f in facts.chosen(list(found.values()))}
    for name, fact in found.items():
        before = _drop(entries, rows.FACT, name)
        rid = entries.add(rows.FACT, name, shown.get(name, fact), rival=name not in shown)
        entries.con.execute("UPDATE pair SET rid = ? WHERE layer = 0 AND name = ?", (rid, name))
        hidden = name not in shown or shown[name].sensitivity > document.SHOWN_UP_TO
        entries.withdrew |= hidden and any(level <= document.SHOWN_UP_TO for _, _, level in before)
