"""The working memory of a session in a context block: which of it is shown, in the room that it may take."""

from memcli.base import clock, errors
from memcli.engine import work
from memcli.model import policy, redact
from memcli.model.working import PROTECTED_FROM, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from memcli.engine.block import Writer
    from memcli.engine.work import Held
    from memcli.model.labels import Sensitivity
    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

# What stays for durable records: working memory may take half of the room.
_SHARE = 0.5
_WHY = {
    "shown": "within budget",
    "space": "did not fit into the half of the budget that working memory may take",
    "untrusted": "its source is a web page or an import; --untrusted shows it",
    "blocked": "its source is blocked",
}


class Desk:
    """What a session holds, and what becomes of each in one block. A damaged session is counted, never an error."""

    def __init__(
        self,
        store: "Store",
        session: str,
        now: "datetime",
        clearance: "Sensitivity",
        writer: "Writer",
        *,
        untrusted: bool,
    ) -> None:
        self.damaged = 0
        try:
            seen = work.look(store, session, now=now, clearance=clearance)
        except errors.BadData:
            seen, self.damaged = work.Seen(entries=(), items=()), 1
        self.withheld, self._blocked = seen.withheld, seen.blocked
        self._writer = writer
        held: list[Held] = [*seen.entries, *seen.items]
        doubtful = [policy.quarantined(h.source) and not untrusted for h in held]
        self._rows = [(h, "untrusted" if d else "wanted") for h, d in zip(held, doubtful, strict=True)]

    def place(self, room: int, size: "Callable[[str], int]", title: int) -> "tuple[int, list[Redacted]]":
        """The room that is left, and the lines in order: what is important first of all gets a place, then the newest."""
        most = int(room * _SHARE)
        order = sorted(range(len(self._rows)), key=self._rank)
        lines: dict[int, Redacted] = {}
        used = 0
        for i in order:
            held, fate = self._rows[i]
            if fate != "wanted":
                continue
            line = self._writer.working(_name(held), held.text, str(held.source), held.since, held.id)
            cost = size(f"{line}\n") + (0 if lines else title)
            fits = used + cost <= most
            used += cost if fits else 0
            self._rows[i] = (held, "shown" if fits else "space")
            if fits:
                lines[i] = line
        return room - used, [lines[i] for i in sorted(lines)]

    def _rank(self, i: int) -> "tuple[bool, float, int]":
        held = self._rows[i][0]
        return held.importance < PROTECTED_FROM, -held.since.timestamp(), -i

    def count(self, fate: str = "") -> int:
        """How many came to this; all of them without a fate."""
        return sum(fate in ("", f) for _, f in self._rows)

    @property
    def blocked(self) -> int:
        """How many are of a blocked source, and none of the candidates."""
        return len(self._blocked)

    def receipt(self) -> "list[dict[str, Any]]":
        """One row for the receipt of each candidate, and of what is not served."""
        rows = [(h.id, fate, _key(h)) for h, fate in self._rows] + [(id_, "blocked", {}) for id_ in self._blocked]
        return [{"id": id_, "layer": "working", "fate": fate, "why": _WHY[fate]} | name for id_, fate, name in rows]

    def shown(self) -> "list[dict[str, Any]]":
        """What is in the block, as data."""
        return [
            {
                "kind": "entry" if isinstance(h, Entry) else "message" if h.role else "note",
                "id": h.id,
                **_key(h),
                "text": redact.mask(h.text),
                "at": clock.show(h.since),
                "source": {"id": redact.mask(h.source.id), "kind": h.source.kind},
                "importance": h.importance,
            }
            for h, fate in self._rows
            if fate == "shown"
        ]


def _name(held: "Held") -> str:
    return held.key if isinstance(held, Entry) else held.role or "note"


def _key(held: "Held") -> "dict[str, Any]":
    return {"key": redact.mask(held.key)} if isinstance(held, Entry) else {"role": held.role or None}
