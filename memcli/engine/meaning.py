"""What a question means, in vectors: the opt-in tier of search. Without it, or where it fails, ranking goes on by words.

Imported only where `vectors.enabled` is set. A question is encoded by the model in force and compared with what that
model made of the records; nothing else counts. Whatever goes wrong costs an answer nothing but the help of vectors, and
is said in `note`.
"""

import os

from memcli.base import errors
from memcli.index import codes, database, encoders, vectors
from memcli.model import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.index.codes import Vector
    from memcli.index.look import Look
    from memcli.index.rows import Row
    from memcli.index.vectors import Vectors
    from memcli.store.folder import Store


# So many of the nearest records are ranked beside those that words have found.
CANDIDATES = 150


class Meaning:
    """One question as a vector, and the vectors of the records. note: why there are none, or ""."""

    def __init__(self, store: "Store", query: str) -> None:
        self.note = ""
        self._held: Vectors | None = None
        self._model, self._asked = 0, list[float]()
        self._near: dict[str, float] = {}
        if not query.strip():
            return
        try:
            self._open(store, query)
        except errors.MemcliError as e:
            self._fail(e.message if e.hint is None else f"{e.message} ({e.hint})")
        except database.nonsense():
            self._fail("they are damaged (memcli reindex --vectors makes them anew)")

    def __enter__(self) -> "Meaning":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; what is asked afterwards finds nothing."""
        if self._held is not None:
            self._held.con.close()
            self._held = None

    def rows(self, look: "Look") -> "list[Row]":
        """The rows nearest in meaning that the reader may see."""
        if self._held is None:
            return []
        try:
            self._tidy(look)
            self._near = self._held.nearest(self._model, self._asked)
        except database.nonsense():
            self._fail("they are damaged (memcli reindex --vectors makes them anew)")
            return []
        return vectors.rows(look, codes.best(self._near, CANDIDATES))

    def cosines(self, rows: "Iterable[Row]") -> dict[int, float]:
        """The cosine of question and record, by the number of its row, for those that have a vector of this model."""
        if self._held is None:
            return {}
        number_of = {row.id: row.rid for row in rows}
        try:
            found = {i: cosine for i, cosine in self._near.items() if i in number_of}
            found |= self._held.cosines(self._model, self._asked, number_of.keys() - found.keys())
        except database.nonsense():
            self._fail("they are damaged (memcli reindex --vectors makes them anew)")
            return {}
        return {number_of[i]: cosine for i, cosine in found.items()}

    def _open(self, store: "Store", query: str) -> None:
        encoder = encoders.encoder(store.settings)
        self._held = vectors.opened(store)
        known = None if self._held is None else self._held.model(encoder.name)
        if known is None:
            raise errors.NotFound("there are none of this model yet", hint="memcli reindex --vectors")
        check_host(store)
        self._model, centre = known
        self._asked = question(encoder, query, centre)

    def _fail(self, why: str) -> None:
        self.note = f"went on without vectors: {why}"
        self.close()

    def _tidy(self, look: "Look") -> None:
        """When the index has changed, what readers may no longer see leaves the vectors too."""
        assert self._held is not None
        stamp = _stamp(look.con)
        if not stamp or stamp == self._held.stamp():
            return
        try:
            self._held.keep(vectors.shown(look.con))
            self._held.seal(stamp)
        except database.damage():
            return  # nobody may write here; what it finds is still checked against the index


def question(encoder: "encoders.Encoder", query: str, centre: "Vector") -> "Vector":
    """A question relative to a model's middle. Raises SystemFailure, UsageError."""
    [vector] = encoder.encode([redact.mask(query[: vectors.MOST_CHARS])], question=True)
    if len(vector) != len(centre):
        raise errors.SystemFailure("the model gives vectors of another length now", hint="memcli reindex --vectors")
    return codes.centred(vector, centre)


def check_host(store: "Store") -> None:
    """Raises Refused where memcli.toml names a host that nobody has allowed on this machine."""
    if not store.settings["vectors.endpoint"]:
        return
    from memcli.engine import llm
    from memcli.store import permits

    if not permits.allowed(store, llm.endpoint(store)):
        hint = "memcli config vectors.endpoint --allow"
        raise errors.Refused("vectors.endpoint is not allowed on this machine", hint=hint)


def _stamp(con: "database.Connection") -> str:
    """Which index this is and how often it has changed; "" for one in memory."""
    path = con.execute("PRAGMA database_list").fetchone()[2]
    change = con.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()[0]
    return f"{os.path.basename(path)} {change}" if path else ""
