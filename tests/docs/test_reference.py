"""The reference says what the program does: generated pages are fresh, and the pages by hand name what is there."""

import ast
import importlib.util
import inspect
import json
import keyword
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import memcli
from memcli.cli import full, main, table, words
from memcli.cli.words import WORDS

from . import transcript

REFERENCE = transcript.TOP / "docs" / "reference"
NOW = "2026-11-15T09:00:00Z"
EPISODE = "01a1d4e2-dd40-717e-9cd6-15298e419d56"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", REFERENCE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
PATHS = list(table.COMMANDS)


def test_generated_pages_are_fresh(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # the generator sets it for itself
    assert GENERATOR.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_page_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name, text in GENERATOR.pages().items():
        (tmp_path / name).write_text(text.replace("memcli fact get", "memcli fact fetch"), "utf-8")
    monkeypatch.setattr(GENERATOR, "HERE", tmp_path)
    assert GENERATOR.main(["--check"]) == 1
    assert "commands.md is stale" in capsys.readouterr().out
    assert GENERATOR.main([]) == 0
    assert GENERATOR.main(["--check"]) == 0


# --- Help


@pytest.mark.parametrize("path", PATHS)
def test_a_command_has_help_with_examples_that_are_calls_of_it(path: str) -> None:
    function = table.load(path)
    about, examples = GENERATOR.split_help(function)
    assert about
    assert examples
    for example in examples:
        (words,) = transcript.calls(example.removeprefix('cd "$(').removesuffix(')"'))
        assert full.read(words).function is function, example


@pytest.mark.parametrize("path", PATHS)
def test_every_parameter_has_words(path: str) -> None:
    parameters = list(inspect.signature(table.load(path)).parameters)[1:]
    assert [name for name in parameters if not words.of(path, name)] == []


@pytest.mark.parametrize("path", PATHS)
def test_a_parameter_has_its_plain_name(path: str) -> None:
    function = table.load(path)
    odd = [name for name in inspect.signature(function).parameters if name.endswith("_")]
    # A word of Python, or a module that the function uses, has its name already.
    assert [
        n for n in odd if not (keyword.iskeyword(n[:-1]) or inspect.ismodule(function.__globals__.get(n[:-1])))
    ] == []


def test_no_words_are_said_of_what_no_command_has() -> None:
    named = {path: list(inspect.signature(table.load(path)).parameters)[1:] for path in PATHS}
    whole = {f"{path}.{name}" for path, names in named.items() for name in names}
    plain = {name for path, names in named.items() for name in names if f"{path}.{name}" not in WORDS}
    plain |= {"store", "tenant", "now", "version", "json", "jsonl"}
    assert set(WORDS) - whole - plain == set()


@pytest.mark.parametrize("path", PATHS)
def test_every_command_has_a_section(path: str) -> None:
    assert f"\n## memcli {path}\n" in (REFERENCE / "commands.md").read_text("utf-8")
    assert f"\n### memcli {path}\n" in (REFERENCE / "json.md").read_text("utf-8")


def test_groups_have_help() -> None:
    groups = {path.partition(" ")[0] for path in PATHS if " " in path}
    assert groups == set(table.GROUPS)
    assert all(table.GROUPS.values())


# --- Environment


def named_variables() -> set[str]:
    """Names of environment variables that stand in the code."""
    found = set()
    for path in Path(memcli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                match = re.fullmatch(r"_?MEMCLI_[A-Z]+|XDG_[A-Z_]+|VISUAL|EDITOR", node.value)
                found |= {node.value} if match else set()
    return found


def test_every_variable_is_on_the_page_and_no_other() -> None:
    rows = [r for r in (REFERENCE / "environment.md").read_text("utf-8").split("\n") if r.startswith("| `")]
    on_page = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row.split("|")[1])}
    assert on_page == named_variables()


# --- JSON

# For each command a call on a copy of the sample store, run one after the other; {dir} is the folder.
CALLS = {
    "init": "init {dir}/new --git",
    "where": "where",
    "status": "status",
    "stats": "stats",
    "config": "config",
    "fact set": "fact set key value --check path:{dir}",
    "fact get": "fact get 'deploy target'",
    "fact list": "fact list --clearance restricted",
    "fact edit": "fact edit 'deploy target'",
    "fact rename": "fact rename key clef",
    "fact history": "fact history 'job queue'",
    "fact confirm": "fact confirm clef --run r1 --source user:sam",
    "fact deny": "fact deny clef --run r2 --source user:ivan",
    "fact relate": "fact relate clef part_of 'deploy target'",
    "fact unrelate": "fact unrelate 'deploy target' related 'deploy window'",
    "fact related": "fact related clef",
    "fact chain": "fact chain clef",
    "search": "search deploy",
    "retrieve": "retrieve deploy --session s",
    "recall": "recall 'deploy target' --session s",
    "graph": "graph clef",
    "fact forget": "fact forget clef --yes",
    "fact restore": "fact restore clef",
    "fact adopt": "fact adopt 'deploy target'",
    "episode add": "episode add text --task task",
    "episode list": "episode list -n 0 --clearance restricted",
    "episode show": f"episode show {EPISODE}",
    "work set": "work set branch main --session s",
    "work add": "work add text --role user --session s",
    "work get": "work get branch --session s",
    "work list": "work list --session s",
    "context": "context 'deploy to production' --session s",
    "work clear": "work clear --session s --yes",
    "procedure propose": "procedure propose key --step 'One: do it' --task-type release",
    "procedure approve": "procedure approve key --by user:anna",
    "procedure record": "procedure record key --success --duration-ms 5",
    "procedure reject": "procedure reject key --by user:anna",
    "procedure best": "procedure best release",
    "procedure list": "procedure list",
    "procedure show": "procedure show key",
    "verify": "verify",
    "remember": "remember 'We decided to move the load test to Thursday.'",
    "consolidate": "consolidate --session t --task task --transcript {dir}/said.txt",
    "review list": "review list",
    "review show": "review show 10a44d9137c5",
    "review accept": "review accept 10a44d9137c5 --by user:anna",
    "review reject": "review reject 433fb74e6e8a --by user:anna",
    "review diff": "review diff HEAD",
    "source list": "source list",
    "source show": "source show anna",
    "source set": "source set anna --trust 0.9 --by user:boris",
    "source allow": "source allow anna --by user:boris",
    "source block": "source block anna --by user:boris",
    "forget": f"forget {EPISODE} --yes",
    "restore": f"restore {EPISODE}",
    "sweep": "sweep",
    "scrub": "scrub",
    "import": "import jsonl {dir}/lines.jsonl",
    "export": "export jsonl {dir}/out.jsonl",
    "git setup": "git setup",
    "merge-driver": "merge-driver archive {dir}/none {dir}/lines.jsonl {dir}/none archive/line.jsonl",
    "doctor": "doctor",
    "reindex": "reindex",
    "check": "check",
    "audit": "audit",
}
FREE = ("config", "search")
# Not called here.
TALKS = {"review walk": "only on a terminal", "sync": "needs an object store: tests/fleet"}


