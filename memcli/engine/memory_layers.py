"""The verbs of a memory beyond facts, episodes and the context: retrieval, opinions, relations, procedures, sources.

`engine.memory.Memory` is built on this class and has all of them; it is a class of its own only to keep both modules
short. Each verb is a line over the engine module of its name, which is imported when it is called.
"""

import os
from datetime import datetime

from memcli.base import errors
from memcli.engine import given, memory_review
from memcli.engine.memory_review import check_open
from memcli.engine.memory_review import instant as instant
from memcli.model import keys, labels, policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.audit import Audit
    from memcli.engine.evidence import Bundle
    from memcli.engine.monitoring import Retrievals
    from memcli.engine.opinions import Said
    from memcli.engine.relations import Edge, Graph, Step
    from memcli.engine.retrieve import Retrieved
    from memcli.engine.trust import Standing
    from memcli.engine.verify import Verdict
    from memcli.model.records import Episode, Fact, Procedure, SourceRecord
    from memcli.model.records import Step as Way
    from memcli.model.redact import Redacted


@given.guarded
class Layers(memory_review.Reviewing):
    """One store, and what can be done with it. Every verb takes `now` where time matters: an aware datetime."""

    # One question to all layers

    def retrieve(
        self,
        query: str = "",
        *,
        layers: tuple[str, ...] = (),
        session: str = "",
        n: int = 5,
        min_importance: "str | float" = 0.3,
        concept: str | None = None,
        last_hours: float | None = None,
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> "Retrieved":
        """The best n of each layer, and a summary in words; see engine.retrieve.retrieve."""
        from memcli.engine import retrieve

        return retrieve.retrieve(
            self.store,
            query,
            now=instant(now),
            layers=layers,
            session=session,
            n=n,
            min_importance=min_importance,
            concept=concept,
            last_hours=last_hours,
            clearance=labels.sensitivity(clearance),
        )

    def recall(
        self,
        query: str,
        *,
        goal: str = "answer_question",
        modality: str = "",
        time_sensitive: bool = False,
        session: str = "",
        n: int | None = None,
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> "Bundle":
        """The evidence for a question, with its contradictions and a verdict; see engine.recall.recall."""
        from memcli.engine import recall

        return recall.recall(
            self.store,
            query,
            now=instant(now),
            goal=goal,
            modality=labels.modality(modality),
            time_sensitive=time_sensitive,
            session=session,
            n=n,
            clearance=labels.sensitivity(clearance),
        )

    def retrieval_stats(
        self, *, since: datetime | None = None, days: int = 30, now: datetime | None = None
    ) -> "Retrievals":
        """How well questions were answered, what is served often and what never; see engine.monitoring.report."""
        from memcli.engine import monitoring

        return monitoring.report(self.store, now=instant(now), since=since, days=days)

    def episode(self, ref: str, *, reveal: bool = False, now: datetime | None = None) -> "Episode":
        """One episode by its id. Raises NotFound, and Withheld above internal unless reveal is given."""
        from memcli.engine import forget

        found = forget.find_episode(self.store, ref)
        if found is None or policy.expired(found, instant(now)):
            raise errors.NotFound("no episode of this id")
        check_open(found.sensitivity, reveal)
        self.store.check_served(found.source.id, "this episode")
        return found

    # Opinions, checks

    def confirm(self, key: str, *, source: str | None = None, run: str = "", now: datetime | None = None) -> "Said":
        """Say that a fact still holds; see engine.opinions.confirm."""
        from memcli.engine import opinions

        return opinions.confirm(self.store, key, now=instant(now), source=source, run=run)

    def deny(self, key: str, *, source: str | None = None, run: str = "", now: datetime | None = None) -> "Said":
        """Say that a fact does not hold; see engine.opinions.deny."""
        from memcli.engine import opinions

        return opinions.deny(self.store, key, now=instant(now), source=source, run=run)

    def verify(
        self, key: str | None = None, *, allow_commands: bool = False, now: datetime | None = None
    ) -> "list[Verdict]":
        """Run the checks of one key or of all, and return those of open facts; see engine.verify.verify."""
        from memcli.engine import verify

        return verify.open_to_all(verify.verify(self.store, key, now=instant(now), allow_commands=allow_commands))

    def audit(
        self,
        path: "str | os.PathLike[str] | None" = None,
        *,
        kinds: tuple[str, ...] = (),
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> "Audit":
        """How much of this store, or of another tool's file or folder, is junk; see engine.audit. Nothing is written."""
        from memcli.engine import audit

        at, limit = instant(now), labels.sensitivity(clearance)
        if path is None:
            return audit.of_store(self.store, now=at, kinds=kinds, clearance=limit)
        return audit.of_path(os.fspath(path), now=at, kinds=kinds, clearance=limit)

    # Relations

    def relate(
        self, key: str, kind: str, target: str, *, weight: "str | float | None" = None, now: datetime | None = None
    ) -> "Fact":
        """Relate a fact to another, or change the weight (0..1); see engine.relations.relate."""
        from memcli.engine import relations

        return relations.relate(self.store, key, kind, target, now=instant(now), weight=weight)[0]

    def unrelate(self, key: str, kind: str, target: str, *, now: datetime | None = None) -> "Fact":
        """Take a relation away. Raises NotFound when there is none."""
        from memcli.engine import relations

        return relations.unrelate(self.store, key, kind, target, now=instant(now))[0]

    def related(
        self,
        key: str,
        *,
        n: int = 10,
        kinds: tuple[str, ...] = (),
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> "list[Edge]":
        """The strongest relations from and to a fact. Raises NotFound, Withheld."""
        return self._graph(key, clearance, now).related(keys.normal(key), n, kinds)

    def chain(
        self,
        key: str,
        *,
        depth: int = 3,
        kinds: tuple[str, ...] = (),
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> "list[Step]":
        """Breadth first along the relations of a fact, each concept once. Raises NotFound, Withheld, UsageError."""
        if not 1 <= depth <= 20:
            raise errors.UsageError("the depth is out of range", hint="1 to 20")
        return self._graph(key, clearance, now).chain(keys.normal(key), depth, kinds)

    def graph(
        self,
        key: str | None = None,
        *,
        format: str = "mermaid",
        depth: int = 2,
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> str:
        """The relations of the store, or around one fact, as Mermaid, DOT or an HTML page."""
        from memcli.engine import drawing

        labels.choice(format, "format", drawing.FORMATS)
        found = self._graph(key, clearance, now)
        edges = found.edges if key is None else found.around(keys.normal(key), depth)
        return drawing.draw(edges, format, alone=() if key is None else (keys.normal(key),))

    def _graph(self, key: str | None, clearance: str, now: datetime | None) -> "Graph":
        from memcli.engine import relations

        return relations.graph(self.store, key, instant(now), labels.sensitivity(clearance))

    # Procedures

    def propose_procedure(
        self, key: str, steps: "tuple[Way | str, ...]", *, now: datetime | None = None, **fields: "Any"
    ) -> "Procedure":
        """Keep a new procedure as pending. steps: values, or texts `NAME: what to do`; see engine.procedural.propose."""
        from memcli.engine import procedural

        made = tuple(procedural.parse_step(s) if isinstance(s, str) else s for s in steps)
        return procedural.propose(self.store, key, made, now=instant(now), **fields)

    def approve_procedure(self, key: str, *, by: str | None = None, now: datetime | None = None) -> "Procedure":
        """Validate a procedure. Raises Refused when an agent approves what it proposed itself."""
        from memcli.engine import procedural

        return procedural.approve(self.store, key, now=instant(now), by=by)

    def reject_procedure(self, key: str, *, by: str | None = None, now: datetime | None = None) -> "Procedure":
        """Set a procedure aside: kept, never served. Raises Refused when an agent rejects what it proposed itself."""
        from memcli.engine import procedural

        return procedural.reject(self.store, key, now=instant(now), by=by)

    def record_procedure(
        self, key: str, *, success: bool, duration_ms: int | None = None, now: datetime | None = None
    ) -> "Procedure":
        """Say how one use of a procedure went; duration_ms: milliseconds."""
        from memcli.engine import procedural

        return procedural.record(self.store, key, success=success, now=instant(now), duration_ms=duration_ms)

    def best_procedures(
        self, task_type: str, *, n: int = 5, clearance: str = "internal", now: datetime | None = None
    ) -> "list[Procedure]":
        """Validated procedures for a kind of task, best first."""
        from memcli.engine import procedural

        return procedural.best(self.procedures(clearance=clearance, now=now), task_type, instant(now), n)

    def procedures(
        self, *, state: str | None = None, clearance: str = "internal", now: datetime | None = None
    ) -> "list[Procedure]":
        """Procedures that the clearance covers, of one state or of all."""
        from memcli.engine import view

        if state is not None:
            labels.choice(state, "state", labels.PROCEDURE_STATES)
        seen = view.survey(self.store, instant(now), labels.sensitivity(clearance), layers=("procedures",))
        return [p for p in seen.procedures if state in (None, p.state)]

    def procedure(self, key: str, *, reveal: bool = False) -> "Procedure":
        """One procedure by its key. Raises NotFound, and Withheld above internal unless reveal is given."""
        from memcli.store import procedures

        found = procedures.get(self.store, keys.normal(key))
        if found is None:
            raise errors.NotFound("no procedure of this key")
        check_open(found.sensitivity, reveal)
        self.store.check_served(found.source.id, "this procedure")
        return found

    # Sources

    def sources(self, *, now: datetime | None = None) -> "list[Standing]":
        """Every source with its trust now and what was said of its facts."""
        from memcli.engine import trust

        return trust.Ledger(self.store, instant(now)).standings()

    def source(self, name: str, *, now: datetime | None = None) -> "Standing":
        """One source by its id. Raises NotFound."""
        found = next((s for s in self.sources(now=now) if s.id == name), None)
        if found is None:
            raise errors.NotFound("no source of this name")
        return found

    def set_source(
        self,
        name: str,
        *,
        kind: str | None = None,
        trust: "str | float | None" = None,
        note: str | None = None,
        by: str | None = None,
        now: datetime | None = None,
    ) -> "SourceRecord":
        """Set a source's kind, its trust at first (0..1) or a note. name: its id, or KIND:ID for a new one.
        by: who says so; raises Refused for all but another person."""
        self._check_trust(name, by)
        changes: dict[str, object] = {}
        if kind is not None:
            changes["kind"] = labels.choice(kind, "kind of source", tuple(labels.KIND_TRUST))
        if trust is not None:
            changes["trust"] = labels.unit(trust, "trust")
        if note is not None:
            changes["note"] = note
        return self._change_source(name, changes, now)

    def allow_source(self, name: str, *, by: str | None = None, now: datetime | None = None) -> "SourceRecord":
        """Put a source on the allow list; takes it off the block list. Raises Refused as `set_source`."""
        self._check_trust(name, by)
        return self._change_source(name, {"list": "allow"}, now)

    def block_source(self, name: str, *, by: str | None = None, now: datetime | None = None) -> "SourceRecord":
        """Block a source: its records are kept but not served. Raises Refused as `set_source`, but for whoever names nobody."""
        self._check_trust(name, by, unnamed="user")
        return self._change_source(name, {"list": "block"}, now)

    def _check_trust(self, name: str, by: str | None, *, unnamed: str = "unknown") -> None:
        from memcli.engine import gate

        gate.check_trust(self.store, name, by, unnamed)

    def _change_source(self, name: str, changes: dict[str, object], now: datetime | None) -> "SourceRecord":
        from memcli.engine import sourcing

        return sourcing.change(self.store, name, changes, now=instant(now))[0]

    # What leaves

    def export_skill(self, key: str, directory: str, *, force: bool = False) -> str:
        """Write an approved procedure as NAME/SKILL.md below a folder; its path. force: over a file that is not ours."""
        from memcli.engine import procedural

        return procedural.write_skill(self.store, key, directory, force=force)

    def scrub(self, text: str) -> "Redacted":
        """A text with credentials and personal data replaced by their type; `counts` says how many of each."""
        from memcli.model import redact

        return redact.mask(text)

    def setting(self, name: str) -> "Any":
        """A setting in force, by its name in memcli.toml such as "sweep.max_share". Raises NotFound."""
        from memcli.model import settings

        if name not in settings.TABLE:
            raise errors.NotFound("no setting of this name")
        return self.store.settings[name]
