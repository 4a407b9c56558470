"""The pools of a recall: what each query finds in each layer, each record once, read only when it is needed.

A candidate is a row of the index until somebody asks for its record.
"""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.engine import blend, work
from memcli.engine.concepts import Concepts
from memcli.index import rows
from memcli.index.look import Look, Scope
from memcli.model import words
from memcli.model.records import Fact
from memcli.model.working import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.blend import Scored
    from memcli.engine.evidence import Record
    from memcli.engine.features import Meaning
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
LAYERS = {rows.FACT: "facts", rows.EPISODE: "episodes"}


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


class Candidate:
    """A record on its way, or the row of the index that it stands behind.

    identity: its layer and id; held: how much of the question itself it holds; relevance: 0..1; scored: by the ranking;
    queries: those that found it.
    """

    __slots__ = ("_look", "_record", "contradicts", "held", "identity", "name", "queries", "relevance", "row", "scored")

    def __init__(
        self,
        identity: tuple[str, str],
        name: str,
        look: Look | None,
        row: "rows.Row | None",
        record: "Record | None",
    ) -> None:
        self.identity, self.name, self.row = identity, name, row
        self._look, self._record = look, record
        self.relevance = self.held = 0.0
        self.scored: Scored | None = None
        self.queries: list[str] = []
        self.contradicts = False

    @property
    def layer(self) -> str:
        """working, facts or episodes."""
        return self.identity[0]

    @property
    def read(self) -> bool:
        """True when its record is at hand."""
        return self._record is not None

    def record(self) -> "Record | None":
        """Its record as the files have it now; None when it is not there any more, or no longer for this reader."""
        if self._record is None and self._look is not None and self.row is not None:
            self._record = self._look.record(self.row)  # type: ignore[assignment]
        return self._record


class Pools:
    """What the question and the queries that it was widened to find. near: concepts by key, 1 for what it is about.

    meaning: the vectors of the question itself; the queries that it was widened to look for their words alone.
    """

    def __init__(self, con: "Connection", store: "Store", asked: Asked, meaning: "Meaning | None" = None) -> None:
        self.meaning = meaning
        self.store, self.asked, self.settings = store, asked, store.settings
        self.looks = {
            layer: Look(con, store, asked.now, asked.clearance, Scope(conditions=(f"r.layer = {layer}",)))
            for layer in LAYERS
        }
        self.graph = Concepts(self.looks[rows.FACT])
        self.found: dict[tuple[str, str], Candidate] = {}
        self.near: dict[str, float] = {}
        self.queries = [asked.query]
        self.desk: list[Held] = []
        if asked.session:
            seen = work.look(store, asked.session, now=asked.now, clearance=asked.clearance)
            self.desk += [*seen.entries, *seen.items]

    def fill(self) -> list[Candidate]:
        """All candidates, the most relevant first."""
        self.gather()
        self.widen()
        return sorted(self.found.values(), key=lambda c: c.relevance, reverse=True)

    def gather(self) -> None:
        """The pools of the question itself. Relevance is the ranking's score against the best one's, times how much of the
        question the best records hold: 1 is a full answer, and little is little even when it is the best there is."""
        asked, pools = self.asked, []
        for layer, look in self.looks.items():
            ranked = blend.rank(look, asked.query, asked.now, self.size(layer), self.meaning)
            pools.append((layer, [s for s in ranked if s.relevance > 0]))
        everything = sorted((s for _, pool in pools for s in pool), key=lambda s: s.score, reverse=True)
        top = max((s.score for s in everything), default=0.0)
        most = max((s.relevance for s in everything[:5]), default=0.0)
        for layer, pool in pools:
            for scored in pool:
                relevance = most * max(scored.score, 0.0) / top if top > 0 else 0.0
                found = self.add(layer, scored.row, relevance, asked.query)
                found.scored, found.held = scored, scored.relevance
        self.hold_in_mind(asked.query, 1.0)

    def widen(self) -> None:
        """The pools of related concepts, and under verify_claim of the refutation."""
        goal = GOALS[self.asked.goal]
        listed = [(c.held, r) for c in self.found.values() if c.layer == "facts" and isinstance(r := c.record(), Fact)]
        for _, fact in listed:
            self.graph.learn(fact)
        seeds = [f for held, f in listed if held >= SEED_FROM and not self.graph.doubts(f)][:SEEDS]
        self.near = self.graph.walk(seeds, [f for _, f in listed], goal.kinds, goal.depth, goal.related)
        for key, weight in self.near.items():
            self.look_for(key, WIDENED * weight)
            reached = self.graph.fact(key)
            if reached is not None:
                self.take("facts", reached.id, key, WIDENED * weight, key, record=reached)
        self.near |= {f.key: 1.0 for f in seeds}
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
            for row in look.matching(stems, self.size(layer))[: self.size(layer)]:
                share = len({*row.strong.split(), *row.weak.split()} & set(stems)) / len(stems)
                if share >= WIDENED_FROM:
                    self.add(layer, row, worth * share, query)
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
            candidate = self.take("working", held.id, "", worth * share, query, record=held)
            candidate.held = share if query == self.asked.query else candidate.held

    def add(self, layer: int, row: "rows.Row", relevance: float, query: str) -> Candidate:
        """A row of the index as a candidate."""
        return self.take(LAYERS[layer], row.id, row.key, relevance, query, look=self.looks[layer], row=row)

    def take(
        self,
        layer: str,
        made: str,
        name: str,
        relevance: float,
        query: str,
        *,
        look: Look | None = None,
        row: "rows.Row | None" = None,
        record: "Record | None" = None,
    ) -> Candidate:
        """A candidate once, with its best relevance and all queries that found it. made: its id; name: its key."""
        found = self.found.setdefault((layer, made), Candidate((layer, made), name, look, row, record))
        found.relevance = max(found.relevance, relevance)
        if query not in found.queries:
            found.queries.append(query)
        return found

    def size(self, layer: int) -> int:
        """How many records of a layer a query may bring."""
        return int(self.settings[f"recall.pool_{LAYERS[layer]}"])
