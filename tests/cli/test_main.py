"""The entry point: exit codes, errors as text and as JSON, the streams, and what is loaded for what."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import memcli
from memcli.base import errors
from memcli.cli.main import main, run

from . import fake_commands
from .conftest import Spawn

Loaded = Callable[..., set[str]]
Captured = pytest.CaptureFixture[str]

SECRET = "sk-live-planted-secret"
FULL = Path("/dev/full")


def failed(argv: list[str], capsys: Captured) -> tuple[int, str]:
    """Exit code and stderr of a call that prints nothing on stdout."""
    code = run(argv)
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


# Version and start-up.


def test_version(capsys: Captured) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr() == (f"memcli {memcli.__version__}\n", "")


def test_version_loads_nothing_else(loaded: Loaded) -> None:
    assert loaded("--version", commands=None) == {"memcli", "memcli.cli", "memcli.cli.main"}


MACHINERY = {"main", "table", "quick", "call", "render"}
OURS = {"memcli", "memcli.cli", "memcli.base", "memcli.base.text", *(f"memcli.cli.{name}" for name in MACHINERY)}
FAKES = {"cli", "tests", fake_commands.__name__, fake_commands.__package__, "memcli.base.errors"}
HEAVY = ["typing", "inspect", "dataclasses", "pathlib", "typer", "rich", "argparse", "pydantic", "collections.abc"]

DOCUMENTED = [
    ["fact", "set", "deploy target", "Fly.io, region fra", "--tag", "ops", "--tag", "deploy", "--ttl", "30d"],
    ["--store", "dir", "--tenant=t", "fact", "set", "note", "-"],
    ["fact", "set", "last", "--", "- a dash"],
    ["fact", "list", "--layer", "facts", "--all"],
    ["show", "say", "Память, and a tab\t."],
    ["bare"],
]


@pytest.mark.parametrize("argv", DOCUMENTED, ids=" ".join)
def test_a_documented_call_loads_the_machinery_and_its_module_only(argv: list[str], loaded: Loaded) -> None:
    assert loaded(*argv) <= OURS | FAKES


NOT_PLAIN = [["bare", "--json"], ["fact", "list", "--jsonl"], ["show", "say", "\x1b"]]


@pytest.mark.parametrize("argv", NOT_PLAIN, ids=ascii)
def test_json_and_odd_text_load_no_framework(argv: list[str], loaded: Loaded) -> None:
    new = loaded(*argv)
    assert "re" in new
    # `re` itself brings enum and functools.
    assert new.isdisjoint(HEAVY)


def test_the_full_reader_is_loaded_when_it_must_be(loaded: Loaded) -> None:
    new = loaded("fact", "set", "--help")
    assert {"typer", "memcli.cli.full"} <= new
    assert not [name for name in new if name.split(".")[0] in ("rich", "pydantic")]


# Errors.

LINES = [
    ("bare", 3, "memcli: no such fact\n"),
    ("changed", 5, "memcli: the fact is\\nnot what you saw \\x1b[31m (facts/a\\x07.md); read it again, then decide\n"),
    ("os", 7, f"memcli: No such file or directory ({os.sep}nowhere{os.sep}at all)\n"),
    ("pipe", 7, "memcli: Broken pipe (a helper)\n"),
    ("interrupt", 130, ""),
]


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("how", "code", "line"), LINES)
def test_an_error_is_one_line_and_an_exit_code(how: str, code: int, line: str, capsys: Captured) -> None:
    assert failed(["fail", how], capsys) == (code, line)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("argv", [["fail", "changed", "--json"], ["--store", "s", "fail", "--json", "changed"]])
def test_an_error_under_json(argv: list[str], capsys: Captured) -> None:
    code, err = failed(argv, capsys)
    message = "the fact is\nnot what you saw \x1b[31m"
    error = {"code": "changed", "message": message, "path": "facts/a\x07.md", "hint": "read it again, then decide"}
    assert (code, json.loads(err)) == (5, {"format": 1, "error": error})
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.usefixtures("fakes")
def test_what_is_missing_in_an_error_is_null_in_json(capsys: Captured) -> None:
    code, err = failed(["fail", "bare", "--json"], capsys)
    error = {"code": "not_found", "message": "no such fact", "path": None, "hint": None}
    assert (code, json.loads(err)["error"]) == (3, error)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("how", ["key", "value", "unicode", "deep", "memory"])
def test_a_bug_names_its_type_and_never_its_text(how: str, form: list[str], capsys: Captured) -> None:
    code, err = failed(["fail", how, *form], capsys)
    assert code == 1
    assert re.search(r"bug: (Key|Value|Unicode|Recursion|Memory)Error in memcli\.", err)
    assert err.count("\n") == 1
    assert SECRET not in err
    assert "Traceback" not in err
    if form:
        assert json.loads(err)["error"]["code"] == "bug"


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("how", ["key", "changed"])
def test_debug_shows_the_traceback_inert(how: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_DEBUG", "1")
    _, err = failed(["fail", how], capsys)
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.splitlines()[-1].startswith("memcli: ")
    assert "\x1b" not in err


USAGE = [
    (["nothing"], "memcli: no such command 'nothing'; see: memcli --help\n"),
    (["fact", "sett"], "memcli: no such command 'sett'. Did you mean 'set'?; see: memcli fact --help\n"),
    (["fact", "set"], "memcli: missing argument 'KEY'; see: memcli fact set --help\n"),
    (["fact", "many", "1", "w"], "memcli: missing option '--session'; see: memcli fact many --help\n"),
    (["numbers", "x"], "memcli: invalid value for 'ONE': 'x' is not a valid int; see: memcli numbers --help\n"),
    (["fact", "list", "--json", "--jsonl"], "--json and --jsonl exclude each other"),
    (["bare", "--jsonl"], "no such option: --jsonl"),
    (["fact", "set", "k", "--nope\x1b[31m"], "no such option: --nope\\x1b[31m"),
    (["--json"], "no such option: --json"),
    (["--store", "s"], "missing command; see: memcli --help\n"),
]


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("argv", "expected"), USAGE, ids=lambda case: " ".join(case) if isinstance(case, list) else "")
def test_usage_errors_are_ours(argv: list[str], expected: str, capsys: Captured) -> None:
    code, err = failed(argv, capsys)
    assert code == 2
    if "--json" in argv:
        error = json.loads(err)["error"]
        assert (error["code"], error["message"]) == ("usage", error["message"])
        assert expected in error["message"]
    else:
        assert expected in err
        assert err.count("\n") == 1


@pytest.mark.usefixtures("fakes")
def test_surplus_words_are_not_repeated(capsys: Captured) -> None:
    code, err = failed(["fact", "set", "key", "my", SECRET], capsys)
    line = "memcli: too many arguments; quote text that has spaces; see: memcli fact set --help\n"
    assert (code, err) == (2, line)


def test_every_error_class_has_its_own_exit_code() -> None:
    def below(kind: type[errors.MemcliError]) -> list[type[errors.MemcliError]]:
        return [kind, *(found for child in kind.__subclasses__() for found in below(child))]

    assert {kind.exit_code for kind in below(errors.MemcliError)} == {1, 2, 3, 4, 5, 6, 7}


@pytest.mark.usefixtures("fakes")
def test_main_exits_with_the_code(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.argv", ["memcli", "show", "say", "x", "--code", "4"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code, capsys.readouterr().out) == (4, "x")


def test_the_module_exits_with_the_code_too() -> None:
    place = {"PYTHONPATH": str(Path(memcli.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "memcli", "nothing"], env=place, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, b"memcli: no such command 'nothing'; see: memcli --help\n")


# Bytes in and out.

NOWHERE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
TEXT = "Память — 日本 🧠 é"


@pytest.mark.parametrize("env", [{}, {"LANG": "C"}, NOWHERE, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}], ids=str)
def test_utf8_goes_in_and_out_whatever_the_locale(env: dict[str, str], spawn: Spawn) -> None:
    done = spawn("show", "say", TEXT.encode(), "--note", TEXT.encode(), env=env)
    assert (done.stdout.decode(), done.stderr.decode()) == (TEXT, TEXT + "\n")
    assert done.returncode == 0


@pytest.mark.parametrize("env", [{}, NOWHERE], ids=str)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_bytes_that_are_not_utf8_are_a_usage_error(form: list[str], env: dict[str, str], spawn: Spawn) -> None:
    done = spawn("show", "say", b"caf\xe9", *form, env=env)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"argument 3 is not UTF-8" in done.stderr
    assert bool(form) == done.stderr.startswith(b'{"format": 1')


def test_a_lone_surrogate_in_process_is_a_usage_error(capsys: Captured) -> None:
    assert failed(["fact", "set", "\ud800"], capsys)[0] == 2


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_reader_that_leaves_is_no_error(size: int, spawn: Spawn) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = spawn("fact", "set", "x" * size, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["bare"], ["bare", "--json"], ["fact", "list", "--jsonl"]])
def test_a_full_disk_behind_stdout(argv: list[str], spawn: Spawn) -> None:
    with FULL.open("wb") as full:
        done = spawn(*argv, stdout=full)
    assert done.returncode == 7
    assert done.stderr.count(b"\n") == 1
    assert b"cannot write to stdout: No space left on device" in done.stderr


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["bare"]])
def test_a_closed_stdout(argv: list[str], spawn: Spawn) -> None:
    done = spawn(*argv, shell='exec "$@" >&-')
    assert (done.returncode, done.stderr) == (7, b"memcli: cannot write to stdout: it is closed\n")


@pytest.mark.parametrize("shell", ['exec "$@" >&-', 'exec "$@" <&- >&- 2>&-'])
def test_a_closed_stream_is_no_place_for_a_file(shell: str, spawn: Spawn) -> None:
    assert spawn("descriptor", shell=shell).returncode > 2


@pytest.mark.parametrize("shell", ['exec "$@" 2>&-', 'exec "$@" 2>/dev/full'])
def test_nobody_listens_to_stderr(shell: str, spawn: Spawn) -> None:
    assert spawn("fail", "changed", shell=shell).returncode == 5
    assert spawn("show", "say", "x", "--note", "n", shell=shell).stdout == b"x"


def test_an_interrupt_is_130_and_silent(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(
        "import os, signal\n"
        "def wait(ctx):\n    '''Wait.'''\n    os.kill(os.getpid(), signal.SIGINT)\n    signal.pause()\n"
    )
    done = spawn("wait", commands={"wait": ("waits", "wait")}, path=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_module_that_is_missing_is_a_bug(spawn: Spawn) -> None:
    done = spawn("gone", commands={"gone": ("no_such_module", "gone")})
    assert done.returncode == 1
    assert done.stderr.startswith(b"memcli: bug: ModuleNotFoundError")
