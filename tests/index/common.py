"""What the tests of the index share: all that an index holds, made comparable, and the same from one made of nothing."""

import os
import sqlite3
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support import Box

from memcli.engine import search
from memcli.index import logs, pairs, refresh
from memcli.index.document import COLUMNS
from memcli.index.look import Look
from memcli.model import labels
from memcli.store.folder import Store

WORDS = ("harbour", "lantern", "meadow", "harbuor", "pebble window", "-meadow lantern", '"quiet lantern"', "")
_ROWS = f"SELECT {', '.join(c for c in COLUMNS)}, strong, weak FROM record LEFT JOIN stems USING(rid)"


def dump(con: Any) -> dict[str, Any]:
    """Everything that answers depend on, without the numbers of rows. Raises sqlite3's error for an unsound full text."""
    con.execute("INSERT INTO words(words, rank) VALUES('integrity-check', 1)")
    con.execute("INSERT INTO letters(letters, rank) VALUES('integrity-check', 1)")
    return {
        "rows": sorted(con.execute(_ROWS).fetchall(), key=repr),
        "tally": sorted(con.execute("SELECT * FROM tally WHERE count != 0").fetchall()),
        "terms": con.execute("SELECT term, doc, cnt FROM vocabulary ORDER BY term").fetchall(),
        "spelling": con.execute("SELECT stem FROM spelling ORDER BY stem").fetchall(),
    }


def totals(con: Any, store: Store, now: datetime) -> dict[str, Any]:
    """The counts of a reader of each clearance."""
    found = {}
    for label in (labels.PUBLIC, labels.INTERNAL, labels.RESTRICTED):
        look = Look(con, store, now, label)
        found[str(label)] = repr(look.totals()), look.wanted()
    return found


def hits(found: search.Found) -> Any:
    """A list of hits in order, comparable."""
    rows = [
        (h.record.id, getattr(h.record, "key", ""), str(h.record.sensitivity), h.record.text, h.score)
        for h in found.hits
    ]
    # The same entry in the logs of two months has one id: which of the two comes first is not said.
    return sorted(rows, key=lambda row: (-row[4], row)), found.more, found.withheld, found.verdict


def answers(store: Store, now: datetime, words: tuple[str, ...] = WORDS, **options: Any) -> dict[str, Any]:
    """What search says to several questions."""
    found = {w: hits(search.search(store, w, now=now, limit=30, **options)) for w in words}
    found["all"] = hits(search.search(store, words[0], now=now, limit=30, clearance=labels.RESTRICTED))
    return found


def looked(store: Store, now: datetime, **options: Any) -> dict[str, Any]:
    """All of an index that follows the files."""
    return refresh.ask(store, lambda con: dump(con) | totals(con, store, now), **options)


def anew(store: Store, now: datetime) -> dict[str, Any]:
    """The same of one that is made of nothing."""
    return refresh.compared(store, lambda con: dump(con) | totals(con, store, now))


def answers_anew(store: Store, now: datetime, words: tuple[str, ...] = WORDS) -> dict[str, Any]:
    """The same from an index that was made of nothing."""

    def asked(con: Any) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "ask", lambda store, question, **_: question(con))
            return answers(store, now, words)

    return refresh.compared(store, asked)


def same(box: Box, now: datetime, *, words: tuple[str, ...] = (), **options: Any) -> None:
    """Fails unless the index says what one made of nothing says."""
    store = box.store
    one, other = looked(store, now, **options), anew(store, now)
    found = differences(one["rows"], other["rows"])
    assert not found, found
    for part, expected in other.items():
        if part != "rows":
            assert one[part] == expected, (part, one[part], expected)
    if words:
        said, expected = answers(store, now, words, **options), answers_anew(store, now, words)
        for word in expected:
            assert said[word] == expected[word], (word, said[word], expected[word])


def differences(one: list[Any], other: list[Any]) -> list[str]:
    """Which columns of which rows differ."""
    names = (*COLUMNS, "strong", "weak")
    gone, new = [r for r in other if r not in one], [r for r in one if r not in other]
    found = []
    for row in gone:
        like = next((r for r in new if r[1] == row[1] and r[4] == row[4]), None)
        if like is None:
            found.append(f"missing: {dict(zip(names, row, strict=True))}")
        else:
            new.remove(like)
            what = {n: (b, a) for n, a, b in zip(names, row, like, strict=True) if a != b}
            found.append(f"{row[1]}: {what}")
    return found + [f"too much: {dict(zip(names, row, strict=True))}" for row in new]


def index_files(box: Box) -> list[Path]:
    """The databases with what SQLite keeps beside them."""
    return sorted(p for p in (box.root / ".memcli").iterdir() if p.name.startswith("index.") and ".sqlite" in p.name)


def database(box: Box) -> Path:
    """The one database."""
    found = [p for p in index_files(box) if p.name.endswith(".sqlite")]
    assert len(found) == 1, found
    return found[0]


def bytes_of(box: Box) -> bytes:
    """Everything that the index keeps on disk, its write-ahead log and the notes of writers too."""
    return b"".join(p.read_bytes() for p in sorted((box.root / ".memcli").iterdir()) if p.name.startswith("index."))


def raw(box: Box) -> sqlite3.Connection:
    """The database as anybody may open it."""
    return sqlite3.connect(database(box), isolation_level=None)


def outside(box: Box) -> dict[str, tuple[int, int, int, int]]:
    """All that is not in .memcli, with what a write would change."""
    found = {}
    for p in sorted(box.root.parent.rglob("*")):
        if ".memcli" not in p.parts and ".git" not in p.parts:
            info = p.lstat()
            found[str(p)] = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, stat.S_IMODE(info.st_mode))
    return found


def edit(path: Path, data: bytes, *, keep_time: bool = True) -> None:
    """Write into a file in place, as editors do that keep the inode; with its mtime as it was."""
    info = path.stat()
    with path.open("r+b") as f:
        f.write(data)
        f.truncate()
    if keep_time:
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def fill(box: Box, now: datetime) -> None:
    """Six facts and a procedure."""
    for n in range(6):
        box.set(f"key {n}", f"lantern {n}")
    box.memory.propose_procedure("steps", ("one: light the lantern",), now=now)


class Ticks:
    """Makes ticks of the file system short, so that a test need not wait for files to come to rest."""

    def __init__(self, patch: pytest.MonkeyPatch, *, milliseconds: int = 12, recheck_seconds: float = 3600) -> None:
        patch.setattr(pairs, "_TICK_NS", milliseconds * 10**6)
        patch.setattr(logs, "_TICK_NS", milliseconds * 10**6)
        patch.setattr(pairs, "RECHECK_NS", int(recheck_seconds * 10**9))
        self.seconds = milliseconds / 1000

    def rest(self) -> None:
        """Wait until what was just written is old."""
        import time

        time.sleep(self.seconds * 1.3)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A function that gives the files of records that were read since it was last called."""
    from memcli.base import files

    read: list[str] = []
    plain = files.Folder.read_dated

    def counted(self: files.Folder, name: str, limit: int | None = files.MAX_FILE_BYTES) -> Any:
        found = plain(self, name, limit)
        if found is not None and os.path.basename(self.path) in ("facts", "procedures", "episodes"):
            read.append(f"{os.path.basename(self.path)}/{name}")
        return found

    monkeypatch.setattr(files.Folder, "read_dated", counted)

    def taken() -> list[str]:
        found, read[:] = list(read), []
        return found

    return taken
