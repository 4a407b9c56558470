"""The entry point: reads the command line, runs one command, renders its output, and turns every error into one line.

`--version` is answered before anything is imported. A well-formed call is read by quick.py; full.py (typer) is loaded
only when that one steps aside. This is the one place that handles errors; commands raise and never print.
"""

import sys

from memcli import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.base.errors import MemcliError
    from memcli.cli.call import Context

DEBUG = "MEMCLI_DEBUG"
INTERRUPTED = 130
# Python's own 700 makes a hot command, which is over after some ten thousand objects, look for rubbish a dozen times.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def program() -> None:
    """The console script: as `main`, and the process ends at once.

    Taking a finished interpreter apart costs a third of its start; nothing waits for it, because what was written is
    flushed and every file is closed (mypy leaves the same way).
    """
    import gc
    import os

    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    os._exit(run(sys.argv[1:]))


def main() -> None:
    """Run the command line of this process and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Run the words after `memcli`; returns the exit code. Writes to sys.stdout and sys.stderr, raises nothing."""
    try:
        return _version() if argv == ["--version"] else _serve(argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one handler: whatever happened becomes a line and an exit code
        return _report(error, as_json="--json" in argv)


def _version() -> int:
    line = f"memcli {__version__}\n"
    try:
        sys.stdout.write(line)
        sys.stdout.flush()
    except (AttributeError, OSError):
        # stdout is closed, full or gone: let the careful writer say so.
        from memcli.cli import render

        render.put(line)
    return 0


def _serve(argv: list[str]) -> int:
    from memcli.cli import quick, render

    render.prepare()
    argv = _utf8(argv)
    call = quick.read(argv)
    if call is None:
        from memcli.cli import full

        call = full.read(argv)
    try:
        return render.show(call.run(), call.ctx)
    except Exception as error:
        _follow(error, call.ctx)
        raise


def _follow(error: Exception, ctx: "Context") -> None:
    # Here alone it is known which store the words named, so here the hint learns it.
    hint = getattr(error, "hint", None)
    if hint:
        from memcli.cli import advice

        error.hint = advice.follow(ctx, hint)  # type: ignore[attr-defined]


def _utf8(argv: list[str]) -> list[str]:
    # Python smuggles undecodable bytes in as lone surrogates; none may reach a file. Words that are UTF-8 after all
    # (a locale without it) are read as what they are. Raises errors.UsageError.
    words = "".join(argv)
    if words.isascii():
        return argv
    try:
        words.encode()
    except UnicodeEncodeError:
        return [_decoded(number, word) for number, word in enumerate(argv, 1)]
    return argv


def _decoded(number: int, word: str) -> str:
    import os

    from memcli.base import errors

    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        raise errors.UsageError(f"argument {number} is not UTF-8", hint="pass text as UTF-8") from None


def _report(error: Exception, *, as_json: bool) -> int:
    from memcli.cli import render

    if isinstance(error, render.ReaderGone):
        return 0
    render.prepare()
    _traceback(error)
    found = known(error)
    path = _path(found.path)
    if as_json:
        shape = {"code": found.code, "message": found.message, "path": path, "hint": found.hint}
        render.say(render.encode({"format": render.FORMAT, "error": shape}) + "\n")
    else:
        render.say(getattr(found, "help_text", ""))
        render.say(_line(found, path))
    return found.exit_code


def _path(named: str | None) -> str | None:
    # A folder may be called after a credential; the words that `--store` got are no reason to print it.
    if not named:
        return named
    from memcli.cli import advice

    return advice.masked(named)


def _line(error: "MemcliError", path: str | None) -> str:
    from memcli.base import text

    place = f" ({path})" if path else ""
    hint = f"; {error.hint}" if error.hint else ""
    return text.one_line(f"memcli: {error.message}{place}{hint}") + "\n"


def known(error: Exception) -> "MemcliError":
    """Every exception as one of ours: what the system refused, or else a bug."""
    from memcli.base import errors

    if isinstance(error, errors.MemcliError):
        return error
    if isinstance(error, OSError):
        import os

        named = error.filename
        path = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else None
        return errors.SystemFailure(error.strerror or type(error).__name__, path=path)
    # Never str(error): it may hold a stored value. The type and the place say enough to find it.
    bug = errors.MemcliError(f"bug: {type(error).__name__}{_place(error)}", hint=f"{DEBUG}=1 shows the traceback")
    bug.code = "bug"
    return bug


def _place(error: Exception) -> str:
    # The innermost line of ours that the error passed through.
    place, step = "", error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__", "")
        if module.startswith("memcli.") and module != __name__:
            place = f" in {module}, line {step.tb_lineno}"
        step = step.tb_next
    return place


def _traceback(error: Exception) -> None:
    import os

    if os.environ.get(DEBUG) == "1":
        import traceback

        from memcli.base import text
        from memcli.cli import render

        render.say(text.inert("".join(traceback.format_exception(error))))
