"""Which records matter for a task: word overlap weighted by rarity, then importance, confidence and recency.

A record's relevance is the share of the task's words that it holds, each word weighted by how rare it is in this store
(inverse document frequency, Spärck Jones 1972); a word in the key counts double.
"""

import math
from datetime import datetime

from memcli.base.value import Value, value
from memcli.model import policy, words
from memcli.model.records import Episode, Fact, Procedure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Record = Fact | Episode | Procedure

RECENCY_HALF_LIFE_DAYS = 90.0
RELEVANT_FROM = 0.2
_TASK_WEIGHTS = {"relevance": 0.75, "importance": 0.12, "confidence": 0.08, "recency": 0.05}
_PLAIN_WEIGHTS = {"relevance": 0.0, "importance": 0.5, "confidence": 0.3, "recency": 0.2}


@value
class Scored(Value):
    """One candidate: the parts of its score (each 0..1) and their weighted sum."""

    record: "Record"
    score: float
    relevance: float
    importance: float
    confidence: float
    recency: float


def score(
    records: "Iterable[Record]", task: str, now: datetime, half_life_days: float = policy.FACT_HALF_LIFE_DAYS
) -> list[Scored]:
    """Every record with its score, best first; ties by id, newest first. Without a task relevance counts for nothing."""
    held = [(r, *_words(r)) for r in records]
    query = dict.fromkeys(words.terms(task))
    rarity = _rarity([strong | weak for _, strong, weak in held], query)
    weights = _TASK_WEIGHTS if query else _PLAIN_WEIGHTS
    found = []
    for record, strong, weak in held:
        parts = {
            "relevance": _relevance(query, rarity, strong, weak),
            "importance": policy.importance(record),
            "confidence": confidence(record, now, half_life_days),
            "recency": policy.decay(seen(record), now, RECENCY_HALF_LIFE_DAYS),
        }
        total = sum(weights[name] * part for name, part in parts.items())
        found.append(Scored(record=record, score=total, **parts))
    found.sort(key=lambda s: s.record.id, reverse=True)
    found.sort(key=lambda s: s.score, reverse=True)
    return found


def confidence(record: "Record", now: datetime, half_life_days: float) -> float:
    """A fact's effective confidence; of the other kinds as written."""
    if isinstance(record, Fact):
        return policy.effective_confidence(record, now, half_life_days)
    return record.confidence


def _relevance(query: "Iterable[str]", rarity: dict[str, float], strong: set[str], weak: set[str]) -> float:
    total = sum(rarity[q] for q in query)
    if not total:
        return 0.0
    got = sum(rarity[q] * (1.0 if q in strong else 0.75 if q in weak else 0.0) for q in query)
    return got / total


def _rarity(held: list[set[str]], query: "Iterable[str]") -> dict[str, float]:
    count = len(held)
    return {q: math.log(1 + (count + 1) / (1 + sum(q in h for h in held))) for q in query}


def _words(record: "Record") -> tuple[set[str], set[str]]:
    strong, weak = fields(record)
    return set(words.terms(" ".join(strong))), set(words.terms(" ".join(weak)))


def fields(record: "Record") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts that name a record, which count in full, and the texts that describe it."""
    if isinstance(record, Fact):
        return (record.key, record.domain, *record.tags), (record.text,)
    if isinstance(record, Episode):
        return (record.task, *record.tags, *record.concepts), (record.text, *record.findings, *record.patterns)
    strong = (record.key, record.title, record.task_type, record.trigger, *record.tags)
    return strong, (record.text, *(s.action for s in record.steps))


def seen(record: "Record") -> datetime:
    """When a record was last said to hold: a fact's update or confirmation, an episode's time."""
    return policy.last_seen(record) if isinstance(record, Fact) else policy.since(record)
