"""Care for the index: build it anew, and compare it with what the files say."""

import os
from itertools import zip_longest

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine.findings import Finding
from memcli.index import database, document, refresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from memcli.index.database import Connection
    from memcli.store.folder import Store

# What follows from the order in which records came in, not from what they say.
_ORDER = ("place",)


@value
class Built(Value):
    """What a build of the index came to: records read, and bytes on disk."""

    records: int
    bytes: int


def reindex(store: "Store", progress: "Callable[[int], None] | None" = None) -> Built:
    """Build the index anew from the files; vectors go where they are switched off. progress: told now and then how many
    records have been read.

    Raises SystemFailure where nothing can be written, Locked.
    """
    refresh.rebuild(store, progress)
    if not store.settings["vectors.enabled"]:
        from memcli.index import vectors

        vectors.discard(store)
    count = refresh.ask(store, lambda con: con.execute("SELECT count(*) FROM record").fetchone()[0])
    return Built(records=int(count), bytes=database.size_bytes(store))


def start(store: "Store", now: str | None) -> None:
    """Encode records as vectors in a process that goes on by itself, at low priority. now: its time, None for the clock.

    Raises what `encoding.encode` would raise before it begins, and SystemFailure.
    """
    import sys

    from memcli.base import command
    from memcli.engine import encoding, encodings

    encoding.check(store)
    if encodings.running(store):
        raise errors.Locked("an encoding is running", hint=encoding.BUSY_HINT)
    root = os.path.dirname(os.path.dirname(store.root)) if store.tenant else store.root
    where = ["--store", root, *(["--tenant", store.tenant] if store.tenant else [])]
    time = ["--now", now] if now else []
    command.start(["nice", sys.executable, "-m", "memcli", *where, *time, "reindex", "--vectors"])


def differs(store: "Store") -> bool:
    """Whether the index says anything else than one that is built from the files now; reads every record.

    The next read mends what this finds only if the file was changed since; `reindex` always does.
    """
    return refresh.ask(store, lambda con: _differs(con, store))


def compare(store: "Store", *, fix: bool = False) -> list[Finding]:
    """What is wrong with the index, as a finding; fix: build it anew then."""
    if not differs(store):
        return []
    if fix:
        reindex(store)
        return []
    return [Finding(code="index_differs", path=f"{database.STATE}/")]


def _differs(con: "Connection", store: "Store") -> bool:
    if con.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        return True
    return refresh.compared(store, lambda fresh: any(a != b for a, b in zip_longest(_rows(con), _rows(fresh))))


def _rows(con: "Connection") -> "Iterator[tuple[Any, ...]]":
    columns = ", ".join(f"r.{name}" for name in document.COLUMNS if name not in _ORDER)
    sql = f"SELECT {columns}, s.strong, s.weak FROM record r LEFT JOIN stems s ON s.rid = r.rid"
    yield from con.execute(f"{sql} ORDER BY r.layer, r.name, r.start, r.id")
    yield from con.execute("SELECT * FROM tally WHERE count > 0 ORDER BY layer, level, replaced")
