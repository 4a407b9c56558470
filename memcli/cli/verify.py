"""`memcli verify`: does what the facts say still hold?"""

from memcli.cli import session
from memcli.cli.call import Context, Listing


def verify(ctx: Context, key: str | None = None, *, allow_commands: bool = False) -> Listing:
    """Run the checks that facts carry (path, git object, command); stale facts are hedged in the context.

    Commands run only with --allow-commands: read them first. Exit 4 when something is stale.

    Example: memcli verify
    Example: memcli verify "config file" --allow-commands
    """
    from memcli.cli import show
    from memcli.engine import verify as engine

    found = engine.verify(session.store(ctx), key, now=session.now(ctx), allow_commands=allow_commands)
    named = engine.open_to_all(found)
    rows = [{"key": v.fact.key, "id": v.fact.id, "state": v.state, "why": v.why} for v in named]
    text = "".join(f"{v.state}\t{show.one_line(v.fact.key)}\t{v.why}\n" for v in named)
    counts = engine.counts(found)
    notes = [f"{len(found) - len(named)} withheld"] if len(found) > len(named) else []
    return Listing(show.scrub(rows), text, notes=tuple(notes), exit_code=4 if counts["stale"] else 0)
