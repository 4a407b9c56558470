"""The evidence bundle: what a recall found, how far it may be believed, and what in it contradicts what.

A contradiction is shown as a pair; memcli picks no winner. Pairs are found without a model, by keys, by the shapes of
statements ("X is Y"), by denials and by relations. Better to miss one than to call two things a contradiction that are none.
"""

import re
from datetime import datetime

from memcli.base.value import Value, value
from memcli.engine import alike, statements
from memcli.model import policy, words
from memcli.model.records import Episode, Fact
from memcli.model.working import Entry, Item
from memcli.store import proposals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memcli.engine.concepts import Concepts

    Record = Fact | Episode | Entry | Item

MOST_PAIRS = 20
# Longer texts state more than one thing, and differ in words without saying otherwise.
MOST_VALUE_WORDS = 12
_MOST_TEXT_CHARS = 4000
_NOT_AFTER_IS = re.compile(r"\b(is|are)(?:n['’]t| not| no longer)\b", re.I)
_NOT_AFTER_MARK = re.compile(r"((?:\bэто|\s[—–-]|:)\s+)(?:не|not|no longer)\s+", re.I)
_NOT_FIRST = re.compile(r"(?:не|not|no longer)\s+", re.I)
_A = re.compile(r"an?\s+", re.I)


@value
class Side(Value):
    """One side of a contradiction.

    layer: facts, episodes, working, proposed (a proposal), denial (what was said of a fact) or claim (the question);
    name: key or task; source: as KIND:ID; at: when it was last said, None for the claim.
    """

    layer: str
    id: str
    name: str
    text: str
    source: str = ""
    at: datetime | None = None


@value
class Pair(Value):
    """Two things that cannot both hold.

    kind: "proposal" (rival proposals of one key, or a proposal against the fact), "value" (one subject and attribute with
    two values), "denied" (a fact and its denials), "relation" (a fact says that it contradicts another), "claim" (the
    question claims something else than a record).
    """

    kind: str
    one: Side
    other: Side


@value
class Evidence(Value):
    """One record that was found, and why it stands where it does.

    score: the sum of `why`; relevance, trust (by lineage, now), recency, graph, confidence (now): 0..1; held: 0..1, how
    much of the question itself it holds; contradicts: it is a side of a contradiction; quarantined: its source, or that of a
    basis, is a web page or an import; queries: those that found it.
    """

    layer: str
    record: "Record"
    score: float
    relevance: float
    confidence: float
    trust: float
    recency: float
    graph: float
    held: float
    contradicts: bool
    quarantined: bool
    why: dict[str, float]
    queries: tuple[str, ...]


@value
class Bundle(Value):
    """What a recall found, best first, and what may be said of all of it.

    queries: the question and what it was widened to; confidence, trust: means over the items, None without any;
    concepts: the keys and concepts that stand in most of them; retrieved, kept, returned: how many candidates there were,
    passed the filter, and came into `items`; dropped: how many of them failed by trust, confidence, modality and age;
    verdict: strong, weak or none; withheld: records of the store above the clearance, unread: those with a file that cannot
    be read, totals that no query changes; note: why it went without vectors, where they are enabled.
    """

    query: str
    goal: str
    queries: tuple[str, ...]
    items: tuple[Evidence, ...]
    contradictions: tuple[Pair, ...]
    concepts: tuple[str, ...]
    confidence: float | None
    trust: float | None
    retrieved: int
    kept: int
    returned: int
    dropped: dict[str, int]
    verdict: str
    withheld: int
    note: str = ""
    unread: int = 0

    @property
    def working(self) -> tuple[Evidence, ...]:
        """The items of the session's working memory."""
        return self.of("working")

    @property
    def facts(self) -> tuple[Evidence, ...]:
        """The items that are facts."""
        return self.of("facts")

    @property
    def episodes(self) -> tuple[Evidence, ...]:
        """The items that are episodes."""
        return self.of("episodes")

    @property
    def refuted(self) -> bool:
        """True when a record contradicts what the question claims (verify_claim)."""
        return any(pair.kind == "claim" for pair in self.contradictions)

    def of(self, layer: str) -> tuple[Evidence, ...]:
        """The items of one layer, best first."""
        return tuple(i for i in self.items if i.layer == layer)


class Said:
    """One statement: its subject in stems, its value, whether it is denied, and where it stands."""

    __slots__ = ("denied", "side", "stems", "subject", "text")

    def __init__(self, subject: str, text: str, side: Side, *, denied: bool = False) -> None:
        self.subject = frozenset(words.terms(subject))
        bare = _NOT_FIRST.sub("", text, count=1) if _NOT_FIRST.match(text) else text
        self.text, self.denied, self.side = bare, denied or bare != text, side
        self.stems = frozenset(words.terms(bare))


def contradictions(
    records: "Sequence[Record]", graph: "Concepts", rivals: "Iterable[Fact]", *, claim: str = ""
) -> list[Pair]:
    """The pairs among records (best first), and between them and what stands against them.

    rivals: proposals of the same keys that the reader may see; claim: what the question claims.
    """
    held = [r for r in records if isinstance(r, Fact)]
    found = [*_differing(records, claim), *_opposed(held, graph), *_proposed(held, rivals), *_denied(held)]
    unique: dict[frozenset[tuple[str, str]], Pair] = {}
    for pair in found:
        unique.setdefault(frozenset((s.layer, s.id or s.text) for s in (pair.one, pair.other)), pair)
    return list(unique.values())[:MOST_PAIRS]


