"""Asking another program: text in, text out, within limits."""

import os
import sys
import time
from pathlib import Path

import pytest

from memcli.base import command, errors

PYTHON = (sys.executable, "-c")


def test_what_goes_in_comes_out_however_long() -> None:
    text = "два слова\n" * 200_000
    done = command.ask(["cat"], text, most=10_000_000)
    assert (done.code, done.out) == (0, text)


def test_a_program_that_does_not_listen_is_no_trouble() -> None:
    assert command.ask(["echo", "hi"], "x" * 3_000_000).out == "hi\n"
    assert command.ask([*PYTHON, "import sys; sys.stdin.close(); print(1)"], "x" * 3_000_000).out == "1\n"


def test_how_it_ended() -> None:
    assert command.ask([*PYTHON, "raise SystemExit(3)"], "").code == 3
    assert command.ask(["no-such-program-here"], "").code == 127
    with pytest.raises(errors.SystemFailure):
        command.ask([os.curdir], "")


def test_no_shell_and_no_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command.ask(["echo", f"; touch {tmp_path}/made"], "").out == f"; touch {tmp_path}/made\n"
    assert not (tmp_path / "made").exists()
    command.ask([*PYTHON, "import sys; print('noise', file=sys.stderr)"], "")
    assert capfd.readouterr() == ("", "")


def test_odd_bytes_are_read_leniently() -> None:
    assert command.ask([*PYTHON, r"import sys; sys.stdout.buffer.write(b'a\xffb')"], "").out == "a\ufffdb"


@pytest.mark.parametrize(
    "body",
    [
        "import time; time.sleep(60)",
        "import sys, time; sys.stdout.close(); time.sleep(60)",
        "import subprocess; subprocess.Popen(['sleep', '60'])",  # a child that keeps the pipe open
        "import sys\nwhile True: sys.stdout.write('x' * 10000)",
    ],
    ids=["silent", "closed", "child", "endless"],
)
def test_a_limit_ends_it(body: str) -> None:
    start = time.monotonic()
    with pytest.raises(errors.SystemFailure, match="took too long or said too much"):
        command.ask([*PYTHON, body], "", timeout_seconds=1.0)
    assert time.monotonic() - start < 20


def test_what_it_has_started_is_killed_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = f"import subprocess, time; p = subprocess.Popen(['sleep', '60']); open({str(note)!r}, 'w').write(str(p.pid)); time.sleep(60)"
    with pytest.raises(errors.SystemFailure):
        command.ask([*PYTHON, body], "", timeout_seconds=3.0)
    time.sleep(0.2)
    stat = Path(f"/proc/{note.read_text()}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"
