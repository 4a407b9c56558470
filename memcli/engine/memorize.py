"""Remembering one text in every layer that it belongs to: working memory, an episode, proposed facts (or facts at once)."""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import digest, intake, propose, recount, statements, work
from memcli.model import labels, records
from memcli.model.records import Episode, Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

    class RememberFields(TypedDict, total=False):
        """What `remember` takes beside the text and the session."""

        role: str
        source: str | None
        confidence: str | float | None
        importance: str | float | None
        ttl_minutes: int | None
        sensitivity: str | Sensitivity | None
        tags: tuple[str, ...]
        modality: str
        agent: str
        extract: bool
        allow_secret: bool
        allow_pii: bool
        include_forgotten: bool


@value
class Remembered(Value):
    """Where a text went. working: the id in working memory or ""; episode: None when it was not important enough.

    repeated: the episode stands already; proposed, again: facts proposed, and proposals with one more witness; written:
    facts at once, where the store's settings say so.
    """

    working: str = ""
    episode: Episode | None = None
    repeated: bool = False
    proposed: tuple[Fact, ...] = ()
    again: tuple[Fact, ...] = ()
    written: tuple[Fact, ...] = ()
    known: int = 0
    notes: tuple[str, ...] = ()


def run(
    store: "Store",
    text: str,
    *,
    now: datetime,
    session: str = "",
    role: str = "",
    source: str | None = None,
    confidence: "str | float | None" = None,
    importance: "str | float | None" = None,
    ttl_minutes: int | None = None,
    sensitivity: "str | Sensitivity | None" = None,
    tags: tuple[str, ...] = (),
    modality: str = "text",
    agent: str = "",
    extract: bool = True,
    allow_secret: bool = False,
    allow_pii: bool = False,
    include_forgotten: bool = False,
    default_kind: str = "unknown",
) -> Remembered:
    """Keep a text in the working memory of its session, as an episode from importance 0.4, and propose what it states.

    The same text within the hour makes no second episode. include_forgotten: also a text that was purged, or that states
    what was; the tombstones go. Raises UsageError (also when there is no place for it), SecretFound, Purged, Damaged,
    Locked, SystemFailure.
    """
    settings = store.settings
    tags, modality = intake.several(tags, "tags"), labels.modality(modality)
    if session:
        work.new_session_id(session)
    if include_forgotten:
        from memcli.engine import gate

        gate.check_again(store)
    matter = records.DEFAULT_IMPORTANCE if importance is None else labels.unit(importance, "importance")
    texts = {"text": intake.clean(text), "tags": intake.clean("\n".join(tags)), "agent": agent, "modality": modality}
    taken = intake.take(
        settings, texts, fixed=("tags", "agent", "modality"), allow_secret=allow_secret, allow_pii=allow_pii
    )
    said = taken.texts["text"]
    label = labels.sensitivity(settings["defaults.sensitivity"] if sensitivity is None else sensitivity)
    like = propose.Claim(
        key="",
        text="",
        source=records.source(source) if source else intake.default_source(default_kind),
        run=digest.name_of_run(session),
        agent=agent,
        sensitivity=max(label, taken.least),
        importance=matter,
        tags=tags,
        modality=modality,
        again=include_forgotten,
    )
    claims = _claims(said, like, role) if extract else []
    propose.check_forgotten(store, said, claims, again=include_forgotten)
    eventful = matter >= settings["remember.episode_from"]
    if not (session or eventful or claims):
        hint = f"--session S, or an importance of at least {settings['remember.episode_from']:g}"
        raise errors.UsageError("there is no layer to keep this in", hint=hint)
    common: dict[str, Any] = {"source": source, "confidence": confidence, "importance": matter, "tags": tags}
    common |= {
        "sensitivity": sensitivity,
        "modality": modality,
        "ttl_minutes": ttl_minutes,
        "default_kind": default_kind,
    }
    common |= {"allow_secret": allow_secret, "allow_pii": allow_pii}
    about: dict[str, Any] = {"session": like.run, "agent": agent, "include_forgotten": include_forgotten}
    done = Remembered(notes=taken.notes)
    if eventful:
        done = _with_episode(store, done, text, said, now, about | common)
    if claims:
        done = _with_facts(store, done, claims, now)
    return _with_working(store, done, session, text, said, now, {"role": role} | common) if session else done


def _claims(said: str, like: propose.Claim, role: str) -> list[propose.Claim]:
    if role in ("system", "tool"):
        return []
    return [like.replace(key=f.key, text=f.text, domain=f.domain) for f in statements.find(said, speaker=role)]


def _with_episode(
    store: "Store", done: Remembered, text: str, said: str, now: datetime, fields: "dict[str, Any]"
) -> Remembered:
    if digest.stands(store, said, now):
        return done.replace(repeated=True)
    return done.replace(episode=recount.add_episode(store, text, now=now, **fields)[0])


def _with_working(
    store: "Store", done: Remembered, session: str, text: str, said: str, now: datetime, fields: "dict[str, Any]"
) -> Remembered:
    """Last, because what it holds counts as done: stopped before, the same call does the rest."""
    there = None if fields["role"] else work.holding(store, session, said, now=now)
    if there is not None:
        return done.replace(working=there.id)
    kept = work.add_item(
        store, session, text, now=now, made=(done.episode is not None or done.repeated, True), **fields
    )
    return done.replace(working=kept.held.id, notes=tuple(dict.fromkeys((*done.notes, *kept.notes))))


def _with_facts(store: "Store", done: Remembered, claims: list[propose.Claim], now: datetime) -> Remembered:
    with store.writing() as w:
        what = propose.write(w, claims[: store.settings["consolidate.max_proposals"]], now)
    return done.replace(
        proposed=tuple(p.fact for p in what if p.how == "proposed"),
        again=tuple(p.fact for p in what if p.how == "seen again"),
        written=tuple(p.fact for p in what if p.how == "written"),
        known=sum(p.how == "known" for p in what),
    )
