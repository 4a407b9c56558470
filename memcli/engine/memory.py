"""The Python face of a store: the verbs of the command line, with the same names, and values instead of text.

    m = memcli.open("path/to/store")
    m.set_fact("deploy target", "Fly.io", source="user:anna", tags=("deploy",))
    m.get_fact("deploy target").text
    print(m.context("how do we deploy?"))

Every verb takes `now` (an aware datetime); without it MEMCLI_NOW, else the clock, is the time.
"""

import os
from datetime import datetime

from memcli.base import errors
from memcli.engine import clone, context, doctor, forget, given, memory_layers, recount, remember, stores, sweep, view
from memcli.engine.memory_layers import instant as _now
from memcli.model import keys, labels, policy
from memcli.model.records import Episode, Fact, Former
from memcli.store import facts, folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from memcli.engine.clone import Setup
    from memcli.engine.cognitive_files import Brought
    from memcli.engine.consolidate import Report as Consolidated
    from memcli.engine.context import Block
    from memcli.engine.encoding import Encoded
    from memcli.engine.findings import Finding
    from memcli.engine.forget import Forgotten
    from memcli.engine.indexing import Built
    from memcli.engine.load import ImportOptions
    from memcli.engine.load import Report as ImportReport
    from memcli.engine.memorize import Remembered, RememberFields
    from memcli.engine.prove import Proof
    from memcli.engine.recount import EpisodeFields
    from memcli.engine.remember import FactFields, Written
    from memcli.engine.search import Hit
    from memcli.engine.sweep import Report
    from memcli.engine.sync import Synced
    from memcli.engine.work import Kept, WorkFields
    from memcli.engine.work import Seen as Held
    from memcli.model.records import Procedure
    from memcli.model.redact import Redacted


def open_memory(path: "str | os.PathLike[str] | None" = None, *, tenant: str | None = None) -> "Memory":
    """The memory of a store that exists; see memcli.open."""
    return Memory(folder.open_store(None if path is None else os.fspath(path), tenant=tenant))


def init(path: "str | os.PathLike[str] | None" = None, *, tenant: str | None = None, git: bool = False) -> "Memory":
    """Make a store (or what it lacks) and open it; see engine.stores.make."""
    made = stores.make(None if path is None else os.fspath(path), tenant=tenant, git=git)
    return Memory(folder.Store(made.root, tenant=made.tenant, why="made"))


