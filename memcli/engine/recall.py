"""Recall: staged retrieval for a goal, and what was found as an evidence bundle.

The question is widened through the graph of concepts as the goal asks, each query looks at a small pool of every layer
(`pools`), a concept comes once, what is little trusted or unsure is left out, and the rest is ordered by relevance, trust,
recency and nearness in the graph. The pools come from the index, and only the foremost of what is in them is read from its
files, so that a recall costs about what a few searches cost, whatever the size of the store.
"""

from datetime import datetime

from memcli.base import clock, errors
from memcli.engine import blend, evidence, features, promotion, trust
from memcli.engine.evidence import Bundle, Evidence
from memcli.engine.pools import GOALS, Asked, Candidate, Pools
from memcli.index import document, doubt, rows
from memcli.index.refresh import ask, unread
from memcli.model import labels, policy
from memcli.model.records import Episode, Fact
from memcli.model.working import Entry
from memcli.store import proposals, retrievals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.engine.evidence import Record
    from memcli.engine.features import Meaning
    from memcli.index.database import Connection
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

# So many candidates at least are read, and looked through for contradictions.
EXAMINED = 30
TOP_CONCEPTS = 5
_HAIR = 1e-9


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
    found, note = blend.with_meaning(
        store, query, lambda meaning: ask(store, lambda con: _Recall(con, store, asked, meaning).bundle())
    )
    if note:
        found = found.replace(note=note)
    served = [(i.record.id, i.held) for i in found.items if i.layer != "working"]
    retrievals.note(store, "recall", query, now=now, served=served, verdict=found.verdict)
    return found


