"""`memcli retrieve`: one question to all layers, and the answer in words."""

from memcli.cli import session
from memcli.cli.call import Context, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def retrieve(
    ctx: Context,
    query: str = "",
    *,
    layer: tuple[str, ...] = (),
    session_: str | None = None,
    min_importance: str | None = None,
    concept: str | None = None,
    last_hours: float | None = None,
    clearance: str = "internal",
    n: int = 5,
) -> Output:
    """Ask all layers at once: the best few of working memory, facts, episodes and procedures, summed up in words.

    Working memory is that of the named session. Without a query: the most important and the newest. Nothing below
    importance 0.3 unless --min-importance says so.

    Example: memcli retrieve "deploy to production" --session s-2026-11-15
    Example: memcli retrieve --layer episodes --last-hours 24 -n 3
    """
    from memcli.cli import show
    from memcli.engine import dump
    from memcli.engine import retrieve as engine

    found = engine.retrieve(
        session.store(ctx),
        session.text_or_stdin(query) or "",
        now=session.now(ctx),
        layers=layer,
        session=session.session_named(session_),
        n=n,
        min_importance=engine.LEAST_IMPORTANCE if min_importance is None else min_importance,
        concept=concept,
        last_hours=last_hours,
        clearance=labels.sensitivity(clearance),
    )
    data: dict[str, Any] = {"working": [show.held(h) for h in found.working]}
    for name in ("facts", "episodes", "procedures"):
        rows = [dump.row(r) for r in getattr(found, name)]
        data[name] = [{k: v for k, v in row.items() if k != "kind"} for row in rows]
    data = show.scrub(data) | {"summary": found.summary, "withheld": found.withheld, "unread": found.unread}
    data["quarantined"] = [f.id for f in found.facts if f.id in found.quarantined]
    notes = [f"{found.withheld} withheld"] if found.withheld else []
    return Output(data, f"{found.summary}\n", notes=(*notes, *session.unread(found.unread)))
