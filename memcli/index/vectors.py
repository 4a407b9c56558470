"""The vectors of records: `.memcli/vectors.sqlite`, derived from the files, private, ignored by git, deletable.

A row a text, by the hash of what was encoded, so that nothing is encoded twice: its code and its numbers (codes.py), and
the model that made it. Which record says which text stands apart, by id. Vectors of one model are never compared with
those of another. Only what is at most `internal` comes in, and masked. A damaged file is thrown away, and made again by
`memcli reindex --vectors`.
"""

import stat

from memcli.base import errors, sha256
from memcli.index import codes, database, document
from memcli.index import look as look_
from memcli.model import redact
from memcli.model.records import Episode, Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

    from memcli.base.files import Folder
    from memcli.index.codes import Vector
    from memcli.index.document import Record
    from memcli.index.look import Look
    from memcli.index.rows import Row
    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

NAME, LOCK = "vectors.sqlite", "vectors.lock"
# Counts up with every change of the tables, of what is encoded of a record, or of the sentences below.
SCHEMA = 1
# More of a text says little more of what it is about, and costs as much again.
MOST_CHARS = 2000
_TAILS = ("", "-wal", "-shm", "-journal")
_CHUNK = 500
_TABLES = f"""
PRAGMA user_version = {SCHEMA};
CREATE TABLE model(number INTEGER PRIMARY KEY, name TEXT UNIQUE, centre BLOB);
CREATE TABLE vector(number INTEGER PRIMARY KEY, model INTEGER, hash BLOB, scale REAL, body BLOB, UNIQUE(model, hash));
CREATE TABLE code(number INTEGER PRIMARY KEY, model INTEGER, code BLOB);
CREATE TABLE said(id TEXT PRIMARY KEY, hash BLOB) WITHOUT ROWID;
CREATE INDEX said_hash ON said(hash);
CREATE TABLE seen(stamp TEXT);
"""
# What a model makes of these is its middle: sentences of all kinds, so that nothing of what they say is left in the mean.
SENTENCES = (
    "The meeting was moved to Thursday afternoon.",
    "We deploy the service from the main branch.",
    "She bought two tickets for the concert.",
    "The database is backed up every night.",
    "I am not sure that this is a good idea.",
    "How long does it take to get to the airport?",
    "He has been learning the violin since he was six.",
    "The build failed because a file was missing.",
    "Our cat sleeps on the windowsill all day.",
    "Please send the invoice by the end of the month.",
    "The tests pass, but the page is still slow.",
    "They are planning a trip to the mountains.",
    "The password has to be changed once a year.",
    "Soup with beans and a slice of bread.",
    "What did the customer say about the price?",
    "Rain is expected in the north tomorrow.",
    "The old library was turned into a museum.",
    "Thanks, that was really kind of you!",
    "An error is raised when the input is empty.",
    "My sister works as a nurse in the city hospital.",
    "Встречу перенесли на четверг.",
    "Сервис выкладываем из основной ветки.",
    "Она купила два билета на концерт.",
    "Резервная копия базы делается каждую ночь.",
    "Я не уверен, что это хорошая мысль.",
    "Сколько ехать до аэропорта?",
    "Он учится играть на скрипке с шести лет.",
    "Сборка не прошла: не хватает файла.",
    "Кошка весь день спит на подоконнике.",
    "Пришлите счёт до конца месяца, пожалуйста.",
    "Что заказчик сказал о цене?",
    "Завтра на севере обещают дождь.",
)


def text(record: "Record") -> "Redacted":
    """What is encoded of a record: what names it and what it says, masked, at most MOST_CHARS characters."""
    if isinstance(record, Fact):
        parts: tuple[str, ...] = (f"{record.key} — {record.text}",)
    elif isinstance(record, Episode):
        parts = (record.task, record.text, *record.findings, *record.patterns)
    else:
        parts = (record.title or record.key, record.trigger, record.text, *(s.action for s in record.steps))
    # What is cut in two is no longer recognised, so it is masked first.
    masked = redact.mask("\n".join(p for p in parts if p.strip()))
    return masked if len(masked) <= MOST_CHARS else redact.mask(masked[:MOST_CHARS])


def hash_of(said: "Redacted") -> bytes:
    """What a text is known by."""
    return sha256.binary(said.encode("utf-8", "replace"))


