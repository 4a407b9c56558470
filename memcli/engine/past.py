"""The memory as it was on a past day: values that were current then, from the records and from the archive.

A value holds from the instant that its id tells until it was superseded or ended; what was forgotten since stays
forgotten, and labels are those of today. Confirmations, tags and the like are as they are now: only values have a history.
"""

from datetime import datetime

from memcli.base import clock, ids
from memcli.engine import dump
from memcli.index import look, rows
from memcli.index.refresh import of_records
from memcli.model.records import Fact
from memcli.store import archive, episodes, facts, naming, procedures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from memcli.index.database import Connection
    from memcli.index.document import Record
    from memcli.index.look import Scope
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

    T = TypeVar("T")


def ask(store: "Store", at: datetime, question: "Callable[[Connection, dict[int, Record]], T]") -> "T":
    """The answer of `question` to an index, made for it alone, of what was known at an instant."""
    held: dict[int, Record] = {}
    con = of_records(store, records(store, at), held)
    try:
        return question(con, held)
    finally:
        con.close()


def records(store: "Store", at: datetime) -> "Iterator[tuple[int, Record]]":
    """Every record that was current at an instant, with its layer."""
    for fact in _facts(store, at):
        yield rows.FACT, fact
    for month in episodes.months(store):
        yield from ((rows.EPISODE, e) for e in episodes.read(store, month).entries if e.at <= at)
    for episode, _, ended in episodes.former(store, "archive"):
        if episode.at <= at < ended:
            yield rows.EPISODE, episode
    for procedure in procedures.every(store):
        if procedure.created_at <= at:
            yield rows.PROCEDURE, procedure


def _facts(store: "Store", at: datetime) -> "Iterator[Fact]":
    by_key: dict[str, Fact] = {}
    gone = _forgotten(store)
    for fact, former in dump.values(store):
        lost = former is not None and fact.key in gone and former.at <= gone[fact.key]
        if not lost and began(fact) <= at and (former is None or at < former.at):
            known = by_key.get(fact.key)
            by_key[fact.key] = fact if known is None or fact.id > known.id else known
    yield from by_key.values()


def _forgotten(store: "Store") -> "dict[str, datetime]":
    """When each key was last forgotten: what had ended by then is forgotten with it, whatever was written since."""
    found: dict[str, datetime] = {}
    for name in archive.names(store, facts.LAYER, "trash"):
        for former in facts.former(store, name, "trash"):
            key = former.fact.key
            found[key] = max(former.at, found.get(key, former.at))
    return found


def began(fact: Fact) -> datetime:
    """When a value was written: its id tells, else the record."""
    if not ids.valid(fact.id):
        return fact.created_at
    return clock.since_epoch(ids.milliseconds(fact.id) / 1000)


class Look(look.Look):
    """A look at what was known then; records are those that were given, not the files of today."""

    def __init__(
        self,
        con: "Connection",
        store: "Store",
        at: datetime,
        clearance: "Sensitivity",
        scope: "Scope",
        held: "dict[int, Record]",
    ) -> None:
        self._held = held
        self._withheld = naming.withheld_keys(store, clearance)
        super().__init__(con, store, at, clearance, scope)

    def hides(self, key: str) -> bool:
        """Relations are those of today, and so are the labels of what they name."""
        return key in self._withheld

    def served(self, rid: int) -> "Record | None":
        return self._held.get(rid)
