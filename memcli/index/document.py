"""What the index keeps of a record: figures to filter and to rank by, and stems of its scrubbed text.

Of a record above `internal` nothing is kept but that it is there, its times and its label; a reader who is cleared for
it reads its files. Everything in clear has gone through `redact.mask` first.
"""

from datetime import datetime, timezone
from math import log2

from memcli.base import ids, sha256
from memcli.index import rows, signs
from memcli.model import labels, policy, redact, words
from memcli.model.records import Episode, Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.model.records import Procedure
    from memcli.model.settings import Settings

    Record = Fact | Episode | Procedure

COLUMNS = (
    "layer",
    "name",
    "start",
    "stop",
    "id",
    "key_hash",
    "key",
    "level",
    "rival",
    "whole",
    "expires_at",
    "fades_at",
    "written_at",
    "seen_at",
    "importance",
    "believed",
    "protected",
    "kind",
    "via",
    "source",
    "domain",
    "session",
    "place",
    "outcome",
    "tags",
    "concepts",
    "task_type",
    "state",
    "supersedes",
    "lineage",
    "checked",
    "speaker",
    "flags",
    "length",
)
SHOWN_UP_TO = labels.INTERNAL
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAY = 86400.0
# A hair before the second from which on a fact is too old: `fades_at` is passed when the time is greater.
_HAIR = 1e-3


def hash_of(key: str) -> int:
    """63 bits of a hash of a key: two names of one key are found by it without the key standing in the index."""
    return int.from_bytes(sha256.binary(key.encode("utf-8", "surrogatepass"))[:8], "big") >> 1


def seconds(at: datetime) -> float:
    """An aware instant as seconds since 1970."""
    return (at - _EPOCH).total_seconds()


def document(record: "Record", settings: "Settings") -> "tuple[dict[str, Any], tuple[str, str] | None]":
    """The columns of a record (those that its place in the store gives are left out), and its stems, strong and weak.

    No stems for a record that is not shown without a clearance.
    """
    columns = _times(record, settings)
    if record.sensitivity > SHOWN_UP_TO:
        return columns, None
    columns |= _described(record)
    strong, weak = fields(record)
    said = _masked("\n".join(weak))
    stems = " ".join(words.terms(_masked("\n".join(strong)))), " ".join(words.terms(said))
    columns["flags"] = signs.flags(said)
    columns["length"] = sum(len(s.split()) for s in stems)
    return columns, stems


def lineage(refs: "tuple[str, ...]") -> str:
    """What a record was derived from, as one column in which a reference can be found by its hash."""
    return "".join(f" {hash_of(ref)} " for ref in refs)


def fields(record: "Record") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts that name a record, which count in full, and the texts that describe it."""
    if isinstance(record, Fact):
        return (record.key, record.domain, *record.tags), (record.text,)
    if isinstance(record, Episode):
        return (record.task, *record.tags, *record.concepts), (record.text, *record.findings, *record.patterns)
    strong = (record.key, record.title, record.task_type, record.trigger, *record.tags)
    return strong, (record.text, *(s.action for s in record.steps))


def _times(record: "Record", settings: "Settings") -> "dict[str, Any]":
    """What is needed to count a record and to end it, whoever looks."""
    fact = record if isinstance(record, Fact) else None
    ends = policy.expires_at(record)
    seen = policy.last_seen(fact) if fact else policy.since(record)
    return {
        "id": record.id,
        "key_hash": 0 if isinstance(record, Episode) else hash_of(record.key),
        "key": "",
        "level": int(record.sensitivity),
        "rival": 0,
        "whole": fact is None or fact.state not in ("bare", "damaged"),
        "expires_at": None if ends is None else seconds(ends),
        "fades_at": _fades_at(fact, settings) if fact else None,
        "written_at": seconds(policy.since(record)),
        "seen_at": seconds(seen),
        "importance": policy.importance(record),
        "believed": policy.believed(fact) if fact else record.confidence,
        "protected": policy.protected(record),
        "outcome": record.outcome if isinstance(record, Episode) else "",
        "supersedes": fact.supersedes if fact and ids.valid(fact.supersedes) else "",
        "lineage": lineage(fact.derived_from) if fact else "",
        "state": _state(record),
        "checked": bool(fact and fact.check),
    }


def _described(record: "Record") -> "dict[str, Any]":
    is_episode = isinstance(record, Episode)
    return {
        "key": "" if isinstance(record, Episode) else _masked(record.key),
        "kind": record.source.kind,
        "via": record.source.via,
        "source": _masked(record.source.id),
        "domain": _masked(record.domain) if isinstance(record, Fact) else "",
        "session": _masked(record.session or record.run) if isinstance(record, Episode) else "",
        "place": 0,
        "tags": listed(record.tags),
        "concepts": listed(record.concepts) if isinstance(record, Episode) else "",
        "task_type": "" if is_episode or isinstance(record, Fact) else _masked(record.task_type),  # type: ignore[union-attr]
        "speaker": signs.speaker(record),
    }


def listed(items: tuple[str, ...]) -> str:
    """A list as one column in which a whole item can be found."""
    return "".join(f"\x1f{_masked(i)}\x1f" for i in items)


def _state(record: "Record") -> str:
    return record.state


def _fades_at(fact: Fact, settings: "Settings") -> float | None:
    """The instant after which `policy.current` calls the fact faded or too old; None for never.

    believed x 0.5^(age / half-life) falls below 0.1 after half-life x log2(believed / 0.1) days.
    """
    half_life, most_days = settings["decay.fact_half_life_days"], settings["decay.max_fact_age_days"]
    seen, ends = seconds(policy.last_seen(fact)), []
    if half_life > 0 and not policy.protected(fact):
        believed = policy.believed(fact)
        days = half_life * log2(believed / policy.FADED_BELOW) if believed > policy.FADED_BELOW else 0.0
        ends.append(seen + days * _DAY)
    if most_days > 0:
        ends.append(seen + most_days * _DAY - _HAIR)
    return min(ends, default=None)


def _masked(text: str) -> str:
    return redact.mask(text) if text else text


LAYER_OF = {"facts": rows.FACT, "episodes": rows.EPISODE, "procedures": rows.PROCEDURE}
NAME_OF = ("facts", "episodes", "procedures")
