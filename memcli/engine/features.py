"""What ranking measures of a record for one question: words, their neighbours in meaning and place, dates, cues.

Every feature is about 0..1, whatever the length of the question and the size of the store. BM25 after Robertson and
Zaragoza (2009) with k1 = .6 and b = .4: repetition counts less than usual, for records are short.
"""

import math
import re
from datetime import timezone

from memcli.index import rows as _rows
from memcli.index import signs, thesaurus
from memcli.model import dates, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from memcli.index.rows import Corpus, Row

K1, B = 0.6, 0.4
CANDIDATES = 250
NEIGHBOURS_OF = 60
SESSIONS = 8
ROWS_OF_A_SESSION = 60
COMMON_NEIGHBOUR = 0.005
COMMON_NEIGHBOUR_LEAST = 30
HALF_LIFE_DAYS = 90.0
STRONG = 1.5

_WORD = re.compile(r"\w+")


class Measured:
    """asked: has the question words that count; rows: each candidate with its relevance and its features by name."""

    __slots__ = ("asked", "rows")

    def __init__(self, asked: bool, found: "list[tuple[Row, float, dict[str, float]]]") -> None:
        self.asked = asked
        self.rows = found


class Concept:
    """One word of the question with everything that may stand for it. idf: its rarity; forms: stem -> closeness, rarity."""

    __slots__ = ("forms", "idf")

    def __init__(self, idf: float, forms: dict[str, tuple[float, float]]) -> None:
        self.idf = idf
        self.forms = forms


def measure(corpus: "Corpus", query: str, now: "datetime") -> Measured:
    """The candidates for a question and their features."""
    stems = list(dict.fromkeys(words.terms(query)))
    if not stems:
        found = corpus.matching((), CANDIDATES)
        return Measured(False, [(row, 0.0, _standing(row, now)) for row in found])
    concepts = _concepts(corpus, stems)
    candidates = _candidates(corpus, stems, concepts)
    return Measured(True, _Scorer(corpus, query, now, concepts, candidates).run())


def _concepts(corpus: "Corpus", stems: list[str]) -> list[Concept]:
    near = {s: thesaurus.neighbours(s) for s in stems}
    every = {*stems, *(n for found in near.values() for n, _ in found)}
    counts = corpus.frequencies(every)
    most = max(COMMON_NEIGHBOUR * corpus.count, COMMON_NEIGHBOUR_LEAST)
    made = []
    for stem in stems:
        idf = rarity(corpus.count, counts.get(stem, 0))
        forms = {stem: (1.0, idf)}
        for other, closeness in near[stem]:
            count = counts.get(other, 0)
            if 0 < count <= most:
                forms[other] = (closeness, min(idf, rarity(corpus.count, count)))
        if not counts.get(stem, 0):
            for other, closeness in _spelled(corpus, stem):
                forms.setdefault(other, (closeness, idf))
        made.append(Concept(idf, forms))
    return made


def _spelled(corpus: "Corpus", stem: str) -> "Iterable[tuple[str, float]]":
    if len(stem) < 4:
        return
    for other in corpus.spelled_like(stem, 8):
        alike = likeness(stem, other)
        if alike >= 0.5 and other != stem:
            yield other, 0.6 * alike


def likeness(one: str, other: str) -> float:
    """Dice's coefficient of the three-letter groups of two words, their ends included; 0..1."""
    mine = {f"^{one}$"[i : i + 3] for i in range(len(one))}
    theirs = {f"^{other}$"[i : i + 3] for i in range(len(other))}
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def rarity(count: int, holding: int) -> float:
    """Inverse document frequency as in BM25, never negative: ln(1 + (N - n + .5) / (n + .5))."""
    return math.log(1 + (count - holding + 0.5) / (holding + 0.5))


def _candidates(corpus: "Corpus", stems: list[str], concepts: list[Concept]) -> "dict[int, Row]":
    found = {row.rid: row for row in corpus.matching(stems, CANDIDATES)}
    others = list(dict.fromkeys(form for c in concepts for form in c.forms))
    if len(others) > len(stems):
        found.update((row.rid, row) for row in corpus.matching(others, CANDIDATES))
    return found


def _standing(row: "Row", now: "datetime") -> dict[str, float]:
    """What a row is worth whatever was asked."""
    age = max(0.0, (now.timestamp() - row.at) / 86400)
    return {
        "importance": row.importance,
        "confidence": row.confidence,
        "trust": row.trust,
        "recency": 0.5 ** (age / HALF_LIFE_DAYS),
    }


