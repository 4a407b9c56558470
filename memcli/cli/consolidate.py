"""`memcli remember` and `memcli consolidate`: from what was said to what is kept."""

from memcli.base import clock, errors
from memcli.cli import advice, session
from memcli.cli.call import Context, Listing, Output, Plain
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memcli.engine.consolidate import Report
    from memcli.engine.memorize import Remembered
    from memcli.model.records import Episode, Fact


def remember(
    ctx: Context,
    text: str,
    *,
    session_: str | None = None,
    role: str | None = None,
    no_extract: bool = False,
    source: str | None = None,
    agent: str | None = None,
    confidence: str | None = None,
    ttl: str | None = None,
    sensitivity: str | None = None,
    tag: tuple[str, ...] = (),
    importance: str | None = None,
    modality: str | None = None,
    allow_secret: bool = False,
    allow_pii: bool = False,
    include_forgotten: bool = False,
) -> Output:
    """Keep a text wherever it belongs: working memory, an episode, and as proposals the facts that it states.

    Working memory when a session is named, an episode from importance 0.4 on (0.5 unless named). Proposed facts wait for
    more witnesses or for a review; they are not facts yet, unless promotion.policy in memcli.toml says "immediate".

    Example: memcli remember "The deploy target is Fly.io." --session s-2026-11-15
    """
    from memcli.engine import memorize

    done = memorize.run(
        session.store(ctx),
        session.text_or_stdin(text) or "",
        now=session.now(ctx),
        session=session.session_named(session_),
        role=role or "",
        extract=not no_extract,
        source=source,
        agent=agent or "",
        confidence=confidence,
        ttl_minutes=None if ttl is None else clock.parse_ttl(ttl),
        sensitivity=sensitivity,
        tags=tag,
        importance=importance,
        modality=modality or "text",
        allow_secret=allow_secret,
        allow_pii=allow_pii,
        include_forgotten=include_forgotten,
        default_kind=session.writer_kind(),
    )
    return _remembered(done)


def _remembered(done: "Remembered") -> Output:
    data: dict[str, Any] = {
        "working": done.working or None,
        "episode": done.episode.id if done.episode else None,
        "repeated": done.repeated,
        "proposed": _rows(done.proposed),
        "again": _rows(done.again),
        "written": _rows(done.written),
        "known": done.known,
    }
    lines = [f"working {done.working}\n"] if done.working else []
    lines += [f"episode {done.episode.id}\n"] if done.episode else []
    lines += [*_lines("proposed", done.proposed), *_lines("seen again", done.again), *_lines("fact", done.written)]
    notes = (*done.notes, "an episode with this text stands already") if done.repeated else done.notes
    return Output(data, "".join(lines), notes=notes)


def consolidate(
    ctx: Context,
    *,
    session_: str | None = None,
    all: bool = False,
    transcript: str | None = None,
    task: str | None = None,
    outcome: str | None = None,
    agent: str | None = None,
    dry_run: bool = False,
) -> Listing:
    """Make an episode and proposed facts of what a session held in mind, or of its transcript; clean up what is stale.

    Running it again adds nothing. --all takes every session that has a working memory and is silent when there is
    nothing to do. A run whose outcome is failed or partial leaves an episode and no facts. A transcript is plain text, JSON
    lines of {role, content}, or Claude Code's.

    Example: memcli consolidate --session s-2026-11-15 --task "Fix the refund webhook" --outcome completed
    Example: memcli consolidate --session s-2026-11-15 --transcript session.jsonl --dry-run
    Example: memcli consolidate --all
    """
    from memcli.engine import consolidate as engine
    from memcli.engine import digest

    store, now = session.store(ctx), session.now(ctx)
    if all:
        if session_ is not None or transcript is not None or task is not None or outcome is not None:
            raise errors.UsageError(
                "--all takes every session as it is", hint="leave out --session and what is about one"
            )
        reports, failed = engine.run_all(store, now=now, dry_run=dry_run)
        return _reports(reports, _failed(ctx, failed), dry_run=dry_run)
    name = session.session_id(session_)
    said = None
    if transcript is not None:
        from memcli.engine import transcript as reader

        said = reader.read(session.file_or_stdin(transcript))
    about = digest.About(task=task or "", outcome=outcome or "", agent=agent or "")
    report = engine.run(store, name, now=now, transcript=said, about=about, dry_run=dry_run)
    return _reports([report], ("nothing new to keep of this session",) if report.quiet else (), dry_run=dry_run)


