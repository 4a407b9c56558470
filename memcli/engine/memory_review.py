"""The verbs of a memory about what waits for a decision: the queue of review, and what changed between revisions.

`engine.memory_layers.Layers` is built on this class, as `engine.memory.Memory` is on that one.
"""

import os
from datetime import datetime

from memcli.base import clock, errors
from memcli.engine import given
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.approval import Accepted
    from memcli.engine.review import Item
    from memcli.engine.revisions import Change, Fault
    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store


@given.guarded
class Reviewing:
    """One store, and what can be done with it. Every verb takes `now` where time matters: an aware datetime."""

    def __init__(self, store: "Store") -> None:
        if isinstance(store, (str, bytes, os.PathLike)):
            raise errors.UsageError("Memory takes a store that is open, not a path", hint="memcli.open(path)")
        self.store = store

    def review(
        self, *, kinds: tuple[str, ...] = (), clearance: str = "internal", now: datetime | None = None
    ) -> "list[Item]":
        """What waits for a person, of some kinds or of all; see engine.review.queue."""
        from memcli.engine import review

        for kind in kinds:
            labels.choice(kind, "kind", review.KINDS)
        limit = labels.sensitivity(clearance)
        found = review.queue(self.store, instant(now))
        return [i for i in found if i.sensitivity <= limit and (not kinds or i.kind in kinds)]

    def review_show(self, ref: str, *, reveal: bool = False, now: datetime | None = None) -> "Item":
        """One item of the queue, by ref or key. Raises NotFound, Refused, Withheld."""
        from memcli.engine import review

        found = review.find(self.store, ref, instant(now))
        check_open(found.sensitivity, reveal)
        return found

    def review_accept(self, ref: str, *, by: str | None = None, now: datetime | None = None) -> "Item":
        """Say yes; see engine.review.accept."""
        from memcli.engine import review

        return review.accept(self.store, ref, now=instant(now), by=by)

    def review_accept_all(
        self,
        *,
        via: str = "",
        by: str | None = None,
        clearance: str = "internal",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Accepted":
        """Say yes to every proposal that nothing speaks against; see engine.approval.accept_all."""
        from memcli.engine import approval

        limit = labels.sensitivity(clearance)
        return approval.accept_all(self.store, now=instant(now), via=via, by=by, clearance=limit, dry_run=dry_run)

    def review_reject(self, ref: str, *, by: str | None = None, now: datetime | None = None) -> "Item":
        """Say no; see engine.review.reject."""
        from memcli.engine import review

        return review.reject(self.store, ref, now=instant(now), by=by)

    def review_diff(self, old: str, new: str | None = None, *, clearance: str = "internal") -> "list[Change]":
        """What changed in meaning between two git revisions, or between one and now."""
        from memcli.engine import revisions
        from memcli.store import revision

        after = self.store if new is None else revision.Revision(self.store, new)
        limit = labels.sensitivity(clearance)
        return [c for c in revisions.diff(revision.Revision(self.store, old), after) if c.label <= limit]

    def check_against(self, rev: str) -> "list[Fault]":
        """What a change since a git revision must not bring: a credential, an unsourced fact, a silent contradiction ..."""
        from memcli.engine import revisions
        from memcli.store import revision

        return revisions.faults(revision.Revision(self.store, rev), self.store)


def instant(now: datetime | None) -> datetime:
    """The time of a call: as given, else MEMCLI_NOW, else the clock. Raises UsageError for a naive time."""
    if now is None:
        return clock.now(os.environ.get("MEMCLI_NOW") or None)
    if now.tzinfo is None:
        raise errors.UsageError("now is a naive time", hint="give it a time zone: datetime.now(timezone.utc)")
    return now.replace(microsecond=0)


def check_open(label: "Sensitivity", reveal: bool) -> None:
    """Raise Withheld for what is above internal, unless reveal is given."""
    if label > labels.INTERNAL and not reveal:
        raise errors.Withheld("this record is withheld: its label is above internal", hint="reveal=True")
