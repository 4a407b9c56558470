"""`memcli procedure ...`: ways of doing a task that have worked."""

import json
import os

from memcli.base import errors
from memcli.cli import session
from memcli.cli.call import Context, Listing, Output
from memcli.model import keys, labels, policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from memcli.engine.view import View
    from memcli.model.records import Procedure


def propose(
    ctx: Context,
    key: str,
    text: str | None = None,
    *,
    step: tuple[str, ...] = (),
    title: str | None = None,
    task_type: str | None = None,
    trigger: str | None = None,
    tag: tuple[str, ...] = (),
    source: str | None = None,
    confidence: str | None = None,
    sensitivity: str | None = None,
    importance: str | None = None,
    include_forgotten: bool = False,
) -> Output:
    """Propose a procedure; it is pending until somebody approves it.

    Example: memcli procedure propose "release" --step "Freeze: announce it" --step "Ship: make ship" --task-type release
    Example: memcli procedure propose "deploy" --step "Ship: make ship | expected: exit 0 | parameters: env=prod | optional"
    """
    from memcli.engine import procedural

    made = procedural.propose(
        session.store(ctx),
        key,
        tuple(procedural.parse_step(s) for s in step),
        now=session.now(ctx),
        text=session.text_or_stdin(text) or "",
        title=title or "",
        task_type=task_type or "",
        trigger=trigger or "",
        tags=tag,
        source=source,
        confidence=confidence,
        sensitivity=sensitivity,
        importance=importance,
        default_kind=session.writer_kind(),
        include_forgotten=include_forgotten,
    )
    return _changed(made, "proposed")


def approve(ctx: Context, key: str, *, by: str | None = None) -> Output:
    """Validate a procedure; it is on trial until it has been used three times.

    An agent cannot approve what it proposed itself.

    Example: memcli procedure approve "release" --by user:anna
    """
    from memcli.engine import procedural

    store, now, kind = session.store(ctx), session.now(ctx), session.writer_kind()
    return _changed(procedural.approve(store, key, now=now, by=by, default_kind=kind), "approved")


def reject(ctx: Context, key: str, *, by: str | None = None) -> Output:
    """Set a procedure aside: it is kept and never served.

    An agent cannot reject what it proposed itself.

    Example: memcli procedure reject "release" --by user:anna
    """
    from memcli.engine import procedural

    store, now, kind = session.store(ctx), session.now(ctx), session.writer_kind()
    return _changed(procedural.reject(store, key, now=now, by=by, default_kind=kind), "rejected")


def record(
    ctx: Context, key: str, *, success: bool = False, failure: bool = False, duration_ms: int | None = None
) -> Output:
    """Say how one use of a procedure went.

    Example: memcli procedure record "release" --success --duration-ms 840000
    """
    from memcli.engine import procedural

    if success == failure:
        raise errors.UsageError("say how it went: --success or --failure")
    made = procedural.record(session.store(ctx), key, success=success, now=session.now(ctx), duration_ms=duration_ms)
    return _changed(made, "recorded")


def best(ctx: Context, task_type: str, *, clearance: str = "internal", n: int = 5) -> Listing:
    """List the procedures for a kind of task, best first.

    Past their trial first, then those that a person validated, then by success.

    Example: memcli procedure best release
    """
    from memcli.engine import procedural

    now = session.now(ctx)
    seen = _seen(ctx, clearance)
    return _listing(procedural.best(list(seen.procedures), task_type, now, n), now, seen)


def list_(ctx: Context, *, state: str | None = None, clearance: str = "internal") -> Listing:
    """List procedures: state, successes of runs, key, and why one should be reviewed.

    Example: memcli procedure list --state pending
    """
    if state is not None:
        labels.choice(state, "state", labels.PROCEDURE_STATES)
    seen = _seen(ctx, clearance)
    return _listing([p for p in seen.procedures if state in (None, p.state)], session.now(ctx), seen)


def show(ctx: Context, key: str, *, reveal: bool = False) -> Output:
    """Show a procedure with its steps and the record of its use.

    Example: memcli procedure show "release to production"
    """
    from memcli.base import text as inert
    from memcli.cli import show as words
    from memcli.store import procedures

    store = session.store(ctx)
    found = procedures.get(store, keys.normal(key))
    if found is None:
        raise errors.NotFound("no procedure of this key", hint="memcli procedure list")
    if found.sensitivity > labels.INTERNAL and not reveal:
        raise errors.Withheld("this procedure is withheld: its label is above internal")
    store.check_served(found.source.id, "this procedure")
    row = _row(found, session.now(ctx))
    if not reveal:
        row = words.scrub(row)
    lines = [
        f"{n.replace('_', ' ')}: {inert.one_line(_flat(v))}\n"
        for n, v in row.items()
        if n not in ("steps", "text") and v not in (None, "", [])
    ]
    steps = [_step(i, s) for i, s in enumerate(row["steps"], 1)]
    return Output(row, "".join([*lines, "\n", f"{row['text']}\n\n" if row["text"] else "", *steps]))


def export_skill(ctx: Context, key: str, directory: str, *, force: bool) -> Output:
    """Write a procedure as NAME/SKILL.md below a folder."""
    from memcli.engine import procedural

    path = procedural.write_skill(session.store(ctx), key, directory, force=force)
    return Output({"path": path, "name": os.path.basename(os.path.dirname(path))}, f"{path}\n")


def _flat(item: object) -> str:
    """A field on one line: a source as KIND:ID, a list with commas."""
    if isinstance(item, dict):
        return f"{item['kind']}:{item['id']}" if "kind" in item and "id" in item else json.dumps(item)
    return ", ".join(map(_flat, item)) if isinstance(item, list) else str(item)


def _step(number: int, step: "dict[str, Any]") -> str:
    """A step as it is said to `procedure propose --step`, with its number."""
    from memcli.engine import procedural

    parts = [f"{step['name']}: {step['action']}" if step["name"] else step["action"]]
    parts += [f"expected: {step['expected']}"] if step.get("expected") else []
    if step.get("parameters"):
        parts.append(f"parameters: {procedural.show_parameters(step['parameters'])}")
    parts += ["optional"] if step.get("optional") else []
    return f"{number}. {' | '.join(parts)}\n"


def _seen(ctx: Context, clearance: str) -> "View":
    from memcli.engine import view

    return view.survey(session.store(ctx), session.now(ctx), labels.sensitivity(clearance), layers=("procedures",))


def _listing(found: "list[Procedure]", now: "datetime", seen: "View") -> Listing:
    from memcli.cli import show as words

    rows = [words.scrub(_row(p, now)) for p in found]
    text = "".join(
        f"{p.state}\t{p.successes}/{p.runs}\t{words.one_line(p.key)}"
        + (f"\tneeds review: {due}" if (due := policy.procedure_review(p, now)) else "")
        + "\n"
        for p in found
    )
    notes = [f"{seen.withheld} withheld"] if seen.withheld else []
    return Listing(rows, text, notes=(*notes, *session.unread(seen.unread)))


def _row(found: "Procedure", now: "datetime") -> "dict[str, Any]":
    from memcli.engine import dump

    row = dump.procedure_row(found)
    del row["kind"]
    row["needs_review"] = policy.procedure_review(found, now) or None
    row["success_rate"] = round(found.successes / found.runs, 4) if found.runs else None
    return row | {"path": f"procedures/{found.name}.md"}


def _changed(made: "Procedure", how: str) -> Output:
    data = {"how": how, "id": made.id, "state": made.state, "runs": made.runs, "successes": made.successes}
    return Output(data | {"rate": made.rate}, f"{how}\n")
