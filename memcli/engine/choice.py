"""Which candidates come into a context block: what becomes of each, and the space that is given out."""

import os

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import block, receipt
from memcli.index import document, rows
from memcli.model import labels, policy
from memcli.model.records import Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.blend import Scored
    from memcli.engine.desk import Desk
    from memcli.index.look import Look
    from memcli.index.rows import Row
    from memcli.model.records import Episode, Procedure
    from memcli.model.redact import Redacted

BYTES_PER_TOKEN = 4
# So many candidates are ranked; the others count as not relevant.
MOST = 1000
MOST_IMPORTANT = 200
# The share of the task's meaning that a record must hold to be shown.
RELEVANT_FROM = 0.25
_LEAST_LINE = 60  # no record's line is shorter: its id alone takes 36


@value
class Budget(Value):
    """How much a block may hold. unit: "tokens" (estimated as UTF-8 bytes / 4, rounded up) or "characters"."""

    amount: int
    unit: str = "tokens"

    def size(self, words: str) -> int:
        """The size of a text in this budget's unit, before rounding (bytes for tokens)."""
        return len(words.encode()) if self.unit == "tokens" else len(words)

    @property
    def room(self) -> int:
        """The amount in the unit of `size`."""
        return self.amount * BYTES_PER_TOKEN if self.unit == "tokens" else self.amount

    def shown(self, size: int) -> int:
        """A size as the reader counts it."""
        return -(-size // BYTES_PER_TOKEN) if self.unit == "tokens" else size


@value
class Query(Value):
    """What the block is for. request: per-request data, never stored; layers: which sections to fill."""

    task: str = ""
    task_type: str = ""
    domain: str = ""
    layers: tuple[str, ...] = labels.LAYERS
    session: str = ""
    untrusted: bool = False
    request: "dict[str, Any] | None" = None

    @property
    def asked(self) -> str:
        """What the block is for, in words: the task, else what the user says now."""
        said = self.request.get("input", "") if self.request else ""
        return self.task or str(said)


@value
class Chosen(Value):
    """A record in the block: its score and terms (blend.Scored), and its confidence now."""

    record: "Fact | Episode | Procedure"
    scored: "Scored"
    confidence: float


class Choice:
    """Candidates, best first, and what becomes of each."""

    def __init__(self, query: Query, corpus: "Look", limit: Budget, writer: block.Writer) -> None:
        self.query, self.corpus, self.limit, self.writer = query, corpus, limit, writer
        self.settings = corpus.store.settings
        self.nonce = os.urandom(4).hex()
        self.fates: list[tuple[Scored, str]] = []
        self.lines: dict[str, list[Redacted]] = {}
        self.turns: list[Redacted] = []
        self.cut_turns = 0
        self.shown: list[Chosen] = []
        self.desk: Desk | None = None
        self.doubtful: set[int] = set()
        self.totals = receipt.totals(corpus, query.layers)
        self.left = self._limits()

    def _limits(self) -> dict[str, int]:
        """How many of a kind may come in: what agents start a run with (3 similar episodes or 5 recent ones, 5 facts of a
        domain, 1 procedure), and facts that matter whatever the task."""
        found = {n: self.settings[f"context.max_{n}"] for n in ("procedures", "important")}
        found["episodes"] = self.settings[
            "context.max_similar_episodes" if self.query.asked else "context.max_episodes"
        ]
        if self.query.domain:
            found["facts"] = self.settings["context.max_domain_facts"]
        return found

    def consider(self, ranked: "list[Scored]", important: "list[Row]") -> None:
        """Decide which candidates are worth showing; space is given out later, in this order."""
        from memcli.engine import blend

        known = {s.row.rid for s in ranked}
        if not self.query.untrusted and self.corpus.any("lineage"):
            from memcli.index import doubt

            self.doubtful = doubt.among(self.corpus, {*known, *(r.rid for r in important)})
        rest = [blend.Scored(row=r, score=0.0, relevance=0.0, why={}) for r in important if r.rid not in known]
        self.fates = [(s, self._fate(s)) for s in (*ranked, *rest)]

    def _fate(self, scored: "Scored") -> str:
        row = scored.row
        if not self.query.untrusted and (row.rid in self.doubtful or row.kind in labels.UNTRUSTED_KINDS):
            return "untrusted"
        if row.layer == rows.FACT and row.state in ("damaged", "conflict"):
            return "damaged"
        layer = document.NAME_OF[row.layer]
        if not self._relevant(scored):
            if layer != "facts" or row.importance < policy.PROTECTED_FROM:
                return "irrelevant"
            layer = "important"  # what matters whatever the task, but no more than a few
        if layer in self.left:
            if not self.left[layer]:
                return "limit"
            self.left[layer] -= 1
        return "wanted"

    def _relevant(self, scored: "Scored") -> bool:
        if self.query.asked:
            return scored.relevance >= RELEVANT_FROM
        return scored.row.layer != rows.PROCEDURE or bool(self.query.task_type)

    def _answered(self) -> bool:
        """True when something stored is about the task, whether or not it fitted."""
        return any(self._relevant(s) for s, fate in self.fates if fate in ("wanted", "shown", "space", "limit"))

    def verdict(self) -> str:
        """Does what may be shown answer the task, whether or not it fitted: strong, weak or none."""
        from memcli.engine import blend

        return blend.verdict([s for s, fate in self.fates if fate in ("shown", "space", "limit", "wanted")])

    def ask(self, request: "dict[str, Any] | None") -> None:
        """Lines of the request: its turns, then what the user says now."""
        if not request or "request" not in self.query.layers:
            return
        for turn in request.get("turns", ()):
            self.turns.append(self.writer.turn(turn["role"], turn["content"]))
        if request.get("input"):
            self.turns.append(self.writer.turn("user, now", request["input"]))

    def hold(self) -> None:
        """The working memory of the session that the query or its request names."""
        session = self.query.session or (self.query.request or {}).get("session", "")
        if session and "working" in self.query.layers:
            from memcli.engine import desk

            c = self.corpus
            self.desk = desk.Desk(c.store, session, c.now, c.clearance, self.writer, untrusted=self.query.untrusted)

    def write(self) -> "Redacted":
        """Give out the space, best first, and write it all down."""
        frame = self._text(self._account(shown=self._count() + self._held(), spare=True), note=True)
        room = self.limit.room - self.limit.size(frame)
        if room < 0:
            least = self.limit.shown(self.limit.size(frame))
            raise errors.UsageError("the budget cannot hold even the frame", hint=f"at least {least} {self.limit.unit}")
        room = self._give_request(room)
        if self.desk is not None:
            room, self.lines["working"] = self.desk.place(room, self.limit.size, self._title("working"))
        self._give(room)
        return self._text(self._account(len(self.shown) + self._held("shown")), note=not self._answered())

    def receipt(self, text: str, *, whole: bool) -> "dict[str, Any]":
        """The receipt of the block that was written. whole: with every candidate."""
        from memcli.engine import receipt

        return receipt.write(self, text, whole=whole)

    def _give(self, room: int) -> None:
        """Space for records, best first; one that would take more than half of it waits until the others have theirs."""
        placed: dict[int, tuple[Chosen, Redacted]] = {}
        large: list[tuple[int, Chosen, Redacted, int]] = []
        half = room // 2
        for i, (scored, fate) in enumerate(self.fates):
            if fate != "wanted":
                continue
            if room < _LEAST_LINE:
                self.fates[i] = (scored, "space")
                continue
            chosen = self._read(scored)
            if chosen is None:
                self.fates[i] = (scored, "changed")
                continue
            line = self.writer.record(chosen)
            cost = self.limit.size(f"{line}\n")
            if cost > half:
                large.append((i, chosen, line, cost))
                continue
            room = self._place(i, chosen, line, cost, room, placed)
        for i, chosen, line, cost in large:
            room = self._place(i, chosen, line, cost, room, placed)
        for _, (chosen, line) in sorted(placed.items()):
            self.lines.setdefault(document.NAME_OF[chosen.scored.row.layer], []).append(line)
            self.shown.append(chosen)

    def _read(self, scored: "Scored") -> Chosen | None:
        record = self.corpus.record(scored.row)
        if record is None:
            return None
        sure = record.confidence
        if isinstance(record, Fact):
            sure = policy.effective_confidence(record, self.corpus.now, self.settings["decay.fact_half_life_days"])
        return Chosen(record=self.corpus.shown(record), scored=scored, confidence=sure)

    def _place(
        self,
        i: int,
        chosen: Chosen,
        line: "Redacted",
        cost: int,
        room: int,
        placed: "dict[int, tuple[Chosen, Redacted]]",
    ) -> int:
        layer = chosen.scored.row.layer
        if not any(other.scored.row.layer == layer for other, _ in placed.values()):
            cost += self._title(document.NAME_OF[layer])
        self.fates[i] = (chosen.scored, "space" if cost > room else "shown")
        if cost > room:
            return room
        placed[i] = (chosen, line)
        return room - cost

    def _give_request(self, room: int) -> int:
        kept: list[Redacted] = []
        for line in reversed(self.turns):
            cost = self.limit.size(f"{line}\n") + (0 if kept else self._title("request"))
            if cost > room:
                self.cut_turns = len(self.turns) - len(kept)
                break
            room -= cost
            kept.insert(0, line)
        self.lines["request"] = kept
        return room

    def _count(self) -> int:
        """How many candidates there are, looked at or not."""
        return max(self.totals.wanted, len(self.fates))

    def _held(self, fate: str = "") -> int:
        return self.desk.count(fate) if self.desk is not None else 0

    def _title(self, layer: str) -> int:
        return self.limit.size(f"\n## {block.SECTIONS[layer]}\n")

    def _text(self, account: str, *, note: bool) -> "Redacted":
        return block.assemble(self.nonce, self._note() if note else "", self.lines, account)

    def _note(self) -> str:
        if not self._count() and not self._held():
            return "Nothing is stored here that this reader may see."
        return "No stored note answers this task; what follows, if anything, is only what matters always."

    def _account(self, shown: int, *, spare: bool = False) -> str:
        """The last line. spare: every number at its widest, so that the frame is never under-estimated."""
        total = self._count() + self._held()
        desk, totals = self.desk, self.totals
        wide = 10 ** len(str(max(total, 99999))) if spare else None
        fates = [f for _, f in self.fates]
        rest, asked = self._count() - len(fates), bool(self.query.asked)
        counts = {
            "left out for space": fates.count("space") + self.cut_turns + self._held("space") + rest * (not asked),
            "withheld": totals.withheld + (desk.withheld if desk else 0),
            "expired": totals.ended,
            "superseded": totals.superseded,
        }
        more = {
            "not relevant": fates.count("irrelevant") + rest * asked,
            "over the limit": fates.count("limit"),
            "untrusted": fates.count("untrusted") + self._held("untrusted"),
            "blocked": totals.blocked + (desk.blocked if desk else 0),
            "damaged": fates.count("damaged") + (desk.damaged if desk else 0),
            "changed meanwhile": fates.count("changed"),
            "masked": self.writer.masked,
            "hidden characters removed": self.writer.hidden,
        }
        parts = [f"{name} {wide or count}" for name, count in counts.items()]
        parts += [f"{name} {wide or count}" for name, count in more.items() if count or wide]
        return ", ".join([f"shown {shown} of {total}", *parts])
