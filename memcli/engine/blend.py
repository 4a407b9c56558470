"""The ranking: which records answer a question, by a weighted sum of features, without a model.

What a record is measured by stands in `features`; here are the weights, the order, and whether the best records are an
answer at all. Every score can be explained: it is the sum of its `why`. The blend is linear, not one of ranks: that
measured best (docs/decisions/0012-ranking.md; tests/bench/retrieval.py refits and measures).
"""

from memcli.base.value import Value, value
from memcli.engine import features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memcli.index.rows import Corpus, Row

# Fitted to talks; `name` and the last four were set by hand. Importance and the like only decide between records that
# answer about as well.
WEIGHTS = {
    "words": 0.053,
    "coverage": 0.154,
    "passage": 0.686,
    "name": 0.3,
    "near": 0.163,
    "answer": 0.227,
    "session_best": 0.107,
    "session_start": 0.064,
    "speaker": 0.217,
    "date": 0.587,
    "when": 0.175,
    "count": 0.145,
    "question": -0.049,
    "importance": 0.12,
    "confidence": 0.06,
    "trust": 0.03,
    "recency": 0.04,
}
# A question without words: what matters, what is sure, what is new.
PLAIN_WEIGHTS = {"importance": 0.5, "confidence": 0.3, "recency": 0.2}
# Where the verdict changes, set between questions with and without an answer in the store (docs/decisions/0012).
STRONG_FROM, WEAK_FROM = 0.65, 0.4
_OF_WORDS = ("words", "coverage", "passage", "name", "near", "answer", "session_best", "speaker")


@value
class Scored(Value):
    """One row with its score. relevance: 0..1, how much of the question's meaning it holds; why: the terms of the score."""

    row: "Row"
    score: float
    relevance: float
    why: dict[str, float]


def rank(corpus: "Corpus", query: str, now: "datetime", limit: int) -> list[Scored]:
    """The `limit` best rows for a question, best first; ties by id, newest first. now: for ages, and for "last week".

    A question without words that count ranks what `corpus.matching(())` gives, by importance, confidence and recency.
    """
    asked, measured = features.measure(corpus, query, now)
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


def verdict(scored: "Sequence[Scored]") -> str:
    """Does the store hold an answer: "strong", "weak" or "none"; by what the best five hold of the question's words.

    Dates, cues and standing do not count: they tell answers apart, but are no answer. Without a question it is "none".
    """
    best = max((sum([s.why.get(name, 0.0) for name in _OF_WORDS]) for s in scored[:5] if s.relevance > 0), default=0.0)
    return "strong" if best >= STRONG_FROM else "weak" if best >= WEAK_FROM else "none"
