"""Reading the records of JSON lines: each line is cleaned, masked and capped before anything of it may be stored.

A record that another file vouches for keeps what it says of its source, marked `via: import`, and counts at most as
medium; its procedures are pending; its time is not in the future; a missing label is restricted. `trusted` is for the
backup of one's own store.
"""

from datetime import datetime

from memcli.base import clock, files, ids, sha256
from memcli.engine import intake
from memcli.model import keys, labels, records, redact, sidecar
from memcli.model.records import Episode, Fact, Procedure, Source, SourceRecord
from memcli.store import archive, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from memcli.model.settings import Settings

_FACT_ONLY = ("valid_from", "valid_to")
_RECORDS = (Fact, Episode, Procedure)
_KNOWN = frozenset((*(n for r in _RECORDS for n in r.__fields__), "format", "length", "body_sha256"))


class BadLine(Exception):
    """A line that is no record; the message says why, without its content."""


class Reader:
    """Makes records of the JSON objects of one import.

    masked: how many had something replaced; restricted: how many came without a known label; last: by key the id of the
    former value that was read last, which a later line without an id follows.
    """

    def __init__(self, settings: "Settings", now: datetime, *, trusted: bool) -> None:
        self.settings, self.now, self.trusted = settings, now, trusted
        self.masked = self.restricted = 0
        self.last: dict[str, str] = {}

    def fact(self, raw: "dict[str, Any]") -> Fact:
        """A fact. Raises BadLine, UsageError, BadData, Refused; so do the others."""
        key = _key(raw, "key")
        plain = {n: _text(raw, n, "") for n in ("domain", "modality", "run", "agent", "check")}
        lists = {n: _strings(raw, n) for n in ("tags", "derived_from", "renamed_from")}
        scanned = {"key": key, "value": _text(raw, "text"), **plain} | {n: "\n".join(x) for n, x in lists.items()}
        texts, label = self._scrub(raw, scanned, ("key",))
        lists = {n: tuple(texts[n].split("\n")) if lists[n] and texts[n] != scanned[n] else lists[n] for n in lists}
        plain = {n: texts[n] for n in plain}
        created, updated = self._times(raw)
        meta = self._meta(raw)
        made = self._id(raw) or ids.derived(updated, _hash("fact", key, texts["value"], clock.show(updated)))
        times = {n: t for n in _FACT_ONLY if (t := _instant(raw, n))}
        before = "" if raw.get("id") else self.last.get(key, "")  # a line with an id says itself what it follows
        follows = raw.get("supersedes") if ids.valid(raw.get("supersedes")) else before
        return Fact(
            id=str(made),
            key=key,
            text=texts["value"],
            created_at=_whole(created),
            updated_at=_whole(updated),
            sensitivity=label,
            supersedes=str(follows) if str(follows) != made else "",
            relations=self._masked(_mappings(raw, "relations"), label),
            header=self._masked(raw["header"], label) if isinstance(raw.get("header"), dict) else None,
            unknown=self._unknown(raw, label),
            confirmed_at=_instant(raw, "confirmed_at") if self.trusted else None,
            confirmations=self._opinions(raw, "confirmations") if self.trusted else (),
            denials=self._opinions(raw, "denials"),
            **meta | times | lists | plain | {"modality": plain["modality"] or "text"},
        )

    def episode(self, raw: "dict[str, Any]") -> Episode:
        """An episode; without a time it is none."""
        at = _exact(raw, "at")
        if at is None:
            raise BadLine("an episode needs at")
        if at > self.now and not self.trusted:
            at = self.now
        plain = {
            n: _text(raw, n, "")
            for n in ("task", "session", "run", "agent", "approach", "trace", "outcome", "modality")
        }
        lists = {n: _strings(raw, n) for n in ("tags", "concepts", "findings", "tools", "patterns")}
        scanned = {"text": _text(raw, "text", ""), **plain} | {n: "\n".join(x) for n, x in lists.items()}
        texts, label = self._scrub(raw, scanned, ())
        lists = {n: tuple(texts[n].split("\n")) if lists[n] and texts[n] != scanned[n] else lists[n] for n in lists}
        plain = {n: texts[n] for n in plain}
        if plain["outcome"] and plain["outcome"] not in labels.OUTCOMES:
            raise BadLine("outcome is none of the four words")
        meta = self._meta(raw, ttl=intake.episode_ttl(self.settings, at, self.now))
        made = self._id(raw) or ids.derived(
            at, _hash("episode", clock.show(at), texts["text"], plain["session"], meta["source"].id)
        )
        plain |= {"outcome": plain["outcome"] or "unknown", "modality": plain["modality"] or "text"}
        steps = raw.get("steps")
        return Episode(
            id=str(made),
            at=at,
            text=texts["text"],
            sensitivity=label,
            steps=steps if type(steps) is int and steps > 0 else 0,
            evidence=self._masked(_mappings(raw, "evidence"), label),
            unknown=self._unknown(raw, label),
            **meta | plain | lists,
        )

    def procedure(self, raw: "dict[str, Any]") -> Procedure:
        """A procedure; without steps it is none."""
        key = _key(raw, "key")
        plain = {n: _text(raw, n, "") for n in ("task_type", "trigger", "needs_review")}
        texts = {"key": key, "title": _text(raw, "title", key), "value": _text(raw, "text", ""), **plain}
        texts, label = self._scrub(raw, texts, ("key",))
        steps = procedures.steps(self._masked(raw.get("steps"), label))
        if not steps:
            raise BadLine("a procedure needs steps")
        created, updated = self._times(raw)
        made = self._id(raw) or ids.derived(updated, _hash("procedure", key, texts["value"]))
        state = raw.get("state") if raw.get("state") in labels.PROCEDURE_STATES else "pending"
        by = raw.get("validated_by")
        return Procedure(
            id=str(made),
            key=key,
            title=texts["title"],
            text=texts["value"],
            created_at=_whole(created),
            updated_at=_whole(updated),
            sensitivity=label,
            steps=steps,
            tags=self._masked(_strings(raw, "tags"), label),
            task_type=texts["task_type"],
            trigger=texts["trigger"],
            state=str(state) if self.trusted or state == "rejected" else "pending",
            validated_by=_source(by) if by and self.trusted else None,
            needs_review=texts["needs_review"],
            header=self._masked(raw["header"], label) if isinstance(raw.get("header"), dict) else None,
            unknown=self._unknown(raw, label),
            **self._meta(raw) | self._uses(raw),
        )

    def _unknown(self, raw: "dict[str, Any]", label: "labels.Sensitivity") -> "dict[str, Any] | None":
        """Fields of a later version, which only one's own backup may bring; never one that this version knows."""
        held = raw.get("unknown")
        if not self.trusted or not isinstance(held, dict):
            return None
        return self._masked({k: v for k, v in held.items() if k not in _KNOWN}, label) or None

    def _id(self, raw: "dict[str, Any]") -> str | None:
        """The id that a line brings. One of the future would win every conflict to come, so nobody else may bring it."""
        made = raw.get("id")
        if not ids.valid(made) or (not self.trusted and ids.milliseconds(str(made)) > self.now.timestamp() * 1000):
            return None
        return str(made)

    def _uses(self, raw: "dict[str, Any]") -> "dict[str, Any]":
        """How often a procedure worked: only one's own backup may say so."""
        if not self.trusted:
            return {}
        counts = {
            n: raw[n] for n in ("runs", "successes", "mean_duration_ms") if type(raw.get(n)) is int and raw[n] >= 0
        }
        rate = raw.get("rate")
        used = _instant(raw, "last_used_at")
        return (
            counts
            | ({"rate": labels.unit(rate, "rate")} if rate is not None else {})
            | ({"last_used_at": used} if used else {})
        )

    def source(self, raw: "dict[str, Any]") -> SourceRecord:
        """What a file says of a source."""
        renamed = {k: v for k, v in raw.items() if k not in ("kind", "source_kind") and v is not None}
        renamed |= self._masked({k: v for k, v in renamed.items() if k != "id"}, labels.INTERNAL)
        _key(raw, "id")
        try:
            made = sources.decode({"format": 1, "kind": raw.get("source_kind"), **_seen(renamed)})
            seen = {n: _whole(t) for n in ("first_seen_at", "last_seen_at") if (t := getattr(made, n))}
            return made.replace(**seen)
        except sidecar.Damaged:
            raise BadLine("the source is not what it must be") from None

    def _meta(self, raw: "dict[str, Any]", ttl: int | None = None) -> "dict[str, Any]":
        settings = self.settings
        source = _source(raw["source"]) if raw.get("source") else Source(id="import", kind="import")
        source = source.replace(id=_mask(source.id, ("secret",)))  # who said it stays, a credential does not
        if not self.trusted:
            source = source.replace(via="import")
        minutes = raw.get("ttl_minutes")
        if minutes is None:
            minutes = settings["defaults.ttl_minutes"] if ttl is None else ttl
        if type(minutes) is not int or not 0 <= minutes <= 10**15:
            raise BadLine("ttl_minutes is not a number of minutes")
        confidence = raw.get("confidence")
        importance = raw.get("importance")
        return {
            "source": source,
            "ttl_minutes": minutes,
            "confidence": labels.confidence(settings["defaults.confidence"] if confidence is None else confidence),
            "importance": records.DEFAULT_IMPORTANCE if importance is None else labels.unit(importance, "importance"),
        }

    def _times(self, raw: "dict[str, Any]") -> tuple[datetime, datetime]:
        at = _exact(raw, "at") or self.now
        created = _exact(raw, "created_at") or at
        updated = _exact(raw, "updated_at") or created
        if self.trusted:
            return created, updated
        return min(created, self.now), min(updated, self.now)

    def _opinions(self, raw: "dict[str, Any]", name: str) -> "tuple[records.Opinion, ...]":
        found = []
        for o in _mappings(raw, name):
            at = _instant(o, "at")
            if at is not None:
                at = at if self.trusted else min(at, self.now)
                found.append(records.Opinion(source=_text(o, "source", ""), run=_text(o, "run", ""), at=at))
        return tuple(found)

    def _scrub(
        self, raw: "dict[str, Any]", texts: dict[str, str], fixed: tuple[str, ...]
    ) -> "tuple[dict[str, str], labels.Sensitivity]":
        """Texts as they may be stored, and the label: as given, restricted when missing or unknown, never lower."""
        label = labels.stored_sensitivity(raw.get("sensitivity"))
        if label is None:
            label = labels.RESTRICTED
            self.restricted += 1
        keep = self.trusted and label >= labels.RESTRICTED
        texts = {n: intake.clean(t, n) for n, t in texts.items()}
        taken = intake.take(
            self.settings,
            texts,
            fixed=fixed,
            allow_secret=keep,
            allow_pii=self.trusted and label >= labels.SENSITIVE,
            mask_secrets=True,
        )
        self.masked += any(taken.texts[n] != t for n, t in texts.items())
        return taken.texts, max(label, taken.least)

    def _masked(self, item: "Any", label: "labels.Sensitivity") -> "Any":
        """A JSON value with what `_scrub` would replace in a text of this label replaced."""
        families = [] if self.trusted and label >= labels.RESTRICTED else ["secret"]
        families += [] if self.trusted and label >= labels.SENSITIVE else ["pii"]
        return _mask(item, tuple(families)) if item and families else item