@given.guarded
class Memory(memory_layers.Layers):
    """One store, open. Nothing is held between calls: no lock, no file, no cache of records.

    The verbs of retrieval, opinions, relations, procedures, sources and review are in engine.memory_layers.
    """

    def __repr__(self) -> str:
        return f"Memory({self.store.root!r})"

    @property
    def path(self) -> str:
        """The folder of the store."""
        return self.store.root

    def set_fact(
        self, key: str, text: str | None = None, *, now: datetime | None = None, **fields: "Unpack[FactFields]"
    ) -> "Written":
        """Store the value of a key; see engine.remember.set_fact for the fields and errors."""
        return remember.set_fact(self.store, key, text, now=_now(now), **fields)

    def get_fact(self, key: str, *, reveal: bool = False, now: datetime | None = None) -> Fact:
        """The current fact of a key. Raises NotFound, Withheld above internal unless reveal is given, and Blocked."""
        fact = facts.get(self.store, keys.normal(key))
        if fact is None or not policy.current(fact, _now(now), self.store.settings):
            from memcli.engine import missing

            raise missing.no_fact(self.store, keys.normal(key), _now(now), "no current fact of this key", hint="")
        if fact.sensitivity > labels.INTERNAL and not reveal:
            raise errors.Withheld("this fact is withheld: its label is above internal", hint="reveal=True")
        self.store.check_served(fact.source.id)
        return view.shown(self.store, _now(now), labels.RESTRICTED if reveal else labels.INTERNAL, fact)

    def facts(
        self,
        *,
        clearance: str = "internal",
        tag: "str | tuple[str, ...]" = (),
        domain: str | None = None,
        source: str | None = None,
        prefix: str = "",
        n: int = 0,
        now: datetime | None = None,
    ) -> list[Fact]:
        """Current facts that the clearance covers, by key, with all of the tags; n: at most so many, 0 = all."""
        from memcli.engine import listing, search

        wanted = search.Filters(tags=tuple(tag), domain=domain, source=source, prefix=prefix)
        return list(listing.facts(self.store, _now(now), labels.sensitivity(clearance), wanted, n).facts)

    def rename_fact(self, key: str, new_key: str, *, now: datetime | None = None) -> Fact:
        """Give a fact another key; its history follows."""
        return remember.rename_fact(self.store, key, new_key, now=_now(now))[0]

    def history(
        self, key: str, *, clearance: str = "internal", reveal: bool = False, now: datetime | None = None
    ) -> list[Former]:
        """Former values of a key that the clearance covers, newest first, without those of a blocked source; reveal:
        whatever their label."""
        limit = labels.RESTRICTED if reveal else labels.sensitivity(clearance)
        blocked = self.store.blocked()
        listed = forget.history(self.store, key)
        found = [f for f in listed if f.fact.sensitivity <= limit and f.fact.source.id not in blocked]
        return [f.replace(fact=view.shown(self.store, _now(now), limit, f.fact)) for f in found]

    def adopt(
        self, key: str, *, source: str | None = None, sensitivity: str | None = None, now: datetime | None = None
    ) -> "Written":
        """Take over what a person made or edited by hand; source: who did, `user:hand` unless it or MEMCLI_SOURCE says."""
        return remember.adopt(self.store, key, now=_now(now), source=source, sensitivity=sensitivity)

    def adopt_all(
        self, *, source: str | None = None, sensitivity: str | None = None, now: datetime | None = None
    ) -> "list[Written]":
        """Take over every fact that was made or edited by hand, but those whose key is none that may be."""
        return remember.adopt_all(self.store, now=_now(now), source=source, sensitivity=sensitivity)[0]

    def forget(
        self,
        ref: str,
        *,
        purge: bool = False,
        prove: bool = False,
        tombstone: bool = True,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Forgotten":
        """Put a fact (key or id), a procedure (key or id) or any record (id) into the trash; purge erases former values too.

        prove: search the whole store for it then; tombstone: purge keeps it from being learned again by accident.
        """
        return forget.forget(
            self.store, ref, now=_now(now), purge=purge, prove=prove, tombstone=tombstone, dry_run=dry_run
        )

    def prove(self, key: str, text: str) -> "Proof":
        """Search the whole store for a text that was purged under this key, when only you know it any more."""
        from memcli.engine import prove

        return prove.again(self.store, key, text)

    def restore(
        self, ref: str, *, include_forgotten: bool = False, now: datetime | None = None
    ) -> "Fact | Episode | Procedure":
        """Bring back what was forgotten, expired, faded or superseded; include_forgotten: what was purged, too."""
        return forget.restore(self.store, ref, now=_now(now), include_forgotten=include_forgotten)

    def add_episode(self, text: str, *, now: datetime | None = None, **fields: "Unpack[EpisodeFields]") -> Episode:
        """Append one episode; see engine.recount.add_episode for the fields and errors."""
        return recount.add_episode(self.store, text, now=_now(now), **fields)[0]

    def episodes(
        self,
        *,
        session: str | None = None,
        outcome: str | None = None,
        tag: "str | tuple[str, ...]" = (),
        since: datetime | None = None,
        until: datetime | None = None,
        n: int = 0,
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> list[Episode]:
        """Episodes that the clearance covers and that have all of the tags, newest first; n: at most so many, 0 = all."""
        seen = view.survey(self.store, _now(now), labels.sensitivity(clearance), layers=("episodes",))
        found = view.episodes_of(seen, session=session, outcome=outcome, tags=tuple(tag), since=since, until=until)
        return found[: n or None]

    def remember(
        self, text: str, *, session: str = "", now: datetime | None = None, **fields: "Unpack[RememberFields]"
    ) -> "Remembered":
        """Keep a text in every layer that it belongs to; see engine.memorize.run for the fields and errors."""
        from memcli.engine import memorize

        return memorize.run(self.store, text, session=session, now=_now(now), **fields)

    def consolidate(
        self,
        session: str,
        *,
        transcript: str | None = None,
        task: str = "",
        outcome: str = "",
        agent: str = "",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "Consolidated":
        """Make an episode and proposed facts of a session; transcript: its text. See engine.consolidate.run."""
        from memcli.engine import consolidate, digest
        from memcli.engine import transcript as reader

        said = None if transcript is None else reader.read(transcript)
        about = digest.About(task=task, outcome=outcome, agent=agent)
        return consolidate.run(self.store, session, now=_now(now), transcript=said, about=about, dry_run=dry_run)

    def consolidate_all(self, *, dry_run: bool = False, now: datetime | None = None) -> "list[Consolidated]":
        """Consolidate every session that has a working memory; one that cannot be read is passed over."""
        from memcli.engine import consolidate

        return consolidate.run_all(self.store, now=_now(now), dry_run=dry_run)[0]

    def work_set(
        self, session: str, key: str, text: str, *, now: datetime | None = None, **fields: "Unpack[WorkFields]"
    ) -> "Kept":
        """Set a key of a session; see engine.work.set_entry."""
        from memcli.engine import work

        return work.set_entry(self.store, session, key, text, now=_now(now), **fields)

    def work_add(
        self, session: str, text: str, *, role: str = "", now: datetime | None = None, **fields: "Unpack[WorkFields]"
    ) -> "Kept":
        """Add a note to a session, or with a role a message; see engine.work.add_item."""
        from memcli.engine import work

        return work.add_item(self.store, session, text, role=role, now=_now(now), **fields)

    def work_get(self, session: str, key: str, *, reveal: bool = False, now: datetime | None = None) -> str:
        """The value of a session's key. Raises NotFound, Withheld above internal unless reveal is given, and Blocked."""
        from memcli.engine import work

        found = work.get(self.store, session, key, now=_now(now))
        if found.sensitivity > labels.INTERNAL and not reveal:
            raise errors.Withheld("this entry is withheld: its label is above internal", hint="reveal=True")
        self.store.check_served(found.source.id, "this entry")
        return found.text

    def work_list(
        self,
        session: str,
        *,
        query: str = "",
        modality: str = "",
        n: int = 0,
        clearance: str = "internal",
        now: datetime | None = None,
    ) -> "Held":
        """What a session holds: entries by key, items oldest first, and how much is withheld or of a blocked source.
        See engine.work.look."""
        from memcli.engine import work

        label = labels.sensitivity(clearance)
        return work.look(
            self.store, session, now=_now(now), clearance=label, query=query, modality=labels.modality(modality), n=n
        )

    def work_clear(self, session: str, *, dry_run: bool = False) -> int:
        """Forget all that a session holds; how many entries and items."""
        from memcli.engine import work

        return work.clear(self.store, session, dry_run=dry_run)

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        clearance: str = "internal",
        as_of: datetime | None = None,
        fresh: bool = False,
        now: datetime | None = None,
        **filters: "Any",
    ) -> "list[Hit]":
        """Records that answer the query, best first; limit 0 = all. as_of: what was known then; fresh: compare every file
        with the index first. Filters: layers, tags, domain, source, session (its working memory is searched too), outcome,
        concept, prefix of the key, since and until (with a zone), last_hours, min_confidence, min_importance.
        Raises UsageError."""
        from memcli.engine import search
        from memcli.store import retrievals

        at = _now(now)
        wanted = search.filters(at, **filters)
        label = labels.sensitivity(clearance)
        found = search.search(
            self.store, query, now=at, limit=limit, clearance=label, filters=wanted, as_of=as_of, fresh=fresh
        )
        served = [(h.record.id, h.relevance) for h in found.hits]
        retrievals.note(self.store, "search", query, now=at, served=served, verdict=found.verdict)
        return list(found.hits)

    def context(self, task: str = "", **options: "Any") -> "Redacted":
        """The context block as text; options as in `block`."""
        return self.block(task, receipt=False, **options).text

    def block(
        self,
        task: str = "",
        *,
        budget: str | int | None = None,
        clearance: str | None = None,
        now: datetime | None = None,
        request: "dict[str, Any] | None" = None,
        receipt: bool = True,
        **query: "Any",
    ) -> "Block":
        """The context block with its receipt. budget: tokens, or characters as "8000c"; receipt: list all candidates in it;
        query: fields of context.Query."""
        return context.build(
            self.store,
            context.Query(task=task, request=context.checked_request(request) if request else None, **query),
            now=_now(now),
            clearance=None if clearance is None else labels.sensitivity(clearance),
            limit=None if budget is None else context.budget(str(budget)),
            receipt=receipt,
        )

    def sweep(self, *, dry_run: bool = False, yes: bool = False, now: datetime | None = None) -> "Report":
        """Move what has expired or faded into the archive. Raises Brake unless yes."""
        plan = sweep.plan(self.store, _now(now))
        if dry_run:
            return sweep.Report(done=(), skipped=(), settled=(), planned=plan.actions)
        if not yes:
            sweep.check_brake(self.store, plan)
        return sweep.apply(self.store, plan)

    def doctor(self, *, fix: bool = False, deep: bool = False, now: datetime | None = None) -> "list[Finding]":
        """What is wrong in the store; fix does first what is safe; deep compares the index with every record."""
        if fix:
            from memcli.engine import mending

            mending.mend(self.store, _now(now))
        found = [*doctor.examine(self.store, _now(now)), *clone.examine(self.store)]
        if not deep:
            return found
        from memcli.engine import indexing

        return found + indexing.compare(self.store, fix=fix)

    def git_setup(self, *, check: bool = False) -> "Setup":
        """Tell this clone's git to merge the store with memcli's driver; see engine.clone.setup."""
        return clone.setup(self.store, check=check)

    def sync(self, url: str | None = None, *, yes: bool = False, message: str = "", tidy: bool = False) -> "Synced":
        """Share the store over a bucket; yes: agree that it goes there, once a machine. See engine.sync.sync."""
        from memcli.engine import sync

        where = sync.place(self.store, url)
        if yes:
            sync.agree(self.store, where)
        return sync.sync(self.store, where, message=message, tidy=tidy)

    def reindex(self) -> "Built":
        """Build the index anew from the files; how many records, and how many bytes it takes."""
        from memcli.engine import indexing

        return indexing.reindex(self.store)

    def encode(self) -> "Encoded":
        """Encode what has no vector yet, where vectors are enabled; see engine.encoding.encode for the errors."""
        from memcli.engine import encoding

        return encoding.encode(self.store, now=_now(None))

    def status(self, *, now: datetime | None = None) -> "dict[str, Any]":
        """What is in the store, in numbers."""
        return stores.status(self.store, _now(now))

    def stats(self, *, now: datetime | None = None) -> "dict[str, Any]":
        """Counts by label, confidence, source and outcome, and sizes in bytes."""
        return stores.stats(self.store, _now(now))

    def export_jsonl(self, path: str, *, clearance: str = "restricted") -> int:
        """Write the store as JSON lines to a private file; how many records."""
        from memcli.engine import dump

        return dump.to_file(self.store, path, labels.sensitivity(clearance)).written

    def import_jsonl(
        self,
        path: str,
        *,
        now: datetime | None = None,
        **how: "Unpack[ImportOptions]",
    ) -> "ImportReport":
        """Bring records in from JSON lines; options as of engine.load.Loader. Raises NotFound for a file that is not there,
        SystemFailure for one that cannot be read, and what Loader raises."""
        from memcli.engine import load

        loader = load.Loader(self.store, now=_now(now), **how)
        try:
            stream = open(path, "rb")  # noqa: SIM115 - what fails later is no matter of this file
        except (FileNotFoundError, IsADirectoryError):
            raise errors.NotFound("no such file", path=path) from None
        except (OSError, ValueError):
            raise errors.SystemFailure("the file cannot be read", path=path) from None
        with stream:
            return loader.load(load.lines(stream))

    def import_cognitive(
        self,
        path: "str | os.PathLike[str]",
        *,
        now: datetime | None = None,
        **how: "Unpack[ImportOptions]",
    ) -> "Brought":
        """Bring in the memory of cognitive-core: its folder, a file of it, or memory.db; see engine.cognitive_files.bring."""
        from memcli.engine import cognitive_files, load

        loader = load.Loader(self.store, now=_now(now), **how)
        return cognitive_files.bring(loader, os.fspath(path))
