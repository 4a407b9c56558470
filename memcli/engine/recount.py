"""Recording episodes: what happened goes to the log of its month. Apart from facts, of which it needs nothing."""

from datetime import datetime, timedelta

from memcli.base import errors
from memcli.engine import intake
from memcli.model import labels, records, redact
from memcli.model.records import Episode
from memcli.store import episodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store, Writing

    class EpisodeFields(TypedDict, total=False):
        """What `add_episode` takes beside the text."""

        at: datetime | None
        source: str | None
        confidence: str | float | None
        importance: str | float | None
        ttl_minutes: int | None
        sensitivity: str | Sensitivity | None
        allow_secret: bool
        allow_pii: bool
        include_forgotten: bool
        task: str
        outcome: str
        session: str
        run: str
        agent: str
        tags: tuple[str, ...]
        concepts: tuple[str, ...]
        findings: tuple[str, ...]
        approach: str
        tools: tuple[str, ...]
        steps: int
        patterns: tuple[str, ...]
        modality: str
        evidence: tuple[dict[str, Any], ...]
        trace: str


# As far as the clocks of two machines may differ.
_AHEAD = timedelta(days=1)
_LISTS = ("tags", "concepts", "findings", "tools", "patterns")
_FIELDS = frozenset(Episode.__fields__) - {"id", "at", "text", "state", "month", "unknown"}


def add_episode(
    store: "Store",
    text: str,
    *,
    now: datetime,
    at: datetime | None = None,
    sensitivity: "str | Sensitivity | None" = None,
    source: str | None = None,
    confidence: "str | float | None" = None,
    importance: "str | float | None" = None,
    ttl_minutes: int | None = None,
    allow_secret: bool = False,
    allow_pii: bool = False,
    include_forgotten: bool = False,
    default_kind: str = "unknown",
    **fields: "Any",
) -> tuple[Episode, tuple[str, ...]]:
    """Append one episode; returns it as stored and what to tell the writer.

    fields: task, outcome, session, run, agent, tags, concepts, findings, approach, tools, steps, patterns, modality,
    evidence, trace, as in records.Episode. include_forgotten: also a text that was purged; its tombstone goes.
    at: when it happened, at most a day ahead of now. Raises UsageError, SecretFound, Purged, Locked, SystemFailure.
    """
    if at is not None and at - now > _AHEAD:
        raise errors.UsageError("an episode cannot lie more than a day ahead", hint="--at takes when it happened")
    settings = store.settings
    given = {k: _typed(k, v) for k, v in fields.items() if v is not None}
    given = {k: v for k, v in given.items() if v not in ("", ())}
    if not text.strip() and not given.get("task"):
        raise errors.UsageError("an episode needs a text or a task")
    labels.modality(str(given.get("modality", "")))
    labels.choice(str(given.get("outcome", "unknown")), "outcome", labels.OUTCOMES)
    if unknown := set(given) - _FIELDS:
        raise errors.UsageError(f"an episode has no field {min(unknown)}")
    speaker = records.source(source) if source else intake.default_source(default_kind)
    texts = _episode_texts(text, given) | {"source": speaker.id}
    fixed = ("source", "evidence")  # what names a thing cannot be replaced by its kind
    taken = intake.take(settings, texts, fixed=fixed, allow_secret=allow_secret, allow_pii=allow_pii)
    label = labels.sensitivity(settings["defaults.sensitivity"] if sensitivity is None else sensitivity)
    default_ttl = intake.episode_ttl(settings, at or now, now)
    episode = Episode(
        id="",
        at=at or now,
        text=taken.texts.pop("text"),
        sensitivity=max(label, taken.least),
        source=speaker,
        confidence=labels.confidence(settings["defaults.confidence"] if confidence is None else confidence),
        importance=records.DEFAULT_IMPORTANCE if importance is None else labels.unit(importance, "importance"),
        ttl_minutes=default_ttl if ttl_minutes is None else intake.ttl(ttl_minutes),
        **_rebuild(given, taken.texts),
    )
    with store.writing() as w:
        _check_forgotten(w, episode.text or episode.task, again=include_forgotten)
        return episodes.append(w, episode), taken.notes


def _check_forgotten(w: "Writing", said: str, *, again: bool) -> None:
    if again:
        from memcli.engine import gate

        gate.check_again(w.store)
    if w.store.check_forgotten(episodes.LAYER, "", said, again=again):
        from memcli.store import tombstones

        tombstones.lift(w, episodes.LAYER, "", said)


def _typed(name: str, item: object) -> object:
    """A field as an episode has it, so that the scan sees all of it. Raises UsageError naming it."""
    if name in _LISTS:
        return intake.several(item, name)
    if name == "evidence":
        return intake.mappings(item, name)
    return intake.whole(item, name, intake.MOST_STEPS) if name == "steps" else intake.words(item, name)


def _episode_texts(text: str, given: "dict[str, Any]") -> dict[str, str]:
    texts = {"text": intake.clean(text)}
    for name, item in given.items():
        if name == "evidence":
            texts[name] = intake.clean(redact.told(item), name)
        elif isinstance(item, str):
            texts[name] = intake.clean(item, name)
        elif isinstance(item, tuple):
            texts |= {f"{name}.{i}": intake.clean(x, name) for i, x in enumerate(item) if isinstance(x, str)}
    return texts


def _rebuild(given: "dict[str, Any]", texts: dict[str, str]) -> "dict[str, Any]":
    """The fields with their texts as they may be stored."""
    out: dict[str, Any] = {}
    for name, item in given.items():
        if isinstance(item, tuple):
            out[name] = tuple(texts.get(f"{name}.{i}", x) for i, x in enumerate(item))
        else:
            out[name] = texts.get(name, item)
    return out
