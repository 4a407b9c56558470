"""The files of the index: `.memcli/index.N.sqlite`, SQLite in WAL mode with FTS5, N greater with every new build.

A build happens in a file aside that gets its name when it is whole, so nobody ever sees half of one. A damaged index is
never mended: the next number is built and the old one removed. A file that others may still have open is thus never
written over (https://www.sqlite.org/howtocorrupt.html, §2.4). Where the store cannot be written, the index is built in
memory for each call: slower, with the same answers.
"""

import os

from memcli.base import errors, files, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from memcli.store.folder import Store

    Connection = Any

STATE = ".memcli"
LOCK = "index.lock"
TOUCHED = "index.touched"
# Counts up with every change of the tables or of what they hold.
SCHEMA = 8
_PREFIX, _SUFFIX, _NEW = "index.", ".sqlite", "index.new"
_TAILS = ("", "-wal", "-shm", "-journal")
_WAIT_SECONDS = 60.0

_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE folder(layer INTEGER PRIMARY KEY, stamp INTEGER, checked_ns INTEGER, certain INTEGER, temps INTEGER,
  names TEXT, times BLOB);
CREATE TABLE tally(layer INTEGER, level INTEGER, replaced INTEGER, count INTEGER,
  PRIMARY KEY(layer, level, replaced)) WITHOUT ROWID;
CREATE TABLE pair(layer INTEGER, name TEXT, md_time INTEGER, md_mark INTEGER, side_time INTEGER, side_mark INTEGER,
  PRIMARY KEY(layer, name)) WITHOUT ROWID;
CREATE TABLE log(month TEXT PRIMARY KEY, time INTEGER, mark INTEGER, size INTEGER, crc INTEGER) WITHOUT ROWID;
CREATE TABLE record(
  rid INTEGER PRIMARY KEY, layer INTEGER, name TEXT, start INTEGER, stop INTEGER, id TEXT, key_hash INTEGER, key TEXT,
  level INTEGER, rival INTEGER, whole INTEGER, expires_at REAL, fades_at REAL, written_at REAL, seen_at REAL,
  importance REAL, believed REAL, protected INTEGER, kind TEXT, via TEXT, source TEXT, domain TEXT, session TEXT,
  place INTEGER, outcome TEXT, tags TEXT, concepts TEXT, task_type TEXT, state TEXT, supersedes TEXT, lineage TEXT,
  checked INTEGER, speaker TEXT, flags INTEGER, length INTEGER);
