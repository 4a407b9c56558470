"""What ranking measures of a record for one question: its words, what stands near it, its time, cues, its standing.

Every feature is about 0..1, whatever the length of the question and the size of the store. A word of the question is a
concept: it may also be met, less closely, by a word of like meaning or, where nobody wrote it, of like spelling. BM25 is
that of Robertson and Zaragoza (2009) with k1 = .6 and b = .4, since records are short and repetition says little.
"""

import re
from math import log

from memcli.index import rows as _rows
from memcli.index import signs, thesaurus
from memcli.model import dates, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any, Protocol

    from memcli.index.rows import Corpus, Row

    class Meaning(Protocol):
        """A question and the records as vectors: `meaning.Meaning`, where vectors are enabled."""

        def rows(self, corpus: Any, /) -> "Iterable[Row]":
            """The rows nearest in meaning that the reader may see."""

        def cosines(self, rows: "Iterable[Row]", /) -> dict[int, float]:
            """The cosine of question and record by the number of its row, for those that have one."""


NAMES = (
    "words",
    "coverage",
    "passage",
    "name",
    "near",
    "answer",
    "session_best",
    "session_start",
    "speaker",
    "date",
    "when",
    "count",
    "question",
    "vector",
    "vector_near",
    "importance",
    "confidence",
    "trust",
    "recency",
)
K1, B = 0.6, 0.4
CANDIDATES = 150
# A question of more words is a text; its first ones say what it is about, and each costs a question to the index.
MOST_WORDS = 64
_MOST_LETTERS = 20_000
# In a large store a word in more than one row of six (rarity 1.8) brings no candidates where others do: that halves the
# time of full-text search.
LARGE, TOO_COMMON = 1000, 1.8
NEIGHBOURS_OF, REACH = 20, 2
SESSIONS, ROWS_OF_A_SESSION = 4, 50
TALK_FROM = 4  # so many rows make a session a talk, which has a beginning
FADING = 0.85  # of a word's weight for the passage, with every place away
# A neighbour in meaning that is common says nothing, and costs much.
COMMON_SHARE, COMMON_LEAST = 0.005, 30
# Spelling: how alike two words must be, and what the likeness is worth.
ALIKE_FROM, ALIKE_WORTH, SPELLED_LEAST_LETTERS = 0.5, 0.6, 4
HALF_LIFE_DAYS = 90.0
# Cosines of vectors, relative to their model's middle, at which a record holds nothing and all of a question. Between
# them it rises slowly at first: of a hundred pairs of texts ten have .3, and hold nothing of each other.
MEANT_FROM, MEANT_ALL, MEANT_POWER = 0.2, 0.8, 1.5
SPEAKER_OF_A_FACT = 0.25  # who wrote a fact down matters less than who said a line of a talk
VECTOR_OF_A_FACT = 2.5  # a fact stands alone: what its words leave unsaid, no neighbour says
_WORD = re.compile(r"\w+")
# Beginnings of words, each with a space before it.
_WHEN = (
    " when| what date| what day| what month| what year| what time| how long ago| когда| какого числа| в каком году"
    "| в каком месяце| в какой день"
).split("|")
_MANY = " how many| how much| how long| how old| how often| сколько| как долго| как часто".split("|")


class Concept:
    """One word of the question. idf: its rarity here; forms: what may stand for it, with closeness 0..1 and rarity."""

    __slots__ = ("forms", "idf")

    def __init__(self, idf: float, forms: dict[str, tuple[float, float]]) -> None:
        self.idf = idf
        self.forms = forms


class Measured:
    """One candidate. held: 0..1, the share of the question's meaning that it holds; values: its features, as NAMES."""

    __slots__ = ("held", "row", "values")

    def __init__(self, row: "Row", held: float, values: tuple[float, ...]) -> None:
        self.row, self.held, self.values = row, held, values


