"""Bringing JSON lines into a store: in bulk, crash-safe, idempotent, and nothing gains trust by saying so.

A record that another file vouches for keeps what it says of its source, marked `via: import`, and counts at most as
medium; its procedures are pending; its time is not in the future; a missing label is restricted. `trusted` is for the
backup of one's own store. One bad line never stops the rest.
"""

from datetime import datetime

from memcli.base import clock, errors, files, ids, sha256
from memcli.base.value import Value, value
from memcli.engine import intake, remember
from memcli.model import keys, labels, records, redact, sidecar
from memcli.model.records import Episode, Fact, Procedure, Source, SourceRecord
from memcli.store import archive, episodes, facts, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO

    from memcli.store.folder import Store

BATCH = 2000
_LONG_BYTES = 100_000
_MOST_SKIPPED_BYTES = 256 << 20
MAX_LINE_BYTES = 4 << 20
_EPISODE_BATCH = 20_000
_BATCH_BYTES = 32 << 20
_FACT_ONLY = ("valid_from", "valid_to")
_RECORDS = (Fact, Episode, Procedure)
_KNOWN = frozenset((*(n for r in _RECORDS for n in r.__fields__), "format", "length", "body_sha256"))


class BadLine(Exception):
    """A line that is no record; the message says why, without its content."""


@value
class Report(Value):
    """What an import did (or with dry_run would do): counts by outcome, bad lines as (number, why), things to say."""

    created: int
    superseded: int
    updated: int
    unchanged: int
    archived: int
    conflicts: tuple[int, ...]
    bad: tuple[tuple[int, str], ...]
    masked: int
    restricted: int


