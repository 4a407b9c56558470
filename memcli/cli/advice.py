"""Advice that works when it is pasted: a `memcli VERB` in a hint or a note carries the store and tenant of the call.

What of a path may be said, in advice and in an error, is settled here too.
"""

from memcli.base import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.cli.call import Context

_MEMCLI = "memcli "
_LONG = 16  # no key of a vendor is shorter, and none is only words
_BREAKS = dict.fromkeys(map(ord, "-_"), "/")
_NO_MARKS = dict.fromkeys(map(ord, "/_-."))


def follow(ctx: "Context", words: str) -> str:
    """Advice whose every `memcli VERB` works on the store of this call: with the --store and --tenant of its command line.

    Who pastes it works on that store from any folder; what the environment names, the follow-up finds by itself. Words
    in quotes stay as they are: they are keys and other names, no advice. A path that holds a credential is not repeated.
    """
    if (ctx.store is None and ctx.tenant is None) or _MEMCLI not in words:
        return words
    pieces, said, at, begins = [], 0, 0, True
    while at < len(words):
        if begins and (end := _past_quotes(words, at)):
            at = end  # the next quotes may follow at once: a shell's 'a'"'"'b' is one word
        elif begins and words.startswith(_MEMCLI, at):
            given, end = _given(ctx, words, at + len(_MEMCLI))
            pieces += [words[said : at + len(_MEMCLI)], *given]
            at = said = end
        else:
            begins = words[at] in " (`"
            at += 1
    return "".join((*pieces, words[said:]))


def _past_quotes(words: str, at: int) -> int:
    """Where the quotes end that open at `at`, as a shell reads them; 0 where none do.

    A mark before a letter closes nothing: no shell's word is quoted so, but Python writes 'it\\'s' for a name.
    """
    mark, end = words[at], at
    while mark in "'\"" and (end := words.find(mark, end + 1)) > 0:
        before = words[at + 1 : end]
        escaped = mark == '"' and (len(before) - len(before.rstrip("\\"))) % 2
        if not escaped and not words[end + 1 : end + 2].isalnum():
            return end + 1
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
    """`--store PATH ` for a shell; `--store DIR ` where the path is not to be repeated, so that it finds no store.

    Nor is one that cannot be printed: shown as an escape, a line break in it would name another folder.
    """
    if not value:
        return [] if value is None else [f"{flag} {unsaid} "]
    if flag == "--store":
        value = files.absolute(value)
    if not value.isprintable() or masked(value) != value:
        return [f"{flag} {unsaid} "]
    # As shlex.quote does; that module is a heavy one for a line.
    return [f"{flag} {value if _plain(value) else _quoted(value)} "]


def masked(path: str) -> str:
    """The path with each credential in it replaced by its kind."""
    # To load the scanner costs more than a whole answer, so the paths that can hold nothing go without it.
    if _plain(path) and all(len(run) < _LONG for run in path.translate(_BREAKS).split("/")):
        return path
    from memcli.model import redact

    return str.__str__(redact.mask(path, families=("secret",)))


def _plain(value: str) -> bool:
    letters = value.translate(_NO_MARKS)
    return letters.isascii() and letters.isalnum()


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\"'\"'") + "'"
