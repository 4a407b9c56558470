"""Consolidation: what a session held in mind, or a transcript of it, becomes an episode and proposed facts.

Plan, then apply. The plan is made without a lock (a model may think meanwhile) and looked at again under it; each part is
idempotent by itself (an episode's id follows from what it is made of, a proposal counts a run once), so a stopped run is
simply run again. Nothing becomes a fact here unless memcli.toml says that it may at once, and our own context output is
never learned.
"""

from datetime import datetime, timedelta

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import compress, digest, echo, extract, gather, propose, statements, work
from memcli.engine.digest import SOURCE, About
from memcli.model import labels, working
from memcli.model.records import Episode, Fact
from memcli.model.working import SUMMARY, Item, Session
from memcli.store import episodes, facts, proposals
from memcli.store import working as store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from memcli.engine.propose import Claim, Proposed
    from memcli.engine.transcript import Transcript
    from memcli.store.folder import Store, Writing

MODALITIES = ("text", "concept")
_EMPTY_SESSIONS_DAYS = 30
# How a run may end so that nothing it stated is learned: what it took for true may be why it went wrong.
_NOT_DONE = {"failed": "a run that failed", "partial": "a run that was done only in part"}


@value
class Plan(Value):
    """What consolidating one session would do.

    proposed: what becomes of each claim, `claims` those that change a file; left: claims over the limit of a pass;
    unlearned: claims of a run that was not completed, of which nothing becomes;
    seen, settled: ids of items of which an episode, facts are made; fresh: ids of those that are messages of a transcript.
    """

    session: str
    now: datetime
    claims: "tuple[Claim, ...]" = ()
    proposed: "tuple[Proposed, ...]" = ()
    left: int = 0
    unlearned: int = 0
    episodes: tuple[Episode, ...] = ()
    repeated: int = 0
    way: extract.Way | None = None
    seen: frozenset[str] = frozenset()
    settled: frozenset[str] = frozenset()
    fresh: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()
    skipped: int = 0
    purged: int = 0
    blocked: int = 0
    notes: tuple[str, ...] = ()


@value
class Report(Value):
    """What consolidating one session did, or would do.

    again: proposals with one more witness; written: facts at once, where the store's settings say so; known: statements that
    are facts already; left: statements that were not looked at because the pass was full; repeated: episodes that stand
    already; skipped: lines of the transcript that were unreadable;
    purged: items and statements that were left out because what they say was purged; blocked: items that were passed over
    because their source is blocked;
    unlearned: statements that were not proposed because the run failed or was done only in part.
    """

    session: str
    episodes: tuple[Episode, ...] = ()
    proposed: tuple[Fact, ...] = ()
    again: tuple[Fact, ...] = ()
    written: tuple[Fact, ...] = ()
    procedure: str = ""
    unchanged: int = 0
    known: int = 0
    left: int = 0
    repeated: int = 0
    cleaned: int = 0
    skipped: int = 0
    purged: int = 0
    blocked: int = 0
    unlearned: int = 0
    notes: tuple[str, ...] = ()

    @property
    def quiet(self) -> bool:
        """True when nothing changed."""
        return not (self.episodes or self.proposed or self.again or self.written or self.cleaned or self.procedure)


def run(
    store: "Store",
    session: str,
    *,
    now: datetime,
    transcript: "Transcript | None" = None,
    about: About | None = None,
    dry_run: bool = False,
) -> Report:
    """Consolidate one session. Raises UsageError, Damaged, Locked, SystemFailure."""
    found = plan(store, session, now=now, transcript=transcript, about=about)
    if dry_run:
        way = found.way.title if found.way is not None else ""
        return _report(found, list(found.proposed), list(found.episodes), len(found.stale), way)
    return apply(store, found)


def run_all(
    store: "Store", *, now: datetime, dry_run: bool = False
) -> tuple[list[Report], list[tuple[str, Exception | None]]]:
    """Consolidate every session that has a working memory, whatever becomes of another one.

    The reports, and the sessions that were passed over, each with the error; ("", None) for a file that cannot be read.
    Raises Locked: the next session would wait as long.
    """
    reports: list[Report] = []
    failed: list[tuple[str, Exception | None]] = []
    for held in list(store_of.every(store)):
        if held is None:
            failed.append(("", None))
            continue
        try:
            if not held.empty:
                reports.append(run(store, held.id, now=now, dry_run=dry_run))
            elif not dry_run:
                _let_go(store, held, now)
        except errors.Locked:
            raise
        except Exception as error:  # noqa: BLE001 - it runs unattended: what one session holds must not keep the others
            failed.append((held.id, error))
    return reports, failed