class _Scorer:
    """One question over its candidates."""

    def __init__(self, corpus: "Corpus", query: str, now: "datetime", concepts: list[Concept], found: "dict[int, Row]") -> None:
        self.corpus, self.now, self.concepts, self.found = corpus, now, concepts, found
        self.folded = words.fold(query)
        self.total = sum(c.idf for c in concepts) or 1.0
        self.spans = dates.asked(self.folded, now if now.tzinfo else now.replace(tzinfo=timezone.utc))
        self.named = set(_WORD.findall(self.folded))
        self.lookup: dict[str, list[tuple[int, float, float]]] = {}
        for number, concept in enumerate(concepts):
            for form, (closeness, idf) in concept.forms.items():
                self.lookup.setdefault(form, []).append((number, closeness, idf))
        self.bm25: dict[int, float] = {}
        self.held: dict[int, float] = {}
        self.soft: dict[int, dict[int, float]] = {}

    def run(self) -> "list[tuple[Row, float, dict[str, float]]]":
        for row in self.found.values():
            self.score(row)
        self.widen()
        sessions = self.sessions()
        places = {(r.session, r.place): r for r in self.found.values() if r.session and r.layer == _rows.EPISODE}
        return [(row, self.held[row.rid] , self.features(row, sessions, places)) for row in self.found.values()]

    def score(self, row: "Row") -> None:
        """BM25 and coverage of one row, over concepts."""
        counts: dict[tuple[int, str], float] = {}
        lookup = self.lookup
        for field, worth in ((row.strong, STRONG), (row.weak, 1.0)):
            for stem in field.split():
                if stem in lookup:
                    for number, _, _ in lookup[stem]:
                        counts[number, stem] = counts.get((number, stem), 0.0) + worth
        norm = K1 * (1 - B + B * row.length / max(self.corpus.mean_length, 1.0))
        best: dict[int, float] = {}
        held: dict[int, float] = {}
        for (number, stem), count in counts.items():
            closeness, idf = self.concepts[number].forms[stem]
            best[number] = max(best.get(number, 0.0), closeness * idf * count * (K1 + 1) / (count + norm))
            held[number] = max(held.get(number, 0.0), closeness)
        self.bm25[row.rid] = sum(best.values()) / self.total
        self.held[row.rid] = sum(w * self.concepts[n].idf for n, w in held.items()) / self.total
        self.soft[row.rid] = held

    def widen(self) -> None:
        """Neighbours of the best rows, and the rest of the best sessions, join the candidates."""
        best = sorted(self.found.values(), key=lambda r: self.bm25[r.rid], reverse=True)
        episodes = [r for r in best if r.session and r.layer == _rows.EPISODE]
        more = list(self.corpus.around(episodes[:NEIGHBOURS_OF], 2))
        totals: dict[str, float] = {}
        for row in episodes:
            totals[row.session] = totals.get(row.session, 0.0) + self.bm25[row.rid]
        top = sorted(totals, key=lambda s: totals[s], reverse=True)[:SESSIONS]
        if top:
            more += self.corpus.of_sessions(top, ROWS_OF_A_SESSION)
        for row in more:
            if row.rid not in self.found:
                self.found[row.rid] = row
                self.score(row)

    def sessions(self) -> dict[str, tuple[float, float]]:
        """Of each session: how well it holds the concepts as one text, and its best row's BM25."""
        held: dict[str, dict[int, float]] = {}
        best: dict[str, float] = {}
        for row in self.found.values():
            if not row.session:
                continue
            into = held.setdefault(row.session, {})
            for number, closeness in self.soft[row.rid].items():
                into[number] = into.get(number, 0.0) + closeness
            best[row.session] = max(best.get(row.session, 0.0), self.bm25[row.rid])
        made = {}
        for session, counts in held.items():
            score = sum(self.concepts[n].idf * c / (c + K1) for n, c in counts.items()) / self.total
            made[session] = (score, best[session])
        return made

    def features(self, row: "Row", sessions: "dict[str, tuple[float, float]]", places: "dict[tuple[str, int], Row]") -> dict[str, float]:
        session, session_best = sessions.get(row.session, (0.0, 0.0))
        beside = near = answer = 0.0
        if row.layer == _rows.EPISODE and row.session:
            for away in (-2, -1, 1, 2):
                other = places.get((row.session, row.place + away))
                if other is not None:
                    if abs(away) == 1:
                        beside += self.bm25[other.rid] / 2
                    else:
                        near += self.bm25[other.rid] / 2
                    if away == -1 and other.flags & signs.QUESTION:
                        answer = self.bm25[other.rid]
        passage: dict[int, float] = {}
        if row.layer == _rows.EPISODE and row.session:
            for away in range(-6, 7):
                other = places.get((row.session, row.place + away))
                if other is not None:
                    for number, closeness in self.soft[other.rid].items():
                        c = closeness * 0.85 ** abs(away)
                        if c > passage.get(number, 0.0):
                            passage[number] = c
        when = self.folded.startswith("when") or "когда" in self.folded or "what date" in self.folded
        many = "how many" in self.folded or "how much" in self.folded or "сколько" in self.folded
        return {
            "words": self.bm25[row.rid],
            "coverage": self.held[row.rid],
            "speaker": float(bool(row.speaker) and row.speaker.split()[0] in self.named),
            "beside": beside,
            "near": near,
            "passage": sum(c * self.concepts[n].idf for n, c in passage.items()) / self.total,
            "session": session,
            "session_best": session_best,
            "session_start": session if row.session and row.place < 2 else 0.0,
            "date": dates.near(self.spans, row.at),
            "when": float(when and bool(row.flags & signs.TIME)),
            "count": float(many and bool(row.flags & signs.NUMBER)),
            "question": float(bool(row.flags & signs.QUESTION)),
            "answer": answer,
            "length": math.log1p(row.length) / 5,
            **_standing(row, self.now),
        }
