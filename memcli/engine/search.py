"""Search over all layers: words, "quoted phrases", and -words to leave out; best first.

Anything a person types is a query; nothing is a syntax error. What is above the clearance is never found, by no word.
The index says where to look (memcli/index), `blend` in which order; every hit is read from its files before it is shown.
"""

import re
from datetime import datetime

from memcli.base import clock, errors
from memcli.base.value import Value, value
from memcli.engine import blend, features
from memcli.index import document, rows
from memcli.index.look import Look, Scope
from memcli.index.refresh import ask, unread
from memcli.model import labels, policy, words
from memcli.model.records import Episode, Fact, Procedure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.blend import Scored
    from memcli.engine.features import Meaning
    from memcli.engine.held import InMind
    from memcli.engine.work import Held
    from memcli.index.document import Record
    from memcli.index.rows import Row
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

LAYERS = ("facts", "episodes", "procedures")
EVERYWHERE = (*LAYERS, document.WORKING)
# So many candidates are ranked, and no more are counted.
MOST = 1000
_ALL = 10**9
# So many words make a question that a passage may answer without repeating any of them.
_LEAST_QUESTION = 3
# So many pairs of letters stand for a single one.
_MOST_PAIRS = 8
_PHRASE = re.compile(r'(-?)"([^"]+)"')


@value
class Filters(Value):
    """What a hit must be, beside matching. since: not older; last-seen times count for facts."""

    layers: tuple[str, ...] = EVERYWHERE
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


def filters(now: datetime, *, last_hours: float | None = None, **given: "Any") -> Filters:
    """Filters of what a caller gave, checked: a single text counts as a list of one, words as "high" as their number.

    last_hours: nothing that was last seen before. Raises UsageError.
    """
    wanted = Filters(**given)
    several = {n: (v,) if isinstance(v := getattr(wanted, n), str) else tuple(v) for n in ("layers", "tags")}
    for name in several["layers"]:
        labels.choice(name, "layer", EVERYWHERE)
    for name in ("domain", "source", "session", "outcome", "concept", "prefix"):
        if not isinstance(getattr(wanted, name), str | None):
            raise errors.UsageError(f"{name} is not a text")
    if wanted.outcome is not None:
        labels.choice(wanted.outcome, "outcome", labels.OUTCOMES)
    since = wanted.since if last_hours is None else hours_before(now, last_hours)
    return wanted.replace(
        **several,
        since=_aware(since, "since"),
        until=_aware(wanted.until, "until"),
        min_confidence=labels.confidence(wanted.min_confidence),
        min_importance=labels.unit(wanted.min_importance, "min_importance"),
    )


def _aware(at: datetime | None, name: str) -> datetime | None:
    if at is not None and (not isinstance(at, datetime) or at.tzinfo is None):
        raise errors.UsageError(f"{name} is no time with a zone", hint="datetime.now(timezone.utc)")
    return at


def hours_before(now: datetime, hours: float) -> datetime | None:
    """The instant so many hours before now. Raises UsageError."""
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours < 10**8:
        raise errors.UsageError("that is no number of hours", hint="0 or more, such as 24")
    return clock.add_minutes(now, -round(hours * 60))


@value
class Hit(Value):
    """One record found. score: greater is better, for this query only; relevance: 0..1, how much of the query it holds;
    why: each term of the score by name."""

    record: "Fact | Episode | Procedure | Held"
    score: float
    relevance: float
    why: dict[str, float]


