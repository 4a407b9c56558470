"""`memcli context`: the block to paste into a prompt."""

from memcli.base import errors
from memcli.cli import session
from memcli.cli.call import Context, Output
from memcli.model import labels


def context(
    ctx: Context,
    task: str | None = None,
    *,
    budget: str | None = None,
    clearance: str | None = None,
    session_: str | None = None,
    task_type: str | None = None,
    domain: str | None = None,
    layer: tuple[str, ...] = (),
    request: str | None = None,
    format: str = "text",
    receipt: str | None = None,
    untrusted: bool = False,
) -> Output:
    """Print what this memory knows for a task, ready for a prompt.

    Nothing above the clearance (internal unless named) comes in, credentials and personal data are replaced by their
    type, and the last line accounts for what was left out. --format json prints the same as data. With nothing to say
    it is an honest short block and exit 0.

    Example: memcli context "how do we deploy to production?" --budget 1500
    Example: memcli context "review the billing change" --format json --receipt receipt.json
    """
    from memcli.engine import context as engine

    labels.choice(format, "format", ("text", "json"))
    if request == "-" and task == "-":
        raise errors.UsageError("stdin can be the task or the request, not both")
    query = engine.Query(
        task=session.text_or_stdin(task) or "",
        task_type=task_type or "",
        domain=domain or "",
        layers=layer or labels.LAYERS,
        session=session.session_named(session_),
        untrusted=untrusted,
        request=None if request is None else engine.read_request(session.file_or_stdin(request)),
    )
    made = engine.build(
        session.store(ctx),
        query,
        now=session.now(ctx),
        clearance=None if clearance is None else labels.sensitivity(clearance),
        limit=None if budget is None else engine.budget(budget),
        receipt=receipt is not None or format == "json" or ctx.json,
    )
    notes = (*([made.note] if made.note else []), *session.unread(made.receipt["unread"]))
    if receipt is not None:
        from memcli.base import named

        named.write(receipt, _json(made.receipt))
    if format == "json":
        return Output(engine.as_json(made), _json({"format": 1, "data": engine.as_json(made)}).decode(), notes=notes)
    return Output(engine.as_json(made) if ctx.json else None, made.text, notes=notes)


def _json(item: object) -> bytes:
    import json

    from memcli.base import text

    return (text.inert_json(json.dumps(item, ensure_ascii=False, indent=2)) + "\n").encode()