class Loader:
    """One import. trusted: the store's own backup; supersede: different values of existing keys win."""

    def __init__(
        self, store: "Store", *, now: datetime, trusted: bool = False, supersede: bool = False, dry_run: bool = False
    ) -> None:
        self.store, self.now, self.trusted, self.supersede, self.dry_run = store, now, trusted, supersede, dry_run
        self.counts = dict.fromkeys(("created", "superseded", "updated", "unchanged", "archived"), 0)
        self.conflicts: list[int] = []
        self.bad: list[tuple[int, str]] = []
        self.masked = self.restricted = 0
        self._facts: dict[str, tuple[int, Fact]] = {}
        self._former: dict[str, list[tuple[Fact, str, datetime]]] = {}
        self._last: dict[str, str] = {}
        self._episodes: dict[str, dict[str, Episode]] = {}
        self._ended: dict[str, list[tuple[Episode, str, datetime]]] = {}
        self._held = 0

    def load(self, lines: "Iterable[bytes]") -> Report:
        """Read all lines. Raises Locked and SystemFailure; what was written before stands, and a second run completes it."""
        held = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                self._take(number, _parse(line), is_long=len(line) > _LONG_BYTES)
            except BadLine as e:
                self.bad.append((number, str(e)))
            except (errors.UsageError, errors.BadData, errors.Refused) as e:
                self.bad.append((number, e.message))
            held += len(line)
            # Not inside: what a flush raises is not the fault of this line.
            if len(self._facts) >= BATCH or self._held >= _EPISODE_BATCH or held > _BATCH_BYTES:
                self._flush_facts()
                self._flush_episodes()
                held = 0
        self._flush_facts()
        self._flush_episodes()
        self._flush_ended()
        return Report(
            **self.counts,
            conflicts=tuple(self.conflicts),
            bad=tuple(self.bad),
            masked=self.masked,
            restricted=self.restricted,
        )

    def _take(self, number: int, raw: "dict[str, Any]", *, is_long: bool) -> None:
        kind = raw.get("kind")
        if kind == "fact":
            self._take_fact(number, raw, is_long=is_long)
        elif kind == "episode":
            self._take_episode(raw, is_long=is_long)
        elif kind == "procedure":
            self._put_procedure(number, self._procedure(raw))
        elif kind == "source":
            self._put_source(self._source_record(raw))
        else:
            raise BadLine("kind is none of fact, episode, procedure, source")

    def _take_fact(self, number: int, raw: "dict[str, Any]", *, is_long: bool) -> None:
        fact = self._fact(raw)
        if is_long or fact.header or fact.relations:
            _check_storable(facts.encode, fact)
        archived = raw.get("archived")
        if archived is not None:
            self._take_former(fact, archived)
            return
        if fact.key in self._facts:
            self._flush_facts()
        self._facts[fact.key] = (number, fact)

    def _take_former(self, fact: Fact, archived: object) -> None:
        reason, at = _ending(archived)
        self._former.setdefault(fact.key, []).append((fact, reason, at or self.now))
        self._last[fact.key] = fact.id

    def _flush_facts(self) -> None:
        batch, former = self._facts, self._former
        self._facts, self._former = {}, {}
        if not batch and not former:
            return
        if self.dry_run:
            self._plan_facts(batch)
            return
        with self.store.writing(patient=True) as w:
            made = self._plan_facts(batch)
            names = {f.key: f.name or facts.new_name(f) for f, _ in made}
            archive.append_many(w, facts.LAYER, self._former_lines(former, names))
            if made:
                facts.put_many(w, made, self.now)

    def _plan_facts(self, batch: "dict[str, tuple[int, Fact]]") -> "list[tuple[Fact, Fact | None]]":
        made: list[tuple[Fact, Fact | None]] = []
        with facts.Shelf(self.store) as shelf:
            for key, (number, fact) in batch.items():
                old = shelf.get(key)
                if old is not None and old.state in ("bare", "drift"):
                    old = remember.as_archived(old, self.now)
                how, ready = self._against(fact, old)
                if how == "conflict" or (old is None and shelf.taken(facts.new_name(fact))):
                    self.conflicts.append(number)
                    continue
                self.counts[how] += 1
                if ready is not None:
                    made.append((ready, old))
        return made

    def _against(self, fact: Fact, old: Fact | None) -> tuple[str, Fact | None]:
        """What becomes of a fact whose key may have a value already."""
        if old is None:
            return "created", fact
        if old.state in ("damaged", "conflict", "half"):
            return "conflict", None
        kept = fact.replace(
            name=old.name, digest=old.digest, state=old.state, sensitivity=max(fact.sensitivity, old.sensitivity)
        )
        if kept.text == old.text:
            stricter = old.replace(sensitivity=kept.sensitivity)
            changed = kept.replace(id=old.id) if self.trusted and old.state == "ok" else stricter
            return ("unchanged", None) if changed == old else ("updated", changed)
        wins = self.supersede or (self.trusted and fact.supersedes == old.id)
        if not wins or fact.id == old.id:
            return "conflict", None
        made = fact.id if fact.id > old.id else ids.new(self.now, after=old.id)
        return "superseded", kept.replace(id=made, supersedes=old.id, created_at=min(fact.created_at, old.created_at))

    def _former_lines(
        self, former: "dict[str, list[tuple[Fact, str, datetime]]]", names: dict[str, str]
    ) -> list[tuple[str, bytes]]:
        """Former values by file name, as the archive holds them; without those that it has already."""
        found = []
        with facts.Shelf(self.store) as shelf:
            for key, rows in former.items():
                live = None if key in names else shelf.get(key)
                name = names.get(key) or (live.name if live else facts.new_name(rows[-1][0]))
                present = {f.fact.id for f in facts.former(self.store, name)}
                fresh = [r for r in rows if r[0].id not in present]
                self.counts["archived"] += len(fresh)
                self.counts["unchanged"] += len(rows) - len(fresh)
                lines = (facts.archived_line(f.replace(name=name), reason, at) for f, reason, at in fresh)
                found.append((name, b"".join(lines)))
        return [(name, lines) for name, lines in found if lines]

    def _take_episode(self, raw: "dict[str, Any]", *, is_long: bool) -> None:
        episode = self._episode(raw)
        if is_long:
            _check_storable(lambda e: (episodes.encode(e), b""), episode)
        archived = raw.get("archived")
        if archived is not None:
            reason, at = _ending(archived)
            self._ended.setdefault(episodes.month_of(episode.at), []).append((episode, reason, at or self.now))
            return
        month = self._episodes.setdefault(episodes.month_of(episode.at), {})
        if episode.id in month:
            self.counts["unchanged"] += 1
            first = month[episode.id]
            month[episode.id] = first.replace(sensitivity=max(first.sensitivity, episode.sensitivity))
            return
        month[episode.id] = episode
        self._held += 1

    def _flush_episodes(self) -> None:
        held, self._episodes, self._held = self._episodes, {}, 0
        for month, by_id in sorted(held.items()):
            if self.dry_run:
                self._new_episodes(month, by_id)
                continue
            with self.store.writing(patient=True) as w:
                new, stricter = self._new_episodes(month, by_id)
                if new:
                    episodes.append_many(w, month, new, self.now)
                for episode in stricter:
                    episodes.raise_label(w, episode, episode.sensitivity)

    def _flush_ended(self) -> None:
        """Episodes that had ended stay ended: they go to the archive, each once."""
        present = {e.id for e, _, _ in episodes.former(self.store, "archive")} if self._ended else set()
        for month, rows in sorted(self._ended.items()):
            fresh = [(e.replace(month=month), reason, at) for e, reason, at in rows if e.id not in present]
            self.counts["archived"] += len(fresh)
            self.counts["unchanged"] += len(rows) - len(fresh)
            if fresh and not self.dry_run:
                with self.store.writing(patient=True) as w:
                    lines = b"".join(episodes.archived_line(e, reason, at) for e, reason, at in fresh)
                    archive.append(w, episodes.LAYER, month, lines)

    def _new_episodes(self, month: str, by_id: dict[str, Episode]) -> tuple[list[Episode], list[Episode]]:
        """Those that are not there yet, and those that are there under a weaker label."""
        present = episodes.read(self.store, month).entries
        known = {e.id for e in present}
        new = [e.replace(month=month) for e in by_id.values() if e.id not in known]
        stricter = [
            old.replace(sensitivity=by_id[old.id].sensitivity)
            for old in present
            if old.id in by_id and by_id[old.id].sensitivity > old.sensitivity
        ]
        self.counts["created"] += len(new)
        self.counts["updated"] += len(stricter)
        self.counts["unchanged"] += len(by_id) - len(new) - len(stricter)
        return sorted(new, key=lambda e: (e.at, e.id)), stricter

    def _put_procedure(self, number: int, made: Procedure) -> None:
        old = procedures.get(self.store, made.key)
        made = made.replace(sensitivity=max(made.sensitivity, old.sensitivity)) if old else made
        _check_storable(procedures.encode, made)
        same = old is not None and procedures.encode(old) == procedures.encode(made.replace(name=old.name))
        if old is not None and not same and not (self.trusted or self.supersede):
            self.conflicts.append(number)
            return
        if not same and not self.dry_run:
            with self.store.writing(patient=True) as w:
                procedures.put(w, made.replace(name=old.name) if old else made, old)
        self.counts["unchanged" if same else "created" if old is None else "updated"] += 1

    def _put_source(self, record: SourceRecord) -> None:
        old = next((s for s in sources.every(self.store) if s.id == record.id), None)
        if not self.trusted:
            # Nobody else's file may say whom to trust, nor silence a source by blocking it.
            record = old or record.replace(trust=labels.KIND_TRUST[record.kind], list="")
        if old != record and not self.dry_run:
            with self.store.writing(patient=True) as w:
                sources.put(w, record)
        self.counts["unchanged" if old == record else "created" if old is None else "updated"] += 1

    def _fact(self, raw: "dict[str, Any]") -> Fact:
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
        before = "" if raw.get("id") else self._last.get(key, "")  # a line with an id says itself what it follows
        follows = raw.get("supersedes") if ids.valid(raw.get("supersedes")) else before
        return Fact(
            id=str(made),
            key=key,
            text=texts["value"],
            created_at=created,
            updated_at=updated,
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

    def _episode(self, raw: "dict[str, Any]") -> Episode:
        at = _instant(raw, "at")
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
        meta = self._meta(raw, ttl=self.store.settings["defaults.episode_ttl_minutes"])
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

    def _procedure(self, raw: "dict[str, Any]") -> Procedure:
        key = _key(raw, "key")
        texts = {"key": key, "title": _text(raw, "title", key), "value": _text(raw, "text", "")}
        texts, label = self._scrub(raw, texts, ("key",))
        steps = procedures.steps(raw.get("steps"))
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
            created_at=created,
            updated_at=updated,
            sensitivity=label,
            steps=steps,
            tags=_strings(raw, "tags"),
            task_type=_text(raw, "task_type", ""),
            trigger=_text(raw, "trigger", ""),
            state=str(state) if self.trusted or state == "rejected" else "pending",
            validated_by=_source(by) if by and self.trusted else None,
            needs_review=_text(raw, "needs_review", ""),
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

    def _source_record(self, raw: "dict[str, Any]") -> SourceRecord:
        renamed = {k: v for k, v in raw.items() if k not in ("kind", "source_kind") and v is not None}
        renamed |= self._masked({k: v for k, v in renamed.items() if k != "id"}, labels.INTERNAL)
        _key(raw, "id")
        try:
            return sources.decode({"format": 1, "kind": raw.get("source_kind"), **_seen(renamed)})
        except sidecar.Damaged:
            raise BadLine("the source is not what it must be") from None

    def _meta(self, raw: "dict[str, Any]", ttl: int | None = None) -> "dict[str, Any]":
        settings = self.store.settings
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
        at = _instant(raw, "at") or self.now
        created = _instant(raw, "created_at") or at
        updated = _instant(raw, "updated_at") or created
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
            self.store.settings,
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


def lines(stream: "BinaryIO") -> "Iterator[bytes]":
    """The lines of a stream, however long one is: what is beyond the limit is skipped, not held. Raises UsageError."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        skipped = 0
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES)
            skipped += len(line)
            if skipped > _MOST_SKIPPED_BYTES:
                raise errors.UsageError("this is no JSON-lines file: it has a line without end")


def _check_storable(encode: "Callable[[Any], tuple[bytes, bytes]]", record: "Any") -> None:
    """Raises BadLine for what no file can hold: one such line must not stop the batch that it is in."""
    try:
        size = max(map(len, encode(record)))
    except ValueError:
        raise BadLine("it holds what no file can: a list or object too deep, a number too long or no number") from None
    if size > files.MAX_FILE_BYTES:
        raise BadLine("the record would be larger than 1 MiB")


def _parse(line: bytes) -> "dict[str, Any]":
    if len(line) > MAX_LINE_BYTES:
        raise BadLine("the line is longer than 4 MiB")
    try:
        return sidecar.parse(line)
    except sidecar.Damaged as e:
        raise BadLine(e.message) from None


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
    found = raw.get(name)
    if found is None:
        return None
    if not isinstance(found, str):
        raise BadLine(f"{name} is not an instant")
    return clock.parse(found)


def _ending(archived: object) -> tuple[str, datetime | None]:
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