class Vectors:
    """The open file. Use `opened` or `made`; close it."""

    def __init__(self, con: "database.Connection") -> None:
        self.con = con

    def __enter__(self) -> "Vectors":
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def model(self, name: str) -> "tuple[int, Vector] | None":
        """The number of a model, and its middle; None where it has made nothing."""
        row = self.con.execute("SELECT number, centre FROM model WHERE name = ?", (name,)).fetchone()
        return None if row is None else (row[0], codes.unpacked(row[1]))

    def add_model(self, name: str, centre: "Vector") -> int:
        """A model that is new here; its number."""
        sql = "INSERT INTO model(name, centre) VALUES(?, ?)"
        return int(self.con.execute(sql, (name, codes.floats(centre))).lastrowid)

    def encoded(self, model: int, dimensions: int) -> set[bytes]:
        """The hashes of the texts that a model has encoded; a row of another shape than ours does not count."""
        sql = (
            "SELECT hash FROM vector v JOIN code c USING(number) WHERE v.model = ? AND c.model = v.model"
            " AND typeof(scale) = 'real' AND typeof(body) = 'blob' AND length(body) = ? AND typeof(code) = 'blob'"
        )
        return {h for (h,) in self.con.execute(sql, (model, dimensions))}

    def add(self, model: int, centre: "Vector", rows: "Iterable[tuple[bytes, Vector]]") -> None:
        """Vectors of texts by their hashes, in one transaction."""
        with self._transaction():
            for hash_, vector in rows:
                apart = codes.centred(vector, centre)
                values = (model, hash_, *codes.packed(apart))
                sql = "INSERT OR REPLACE INTO vector(model, hash, scale, body) VALUES(?, ?, ?, ?)"
                number = self.con.execute(sql, values).lastrowid
                self.con.execute("INSERT OR REPLACE INTO code VALUES(?, ?, ?)", (number, model, codes.signs(apart)))

    def note(self, said: "Iterable[tuple[str, bytes]]") -> None:
        """Which record (by id) says which text, in one transaction."""
        with self._transaction():
            self.con.executemany("INSERT OR REPLACE INTO said VALUES(?, ?)", said)

    def keep(self, ids: "Collection[str]", model: int | None = None, name: str = "") -> int:
        """Remove what no record of these ids says, and with `model` what other models made; how many vectors went.

        name: what that model is called from now on.
        """
        known = [i for (i,) in self.con.execute("SELECT id FROM said")]
        with self._transaction():
            self.con.executemany("DELETE FROM said WHERE id = ?", [(i,) for i in known if i not in ids])
            if model is not None:
                self.con.execute("DELETE FROM model WHERE number != ?", (model,))
                self.con.execute("UPDATE model SET name = ? WHERE number = ? AND name != ?", (name, model, name))
            return self._sweep()

    def forget(self, ids: "Iterable[str]") -> None:
        """Remove what these records alone say."""
        with self._transaction():
            self.con.executemany("DELETE FROM said WHERE id = ?", [(i,) for i in ids])
            self._sweep()

    def nearest(self, model: int, asked: "Vector", most: int = codes.COMPARED) -> dict[str, float]:
        """Ids of the records whose texts are nearest in meaning, with their cosine. asked: relative to the middle."""
        listed = self.con.execute("SELECT number, code FROM code WHERE model = ?", (model,)).fetchall()
        numbers = codes.nearest(codes.signs(asked), listed, most)
        found: dict[str, float] = {}
        for part in _chunks(numbers):
            sql = (
                f"SELECT s.id, v.scale, v.body FROM vector v JOIN said s USING(hash) WHERE v.number IN ({_marks(part)})"
            )
            found.update({i: codes.cosine(asked, *v) for i, *v in self.con.execute(sql, part)})
        return found

    def cosines(self, model: int, asked: "Vector", ids: "Iterable[str]") -> dict[str, float]:
        """The cosine of each of these records that has a vector of this model."""
        found: dict[str, float] = {}
        for part in _chunks(list(ids)):
            sql = (
                "SELECT s.id, v.scale, v.body FROM said s JOIN vector v ON v.model = ? AND v.hash = s.hash"
                f" WHERE s.id IN ({_marks(part)})"
            )
            found.update({i: codes.cosine(asked, *v) for i, *v in self.con.execute(sql, (model, *part))})
        return found

    def count(self, model: int) -> int:
        """How many records have a vector of a model."""
        sql = "SELECT count(*) FROM said s JOIN vector v ON v.model = ? AND v.hash = s.hash"
        return int(self.con.execute(sql, (model,)).fetchone()[0])

    def stamp(self) -> str:
        """What `seal` was told last."""
        row = self.con.execute("SELECT stamp FROM seen").fetchone()
        return row[0] if row else ""

    def seal(self, stamp: str) -> None:
        """Note the state of the index that the records here were last compared with."""
        with self._transaction():
            self.con.execute("DELETE FROM seen")
            self.con.execute("INSERT INTO seen VALUES(?)", (stamp,))

    def _sweep(self) -> int:
        """Vectors that no record says, or of models that are gone."""
        gone = "hash NOT IN (SELECT hash FROM said) OR model NOT IN (SELECT number FROM model)"
        count = self.con.execute(f"DELETE FROM vector WHERE {gone}").rowcount
        self.con.execute("DELETE FROM code WHERE number NOT IN (SELECT number FROM vector)")
        return int(count)

    def _transaction(self) -> "_Transaction":
        return _Transaction(self.con)


