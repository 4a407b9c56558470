"""Recall: staged retrieval for a goal, and what was found as an evidence bundle.

The question is widened through the graph of concepts as the goal asks, each query looks at a small pool of every layer, a
concept comes once, what is little trusted or unsure is left out, and the rest is ordered by relevance, trust, recency and
nearness in the graph. The pools come from the index, and only what is in them is read from its files, so that a recall
costs about what a few searches cost, whatever the size of the store.
"""

from datetime import datetime, timedelta

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import blend, evidence, features, promotion, trust, work
from memcli.engine.concepts import Concepts
from memcli.engine.evidence import Bundle, Evidence
from memcli.index import rows
from memcli.index.look import Look, Scope
from memcli.index.refresh import ask
from memcli.model import labels, policy, words
from memcli.model.records import Episode, Fact
from memcli.model.working import Entry
from memcli.store import proposals, retrievals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.engine.blend import Scored
    from memcli.engine.evidence import Record
    from memcli.engine.work import Held
    from memcli.index.database import Connection
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store


@value
class Goal(Value):
    """How a question is widened: over which relations, to how many related concepts, how many steps away; negated: also
    to its refutation."""

    kinds: tuple[str, ...]
    related: int
    depth: int = 1
    negated: bool = False


# After cognitive-core. Its chain of a topic has no bound but its depth; here it ends with the strongest twelve.
GOALS = {
    "answer_question": Goal(kinds=("is_a", "part_of", "related", "enables"), related=4),
    "verify_claim": Goal(kinds=("opposite", "contradicts", "related"), related=2, negated=True),
    "explore_topic": Goal(kinds=("is_a", "part_of", "related", "causes", "enables"), related=12, depth=2),
    "learn_fact": Goal(kinds=("is_a", "related"), related=3),
    "plan": Goal(kinds=("is_a", "related"), related=3),
}
NEGATIONS = ("not {}", "refutation of {}", "не {}", "опровержение {}")
# So many facts, each holding so much of the question, are the concepts that it is about.
SEEDS, SEED_FROM = 3, 0.4
# What a record is worth that only a related concept has led to; and how much of that concept's name it must hold.
WIDENED, WIDENED_FROM = 0.5, 0.5
# Contradictions are looked for among so many candidates, the most relevant ones.
EXAMINED = 30
TOP_CONCEPTS = 5
_LAYERS = {rows.FACT: "facts", rows.EPISODE: "episodes"}


@value
class Asked(Value):
    """One question, and who asks it when. n: the most items; 0 = all."""

    query: str
    goal: str
    modality: str
    time_sensitive: bool
    session: str
    n: int
    now: datetime
    clearance: "Sensitivity"


class _Candidate:
    """A record on its way. held: how much of the question itself it holds; relevance: 0..1; scored: by the ranking."""

    __slots__ = ("contradicts", "held", "layer", "queries", "record", "relevance", "scored")

    def __init__(self, layer: str, record: "Record") -> None:
        self.layer, self.record = layer, record
        self.relevance = self.held = 0.0
        self.scored: Scored | None = None
        self.queries: list[str] = []
        self.contradicts = False


def recall(
    store: "Store",
    query: str,
    *,
    now: datetime,
    goal: str = "answer_question",
    modality: str = "",
    time_sensitive: bool = False,
    session: str = "",
    n: int | None = None,
    clearance: "Sensitivity" = labels.INTERNAL,
) -> Bundle:
    """The evidence for a question. Numbers are settings, `recall.*`.

    goal: one of GOALS; modality: only this one; time_sensitive: nothing older than a day; session: whose working memory
    is looked at, none without one; n: the most items, 0 = all. Blocked sources and what is above the clearance do not
    come in; what the web or an import says does, and is marked. Raises UsageError, BadData, SystemFailure.
    """
    labels.choice(goal, "goal", tuple(GOALS))
    if not query.strip():
        raise errors.UsageError("there is no question", hint='memcli recall "what is known of it?"')
    if n is not None and n < 0:
        raise errors.UsageError("the number of records is out of range", hint="0 or more; 0 shows all")
    asked = Asked(
        query=query,
        goal=goal,
        modality=modality,
        time_sensitive=time_sensitive,
        session=session,
        n=store.settings["recall.max_items"] if n is None else n,
        now=now,
        clearance=clearance,
    )
    found = ask(store, lambda con: _Recall(con, store, asked).bundle())
    served = [(i.record.id, i.held) for i in found.items if i.layer != "working"]
    retrievals.note(store, "recall", query, now=now, served=served, verdict=found.verdict)
    return found