def measure(
    corpus: "Corpus", query: str, now: "datetime", meaning: "Meaning | None" = None, most: int = CANDIDATES
) -> "tuple[bool, list[Measured]]":
    """Whether the question has words that count, and the candidates for it; without words those that matter most.

    meaning: its vectors, which bring candidates of their own; most: how many the full text brings.
    """
    stems = list(dict.fromkeys(words.terms(query[:_MOST_LETTERS])))[:MOST_WORDS]
    if not stems:
        nothing = (0.0,) * (len(NAMES) - len(standing_of(_NOBODY, 0.0)))
        found = corpus.matching((), most)
        return False, [Measured(row, 0.0, nothing + standing_of(row, now.timestamp())) for row in found]
    concepts = understood(corpus, stems)
    rows = candidates(corpus, stems, concepts, most)
    for row in () if meaning is None else meaning.rows(corpus):
        rows.setdefault(row.rid, row)
    return True, _Question(query, now, concepts, meaning).measure(corpus, rows)


def likely(cosine: float) -> float:
    """How much of a question's meaning a record holds by its vector alone, 0..1."""
    return float(min(max((cosine - MEANT_FROM) / (MEANT_ALL - MEANT_FROM), 0.0), 1.0) ** MEANT_POWER)


def vector_worth(row: "Row") -> float:
    """What the cosine of a record counts for."""
    return 1.0 if row.layer == _rows.EPISODE else VECTOR_OF_A_FACT


def understood(corpus: "Corpus", stems: "Iterable[str]") -> list[Concept]:
    """The concepts of a question's stems."""
    near = {s: thesaurus.neighbours(s) for s in stems}
    counts = corpus.frequencies({*near, *(other for found in near.values() for other, _ in found)})
    most = max(COMMON_SHARE * corpus.count, COMMON_LEAST)
    made = []
    for stem, others in near.items():
        idf = rarity(corpus.count, counts[stem])
        forms = {stem: (1.0, idf)}
        for other, closeness in others:
            if 0 < counts[other] <= most:
                forms[other] = (closeness, min(idf, rarity(corpus.count, counts[other])))
        if not counts[stem]:
            for other, closeness in _spelled(corpus, stem):
                forms.setdefault(other, (closeness, idf))
        made.append(Concept(idf, forms))
    return made


def candidates(corpus: "Corpus", stems: list[str], concepts: list[Concept], most: int = CANDIDATES) -> "dict[int, Row]":
    """Rows that hold a word of the question, and rows that hold a word for one."""
    telling = stems
    if corpus.count >= LARGE:
        telling = [s for s, c in zip(stems, concepts, strict=True) if c.idf >= TOO_COMMON] or stems
    listed = corpus.matching(telling, most)
    if not listed and len(telling) < len(stems):
        listed = corpus.matching(stems, most)  # the telling words stand nowhere: the common ones have to do
    found = {row.rid: row for row in listed}
    forms = list(dict.fromkeys(form for c in concepts for form in c.forms if form not in stems))
    if forms:
        for row in corpus.matching(forms, most):
            found.setdefault(row.rid, row)
    return found


def rarity(count: int, holding: int) -> float:
    """Inverse document frequency as BM25 has it, never negative: ln(1 + (N - n + .5) / (n + .5))."""
    return log(1 + (max(count, holding) - holding + 0.5) / (holding + 0.5))


