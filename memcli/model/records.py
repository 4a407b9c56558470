"""The values that memory is made of: facts, episodes, procedures, sources and their parts.

Instants are aware UTC datetimes, texts use LF. What a value holds is what its files say; what readers must see
(effective confidence, expiry) is computed by `model.policy`.
"""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import labels
from memcli.model.labels import Sensitivity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EPISODE_TTL_MINUTES = 90 * 24 * 60
DEFAULT_IMPORTANCE = 0.5
DEFAULT_CONFIDENCE = 0.6


@value
class Source(Value):
    """Who said it. kind: see labels.KIND_TRUST. via: "import" when only another file says that this source said it."""

    id: str
    kind: str
    via: str = ""

    def __str__(self) -> str:
        return self.kind if self.id in ("", self.kind) else f"{self.kind}:{self.id}"


@value
class Opinion(Value):
    """One confirmation or denial: by which source, in which run, when."""

    source: str
    run: str
    at: datetime


@value
class Fact(Value):
    """One durable fact: the current value of its key.

    confidence: 0..1 as written; ttl_minutes: 0 = for ever; needs_review: why a person
    should look; relations: mappings with type, target, weight.
    state: "ok", "drift" (edited by hand since memcli wrote it), "bare" (no sidecar), "half" (half a clone),
    "damaged" (a file cannot be read as it should; treated as restricted). name: file name without extension.
    digest: SHA-256 over the sidecar's and the Markdown file's bytes as read, for `--if-match`; "" before it is stored.
    """

    id: str
    key: str
    text: str
    source: Source
    confidence: float
    created_at: datetime
    updated_at: datetime
    sensitivity: Sensitivity = labels.INTERNAL
    ttl_minutes: int = 0
    importance: float = DEFAULT_IMPORTANCE
    domain: str = ""
    tags: tuple[str, ...] = ()
    relations: "tuple[dict[str, Any], ...]" = ()
    modality: str = "text"
    run: str = ""
    agent: str = ""
    confirmed_at: datetime | None = None
    confirmations: tuple[Opinion, ...] = ()
    denials: tuple[Opinion, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: str = ""
    renamed_from: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    check: str = ""
    needs_review: str = ""
    unknown: "dict[str, Any] | None" = None
    header: "dict[str, Any] | None" = None
    state: str = "ok"
    name: str = ""
    digest: str = ""


@value
class Former(Value):
    """A former value of a fact: superseded, expired, faded or forgotten, and when. `place`: "archive" or "trash"."""

    fact: Fact
    reason: str
    at: datetime
    place: str = "archive"


@value
class Episode(Value):
    """What happened in one run or session. text: the summary; at: when; steps: how many were taken.

    state: "ok", "edited" (by hand), "damaged" (its label cannot be read; treated as restricted). month: its log, "2026-10".
    """

    id: str
    at: datetime
    text: str
    sensitivity: Sensitivity = labels.INTERNAL
    task: str = ""
    outcome: str = "unknown"
    session: str = ""
    run: str = ""
    agent: str = ""
    source: Source
    confidence: float = DEFAULT_CONFIDENCE
    importance: float = DEFAULT_IMPORTANCE
    ttl_minutes: int = EPISODE_TTL_MINUTES
    modality: str = "text"
    tags: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    approach: str = ""
    tools: tuple[str, ...] = ()
    steps: int = 0
    patterns: tuple[str, ...] = ()
    evidence: "tuple[dict[str, Any], ...]" = ()
    trace: str = ""
    unknown: "dict[str, Any] | None" = None
    state: str = "ok"
    month: str = ""


@value
class Step(Value):
    """One step of a procedure: what to do, with what, what should come of it, and whether it may be left out."""

    name: str
    action: str
    parameters: "dict[str, Any] | None" = None
    expected: str = ""
    optional: bool = False


@value
class Procedure(Value):
    """A way of doing a task that has worked. state: pending, trial, approved or rejected; rate: the moving success rate.

    runs and successes are counts, mean_duration_ms is in milliseconds, needs_review holds the reason or is empty.
    """

    id: str
    key: str
    title: str
    text: str
    source: Source
    confidence: float
    created_at: datetime
    updated_at: datetime
    sensitivity: Sensitivity = labels.INTERNAL
    ttl_minutes: int = 0
    importance: float = DEFAULT_IMPORTANCE
    task_type: str = ""
    trigger: str = ""
    tags: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    state: str = "pending"
    validated_by: Source | None = None
    needs_review: str = ""
    runs: int = 0
    successes: int = 0
    rate: float = 0.5
    mean_duration_ms: int = 0
    last_used_at: datetime | None = None
    unknown: "dict[str, Any] | None" = None
    header: "dict[str, Any] | None" = None
    file_state: str = "ok"
    name: str = ""
    digest: str = ""


@value
class SourceRecord(Value):
    """What is known of one source. trust: 0..1; list: "allow", "block" or ""."""

    id: str
    kind: str
    trust: float
    list: str = ""
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    note: str = ""
    unknown: "dict[str, Any] | None" = None


def source(text: str) -> Source:
    """`KIND:ID` or a bare KIND as a Source; an address (`SCHEME://...`) is one of kind url whatever its scheme, unless a
    kind stands before it (`file:https://...`), and a word that is no kind the id of an unknown source.

    Raises UsageError, and SecretFound for a credential: a source says who, and is shown wherever its record is.
    """
    from memcli.model import redact  # a miss of `fact get` reads records and masks nothing

    for found in redact.scan(text, families=("secret",)):
        what = "password" if found.kind == "password" else "credential"
        raise errors.SecretFound(
            f"source holds what looks like a credential ({found.kind})", hint=f"name it without the {what}"
        )
    if not text.strip() or len(text) > 500 or not text.isprintable():
        raise errors.UsageError("the source is blank, too long or has control characters", hint="--source KIND:ID")
    kind, colon, name = text.partition(":")
    if name.startswith("//"):
        return Source(id=text.strip(), kind="url")
    if kind in labels.KIND_TRUST:
        return Source(id=name.strip() or kind, kind=kind)
    if colon:
        raise errors.UsageError(
            "unknown kind of source", hint=f"KIND:ID with KIND one of: {', '.join(labels.KIND_TRUST)}"
        )
    return Source(id=text.strip(), kind="unknown")
