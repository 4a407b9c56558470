"""What a reader with a clearance may see of a store at an instant: the current records, and a count of all the rest."""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.model import labels, policy
from memcli.model.labels import Sensitivity
from memcli.model.records import Episode, Fact, Procedure
from memcli.store import episodes, facts, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.store.folder import Store


@value
class View(Value):
    """Current records that the reader is cleared for, and what is not among them.

    ended: cleared records that are expired or faded (swept or not); blocked: cleared ones of a blocked source;
    withheld: how many current records of all layers are above the clearance, a total that no query changes; unread: how
    many records have a file that cannot be read (a month of episodes is one).
    """

    facts: tuple[Fact, ...]
    episodes: tuple[Episode, ...]
    procedures: tuple[Procedure, ...]
    expired: "tuple[Fact | Episode | Procedure, ...]"
    faded: tuple[Fact, ...]
    blocked: "tuple[Fact | Episode | Procedure, ...]"
    withheld: int
    unread: int = 0


def survey(
    store: "Store", now: datetime, clearance: Sensitivity = labels.INTERNAL, layers: "Iterable[str]" = labels.LAYERS
) -> View:
    """Look at the whole store. layers: which of facts, episodes, procedures to read; the rest counts as empty."""
    not_served = sources.Blocked(store)
    found: dict[str, list[object]] = {"facts": [], "episodes": [], "procedures": []}
    expired: list[Fact | Episode | Procedure] = []
    faded: list[Fact] = []
    blocked: list[Fact | Episode | Procedure] = []
    withheld = 0
    unread: list[str] = []
    for layer, record in _records(store, tuple(layers), unread):
        state = _state(store, record, now)
        if not policy.cleared(record.sensitivity, clearance):
            withheld += state == "current"
        elif state == "expired":
            expired.append(record)
        elif state == "faded":
            faded.append(record)  # type: ignore[arg-type]
        elif record.source.id in not_served:
            blocked.append(record)
        else:
            found[layer].append(record)
    return View(
        facts=tuple(found["facts"]),  # type: ignore[arg-type]
        episodes=tuple(found["episodes"]),  # type: ignore[arg-type]
        procedures=tuple(found["procedures"]),  # type: ignore[arg-type]
        expired=tuple(expired),
        faded=tuple(faded),
        blocked=tuple(blocked),
        withheld=withheld,
        unread=len(unread),
    )


def shown(store: "Store", now: datetime, clearance: Sensitivity, fact: Fact) -> Fact:
    """The fact without relations and bases that name a withheld one; only who names any pays for the index."""
    if not (fact.relations or fact.derived_from):
        return fact
    from memcli.index.look import Look
    from memcli.index.refresh import ask

    return ask(store, lambda con: Look(con, store, now, clearance).shown(fact))


def episodes_of(
    found: View,
    *,
    session: str | None = None,
    outcome: str | None = None,
    tags: tuple[str, ...] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Episode]:
    """The episodes of a view that pass the filters, newest first. Raises UsageError for an outcome that is none."""
    if outcome is not None:
        labels.choice(outcome, "outcome", labels.OUTCOMES)
    return [
        e
        for e in found.episodes
        if session in (None, e.session)
        and outcome in (None, e.outcome)
        and set(tags) <= set(e.tags)
        and (since is None or e.at >= since)
        and (until is None or e.at <= until)
    ]


def _records(
    store: "Store", layers: tuple[str, ...], unread: list[str]
) -> "Iterable[tuple[str, Fact | Episode | Procedure]]":
    if "facts" in layers:
        for fact in facts.every(store, unread):
            yield "facts", fact
    if "episodes" in layers:
        for episode in episodes.newest(store, unread):
            yield "episodes", episode
    if "procedures" in layers:
        for procedure in procedures.every(store, unread):
            yield "procedures", procedure


def _state(store: "Store", record: "Fact | Episode | Procedure", now: datetime) -> str:
    if policy.expired(record, now):
        return "expired"
    if isinstance(record, Fact) and not policy.current(record, now, store.settings):
        return "faded"
    return "current"
