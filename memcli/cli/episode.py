"""`memcli episode ...`: what happened, in order."""

from memcli.base import clock, errors
from memcli.cli import session
from memcli.cli.call import Context, Listing, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def add(
    ctx: Context,
    text: str | None = None,
    *,
    task: str | None = None,
    session_: str | None = None,
    run: str | None = None,
    agent: str | None = None,
    outcome: str | None = None,
    at: str | None = None,
    finding: tuple[str, ...] = (),
    approach: str | None = None,
    tool: tuple[str, ...] = (),
    steps: int = 0,
    pattern: tuple[str, ...] = (),
    concept: tuple[str, ...] = (),
    modality: str | None = None,
    evidence: tuple[str, ...] = (),
    trace: str | None = None,
    source: str | None = None,
    confidence: str | None = None,
    ttl: str | None = None,
    sensitivity: str | None = None,
    tag: tuple[str, ...] = (),
    importance: str | None = None,
    allow_secret: bool = False,
    allow_pii: bool = False,
    include_forgotten: bool = False,
) -> Output:
    """Append an episode to its month: what was done and what came of it.

    Example: memcli episode add "Moved the webhooks; replayed 214." --task "Move billing to the new queue" --outcome completed
    """
    from memcli.engine import recount

    if text is None and task is None:
        raise errors.UsageError("an episode needs a text or --task")
    made, notes = recount.add_episode(
        session.store(ctx),
        session.text_or_stdin(text) or "",
        now=session.now(ctx),
        at=None if at is None else clock.parse(at),
        source=source,
        confidence=confidence,
        ttl_minutes=None if ttl is None else clock.parse_ttl(ttl),
        sensitivity=sensitivity,
        importance=importance,
        allow_secret=allow_secret,
        allow_pii=allow_pii,
        include_forgotten=include_forgotten,
        default_kind=session.writer_kind(),
        task=task or "",
        session=session_ or "",
        run=run or "",
        agent=agent or "",
        outcome=outcome or "unknown",
        findings=finding,
        approach=approach or "",
        tools=tool,
        steps=steps,
        patterns=pattern,
        concepts=concept,
        modality=modality or "text",
        evidence=tuple(_evidence(e) for e in evidence),
        trace=trace or "",
        tags=tag,
    )
    data = {"how": "created", "id": made.id, "at": clock.show(made.at), "sensitivity": str(made.sensitivity)}
    data["path"] = f"episodes/{made.month}.md"
    return Output(data, f"{made.id}\n", notes=notes)


def list_(
    ctx: Context,
    *,
    session_: str | None = None,
    outcome: str | None = None,
    tag: tuple[str, ...] = (),
    since: str | None = None,
    until: str | None = None,
    clearance: str = "internal",
    n: int = 20,
) -> Listing:
    """List episodes, newest first: time, outcome, id, task.

    Example: memcli episode list --outcome failed -n 5
    """
    from memcli.cli import show
    from memcli.engine import view

    store, now = session.store(ctx), session.now(ctx)
    first, last = session.moment(since, now), session.moment(until, now)
    labels.most(n)
    seen = view.survey(store, now, labels.sensitivity(clearance), layers=("episodes",))
    chosen = view.episodes_of(seen, session=session_, outcome=outcome, tags=tag, since=first, until=last)
    shown = chosen[: n or None]
    notes = [f"{seen.withheld} withheld"] if seen.withheld else []
    if len(shown) < len(chosen):
        notes.append(f"{len(chosen) - len(shown)} more; -n 0 shows all")
    notes += session.unread(seen.unread)
    return Listing([show.episode(e) for e in shown], "".join(map(show.episode_line, shown)), notes=tuple(notes))


def show(ctx: Context, id: str, *, reveal: bool = False) -> Output:
    """Print one episode with all that is known of it.

    Example: memcli episode show 0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d
    """
    from memcli.base import text as inert
    from memcli.cli import show as words
    from memcli.engine import forget
    from memcli.model import policy

    store = session.store(ctx)
    found = forget.find_episode(store, id)
    if found is None or policy.expired(found, session.now(ctx)):
        raise errors.NotFound("no episode of this id", hint="memcli episode list")
    if found.sensitivity > labels.INTERNAL and not reveal:
        raise errors.Withheld("this episode is withheld: its label is above internal")
    store.check_served(found.source.id, "this episode")
    row = words.episode(found, plain=reveal)
    text = "".join(f"{name}: {inert.one_line(_flat(item))}\n" for name, item in row.items() if name != "text")
    return Output(row, f"{text}\n{row['text']}\n")


def _flat(item: object) -> str:
    if isinstance(item, dict):
        return " ".join(str(v) for v in item.values())
    return ", ".join(map(_flat, item)) if isinstance(item, list) else str(item)


def _evidence(words: str) -> "dict[str, Any]":
    """`image:shot.png,confidence=0.8,page=2` as {modality, source, confidence, metadata}. Raises UsageError."""
    from memcli.engine import intake

    modality, colon, rest = words.partition(":")
    source, *fields = rest.split(",")
    while fields and not fields[0].partition("=")[0].isidentifier():
        source += f",{fields.pop(0)}"  # a name of a file may hold commas
    if not colon or modality not in labels.MODALITIES or not source.strip():
        hint = f"MODALITY:SOURCE with MODALITY one of: {', '.join(labels.MODALITIES)}"
        raise errors.UsageError("the evidence is no MODALITY:SOURCE", hint=hint)
    found: dict[str, Any] = {"modality": modality, "source": source}
    metadata: dict[str, Any] = {}
    for field in fields:
        name, _, value = field.partition("=")
        if name == "confidence":
            found["confidence"] = labels.confidence(value)
        else:
            metadata[name] = intake.number_or_text(value)
    return found | ({"metadata": metadata} if metadata else {})
