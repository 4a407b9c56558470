"""The files of the index: `.memcli/index.N.sqlite`, SQLite in WAL mode with FTS5, N greater with every new build.

A build happens in a file aside that gets its name when it is whole, so nobody ever sees half of one. A damaged index is
never mended: the next number is built and the old one removed. A file that others may still have open is thus never
written over (https://www.sqlite.org/howtocorrupt.html, §2.4), nor is its name given again: somebody who has just opened the old
one would find the new one's log beside it. Where the store cannot be written, the index is built in memory for each
call: slower, with the same answers.
"""

import os

from memcli.base import clock, errors, files, lock

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
SCHEMA = 19
_PREFIX, _SUFFIX, _NEW = "index.", ".sqlite", "index.new"
_TAILS = ("", "-wal", "-shm", "-journal")
_WAIT_SECONDS = 60.0
_MOST_DIGITS = 15

_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE folder(layer INTEGER PRIMARY KEY, stamp INTEGER, checked_ns INTEGER, certain INTEGER, temps INTEGER,
  names TEXT, times BLOB, seen BLOB);
CREATE TABLE tally(layer INTEGER, level INTEGER, replaced INTEGER, count INTEGER, length INTEGER,
  PRIMARY KEY(layer, level, replaced)) WITHOUT ROWID;
CREATE TABLE pair(layer INTEGER, name TEXT, md_time INTEGER, md_mark INTEGER, side_time INTEGER, side_mark INTEGER,
  temps INTEGER, loose INTEGER, rid INTEGER, PRIMARY KEY(layer, name)) WITHOUT ROWID;
CREATE INDEX pair_loose ON pair(layer) WHERE loose;
CREATE INDEX pair_unread ON pair(layer) WHERE rid IS NULL;
CREATE TABLE log(month TEXT PRIMARY KEY, time INTEGER, mark INTEGER, size INTEGER, crc INTEGER) WITHOUT ROWID;
CREATE TABLE record(
  rid INTEGER PRIMARY KEY, layer INTEGER, name TEXT, start INTEGER, stop INTEGER, id TEXT, key_hash INTEGER, key TEXT,
  level INTEGER, rival INTEGER, whole INTEGER, expires_at REAL, fades_at REAL, written_at REAL, seen_at REAL,
  importance REAL, believed REAL, protected INTEGER, kind TEXT, via TEXT, source TEXT, domain TEXT, session TEXT,
  place INTEGER, outcome TEXT, tags TEXT, concepts TEXT, task_type TEXT, state TEXT, supersedes TEXT, lineage TEXT,
  checked INTEGER, speaker TEXT, flags INTEGER, length INTEGER, said INTEGER, formerly TEXT);
