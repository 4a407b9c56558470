"""How far a source and a record may be trusted: by kind at first, by what others said of its facts, by lineage.

Nothing is counted in a file: every figure follows from the records themselves. A confirmation of a fact moves the trust
of the fact's source by +0.025, a denial by -0.05 (half of what they move the fact), and each fades with a half-life of
365 days unless the store says otherwise.
"""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.model import labels, policy
from memcli.model.records import Fact, Opinion, Source, SourceRecord
from memcli.store import facts, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.store.folder import Store

CONFIRM_STEP = policy.CONFIRM_STEP / 2
DENY_STEP = policy.DENY_STEP / 2


@value
class Standing(Value):
    """What is known of one source. trust: 0..1 now; facts, confirmations, denials: counts over the current facts."""

    id: str
    kind: str
    trust: float
    list: str
    facts: int
    confirmations: int
    denials: int
    first_seen_at: datetime | None
    last_seen_at: datetime | None
    note: str


class Ledger:
    """The trust of all sources of a store at an instant, and of records by their lineage.

    known: the facts to go by, all of the store unless given; what is said of others then moves no source.
    half_life_days: of what opinions count, 0 = they never fade; that of the store unless given.
    """

    def __init__(
        self,
        store: "Store",
        now: datetime,
        known: "Iterable[Fact] | None" = None,
        *,
        half_life_days: float | None = None,
    ) -> None:
        self._now = now
        stores_own: float = store.settings["decay.trust_half_life_days"]
        self._half_life = stores_own if half_life_days is None else half_life_days
        self._records = {s.id: s for s in sources.every(store)}
        self._facts = list(facts.every(store) if known is None else known)
        self._by_ref = {ref: f for f in self._facts for ref in (f.id, f.key)}
        self._of: dict[str, list[Fact]] = {}
        for fact in self._facts:
            self._of.setdefault(fact.source.id, []).append(fact)

    def source(self, source: Source) -> float:
        """Trust of a source: its record's or its kind's, moved by what was said of its facts; 0 when it is blocked.

        What only another file vouches for (`via`) is trusted no more than that import.
        """
        record = self._records.get(source.id)
        if record is not None and record.list == "block":
            return 0.0
        start = record.trust if record is not None else labels.KIND_TRUST[source.kind]
        trust = start + sum(map(self._moved, self._of.get(source.id, ())))
        ceiling = labels.KIND_TRUST.get(source.via, 1.0)
        return min(max(trust, 0.0), ceiling)

    def fact(self, fact: Fact) -> float:
        """Trust of a record by lineage: the least over its source and everything that it was derived from.

        Each basis counts once, however many ways lead to it, and circles (made by hand) are safe.
        """
        least, stack, seen = 1.0, [fact], {fact.id}
        while stack:
            here = stack.pop()
            least = min(least, self.source(here.source))
            for ref in here.derived_from:
                parent = self._by_ref.get(ref)
                if parent is None:
                    least = min(least, self._outside(ref))
                elif parent.id not in seen:
                    seen.add(parent.id)
                    stack.append(parent)
        return least

    def standings(self) -> list[Standing]:
        """Every source that has a record or an open fact, by id; facts above internal are not counted."""
        seen = {f.source.id: f.source for f in self._facts if f.sensitivity <= labels.INTERNAL}
        ids = sorted({*self._records, *seen})
        return [self._standing(i, self._records.get(i), seen.get(i)) for i in ids]

    def _standing(self, name: str, record: SourceRecord | None, source: Source | None) -> Standing:
        held = [f for f in self._of.get(name, ()) if f.sensitivity <= labels.INTERNAL]
        kind = record.kind if record else source.kind if source else "unknown"
        times = [t for f in held for t in (f.created_at, policy.last_seen(f))]
        first, last = (record.first_seen_at, record.last_seen_at) if record else (None, None)
        return Standing(
            id=name,
            kind=kind,
            trust=self.source(Source(id=name, kind=kind)),
            list=record.list if record else "",
            facts=len(held),
            confirmations=sum(policy.independent(f.confirmations) for f in held),
            denials=sum(policy.independent(f.denials) for f in held),
            first_seen_at=min([*times, *([first] if first else [])], default=None),
            last_seen_at=max([*times, *([last] if last else [])], default=None),
            note=record.note if record else "",
        )

    def _outside(self, ref: str) -> float:
        """Trust of a basis that is no fact here: the id of a source, or something unknown to the store."""
        record = self._records.get(ref)
        if record is not None:
            return self.source(Source(id=record.id, kind=record.kind))
        return labels.KIND_TRUST["url" if "://" in ref else "unknown"]

    def _moved(self, fact: Fact) -> float:
        return self._sum(fact.confirmations, CONFIRM_STEP) - self._sum(fact.denials, DENY_STEP)

    def _sum(self, opinions: "tuple[Opinion, ...]", step: float) -> float:
        counted = {policy.witness(o): o for o in opinions}
        return step * sum(policy.decay(o.at, self._now, self._half_life) for o in counted.values())