def _mask(item: "Any", families: tuple[str, ...]) -> "Any":
    """Every text in a JSON value with its findings replaced by their kind."""
    if isinstance(item, str):
        return str.__str__(redact.mask(item, families=families))
    if isinstance(item, dict):
        return {_mask(k, families): _mask(v, families) for k, v in item.items()}
    return type(item)(_mask(v, families) for v in item) if isinstance(item, (list, tuple)) else item


_MISSING = object()


def _text(raw: "dict[str, Any]", name: str, default: "Any" = _MISSING) -> str:
    found = raw.get(name)
    if found is None:
        if default is _MISSING:
            raise BadLine(f"{name} is missing")
        return str(default)
    if not isinstance(found, str):
        raise BadLine(f"{name} is not a text")
    return found


def _key(raw: "dict[str, Any]", name: str) -> str:
    """The normal form of a key. What is wrong is said without it: it may be that of a restricted record."""
    found = _text(raw, name)
    if not keys.possible(found):
        raise BadLine(f"{name} is blank, too long, or has control characters, white space around it or `..` in it")
    return keys.normal(found)


def _strings(raw: "dict[str, Any]", name: str) -> tuple[str, ...]:
    found = raw.get(name) or []
    if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
        raise BadLine(f"{name} is not a list of texts")
    return tuple(intake.clean(x, name) for x in found)


