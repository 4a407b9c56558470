"""`memcli sweep`: for cron. Silent when there is nothing to do."""

from memcli.base import errors
from memcli.cli import session
from memcli.cli.call import Context, Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.sweep import Action, Plan
    from memcli.store.folder import Store


_PROMOTED = "promoted proposed/facts"


def sweep(ctx: Context, *, dry_run: bool = False, yes: bool = False) -> Output:
    """Move what has expired or faded into the archive, and promote what was seen often enough; else it says nothing.

    Stops (exit 6) when more than a fifth of the facts would end at once or the clock is behind the newest record;
    --yes goes on. All of it comes back with `restore`.

    Example: memcli sweep --dry-run
    """
    from memcli.engine import sweep as engine

    store, now = session.store(ctx), session.now(ctx)
    plan = engine.plan(store, now)
    stop = None if yes else _stop(store, plan)
    if dry_run:
        output = _output(list(plan.actions), [], "would end", "would promote")
        output.notes = () if stop is None else (f"the sweep itself would stop: {stop.message}; {stop.hint}",)
        return output
    if stop is not None:
        raise stop
    report = engine.apply(store, plan)
    return _output(list(report.done), list(report.skipped), "ended", "promoted")


def _stop(store: "Store", plan: "Plan") -> errors.Brake | None:
    """What would stop this sweep."""
    from memcli.engine import sweep as engine

    try:
        engine.check_brake(store, plan)
    except errors.Brake as e:
        return e
    return None


def _output(done: "list[Action]", skipped: "list[Action]", word: str, promoted: str) -> Output:
    counts: dict[str, int] = {}
    for action in done:
        name = f"{action.reason} {action.layer}"
        counts[name] = counts.get(name, 0) + 1
    ended = [f"{n} {name.replace('proposed/facts', 'proposals')}" for name, n in counts.items() if name != _PROMOTED]
    text = f"{word}: {', '.join(ended)}\n" if ended else ""
    text += f"{promoted}: {counts[_PROMOTED]} proposals\n" if _PROMOTED in counts else ""
    rows = [{"layer": a.layer, "id": a.id, "reason": a.reason} for a in done]
    data = {"actions": rows, "skipped": len(skipped), "counts": counts}
    return Output(data, text)