def plan(
    store: "Store", session: str, *, now: datetime, transcript: "Transcript | None" = None, about: About | None = None
) -> Plan:
    """Everything that there is to do for a session at an instant. Writes nothing, holds no lock, may ask the model."""
    about = about or About()
    labels.choice(about.outcome or "unknown", "outcome", labels.OUTCOMES)
    held = store_of.read(store, work.session_id(session))
    said = gather.said(transcript, held, now)
    served, blocked = gather.without_blocked(store, [*gather.held(working.live(held, now)), *said])
    items, purged = _without_purged(store, served, session)
    minutes, below = working.cleaning(work.ram_used(store.settings))
    found = Plan(
        session=session,
        now=now,
        stale=frozenset(h.id for h in held.held if working.stale(h, now, minutes, below)),
        skipped=transcript.skipped if transcript else 0,
        purged=purged,
        blocked=blocked,
    )
    new = _new(store, items)
    open_ = compress.by_clearance(new)[0]
    made, note = extract.ask(store, open_, about.outcome) if open_ else (None, "")
    found = found.replace(way=made.way if made else None, notes=(note,) if note else ())
    ended = about.outcome or (made.outcome if made else "")
    if ended in _NOT_DONE:
        found = _without_claims(store, found, items, ended)
    else:
        found = _with_claims(store, found, items, _model_claims(made, open_, session, about))
    return _with_episodes(store, found, new, about, made, transcript).replace(fresh=_fresh(found, new, said))


def apply(store: "Store", found: Plan) -> Report:
    """Carry a plan out under one lock; what has changed since it was made counts."""
    if not (found.claims or found.episodes or found.seen or found.settled or found.stale):
        return _report(found, list(found.proposed), [], 0)
    with store.writing() as w:
        done = propose.write(w, found.claims, found.now)
        made = [episodes.append(w, e) for e in found.episodes if _is_new(store, e)]
        cleaned = _mark(w, found)
    idle = [p for p in found.proposed if not p.writes]
    report = _report(found, [*done, *idle], made, cleaned, _keep_way(store, found))
    return report.replace(repeated=found.repeated + len(found.episodes) - len(made))


def _is_new(store: "Store", episode: Episode) -> bool:
    held = store.tombstones()
    purged = held is not None and held.hold(episodes.LAYER, "", episode.text)
    return not purged and not digest.stands(store, episode.text, episode.at, episode.id)


def _without_purged(store: "Store", items: list[Item], session: str) -> tuple[list[Item], int]:
    """Less those that say what was purged: an episode of them would bring it back. And how many."""
    held = store.tombstones()
    if held is None:
        return items, 0
    kept = []
    for item in items:
        stated = [(facts.LAYER, c.key, c.text) for c in _claims(item, session)]
        if not any(held.hold(*said) for said in (*stated, (episodes.LAYER, "", item.text))):
            kept.append(item)
    return kept, len(items) - len(kept)


def _fresh(found: Plan, new: "Sequence[Item]", said: "Sequence[Item]") -> tuple[str, ...]:
    seen = {i.id for i in new}
    marks = []
    for item in said:
        if item.id in found.settled:
            marks.append(item.id)
        elif item.id in seen:
            marks.append(item.id + gather.HALF)
    return tuple(marks)


def _new(store: "Store", items: "Sequence[Item]") -> list[Item]:
    """What is important enough for an episode and in none yet."""
    least = store.settings["consolidate.episode_from"]
    return [i for i in items if not i.episode and i.importance >= least and echo.cut(i.text).strip()]


def _with_claims(store: "Store", found: Plan, items: "Sequence[Item]", more: "Sequence[Claim]") -> Plan:
    """Statements as claims: those that change something, at most so many a pass; the rest waits for the next."""
    most: int = store.settings["consolidate.max_proposals"]
    least = store.settings["consolidate.facts_from"]
    claims: list[Claim] = []
    proposed: dict[tuple[str, str], Proposed] = {}
    settled, left = set(), 0
    sets = [
        ("", more),
        *((i.id, list(_claims(i, found.session))) for i in items if not i.facts and i.importance >= least),
    ]
    for made_of, stated in sets:
        over = 0
        for claim in stated:
            if len(claims) >= most:
                over += 1
                continue
            what = propose.plan(store, claim, found.now)
            if what is None or (same := proposals.same(what.fact.key, what.fact.text)) in proposed:
                continue
            proposed[same] = what
            claims += [claim] if what.writes else []
        left += over
        settled |= set() if over else {made_of}
    return found.replace(
        claims=tuple(claims), proposed=tuple(proposed.values()), left=left, settled=frozenset(settled - {""})
    )


def _without_claims(store: "Store", found: Plan, items: "Sequence[Item]", ended: str) -> Plan:
    """The items are done with, so that running it again without the outcome does not learn from them after all."""
    least = store.settings["consolidate.facts_from"]
    due = [i for i in items if not i.facts and i.importance >= least]
    count = sum(1 for i in due for _ in _claims(i, found.session))
    notes = (*found.notes, f"no facts from {_NOT_DONE[ended]}") if count else found.notes
    return found.replace(unlearned=count, settled=frozenset(i.id for i in due), notes=notes)


