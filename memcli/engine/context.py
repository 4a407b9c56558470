"""Building the context block: choose, fit into the budget, render, account for everything (design §4)."""

import os
from datetime import datetime

from memcli.base import errors, text
from memcli.base.value import Value, value
from memcli.engine import block, rank, view
from memcli.model import labels, policy, redact
from memcli.model.records import Episode, Fact, Procedure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.desk import Desk
    from memcli.engine.rank import Scored
    from memcli.model.labels import Sensitivity
    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

BYTES_PER_TOKEN = 4
_LEAST_LINE = 60  # no record's line is shorter: its id alone takes 36
_SERVED_STATES = ("approved", "trial")


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


@value
class Block(Value):
    """A context block: its text (redacted), the receipt, and the records and the working memory that are in it."""

    text: "Redacted"
    receipt: "dict[str, Any]"
    shown: "tuple[Scored, ...]"
    working: "tuple[dict[str, Any], ...]" = ()


def budget(words: str) -> Budget:
    """`2000` (tokens) or `8000c` (characters); raises UsageError."""
    unit = "characters" if words.endswith("c") else "tokens"
    digits = words.removesuffix("c")
    if not (digits.isascii() and digits.isdigit()) or not 0 < int(digits[:10]) <= 10_000_000:
        raise errors.UsageError("the budget is not a size", hint="tokens like 2000, or characters like 8000c")
    return Budget(amount=int(digits), unit=unit)


def build(
    store: "Store",
    query: Query,
    *,
    now: datetime,
    clearance: "Sensitivity | None" = None,
    limit: Budget | None = None,
) -> Block:
    """The block for a query. clearance: what the reader may see, internal unless the store or the caller says otherwise.

    Raises UsageError when the budget cannot even hold the frame, BadData and SystemFailure when the store cannot be read.
    """
    settings = store.settings
    clearance = labels.sensitivity(settings["context.clearance"]) if clearance is None else clearance
    limit = limit or Budget(amount=settings["context.budget_tokens"])
    # All layers are read whatever the query names: what is withheld is one total for the store.
    seen = _of_layers(view.survey(store, now, clearance), query)
    writer = block.Writer(now, _stale(store, seen))
    choice = _Choice(query, settings, limit, writer)
    for scored in rank.score(_wanted(seen, query), _task(query), now, settings["decay.fact_half_life_days"]):
        choice.consider(scored)
    choice.ask(query.request)
    choice.hold(store, now, clearance)
    return choice.block(seen, now, clearance)


