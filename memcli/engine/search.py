"""Search over facts, episodes and procedures: words, "quoted phrases", and -words to leave out; best first.

Anything a person types is a query; nothing is a syntax error. What is above the clearance is never found, by no word.
"""

import re
from datetime import datetime

from memcli.base.value import Value, value
from memcli.engine import rank, view
from memcli.model import labels, words
from memcli.model.records import Episode, Fact, Procedure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.rank import Scored
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

LAYERS = ("facts", "episodes", "procedures")
_PHRASE = re.compile(r'(-?)"([^"]+)"')


@value
class Filters(Value):
    """What a hit must be, beside matching. since: not older; last-seen times count for facts."""

    layers: tuple[str, ...] = LAYERS
    tags: tuple[str, ...] = ()
    domain: str | None = None
    source: str | None = None
    session: str | None = None
    outcome: str | None = None
    concept: str | None = None
    prefix: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float = 0.0
    min_importance: float = 0.0


@value
class Hit(Value):
    """One record found. score: 0..1; why: each part of the score by name."""

    record: "Fact | Episode | Procedure"
    score: float
    why: dict[str, float]


@value
class Found(Value):
    """The hits, best first, how many more matched than were asked for, and how many records are withheld in all."""

    hits: tuple[Hit, ...]
    more: int
    withheld: int


@value
class _Query(Value):
    text: str
    phrases: tuple[str, ...]
    without: tuple[str, ...]


def search(
    store: "Store",
    query: str,
    *,
    now: datetime,
    limit: int = 20,
    clearance: "Sensitivity" = labels.INTERNAL,
    filters: Filters | None = None,
) -> Found:
    """Records that hold words of the query. An empty query finds everything that passes the filters, newest first."""
    wanted = filters or Filters()
    asked = _parse(query)
    seen = view.survey(store, now, clearance, layers=wanted.layers)
    every: list[Fact | Episode | Procedure] = [*seen.facts, *seen.episodes, *seen.procedures]
    fit = [r for r in every if _passes(r, wanted) and _holds(r, asked)]
    half_life = store.settings["decay.fact_half_life_days"]
    ranked = rank.score(fit, asked.text, now, half_life)
    needs_words = bool(asked.text.strip()) and not asked.phrases
    hits = [_hit(s) for s in ranked if (s.relevance > 0 or not needs_words) and s.confidence >= wanted.min_confidence]
    return Found(hits=tuple(hits[:limit]), more=max(0, len(hits) - limit), withheld=seen.withheld)


def _parse(query: str) -> _Query:
    phrases: list[str] = []
    without: list[str] = []
    for minus, phrase in _PHRASE.findall(query):
        (without if minus else phrases).append(words.fold(phrase).strip())
    bare = _PHRASE.sub(lambda m: " " if m[1] else f" {m[2]} ", query)
    kept = []
    for word in bare.split():
        if len(word) > 1 and word.startswith("-") and word[1].isalnum():
            without.append(words.fold(word[1:]))
        else:
            kept.append(word)
    return _Query(text=" ".join(kept), phrases=tuple(p for p in phrases if p), without=tuple(without))


def _holds(record: "Fact | Episode | Procedure", asked: _Query) -> bool:
    """Every phrase is in it, and none of the words to leave out (a phrase, or a word in any of its forms)."""
    if not asked.phrases and not asked.without:
        return True
    strong, weak = rank.fields(record)
    text = words.fold("\n".join((*strong, *weak)))
    if not all(p in text for p in asked.phrases):
        return False
    stems = set(words.terms(text))
    return not any(w in text if " " in w else words.stem(w) in stems for w in asked.without)


def _passes(record: "Fact | Episode | Procedure", f: Filters) -> bool:
    when = rank.seen(record)
    if (f.since and when < f.since) or (f.until and when > f.until) or record.importance < f.min_importance:
        return False
    if not set(f.tags) <= set(record.tags):
        return False
    if f.source is not None and f.source not in (record.source.id, record.source.kind, str(record.source)):
        return False
    return _passes_kind(record, f)


def _passes_kind(record: "Fact | Episode | Procedure", f: Filters) -> bool:
    """Filters that only one kind of record can meet leave the others out."""
    if isinstance(record, Fact):
        by_fact = (f.domain is None or record.domain == f.domain) and (
            f.prefix is None or record.key.startswith(f.prefix)
        )
        return by_fact and f.session is None and f.outcome is None and f.concept is None
    if f.domain is not None or f.prefix is not None:
        return False
    if isinstance(record, Episode):
        by_run = (f.session is None or record.session == f.session) and (
            f.outcome is None or record.outcome == f.outcome
        )
        return by_run and (f.concept is None or f.concept in record.concepts)
    return f.session is None and f.outcome is None and f.concept is None


def _hit(scored: "Scored") -> Hit:
    parts = ("relevance", "importance", "confidence", "recency")
    return Hit(record=scored.record, score=scored.score, why={n: round(getattr(scored, n), 4) for n in parts})
