"""The only place that runs other programs. Never through a shell; output is bytes decoded leniently."""

import subprocess

from memcli.base import errors
from memcli.base.value import Value, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_SECONDS = 60.0


@value
class Done(Value):
    """How a program ended: exit code, and what it printed on stdout."""

    code: int
    out: str


def run(words: "Sequence[str]", *, timeout_seconds: float = TIMEOUT_SECONDS) -> Done:
    """Run a program to its end with no input. A missing program is exit code 127, as in a shell.

    Raises SystemFailure when it takes too long or cannot be started.
    """
    try:
        done = subprocess.run(
            list(words), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_seconds, check=False
        )
    except FileNotFoundError:
        return Done(code=127, out="")
    except subprocess.TimeoutExpired:
        raise errors.SystemFailure(f"{words[0]} did not end within {timeout_seconds:g} seconds") from None
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}") from e
    return Done(code=done.returncode, out=done.stdout.decode("utf-8", "replace"))


def edit(words: "Sequence[str]") -> int:
    """Run an interactive program on this terminal and give back its exit code. Raises SystemFailure."""
    try:
        return subprocess.run(list(words), check=False).returncode
    except OSError as e:
        raise errors.SystemFailure(f"cannot run {words[0]}: {e.strerror}", hint="set VISUAL or EDITOR") from e
