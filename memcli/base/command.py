"""The only place that runs other programs. Never through a shell; output is bytes decoded leniently."""

import contextlib
import os
import selectors
import signal
import subprocess
import time

from memcli.base import errors
from memcli.base.value import Value, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

TIMEOUT_SECONDS = 60.0
MOST_BYTES = 1 << 20


@value
class Done(Value):
    """How a program ended: exit code, and what it printed on stdout."""

    code: int
    out: str


def run(words: "Sequence[str]", *, folder: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> Done:
    """Run a program to its end with no input, in a folder. A missing program is exit code 127, as in a shell.

    Raises SystemFailure when it takes too long or cannot be started.
    """
    code, out = fetch(words, folder=folder, timeout_seconds=timeout_seconds)
    return Done(code=code, out=out.decode("utf-8", "replace"))


def fetch(
    words: "Sequence[str]", *, folder: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS, given: bytes = b""
) -> tuple[int, bytes]:
    """As `run`, but the exit code and stdout as bytes, however long. given: for its stdin."""
    try:
        done = subprocess.run(
            list(words), input=given, capture_output=True, timeout=timeout_seconds, check=False, cwd=folder
        )
    except FileNotFoundError:
        return 127, b""
    except subprocess.TimeoutExpired:
        raise errors.SystemFailure(f"{words[0]} did not end within {timeout_seconds:g} seconds") from None
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}") from e
    return done.returncode, done.stdout


def stream(
    words: "Sequence[str]", *, folder: str | None = None, given: bytes = b"", timeout_seconds: float = TIMEOUT_SECONDS
) -> "Iterator[bytes]":
    """What a program says on stdout, piece by piece as it comes, however much; it is killed when the reader stops.

    given: a short text for its stdin. Raises SystemFailure when it cannot be started, takes too long or fails.
    """
    try:
        program = subprocess.Popen(
            list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}") from e
    assert program.stdin is not None
    assert program.stdout is not None
    deadline = time.monotonic() + timeout_seconds
    try:
        with contextlib.suppress(BrokenPipeError):
            program.stdin.write(given)
            program.stdin.close()
        while piece := program.stdout.read(1 << 20):
            yield piece
            if time.monotonic() > deadline:
                raise errors.SystemFailure(f"{words[0]} did not end within {timeout_seconds:g} seconds")
        if program.wait() != 0:
            raise errors.SystemFailure(f"{words[0]} failed with exit code {program.returncode}")
    finally:
        program.kill()
        program.stdout.close()
        program.wait()


def ask(words: "Sequence[str]", text: str, *, timeout_seconds: float = TIMEOUT_SECONDS, most: int = MOST_BYTES) -> Done:
    """Run a program with a text on its stdin; what it says on stderr is dropped. Missing: exit code 127.

    Raises SystemFailure when it takes too long, says more than `most` bytes or cannot be started; it and what it has
    started are killed then.
    """
    try:
        program = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except FileNotFoundError:
        return Done(code=127, out="")
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}") from e
    said = None
    try:
        said = _talk(program, text.encode(), time.monotonic() + timeout_seconds, most)
    finally:
        if said is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
        code = program.wait()
    if said is None:
        raise errors.SystemFailure(f"{words[0]} took too long or said too much")
    return Done(code=code, out=said.decode("utf-8", "replace"))


def _talk(program: "subprocess.Popen[bytes]", text: bytes, deadline: float, most: int) -> bytes | None:
    """Feed stdin and read stdout at once, so that neither side waits for the other; None past a limit."""
    assert program.stdin is not None
    assert program.stdout is not None
    os.set_blocking(program.stdin.fileno(), False)
    said = bytearray()
    with selectors.DefaultSelector() as ready, program.stdin as ear, program.stdout as mouth:
        ready.register(mouth, selectors.EVENT_READ)
        ready.register(ear, selectors.EVENT_WRITE)
        while len(said) <= most and (left := deadline - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                if key.fileobj is mouth:
                    piece = os.read(mouth.fileno(), 1 << 16)
                    said += piece
                    if not piece:
                        return bytes(said) if _ended(program, deadline) else None
                else:
                    text = _feed(ready, ear, text)
    return None


def _feed(ready: "selectors.BaseSelector", ear: "IO[bytes]", text: bytes) -> bytes:
    """Write what the pipe takes; close it after the last byte or when the program does not listen."""
    try:
        text = text[os.write(ear.fileno(), text[: 1 << 16]) :]
    except BlockingIOError:
        return text
    except BrokenPipeError:
        text = b""
    if not text:
        ready.unregister(ear)
        ear.close()
    return text


def _ended(program: "subprocess.Popen[bytes]", deadline: float) -> bool:
    try:
        program.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def start(words: "Sequence[str]") -> None:
    """Start a program that goes on by itself, in a session of its own, hears nothing and is heard by nobody.

    Raises SystemFailure when it cannot be started.
    """
    null = subprocess.DEVNULL
    try:
        subprocess.Popen(list(words), stdin=null, stdout=null, stderr=null, start_new_session=True)
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}") from e


def edit(words: "Sequence[str]") -> int:
    """Run an interactive program on this terminal and give back its exit code. Raises SystemFailure."""
    try:
        return subprocess.run(list(words), check=False).returncode
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}", hint="set VISUAL or EDITOR") from e