class _Recall:
    """The stages after the pools: `one_each`, `keep`, `contradictions`, `order`."""

    def __init__(self, con: "Connection", store: "Store", asked: Asked, meaning: "Meaning | None") -> None:
        self.store, self.asked, self.settings = store, asked, store.settings
        self.pools = Pools(con, store, asked, meaning)
        self.graph = self.pools.graph
        self.others: list[Candidate] = []
        self.known: dict[str, Fact] = {}
        self.doubtful: set[str] = set()
        self.dropped = {"trust": 0, "confidence": 0, "modality": 0, "age": 0}
        # Of rows that are not read yet: confidence before decay, whether it is derived from something, its concepts.
        self.figures: dict[int, tuple[float, bool, tuple[str, ...]]] = {}

    def bundle(self) -> Bundle:
        candidates = self.one_each(self.pools.fill())
        read, rest = self.keep(candidates)
        pairs = self.contradictions(read)
        ordered = self.order(read)
        items = ordered[: self.asked.n] if self.asked.n else ordered
        return Bundle(
            query=self.asked.query,
            goal=self.asked.goal,
            queries=tuple(self.pools.queries),
            items=tuple(items),
            contradictions=tuple(pairs),
            concepts=_top_concepts(items),
            confidence=_mean([i.confidence for i in items]),
            trust=_mean([i.trust for i in items]),
            retrieved=len(candidates),
            kept=len(read) + len(rest),
            returned=len(items),
            dropped=self.dropped,
            verdict=_verdict([*read, *rest]),
            withheld=self.pools.looks[rows.FACT].totals().withheld,
            unread=unread(self.pools.looks[rows.FACT].con, self.store),
        )

    def one_each(self, candidates: list[Candidate]) -> list[Candidate]:
        """One candidate a concept: of facts whose keys differ only in their wording the most relevant one."""
        best: dict[tuple[str, str], Candidate] = {}
        for candidate in candidates:
            layer, made = candidate.identity
            name = proposals.same(candidate.name, "")[0] if layer == "facts" else made
            if best.setdefault((layer, name), candidate) is not candidate:
                self.others.append(candidate)
        return list(best.values())

    # --- Filter

    def keep(self, candidates: list[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """What is trusted and sure enough, both before decay, of the modality that was asked for, and young enough: those
        that were read, and those whose rows alone say so. Read is as much as may come into the bundle."""
        self.look_up(candidates)
        waiting = [c for c in candidates if c.read or not self.drop(self.against_row(c))]
        waiting.sort(key=self.likely, reverse=True)
        waiting.sort(key=self.must_be_read, reverse=True)
        enough = max(EXAMINED, self.asked.n) if self.asked.n and not self.asked.modality else len(waiting)
        read: list[Candidate] = []
        while waiting and len(read) < max(1, self.asked.n or len(waiting)):
            batch, waiting = waiting[:enough], waiting[enough:]
            read += self.passing([c for c in batch if c.record() is not None])
        return read, waiting

    def passing(self, batch: list[Candidate]) -> list[Candidate]:
        """The candidates, all of them read, that pass the filter; makes the ledger that `order` goes by."""
        others = [c for c in self.others if c.record() is not None]
        self.learn([r for c in (*batch, *others) if isinstance(r := c.record(), Fact)])
        first = trust.Ledger(self.store, self.asked.now, self.known.values(), half_life_days=0.0)
        self.ledger = trust.Ledger(self.store, self.asked.now, self.known.values())
        self.others = [c for c in others if not self.against(_the(c), _trust(first, _the(c)))]
        return [c for c in batch if not self.drop(self.against(_the(c), _trust(first, _the(c))))]

    def learn(self, stack: list[Fact]) -> None:
        """Facts, and all that they were derived from."""
        while stack:
            fact = stack.pop()
            if fact.id not in self.known:
                self.known[fact.id] = fact
                stack += [parent for ref in fact.derived_from if (parent := self.graph.basis(ref)) is not None]

    def against(self, record: "Record", trusted: float) -> str:
        """Why a record is left out; "" when it is not."""
        sure = policy.believed(record) if isinstance(record, Fact) else record.confidence
        if self.asked.modality and record.modality != self.asked.modality:
            return "modality"
        return self.falls_short(trusted, sure, document.seconds(_seen(record)))

    def against_row(self, candidate: Candidate) -> str:
        """As `against`, by what the index says; the modality it does not."""
        row = candidate.row
        return self.falls_short(row.trust, self.figures[row.rid][0], row.at) if row is not None else ""

    def falls_short(self, trusted: float, sure: float, at: float) -> str:
        if trusted < self.settings["recall.min_trust"] - _HAIR:
            return "trust"
        if sure < self.settings["recall.min_confidence"] - _HAIR:
            return "confidence"
        oldest = clock.shifted(self.asked.now, hours=-self.settings["recall.fresh_hours"])
        return "age" if self.asked.time_sensitive and at <= document.seconds(oldest) else ""

    def drop(self, reason: str) -> bool:
        """Count a candidate that is left out for a reason; False without one."""
        if reason:
            self.dropped[reason] += 1
        return bool(reason)

    def look_up(self, candidates: list[Candidate]) -> None:
        for layer, look in self.pools.looks.items():
            unread = [str(c.row.rid) for c in candidates if c.row and c.row.layer == layer and not c.read]
            sql = f"r.rid IN ({','.join(unread)})"
            for rid, believed, lineage, named in look.select("r.rid, r.believed, r.lineage, r.concepts", sql):
                concepts = tuple(c for c in (named or "").split("\x1f") if c)
                self.figures[rid] = (believed, bool(lineage), concepts)
        for candidate in candidates:  # its row is gone from the scope meanwhile, or it stands in no row
            if candidate.row is not None and candidate.row.rid not in self.figures:
                self.figures[candidate.row.rid] = (1.0, True, ())

    def must_be_read(self, candidate: Candidate) -> bool:
        """What was derived from something may be trusted less than its row says."""
        return candidate.row is not None and not candidate.read and self.figures[candidate.row.rid][1]

    def likely(self, candidate: Candidate) -> float:
        """The score that a candidate will have, as far as its row tells; it decides what is read."""
        row, near = candidate.row, self.pools.near
        if row is None:
            return candidate.relevance + 1.0
        names = self.figures[row.rid][2] if row.layer == rows.EPISODE else (row.key,)
        graph = max((near.get(name, 0.0) for name in names), default=0.0)
        return sum(self.weighted(candidate.relevance, row.trust, document.instant(row.at), graph).values())

    # --- What it comes to

    def contradictions(self, kept: list[Candidate]) -> "list[evidence.Pair]":
        """The pairs; the candidates that are sides of one are marked."""
        foremost = sorted(kept, key=lambda c: -c.relevance)[:EXAMINED]
        claim = self.asked.query if self.asked.goal == "verify_claim" else ""
        records = [_the(c) for c in (*foremost, *self.others)]
        keys = (*(r.key for r in records if isinstance(r, Fact)), *evidence.claimed(claim))
        pairs = evidence.contradictions(records, self.graph, self.rivals(keys), claim=claim)
        sides = {("facts" if s.layer == "denial" else s.layer, s.id) for p in pairs for s in (p.one, p.other)}
        for candidate in kept:
            candidate.contradicts = candidate.identity in sides
        return pairs

    def rivals(self, keys: "Iterable[str]") -> list[Fact]:
        """Proposals of these keys that this reader may see and that still stand.

        What an import proposes contradicts nothing: a file could bring its text before a model that way.
        """
        asked, blocked = self.asked, self.pools.looks[rows.FACT].blocked
        return [
            p
            for p in proposals.of_keys(self.store, keys)
            if policy.cleared(p.sensitivity, asked.clearance)
            and p.source.id not in blocked
            and not p.source.via
            and not promotion.lapsed(self.store, p, asked.now)
        ]

    def order(self, kept: list[Candidate]) -> list[Evidence]:
        known = (r for c in kept if isinstance(r := _the(c), Fact))
        self.doubtful = doubt.of_facts(self.pools.looks[rows.FACT], known)
        found = [self.weigh(c, _the(c)) for c in kept]
        return sorted(found, key=lambda e: (e.score, e.record.id), reverse=True)

    def weigh(self, candidate: Candidate, record: "Record") -> Evidence:
        near, asked = self.pools.near, self.asked
        graph = max((near.get(name, 0.0) for name in _concepts(record)), default=0.0)
        trusted, seen = _trust(self.ledger, record), _seen(record)
        why = self.weighted(candidate.relevance, trusted, seen, graph)
        if candidate.contradicts and asked.goal == "verify_claim":
            why["contradiction"] = self.settings["recall.contradiction_bonus"]
        sure = record.confidence
        if isinstance(record, Fact):
            sure = policy.effective_confidence(record, asked.now, self.settings["decay.fact_half_life_days"])
        return Evidence(
            layer=candidate.layer,
            record=self.pools.looks[rows.FACT].shown(record),
            score=sum(why.values()),
            relevance=candidate.relevance,
            confidence=sure,
            trust=trusted,
            recency=policy.decay(seen, asked.now, features.HALF_LIFE_DAYS),
            graph=graph,
            held=candidate.held,
            contradicts=candidate.contradicts,
            quarantined=policy.quarantined(record.source) or record.id in self.doubtful,
            why={name: part for name, part in why.items() if part},
            queries=tuple(candidate.queries),
        )

    def weighted(self, relevance: float, trusted: float, seen: datetime, graph: float) -> dict[str, float]:
        recency = policy.decay(seen, self.asked.now, features.HALF_LIFE_DAYS)
        parts = {"relevance": relevance, "trust": trusted, "recency": recency, "graph": graph}
        return {name: self.settings[f"recall.weight_{name}"] * part for name, part in parts.items()}


def _the(candidate: Candidate) -> "Record":
    """The record of a candidate that has been read."""
    record = candidate.record()
    assert record is not None
    return record


def _verdict(kept: list[Candidate]) -> str:
    """Do the records that passed the filter answer the question itself; what only a widened query found does not."""
    ranked = [c.scored for c in kept if c.scored is not None]
    for c in kept:
        if c.layer == "working" and c.held:
            row = rows.Row(0, rows.FACT, c.identity[1], "", "")
            ranked.append(blend.Scored(row=row, score=c.held, relevance=c.held, why={"coverage": c.held}))
    return blend.verdict(sorted(ranked, key=lambda s: s.score, reverse=True))


def _top_concepts(items: list[Evidence]) -> tuple[str, ...]:
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
