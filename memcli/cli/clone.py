"""`memcli git`: what one clone of a store must know."""

from memcli.cli import session
from memcli.cli.call import Context, Output


def setup(ctx: Context, *, check: bool = False) -> Output:
    """Tell this clone's git to merge the store with memcli's driver, which keeps both sides; once a clone.

    It writes the drivers into the configuration of the repository that holds the store, limits the detection of renames
    when the repository holds nothing else, and adds what the store's .gitattributes lacks. --check only says what is
    lacking and exits 4 when something is.

    Example: memcli git setup
    Example: memcli git setup --check
    """
    from memcli.engine import clone

    done = clone.setup(session.store(ctx), check=check)
    lacking = (*done.config, *done.files)
    how = ("lacking" if check else "set up") if lacking else "unchanged"
    data = {
        "how": how,
        "top": done.top,
        "config": list(done.config),
        "files": list(done.files),
        "notes": list(done.notes),
    }
    text = "".join(f"lacking: {name}\n" for name in lacking) if check and lacking else f"{how}\n"
    return Output(data, text, notes=done.notes, exit_code=4 if check and lacking else 0)
