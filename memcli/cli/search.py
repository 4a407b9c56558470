"""`memcli search`: find records by their words."""

from memcli.cli import session
from memcli.cli.call import Context, Listing
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.search import Found, Hit


def search(
    ctx: Context,
    query: str,
    *,
    layer: tuple[str, ...] = (),
    tag: tuple[str, ...] = (),
    domain: str | None = None,
    source: str | None = None,
    session_: str | None = None,
    outcome: str | None = None,
    concept: str | None = None,
    prefix: str | None = None,
    since: str | None = None,
    until: str | None = None,
    last_hours: float | None = None,
    min_confidence: str | None = None,
    min_importance: str | None = None,
    clearance: str = "internal",
    as_of: str | None = None,
    fresh: bool = False,
    explain: bool = False,
    n: int = 20,
) -> Listing:
    """Find facts, episodes, procedures and what a session holds by their words, best first.

    "Quoted phrases" must stand as they are, -words must not stand at all. What is above the clearance is never found.
    With MEMCLI_SESSION the working memory of that session is searched too; --session S searches what belongs to S alone,
    its episodes and its working memory.
    --as-of searches what was known on a past day, from the archive too.

    Example: memcli search "deploy production"
    Example: memcli search "deploy target" --as-of 2026-09-01
    Example: memcli search 'release -failed "smoke test"' --explain
    """
    from memcli.engine import search as engine
    from memcli.store import retrievals

    mine = session.session_id(session_) if layer == ("working",) else session.session_named(session_)
    now = session.now(ctx)
    first, last = session.moment(since, now), session.moment(until, now)
    times: dict[str, Any] = {"last_hours": last_hours, "since": first, "until": last}
    least: dict[str, Any] = {"min_confidence": min_confidence or 0.0, "min_importance": min_importance or 0.0}
    texts = {"domain": domain, "source": source, "outcome": outcome, "concept": concept, "prefix": prefix}
    kind: dict[str, Any] = {"layers": layer or engine.EVERYWHERE, "tags": tag, "session": session_, **texts}
    wanted = engine.filters(now, **kind, **least, **times)
    store, said = session.store(ctx), session.text_or_stdin(query) or ""
    found = engine.search(
        store,
        said,
        now=now,
        limit=n,
        clearance=labels.sensitivity(clearance),
        as_of=session.moment(as_of, now),
        fresh=fresh,
        filters=wanted,
        session=mine,
    )
    served = [(h.record.id, h.relevance) for h in found.hits]
    retrievals.note(store, "search", said, now=now, served=served, verdict=found.verdict)
    return Listing([_row(h) for h in found.hits], "".join(_line(h, explain) for h in found.hits), notes=_notes(found))


def _notes(found: "Found") -> tuple[str, ...]:
    notes = [f"{found.more} more; -n 0 shows all"] if found.more else []
    notes += [f"{found.withheld} withheld"] if found.withheld else []
    notes += session.unread(found.unread)
    notes += [] if found.hits else ["nothing found"]
    return (*notes, found.note) if found.note else tuple(notes)


def _row(hit: "Hit") -> "dict[str, Any]":
    from memcli.cli import show
    from memcli.engine import dump
    from memcli.model.records import Episode, Fact, Procedure

    if isinstance(hit.record, (Fact, Episode, Procedure)):
        row = dump.row(hit.record)
        layer = f"{row.pop('kind')}s"
    else:
        layer, row = "working", show.held(hit.record)
    scrubbed: dict[str, Any] = show.scrub(row)
    return {"layer": layer, "score": hit.score, "relevance": hit.relevance, "why": hit.why, **scrubbed}


def _line(hit: "Hit", explain: bool) -> str:
    from memcli.cli import show

    return show.record_line(hit.record) + (show.terms(hit.score, hit.why) if explain else "")
