"""What every command needs first: the store that the words and the environment name, the time, and who is asking."""

import os
import sys

from memcli.base import clock, errors
from memcli.store import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.cli.call import Context, Output
    from memcli.engine.fanout import Fanout
    from memcli.store.folder import Store


def store(ctx: "Context") -> "Store":
    """The store that --store, MEMCLI_STORE, the nearest ancestor or the data folder names. Raises NoStore, UsageError."""
    try:
        return folder.open_store(ctx.store, tenant=ctx.tenant)
    except errors.NoStore as e:
        if _in_the_way(e.path or ""):
            e.hint = "a file is in the way; name a folder, or make one with: memcli init DIR"
        raise


def _in_the_way(path: str) -> bool:
    """Whether the path, or what there is of the way to it, ends at something else than a folder."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return not os.path.isdir(path)


def now(ctx: "Context") -> "datetime":
    """--now, else MEMCLI_NOW, else the clock. Raises UsageError, naming the one that is no time."""
    try:
        return clock.now(ctx.now or os.environ.get("MEMCLI_NOW") or None)
    except errors.UsageError as e:
        e.message = f"{'--now' if ctx.now else 'MEMCLI_NOW'}: {e.message}"
        raise


def session_named(named: str | None) -> str:
    """--session, else MEMCLI_SESSION, as it is; "" for none."""
    return named if named is not None else os.environ.get("MEMCLI_SESSION", "")


def session_id(named: str | None) -> str:
    """As `session_named`. Raises UsageError when neither names a session."""
    found = session_named(named)
    if not found.strip():
        raise errors.UsageError("no session is named", hint="--session S, or MEMCLI_SESSION")
    return found


def moment(words: str | None, now: "datetime") -> "datetime | None":
    """An instant (RFC 3339), or so long before now (36h, 30d). Raises UsageError."""
    if words is None:
        return None
    if (words[:1].isdigit() and words[-1:] in "mhdw") or words[:1] == "P":
        return clock.add_minutes(now, -clock.parse_span(words))
    try:
        return clock.parse(words)
    except errors.UsageError as e:
        raise errors.UsageError(e.message, hint=f"{e.hint}; or so long before now: 36h, 30d, 2w") from None


def writer_kind() -> str:
    """The kind of source of a write that names none: a person at a terminal, else unknown."""
    return "user" if os.isatty(0) else "unknown"


def text_or_stdin(words: str | None, *, most_mib: int = 4) -> str | None:
    """The text itself, or for `-` all of stdin without its final newline.

    Raises UsageError when it is not UTF-8, or larger than `most_mib`: whatever is read is held in memory.
    """
    if words != "-":
        return words
    try:
        data = sys.stdin.buffer.read((most_mib << 20) + 1)
        if len(data) > most_mib << 20:
            raise errors.UsageError(f"stdin is larger than {most_mib} MiB", hint="pass it in parts")
        found = data.decode("utf-8")
    except UnicodeDecodeError:
        raise errors.UsageError("stdin is not UTF-8") from None
    except AttributeError:
        raise errors.UsageError("there is no stdin to read") from None
    return found[:-1] if found.endswith("\n") else found


def file_or_stdin(path: str, *, most_mib: int = 64) -> str:
    """The text of a file, or of stdin for `-`. Raises NotFound, UsageError when it is not UTF-8 or too large."""
    if path == "-":
        return text_or_stdin("-", most_mib=most_mib) or ""
    try:
        with open(path, "rb") as f:
            data = f.read((most_mib << 20) + 1)
        if len(data) > most_mib << 20:
            raise errors.UsageError(f"the file is larger than {most_mib} MiB", path=path)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise errors.NotFound("no such file", path=path) from None
    except IsADirectoryError:
        raise errors.NotFound("this is a folder, not a file", path=path) from None
    except UnicodeDecodeError:
        raise errors.UsageError("the file is not UTF-8", path=path) from None


def unread(count: int) -> list[str]:
    """The note of a command that shows many records about those whose file cannot be read; none for none."""
    return [f"{count} cannot be read: memcli doctor"] if count else []


def with_fanout(output: "Output", found: "Fanout | None") -> "Output":
    """The output of a command that refuted a value, with what else that touches."""
    if found is None or output.data is None:
        return output
    from memcli.cli.call import Plain
    from memcli.model import redact

    rows = [
        {"layer": a.layer, "id": a.id, "name": str(redact.mask(a.name)) or None, "why": a.why} for a in found.affected
    ]
    notes: list[str] = [Plain(f"{r['why']}: {r['name'] or r['id']} ({r['layer']})") for r in rows]
    notes += [f"{found.withheld} more withheld"] if found.withheld else []
    notes += ["look at them with: memcli review list"] if notes else []
    output.data |= {"affected": rows, "affected_withheld": found.withheld}  # type: ignore[operator]
    output.notes = (*output.notes, *notes)
    return output


def confirm(question: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere only --yes goes on. Raises Refused."""
    if yes:
        return
    if not (os.isatty(0) and os.isatty(2)):
        raise errors.Refused("this needs a yes, and nobody can be asked", hint="--yes, or look first with --dry-run")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise errors.Refused("not done")
