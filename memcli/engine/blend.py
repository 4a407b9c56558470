"""The ranking: which records answer a question, by a weighted sum of features, without a model.

What a record is measured by stands in `features`; here are the weights, the order, how much of the question a record
holds, and whether the best of them is an answer. Every score can be explained: it is the sum of its `why`. The scores
are blended linearly, not by ranks: that measured best (docs/decisions/0012).
"""

from memcli.base.value import Value, value
from memcli.engine import features

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memcli.index.rows import Corpus, Row

WEIGHTS = {
    "words": 0.473,
    "coverage": 0.527,
    "speaker": 0.466,
    "beside": 0.359,
    "passage": 0.2,
    "near": 0.587,
    "session": 0.620,
    "session_best": 0.437,
    "session_start": 0.186,
    "date": 1.250,
    "when": 0.397,
    "count": 0.214,
    "question": -0.084,
    "answer": 0.588,
    "length": 0.569,
    "importance": 0.06,
    "confidence": 0.04,
    "trust": 0.02,
    "recency": 0.03,
}
# A question without words: what matters, what is sure, what is new.
PLAIN_WEIGHTS = {"importance": 0.5, "confidence": 0.3, "recency": 0.2}


@value
class Scored(Value):
    """One row with its score. relevance: 0..1, how much of the question's meaning it holds; why: the terms of the score."""

    row: "Row"
    score: float
    relevance: float
    why: dict[str, float]


def rank(corpus: "Corpus", query: str, now: "datetime", limit: int) -> "list[Scored]":
    """The `limit` best rows for a question, best first; ties by id, newest first.

    A query without words that count ranks what `corpus.matching((), ...)` gives, by importance, confidence and recency.
    """
    measured = features.measure(corpus, query, now)
    weights = WEIGHTS if measured.asked else PLAIN_WEIGHTS
    found = []
    for row, relevance, values in measured.rows:
        score = sum(weight * values[name] for name, weight in weights.items())
        found.append((score, row, relevance, values))
    found.sort(key=lambda f: (f[0], f[1].id), reverse=True)
    return [
        Scored(row=row, score=score, relevance=relevance, why={n: w * values[n] for n, w in weights.items() if values[n]})
        for score, row, relevance, values in found[:limit]
    ]


def verdict(scored: "Sequence[Scored]") -> str:
    """"strong", "weak" or "none": does the store hold an answer at all?"""
    best = max((s.relevance for s in scored[:5]), default=0.0)
    return "strong" if best >= 0.6 else "weak" if best >= 0.3 else "none"