@value
class Found(Value):
    """The hits, best first, how many more matched than were asked for (among the first thousand), how many records are
    withheld in all, and how sure the best of them answers: strong, weak or none. note: why it went without vectors, where
    they are enabled, or without working memory; unread: how many records have a file that cannot be read."""

    hits: tuple[Hit, ...]
    more: int
    withheld: int
    verdict: str
    note: str = ""
    unread: int = 0


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
    as_of: datetime | None = None,
    fresh: bool = False,
    session: str | None = None,
) -> Found:
    """Records that hold words of the query. An empty query finds everything that passes the filters, by importance,
    confidence and recency. as_of: what was known then; fresh: compare every file with the index first; session: whose
    working memory is searched too (None: that of the filters), which has no past; limit: 0 = all. Raises UsageError."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise errors.UsageError("the number of records is out of range", hint="1 or more; 0 = all")
    _aware(as_of, "as_of")
    limit = limit or _ALL
    wanted = filters or Filters()
    asked = _parse(query)
    mind = _in_mind(store, wanted.session if session is None else session, wanted, now, clearance, as_of)

    def found(corpus: Look, meaning: "Meaning | None") -> Found:
        ranked = blend.rank(corpus, _paired(corpus, asked.text), as_of or now, MOST, meaning, candidates=most)
        return _served(corpus, [s for s in ranked if _counts(s, asked, wanted)], asked, wanted, limit)

    scope = _scope(wanted, asked)
    # Where the text itself has the last word, or all are asked for, a few candidates are not enough.
    late = any(" " in word for word in asked.without) or wanted.min_confidence > 0
    most = MOST if late or limit > features.CANDIDATES else features.CANDIDATES

    def answer(meaning: "Meaning | None") -> Found:
        if as_of is None:
            beside = mind.rows if mind else ()
            return ask(store, lambda con: found(Look(con, store, now, clearance, scope, beside), meaning), fresh=fresh)
        from memcli.engine import past

        return past.ask(
            store, as_of, lambda con, held: found(past.Look(con, store, as_of, clearance, scope, held), meaning)
        )

    served, note = blend.with_meaning(store, asked.text, answer)
    if mind is not None:
        mind.count_reads([h.record.id for h in served.hits] if asked.text else [])
        served = served.replace(withheld=served.withheld + mind.withheld)
    note = note or (mind.note if mind else "")
    return served.replace(note=note) if note else served


def _paired(corpus: Look, text: str) -> str:
    """The query with the pairs that are in the store in the place of a letter that stands in pairs only (words.terms)."""
    for letter in words.lone(text):
        sql = "SELECT term FROM vocabulary WHERE length(term) = 2 AND instr(term, ?) ORDER BY doc DESC, term LIMIT ?"
        pairs = corpus.con.execute(sql, (letter, _MOST_PAIRS)).fetchall()
        text = text.replace(letter, f" {' '.join(term for (term,) in pairs)} ") if pairs else text
    return text


def _in_mind(
    store: "Store", session: str | None, wanted: Filters, now: datetime, clearance: "Sensitivity", past: datetime | None
) -> "InMind | None":
    if not session or document.WORKING not in wanted.layers or past is not None:
        return None
    from memcli.engine.held import InMind

    return InMind(store, session, now=now, clearance=clearance)


def _served(corpus: Look, ranked: "list[Scored]", asked: _Query, wanted: Filters, limit: int) -> Found:
    """The best that are still what the index says, and that hold what only the text itself can show."""
    hits: list[Hit] = []
    rest = iter(ranked)
    for scored in rest:
        record = corpus.record(scored.row)
        if record is not None and _fits(scored.row, record, asked, wanted):
            hits.append(_hit(scored, corpus.shown(record)))
        if len(hits) == limit:
            break
    more = sum(1 for _ in rest)
    return Found(
        hits=tuple(hits),
        more=more,
        withheld=corpus.totals().withheld,
        verdict=blend.verdict(ranked),
        unread=unread(corpus.con, corpus.store),
    )


def _fits(row: "Row", record: "Any", asked: _Query, wanted: Filters) -> bool:
    if row.layer != rows.WORKING:
        return passes(record, wanted) and _holds(document.fields(record), asked)
    from memcli.engine import held

    return held.passes(record, wanted) and _holds(held.fields(record), asked)


def _counts(scored: "Scored", asked: _Query, wanted: Filters) -> bool:
    if scored.row.confidence < wanted.min_confidence:
        return False
    if scored.relevance > 0 or not asked.text.strip() or asked.phrases:
        return True
    # A passage can answer a question; beside a word or two it is noise.
    return len(words.terms(asked.text)) >= _LEAST_QUESTION and blend.found(scored)


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


def _scope(wanted: Filters, asked: _Query) -> Scope:
    """The filters as the index can check them; what it cannot say for sure is left to `_passes` and `_holds`."""
    conditions, values = [_layers(wanted)], _values(wanted)
    given = [
        ("since", "r.seen_at >= :since"),
        ("until", "r.seen_at <= :until"),
        ("min_importance", "r.importance >= :min_importance"),
        (
            "source",
            "(r.source = :source_name OR r.kind = :source OR r.kind || ':' || r.source = :source_of_kind)",
        ),
        ("domain", "r.domain = :domain"),
        ("prefix", "(substr(r.key, 1, length(:prefix)) = :prefix OR instr(r.key, '['))"),
        ("session", "(r.session = :session OR instr(r.session, '['))"),
        ("min_confidence", "r.believed >= :min_confidence"),  # age only takes from it
        ("outcome", "r.outcome = :outcome"),
        ("concept", "instr(r.concepts, :concept)"),
    ]
    conditions += [condition for name, condition in given if name in values]
    for i, tag in enumerate(wanted.tags):
        conditions.append(f"instr(r.tags, :tag{i})")
        values[f"tag{i}"] = document.listed((tag,))
    phrases = tuple(p for phrase in asked.phrases if (p := tuple(words.terms(phrase))))
    without = tuple(t for word in asked.without if " " not in word and (t := tuple(words.terms(word))))
    return Scope(conditions=tuple(conditions), values=values, phrases=phrases, without=without)


def scope(wanted: Filters) -> Scope:
    """Filters alone as the index can check them; `passes` decides."""
    return _scope(wanted, _Query(text="", phrases=(), without=()))


def _layers(wanted: Filters) -> str:
    """Filters that only one kind of record can meet leave the others out."""
    layers = set(wanted.layers) & set(LAYERS)
    if wanted.domain is not None or wanted.prefix is not None:
        layers &= {"facts"}
    if wanted.session is not None or wanted.outcome is not None or wanted.concept is not None:
        layers &= {"episodes"}
    return f"r.layer IN ({', '.join(str(document.LAYER_OF[name]) for name in sorted(layers))})"


def _values(wanted: Filters) -> "dict[str, Any]":
    found: dict[str, Any] = {}
    for name in ("domain", "source", "session", "outcome", "prefix"):
        if getattr(wanted, name) is not None:
            found[name] = getattr(wanted, name)
    if wanted.source is not None:
        kind, colon, name = wanted.source.partition(":")
        found["source_name"] = document.source_name(wanted.source)
        found["source_of_kind"] = f"{kind}{colon}{document.source_name(name)}"
    if wanted.concept is not None:
        found["concept"] = document.listed((wanted.concept,))
    for name in ("since", "until"):
        if getattr(wanted, name) is not None:
            found[name] = document.seconds(getattr(wanted, name))
    for name in ("min_importance", "min_confidence"):
        if getattr(wanted, name) > 0:
            found[name] = getattr(wanted, name)
    return found


def _holds(fields: tuple[tuple[str, ...], tuple[str, ...]], asked: _Query) -> bool:
    """Every phrase is in it, and none of the words to leave out (a phrase, or a word in any of its forms)."""
    if not asked.phrases and not asked.without:
        return True
    strong, weak = fields
    text = words.fold("\n".join((*strong, *weak)))
    if not all(p in text for p in asked.phrases):
        return False
    stems = set(words.terms(text))
    return not any(w in text if " " in w else stems.issuperset(words.terms(w) or [""]) for w in asked.without)


def passes(record: "Record", f: Filters) -> bool:
    """Whether a record is what the filters ask for."""
    when = policy.last_seen(record) if isinstance(record, Fact) else policy.since(record)
    if (f.since and when < f.since) or (f.until and when > f.until) or policy.importance(record) < f.min_importance:
        return False
    if not set(f.tags) <= set(record.tags):
        return False
    if f.source is not None and f.source not in (record.source.id, record.source.kind, str(record.source)):
        return False
    return _passes_kind(record, f)


def _passes_kind(record: "Record", f: Filters) -> bool:
    if isinstance(record, Fact):
        by_fact = (f.domain is None or record.domain == f.domain) and (
            f.prefix is None or record.key.startswith(f.prefix)
        )
        return "facts" in f.layers and by_fact and f.session is None and f.outcome is None and f.concept is None
    if f.domain is not None or f.prefix is not None:
        return False
    if isinstance(record, Episode):
        by_run = (f.session is None or record.session == f.session) and (
            f.outcome is None or record.outcome == f.outcome
        )
        return "episodes" in f.layers and by_run and (f.concept is None or f.concept in record.concepts)
    return "procedures" in f.layers and f.session is None and f.outcome is None and f.concept is None


def _hit(scored: "Scored", record: "Record | Held") -> Hit:
    return Hit(
        record=record,
        score=round(scored.score, 4),
        relevance=round(scored.relevance, 4),
        why={name: round(part, 4) for name, part in scored.why.items()},
    )
