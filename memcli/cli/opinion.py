"""`memcli fact confirm` and `memcli fact deny`."""

from memcli.cli import session
from memcli.cli.call import Context, Output
from memcli.model import labels, policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.opinions import Said


def confirm(ctx: Context, key: str, *, source: str | None = None, run: str | None = None) -> Output:
    """Say that a fact still holds: +0.05 confidence, once a run (without one, once a source and day).

    Its age counts from now again.

    Example: memcli fact confirm "deploy target" --source user:sam --run s-2026-11-15
    """
    from memcli.engine import opinions

    said = opinions.confirm(session.store(ctx), key, now=session.now(ctx), source=source, run=run or "")
    return _output(said, "confirmed")


def deny(ctx: Context, key: str, *, source: str | None = None, run: str | None = None) -> Output:
    """Say that a fact does not hold: -0.1 confidence, once a run; below 0.3 it waits for review.

    Example: memcli fact deny "deploy target" --source agent:coder --run run-131
    """
    from memcli.engine import opinions

    said = opinions.deny(session.store(ctx), key, now=session.now(ctx), source=source, run=run or "")
    return _output(said, "denied")


def _output(said: "Said", word: str) -> Output:
    fact = said.fact
    how = word if said.counted else "unchanged"
    data = {"how": how, "id": fact.id, "confidence": round(policy.believed(fact), 4), "digest": fact.digest}
    data |= {
        "confirmations": len(fact.confirmations),
        "denials": len(fact.denials),
        "needs_review": fact.needs_review or None,
    }
    notes = () if said.counted else ("this run (or this source today) has spoken already, or wrote the fact",)
    if fact.sensitivity > labels.INTERNAL:
        data = {"how": how, "id": fact.id}
    return session.with_fanout(Output(data, f"{how}\n", notes=notes), said.fanout)
