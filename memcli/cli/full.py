"""The full reader: typer, built from the same table and functions when the quick reader stepped aside.

It answers what needs words (help, usage errors, completion) and reads what is unusual but right. Only the group or
command that is asked for is built. It reads and never runs: the result is the same Call that quick.py makes.
Help is plain text everywhere: rich would double the time of `--help` and fill logs with boxes.
"""

import contextlib
import inspect
import io
import re
import sys
from importlib import util
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from memcli import __version__
from memcli.base.errors import UsageError
from memcli.cli import call, quick, table, words
from memcli.model import redact

PROGRAM = "memcli"
ROOT_HELP = (
    "Layered memory for LLM agents and people at a shell, kept as plain files.\n\n"
    "Options before the command choose the store; MEMCLI_STORE, MEMCLI_TENANT and MEMCLI_NOW do the same."
)
METAVARS = {str: "TEXT", int: "N", float: "X"}


class Incomplete(UsageError):
    """A group was named without a command. `help_text` is the group's help, shown before the error line."""

    def __init__(self, message: str, *, help_text: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.help_text = help_text


class Group(TyperGroup):
    """A group that knows its commands by name and builds one only when it is called."""

    path = ""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Names are enough to list and to suggest; get_command makes the rest.
        self.commands = dict.fromkeys(table.children(self.path))  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            return None
        path = f"{self.path} {cmd_name}".lstrip()
        return _group(path, lambda: None) if path in table.GROUPS else _command(path, table.load(path))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            hint = f"see: {ctx.command_path} --help"
            raise Incomplete(f"{self.path} needs a command", help_text=ctx.get_help() + "\n", hint=hint)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        # typer's own would build every command, and so import every module.
        start = f"{self.path} ".lstrip()
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line(start + name)) for name in self.commands])


class Command(TyperCommand):
    """A command whose usage line shows arguments the usual way: KEY, [VALUE]."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def read(argv: list[str]) -> call.Call:
    """The call that the words after `memcli` mean; for help and completion a call that shows them.

    Raises errors.UsageError for words that mean nothing.
    """
    roots: dict[str, str | None] = {}
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            found = _root(roots).main(argv or ["--help"], prog_name=PROGRAM, standalone_mode=False)
    except SystemExit as stop:  # completion leaves this way
        found = stop.code
    except typer.TyperException as error:
        raise _usage(error) from None
    if isinstance(found, call.Call):
        for name, value in roots.items():
            setattr(found.ctx, name, value)
        return found
    # 1 is how completion says that the shell asked wrongly; ours is 2, for 1 means a bug.
    output = call.Output(None, shown.getvalue(), exit_code=2 if found == 1 else int(found or 0))
    return call.Call(lambda ctx: output, call.Context(), {})


def help_line(path: str) -> str:
    """The one-line help of a command or group, without running the command's module; "" where there is none."""
    if path in table.GROUPS:
        return table.GROUPS[path]
    module, name = table.COMMANDS[path]
    loaded = sys.modules.get(module)
    text = getattr(loaded, name).__doc__ if loaded else _compiled_doc(module, name)
    return (text or "").partition("\n")[0].strip()


def _compiled_doc(module: str, name: str) -> str | None:
    # The docstring is the first constant of the function's code, and the function's code a constant of the module's.
    spec = util.find_spec(module)
    get_code = getattr(spec.loader, "get_code", None) if spec else None
    code = get_code(module) if get_code else None
    for constant in code.co_consts if code else ():
        if getattr(constant, "co_name", None) == name:
            first = constant.co_consts[0] if constant.co_consts else None
            return first if isinstance(first, str) else None
    return None


def _root(roots: dict[str, str | None]) -> Any:
    # The whole command line; the options before the command go into `roots`.
    def root(
        store: str | None = typer.Option(None, "--store", metavar="DIR", help=words.WORDS["store"]),
        tenant: str | None = typer.Option(None, "--tenant", metavar="NAME", help=words.WORDS["tenant"]),
        now: str | None = typer.Option(None, "--now", metavar="TIME", help=words.WORDS["now"]),
        version: bool = typer.Option(False, "--version", is_eager=True, callback=_version, help=words.WORDS["version"]),
    ) -> None:
        roots.update(store=store, tenant=tenant, now=now)

    return _group("", root)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