def likeness(one: str, other: str) -> float:
    """Dice's coefficient of the three-letter groups of two words, their ends included; 0..1."""
    mine, theirs = _groups(one), _groups(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def standing_of(row: "Row", now: float) -> tuple[float, float, float, float]:
    """What a row is worth whatever was asked: importance, confidence, trust, recency (halved every 90 days)."""
    return row.importance, row.confidence, row.trust, float(0.5 ** (max(0.0, now - row.at) / 86400 / HALF_LIFE_DAYS))


def _groups(word: str) -> set[str]:
    whole = f"^{word}$"
    return {whole[i : i + 3] for i in range(len(whole) - 2)}


def _spelled(corpus: "Corpus", stem: str) -> "Iterable[tuple[str, float]]":
    if len(stem) < SPELLED_LEAST_LETTERS or stem.isdigit():
        return
    for other in corpus.spelled_like(stem, 8):
        alike = likeness(stem, other)
        if alike >= ALIKE_FROM and other[:1] == stem[:1]:
            yield other, ALIKE_WORTH * alike


_NOBODY = _rows.Row(0, _rows.FACT, "", "", "")


class _Question:
    """What a question asks for, and what its candidates have of it."""

    def __init__(self, query: str, now: "datetime", concepts: list[Concept], meaning: "Meaning | None" = None) -> None:
        folded = words.fold(query)
        self.now = now.timestamp()
        self.rarities = [c.idf for c in concepts]
        self.total = sum(self.rarities) or 1.0
        self.spans = dates.asked(folded, now)
        self.named = set(_WORD.findall(folded))
        asked = f" {folded} "
        self.when, self.many = any(p in asked for p in _WHEN), any(p in asked for p in _MANY)
        self.meaning: dict[str, list[tuple[int, float, float]]] = {}
        for number, concept in enumerate(concepts):
            for form, (closeness, idf) in concept.forms.items():
                self.meaning.setdefault(form, []).append((number, closeness, idf))
        self.bm25: dict[int, float] = {}
        self.soft: dict[int, dict[int, float]] = {}
        self.name: dict[int, float] = {}
        self.meaning_of = meaning
        self.cosine: dict[int, float] = {}

    def measure(self, corpus: "Corpus", found: "dict[int, Row]") -> list[Measured]:
        mean = max(corpus.mean_length, 1.0)
        for row in found.values():
            self.look(row, mean)
        for row in self.beside(corpus, found):
            if row.rid not in found:
                found[row.rid] = row
                self.look(row, mean)
        if self.meaning_of is not None:
            self.cosine = self.meaning_of.cosines(found.values())
        talks = self.talks(found.values())
        best = {s: max(self.bm25[r.rid] for r in members) for s, members in talks.items()}
        long = {s for s, members in talks.items() if len(members) >= TALK_FROM}
        passages = {rid: p for members in talks.values() for rid, p in self.passages(members)}
        places = {(r.session, r.place): r for members in talks.values() for r in members}
        return [self.of(row, best, long, passages, places) for row in found.values()]

    def look(self, row: "Row", mean_length: float) -> None:
        """BM25 over concepts, each counted by the form that gives most, and how closely each is held."""
        counts: dict[str, int] = {}
        meaning = self.meaning
        for field in (row.strong, row.weak):
            for stem in field.split():
                if stem in meaning:
                    counts[stem] = counts.get(stem, 0) + 1
        norm = K1 * (1 - B + B * row.length / mean_length)
        most: dict[int, float] = {}
        held: dict[int, float] = {}
        for stem, count in counts.items():
            weight = count * (K1 + 1) / (count + norm)
            for number, closeness, idf in meaning[stem]:
                most[number] = max(most.get(number, 0.0), closeness * idf * weight)
                held[number] = max(held.get(number, 0.0), closeness)
        self.bm25[row.rid] = sum(most.values()) / self.total
        self.name[row.rid] = self.titled(row) if row.strong else 0.0
        self.soft[row.rid] = held

    def titled(self, row: "Row") -> float:
        """How much of the question stands in the name of a record, and how much of the name in the question: their mean.

        The name is the key, about so many stems as it has words; of what has no key, the title with its tags.
        """
        stems = row.strong.split()
        stems = stems[: row.key.count(" ") + 1] if row.key else stems
        held: dict[int, float] = {}
        covered = 0.0
        for stem in stems:
            closest = 0.0
            for number, closeness, _ in self.meaning.get(stem, ()):
                held[number] = max(held.get(number, 0.0), closeness)
                closest = max(closest, closeness)
            covered += closest
        return (self.share(held) + covered / len(stems)) / 2

    def beside(self, corpus: "Corpus", found: "dict[int, Row]") -> "list[Row]":
        """Rows next to the best ones, and the rows of the best sessions."""
        best = sorted(found.values(), key=lambda r: self.bm25[r.rid], reverse=True)
        talk = [r for r in best if r.session and r.layer == _rows.EPISODE]
        if not talk:
            return []
        sums: dict[str, float] = {}
        for row in talk:
            sums[row.session] = sums.get(row.session, 0.0) + self.bm25[row.rid]
        top = sorted(sums, key=lambda s: sums[s], reverse=True)[:SESSIONS]
        return [*corpus.around(talk[:NEIGHBOURS_OF], REACH), *corpus.of_sessions(top, ROWS_OF_A_SESSION)]

    def talks(self, found: "Iterable[Row]") -> "dict[str, list[Row]]":
        """The candidates of each session in order; facts and procedures have none."""
        made: dict[str, list[Row]] = {}
        for row in found:
            if row.session and row.layer == _rows.EPISODE:
                made.setdefault(row.session, []).append(row)
        for members in made.values():
            members.sort(key=lambda r: r.place)
        return made

    def passages(self, members: "list[Row]") -> "Iterable[tuple[int, float]]":
        """How much of the question each row holds together with what stands around it, which fades with the distance."""
        around: dict[int, dict[int, float]] = {r.rid: dict(self.soft[r.rid]) for r in members}
        for order in (members, members[::-1]):
            carried: dict[int, float] = {}
            last = order[0].place
            for row in order:
                fading = FADING ** min(abs(row.place - last), 50)
                last = row.place
                carried = {n: c * fading for n, c in carried.items()}
                for number, closeness in self.soft[row.rid].items():
                    carried[number] = max(carried.get(number, 0.0), closeness)
                own = around[row.rid]
                for number, closeness in carried.items():
                    if closeness > own.get(number, 0.0):
                        own[number] = closeness
        for rid, held in around.items():
            yield rid, self.share(held)

    def share(self, held: dict[int, float]) -> float:
        """The part of the question's meaning in what is held of its concepts, weighted by rarity; 0..1."""
        return sum(closeness * self.rarities[n] for n, closeness in held.items()) / self.total

    def of(
        self,
        row: "Row",
        best: dict[str, float],
        long: set[str],
        passages: dict[int, float],
        places: "dict[tuple[str, int], Row]",
    ) -> Measured:
        held, bm25, flags = self.share(self.soft[row.rid]), self.bm25[row.rid], row.flags
        talk = row.layer == _rows.EPISODE
        near = answer = vector_near = 0.0
        if talk and row.session:
            for away in (-2, -1, 1, 2):
                other = places.get((row.session, row.place + away))
                if other is not None:
                    near += self.bm25[other.rid] / 4
                    vector_near = max(vector_near, self.cosine.get(other.rid, 0.0))
                    if away == -1 and other.flags & signs.QUESTION:
                        answer = self.bm25[other.rid]
        named = bool(row.speaker) and row.speaker.split()[0] in self.named
        passage = passages.get(row.rid, held)
        cosine = self.cosine.get(row.rid, 0.0)
        values = (
            bm25,
            held,
            passage,
            self.name[row.rid],
            near,
            answer,
            best.get(row.session, bm25) if talk else bm25,
            passage if row.session in long and row.place <= 2 and talk else 0.0,
            0.0 if not named else 1.0 if talk else SPEAKER_OF_A_FACT,
            dates.near(self.spans, row.at) if self.spans else 0.0,
            1.0 if self.when and flags & signs.TIME else 0.0,
            1.0 if self.many and flags & signs.NUMBER else 0.0,
            1.0 if talk and flags & signs.QUESTION else 0.0,
            max(cosine, 0.0) * vector_worth(row),
            vector_near,
        )
        return Measured(row, max(held, likely(cosine)), values + standing_of(row, self.now))
