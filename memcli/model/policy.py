"""Pure rules over records and time: what is expired, faded, cleared, and how sure readers may be.

All of them are functions of elapsed time, never of how often something ran; none reads a clock.
"""

from datetime import datetime

from memcli.base import clock
from memcli.model import labels
from memcli.model.labels import Sensitivity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.model.records import Episode, Fact, Opinion, Procedure, Source
    from memcli.model.settings import Settings

CONFIRM_STEP = 0.05
DENY_STEP = 0.1
FACT_HALF_LIFE_DAYS = 180.0
FADED_BELOW = 0.1
PROTECTED_FROM = 0.8
UNTRUSTED_IMPORTANCE = 0.5
TRIAL_RUNS = 3
RATE_LEAST = 0.6
IDLE_DAYS = 60
PEOPLE = ("user", "system")
VIA_CEILING = labels.CONFIDENCE_WORDS["medium"]
HAND_CEILING = labels.CONFIDENCE_WORDS["medium"]


def expires_at(record: "Fact | Episode | Procedure") -> datetime | None:
    """When a record's TTL runs out: updated_at (an episode's `at`) + TTL; None for never, overflow included."""
    if record.ttl_minutes <= 0:
        return None
    return clock.add_minutes(since(record), record.ttl_minutes)


def since(record: "Fact | Episode | Procedure") -> datetime:
    """The instant from which a record's TTL runs."""
    return record.at if hasattr(record, "at") else record.updated_at


def expired(record: "Fact | Episode | Procedure", now: datetime) -> bool:
    """True from the second on at which the TTL has run out."""
    end = expires_at(record)
    return end is not None and now >= end


def effective_confidence(fact: "Fact", now: datetime, half_life_days: float = FACT_HALF_LIFE_DAYS) -> float:
    """clamp(confidence + 0.05 x confirmers - 0.1 x deniers) x 0.5^(age / half-life); design §2.

    The age runs from the later of updated_at and confirmed_at. From importance 0.8 on nothing fades. What only a file
    said about itself, and what a hand changed unseen, counts at most as medium.
    """
    base = believed(fact)
    if protected(fact):
        return base
    return base * decay(last_seen(fact), now, half_life_days)


def believed(fact: "Fact") -> float:
    """Confidence with what others said of it, before any decay."""
    base = fact.confidence + CONFIRM_STEP * independent(fact.confirmations)
    if fact.source.via:
        base = min(fact.confidence, VIA_CEILING)
    base -= DENY_STEP * independent(fact.denials)
    if fact.state != "ok":
        base = min(base, HAND_CEILING)
    return min(max(base, 0.0), 1.0)


def importance(record: "Fact | Episode | Procedure") -> float:
    """How much a record matters. What only a file says of itself, or the web says, matters no more than the ordinary."""
    return (
        min(record.importance, UNTRUSTED_IMPORTANCE)
        if record.source.via or quarantined(record.source)
        else record.importance
    )


def protected(record: "Fact | Episode | Procedure") -> bool:
    """True for what matters so much (0.8 or more) that it neither fades nor is pruned."""
    return importance(record) >= PROTECTED_FROM


def last_seen(fact: "Fact") -> datetime:
    """The later of updated_at and confirmed_at: from here a fact's age is counted."""
    return max(fact.updated_at, fact.confirmed_at) if fact.confirmed_at else fact.updated_at


def decay(start: datetime, now: datetime, half_life_days: float) -> float:
    """0.5^(elapsed / half-life), 1 for a half-life of 0 (off) and for a start in the future."""
    elapsed_days = (now - start).total_seconds() / 86400
    if half_life_days <= 0 or elapsed_days <= 0:
        return 1.0
    return float(0.5 ** (elapsed_days / half_life_days))


def independent(opinions: "Iterable[Opinion]") -> int:
    """How many independent opinions: one a run, whatever the source's name."""
    return len({witness(o) for o in opinions})


def witness(opinion: "Opinion") -> str:
    """Who counts once: the run, or without one the source on that day."""
    return f"run {opinion.run}" if opinion.run else f"{opinion.source} {opinion.at:%Y-%m-%d}"


def occasion(opinion: "Opinion") -> str:
    """When something was observed: the run, or without one the day, whoever says it: a name is quickly made."""
    return f"run {opinion.run}" if opinion.run else f"{opinion.at:%Y-%m-%d}"


def faded(fact: "Fact", now: datetime, half_life_days: float = FACT_HALF_LIFE_DAYS) -> bool:
    """True when a fact has decayed below 0.1; what was written that low or denied down is not faded by time."""
    if protected(fact) or half_life_days <= 0:
        return False
    shown = effective_confidence(fact, now, half_life_days)
    return shown < FADED_BELOW and decay(last_seen(fact), now, half_life_days) < 1.0


def too_old(fact: "Fact", now: datetime, max_age_days: int) -> bool:
    """True when the store says that facts end at an age (0 = off) and this one is past it."""
    return max_age_days > 0 and (now - last_seen(fact)).total_seconds() >= max_age_days * 86400


def current(fact: "Fact", now: datetime, settings: "Settings") -> bool:
    """True while readers may see it as current: not expired, not faded, not past the store's greatest age."""
    ended = expired(fact, now) or faded(fact, now, settings["decay.fact_half_life_days"])
    return not ended and not too_old(fact, now, settings["decay.max_fact_age_days"])


def procedure_review(procedure: "Procedure", now: datetime) -> str:
    """Why a procedure should be looked at: idle for 60 days, or below 0.6 after three runs; "" when all is well."""
    if procedure.needs_review:
        return procedure.needs_review
    if procedure.runs >= TRIAL_RUNS and procedure.successes / procedure.runs < RATE_LEAST:
        return f"{procedure.successes} of {procedure.runs} runs succeeded"
    seen = max(procedure.updated_at, procedure.last_used_at or procedure.updated_at)
    idle = (now - seen).days
    return f"idle for {idle} days" if idle >= IDLE_DAYS and procedure.state in ("trial", "approved") else ""


def procedure_order(procedure: "Procedure", now: datetime) -> "tuple[object, ...]":
    """Sort key, best first: past its trial, not due for review, validated by a person, by success rate, by uses."""
    by_person = procedure.validated_by is not None and procedure.validated_by.kind in ("user", "system")
    share = procedure.successes / procedure.runs if procedure.runs else 0.0
    due = bool(procedure_review(procedure, now))
    return (procedure.runs < TRIAL_RUNS, due, not by_person, -share, -procedure.runs, procedure.key)


def cleared(label: Sensitivity, clearance: Sensitivity) -> bool:
    """May a reader with this clearance see it?"""
    return label <= clearance


def quarantined(source: "Source") -> bool:
    """True when the source is a web page or an import: not in the context unless asked for.

    A fact is held back for what it was derived from too; `memcli.index.doubt` tells that.
    """
    return source.kind in labels.UNTRUSTED_KINDS


def untrusted_address(ref: str) -> bool:
    """True when a basis that is no record is a web page or an import: an address, or a source of that kind."""
    return "://" in ref or ref.partition(":")[0] in labels.UNTRUSTED_KINDS


def vouched(fact: "Fact") -> bool:
    """True when a person other than the one who wrote the fact has confirmed it, and nobody has denied it since."""
    said = [o.at for o in fact.confirmations if o.source.partition(":")[0] in PEOPLE and o.source != str(fact.source)]
    return bool(said) and not any(o.at >= max(said) for o in fact.denials)