def _mappings(raw: "dict[str, Any]", name: str) -> "tuple[dict[str, Any], ...]":
    found = raw.get(name) or []
    if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
        raise BadLine(f"{name} is not a list of objects")
    return tuple(found)


def _instant(raw: "dict[str, Any]", name: str) -> datetime | None:
    found = _exact(raw, name)
    return None if found is None else _whole(found)


def _whole(t: datetime) -> datetime:
    """The instant as files hold it: a record that says more would never be the one that was read back."""
    return t.replace(microsecond=0)


def _exact(raw: "dict[str, Any]", name: str) -> datetime | None:
    found = raw.get(name)
    if found is None:
        return None
    if not isinstance(found, str):
        raise BadLine(f"{name} is not an instant")
    return clock.parse(found)


def check_storable(encode: "Callable[[Any], tuple[bytes, bytes]]", record: "Any") -> None:
    """Raises BadLine for what no file can hold: one such line must not stop the batch that it is in."""
    try:
        size = max(map(len, encode(record)))
    except ValueError:
        raise BadLine("it holds what no file can: a list or object too deep, a number too long or no number") from None
    if size > files.MAX_FILE_BYTES:
        raise BadLine("the record would be larger than 1 MiB")


def ending(archived: object) -> tuple[str, datetime | None]:
    """Why and when a value ended."""
    if not isinstance(archived, dict) or archived.get("reason") not in archive.REASONS:
        raise BadLine("archived has no known reason")
    return str(archived["reason"]), _instant(archived, "at")


def _source(raw: object) -> Source:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str) or str(raw.get("kind")) not in labels.KIND_TRUST:
        raise BadLine("source is not {id, kind} with a known kind")
    return Source(id=raw["id"], kind=raw["kind"], via="import" if raw.get("via") else "")


def _seen(raw: "dict[str, Any]") -> "dict[str, Any]":
    """Short names of older files for first and last seen."""
    for short in ("first_seen", "last_seen"):
        if short in raw:
            raw[f"{short}_at"] = raw.pop(short)
    return raw


def _hash(*parts: str) -> bytes:
    return sha256.binary("\0".join(parts).encode())
