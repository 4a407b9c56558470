"""Episodes on disk: append-only monthly logs, one entry one write (docs/format.md §4)."""

import re
from datetime import datetime, timezone

from memcli.base import errors, files, ids
from memcli.model import labels
from memcli.model.records import Episode
from memcli.store import archive, monthly
from memcli.store.monthly import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.store.folder import Store, Writing

LAYER = "episodes"
SUFFIX = ".md"
_MONTH = r"\d{4}-(?:0[1-9]|1[0-2])"
_TAIL_BYTES = 256


def month_of(at: datetime) -> str:
    """The log that holds an entry of this instant: its UTC month."""
    return at.astimezone(timezone.utc).strftime("%Y-%m") if at.year >= 1000 else f"{at:%Y-%m}".rjust(7, "0")


def months(store: "Store") -> list[str]:
    """The months that have a log, oldest first."""
    with store.folder(LAYER) as folder:
        found = [n[:7] for n in folder.names() if n.endswith(SUFFIX) and re.fullmatch(_MONTH, n[:-3])]
    return sorted(found)


def read(store: "Store", month: str) -> Log:
    """One month's log; an absent one is empty. A log that is no plain UTF-8 file is one problem and no entries."""
    with store.folder(LAYER) as folder:
        try:
            data = folder.read(month + SUFFIX, limit=None)
        except files.NotAFile:
            return Log(month=month, entries=(), problems=((1, "not_a_file"),))
    return monthly.parse(data or b"", month)


def newest(store: "Store", unread: "list[str] | None" = None) -> "Iterator[Episode]":
    """All episodes, newest first; reads month by month, so that a few cost a few. unread: gets the months whose log is
    there and cannot be read."""
    for month in reversed(months(store)):
        log = read(store, month)
        if unread is not None and unreadable(log):
            unread.append(month)
        yield from sorted(log.entries, key=lambda e: (e.at, e.id), reverse=True)


def unreadable(log: Log) -> bool:
    """True for a log that is there and is no plain file that this user may read."""
    return any(code == "not_a_file" for _, code in log.problems)


def append(w: "Writing", episode: Episode) -> Episode:
    """Add one episode to its month and make it durable. Returns it with the id and month it got."""
    month = month_of(episode.at)
    with w.store.folder(LAYER, create=True) as folder:
        end, size = _tail(folder, month)
        made = episode.id or ids.new(episode.at, after=monthly.last_id(end) or _greatest_id(folder, month, size))
        stored = episode.replace(id=made, month=month)
        data = monthly.encode(stored)
        if len(data) > files.MAX_FILE_BYTES:
            raise errors.UsageError("an episode is at most 1 MiB", hint="split it, or keep a reference to a file")
        _append(w, folder, month, episode.at, data)
    return stored


def append_many(w: "Writing", month: str, found: list[Episode], at: datetime) -> None:
    """Add the entries of one month with one write; stopped half-way, whole entries and at most one torn one stand."""
    with w.store.folder(LAYER, create=True) as folder:
        _append(w, folder, month, at, b"".join(map(monthly.encode, found)))


def raise_label(w: "Writing", episode: Episode, label: labels.Sensitivity) -> None:
    """Raise an entry's label by one amend line; the strictest holds."""
    with w.store.folder(LAYER) as folder:
        _append(w, folder, episode.month, episode.at, f"<!-- raise {episode.id} {label} -->\n".encode())


def _append(w: "Writing", folder: files.Folder, month: str, at: datetime, data: bytes) -> None:
    """One write, durable when it returns; stopped before its fsync, the next writer makes durable what stands there."""
    w.note({"appended": [LAYER, month + SUFFIX]})
    folder.append(month + SUFFIX, monthly.opening(*_tail(folder, month), month, at) + data)


def take_out(w: "Writing", month: str, gone: "dict[str, str]", at: datetime, *, place: str) -> int:
    """Rewrite a month without the entries in `gone` (id -> reason), after their copies are synced; how many went."""
    store = w.store
    with store.folder(LAYER) as folder:
        data = (folder.read(month + SUFFIX, limit=None) or b"").replace(b"\r\n", b"\n")
        spans = [(s, e, x) for s, e, x in monthly.spans(data, []) if x.id in gone]
        if not spans:
            return 0
        label = monthly.raised_labels(data)  # as readers see it: the strictest of all that stands in the log
        for _, _, x in spans:
            label[x.id] = max(x.sensitivity, label.get(x.id, labels.PUBLIC))
        taken = [x.replace(month=month, sensitivity=label[x.id]) for _, _, x in spans]
        copies = b"".join(_archived(x, gone[x.id], at) for x in taken)
        archive.append(w, LAYER, month, copies, place)
        kept, position = [], 0
        for start, end, _ in spans:
            kept.append(data[position:start])
            position = end
        folder.replace(month + SUFFIX, b"".join([*kept, data[position:]]))
    return len({x.id for _, _, x in spans})


def cut_torn(w: "Writing", month: str) -> int:
    """Take torn entries and their marks out of a month, their bytes to the trash; how many. Whole entries stay."""
    with w.store.folder(LAYER) as folder:
        data = (folder.read(month + SUFFIX, limit=None) or b"").replace(b"\r\n", b"\n")
        torn = monthly.torn_spans(data)
        if not torn:
            return 0
        with archive.folder(w.store, LAYER, "trash", create=True) as trash:
            trash.append(f"{month}.torn", b"\n".join(data[a:b] for a, b in torn) + b"\n")
        kept, position = [], 0
        for start, end in torn:
            kept.append(data[position:start])
            position = end
        folder.replace(month + SUFFIX, b"".join([*kept, data[position:]]))
    return len(torn)


def former(store: "Store", place: str) -> "Iterator[tuple[Episode, str, datetime]]":
    """Episodes that were taken out: each with the reason and when."""
    for month in archive.names(store, LAYER, place):
        for row in archive.read(store, LAYER, month, place):
            found = monthly.build(row["meta"], row["text"], row["meta"].get("at"), "ok", [])
            if found is not None:
                yield found.replace(month=month), row["reason"], row["at"]


def _tail(folder: files.Folder, month: str) -> tuple[bytes, int]:
    """The end of a log with LF, whatever a checkout made of its line ends, and its size."""
    end, size = folder.tail(month + SUFFIX, _TAIL_BYTES)
    return end.replace(b"\r\n", b"\n"), size


def archived_line(episode: Episode, reason: str, at: datetime) -> bytes:
    """The archive's line for an episode that ended elsewhere; `episode.month` says where it belongs."""
    return _archived(episode, reason, at)


def _greatest_id(folder: files.Folder, month: str, size: int) -> str | None:
    return monthly.greatest_id((folder.read(month + SUFFIX, limit=None) if size else None) or b"")


def _archived(episode: Episode, reason: str, at: datetime) -> bytes:
    return archive.line(reason, at, LAYER, episode.month, monthly.as_raw(episode), {}, episode.text)
