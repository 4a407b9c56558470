"""`memcli merge-driver`: what git calls when both sides changed a file of a store."""

from memcli.cli.call import Context, Output, Plain


def merge_driver(ctx: Context, kind: str, base: str, ours: str, theirs: str, place: str) -> Output:
    """Merge one file of a store for git; `memcli git setup` tells git to call it.

    Exit 0 when it is merged, 1 when a conflict is left in OURS for a person.

    Example: memcli merge-driver meta %O %A %B %P
    """
    from memcli.engine import merge

    done = merge.drive(kind, base, ours, theirs, place)
    data = {"merged": done.merged, "why": done.why or None}
    if done.merged:
        return Output(data)
    return Output(data, notes=(Plain(f"conflict left in {place}: {done.why}"),), exit_code=1)
