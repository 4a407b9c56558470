"""Bringing JSON lines into a store: in bulk, crash-safe, idempotent, and nothing gains trust by saying so.

A record that another file vouches for keeps what it says of its source, marked `via: import`, and counts at most as
medium; its procedures are pending; its time is not in the future; a missing label is restricted. `trusted` is for the
backup of one's own store. One bad line never stops the rest.
"""

from datetime import datetime

from memcli.base import clock, errors, ids, sha256
from memcli.base.value import Value, value
from memcli.engine import intake
from memcli.model import keys, labels, records, sidecar
from memcli.model.records import Episode, Fact, Procedure, Source, SourceRecord
from memcli.store import archive, episodes, facts, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memcli.store.folder import Store

BATCH = 2000
MAX_LINE_BYTES = 4 << 20
_EPISODE_BATCH = 20_000
_FACT_ONLY = ("valid_from", "valid_to", "confirmed_at")


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
        self._held = 0

    def load(self, lines: "Iterable[bytes]") -> Report:
        """Read all lines. Raises Locked and SystemFailure; what was written before stands, and a second run completes it."""
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                self._take(number, _parse(line))
            except BadLine as e:
                self.bad.append((number, str(e)))
            except errors.UsageError as e:
                self.bad.append((number, e.message))
        self._flush_facts()
        self._flush_episodes()
        return Report(
            **self.counts,
            conflicts=tuple(self.conflicts),
            bad=tuple(self.bad),
            masked=self.masked,
            restricted=self.restricted,
        )

    def _take(self, number: int, raw: "dict[str, Any]") -> None:
        kind = raw.get("kind")
        if kind == "fact":
            self._take_fact(number, raw)
        elif kind == "episode":
            self._take_episode(raw)
        elif kind == "procedure":
            self._put_procedure(self._procedure(raw))
        elif kind == "source":
            self._put_source(self._source_record(raw))
        else:
            raise BadLine("kind is none of fact, episode, procedure, source")

    def _take_fact(self, number: int, raw: "dict[str, Any]") -> None:
        fact = self._fact(raw)
        archived = raw.get("archived")
        if archived is not None:
            self._take_former(fact, archived)
            return
        if fact.key in self._facts:
            self._flush_facts()
        self._facts[fact.key] = (number, fact)
        if len(self._facts) >= BATCH:
            self._flush_facts()

    def _take_former(self, fact: Fact, archived: object) -> None:
        if not isinstance(archived, dict) or archived.get("reason") not in archive.REASONS:
            raise BadLine("archived has no known reason")
        self._former.setdefault(fact.key, []).append((fact, archived["reason"], _instant(archived, "at") or self.now))
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
            for key, rows in former.items():
                self._archive(key, rows, names)
            if made:
                facts.put_many(w, made, self.now)

    def _plan_facts(self, batch: "dict[str, tuple[int, Fact]]") -> "list[tuple[Fact, Fact | None]]":
        made: list[tuple[Fact, Fact | None]] = []
        with facts.Shelf(self.store) as shelf:
            for key, (number, fact) in batch.items():
                old = shelf.get(key)
                how, ready = self._against(fact, old)
                if how == "conflict":
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
        if old.state in ("damaged", "conflict"):
            return "conflict", None
        kept = fact.replace(
            name=old.name, digest=old.digest, state=old.state, sensitivity=max(fact.sensitivity, old.sensitivity)
        )
        if kept.text == old.text:
            stricter = old.replace(sensitivity=kept.sensitivity)
            changed = kept.replace(id=old.id) if self.trusted else stricter
            return ("unchanged", None) if changed == old else ("updated", changed)
        wins = self.supersede or (self.trusted and fact.supersedes == old.id)
        if not wins or fact.id == old.id:
            return "conflict", None
        made = fact.id if fact.id > old.id else ids.new(self.now, after=old.id)
        return "superseded", kept.replace(id=made, supersedes=old.id, created_at=min(fact.created_at, old.created_at))

    def _archive(self, key: str, rows: "list[tuple[Fact, str, datetime]]", names: dict[str, str]) -> None:
        live = facts.get(self.store, key)
        name = names.get(key) or (live.name if live else facts.new_name(rows[-1][0]))
        present = {f.fact.id for f in facts.former(self.store, name)}
        fresh = [r for r in rows if r[0].id not in present]
        self.counts["archived"] += len(fresh)
        self.counts["unchanged"] += len(rows) - len(fresh)
        if fresh:
            lines = b"".join(facts.archived_line(f.replace(name=name), reason, at) for f, reason, at in fresh)
            archive.append(self.store, facts.LAYER, name, lines)

    def _take_episode(self, raw: "dict[str, Any]") -> None:
        episode = self._episode(raw)
        if raw.get("archived") is not None:
            return  # an ended episode stays ended; the archive of logs is not rebuilt
        month = self._episodes.setdefault(episodes.month_of(episode.at), {})
        if episode.id in month:
            self.counts["unchanged"] += 1
            return
        month[episode.id] = episode
        self._held += 1
        if self._held >= _EPISODE_BATCH:
            self._flush_episodes()

    def _flush_episodes(self) -> None:
        held, self._episodes, self._held = self._episodes, {}, 0
        for month, by_id in sorted(held.items()):
            if self.dry_run:
                self._new_episodes(month, by_id)
                continue
            with self.store.writing(patient=True) as w:
                new = self._new_episodes(month, by_id)
                if new:
                    episodes.append_many(w, month, new, self.now)

    def _new_episodes(self, month: str, by_id: dict[str, Episode]) -> list[Episode]:
        present = {e.id for e in episodes.read(self.store, month).entries}
        new = [e.replace(month=month) for e in by_id.values() if e.id not in present]
        self.counts["created"] += len(new)
        self.counts["unchanged"] += len(by_id) - len(new)
        return sorted(new, key=lambda e: (e.at, e.id))

    def _put_procedure(self, made: Procedure) -> None:
        old = procedures.get(self.store, made.key)
        same = old is not None and procedures.encode(old) == procedures.encode(made.replace(name=old.name))
        if old is not None and not same and not (self.trusted or self.supersede):
            self.conflicts.append(0)
            return
        self.counts["unchanged" if same else "created" if old is None else "updated"] += 1
        if not same and not self.dry_run:
            with self.store.writing(patient=True) as w:
                procedures.put(w, made.replace(name=old.name) if old else made)

    def _put_source(self, record: SourceRecord) -> None:
        old = next((s for s in sources.every(self.store) if s.id == record.id), None)
        if not self.trusted:
            trust = min(
                record.trust, old.trust if old else labels.KIND_TRUST[record.kind], labels.KIND_TRUST[record.kind]
            )
            listed = record.list if record.list == "block" else old.list if old else ""
            record = record.replace(trust=trust, list=listed)
        self.counts["unchanged" if old == record else "created" if old is None else "updated"] += 1
        if old != record and not self.dry_run:
            with self.store.writing(patient=True) as w:
                sources.put(w, record)

    def _fact(self, raw: "dict[str, Any]") -> Fact:
        key = keys.normal(_text(raw, "key"))
        texts, label = self._scrub(raw, {"key": key, "value": _text(raw, "text")}, ("key",))
        created, updated = self._times(raw)
        meta = self._meta(raw)
        made = raw.get("id") if ids.valid(raw.get("id")) else None
        made = made or ids.derived(updated, _hash("fact", key, texts["value"], clock.show(updated)))
        times = {n: t for n in _FACT_ONLY if (t := _instant(raw, n))}
        lists = {n: _strings(raw, n) for n in ("tags", "derived_from", "renamed_from")}
        plain = {n: _text(raw, n, "") for n in ("domain", "modality", "run", "agent", "check")}
        follows = raw.get("supersedes") if ids.valid(raw.get("supersedes")) else self._last.get(key, "")
        return Fact(
            id=str(made),
            key=key,
            text=texts["value"],
            created_at=created,
            updated_at=updated,
            sensitivity=label,
            supersedes=str(follows) if str(follows) != made else "",
            relations=_mappings(raw, "relations"),
            header=raw["header"] if isinstance(raw.get("header"), dict) else None,
            confirmations=self._opinions(raw, "confirmations"),
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
        made = raw.get("id") if ids.valid(raw.get("id")) else None
        made = made or ids.derived(
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
            evidence=_mappings(raw, "evidence"),
            **meta | plain | lists,
        )

    def _procedure(self, raw: "dict[str, Any]") -> Procedure:
        key = keys.normal(_text(raw, "key"))
        texts = {"key": key, "title": _text(raw, "title", key), "value": _text(raw, "text", "")}
        texts, label = self._scrub(raw, texts, ("key",))
        steps = procedures.steps(raw.get("steps"))
        if not steps:
            raise BadLine("a procedure needs steps")
        created, updated = self._times(raw)
        made = (
            raw.get("id") if ids.valid(raw.get("id")) else ids.derived(updated, _hash("procedure", key, texts["value"]))
        )
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
            **self._meta(raw) | self._uses(raw),
        )

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
        try:
            return sources.decode({"format": 1, "kind": raw.get("source_kind"), **_seen(renamed)})
        except sidecar.Damaged:
            raise BadLine("the source is not what it must be") from None

    def _meta(self, raw: "dict[str, Any]", ttl: int | None = None) -> "dict[str, Any]":
        settings = self.store.settings
        source = _source(raw["source"]) if raw.get("source") else Source(id="import", kind="import")
        if not self.trusted and source.kind != "import":
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


def _source(raw: object) -> Source:
    if not isinstance(raw, dict) or raw.get("kind") not in labels.KIND_TRUST or not isinstance(raw.get("id"), str):
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