CREATE TABLE stems(rid INTEGER PRIMARY KEY, strong TEXT, weak TEXT);
CREATE VIRTUAL TABLE words USING fts5(strong, weak, content='stems', content_rowid='rid',
  tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab('words', 'row');
CREATE TABLE spelling(rid INTEGER PRIMARY KEY, stem TEXT UNIQUE);
CREATE VIRTUAL TABLE letters USING fts5(stem, content='spelling', content_rowid='rid', tokenize='trigram', detail=none);
"""

# A condition on a record's id, given as :id. The index holds the last part of ids alone, which hardly two share; without
# the plus SQLite would put the id into the first half and find no index for it.
BY_ID = "substr(id, 25) = substr(:id, 25) AND +id = :id"

_INDEXES = """
CREATE INDEX record_month ON record(layer, name) WHERE layer = 1;
CREATE INDEX record_key ON record(layer, key_hash);
CREATE INDEX record_id ON record(substr(id, 25));
CREATE INDEX record_session ON record(session, place);
CREATE INDEX record_state ON record(layer, rival, level, expires_at, fades_at, supersedes != '');
CREATE INDEX record_expiry ON record(expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX record_fading ON record(fades_at) WHERE fades_at IS NOT NULL;
CREATE INDEX record_written ON record(layer, written_at) WHERE whole;
CREATE INDEX record_importance ON record(importance) WHERE importance >= 0.8;
CREATE INDEX record_source ON record(source);
CREATE INDEX record_formerly ON record(rid) WHERE formerly != '';
CREATE INDEX record_lineage ON record(rid) WHERE lineage != '';
CREATE INDEX record_said ON record(said) WHERE layer = 1 AND said;
CREATE INDEX record_failed ON record(name) WHERE layer = 1 AND outcome = 'failed';
CREATE INDEX record_checked ON record(rid) WHERE checked;
CREATE INDEX record_domain ON record(domain) WHERE domain != '';
"""


def connect(path: str) -> "Connection":
    """An open database in autocommit; nothing is written before it is asked for."""
    import _sqlite3  # the module `sqlite3` would load three more for types that are not used here

    con = _sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, uri=True, check_same_thread=False)
    con.execute("PRAGMA secure_delete = ON")
    con.execute("PRAGMA temp_store = MEMORY")  # what is sorted holds words of records, and would go to /var/tmp
    con.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is read from the files again
    return con


def damage() -> "tuple[type[Exception], ...]":
    """What SQLite raises for a file that is no sound database, or cannot be used."""
    import _sqlite3

    return (_sqlite3.DatabaseError,)


def nonsense() -> "tuple[type[Exception], ...]":
    """What is raised for a database that is sound but holds what none of ours holds: `damage`, and values of odd types."""
    return (*damage(), TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


def flush(con: "Connection") -> bool:
    """Write the log over into the database and empty it; False when another reader stood in the way for a second."""
    con.execute("PRAGMA busy_timeout = 1000")
    busy = con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    con.execute(f"PRAGMA busy_timeout = {int(_WAIT_SECONDS * 1000)}")
    return not busy


def make_tables(con: "Connection", made_of: str) -> None:
    """The empty tables, in a transaction that is left open. made_of: what the contents depend on beside the files."""
    con.execute("BEGIN")
    _run(con, _TABLES)
    con.execute("INSERT INTO meta VALUES('made_of', ?), ('change', 0), ('unclean', 0)", (made_of,))


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
        listed = state.names()
        found = max(_numbered(listed), default=0)
        if not found or _odd(state, _name(found)):
            return None
        path = state.where(_name(found))
        _clear(state, [n for n in listed if _number(n) not in (0, found)])
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
    with store.folder(STATE, create=True) as state, lock.Lock(state.where(LOCK), wait_seconds=_WAIT_SECONDS):
        ready = None if anew else current(store, made_of)
        if ready is not None:
            return ready
        _remove(state, [_NEW])
        held = _held(state)
        state.create(_NEW, b"")
        try:
            _fill(state.where(_NEW), made_of, fill)
            state.sync_file(_NEW)
            # A purge removes the lock too: what was read before it must not come back.
            if _held(state) != held:
                raise errors.SystemFailure("the index was removed while it was built", path=state.path)
            state.rename(_NEW, name := _name(_next(state)))
        except BaseException:
            _remove(state, [_NEW])
            raise
        _clear(state, [n for n in state.names() if _number(n) and not n.startswith(name)])
        # Still under the lock: whoever takes it next may remove this one.
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
            _clear(state, [n for n in state.names() if _number(n) or n.startswith((_NEW, TOUCHED))])


def size_bytes(store: "Store") -> int:
    """What the index takes on disk, with its write-ahead log."""
    with store.folder(STATE) as state:
        listed = [n for n in state.names() if n.startswith(_PREFIX) and _SUFFIX in n]
        return sum(info.st_size for n in listed if (info := state.info(n)) is not None)


def _fill(path: str, made_of: str, fill: "Callable[[Connection], None]") -> None:
    con = None
    try:
        con = connect(f"file:{_quoted(path)}?mode=rw")
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
        if con is not None:
            con.close()


def _numbered(names: list[str]) -> "Iterator[int]":
    return (_number(n) for n in names if n.endswith(_SUFFIX) and 0 < _number(n) < 10**_MOST_DIGITS)


def _number(name: str) -> int:
    """The number of the index that a file belongs to, be it the database or what SQLite keeps beside it; 0 for others."""
    digits, dot, tail = name.removeprefix(_PREFIX).partition(_SUFFIX)
    ours = name.startswith(_PREFIX) and dot and tail in _TAILS and digits.isascii() and digits.isdigit()
    return int(digits) if ours and digits[0] != "0" else 0


def _next(state: files.Folder) -> int:
    """A number that no index had: greater than all that are there, and than all that were, for time goes on."""
    number = max(max(_numbered(state.names()), default=0) + 1, clock.wall_ns() // 10**6)
    return number if number < 10**_MOST_DIGITS else 1


def _held(state: files.Folder) -> "tuple[int, int] | None":
    """What tells the lock's file from any that takes its place."""
    info = state.info(LOCK)
    return None if info is None else (info.st_ino, info.st_ctime_ns)


def _name(number: int) -> str:
    return f"{_PREFIX}{number}{_SUFFIX}"


def _odd(state: files.Folder, name: str) -> bool:
    """True for a link, folder or device in the place of the database or of what SQLite keeps beside it."""
    import stat

    return any((info := state.info(name + tail)) and not stat.S_ISREG(info.st_mode) for tail in _TAILS)


def _clear(state: files.Folder, names: list[str]) -> None:
    """Remove what can be removed: a folder in the place of a file stays."""
    for name in names:
        try:
            state.remove(name)
        except errors.SystemFailure:
            continue


def _remove(state: files.Folder, names: list[str]) -> None:
    for name in names:
        for tail in _TAILS:
            state.remove(name + tail)


def _quoted(path: str) -> str:
    """A path, in whatever encoding the system has it, as SQLite's URI takes it."""
    return "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in os.fsencode(os.path.abspath(path)))


_PLAIN = b"/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
