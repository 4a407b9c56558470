"""Advice that works when it is pasted: a `memcli VERB` in a hint or a note carries the store and tenant of the call."""

from memcli.base import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.cli.call import Context

_MEMCLI = "memcli "
_LONG = 16  # no key of a vendor is shorter, and none is only words


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
