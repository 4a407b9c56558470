"""The full reader: help, groups, completion, and that it builds no more than it needs."""

import json
from pathlib import Path

import pytest

from memcli.cli import full, table
from memcli.cli.main import run
from memcli.cli.words import WORDS

from .conftest import Spawn

Captured = pytest.CaptureFixture[str]
fakes = pytest.mark.usefixtures("fakes")


def shown(argv: list[str], capsys: Captured) -> str:
    """The help that a call prints on stdout."""
    assert run(argv) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@fakes
@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]], ids=str)
def test_help_of_everything(argv: list[str], capsys: Captured) -> None:
    out = shown(argv, capsys)
    assert out.startswith("Usage: memcli [OPTIONS] COMMAND [ARGS]...\n")
    for line in ("--store DIR", "--tenant NAME", "--now TIME", "--version", "  fact        What is known."):
        assert line in out
    assert "  bare        Do nothing at all." in out
    # Installing completion would edit files in the home folder unasked.
    assert "--install-completion" not in out


@fakes
def test_help_of_a_group(capsys: Captured) -> None:
    out = shown(["fact", "--help"], capsys)
    assert "What is known." in out
    assert "  set   Keep a value under a key." in out
    assert "numbers" not in out


@fakes
def test_help_of_a_command(capsys: Captured) -> None:
    out = shown(["fact", "set", "--help"], capsys)
    assert out.startswith("Usage: memcli fact set [OPTIONS] KEY [VALUE]\n")
    assert "  The same value again changes nothing.\n" in out
    shown_options = [line.split("  ")[1] for line in out.splitlines() if line.startswith("  -")]
    assert shown_options[:5] == ["--ttl TEXT", "--tag TEXT", "--importance X", "--derived-from TEXT", "--from TEXT"]
    assert shown_options[5:] == ["--create", "-n N", "--json", "-h, --help"]
    assert "--no-create" not in out
    assert "--jsonl" not in out
    assert WORDS["create"] in out


@fakes
def test_examples_are_shown_as_they_are_written(capsys: Captured) -> None:
    out = shown(["fact", "set", "--help"], capsys)
    deploy = '"Fly.io, region fra" --source user:anna --tag ops --tag deploy --ttl 30d'
    assert f'  Example: memcli fact set "deploy target" {deploy}\n  Example: memcli fact set note -\n' in out
    assert out.endswith('\n  Example: memcli fact set last -- "- a dash"\n')


@fakes
def test_only_lists_take_jsonl(capsys: Captured) -> None:
    assert "--jsonl" in shown(["fact", "list", "--help"], capsys)


@fakes
def test_a_group_alone_is_a_usage_error_with_help(capsys: Captured) -> None:
    assert run(["fact"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: memcli fact [OPTIONS] COMMAND [ARGS]...\n")
    assert err.endswith("\nmemcli: fact needs a command; see: memcli fact --help\n")


def test_a_group_alone_under_json_is_an_error_object(spawn: Spawn) -> None:
    # `--json` belongs to commands, so this is unknown first; either way stderr holds one object.
    done = spawn("fact", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert json.loads(done.stderr)["error"]["code"] == "usage"


@fakes
def test_help_is_plain_where_rich_would_be_used(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TYPER_USE_RICH", "1")
    out = shown(["--help"], capsys)
    assert out.isprintable() is False
    assert "\x1b" not in out
    assert "╭" not in out


@fakes
def test_the_version_beside_other_options(capsys: Captured) -> None:
    assert shown(["--store", "s", "--version"], capsys).startswith("memcli ")


MODULE = """
1 / len("")  # this module must not run


def helper() -> str:
    '''Not a command.'''


def one(ctx):
    '''Do the one thing.

    Example: memcli a one
    '''


def two(ctx):
    return None
"""


def test_help_runs_no_command_module(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "explosive.py").write_text(MODULE)
    commands = {"a one": ("explosive", "one"), "two": ("explosive", "two"), "three": ("no_such_module", "three")}
    watch = tmp_path / "modules"
    done = spawn("--help", commands=commands, groups={"a": "The first letter."}, path=tmp_path, watch=watch)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"  a      The first letter.\n  two\n  three\n" in done.stdout
    done = spawn("a", "--help", commands=commands, groups={"a": "The first letter."}, path=tmp_path, watch=watch)
    assert b"  one  Do the one thing.\n" in done.stdout
    assert "explosive" not in watch.read_text().split("\n")


def test_a_command_s_help_loads_its_own_module_only(spawn: Spawn, tmp_path: Path) -> None:
    for name in ("left", "right"):
        source = f"from memcli.cli.call import Context, Output\ndef go(ctx: Context) -> Output:\n    '''Go {name}.'''\n"
        (tmp_path / f"{name}.py").write_text(source)
    watch = tmp_path / "modules"
    done = spawn(
        "left", "--help", commands={"left": ("left", "go"), "right": ("right", "go")}, path=tmp_path, watch=watch
    )
    assert b"Go left." in done.stdout
    loaded = watch.read_text().split("\n")
    assert "left" in loaded
    assert "right" not in loaded


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["memcli", "fact", "s"], ["set"]), (["memcli", "fact", "set", "--t"], ["--ttl", "--tag"])],
    ids=["command", "option"],
)
def test_completion(words: list[str], expected: list[str], spawn: Spawn) -> None:
    env = {"_MEMCLI_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = spawn(env=env)
    assert (done.returncode, done.stdout.decode().split()) == (0, expected)


def test_the_completion_script_is_printed_and_not_installed(spawn: Spawn, tmp_path: Path) -> None:
    done = spawn(env={"_MEMCLI_COMPLETE": "source_bash", "HOME": str(tmp_path)})
    assert b"complete -o default -F _memcli_completion memcli" in done.stdout
    assert list(tmp_path.iterdir()) == []


# The real table.


def test_every_group_of_the_table_has_a_line_and_commands() -> None:
    assert {path.partition(" ")[0] for path in table.COMMANDS if " " in path} == set(table.GROUPS)
    assert all(table.children(group) for group in table.GROUPS)
    assert set(table.GROUPS).isdisjoint(table.COMMANDS)


def test_help_names_every_command_of_the_table(capsys: Captured) -> None:
    out = shown(["--help"], capsys)
    lines = out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines if line[2] != " "] == table.children("")


def test_help_lines_are_read_from_the_module_when_it_is_loaded_too(fakes: None) -> None:
    assert full.help_line("fact set") == "Keep a value under a key."
    assert full.help_line("fact") == "What is known."
