"""How well this memory has answered, from its retrieval log: misses, drift, what is served often and what never."""

from datetime import datetime
from itertools import islice

from memcli.base import clock, errors
from memcli.base.value import Value, value
from memcli.index import rows
from memcli.index.look import Look
from memcli.index.refresh import ask
from memcli.model import labels, redact, words
from memcli.store import facts, naming, retrievals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memcli.index.database import Connection
    from memcli.store.folder import Store

DRIFT_DAYS = 30
MOST_LISTED = 20
MOST_QUESTIONS = 10


@value
class Tally(Value):
    """Questions in a span of time, and how they were answered. start: its first day, "" for the whole log."""

    queries: int
    strong: int
    weak: int
    none: int
    start: str = ""

    @property
    def poor(self) -> float | None:
        """The share of questions without a strong answer; None without questions."""
        return (self.weak + self.none) / self.queries if self.queries else None


@value
class Drift(Value):
    """The share of questions without a strong answer, in the last 30 days and in the 30 before; None without questions."""

    now: float | None
    before: float | None

    @property
    def change(self) -> float | None:
        """How much the share has grown; None when either is unknown."""
        return None if self.now is None or self.before is None else self.now - self.before


@value
class Served(Value):
    """A current record and how often it was given out. layer: facts, episodes or procedures; key: "" of an episode."""

    id: str
    layer: str
    key: str
    count: int


@value
class Poor(Value):
    """A question without a strong answer. verdict: weak or none; text: the question, masked."""

    at: datetime
    command: str
    verdict: str
    text: str


@value
class Retrievals(Value):
    """What the log tells.

    since: the time of its first line that counts; queries: all of them; listings: calls that asked nothing; repeated: how
    many questions were asked before in the same words; by_command: counts; weeks: by Monday; accesses: how often each id
    was among the first ten served, whatever its label; served: the most served of those that are current and not
    withheld; poor: the latest questions without a strong answer, newest first, where monitor.query_text keeps them in words
    (one that holds a withheld key or value is not among them), and poor_count how many there are; unreadable: lines of the
    log that tell nothing; never_served: current facts, not withheld and at least `days` old, that nobody was given in that
    time, and never_served_count how many there are.
    """

    since: datetime | None
    queries: Tally
    listings: int
    repeated: int
    by_command: dict[str, int]
    weeks: tuple[Tally, ...]
    drift: Drift
    accesses: dict[str, int]
    served: tuple[Served, ...]
    days: int
    never_served: tuple[Served, ...]
    never_served_count: int
    poor: tuple[Poor, ...]
    poor_count: int
    unreadable: int


def report(store: "Store", *, now: datetime, since: datetime | None = None, days: int = DRIFT_DAYS) -> Retrievals:
    """What the log tells from an instant on. days: after which a fact that nobody was given counts as never served.

    Drift and what is never served look at their own spans, whatever `since` says. Raises UsageError, SystemFailure.
    """
    if not 1 <= days <= 10_000:
        raise errors.UsageError("the number of days is out of range", hint="1 to 10000")
    rows_, unreadable = retrievals.told(store)
    log = [row for row in rows_ if row["at"] <= now]
    start = clock.shifted(now, days=-days)
    lately = {i for row in log if row["at"] > start for i in row["ids"]}
    chosen = [row for row in log if since is None or row["at"] >= since]
    asked = [row for row in chosen if row["verdict"]]
    poor = [row for row in asked if row["verdict"] != "strong"]
    accesses = _counts(i for row in chosen for i in row["ids"])
    served, never = ask(store, lambda con: _records(con, store, now, accesses, lately, days))
    return Retrievals(
        since=min((row["at"] for row in chosen), default=None),
        queries=_tally(asked),
        listings=len(chosen) - len(asked),
        repeated=len(asked) - len({row["query"] for row in asked}),
        by_command=dict(sorted(_counts(row["command"] for row in chosen).items())),
        weeks=_weeks(asked),
        drift=Drift(now=_poor(log, now, 1), before=_poor(log, now, 2)),
        accesses=accesses,
        served=tuple(served[:MOST_LISTED]),
        days=days,
        never_served=tuple(never[:MOST_LISTED]),
        never_served_count=len(never),
        poor=_in_words(store, poor),
        poor_count=len(poor),
        unreadable=unreadable,
    )


def _in_words(store: "Store", poor: "list[dict[str, Any]]") -> tuple[Poor, ...]:
    """The newest of them that the log has in words, while the settings say that it may."""
    kept = [row for row in poor if isinstance(row.get("text"), str)] if store.settings["monitor.query_text"] else []
    if not kept:
        return ()
    hidden = {f.text for f in facts.every(store) if f.sensitivity > labels.INTERNAL}
    hidden = {_folded(name) for name in hidden | naming.withheld_keys(store, labels.INTERNAL)} - {""}
    shown = (row for row in sorted(kept, key=lambda row: row["at"], reverse=True))
    open_ = (row for row in shown if not any(name in _folded(row["text"]) for name in hidden))
    return tuple(
        Poor(at=row["at"], command=row["command"], verdict=row["verdict"], text=redact.mask(row["text"]))
        for row in islice(open_, MOST_QUESTIONS)
    )


def _folded(text: str) -> str:
    return " ".join(words.fold(text).split())


def _records(
    con: "Connection", store: "Store", now: datetime, accesses: dict[str, int], lately: set[str], days: int
) -> tuple[list[Served], list[Served]]:
    """The records that were served, most often first, and the old facts that were not."""
    look = Look(con, store, now)
    ripe = clock.shifted(now, days=-days).timestamp()
    served, never = [], []
    for made, layer, key, written in look.select("r.id, r.layer, r.key, r.written_at"):
        if made in accesses:
            served.append(Served(id=made, layer=_NAMES[layer], key=key or "", count=accesses[made]))
        if layer == rows.FACT and written <= ripe and made not in lately:
            never.append(Served(id=made, layer=_NAMES[layer], key=key or "", count=accesses.get(made, 0)))
    served.sort(key=lambda s: (-s.count, s.id))
    never.sort(key=lambda s: s.id)
    return served, never


_NAMES = ("facts", "episodes", "procedures")


def _tally(asked: "list[dict[str, Any]]", start: str = "") -> Tally:
    counts = _counts(row["verdict"] for row in asked)
    return Tally(queries=len(asked), start=start, **{name: counts.get(name, 0) for name in retrievals.VERDICTS})


def _weeks(asked: "list[dict[str, Any]]") -> tuple[Tally, ...]:
    by_week: dict[str, list[dict[str, Any]]] = {}
    for row in asked:
        monday = clock.shifted(row["at"], days=-row["at"].weekday())
        by_week.setdefault(monday.date().isoformat(), []).append(row)
    return tuple(_tally(by_week[start], start) for start in sorted(by_week))


def _poor(log: "list[dict[str, Any]]", now: datetime, span: int) -> float | None:
    """The share without a strong answer in the last 30 days (span 1), or in the 30 before (span 2)."""
    start, end = (clock.shifted(now, days=-DRIFT_DAYS * back) for back in (span, span - 1))
    return _tally([row for row in log if row["verdict"] and start < row["at"] <= end]).poor


def _counts(names: "Iterable[str]") -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found