class _Choice:
    """Candidates in order of their score, and what becomes of each."""

    def __init__(self, query: Query, settings: "Any", limit: Budget, writer: block.Writer) -> None:
        self.query, self.limit, self.writer = query, limit, writer
        self.nonce = os.urandom(4).hex()
        self.fates: list[tuple[Scored, str]] = []
        self.lines: dict[str, list[Redacted]] = {}
        self.turns: list[Redacted] = []
        self.cut_turns = 0
        self.desk: Desk | None = None
        self.left = {n: settings[f"context.max_{n}"] for n in ("episodes", "procedures", "important")}

    def consider(self, scored: "Scored") -> None:
        """Decide whether a candidate is worth showing; space is given out later, in this order."""
        self.fates.append((scored, self._fate(scored)))

    def _fate(self, scored: "Scored") -> str:
        item = scored.record
        if policy.quarantined(item.source) and not self.query.untrusted:
            return "untrusted"
        if isinstance(item, Fact) and item.state in ("damaged", "conflict"):
            return "damaged"
        layer = _layer(item)
        if not self._relevant(scored):
            if layer != "facts" or not policy.protected(item):
                return "irrelevant"
            layer = "important"  # what matters whatever the task, but no more than a few
        if layer in self.left:
            if not self.left[layer]:
                return "limit"
            self.left[layer] -= 1
        return "wanted"

    def _relevant(self, scored: "Scored") -> bool:
        if _task(self.query):
            return scored.relevance >= rank.RELEVANT_FROM
        return _layer(scored.record) != "procedures" or bool(self.query.task_type)

    def _answered(self) -> bool:
        """True when something stored is about the task, whether or not it fitted."""
        return any(self._relevant(s) for s, fate in self.fates if fate in ("wanted", "shown", "space", "limit"))

    def ask(self, request: "dict[str, Any] | None") -> None:
        """Lines of the request: its turns, then what the user says now."""
        if not request or "request" not in self.query.layers:
            return
        for turn in request.get("turns", ()):
            self.turns.append(self.writer.turn(turn["role"], turn["content"]))
        if request.get("input"):
            self.turns.append(self.writer.turn("user, now", request["input"]))

    def hold(self, store: "Store", now: datetime, clearance: "Sensitivity") -> None:
        """The working memory of the session that the query or its request names."""
        session = self.query.session or (self.query.request or {}).get("session", "")
        if session and "working" in self.query.layers:
            from memcli.engine import desk

            self.desk = desk.Desk(store, session, now, clearance, self.writer, untrusted=self.query.untrusted)

    def block(self, seen: view.View, now: datetime, clearance: "Sensitivity") -> Block:
        """Give out the space, best first, and write it all down."""
        frame = self._text(self._account(seen, shown=len(self.fates) + self._held(), spare=True), note=True)
        room = self.limit.room - self.limit.size(frame)
        if room < 0:
            least = self.limit.shown(self.limit.size(frame))
            raise errors.UsageError("the budget cannot hold even the frame", hint=f"at least {least} {self.limit.unit}")
        room = self._give_request(room)
        if self.desk is not None:
            room, self.lines["working"] = self.desk.place(room, self.limit.size, self._title("working"))
        shown = self._give(room)
        final = self._text(self._account(seen, len(shown) + self._held("shown")), note=not self._answered())
        held = tuple(self.desk.shown()) if self.desk is not None else ()
        return Block(text=final, receipt=self._receipt(seen, now, clearance, final), shown=tuple(shown), working=held)

    def _give(self, room: int) -> "list[Scored]":
        """Space for records, best first; one that would take more than half of it waits until the others have theirs."""
        lines: dict[int, tuple[str, Redacted]] = {}
        large: list[tuple[int, str, Redacted, int]] = []
        half = room // 2
        for i, (scored, fate) in enumerate(self.fates):
            if fate != "wanted":
                continue
            if room < _LEAST_LINE:
                self.fates[i] = (scored, "space")
                continue
            layer, line = _layer(scored.record), self.writer.record(scored)
            cost = self.limit.size(f"{line}\n")
            if cost > half:
                large.append((i, layer, line, cost))
                continue
            room = self._place(i, layer, line, cost, room, lines)
        for i, layer, line, cost in large:
            room = self._place(i, layer, line, cost, room, lines)
        for _, (layer, line) in sorted(lines.items()):
            self.lines.setdefault(layer, []).append(line)
        return [self.fates[i][0] for i in sorted(lines)]

    def _place(
        self, i: int, layer: str, line: "Redacted", cost: int, room: int, lines: "dict[int, tuple[str, Redacted]]"
    ) -> int:
        if not any(held == layer for held, _ in lines.values()):
            cost += self._title(layer)
        self.fates[i] = (self.fates[i][0], "space" if cost > room else "shown")
        if cost > room:
            return room
        lines[i] = (layer, line)
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

    def _held(self, fate: str = "") -> int:
        return self.desk.count(fate) if self.desk is not None else 0

    def _title(self, layer: str) -> int:
        return self.limit.size(f"\n## {block.SECTIONS[layer]}\n")

    def _text(self, account: str, *, note: bool) -> "Redacted":
        return block.assemble(self.nonce, self._note() if note else "", self.lines, account)

    def _note(self) -> str:
        if not self.fates and not self._held():
            return "Nothing is stored here that this reader may see."
        return "No stored note answers this task; what follows, if anything, is only what matters always."

    def _account(self, seen: view.View, shown: int, *, spare: bool = False) -> str:
        """The last line. spare: every number at its widest, so that the frame is never under-estimated."""
        total = len(self.fates) + self._held()
        desk = self.desk
        wide = 10 ** len(str(max(total, 99999))) if spare else None
        fates = [f for _, f in self.fates]
        counts = {
            "left out for space": fates.count("space") + self.cut_turns + self._held("space"),
            "withheld": seen.withheld + (desk.withheld if desk else 0),
            "expired": len(seen.expired) + len(seen.faded),
            "superseded": _superseded(seen),
        }
        rest = {
            "not relevant": fates.count("irrelevant"),
            "over the limit": fates.count("limit"),
            "untrusted": fates.count("untrusted") + self._held("untrusted"),
            "blocked": len(seen.blocked),
            "damaged": fates.count("damaged") + (desk.damaged if desk else 0),
            "masked": self.writer.masked,
            "hidden characters removed": self.writer.hidden,
        }
        parts = [f"{name} {wide or count}" for name, count in counts.items()]
        parts += [f"{name} {wide or count}" for name, count in rest.items() if count or wide]
        return ", ".join([f"shown {shown} of {total}", *parts])

    def _receipt(self, seen: view.View, now: datetime, clearance: "Sensitivity", final: str) -> "dict[str, Any]":
        from memcli.base import clock

        rows = [_candidate(scored, fate) for scored, fate in self.fates]
        for fate, items in (("expired", seen.expired), ("faded", seen.faded), ("blocked", seen.blocked)):
            rows += [_row(item, fate) for item in items]
        rows += self.desk.receipt() if self.desk is not None else []
        return {
            "format": 1,
            "nonce": self.nonce,
            "at": clock.show(now),
            "task": redact.mask(self.query.task),
            "clearance": str(clearance),
            "budget": {
                "amount": self.limit.amount,
                "unit": self.limit.unit,
                "used": self.limit.shown(self.limit.size(final)),
            },
            "candidates": rows,
            "withheld": seen.withheld + (self.desk.withheld if self.desk is not None else 0),
        }


def _stale(store: "Store", seen: view.View) -> dict[str, datetime]:
    if not any(f.check for f in seen.facts):
        return {}
    from memcli.engine import verify

    return verify.stale(store)


