"""One question to all layers, or to some: the best of each, and a summary that a person or a model can read."""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.engine import relations, search, work
from memcli.index import document, doubt
from memcli.index.look import Look
from memcli.index.refresh import ask
from memcli.model import keys, labels, policy, redact, words
from memcli.model.records import Episode, Fact, Procedure
from memcli.model.working import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.relations import Graph
    from memcli.engine.work import Held
    from memcli.model.labels import Sensitivity
    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

LAYERS = (document.WORKING, *search.LAYERS)
BEST = 5
LEAST_IMPORTANCE = 0.3
_MOST_LINE_CHARS = 160


@value
class Retrieved(Value):
    """What was found in each layer, best first (working memory: newest last), and in words.

    quarantined: ids of facts that have a web page or an import as their source, or among what they were derived from;
    withheld: how many records of the store are above the clearance, unread: how many have a file that cannot be read; no
    query changes these totals.
    """

    query: str
    working: "tuple[Held, ...]"
    facts: tuple[Fact, ...]
    episodes: tuple[Episode, ...]
    procedures: tuple[Procedure, ...]
    withheld: int
    summary: "Redacted"
    quarantined: frozenset[str] = frozenset()
    unread: int = 0


def retrieve(
    store: "Store",
    query: str = "",
    *,
    now: datetime,
    layers: tuple[str, ...] = (),
    session: str = "",
    n: int = BEST,
    min_importance: "str | float" = LEAST_IMPORTANCE,
    concept: str | None = None,
    last_hours: float | None = None,
    clearance: "Sensitivity" = labels.INTERNAL,
) -> Retrieved:
    """The best n (0 = all) of each layer (all layers unless some are named); without a query the most important and the newest.

    session: whose working memory is looked at (without one, none is); min_importance: 0..1; concept: only episodes that
    name it, facts of that key, related to it or tagged with it, and procedures tagged with it; last_hours: nothing that
    was last seen before. Raises UsageError.
    """
    for name in layers:
        labels.choice(name, "layer", LAYERS)
    labels.most(n)
    wanted = search.filters(now, last_hours=last_hours, min_importance=min_importance)
    asked = layers or LAYERS
    graph = relations.Graph(store, now, clearance) if concept is not None and "facts" in asked else None
    found: dict[str, list[Fact | Episode | Procedure]] = {}
    withheld = unread = 0
    for layer in search.LAYERS:
        of_layer = wanted.replace(layers=(layer,), concept=concept if layer == "episodes" else None)
        limit = n if concept is None or layer == "episodes" else search.MOST
        seen = search.search(store, query, now=now, limit=limit, clearance=clearance, filters=of_layer)
        withheld, unread = seen.withheld, seen.unread
        if layer in asked:
            records = [h.record for h in seen.hits if isinstance(h.record, (Fact, Episode, Procedure))]
            found[layer] = [r for r in records if concept is None or _about(r, concept, graph)][: n or None]
    desk = _desk(store, query, session, wanted, n, now, clearance) if "working" in asked and concept is None else ()
    known = [r for r in found.get("facts", ()) if isinstance(r, Fact)]
    made = Retrieved(
        query=query,
        quarantined=_quarantined(store, known, now, clearance),
        working=desk,
        facts=tuple(found.get("facts", ())),  # type: ignore[arg-type]
        episodes=tuple(found.get("episodes", ())),  # type: ignore[arg-type]
        procedures=tuple(found.get("procedures", ())),  # type: ignore[arg-type]
        withheld=withheld,
        unread=unread,
        summary=redact.mask(""),
    )
    return made.replace(summary=redact.mask(_summary(made, store, now)))


def _quarantined(store: "Store", known: list[Fact], now: datetime, clearance: "Sensitivity") -> frozenset[str]:
    own = frozenset(f.id for f in known if policy.quarantined(f.source))
    if not any(f.derived_from for f in known):
        return own
    return frozenset(ask(store, lambda con: doubt.of_facts(Look(con, store, now, clearance), known)))


def _about(record: "Fact | Episode | Procedure", concept: str, graph: "Graph | None") -> bool:
    if isinstance(record, Episode):
        return True
    if concept in record.tags:
        return True
    if not isinstance(record, Fact) or graph is None or not keys.possible(concept):
        return False
    key = keys.normal(concept)
    near = graph.related(key, len(graph.edges))
    return record.key == key or any(record.key in (e.source, e.target) for e in near)


def _desk(
    store: "Store",
    query: str,
    session: str,
    wanted: search.Filters,
    n: int,
    now: datetime,
    clearance: "Sensitivity",
) -> "tuple[Held, ...]":
    """What a session holds: any word of the query will do, since so little of it is there."""
    if not session:
        return ()
    seen = work.look(store, session, now=now, clearance=clearance)
    asked = set(words.terms(query))
    held: list[Held] = [*seen.entries, *seen.items]
    chosen = [
        h
        for h in held
        if h.importance >= wanted.min_importance
        and (wanted.since is None or h.since >= wanted.since)
        and (not asked or asked & set(words.terms(f"{h.key} {h.text}" if isinstance(h, Entry) else h.text)))
    ]
    return tuple(chosen[-n:])


def _summary(found: Retrieved, store: "Store", now: datetime) -> str:
    half_life = store.settings["decay.fact_half_life_days"]
    parts = {
        "Working memory": [f"{h.key}: {h.text}" if isinstance(h, Entry) else h.text for h in found.working],
        "Facts": [
            f"{f.key}: {f.text} ({labels.confidence_word(policy.effective_confidence(f, now, half_life))}, {f.source}"
            f"{', untrusted: a web page or an import' if f.id in found.quarantined else ''})"
            for f in found.facts
        ],
        "Episodes": [f"{e.at:%Y-%m-%d} {e.outcome}: {e.task or e.text}" for e in found.episodes],
        "Procedures": [f"{p.title} ({p.successes} of {p.runs} runs succeeded)" for p in found.procedures],
    }
    lines = ["Found:" if found.query.strip() else "What matters most:"]
    for title, rows in parts.items():
        if rows:
            lines += [f"{title}:", *(f"- {_line(row)}" for row in rows)]
    return "\n".join(lines if len(lines) > 1 else ["Nothing found."])


def _line(text: str) -> str:
    bare = " ".join(text.split())
    return bare if len(bare) <= _MOST_LINE_CHARS else bare[: _MOST_LINE_CHARS - 1] + "…"
