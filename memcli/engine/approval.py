"""A yes to all that waits, for whoever has brought in many proposals at once: careful, so that none slips through.

What stands against a current fact or against another proposal, what the reader may not see, and what somebody has
denied, edited, purged or blocked stays for a person to look at, one by one.
"""

from collections import Counter
from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import gate, lineage, promotion, propose
from memcli.model import labels, policy
from memcli.model.records import Fact, Opinion
from memcli.store import facts, proposals, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store
    from memcli.store.tombstones import Tombstones

VIA = ("import",)
_BATCH = 500


@value
class Accepted(Value):
    """What a yes to all proposals did, or would do: how many became facts, and how many were left.

    contradicting: they stand against a current fact or against each other; withheld: their label is above the clearance;
    left: somebody has denied, edited or purged them or blocked their source, who says yes is no person and proposed them
    himself or an import did, or the fact could not be written; unread: their file cannot be read.
    """

    accepted: int
    contradicting: int
    withheld: int
    left: int
    unread: int = 0


def accept_all(
    store: "Store",
    *,
    now: datetime,
    via: str = "",
    by: str | None = None,
    clearance: "Sensitivity" = labels.INTERNAL,
    dry_run: bool = False,
    default_kind: str = "unknown",
) -> Accepted:
    """Promote every proposal that nothing speaks against; via "import": only what an import has proposed.

    A batch at a time, each looked at again under the lock. Raises UsageError, and Refused for who may not decide.
    """
    if via:
        labels.choice(via, "via", VIA)
    who = gate.who(by, default_kind) if dry_run else gate.judge(store, by, default_kind)
    opinion = Opinion(source=str(who), run=f"review {now:%Y-%m-%dT%H:%M:%SZ}", at=now)
    unread: list[str] = []
    held = [p for p in proposals.every(store, unread) if not promotion.lapsed(store, p, now)]
    values = Counter(_key(p) for p in held)
    wanted = [p for p in held if p.source.via == via or not via]
    theirs = [p for p in wanted if not gate.own(who, p)]
    ready, left = _sorted(store, theirs, values, clearance, now)
    left["left"] += len(wanted) - len(theirs)
    if dry_run:
        return Accepted(accepted=len(ready), **left, unread=len(unread))
    accepted = 0
    for start in range(0, len(ready), _BATCH):
        with store.writing(patient=True) as w:
            still = _again(store, ready[start : start + _BATCH])
            still, _ = _sorted(store, still, values, clearance, now)
            promotion.promote_many(w, still, now, by=opinion)
        accepted += len(still)
    left["left"] += len(ready) - accepted
    return Accepted(accepted=accepted, **left, unread=len(unread))


def _sorted(
    store: "Store", held: "Iterable[Fact]", values: "Counter[str]", clearance: "Sensitivity", now: datetime
) -> tuple[list[Fact], dict[str, int]]:
    """The proposals that may be promoted, and how many may not, by reason. values: how many there are of each key."""
    blocked, buried, web = sources.Blocked(store), store.tombstones(), lineage.Web(store)
    ready: list[Fact] = []
    left = {"contradicting": 0, "withheld": 0, "left": 0}
    with facts.Shelf(store) as shelf:
        for p in held:
            live = shelf.get(p.key)
            known = propose.current(store, shelf, p.key, now)
            if not policy.cleared(max(f.sensitivity for f in (p, live, known) if f is not None), clearance):
                left["withheld"] += 1
            elif values[_key(p)] > 1 or (known is not None and _differs(p, known)):
                left["contradicting"] += 1
            elif _doubtful(p, blocked, buried) or _taken(shelf, p, live) or not _sound(web, p):
                left["left"] += 1
            else:
                ready.append(p)
    return ready, left


def _again(store: "Store", batch: list[Fact]) -> list[Fact]:
    """The proposals as they are now; without those that are gone."""
    with proposals.Shelf(store) as tray:
        found = [(p, tray.find(*proposals.same(p.key, p.text))) for p in batch]
    return [now for before, now in found if now is not None and now.id == before.id]


def _doubtful(p: Fact, blocked: sources.Blocked, buried: "Tombstones | None") -> bool:
    """Whether somebody has said or done something against it."""
    purged = buried is not None and buried.hold(facts.LAYER, p.key, p.text)
    return p.state != "ok" or bool(p.denials) or p.source.id in blocked or purged


def _taken(shelf: facts.Shelf, p: Fact, live: Fact | None) -> bool:
    """Whether the place of the fact is no place to write to: it was edited by hand, is damaged, or is another file's."""
    return live.state != "ok" if live is not None else shelf.taken(facts.new_name(p))


def _sound(web: lineage.Web, p: Fact) -> bool:
    """Whether nothing that a proposal is derived from leads back to it, with all that is promoted before it."""
    try:
        web.check(p)
    except errors.UsageError:
        return False
    web.learn(p)
    return True


def _differs(p: Fact, known: Fact) -> bool:
    return known.key != p.key or proposals.same(known.key, known.text) != proposals.same(p.key, p.text)


def _key(p: Fact) -> str:
    return proposals.same(p.key, "")[0]