def read_request(words: str) -> "dict[str, Any]":
    """Per-request data from JSON: user_input (or input), session_id, turns as {role, content}. Raises UsageError."""
    import json

    try:
        raw = json.loads(words)
    except (ValueError, RecursionError):
        raw = None
    return checked_request(raw)


def checked_request(raw: "Any") -> "dict[str, Any]":
    """The request as this module uses it; raises UsageError for any other shape."""
    try:
        turns = [{"role": str(t["role"]), "content": _said(t["content"])} for t in raw.get("turns") or ()]
        said = raw.get("user_input", raw.get("input"))
        session = raw.get("session_id", raw.get("session"))
        if not all(x is None or isinstance(x, str) for x in (said, session)):
            raise TypeError
    except (KeyError, TypeError, AttributeError):
        hint = '{"user_input": "...", "session_id": "...", "turns": [{"role": "user", "content": "..."}]}'
        raise errors.UsageError("the request is not the JSON that it must be", hint=hint) from None
    return {"input": said or "", "session": session or "", "turns": turns}


def _said(content: object) -> str:
    """The text of a turn: a string, or the text parts of a list (the shape of chat APIs)."""
    if isinstance(content, str):
        return content
    return "\n".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))  # type: ignore[attr-defined]


def _task(query: Query) -> str:
    said = query.request.get("input", "") if query.request else ""
    return query.task or str(said)


def _of_layers(seen: view.View, query: Query) -> view.View:
    """What a query asks for, of all that was seen; the count of the withheld stays."""
    left_out = {n: () for n in ("facts", "episodes", "procedures") if n not in query.layers}
    if not left_out:
        return seen
    ended = {
        n: tuple(r for r in getattr(seen, n) if _layer(r) not in left_out) for n in ("expired", "faded", "blocked")
    }
    return seen.replace(**left_out, **ended)


def _wanted(seen: view.View, query: Query) -> "list[Fact | Episode | Procedure]":
    facts = [f for f in seen.facts if not query.domain or f.domain == query.domain]
    procedures = [p for p in seen.procedures if p.state in _SERVED_STATES]
    if query.task_type:
        procedures = [p for p in procedures if p.task_type == query.task_type]
    return [*facts, *seen.episodes, *procedures]


def _layer(item: "Fact | Episode | Procedure") -> str:
    return "facts" if isinstance(item, Fact) else "episodes" if isinstance(item, Episode) else "procedures"


def _superseded(seen: view.View) -> int:
    """Former values that stand behind the current facts."""
    return sum(1 for f in seen.facts if f.supersedes)


_WHY = {
    "shown": "within budget",
    "space": "did not fit into the budget",
    "irrelevant": "holds too few of the task's words",
    "limit": "more of this kind than the store's settings allow",
    "untrusted": "its source is a web page or an import; --untrusted shows it",
    "damaged": "its files are damaged; see memcli doctor",
    "expired": "its TTL has run out",
    "faded": "its confidence has decayed below 0.1, or it is past the greatest age",
    "blocked": "its source is blocked",
}


def _candidate(scored: "Scored", fate: str) -> "dict[str, Any]":
    parts = {n: round(getattr(scored, n), 4) for n in ("score", "relevance", "importance", "confidence", "recency")}
    return _row(scored.record, fate) | {"score": parts.pop("score"), "parts": parts}


def _row(item: "Fact | Episode | Procedure", fate: str) -> "dict[str, Any]":
    row = {"id": item.id, "layer": _layer(item), "fate": fate, "why": _WHY[fate]}
    if not isinstance(item, Episode):
        row["key"] = text.one_line(redact.mask(item.key))
    if isinstance(item, Fact) and item.supersedes:
        row["supersedes"] = item.supersedes
    return row


def as_json(made: Block) -> "dict[str, Any]":
    """A block as data: what is shown as records with their citation, and the account."""
    from memcli.engine import dump

    rows: dict[str, list[Any]] = {"facts": [], "episodes": [], "procedures": []}
    for scored in made.shown:
        item = scored.record
        if isinstance(item, Fact):
            row = dump.fact_row(item) | {"confidence_label": labels.confidence_word(scored.confidence)}
        else:
            row = dump.episode_row(item) if isinstance(item, Episode) else dump.procedure_row(item)
        rows[_layer(item)].append(_scrub(row) | {"score": round(scored.score, 4)})
    fates = [c["fate"] for c in made.receipt["candidates"]]
    account = {"total": sum(f not in ("expired", "faded", "blocked") for f in fates)}
    account |= {fate: fates.count(fate) for fate in _WHY}
    account["withheld"] = made.receipt["withheld"]
    return {
        **{k: made.receipt[k] for k in ("nonce", "at", "task", "clearance", "budget")},
        **rows,
        "working": list(made.working),
        "account": account,
        "text": made.text,
    }


def _scrub(item: "Any") -> "Any":
    if isinstance(item, str):
        return redact.mask(item)
    if isinstance(item, dict):
        return {k: _scrub(v) for k, v in item.items()}
    return [_scrub(v) for v in item] if isinstance(item, (list, tuple)) else item