CREATE TABLE stems(rid INTEGER PRIMARY KEY, strong TEXT, weak TEXT);
CREATE VIRTUAL TABLE words USING fts5(strong, weak, content='stems', content_rowid='rid',
  tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab('words', 'row');
CREATE TABLE spelling(rid INTEGER PRIMARY KEY, stem TEXT UNIQUE);
CREATE VIRTUAL TABLE letters USING fts5(stem, content='spelling', content_rowid='rid', tokenize='trigram', detail=none);
"""

_INDEXES = """
CREATE INDEX record_name ON record(layer, name);
CREATE INDEX record_key ON record(layer, key_hash);
CREATE INDEX record_id ON record(id);
CREATE INDEX record_session ON record(session, place);
CREATE INDEX record_state ON record(layer, rival, level, expires_at, fades_at, supersedes != '');
CREATE INDEX record_expiry ON record(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX record_fading ON record(fades_at) WHERE fades_at IS NOT NULL;
CREATE INDEX record_written ON record(layer, written_at) WHERE whole;
CREATE INDEX record_importance ON record(importance) WHERE importance >= 0.8;
CREATE INDEX record_source ON record(source);
CREATE INDEX record_lineage ON record(rid) WHERE lineage != '';
CREATE INDEX record_length ON record(length);
CREATE INDEX record_checked ON record(rid) WHERE checked;
CREATE INDEX record_domain ON record(domain) WHERE domain != '';
"""


def connect(path: str) -> "Connection":
    """An open database in autocommit; nothing is written before it is asked for."""
    import _sqlite3  # the module `sqlite3` would load three more for types that are not used here

    con = _sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, uri=True, check_same_thread=False)
    con.execute("PRAGMA secure_delete = ON")
    return con


def damage() -> "tuple[type[Exception], ...]":
    """What SQLite raises for a file that is no sound database, or cannot be used."""
    import _sqlite3

    return (_sqlite3.DatabaseError,)


def make_tables(con: "Connection", made_of: str) -> None:
    """The empty tables, in a transaction that is left open. made_of: what the contents depend on beside the files."""
    con.execute("BEGIN")
    _run(con, _TABLES)
    con.execute("INSERT INTO meta VALUES('made_of', ?), ('change', 0)", (made_of,))


def make_indexes(con: "Connection") -> None:
    """What makes the tables fast to ask; made last, it costs half of what it costs row by row."""
    _run(con, _INDEXES)


def _run(con: "Connection", script: str) -> None:
    for statement in script.split(";\n"):
        if statement.strip():
            con.execute(statement)


def current(store: "Store", made_of: str) -> "Connection | None":
    """The newest whole index, if it is of this version and of these settings."""
    with store.folder(STATE) as state:
        found = max(_numbers(state), default=0)
        if not found or _odd(state, _name(found)):
            return None
        path = state.where(_name(found))
    con = None
    try:
        con = connect(f"file:{_quoted(path)}?mode=rw")
        said = con.execute("SELECT value FROM meta WHERE name = 'made_of'").fetchone()
        if said == (made_of,):
            return con
    except damage():
        pass  # it is built anew
    if con is not None:
        con.close()
    return None


def build(store: "Store", made_of: str, fill: "Callable[[Connection], None]", *, anew: bool = False) -> "Connection":
    """A new index, filled by `fill`; another process that was faster is trusted unless `anew`.

    Raises SystemFailure where nothing can be written, Locked when another process builds for a minute.
    """
    with store.folder(STATE, create=True) as state:
        with lock.Lock(state.where(LOCK), wait_seconds=_WAIT_SECONDS):
            ready = None if anew else current(store, made_of)
            if ready is not None:
                return ready
            _remove(state, [_NEW])
            old = _numbers(state)
            state.create(_NEW, b"")
            try:
                _fill(state.where(_NEW), made_of, fill)
                state.sync_file(_NEW)
                state.rename(_NEW, name := _name(max(old, default=0) + 1))
            except BaseException:
                _remove(state, [_NEW])
                raise
            _remove(state, [_name(n) for n in old])
        return connect(f"file:{_quoted(state.where(name))}?mode=rw")


def in_memory(made_of: str, fill: "Callable[[Connection], None]") -> "Connection":
    """The same index for this process alone."""
    con = connect(":memory:")
    make_tables(con, made_of)
    fill(con)
    con.execute("COMMIT")
    return con


def discard(store: "Store") -> None:
    """Remove the index with all that it may still hold of records that are gone; the next reader builds it."""
    with store.folder(STATE) as state:
        if not state.missing:
            _remove(state, [*(_name(n) for n in _numbers(state)), _NEW, TOUCHED])


def size_bytes(store: "Store") -> int:
    """What the index takes on disk, with its write-ahead log."""
    with store.folder(STATE) as state:
        listed = [n for n in state.names() if n.startswith(_PREFIX) and _SUFFIX in n]
        return sum(info.st_size for n in listed if (info := state.info(n)) is not None)


def _fill(path: str, made_of: str, fill: "Callable[[Connection], None]") -> None:
    con = connect(f"file:{_quoted(path)}?mode=rw")
    try:
        # Stopped half-way the file is thrown away, so that nothing needs a journal.
        con.execute("PRAGMA journal_mode = OFF")
        con.execute("PRAGMA synchronous = OFF")
        con.execute("PRAGMA cache_size = -16000")
        make_tables(con, made_of)
        fill(con)
        con.execute("COMMIT")
        con.execute("PRAGMA journal_mode = WAL")
    except damage() as e:
        raise errors.SystemFailure(f"cannot build the index: {e}", path=path) from e
    finally:
        con.close()


def _numbers(state: files.Folder) -> list[int]:
    return list(_numbered(state.names()))


def _numbered(names: list[str]) -> "Iterator[int]":
    for n in names:
        digits = n.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        if n == f"{_PREFIX}{digits}{_SUFFIX}" and digits.isascii() and digits.isdigit() and len(digits) < 16:
            yield int(digits)


def _name(number: int) -> str:
    return f"{_PREFIX}{number}{_SUFFIX}"


def _odd(state: files.Folder, name: str) -> bool:
    """True for a link, folder or device in the place of the database or of what SQLite keeps beside it."""
    import stat

    return any((info := state.info(name + tail)) and not stat.S_ISREG(info.st_mode) for tail in _TAILS)


def _remove(state: files.Folder, names: list[str]) -> None:
    for name in names:
        for tail in _TAILS:
            state.remove(name + tail)


def _quoted(path: str) -> str:
    """A path, in whatever encoding the system has it, as SQLite's URI takes it."""
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in os.fsencode(os.path.abspath(path)))


_PLAIN = b"/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
