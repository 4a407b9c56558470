"""The part of the graph of concepts that one question touches: read step by step, never the whole of it.

A concept is a fact, named by its key. What a reader is not cleared for is not in the graph, by no name.
"""

from memcli.base import ids
from memcli.engine import relations
from memcli.index import database, document, doubt, rows
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.index.look import Look
    from memcli.model.records import Fact


class Concepts:
    """Facts by key, as a look at the facts of the index finds them, and where their relations lead."""

    def __init__(self, corpus: "Look") -> None:
        self._corpus = corpus
        self._facts: dict[str, Fact | None] = {}

    def learn(self, fact: "Fact") -> None:
        """A fact that has been read already."""
        self._facts[fact.key] = fact

    def fact(self, key: str) -> "Fact | None":
        """The current fact of a key that the reader may see."""
        if key not in self._facts:
            self._facts[key] = self._read(key)
        return self._facts[key]

    def basis(self, ref: str) -> "Fact | None":
        """What a record was derived from, by key or id, whatever its label: for its trust alone, not to be shown."""
        by = f"+layer = 0 AND {database.BY_ID}" if ids.valid(ref) else "layer = 0 AND key_hash = :hash"
        sql = f"SELECT name FROM record WHERE {by} AND +rival = 0"
        row = self._corpus.con.execute(sql, {"id": ref, "hash": document.hash_of(ref)}).fetchone()
        if row is None:
            return None
        with self._corpus.store.folder(facts.LAYER) as folder:
            return facts.named(self._corpus.store, folder, row[0])

    def walk(
        self, seeds: "Iterable[Fact]", around: "Iterable[Fact]", kinds: tuple[str, ...], depth: int, most: int
    ) -> dict[str, float]:
        """The concepts within `depth` steps of the seeds, strongest first in each step, with the product of the weights.

        around: facts whose relations to a concept count too; of all others only the relations that lead away are known.
        """
        near: dict[str, float] = {}
        front = {f.key: 1.0 for f in seeds}
        seen = set(front)
        others = list(around)
        for _ in range(depth):
            steps = [(front[e.source] * e.weight, e.target) for f in map(self.fact, front) for e in self._out(f, kinds)]
            back = [e for f in others for e in self._out(f, kinds) if e.target in front]
            steps += [(front[e.target] * e.weight, e.source) for e in back]
            front = {}
            for weight, key in sorted(steps, key=lambda s: (-s[0], s[1])):
                if key not in seen and len(near) < most and not self._corpus.hides(key):
                    seen.add(key)
                    near[key] = front[key] = weight
        return near

    def opposed(self, fact: "Fact") -> "Iterable[Fact]":
        """The facts that a fact says it contradicts."""
        for edge in relations.edges_of(fact, ()):
            other = self.fact(edge.target) if edge.kind in relations.OPPOSITES else None
            if other is not None and other.key != fact.key:
                yield other

    def doubts(self, fact: "Fact") -> bool:
        """Whether a page or an import is the source of a fact, or among what it was derived from."""
        return fact.id in doubt.of_facts(self._corpus, (fact,))

    def _out(self, fact: "Fact | None", kinds: tuple[str, ...]) -> "Iterable[relations.Edge]":
        """Relations that may be followed: what the web or an import says leads nowhere."""
        if fact is None or self.doubts(fact):
            return ()
        return (e for e in relations.edges_of(fact, ()) if e.kind in kinds and e.target != fact.key)

    def _read(self, key: str) -> "Fact | None":
        for rid, made in self._corpus.select("r.rid, r.id", f"r.layer = 0 AND r.key_hash = {document.hash_of(key)}"):
            found = self._corpus.record(rows.Row(rid, rows.FACT, made, "", ""))
            if found is not None and found.key == key:  # type: ignore[union-attr]
                return found  # type: ignore[return-value]
        return None
