"""The ranking: which records answer a question, by a weighted sum of features, without a model.

What a record is measured by stands in `features`; here are the weights, the order, and whether the best records are an
answer at all. Every score can be explained: it is the sum of its `why`. The blend is linear, not one of ranks: that
measured best (docs/decisions/0012-ranking.md; tests/bench/retrieval.py refits and measures).
"""

from memcli.base.value import Value, value
from memcli.engine import features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from typing import TypeVar

    from memcli.index.rows import Corpus, Row
    from memcli.store.folder import Store

    T = TypeVar("T")

# Fitted to talks; `name` and the last four were set by hand. Importance and the like only decide between records that
# answer about as well.
WEIGHTS = {
    "words": 0.060,
    "coverage": 0.143,
    "passage": 0.685,
    "name": 0.3,
    "near": 0.147,
    "answer": 0.225,
    "session_best": 0.111,
    "session_start": 0.061,
    "speaker": 0.224,
    "date": 0.578,
    "when": 0.175,
    "count": 0.145,
    "question": -0.047,
    "vector": 0.906,
    "vector_near": 0.704,
    "importance": 0.12,
    "confidence": 0.06,
    "trust": 0.03,
    "recency": 0.04,
}
# A question without words: what matters, what is sure, what is new.
PLAIN_WEIGHTS = {"importance": 0.5, "confidence": 0.3, "recency": 0.2}
# Where the verdict changes, set between questions with and without an answer in the store (docs/decisions/0012).
STRONG_FROM, WEAK_FROM = 0.65, 0.4
# How much of a question a passage must hold, 0..1, to make results of its rows without a word of the question.
FOUND_FROM = 0.3
_OF_WORDS = ("words", "coverage", "passage", "name", "near", "answer", "session_best", "speaker")


@value
class Scored(Value):
    """One row with its score. relevance: 0..1, how much of the question's meaning it holds; why: the terms of the score."""

    row: "Row"
    score: float
    relevance: float
    why: dict[str, float]


def rank(
    corpus: "Corpus",
    query: str,
    now: "datetime",
    limit: int,
    meaning: "features.Meaning | None" = None,
    *,
    candidates: int = features.CANDIDATES,
) -> list[Scored]:
    """The `limit` best rows for a question, best first; ties by id, newest first. now: for ages, and for "last week".

    A question without words that count ranks what `corpus.matching(())` gives, by importance, confidence and recency.
    meaning: the question's vectors, where the store has them; without, all stays as it is. candidates: how many records
    the full text brings; few are enough for an answer.
    """
    asked, measured = features.measure(corpus, query, now, meaning, candidates)
    table = WEIGHTS if asked else PLAIN_WEIGHTS
    weights = [table.get(name, 0.0) for name in features.NAMES]
    found = [(sum([w * v for w, v in zip(weights, m.values, strict=True)]), m.row.id, m) for m in measured]
    found.sort(key=lambda f: f[:2], reverse=True)
    return [
        Scored(
            row=m.row,
            score=score,
            relevance=m.held,
            why={n: w * v for n, w, v in zip(features.NAMES, weights, m.values, strict=True) if w * v},
        )
        for score, _, m in found[:limit]
    ]


def with_meaning(store: "Store", query: str, answer: "Callable[[features.Meaning | None], T]") -> "tuple[T, str]":
    """What `answer` makes of a question's vectors, None where they are off, and why it had to go on without ("" if not)."""
    if not store.settings["vectors.enabled"]:
        return answer(None), ""
    from memcli.engine import meaning

    with meaning.Meaning(store, query) as meant:
        made = answer(meant)
        return made, meant.note


def found(scored: Scored) -> bool:
    """Is it a result of a search: does it hold a word of the question, or stand in a passage that holds enough of it?

    An answer often repeats no word of the question that it follows ("Two cherries and a plum").
    """
    return scored.relevance > 0 or scored.why.get("passage", 0.0) >= FOUND_FROM * WEIGHTS["passage"]


def verdict(scored: "Sequence[Scored]") -> str:
    """Does the store hold an answer: "strong", "weak" or "none"; by what the best five hold of the question's words.

    Dates, cues and standing do not count: they tell answers apart, but are no answer. Without a question it is "none".
    """
    best = max((_answers(s) for s in scored[:5] if s.relevance > 0), default=0.0)
    return "strong" if best >= STRONG_FROM else "weak" if best >= WEAK_FROM else "none"


def _answers(scored: Scored) -> float:
    """How well a record answers: by its words, or by its meaning where that says more."""
    by_words = sum([scored.why.get(name, 0.0) for name in _OF_WORDS])
    cosine = scored.why.get("vector", 0.0) / WEIGHTS["vector"] / features.vector_worth(scored.row)
    return max(by_words, features.likely(cosine))