def _claims(item: Item, session: str) -> "Iterator[Claim]":
    if item.modality not in MODALITIES or item.role in ("system", "tool"):
        return
    for found in statements.find(item.text, speaker="assistant" if item.role == SUMMARY else item.role):
        yield propose.Claim(
            key=found.key,
            text=found.text,
            source=digest.source([item]),
            run=digest.name_of_run(session),
            sensitivity=item.sensitivity,
            importance=item.importance,
            domain=found.domain,
            tags=item.tags,
            modality=item.modality,
        )


def _model_claims(made: extract.Artifacts | None, group: "Sequence[Item]", session: str, about: About) -> "list[Claim]":
    return [
        propose.Claim(
            key=f.key,
            text=f.text,
            source=digest.source(group),
            run=digest.name_of_run(session),
            agent=about.agent,
            sensitivity=f.sensitivity,
            importance=0.5,
            domain=f.domain,
            tags=f.tags,
            ttl_minutes=f.ttl_minutes,
        )
        for f in (made.facts if made else ())
    ]


def _with_episodes(
    store: "Store",
    found: Plan,
    new: "Sequence[Item]",
    about: About,
    made: extract.Artifacts | None,
    transcript: "Transcript | None",
) -> Plan:
    """One episode of what is new, and another of what is above internal, so that it does not hide the rest."""
    planned, repeated = [], 0
    for group, artifacts in zip(compress.by_clearance(new), (made, None), strict=True):
        if not group:
            continue
        episode = digest.make(store, found.session, group, about, now=found.now, made=artifacts)
        if transcript is not None and group[0].sensitivity <= labels.INTERNAL:
            episode = episode.replace(tools=transcript.tools, steps=transcript.steps)
        if digest.stands(store, episode.text, episode.at, episode.id):
            repeated += 1
        else:
            planned.append(episode)
    return found.replace(episodes=tuple(planned), repeated=repeated, seen=frozenset(i.id for i in new))


def _mark(w: "Writing", found: Plan) -> int:
    """Note in working memory what has been made of it and clean up; how many went."""
    held = store_of.read(w.store, found.session)
    stale = found.stale & {h.id for h in held.held}
    whole = {mark + gather.HALF for mark in found.fresh}
    after = held.replace(
        entries=tuple(_marked(e, found) for e in held.entries if e.id not in stale),
        items=tuple(_marked(i, found) for i in held.items if i.id not in stale),
        taken=tuple(dict.fromkeys((*(t for t in held.taken if t not in whole), *found.fresh))),
    )
    if after != held:
        store_of.write(w, after, found.now)
    return len(stale)


def _marked(held: "Any", found: Plan) -> "Any":
    return held.replace(episode=held.episode or held.id in found.seen, facts=held.facts or held.id in found.settled)


def _keep_way(store: "Store", found: Plan) -> str | None:
    """Propose the procedure that a model saw; one of that name stays as it is."""
    if found.way is None:
        return None
    from memcli.engine import procedural

    way = found.way
    try:
        procedural.propose(
            store,
            way.title,
            way.steps,
            now=found.now,
            text=way.description,
            title=way.title,
            task_type=way.task_type,
            trigger=way.trigger,
            source=str(SOURCE),
        )
    except (errors.Exists, errors.UsageError, errors.Refused):
        return None
    return way.title


def _let_go(store: "Store", held: Session, now: datetime) -> None:
    """An empty session only remembers what of its transcript is done; after a month nobody comes back to it."""
    if held.touched_at is not None and now - held.touched_at > timedelta(days=_EMPTY_SESSIONS_DAYS):
        with store.writing() as w:
            if store_of.read(store, held.id) == held:
                store_of.remove(w, held.id)


def _report(
    found: Plan, what: "list[Proposed]", made: "list[Episode]", cleaned: int, procedure: str | None = None
) -> Report:
    return Report(
        session=found.session,
        episodes=tuple(made),
        proposed=tuple(p.fact for p in what if p.how == "proposed"),
        again=tuple(p.fact for p in what if p.how == "seen again"),
        written=tuple(p.fact for p in what if p.how == "written"),
        procedure=procedure or "",
        unchanged=sum(p.how == "unchanged" for p in what),
        known=sum(p.how == "known" for p in what),
        left=found.left,
        repeated=found.repeated,
        cleaned=cleaned,
        skipped=found.skipped,
        purged=found.purged + sum(p.how == "purged" for p in what),
        blocked=found.blocked,
        unlearned=found.unlearned,
        notes=found.notes,
    )
