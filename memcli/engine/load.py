"""Bringing JSON lines into a store: in bulk, crash-safe, idempotent, and nothing gains trust by saying so.

What a line may say is decided in `engine/incoming.py`, what becomes of it here, and of what is only proposed in
`engine/hearsay.py`. One bad line never stops the rest.
"""

from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.engine import gate, hearsay, incoming, lineage, procedural, promotion, remember, sourcing
from memcli.model import policy, sidecar
from memcli.model.records import Episode, Fact, Procedure, SourceRecord
from memcli.store import archive, episodes, facts, monthly, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO, TypedDict

    from memcli.store.folder import Store

    class ImportOptions(TypedDict, total=False):
        """What a Loader takes beside the store and the time."""

        trusted: bool
        supersede: bool
        dry_run: bool
        include_forgotten: bool


BATCH = 2000
_LONG_BYTES = 100_000
_MOST_SKIPPED_BYTES = 256 << 20
MAX_LINE_BYTES = 4 << 20
_EPISODE_BATCH = 20_000
_BATCH_BYTES = 32 << 20


@value
class Report(Value):
    """What an import did (or with dry_run would do): counts by outcome, bad lines as (number, why).

    conflicts: lines that were left alone; gated: the file could only propose facts; proposed: those that wait in
    `proposed/` now; left_out: its former values, and values whose time had run out; rejected: ids of what was before;
    loose: references by id to a fact of the file that lead nowhere here.
    """

    created: int
    superseded: int
    updated: int
    unchanged: int
    archived: int
    conflicts: tuple[int, ...]
    bad: tuple[tuple[int, str], ...]
    masked: int
    restricted: int
    purged: int = 0
    gated: bool = False
    proposed: int = 0
    left_out: int = 0
    rejected: tuple[str, ...] = ()
    loose: int = 0


