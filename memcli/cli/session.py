"""What every command needs first: the store that the words and the environment name, the time, and who is asking."""

import os
import sys

from memcli.base import clock, errors, files
from memcli.store import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from memcli.cli.call import Context, Output
    from memcli.engine.fanout import Fanout
    from memcli.store.folder import Store

_MEMCLI = "memcli "
_LONG = 16  # no key of a vendor is shorter, and none is only words


def store(ctx: "Context") -> "Store":
    """The store that --store, MEMCLI_STORE, the nearest ancestor or the data folder names. Raises NoStore, UsageError."""
    return folder.open_store(ctx.store, tenant=ctx.tenant)


def follow(ctx: "Context", words: str) -> str:
    """Advice whose every `memcli VERB` works on the store of this call: with the --store and --tenant of its command line.

    Who pastes it works on that store from any folder; what the environment names, the follow-up finds by itself. Words
    in quotes stay as they are: they are keys and other names, no advice. A path that holds a credential is not repeated.
    """
    if (ctx.store is None and ctx.tenant is None) or _MEMCLI not in words:
        return words
    pieces, at = [], 0
    while (found := words.find(_MEMCLI, at)) >= 0:
        quoted = _past_quotes(words, at, found)
        after = quoted or found + len(_MEMCLI)
        pieces.append(words[at:after])
        if not quoted and words[found - 1 : found] in ("", " ", "(", "`"):
            given, after = _given(ctx, words, after)
            pieces += given
        at = after
    return "".join((*pieces, words[at:]))


def _past_quotes(words: str, at: int, found: int) -> int:
    """Where the quotes end that are open at `found`; 0 where none are. An apostrophe in a word opens none."""
    while at < found:
        mark = words[at]
        if mark in "'\"" and words[at - 1 : at] in ("", " ", "("):
            ends = [e for end in (" ", ";", ",", ")", ".") if (e := words.find(mark + end, at + 1)) >= 0]
            end = min(ends, default=len(words) - 1 if words[at + 1 :].endswith(mark) else 0)
            if end > found:
                return end + 1
            at = max(at, end)
        at += 1
    return 0


def _given(ctx: "Context", words: str, at: int) -> tuple[list[str], int]:
    """What goes between `memcli` and the words at `at`, and where they go on."""
    from memcli.cli import table

    store, tenant = _option("--store", ctx.store, "DIR"), _option("--tenant", ctx.tenant, "NAME")
    if words.startswith("--tenant ", at):
        return store, at
    verb = words[at:].split(maxsplit=1)[0].rstrip(".,;:)`") if words[at:].strip() else ""
    if verb not in table.children("") or words[at - 1 : at + 1].isspace():
        return [], at
    if verb != "init" or not store:
        return store + tenant, at
    if words.startswith("init DIR", at):
        return tenant, at
    folder = "init [DIR]"  # the folder is named already
    return (store + tenant + ["init"], at + len(folder)) if words.startswith(folder, at) else (store + tenant, at)


def _option(flag: str, value: str | None, unsaid: str) -> list[str]:
    """`--store PATH ` for a shell; `--store DIR ` where the path is not to be repeated, so that it finds no store."""
    if not value:
        return [] if value is None else [f"{flag} {unsaid} "]
    if flag == "--store":
        value = files.absolute(value)
    letters = value.replace("/", "").replace("_", "").replace("-", "").replace(".", "")
    plain = letters.isascii() and letters.isalnum()
    # To load the scanner costs more than a whole answer, so the paths that can hold nothing go without it.
    if not plain or any(len(run) >= _LONG for run in value.replace("-", "/").replace("_", "/").split("/")):
        from memcli.model import redact

        if redact.scan(value, families=("secret",)):
            return [f"{flag} {unsaid} "]
    # As shlex.quote does; that module is a heavy one for a line.
    return [f"{flag} {value if plain else _quoted(value)} "]


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\"'\"'") + "'"


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