class _Recall:
    """The stages, in order: `widen` and `gather`, `one_each`, `keep`, `order`."""

    def __init__(self, con: "Connection", store: "Store", asked: Asked) -> None:
        self.store, self.asked, self.settings = store, asked, store.settings
        self.looks = {
            layer: Look(con, store, asked.now, asked.clearance, Scope(conditions=(f"r.layer = {layer}",)))
            for layer in _LAYERS
        }
        self.graph = Concepts(self.looks[rows.FACT])
        self.desk: list[Held] = []
        if asked.session:
            seen = work.look(store, asked.session, now=asked.now, clearance=asked.clearance)
            self.desk += [*seen.entries, *seen.items]
        self.found: dict[tuple[str, str], _Candidate] = {}
        self.others: list[_Candidate] = []
        self.near: dict[str, float] = {}
        self.queries = [asked.query]
        self.dropped = {"trust": 0, "confidence": 0, "modality": 0, "age": 0}

    def bundle(self) -> Bundle:
        self.gather()
        self.widen()
        candidates = self.one_each()
        kept = self.keep(candidates)
        pairs = self.contradictions(kept)
        ordered = self.order(kept)
        items = ordered[: self.asked.n] if self.asked.n else ordered
        return Bundle(
            query=self.asked.query,
            goal=self.asked.goal,
            queries=tuple(self.queries),
            items=tuple(items),
            contradictions=tuple(pairs),
            concepts=self.concepts(items),
            confidence=_mean([i.confidence for i in items]),
            trust=_mean([i.trust for i in items]),
            retrieved=len(candidates),
            kept=len(kept),
            returned=len(items),
            dropped=self.dropped,
            verdict=self.verdict(kept),
            withheld=self.looks[rows.FACT].totals().withheld,
        )

    # --- Pools

    def gather(self) -> None:
        """The pools of the question itself. Relevance is the ranking's score against the best one's, times how much of the
        question the best records hold: 1 is a full answer, and little is little even when it is the best there is."""
        asked, pools = self.asked, []
        for layer, look in self.looks.items():
            ranked = blend.rank(look, asked.query, asked.now, self.pool(layer))
            pools.append((layer, look, [s for s in ranked if s.relevance > 0]))
        everything = sorted((s for _, _, pool in pools for s in pool), key=lambda s: s.score, reverse=True)
        top = max((s.score for s in everything), default=0.0)
        most = max((s.relevance for s in everything[:5]), default=0.0)
        for layer, look, pool in pools:
            for scored in pool:
                relevance = most * max(scored.score, 0.0) / top if top > 0 else 0.0
                held = self.add(layer, look, scored.row, relevance, asked.query)
                if held is not None:
                    held.scored, held.held = scored, scored.relevance
        self.hold_in_mind(asked.query, 1.0)

    def widen(self) -> None:
        """The pools of related concepts, and under verify_claim of the refutation."""
        goal = GOALS[self.asked.goal]
        read = [c for c in self.found.values() if isinstance(c.record, Fact)]
        seeds = [c.record for c in read if c.held >= SEED_FROM and not policy.quarantined(c.record.source)][:SEEDS]
        around = [c.record for c in read]
        self.near = self.graph.walk(seeds, around, goal.kinds, goal.depth, goal.related)  # type: ignore[arg-type]
        for key, weight in self.near.items():
            self.look_for(key, WIDENED * weight)
            fact = self.graph.fact(key)
            if fact is not None:
                self.take("facts", fact, WIDENED * weight, key)
        self.near |= {f.key: 1.0 for f in seeds}  # type: ignore[union-attr]
        if goal.negated:
            for shape in NEGATIONS:
                self.look_for(shape.format(self.asked.query.strip().rstrip("?!. ")), 1.0)

    def look_for(self, query: str, worth: float) -> None:
        """One more query, by its words alone."""
        self.queries.append(query)
        stems = list(dict.fromkeys(words.terms(query)))
        if not stems:
            return
        for layer, look in self.looks.items():
            for row in look.matching(stems, self.pool(layer))[: self.pool(layer)]:
                share = len({*row.strong.split(), *row.weak.split()} & set(stems)) / len(stems)
                if share >= WIDENED_FROM:
                    self.add(layer, look, row, worth * share, query)
        self.hold_in_mind(query, worth)

    def hold_in_mind(self, query: str, worth: float) -> None:
        """The pool of the session's working memory: what holds most of the query's words, the newest first of equals."""
        stems = set(words.terms(query))
        least = 0.0 if query == self.asked.query else WIDENED_FROM
        ranked: list[tuple[float, datetime, Held]] = []
        for held in self.desk if stems else ():
            said = f"{held.key} {held.text}" if isinstance(held, Entry) else held.text
            share = len(stems & set(words.terms(said))) / len(stems)
            if share > 0 and share >= least:
                ranked.append((share, held.since, held))
        ranked.sort(key=lambda r: r[:2], reverse=True)
        for share, _, held in ranked[: self.settings["recall.pool_working"]]:
            candidate = self.take("working", held, worth * share, query)
            candidate.held = share if query == self.asked.query else candidate.held

    def add(self, layer: int, look: Look, row: "rows.Row", relevance: float, query: str) -> _Candidate | None:
        """A row of the index as a candidate; None when its record is not there any more."""
        known = self.found.get((_LAYERS[layer], row.id))
        record = known.record if known is not None else look.record(row)
        return None if record is None else self.take(_LAYERS[layer], record, relevance, query)  # type: ignore[arg-type]

    def take(self, layer: str, record: "Record", relevance: float, query: str) -> _Candidate:
        """A record as a candidate, once, with its best relevance."""
        found = self.found.setdefault((layer, record.id), _Candidate(layer, record))
        found.relevance = max(found.relevance, relevance)
        if query not in found.queries:
            found.queries.append(query)
        if isinstance(record, Fact):
            self.graph.learn(record)
        return found

    def pool(self, layer: int) -> int:
        return int(self.settings[f"recall.pool_{_LAYERS[layer]}"])

    # --- Filter

    def one_each(self) -> list[_Candidate]:
        """One candidate a concept: of facts whose keys differ only in their wording the most relevant one."""
        best: dict[tuple[str, str], _Candidate] = {}
        for candidate in sorted(self.found.values(), key=lambda c: -c.relevance):
            record = candidate.record
            name = proposals.same(record.key, "")[0] if isinstance(record, Fact) else record.id
            if best.setdefault((candidate.layer, name), candidate) is not candidate:
                self.others.append(candidate)
        return list(best.values())

    def keep(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """What is trusted and sure enough, both before decay, of the modality that was asked for, and young enough."""
        held = self.lineage([c.record for c in (*candidates, *self.others) if isinstance(c.record, Fact)])
        first = trust.Ledger(self.store, self.asked.now, held, half_life_days=0.0)
        self.ledger = trust.Ledger(self.store, self.asked.now, held)
        kept = []
        for candidate in candidates:
            reason = self.against(candidate.record, _trust(first, candidate.record))
            if reason:
                self.dropped[reason] += 1
            else:
                kept.append(candidate)
        self.others = [c for c in self.others if not self.against(c.record, _trust(first, c.record))]
        return kept

    def lineage(self, held: list[Fact]) -> list[Fact]:
        """Facts with all that they were derived from."""
        known = {f.id: f for f in held}
        stack = list(held)
        while stack:
            for ref in stack.pop().derived_from:
                parent = self.graph.basis(ref)
                if parent is not None and parent.id not in known:
                    known[parent.id] = parent
                    stack.append(parent)
        return list(known.values())

    def against(self, record: "Record", trusted: float) -> str:
        """Why a record is left out; "" when it is not."""
        if trusted < self.settings["recall.min_trust"] - 1e-9:
            return "trust"
        sure = policy.believed(record) if isinstance(record, Fact) else record.confidence
        if sure < self.settings["recall.min_confidence"] - 1e-9:
            return "confidence"
        if self.asked.modality and record.modality != self.asked.modality:
            return "modality"
        age = self.asked.now - _seen(record)
        hours = self.settings["recall.fresh_hours"]
        return "age" if self.asked.time_sensitive and age >= timedelta(hours=hours) else ""

    # --- What it comes to

    def contradictions(self, kept: list[_Candidate]) -> "list[evidence.Pair]":
        """The pairs; the candidates that are sides of one are marked."""
        examined = sorted(kept, key=lambda c: -c.relevance)[:EXAMINED]
        claim = self.asked.query if self.asked.goal == "verify_claim" else ""
        records = [c.record for c in (*examined, *self.others)]
        keys = [r.key for r in records if isinstance(r, Fact)]
        pairs = evidence.contradictions(
            records, self.graph, self.rivals((*keys, *evidence.claimed(claim))), claim=claim
        )
        sides = {(s.layer, s.id) for p in pairs for s in (p.one, p.other)}
        sides |= {("facts", s.id) for p in pairs for s in (p.other,) if s.layer == "denial"}
        for candidate in kept:
            candidate.contradicts = (candidate.layer, candidate.record.id) in sides
        return pairs

    def rivals(self, keys: "Iterable[str]") -> list[Fact]:
        """Proposals of these keys that this reader may see and that still stand."""
        asked, blocked = self.asked, self.looks[rows.FACT].blocked
        return [
            p
            for p in proposals.of_keys(self.store, keys)
            if policy.cleared(p.sensitivity, asked.clearance)
            and p.source.id not in blocked
            and not promotion.lapsed(self.store, p, asked.now)
        ]

    def order(self, kept: list[_Candidate]) -> list[Evidence]:
        found = [self.weigh(c) for c in kept]
        return sorted(found, key=lambda e: (e.score, e.record.id), reverse=True)

    def weigh(self, candidate: _Candidate) -> Evidence:
        record, asked = candidate.record, self.asked
        parts = {
            "relevance": candidate.relevance,
            "trust": _trust(self.ledger, record),
            "recency": policy.decay(_seen(record), asked.now, features.HALF_LIFE_DAYS),
            "graph": max((self.near.get(key, 0.0) for key in _concepts(record)), default=0.0),
        }
        why = {name: self.settings[f"recall.weight_{name}"] * part for name, part in parts.items()}
        if candidate.contradicts and asked.goal == "verify_claim":
            why["contradiction"] = self.settings["recall.contradiction_bonus"]
        sure = record.confidence
        if isinstance(record, Fact):
            sure = policy.effective_confidence(record, asked.now, self.settings["decay.fact_half_life_days"])
        return Evidence(
            layer=candidate.layer,
            record=record,
            score=sum(why.values()),
            confidence=sure,
            held=candidate.held,
            contradicts=candidate.contradicts,
            quarantined=policy.quarantined(record.source),
            why={name: part for name, part in why.items() if part},
            queries=tuple(candidate.queries),
            **parts,
        )

    def verdict(self, kept: list[_Candidate]) -> str:
        """Do the records that passed the filter answer the question itself; what only a widened query found does not."""
        ranked = [c.scored for c in kept if c.scored is not None]
        for candidate in kept:
            if candidate.layer == "working" and candidate.held:
                row = rows.Row(0, rows.FACT, candidate.record.id, "", "")
                share = candidate.held
                ranked.append(blend.Scored(row=row, score=share, relevance=share, why={"coverage": share}))
        return blend.verdict(sorted(ranked, key=lambda s: s.score, reverse=True))

    def concepts(self, items: list[Evidence]) -> tuple[str, ...]:
        """The concepts that most of the score stands on."""
        weight: dict[str, float] = {}
        for item in items:
            for name in _concepts(item.record):
                weight[name] = weight.get(name, 0.0) + item.score
        return tuple(sorted(weight, key=lambda name: (-weight[name], name))[:TOP_CONCEPTS])


def _trust(ledger: trust.Ledger, record: "Record") -> float:
    return ledger.fact(record) if isinstance(record, Fact) else ledger.source(record.source)


def _concepts(record: "Record") -> tuple[str, ...]:
    if isinstance(record, Episode):
        return record.concepts
    return (record.key,) if isinstance(record, (Fact, Entry)) else ()


def _seen(record: "Record") -> datetime:
    """When a record was last said to hold."""
    if isinstance(record, Fact):
        return policy.last_seen(record)
    return record.at if isinstance(record, Episode) else record.since


def _mean(numbers: list[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