class _Transaction:
    """All of it or nothing."""

    __slots__ = ("con",)

    def __init__(self, con: "database.Connection") -> None:
        self.con = con

    def __enter__(self) -> None:
        self.con.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: "Any", *_: object) -> None:
        if self.con.in_transaction:
            self.con.execute("COMMIT" if kind is None else "ROLLBACK")


def opened(store: "Store") -> Vectors | None:
    """The vectors as they are; None where there are none, or a file of another version or no database at all."""
    with store.folder(database.STATE) as state:
        if not _there(state):
            return None
        path = state.where(NAME)
    con = None
    try:
        con = database.connect(path)
        if con.execute("PRAGMA user_version").fetchone() == (SCHEMA,):
            con.execute("SELECT stamp FROM seen").fetchone()
            return Vectors(con)
    except database.damage():
        pass
    if con is not None:
        con.close()
    return None


def made(store: "Store") -> Vectors:
    """The vectors, made anew where `opened` gives none. Hold the lock LOCK. Raises SystemFailure."""
    found = opened(store)
    if found is not None:
        return found
    with store.folder(database.STATE, create=True) as state:
        _remove(state)
        state.create(NAME, b"")
        path = state.where(NAME)
    con = None
    try:
        con = database.connect(path)
        con.execute("BEGIN")
        for statement in _TABLES.split(";\n"):
            if statement.strip():
                con.execute(statement)
        con.execute("COMMIT")
    except database.damage() as e:
        if con is not None:
            con.close()
        raise errors.SystemFailure(f"cannot write the vectors: {e}", path=path) from e
    return Vectors(con)


def discard(store: "Store") -> None:
    """Remove the file with all that it holds."""
    with store.folder(database.STATE) as state:
        if not state.missing:
            _remove(state)


def forget(store: "Store", ids: "Iterable[str]") -> None:
    """Remove what these records alone say; a file that cannot be read goes as a whole."""
    with store.folder(database.STATE) as state:
        if state.missing or not any(state.info(NAME + tail) for tail in _TAILS):
            return
    found = opened(store)
    try:
        if found is not None:
            with found:
                found.forget(ids)
            return
    except database.nonsense():
        pass
    discard(store)


def size_bytes(store: "Store") -> int:
    """What the file takes on disk."""
    with store.folder(database.STATE) as state:
        info = state.info(NAME)
    return 0 if info is None else info.st_size


def shown(con: "database.Connection") -> set[str]:
    """The ids of the records that may have a vector, as an index knows them: at most internal, and shown."""
    sql = "SELECT id FROM record WHERE level <= ? AND rival = 0 AND id != ''"
    return {i for (i,) in con.execute(sql, (int(document.SHOWN_UP_TO),))}


def rows(look: "Look", ids: "list[str]") -> "list[Row]":
    """The rows of these records that a reader may see."""
    found: list[Row] = []
    for part in _chunks(ids):
        named = {f"id{i}": id_ for i, id_ in enumerate(part)}
        ends, whole = (", ".join(form.format(name) for name in named) for form in ("substr(:{}, 25)", ":{}"))
        sql = (
            f"SELECT {look_._COLUMNS} FROM record r JOIN stems s ON s.rid = r.rid"
            f" WHERE substr(r.id, 25) IN ({ends}) AND r.id IN ({whole}) AND {look._where}"
        )
        found += look._rows(sql, **named)
    return found


def _there(state: "Folder") -> bool:
    """True for a plain file, and nothing else than plain files where SQLite would put its own."""
    infos = [state.info(NAME + tail) for tail in _TAILS]
    return infos[0] is not None and all(info is None or stat.S_ISREG(info.st_mode) for info in infos)


def _remove(state: "Folder") -> None:
    for tail in _TAILS:
        state.remove(NAME + tail)
    state.sync()


def _chunks(items: "list[Any]") -> "Iterator[list[Any]]":
    return (items[i : i + _CHUNK] for i in range(0, len(items), _CHUNK))


def _marks(items: "list[Any]") -> str:
    return ", ".join("?" * len(items))