def claimed(query: str) -> tuple[str, ...]:
    """The subjects of what a question claims: "The job queue is Redis" claims something of the job queue."""
    return tuple(s.key for s, _ in stated(query.strip().rstrip("?!")))


def side_of(record: "Record") -> Side:
    """A record as one side of a contradiction."""
    if isinstance(record, Fact):
        layer, name, at = "facts", record.key, policy.last_seen(record)
    elif isinstance(record, Episode):
        layer, name, at = "episodes", record.task, record.at
    else:
        layer, name, at = "working", record.key if isinstance(record, Entry) else "", record.since
    return Side(layer=layer, id=record.id, name=name, text=record.text, source=str(record.source), at=at)


def _differing(records: "Sequence[Record]", claim: str) -> "Iterator[Pair]":
    """One subject, two values; the claim of the question first."""
    by_subject: dict[frozenset[str], list[Said]] = {}
    asked = Side(layer="claim", id="", name="", text=claim)
    bare = claim.strip().rstrip("?!")
    for said in [*_statements(bare, asked), *(s for r in records for s in _of(r))]:
        if said.subject:
            by_subject.setdefault(said.subject, []).append(said)
    for group in by_subject.values():
        for i, one in enumerate(group):
            for other in group[i + 1 :]:
                if one.side != other.side and contradict(one, other):
                    yield Pair(kind="claim" if one.side == asked else "value", one=one.side, other=other.side)
    yield from _alike(records, asked, bare)


def _alike(records: "Sequence[Record]", asked: Side, bare: str) -> "Iterator[Pair]":
    """Sentences that are the same but for a number, or a last word; the claim of the question first."""
    held = [(side_of(r), made) for r in records if (made := alike.of(r))]
    claimed_ = list(alike.shapes(bare))
    yield from (Pair(kind="claim", one=asked, other=side) for side, made in held if alike.differ(claimed_, made))
    for i, (one, said) in enumerate(held):
        for other, made in held[i + 1 :]:
            if alike.differ(said, made):
                yield Pair(kind="value", one=one, other=other)


def _of(record: "Record") -> "Iterator[Said]":
    side = side_of(record)
    if isinstance(record, (Fact, Entry)):
        yield Said(record.key, record.text, side)
    text = "\n".join((record.text, *record.findings)) if isinstance(record, Episode) else record.text
    yield from _statements(text, side)


def _statements(text: str, side: Side) -> "Iterator[Said]":
    for statement, denied in stated(text[:_MOST_TEXT_CHARS]):
        yield Said(statement.key, statement.text, side, denied=denied)


def stated(text: str) -> "Iterator[tuple[statements.Statement, bool]]":
    """Statements that give an attribute its value, also denied ones. "X is a Y" says what X is among other things, and
    what is said of a bare name is one thing of many: neither rules anything out."""
    for sentence in statements.sentences(text):
        positive = _NOT_AFTER_MARK.sub(r"\1", _NOT_AFTER_IS.sub(r"\1", sentence))
        for found in statements.find(positive):
            named = " " not in found.key and found.key[:1].isupper() and found.pattern in ("is", "eto")
            if found.pattern != "prefer" and not named and not _A.match(found.text):
                yield found, positive != sentence


def contradict(one: Said, other: Said) -> bool:
    """Whether two statements of one subject cannot both hold."""
    if one.denied and other.denied:
        return False
    if max(len(one.stems), len(other.stems)) > MOST_VALUE_WORDS:
        return False
    if one.stems and other.stems:
        same = one.stems <= other.stems or other.stems <= one.stems
    else:
        same = proposals.same("", one.text) == proposals.same("", other.text)
    return same if one.denied or other.denied else not same


def _opposed(held: "list[Fact]", graph: "Concepts") -> "Iterator[Pair]":
    for fact in held:
        for other in graph.opposed(fact):
            yield Pair(kind="relation", one=side_of(fact), other=side_of(other))


def _proposed(held: "list[Fact]", rivals: "Iterable[Fact]") -> "Iterator[Pair]":
    """Each proposal against the fact of its key; without one the proposals of a key against each other."""
    by_key = {proposals.same(f.key, "")[0]: f for f in held}
    alone: dict[str, list[Fact]] = {}
    for rival in rivals:
        key, said = proposals.same(rival.key, rival.text)
        fact = by_key.get(key)
        if fact is None:
            alone.setdefault(key, []).append(rival)
        elif proposals.same("", fact.text)[1] != said:
            yield Pair(kind="proposal", one=side_of(fact), other=_proposal(rival))
    for group in alone.values():
        for other in group[1:]:
            yield Pair(kind="proposal", one=_proposal(group[0]), other=_proposal(other))


def _proposal(fact: Fact) -> Side:
    return side_of(fact).replace(layer="proposed")


def _denied(held: "list[Fact]") -> "Iterator[Pair]":
    for fact in held:
        if fact.denials:
            last = max(fact.denials, key=lambda o: o.at)
            count = policy.independent(fact.denials)
            said = f"denied by {count} independent {'witness' if count == 1 else 'witnesses'}"
            denial = Side(layer="denial", id=fact.id, name=fact.key, text=said, source=last.source, at=last.at)
            yield Pair(kind="denied", one=side_of(fact), other=denial)