class Loader:
    """One import. trusted: the store's own backup; supersede: different values of existing keys win.

    Without `trusted` facts are only proposed, unless the setting promotion.import says otherwise; then nothing is
    superseded, and to ask for it raises UsageError.
    include_forgotten: also values that were purged, which else are passed over and counted; their tombstones go.
    """

    def __init__(
        self,
        store: "Store",
        *,
        now: datetime,
        trusted: bool = False,
        supersede: bool = False,
        dry_run: bool = False,
        include_forgotten: bool = False,
    ) -> None:
        if include_forgotten:
            gate.check_again(store)
        self.store, self.now, self.trusted, self.supersede, self.dry_run = store, now, trusted, supersede, dry_run
        self.gated = not trusted and promotion.gated(store, "import")
        if supersede and self.gated:
            raise errors.UsageError(
                "without trust an import only proposes facts, so there is nothing to supersede",
                hint='--trusted if the file is your own, or import = "immediate" below [promotion] in memcli.toml',
            )
        self.counts = dict.fromkeys(("created", "superseded", "updated", "unchanged", "archived"), 0)
        self.conflicts: list[int] = []
        self.bad: list[tuple[int, str]] = []
        self._tombstones = store.tombstones()
        self._include_forgotten = include_forgotten
        self.purged = self.left_out = 0
        self._reader = incoming.Reader(store.settings, now, trusted=trusted)
        self._web = lineage.Web(store)
        self._tray = hearsay.Tray(store, now, trusted=trusted, gated=self.gated, sound=self._sound)
        self._facts: dict[str, tuple[int, Fact]] = {}
        self._former: dict[str, list[tuple[Fact, str, datetime]]] = {}
        self._episodes: dict[str, dict[str, Episode]] = {}
        self._ended: dict[str, list[tuple[Episode, str, datetime]]] = {}
        self._held = 0
        self._known: dict[str, SourceRecord] | None = None

    def load(self, lines: "Iterable[bytes]") -> Report:
        """Read all lines. Raises Locked and SystemFailure; what was written before stands, and a second run completes it."""
        held = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                self._take(number, _parse(line), is_long=len(line) > _LONG_BYTES)
            except incoming.BadLine as e:
                self.bad.append((number, str(e)))
            except (errors.UsageError, errors.BadData, errors.Refused) as e:
                self.bad.append((number, e.message))
            held += len(line)
            # Not inside: what a flush raises is not the fault of this line.
            waiting = max(len(self._facts), len(self._tray.rows))
            if waiting >= BATCH or self._held >= _EPISODE_BATCH or held > _BATCH_BYTES:
                self._flush()
                held = 0
        self._flush(last=True)
        self._flush_ended()
        return self._report()

    def _flush(self, *, last: bool = False) -> None:
        self._flush_facts()
        self._tray.flush(dry_run=self.dry_run, last=last)
        self._flush_episodes()

    def _report(self) -> Report:
        tray = self._tray
        counts = self.counts | {n: self.counts.get(n, 0) + more for n, more in tray.counts.items()}
        return Report(
            **counts,
            conflicts=tuple(sorted((*self.conflicts, *tray.in_the_way))),
            bad=tuple(sorted((*self.bad, *tray.bad))),
            masked=self._reader.masked,
            restricted=self._reader.restricted,
            purged=self.purged,
            gated=self.gated,
            left_out=self.left_out,
            rejected=tuple(tray.rejected),
            loose=tray.names.loose,
        )

    def _forgotten(self, layer: str, key: str, text: str, said: object = None) -> bool:
        """True for what was purged and must not come back with this import. said: the id that others may name it by."""
        if self._tombstones is None or not self._tombstones.hold(layer, key, text):
            return False
        if not self._include_forgotten:
            self.purged += 1
            self._tray.names.lose(said)
            return True
        if not self.dry_run:
            from memcli.store import tombstones

            with self.store.writing(patient=True) as w:
                tombstones.lift(w, layer, key, text)
        return False

    def _take(self, number: int, raw: "dict[str, Any]", *, is_long: bool) -> None:
        kind = raw.get("kind")
        if kind == "fact":
            self._take_fact(number, raw, is_long=is_long)
        elif kind == "episode":
            self._take_episode(raw, is_long=is_long)
        elif kind == "proposal":
            self._propose(number, self._reader.fact(raw).replace(supersedes=""), raw.get("id"))
        elif kind == "procedure":
            self._put_procedure(number, self._reader.procedure(raw))
        elif kind == "source":
            self._put_source(self._reader.source(raw))
        else:
            raise incoming.BadLine("kind is none of fact, proposal, episode, procedure, source")

    def _take_fact(self, number: int, raw: "dict[str, Any]", *, is_long: bool) -> None:
        fact = self._reader.fact(raw)
        if is_long or fact.header or fact.relations:
            incoming.check_storable(facts.encode, fact)
        if self._forgotten(facts.LAYER, fact.key, fact.text, raw.get("id")):
            return
        if (archived := raw.get("archived")) is not None:
            self._tray.names.lose(raw.get("id"))
            self._take_former(fact, archived)
            return
        if self.gated:
            self._wait(number, fact, raw.get("id"))
            return
        if fact.key in self._facts:
            self._flush_facts()
        self._facts[fact.key] = (number, fact)

    def _take_former(self, fact: Fact, archived: object) -> None:
        reason, at = incoming.ending(archived)
        if self.gated:
            self.left_out += 1
            return
        self._former.setdefault(fact.key, []).append((fact, reason, at or self.now))
        self._reader.last[fact.key] = fact.id

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
                if fact.derived_from and not self._sound(number, fact):
                    continue
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

    def _sound(self, number: int, fact: Fact) -> bool:
        """Whether what the fact is derived from does not lead back to it; if it does, the line is a bad one."""
        try:
            self._web.check(fact)
        except errors.UsageError as e:
            self.bad.append((number, e.message))
            return False
        self._web.learn(fact)
        return True

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
        episode = self._reader.episode(raw)
        if is_long:
            incoming.check_storable(lambda e: (monthly.encode(e), b""), episode)
        if self._forgotten(episodes.LAYER, "", episode.text or episode.task):
            return
        archived = raw.get("archived")
        if archived is not None:
            reason, at = incoming.ending(archived)
            self._ended.setdefault(episodes.month_of(episode.at), []).append((episode, reason, at or self.now))
            return
        month = self._episodes.setdefault(episodes.month_of(episode.at), {})
        if (first := month.get(episode.id)) is not None:
            self.counts["unchanged"] += 1
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

    def _propose(self, number: int, made: Fact, said: object) -> None:
        """Propose it, or add to the same proposal here: the stricter label, and from one's own backup its witnesses."""
        incoming.check_storable(facts.encode, made)
        if not self._forgotten(facts.LAYER, made.key, made.text, said):
            self._wait(number, made, said)

    def _wait(self, number: int, made: Fact, said: object) -> None:
        if self.gated and policy.expired(made, self.now):
            self.left_out += 1  # a former value, though nobody has swept it out
            self._tray.names.lose(said)
        else:
            self._tray.add(number, made, said)

    def _put_procedure(self, number: int, made: Procedure) -> None:
        if self._forgotten(procedures.LAYER, made.key, procedures.said(made)):
            return
        replace = self.trusted or self.supersede
        if self.dry_run:
            how = procedural.imported(self.store, made, self.now, replace=replace)[0]
        else:
            with self.store.writing(patient=True) as w:
                how, ready, old = procedural.imported(self.store, made, self.now, replace=replace)
                if ready is not None:
                    procedures.put(w, ready, old, at=self.now)
        if how == "conflict":
            self.conflicts.append(number)
        else:
            self.counts[how] += 1

    def _put_source(self, record: SourceRecord) -> None:
        if self._known is None:
            self._known = {s.id: s for s in sources.every(self.store)}
        old = self._known.get(record.id)
        record = sourcing.imported(self.store, old, record, trusted=self.trusted)
        if old != record and not self.dry_run:
            with self.store.writing(patient=True) as w:
                sources.put(w, record)
        self._known[record.id] = record
        self.counts["unchanged" if old == record else "created" if old is None else "updated"] += 1


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


def _parse(line: bytes) -> "dict[str, Any]":
    if len(line) > MAX_LINE_BYTES:
        raise incoming.BadLine("the line is longer than 4 MiB")
    try:
        return sidecar.parse(line)
    except sidecar.Damaged as e:
        raise incoming.BadLine(e.message) from None