def _failed(ctx: Context, failed: "list[tuple[str, Exception | None]]") -> tuple[str, ...]:
    """What is said of sessions that were passed over."""
    from memcli.cli import main, show

    notes: list[str] = []
    for name, error in failed:
        if error is not None:
            known = main.known(error)
            hint = f"; {advice.follow(ctx, known.hint)}" if known.hint else ""
            notes.append(Plain(f"the session {show.one_line(name)} was passed over: {known.message}{hint}"))
    unread = sum(error is None for _, error in failed)
    if unread:
        notes.append(f"{unread} sessions could not be read")
    if failed:
        notes.append(f"passed over: {len(failed)}; that keeps no other session")
    return tuple(notes)


def _reports(reports: "list[Report]", notes: tuple[str, ...], *, dry_run: bool) -> Listing:
    text = []
    for report in reports:
        if not report.quiet:
            text.append(_head(report, dry_run=dry_run))
            text += _lines("  proposed", report.proposed)
            text += _lines("  seen again", report.again)
            text += _lines("  fact", report.written)
        notes += report.notes
        if report.left:
            notes += (f"{report.left} statements are left for the next pass",)
        if report.purged:
            notes += (f"{report.purged} left out: what they say was purged",)
        if report.blocked:
            notes += (f"{report.blocked} of a blocked source passed over; memcli source list",)
        if report.skipped:
            notes += (f"{report.skipped} lines of the transcript could not be read",)
    return Listing([_row(r) for r in reports], "".join(text), notes=tuple(dict.fromkeys(notes)))


def _head(report: "Report", *, dry_run: bool) -> str:
    from memcli.cli import show

    counts = {
        "episode" if len(report.episodes) == 1 else "episodes": len(report.episodes),
        "proposed": len(report.proposed),
        "seen again": len(report.again),
        "fact" if len(report.written) == 1 else "facts": len(report.written),
        "known already": report.known,
        "cleaned up": report.cleaned,
    }
    said = [f"{count} {name}" for name, count in counts.items() if count]
    said += ["a procedure proposed"] if report.procedure else []
    would = "would be: " if dry_run else ""
    return f"{show.one_line(report.session)}: {would}{', '.join(said)}\n"


def _row(report: "Report") -> "dict[str, Any]":
    from memcli.cli import show

    row = {
        "session": report.session,
        "episodes": [_episode(e) for e in report.episodes],
        "proposed": _rows(report.proposed),
        "again": _rows(report.again),
        "written": _rows(report.written),
        "procedure": report.procedure or None,
        "unchanged": report.unchanged,
        "known": report.known,
        "left": report.left,
        "repeated": report.repeated,
        "cleaned": report.cleaned,
        "skipped": report.skipped,
        "purged": report.purged,
        "blocked": report.blocked,
        "unlearned": report.unlearned,
    }
    found: dict[str, Any] = show.scrub(row)
    return found


def _episode(made: "Episode") -> "dict[str, Any]":
    row = {"id": made.id, "at": clock.show(made.at), "sensitivity": str(made.sensitivity), "outcome": made.outcome}
    return row | ({"task": made.task, "text": made.text} if made.sensitivity <= labels.INTERNAL else {})


def _rows(found: "Iterable[Fact]") -> "list[dict[str, Any]]":
    """Proposals and facts as data; of what is above internal only that it is there."""
    from memcli.cli import show
    from memcli.store import proposals

    rows = []
    for fact in found:
        row: dict[str, Any] = {"id": fact.id, "sensitivity": str(fact.sensitivity)}
        if fact.sensitivity <= labels.INTERNAL:
            row |= {"key": fact.key, "text": fact.text, "domain": fact.domain, "source": str(fact.source)}
            row |= {"observations": proposals.observations(fact), "confidence": fact.confidence}
        rows.append(show.scrub(row))
    return rows


def _lines(word: str, found: "Iterable[Fact]") -> list[str]:
    from memcli.cli import show

    shown = [f for f in found if f.sensitivity <= labels.INTERNAL]
    lines = [f"{word}\t{show.one_line(f.key)}\t{show.one_line(f.text)}\n" for f in shown]
    hidden = len(list(found)) - len(shown)
    return [*lines, f"{word}\t{hidden} withheld\n"] if hidden else lines
