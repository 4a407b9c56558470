"""`memcli forget` and `memcli restore`: any record, by key or id."""

from memcli.cli import session
from memcli.cli.call import Context, Output


def forget(ctx: Context, record: str, *, yes: bool = False, dry_run: bool = False, purge: bool = False) -> Output:
    """Put a record into the trash, where `restore` finds it for at least 30 days.

    --purge erases its former values too; git history is not touched.

    Example: memcli forget "code freeze" --yes
    """
    from memcli.engine import forget as engine

    store, now = session.store(ctx), session.now(ctx)
    if not dry_run:
        found = engine.forget(store, record, now=now, purge=purge, dry_run=True)
        session.confirm(_question(found, purge), yes=yes)
    done = engine.forget(store, record, now=now, purge=purge, dry_run=dry_run)
    word = "would forget" if dry_run else "forgotten"
    data = {"how": word, "layer": done.layer, "ids": list(done.ids), "erased": done.erased}
    erased = f", {done.erased} former values erased" if done.erased else ""
    return Output(data, f"{word}{erased}\n")


def restore(ctx: Context, record: str) -> Output:
    """Bring back a record that was forgotten, expired, faded or superseded.

    Example: memcli restore "code freeze"
    """
    from memcli.engine import forget as engine

    back = engine.restore(session.store(ctx), record, now=session.now(ctx))
    return Output({"how": "restored", "id": back.id, "sensitivity": str(back.sensitivity)}, "restored\n")


def _question(found: "object", purge: bool) -> str:
    return "Erase this record and its former values for good?" if purge else "Put this record into the trash?"
