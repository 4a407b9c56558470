"""Write the pages of the reference that follow from the program: `python docs/reference/generate.py`.

With --check nothing is written; exit 1 when a page is not what the program says.
"""

import importlib
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TOP))

import memcli  # noqa: E402
from memcli.base import errors  # noqa: E402
from memcli.cli import call, full, quick, table, words  # noqa: E402
from memcli.cli.words import WORDS  # noqa: E402
from memcli.model import settings  # noqa: E402

NOTICE = "<!-- Written by docs/reference/generate.py; change the program, not this page. -->\n"


def main(words: list[str]) -> int:
    """Write or check all pages; the exit code."""
    stale = [name for name, text in pages().items() if _present(name) != text]
    if "--check" in words:
        for name in stale:
            print(f"docs/reference/{name} is stale; python docs/reference/generate.py")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).write_text(pages()[name], "utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


def pages() -> dict[str, str]:
    """File name to text of every generated page."""
    return {"commands.md": commands(), "configuration.md": configuration(), "exit-codes.md": exit_codes()}


def _present(name: str) -> str:
    path = HERE / name
    return path.read_text("utf-8") if path.exists() else ""


# --- Commands


def commands() -> str:
    """Every command: what it does, usage, arguments, options, examples."""
    parts = [
        "# Commands\n",
        NOTICE,
        "`memcli [OPTIONS] COMMAND [ARGUMENTS]`. Options before the command choose the store; options of a command may\n"
        "stand before or after its arguments. `--` ends the options: what follows is an argument even if it begins with\n"
        "`-`. `-` as a value reads stdin where the command says so. A lone option value that begins with `-` is written\n"
        "`--name=-x`.\n",
        _listing("Before the command", _root_options()),
        "stdout is data, stderr is talk; [exit codes](exit-codes.md). Every command has `--json`\n"
        "([what it prints](json.md)); commands that list have `--jsonl` too, one bare record a line.\n",
        _contents(),
    ]
    parts += [_section(path) for path in table.COMMANDS]
    return "\n".join(parts)


def _root_options() -> list[tuple[str, str]]:
    named = (("--store DIR", "store"), ("--tenant NAME", "tenant"), ("--now TIME", "now"), ("--version", "version"))
    rows = [(flag, WORDS[name]) for flag, name in named]
    return [*rows, ("--show-completion", "print the completion script of this shell"), ("-h, --help", "show help")]


def _contents() -> str:
    rows = [f"| [{path}](#{_anchor(path)}) | {_cell(full.help_line(path))} |" for path in table.COMMANDS]
    return "\n".join(["| command | what it does |", "|---|---|", *rows]) + "\n"


def _anchor(path: str) -> str:
    return f"memcli {path}".replace(" ", "-")


def _section(path: str) -> str:
    function: Any = table.load(path)
    about, examples = split_help(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    arguments = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    parts = [f"## memcli {path}\n", f"{about}\n", f"```text\n{usage(path)}\n```\n"]
    if arguments:
        parts.append(_listing("Arguments", [_argument(path, p) for p in arguments]))
    shown = [_option(path, p) for p in options] + [("--json", WORDS["json"])]
    shown += [("--jsonl", WORDS["jsonl"])] if call.lists(function) else []
    parts.append(_listing("Options", shown))
    parts.append("\n".join(["```bash", *examples, "```"]) + "\n")
    return "\n".join(parts)


def split_help(function: Any) -> tuple[str, list[str]]:
    """A command's docstring as what it says and its examples."""
    lines = inspect.cleandoc(function.__doc__ or "").split("\n")
    examples = [line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")]
    said = [line for line in lines if not line.startswith("Example: ")]
    return "\n".join(said).strip(), examples


def usage(path: str) -> str:
    """The usage line that `--help` prints."""
    os.environ["COLUMNS"] = "200"
    text = full.read([*path.split(" "), "--help"]).run().text
    return text.partition("\n")[0].removeprefix("Usage: ")


def _argument(path: str, parameter: inspect.Parameter) -> tuple[str, str]:
    name = parameter.name.rstrip("_").upper()
    needed = parameter.default is parameter.empty
    default = "" if needed or parameter.default is None else f" (default: {parameter.default})"
    return name if needed else f"[{name}]", f"{words.of(path, parameter.name)}{default}"


def _option(path: str, parameter: inspect.Parameter) -> tuple[str, str]:
    found = quick.kind(parameter.annotation)
    assert found is not None
    base, many = found
    flag = quick.option_name(parameter.name)
    metavar = "" if base is bool else f" {full.METAVARS[base]}"
    said = words.of(path, parameter.name)
    if base is not bool and not many and parameter.default not in (None, parameter.empty):
        said = f"{said} (default: {parameter.default})"
    return f"{flag}{metavar}", said or ""


def _listing(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| `{name}` | {_cell(words)} |" for name, words in rows]
    return "\n".join([f"| {title.lower()} | |", "|---|---|", *lines]) + "\n"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


# --- Settings


def configuration() -> str:
    """Every setting of memcli.toml."""
    parts = [
        "# Configuration\n",
        NOTICE,
        "`memcli.toml` in the store's folder marks the folder as a store and holds its settings. `format` is needed; all\n"
        "else may be absent. `memcli config` prints the settings in force, with `*` before those that the file sets. A\n"
        "setting that memcli does not know is kept and reported by `memcli doctor`; a known one with a bad value is an\n"
        "error (exit 4) that names the setting. A tenant has a `memcli.toml` of its own. What is not of the store is in\n"
        "the [environment](environment.md).\n",
        _sample(),
        "| setting | default | unit or choice | meaning |\n|---|---|---|---|\n" + "\n".join(_settings()) + "\n",
    ]
    return "\n".join(parts)


def _sample() -> str:
    lines = ["```toml", "format = 1"]
    section = ""
    for name in ("defaults.sensitivity", "defaults.ttl_minutes", "context.budget_tokens", "policy.pii"):
        group, _, key = name.partition(".")
        if group != section:
            lines += ["", f"[{group}]"]
            section = group
        lines.append(f"{key} = {_toml(settings.TABLE[name][0])}")
    return "\n".join([*lines, "```"]) + "\n"


def _settings() -> Iterator[str]:
    for name, (default, unit, meaning) in settings.TABLE.items():
        choices = settings._CHOICES.get(name, ())
        allowed = ", ".join(f"`{c}`" for c in choices) or _cell(unit)
        yield f"| `{name}` | `{_toml(default)}` | {allowed} | {_cell(meaning)} |"


def _toml(item: object) -> str:
    return f'"{item}"' if isinstance(item, str) else str(item).lower()


# --- Exit codes


def exit_codes() -> str:
    """Every error of the program with its exit code and code word."""
    rows = [_error(found) for found in sorted(every_error(), key=lambda e: (e.exit_code, e.code != "usage", e.code))]
    return "\n".join(
        [
            "# Exit codes\n",
            NOTICE,
            "| exit | meaning |\n|---|---|\n" + "\n".join(f"| {n} | {words} |" for n, words in EXITS) + "\n",
            "An error is one line on stderr: what happened, in brackets the path, then what to do next. With `--json` it is\n"
            "[JSON](json.md#errors) with one of these code words. In Python it is the class; those of `memcli.errors` are for\n"
            "catching. The exit code of a code word does not change; new words may come.\n",
            "| code word | exit | class | what it means | usual hint |\n|---|---|---|---|---|\n"
            + "\n".join(rows)
            + "\n",
            "`bug` with exit 1 means that memcli itself is wrong. The line names the type of the error and the place, never a\n"
            "stored value; `MEMCLI_DEBUG=1` prints the traceback, which may show one.\n",
            "Three commands answer with an exit code although nothing failed: `check` exits 4 when it finds an error or a\n"
            "warning, `import` exits 4 when every line was bad, and `forget --prove` exits 4 when something is left and 7\n"
            "when something could not be looked at. A reader that leaves early (`memcli fact list | head -1`) is no error.\n",
        ]
    )


EXITS = (
    (0, "done; also when there is nothing to say"),
    (1, "a bug in memcli; for `merge-driver` alone: a conflict is left for a person"),
    (2, "the call is wrong: unknown command, option, label, time, size; nothing was done"),
    (3, "the store, record, tenant or file is not there"),
    (4, "something in the store cannot be read as what it should be; `check` or a proof of forgetting found something"),
    (
        5,
        "the record is not what the caller saw, exists already, or the store stayed locked for 10 seconds;"
        " `sync`: a conflict is left for a person, or others write all the time",
    ),
    (
        6,
        "refused by policy: withheld, a credential, purged before, a sweep that would end too much, no yes where one is needed",
    ),
    (7, "the system or an outside program failed: disk full, read-only, no permission, no flock"),
    (130, "interrupted by Ctrl-C"),
)


def every_error() -> list[type[errors.MemcliError]]:
    """Every class of error that memcli raises on purpose."""
    for module in pkgutil.walk_packages(memcli.__path__, "memcli."):
        if module.name != "memcli.__main__":
            importlib.import_module(module.name)
    found: list[type[errors.MemcliError]] = []
    queue = list(errors.MemcliError.__subclasses__())
    while queue:
        each = queue.pop()
        found.append(each)
        queue += each.__subclasses__()
    # full.Incomplete is a UsageError in every respect that a caller sees.
    return [each for each in found if each.code != "usage" or each is errors.UsageError]


def _error(found: type[errors.MemcliError]) -> str:
    about = re.split(r"(?<=\.)\s", inspect.cleandoc(found.__doc__ or ""))[0]
    hint = f"`{found.hint}`" if found.hint else ""
    return f"| `{found.code}` | {found.exit_code} | `{found.__name__}` | {_cell(about)} | {hint} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
