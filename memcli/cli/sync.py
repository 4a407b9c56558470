"""`memcli sync`: for cron too. Silent when there was nothing to do."""

from memcli.base import value
from memcli.cli import session
from memcli.cli.call import Context, Output, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.sync import Planned


def sync(
    ctx: Context,
    *,
    url: str | None = None,
    message: str | None = None,
    dry_run: bool = False,
    tidy: bool = False,
    yes: bool = False,
) -> Output:
    """Share the store with other machines over a bucket (S3 and what is like it): send what is new here, fetch what is there.

    Commits what changed in the store, unites it with what the others sent, and says nothing when there was nothing to do.
    Credentials and host come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL. The first time it asks
    whether the store, with its whole history, may go there.

    Example: memcli sync --url s3://bucket/team --yes
    Example: memcli sync --dry-run
    """
    from memcli.engine import sync as engine

    store = session.store(ctx)
    where = engine.place(store, url)
    if dry_run:
        planned = engine.plan(store, where)
        return Output(value.as_dict(planned), _would(planned))
    notes: tuple[str, ...] = ()
    if not engine.agreed(store, where):
        label = store.settings["sync.clearance"]
        session.confirm(f"Send this store and its whole history, up to {label} records, to {where}?", yes=yes)
        engine.agree(store, where)
        notes = (Plain(f"this store goes to {where} from now on, with its whole history, up to {label} records"),)
    done = engine.sync(store, where, message=message or "", tidy=tidy)
    text = f"sent {done.sent}, received {done.received} commits\n" if done.sent or done.received else ""
    text += f"tidied {done.tidied} bundles\n" if done.tidied else ""
    return Output(value.as_dict(done), text, notes=notes)


def _would(found: "Planned") -> str:
    sends = [f"{found.commits} commits"] if found.commits else []
    sends += ["what is not committed yet"] if found.changed else []
    lines = [f"would send: {', '.join(sends)}\n"] if sends else []
    lines += [f"would receive: {found.bundles} bundles, {found.size_bytes} bytes\n"] if found.bundles else []
    return "".join(lines)
