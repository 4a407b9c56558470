"""The index as one thing: opened, brought up to date, rebuilt when it is damaged, bypassed where it cannot be written."""

from memcli.base import errors, files
from memcli.index import database, logs, pairs, rows
from memcli.index.entries import Entries
from memcli.model import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from memcli.index.database import Connection
    from memcli.index.document import Record
    from memcli.store.folder import Store

    T = TypeVar("T")

_UNUSABLE = (errors.SystemFailure, errors.Locked, files.NotAFile)
# Settings on which columns depend.
_SETTINGS = ("decay.fact_half_life_days", "decay.max_fact_age_days")
_TRIES = 3


def ask(
    store: "Store",
    question: "Callable[[Connection], T]",
    *,
    watch: bool = True,
    fresh: bool = False,
    bypass: bool = True,
    keep: bool = True,
) -> "T":
    """The answer of `question` to an index that says what the files say.

    watch: notice edits in place; fresh: compare everything. A damaged index is built anew and asked again; where
    nothing can be written the same index is made in memory (bypass), or SystemFailure raised. keep: write down what was
    read anew, so that the next one need not; without it nothing is written, nothing has to be synced, and of a large
    store only what memcli itself has written is looked at.
    Raises what `question` raises, beside SQLite's errors.
    """
    made_of = depends_on(store)
    try:
        con = _opened(store, made_of, watch=watch, fresh=fresh, keep=keep)
        return _asked(con, question)
    except database.nonsense():
        pass
    except _UNUSABLE:
        if not bypass:
            raise
        return _without(store, made_of, question)
    try:
        return _asked(database.build(store, made_of, lambda con: _fill(con, store), anew=True), question)
    except _UNUSABLE:
        return _without(store, made_of, question)
    except database.damage():
        return _without(store, made_of, question)


def _asked(con: "Connection", question: "Callable[[Connection], T]") -> "T":
    """The answer, all of it as the index is at one instant, whatever other readers bring up to date meanwhile."""
    try:
        if not con.in_transaction:  # else: what is new is not to be kept
            con.execute("BEGIN")
        return question(con)
    finally:
        con.close()


def unread(
    con: "Connection", store: "Store", layers: "Iterable[int]" = (rows.FACT, rows.EPISODE, rows.PROCEDURE)
) -> int:
    """How many records of these layers have a file that cannot be read, which no query changes; a month's log is one."""
    asked = set(layers)
    found = sum(pairs.unread(con, layer) for layer, _ in pairs.LAYERS if layer in asked)
    return found + (logs.unread(con, store) if rows.EPISODE in asked else 0)


def rebuild(store: "Store", progress: "Callable[[int], None] | None" = None) -> None:
    """Build the index anew whatever is there. Raises SystemFailure, Locked."""
    database.build(store, depends_on(store), lambda con: _fill(con, store, progress), anew=True).close()


def compared(store: "Store", question: "Callable[[Connection], T]") -> "T":
    """The answer of `question` to an index that is made for it alone, in memory, from the files as they are now."""
    return _without(store, depends_on(store), question)


def of_records(store: "Store", records: "Iterable[tuple[int, Record]]", held: "dict[int, Record]") -> "Connection":
    """An index in memory of records that stand in no file as they are given. held: takes each one under its row's number."""

    def fill(con: "Connection") -> None:
        entries = Entries(con, store.settings, bulk=True)
        for layer, record in records:
            held[entries.add(layer, "", record)] = record
        entries.finish()

    return database.in_memory(depends_on(store), fill)


def _opened(store: "Store", made_of: str, *, watch: bool, fresh: bool, keep: bool) -> "Connection":
    con = database.current(store, made_of)
    if con is None and not keep:
        return database.in_memory(made_of, lambda new: _fill(new, store))
    if con is None:
        return database.build(store, made_of, lambda new: _fill(new, store))
    try:
        _bring_up(con, store, watch=watch, fresh=fresh, keep=keep)
    except BaseException:
        con.close()
        raise
    return con


def _without(store: "Store", made_of: str, question: "Callable[[Connection], T]") -> "T":
    con = database.in_memory(made_of, lambda con: _fill(con, store))
    try:
        return question(con)
    finally:
        con.close()


def _bring_up(con: "Connection", store: "Store", *, watch: bool, fresh: bool, keep: bool) -> None:
    held = False
    for left in reversed(range(_TRIES)):
        try:
            if not left:
                con.execute("BEGIN IMMEDIATE")  # others were faster each time: now they wait
            meta = dict(con.execute("SELECT name, value FROM meta").fetchall())
            changes = [
                (n, pairs.changed(con, store, n, watch=watch, fresh=fresh, quick=not keep)) for n, _ in pairs.LAYERS
            ]
            months = logs.changed(con, store)
            if months is None and all(c is None for _, c in changes):
                unclean = meta["unclean"]
                break
            if left:
                con.execute("BEGIN IMMEDIATE")
                if con.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()[0] != meta["change"]:
                    continue
            entries = Entries(con, store.settings, bulk=False)
            _apply(entries, store, changes, months)
            held = not keep  # the question is asked in this transaction, which nobody commits
            if held:
                return
            unclean = meta["change"] + 1 if entries.withdrew else meta["unclean"]
            con.execute("UPDATE meta SET value = value + 1 WHERE name = 'change'")
            con.execute("UPDATE meta SET value = ? WHERE name = 'unclean'", (unclean,))
            con.execute("COMMIT")
            break
        finally:
            if con.in_transaction and not held:
                con.execute("ROLLBACK")
    # Until the log is emptied, a text that was withdrawn stands there and in the database below it.
    if unclean and database.flush(con):
        con.execute("UPDATE meta SET value = 0 WHERE name = 'unclean' AND value = ?", (unclean,))


def _fill(con: "Connection", store: "Store", progress: "Callable[[int], None] | None" = None) -> None:
    entries = Entries(con, store.settings, bulk=True, progress=progress)
    changes = [(n, pairs.changed(con, store, n, watch=True, fresh=True)) for n, _ in pairs.LAYERS]
    import gc

    # Nothing of what is read here is cyclic; looking for cycles would cost a tenth of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        _apply(entries, store, changes, logs.changed(con, store))
    finally:
        if collecting:
            gc.enable()


def _apply(
    entries: Entries,
    store: "Store",
    changes: "list[tuple[int, pairs.Change | None]]",
    months: "logs.Change | None",
) -> None:
    for layer, change in changes:
        if change is not None:
            pairs.apply(entries, store, layer, change)
    if months is not None:
        logs.apply(entries, store, months)
    entries.finish()
    if entries.bulk:
        entries.bulk = False
        pairs.settle_all(entries, store)
        entries.finish()


def depends_on(store: "Store") -> str:
    """What the contents of an index depend on beside the files: this version of memcli, the stemmer's, settings."""
    settings = (str(store.settings[name]) for name in _SETTINGS)
    return " ".join((str(database.SCHEMA), words.version(), *settings))
