"""Confirming and denying a fact: +0.05 and -0.1 on its confidence, once a run (without a run: once a source and day)."""

from datetime import datetime

from memcli.base.value import Value, value
from memcli.engine import intake, remember
from memcli.model import keys, labels, policy, records
from memcli.model.records import Fact, Opinion
from memcli.store import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.fanout import Fanout
    from memcli.store.folder import Store

# Below this a denied fact waits for a person (confidence before decay).
REVIEW_BELOW = labels.CONFIDENCE_WORDS["low"]


@value
class Said(Value):
    """What came of an opinion. counted: False when this run (or source and day) had spoken already; fanout: what else a
    denied value touches."""

    fact: Fact
    counted: bool
    fanout: "Fanout | None" = None


def confirm(store: "Store", key: str, *, now: datetime, source: str | None = None, run: str = "") -> Said:
    """Say that a fact still holds. Raises NotFound, BadData, UsageError, Locked."""
    return _say(store, key, now, source, run, agree=True)


def deny(store: "Store", key: str, *, now: datetime, source: str | None = None, run: str = "") -> Said:
    """Say that a fact does not hold; below confidence 0.3 it is marked for review. Raises as `confirm`."""
    return _say(store, key, now, source, run, agree=False)


def _say(store: "Store", key: str, now: datetime, source: str | None, run: str, *, agree: bool) -> Said:
    who = records.source(source) if source else intake.default_source("unknown")
    intake.take(store.settings, {"run": run, "source": who.id}, fixed=("run", "source"))
    opinion = Opinion(source=str(who), run=intake.clean(run, "run"), at=now)
    with store.writing() as w:
        fact = remember.usable(store, keys.normal(key), now)
        if not _independent(fact, opinion):
            return Said(fact=fact, counted=False)
        changed = _confirmed(fact, opinion) if agree else _denied(fact, opinion)
        said = Said(fact=facts.put(w, changed, fact), counted=True)
    if agree:
        return said
    from memcli.engine import fanout

    return said.replace(fanout=fanout.of(store, fact, now))


def _independent(fact: Fact, opinion: Opinion) -> bool:
    """Another run than those that spoke, and than the one that wrote the fact."""
    spoken = {policy.witness(o) for o in (*fact.confirmations, *fact.denials)}
    return policy.witness(opinion) not in spoken and not (opinion.run and opinion.run == fact.run)


def _confirmed(fact: Fact, opinion: Opinion) -> Fact:
    return fact.replace(confirmations=(*fact.confirmations, opinion), confirmed_at=opinion.at)


def _denied(fact: Fact, opinion: Opinion) -> Fact:
    changed = fact.replace(denials=(*fact.denials, opinion))
    doubtful = policy.believed(changed) < REVIEW_BELOW
    return changed.replace(needs_review="denied") if doubtful and not fact.needs_review else changed