def tables(section: str) -> dict[str, tuple[set[str], set[str]]]:
    """Heading to (fields that are always there, fields that may be) of each section of json.md below `section`."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    text = (REFERENCE / "json.md").read_text("utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    for part in text.split("\n### ")[1:]:
        heading, _, body = part.partition("\n")
        rows = [row.split("|") for row in body.split("\n") if row.startswith("| `")]
        always = {n for row in rows if "if any" not in row[2] for n in re.findall(r"`(\w+)`", row[1])}
        maybe = {n for row in rows if "if any" in row[2] for n in re.findall(r"`(\w+)`", row[1])}
        found[heading] = (always, maybe)
    return found


def expected(path: str) -> tuple[set[str], set[str]]:
    """The fields of a command's data, its references to other sections followed."""
    sections = tables("Commands")
    always, maybe = sections[f"memcli {path}"]
    text = (REFERENCE / "json.md").read_text("utf-8").split(f"\n### memcli {path}\n")[1].split("\n### ")[0]
    for anchor in re.findall(r"\(#([\w-]+)\)", re.sub(r"(?m)^\|.*$", "", text)):
        name = anchor.replace("-", " ")
        other = name[:1].upper() + name[1:] if name.startswith(("a ", "an ")) else None
        more = tables("Records")[other] if other else expected(name.removeprefix("memcli "))
        always, maybe = always | more[0], maybe | more[1]
    if path == "fact history":
        maybe |= {"digest", "path", "expires_at", "state"}
        always -= maybe
    return always, maybe


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of every call."""
    folder = tmp_path_factory.mktemp("json")
    store = folder / "memory"
    shutil.copytree(transcript.SAMPLE, store, ignore=shutil.ignore_patterns(".memcli"))
    (folder / "none").write_text("")
    (folder / "lines.jsonl").write_text('{"kind": "fact", "key": "line", "text": "text", "sensitivity": "public"}\nx\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDITOR", "true")
        patch.setenv("GIT_CEILING_DIRECTORIES", str(folder))
        (folder / "said.txt").write_text("We decided to move the load test to Thursday.\n")
        for words in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", "-C", str(store), *words], check=True)
        for name in ("VISUAL", "MEMCLI_STORE", "MEMCLI_TENANT", "MEMCLI_NOW", "MEMCLI_SOURCE"):
            patch.delenv(name, raising=False)
        return dict(_answers(folder, store))


def _answers(folder: Path, store: Path) -> Iterator[tuple[str, Any]]:
    for path, call in CALLS.items():
        if path == "doctor":  # something to find
            (store / "facts" / "odd.md").write_text("by hand\n")
        words = ["--now", NOW, *shlex.split(call.format(dir=folder)), "--json"]
        yield path, _run(words if path == "init" else ["--store", str(store), *words])


def _run(words: list[str]) -> Any:
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"mail bob@example.org\n")))
        code = main.run(words)
    assert code in (0, 4), err.getvalue()
    return json.loads(out.getvalue())


def test_every_command_is_called() -> None:
    assert {*CALLS, *TALKS} == set(PATHS)


@pytest.mark.parametrize("path", [path for path in PATHS if path in CALLS])
def test_json_is_what_the_page_says(path: str, answers: dict[str, Any]) -> None:
    document = answers[path]
    assert set(document) == {"format", "data"}
    assert document["format"] == 1
    data = document["data"]
    assert data, "the call must have something to show"
    if path in FREE:
        return
    always, maybe = expected(path)
    for row in data if isinstance(data, list) else [data]:
        assert set(row) <= always | maybe, "not on the page"
        assert set(row) >= always, "on the page as always there"


@pytest.mark.parametrize("path", [path for path in PATHS if path in CALLS])
def test_the_page_says_which_data_are_lists(path: str, answers: dict[str, Any]) -> None:
    text = (REFERENCE / "json.md").read_text("utf-8").split(f"\n### memcli {path}\n")[1].split("\n### ")[0]
    assert isinstance(answers[path]["data"], list) == text.startswith("\nA list")