def _group(path: str, callback: Any) -> Any:
    # Only the root offers completion, and only to show the script: installing it would edit files in the home folder.
    app = typer.Typer(cls=type("Group", (Group,), {"path": path}), rich_markup_mode=None, add_completion=not path)
    names = {"help_option_names": ["-h", "--help"]}
    app.callback(help=table.GROUPS.get(path, ROOT_HELP), context_settings=names)(callback)
    group = typer.main.get_command(app)
    group.params = [param for param in group.params if "--install-completion" not in param.opts]
    return group


def _command(path: str, function: Any) -> Any:
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    about, example, rest = inspect.cleandoc(function.__doc__ or "").partition("\nExample")
    # A backspace tells the formatter to keep the lines that follow as they are.
    epilog = f"\b{example}{rest}".replace("\n\n", "\n\n\b\n") if example else None
    app.command(path.rpartition(" ")[2], cls=Command, help=about.strip(), epilog=epilog)(_binder(path, function))
    return typer.main.get_command(app)


def _binder(path: str, function: Any) -> Any:
    # A function for typer: its signature says the command's parameters in typer's way, its result is the Call.
    signature = inspect.signature(function)
    shown = list(signature.parameters.values())[1:]

    def bind(**given: Any) -> call.Call:
        ctx = call.Context(json=given.pop("json"), jsonl=given.pop("jsonl", False))
        many = {name for name, value in given.items() if isinstance(value, list)}
        values = {name: tuple(value) if name in many else value for name, value in given.items()}
        return call.Call(function, ctx, values)

    parameters = [_parameter(path, parameter) for parameter in shown]
    formats = ["json", "jsonl"] if call.lists(function) else ["json"]
    parameters += [_flag(path, name, f"--{name}") for name in formats]
    bind.__annotations__ = {}
    bind.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return bind


def _parameter(path: str, parameter: inspect.Parameter) -> inspect.Parameter:
    # One parameter of a command as typer wants it. Raises TypeError for a type that a command may not use.
    found = quick.kind(parameter.annotation)
    if found is None or parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise TypeError(f"parameter {parameter.name}: {parameter.annotation} is no type for a command")
    base, many = found
    name = parameter.name
    said = words.of(path, name)
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        default = _default(parameter, many)
        metavar = name.rstrip("_").upper() + ("..." if many else "")
        return _typed(name, list[str] if many else base, typer.Argument(default, metavar=metavar, help=said))
    flag = quick.option_name(name)
    if base is bool:
        return _flag(path, name, flag)
    option = typer.Option(_default(parameter, many), flag, metavar=METAVARS[base], help=said)
    return _typed(name, list[str] if many else base, option)


def _default(parameter: inspect.Parameter, many: bool) -> Any:
    if parameter.default is inspect.Parameter.empty:
        return ...
    return list(parameter.default) if many else parameter.default


def _flag(path: str, name: str, flag: str) -> inspect.Parameter:
    return _typed(name, bool, typer.Option(False, flag, help=words.of(path, name)))


def _typed(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _discreet(message: str) -> str:
    """The message without quoted words that are more than a slip of one word: they may be the text of a memory."""
    quoted = re.findall(r"'[^']*'|\"[^\"]*\"", message)
    if all(re.fullmatch("[A-Za-z0-9.=-][A-Za-z0-9_.=-]{0,29}", q[1:-1]) and not redact.scan(q[1:-1]) for q in quoted):
        return message
    return re.sub(r"""['"].*['"]""", "'...'", message, flags=re.DOTALL)


def _usage(error: Any) -> UsageError:
    # typer's error as ours. Surplus words are counted, not repeated: they are most likely the text of a memory.
    message = error.format_message().strip().rstrip(".")
    message = _discreet(message[:1].lower() + message[1:])
    ctx = getattr(error, "ctx", None)
    hint = f"see: {ctx.command_path} --help" if ctx is not None else None
    surplus = "got unexpected extra argument"
    if message.startswith(surplus):
        return UsageError("too many arguments", hint=f"quote text that has spaces; {hint}")
    return UsageError(message, hint=hint)
