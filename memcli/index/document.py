"""What the index keeps of a record: figures to filter and to rank by, and stems of its scrubbed text.

Of a record above `internal` nothing is kept but that it is there, its times and its label; a reader who is cleared for
it reads its files. Everything in clear has gone through `redact.mask` first.
"""

from datetime import datetime, timezone
from math import log2

from memcli.base import clock, ids, sha256
from memcli.base.value import Value, value
from memcli.index import rows, signs
from memcli.model import labels, policy, redact, words
from memcli.model.records import Episode, Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
    "said",
    "formerly",
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


def _said(episode: Episode) -> int:
    """What an episode tells, as a number: the same for those that differ in case, white space and a final stop alone."""
    told = (episode.task, episode.text, episode.approach, *episode.findings, *episode.patterns, *episode.tools)
    words_ = " ".join(" ".join(words.fold(part).split()).rstrip(".!") for part in told)
    return hash_of(words_) if words_.strip() else 0


def instant(at: float) -> datetime:
    """The instant of `seconds`."""
    return clock.since_epoch(at)


def document(record: "Record", settings: "Settings") -> "tuple[dict[str, Any], tuple[str, str] | None]":
    """The columns of a record (those that its place in the store gives are left out), and its stems, strong and weak.

    No stems for a record that is not shown without a clearance.
    """
    columns = _times(record, settings)
    if record.sensitivity > SHOWN_UP_TO:
        return columns, None
    strong, weak = map("\n".join, fields(record))
    # One look at all of it; most records have nothing to hide, and a look at each part costs ten times as much.
    mask = redact.mask if redact.scan("\n".join((strong, weak, *_labels(record)))) else str
    columns |= _described(record, mask)
    said = mask(weak)
    stems = " ".join(words.terms(mask(strong))), " ".join(words.terms(said))
    columns["flags"] = signs.flags(said)
    columns["said"] = _said(record) if isinstance(record, Episode) and mask is str else 0
    columns["length"] = sum(1 + s.count(" ") for s in stems if s)
    return columns, stems


def lineage(refs: "tuple[str, ...]") -> str:
    """What a record was derived from, as one column in which a reference can be found by its hash."""
    return "".join(f" {hash_of(ref)} " for ref in refs)


@value
class Bases(Value):
    """The column `lineage`, read. hashes: of references to records of this store; ids: those of them that are ids;
    untrusted: something outside that is a page or an import is among the bases; lifted: a person has confirmed it."""

    hashes: frozenset[int] = frozenset()
    ids: tuple[str, ...] = ()
    untrusted: bool = False
    lifted: bool = False


def bases(column: str | None) -> Bases:
    """What `document` wrote down of a fact's bases."""
    marks = (column or "").split()
    outside = {m[1:] for m in marks if m[0] == "~"}
    return Bases(
        hashes=frozenset(int(m) for m in marks if m.isdigit() and m not in outside),
        ids=tuple(m[1:] for m in marks if m[0] == "@"),
        untrusted="!" in marks,
        lifted="+" in marks,
    )


def _lineage(fact: Fact) -> str:
    """References by their hashes, and marks that say which are ids (@), which lead out of the store (~), whether one of
    those is a page or an import (!), and whether a person vouches for the fact (+)."""
    if not fact.derived_from:
        return ""
    out = [r for r in fact.derived_from if any(c in r for c in "/\\:#")]
    marks = [f"@{r}" for r in fact.derived_from if ids.valid(r)] + [f"~{hash_of(r)}" for r in out]
    marks += ["!"] if any(policy.untrusted_address(r) for r in out) else []
    marks += ["+"] if policy.vouched(fact) else []
    return f"{lineage(fact.derived_from)} {' '.join(marks)} " if marks else lineage(fact.derived_from)


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
        "lineage": _lineage(fact) if fact else "",
        "formerly": lineage(fact.renamed_from) if fact else "",
        "state": record.state,
        "checked": bool(fact and fact.check),
    }


def _labels(record: "Record") -> tuple[str, ...]:
    """What is kept in clear beside the fields."""
    session = (record.session, record.run) if isinstance(record, Episode) else ()
    return (record.source.id, *session)


def _described(record: "Record", mask: "Callable[[str], str]") -> "dict[str, Any]":
    found = {
        "kind": record.source.kind,
        "via": record.source.via if record.source.via in labels.KIND_TRUST else "",
        "source": source_name(record.source.id) if mask is not str else record.source.id,
        "tags": listed(record.tags, mask),
        "speaker": words.fold(mask(signs.speaker(record))),
    }
    if isinstance(record, Episode):
        concepts = listed(record.concepts, mask)
        return found | {"session": mask(record.session or record.run), "concepts": concepts}
    found["key"] = mask(record.key)
    if isinstance(record, Fact):
        return found | {"domain": mask(record.domain)}
    return found | {"task_type": mask(record.task_type)}


def source_name(id_: str) -> str:
    """How a source is told apart in the index: by its id, or by a hash of one that may not stand there in clear."""
    return id_ if redact.mask(id_) == id_ else f"#{hash_of(id_)}"


def listed(items: tuple[str, ...], mask: "Callable[[str], str]" = str) -> str:
    """A list as one column in which a whole item can be found."""
    return "".join(f"\x1f{mask(i)}\x1f" for i in items)


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


LAYER_OF = {"facts": rows.FACT, "episodes": rows.EPISODE, "procedures": rows.PROCEDURE}
NAME_OF = ("facts", "episodes", "procedures")
# What a session holds; the index has none of it.
WORKING = "working"
