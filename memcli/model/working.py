"""Working memory of one session: its values, and the rules of what stays. Pure: no disk, no clock, no reading of RAM.

A session holds entries (key-values), items (a sliding window of notes) and messages (items with a role, a list that is
compressed when it grows long). What is important enough is protected from the window, up to a cap.
"""

from datetime import datetime, timedelta

from memcli.base import clock
from memcli.base.value import Value, value
from memcli.model import labels, policy
from memcli.model.labels import Sensitivity
from memcli.model.records import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

ROLES = ("user", "assistant", "tool", "system")
SUMMARY = "summary"
PROTECTED_FROM = policy.PROTECTED_FROM
LEAST_PROTECTED = 5
# The share of RAM in use above which the window shrinks: (above, numerator, denominator, never less than).
_SHRINK = ((0.80, 1, 2, 2), (0.68, 3, 4, 3))
# Above which share of RAM old things go after how many minutes, below which importance.
_CLEAN = ((0.85, 5, 0.5), (0.70, 15, 0.3))
CLEAN_MINUTES = 30
CLEAN_BELOW = 0.2


@value
class Item(Value):
    """One thing held in mind. role: "" for a note, else whose message it is; "summary" stands for older messages.

    accesses: how often it was read. episode, facts: what has already been made of it. sources: of a summary, the ids of the
    sources of the messages that it stands for.
    """

    id: str
    text: str
    created_at: datetime
    role: str = ""
    modality: str = "text"
    importance: float = DEFAULT_IMPORTANCE
    source: Source
    confidence: float = DEFAULT_CONFIDENCE
    sensitivity: Sensitivity = labels.INTERNAL
    ttl_minutes: int = 0
    tags: tuple[str, ...] = ()
    accesses: int = 0
    episode: bool = False
    facts: bool = False
    sources: tuple[str, ...] = ()

    @property
    def origins(self) -> tuple[str, ...]:
        """The ids of all sources that it comes of, its own among them."""
        return tuple(dict.fromkeys((self.source.id, *self.sources)))

    @property
    def since(self) -> datetime:
        """The instant from which its TTL and age run."""
        return self.created_at


@value
class Entry(Value):
    """One key-value. `text` is the value, so that entries and items are searched and shown alike."""

    id: str
    key: str
    text: str
    created_at: datetime
    updated_at: datetime
    modality: str = "text"
    importance: float = DEFAULT_IMPORTANCE
    source: Source
    confidence: float = DEFAULT_CONFIDENCE
    sensitivity: Sensitivity = labels.INTERNAL
    ttl_minutes: int = 0
    tags: tuple[str, ...] = ()
    accesses: int = 0
    episode: bool = False
    facts: bool = False

    @property
    def origins(self) -> tuple[str, ...]:
        """The ids of all sources that it comes of: its own."""
        return (self.source.id,)

    @property
    def since(self) -> datetime:
        """The instant from which its TTL and age run."""
        return self.updated_at


@value
class Session(Value):
    """The working memory of one session. entries: least recently written first; items: oldest first.

    taken: ids of transcript messages that have been consolidated, oldest first; touched_at: of the last write.
    """

    id: str
    entries: tuple[Entry, ...] = ()
    items: tuple[Item, ...] = ()
    taken: tuple[str, ...] = ()
    touched_at: datetime | None = None

    @property
    def held(self) -> "list[Item | Entry]":
        """All that is held: entries, then items."""
        everything: list[Item | Entry] = [*self.entries, *self.items]
        return everything

    @property
    def empty(self) -> bool:
        """True when nothing is held."""
        return not (self.entries or self.items)


def expired(held: "Item | Entry", now: datetime) -> bool:
    """True from the second on at which its TTL has run out."""
    if held.ttl_minutes <= 0:
        return False
    end = clock.add_minutes(held.since, held.ttl_minutes)
    return end is not None and now >= end


def live(session: Session, now: datetime) -> Session:
    """The session without what has expired."""
    return session.replace(
        entries=tuple(e for e in session.entries if not expired(e, now)),
        items=tuple(i for i in session.items if not expired(i, now)),
    )


def shrunk(window: int, ram_used: float | None) -> int:
    """The window under a RAM reading (share in use, None: unknown): half above 80 %, three quarters above 68 %."""
    for above, numerator, denominator, least in _SHRINK:
        if ram_used is not None and ram_used > above:
            return min(window, max(least, window * numerator // denominator))
    return window


def protected_cap(window: int) -> int:
    """How many important items the window cannot push out."""
    return max(LEAST_PROTECTED, window // 4)


def slide(items: "Sequence[Item]", window: int) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """What the window keeps and what falls out of it, each oldest first; messages are no concern of it.

    Items of importance 0.8 or more are protected, up to the cap; of more than that the most important and then the newest.
    """
    notes = [i for i in items if not i.role]
    ranked = sorted(notes, key=lambda i: (i.importance, i.created_at, i.id), reverse=True)
    protected = {i.id for i in ranked[: protected_cap(window)] if i.importance >= PROTECTED_FROM}
    plain = [i for i in notes if i.id not in protected]
    out = {i.id for i in plain[: max(0, len(plain) - window)]}
    return tuple(i for i in items if i.id not in out), tuple(i for i in items if i.id in out)


def cap(entries: "Sequence[Entry]", most: int) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The entries that stay and those that go: the least recently written go first."""
    cut = max(0, len(entries) - most)
    return tuple(entries[cut:]), tuple(entries[:cut])


def messages(items: "Iterable[Item]") -> list[Item]:
    """Messages and summaries of them, oldest first."""
    return [i for i in items if i.role]


def to_fold(items: "Sequence[Item]", *, threshold: int, keep: int) -> tuple[Item, ...]:
    """The messages that become one summary: none below the threshold, else all but system's and the newest `keep`."""
    listed = messages(items)
    if len(listed) < max(threshold, keep + 2):
        return ()
    talk = [i for i in listed if i.role != "system"]
    old = talk[: max(0, len(talk) - keep)]
    return tuple(old) if any(i.role != SUMMARY for i in old) else ()


def hold(items: "Sequence[Item]", most: int, first: "Container[str]" = ()) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The items with at most so many messages, and those that had to go: the oldest, system's and summaries last.

    first: ids of messages that go before all others, whatever their role.
    """
    listed = messages(items)
    rest = [i for i in listed if i.id not in first]
    order = [i for i in listed if i.id in first]
    order += [i for i in rest if i.role not in ("system", SUMMARY)]
    order += [i for i in rest if i.role in ("system", SUMMARY)]
    out = {i.id for i in order[: max(0, len(listed) - most)]}
    return tuple(i for i in items if i.id not in out), tuple(i for i in items if i.id in out)


def cleaning(ram_used: float | None) -> tuple[int, float]:
    """(minutes, importance): what is older and less important than this is cleaned up."""
    for above, minutes, below in _CLEAN:
        if ram_used is not None and ram_used > above:
            return minutes, below
    return CLEAN_MINUTES, CLEAN_BELOW


def stale(held: "Item | Entry", now: datetime, minutes: int, below: float) -> bool:
    """True when it is old and unimportant enough to be cleaned up."""
    return held.importance < below and now - held.since > timedelta(minutes=minutes)
