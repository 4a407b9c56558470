"""The one renderer: an Output becomes bytes on stdout, its notes lines on stderr. The only writer of either.

Text goes out as it is, never through markup, with hidden characters as escapes. Both streams speak UTF-8 whatever the
locale says (cron has none), so no text can fail to encode.
"""

import os
import sys

from memcli.base import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from memcli.cli.call import Context, Output

FORMAT = 1


class ReaderGone(Exception):
    """Whoever read our stdout has stopped (`| head`): no error, only no reason to go on."""


def prepare() -> None:
    """Make stdout and stderr UTF-8 for whatever is written. Call once, before anything is opened or written."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _reserve()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def show(output: "Output", ctx: "Context") -> int:
    """Write the output in the form the context asks for; returns the exit code.

    Raises errors.UsageError for --jsonl without a list, ReaderGone, errors.SystemFailure when stdout takes no more.
    """
    if ctx.jsonl:
        _rows(output.data)
    elif ctx.json:
        put(encode({"format": FORMAT, "data": output.data}, indent=2) + "\n")
    else:
        put(text.inert(output.text))
    for note in output.notes:
        say(text.one_line(_followed(note, ctx)) + "\n")
    return output.exit_code


def _followed(note: str, ctx: "Context") -> str:
    if ctx.store is None and ctx.tenant is None:
        return note
    from memcli.cli import advice, call

    return note if isinstance(note, call.Plain) else advice.follow(ctx, note)


def put(words: str) -> None:
    """Write to stdout now and exactly. For commands that stream; they make the text inert themselves.

    Raises ReaderGone when the reader has left, errors.SystemFailure when stdout is closed or its disk is full.
    """
    if not words:
        return
    try:
        if sys.stdout is None:
            raise OSError("it is closed")
        sys.stdout.write(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        raise ReaderGone from None
    except OSError as error:
        from memcli.base import errors

        _silence(sys.stdout)
        raise errors.SystemFailure(f"cannot write to stdout: {error.strerror or error}") from None


def say(words: str) -> None:
    """Write to stderr; where nobody can hear it, nothing happens. The text must be inert already."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(words)
            sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def counter(what: str) -> "Callable[[int], None] | None":
    """Shows on a terminal how far a long command is, on one line that is written over; None elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return lambda count: say(f"\r{count} {what}\x1b[K" if count else "\r\x1b[K")


def encode(data: object, *, indent: int | None = None) -> str:
    """JSON that reads well and is safe on a terminal. Raises TypeError or ValueError for what JSON cannot hold."""
    import json

    return text.inert_json(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent))


def _rows(data: object) -> None:
    if not isinstance(data, list):
        from memcli.base import errors

        raise errors.UsageError("--jsonl needs a command that lists records", hint="use --json")
    put("".join(encode(row) + "\n" for row in data))


def _silence(stream: "TextIO | None") -> None:
    # What is still buffered would fail again when the interpreter closes the stream, with a traceback.
    try:
        if stream is not None:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
    except (OSError, ValueError):  # a stream without a descriptor (tests, embedding)
        pass


def _reserve() -> None:
    # A closed 0, 1 or 2 would be handed to the next file opened, and a child's output would end up in a record.
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(null)
