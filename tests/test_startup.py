"""What a hot command may load. A module that creeps in costs every call of it: `typing` alone is worth a whole start.

A new module of memcli in a list below is a decision, not a repair: measure it first (python tests/bench/startup.py).
"""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli import __version__

ROOT = Path(__file__).resolve().parents[1]
NOW = "2026-11-15T09:00:00Z"
# -S: no .pth file of this environment may load a module before we count. `os` is what `site` would have loaded.
PROBE = """
import os, sys
sys.path[:0] = {paths!r}
bare = set(sys.modules)
{plant}
from memcli.cli.main import run
code = run(sys.argv[1:])
print(code, *sorted(set(sys.modules) - bare), file=sys.stderr)
"""

# Parts of the standard library that `json`, `re` and `datetime` bring along, in all versions of Python that we support.
STANDARD = set(
    "json _json re _sre enum types functools _functools collections _collections operator _operator keyword reprlib "
    "itertools copyreg datetime _datetime math errno _sha256 _sha2".split()
)
WRITING = {"fcntl", "time"}
# Never on a hot path, whoever wants it; the reasons are in docs/reference/benchmarks.md.
BANNED = set(
    "typer click rich yaml frontmatter slugify text_unidecode filelock dataclasses inspect typing pathlib tomllib "
    "sqlite3 _sqlite3 subprocess unicodedata hashlib _hashlib logging argparse shutil tempfile random uuid ast".split()
)

# Of memcli, in layers that the commands share.
_CLI = "cli cli.main cli.quick cli.call cli.table cli.render cli.session"
_BASE = "base base.errors base.text base.clock base.files base.value base.ids base.sha256"
_STORE = "model model.labels model.settings model.records model.sidecar store store.folder store.archive"
_FACTS = "model.header model.keys model.policy store.pair store.names store.facts"
_SETTINGS = "base.toml"
_MASKING = "model.redact model.detect model.personal"
_READING = f"{_CLI} {_BASE} {_STORE} {_FACTS}"
_SETTING = f"{_READING} {_SETTINGS} {_MASKING} base.lock engine engine.intake engine.remember cli.fact"
_ADDING = f"{_CLI} {_BASE} {_STORE} {_SETTINGS} {_MASKING} base.lock engine engine.intake engine.recount store.episodes"
_ADDING += " store.monthly"
_CONTEXT = f"{_READING} {_SETTINGS} {_MASKING} engine engine.block engine.context"
_CONTEXT += " engine.choice engine.receipt engine.blend engine.features index.thesaurus model.dates store.retrievals"
# A new value is looked for in what else says the old one, so it costs the index.
_INDEX = "index index.database index.document index.entries index.logs index.look index.pairs index.refresh index.rows"
_INDEX += " index.scope store.naming"
_INDEX += " index.signs model.words store.touched store.monthly base.lock"
_LAYERS = "store.episodes store.procedures store.sources"
# SQLite and the stemmer are C; what they bring is small. `gc` is switched off while an index is built.
INDEXING = {"_sqlite3", "Stemmer", "cython_runtime", "heapq", "_heapq", "array", "zlib", "gc", "unicodedata"}


def ours(*names: str) -> set[str]:
    return {"memcli", *(f"memcli.{name}" for text in names for name in text.split())}


# Command -> what it must load of memcli, all of it and no more, and what else it may.
HOT: dict[str, tuple[list[str], set[str], set[str]]] = {
    "fact get": (["fact", "get", "deploy target"], ours(_READING, _SETTINGS, _MASKING, "cli.fact"), set()),
    "fact get, miss": (
        ["fact", "get", "no such key"],
        ours(_READING, "cli.fact cli.advice base.toml engine engine.missing"),
        set(),
    ),
    "fact set, create": (["fact", "set", "another key", "a value"], ours(_SETTING), WRITING),
    "fact set, supersede": (
        ["fact", "set", "deploy target", "Hetzner"],
        ours(_SETTING, _INDEX, _LAYERS, "engine.fanout"),
        WRITING | INDEXING,
    ),
    "fact set, unchanged": (["fact", "set", "deploy target", "Fly.io"], ours(_SETTING), WRITING),
    "episode add": (["episode", "add", "Replayed 214.", "--task", "Move"], ours(_ADDING, "cli.episode"), WRITING),
    # The words of a store that holds other letters than ASCII are folded.
    "context": (["context", "how do we deploy?"], ours(_CONTEXT, _INDEX, _LAYERS, "cli.context"), INDEXING | WRITING),
}


def paths() -> list[str]:
    return [str(ROOT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]


def load(*argv: str, plant: str = "") -> tuple[int, set[str]]:
    """The exit code of a command in a process of its own, and the modules that it loads beyond a bare start."""
    code = PROBE.format(paths=paths(), plant=plant)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *argv],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MEMCLI_NOW": NOW},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    exit_code, *modules = done.stderr.splitlines()[-1].split()
    return int(exit_code), set(modules)


def faults(modules: set[str], allowed: set[str], others: set[str]) -> list[str]:
    """What is loaded and should not be, and what the list allows without need."""
    own = {name for name in modules if name.partition(".")[0] == "memcli"}
    # Cython names a module of its own after its version.
    standard = {name.partition(".")[0] for name in modules - own if not name.startswith("_cython_")}
    found = [f"{name} is new" for name in sorted(own - allowed)]
    found += [f"{name} is loaded no more: take it out of the list" for name in sorted(allowed - own)]
    found += [f"{name} is banned" for name in sorted(standard & BANNED - others)]
    found += [f"{name} is new" for name in sorted(standard - BANNED - STANDARD - others)]
    return found


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "store")
    for words in (
        ["init"],
        ["fact", "set", "deploy target", "Fly.io", "--tag", "deploy"],
        ["fact", "set", "как писать", "коротко"],
        ["episode", "add", "Moved the webhooks.", "--outcome", "completed"],
    ):
        assert load("--store", place, *words)[0] == 0
    return place


def test_version_loads_only_the_entry() -> None:
    assert load("--version") == (0, {"memcli", "memcli.cli", "memcli.cli.main"})


@pytest.mark.parametrize("name", HOT)
def test_a_hot_command_loads_what_it_needs(name: str, store: str) -> None:
    argv, allowed, others = HOT[name]
    code, modules = load("--store", store, *argv)
    assert code == (3 if "miss" in name else 0)
    assert faults(modules, allowed, others) == []


_DRIVER = "cli cli.main cli.quick cli.call cli.table cli.render cli.merge base base.errors base.text base.files base.value base.ids"
_DRIVER += " base.sha256 engine engine.merge model model.labels model.merge model.keys model.header"
_NOTING = f"store store.folder store.merge_notes model.sidecar model.records model.settings {_SETTINGS}"
# Kind of file -> what the merge driver must load of memcli for two values of one fact, the note of the loser included.
MERGING = {
    "fact": ("k.md", ours(_DRIVER, _NOTING)),
    "meta": ("k.meta.json", ours(_DRIVER, _NOTING, "model.merge_meta model.policy base.clock")),
}


@pytest.mark.parametrize("kind", MERGING)
def test_the_merge_driver_loads_what_it_needs(kind: str, store: str) -> None:
    name, allowed = MERGING[kind]
    versions = []
    for text in ("base", "ours", "theirs"):
        load("--store", store, "fact", "set", "k", text)
        versions.append(Path(store) / f".merge_file_{text}")
        versions[-1].write_bytes((Path(store) / "facts" / name).read_bytes())
    code, modules = load("merge-driver", kind, *map(str, versions), f"{store}/facts/{name}")
    assert code == 0
    assert (Path(store) / ".memcli" / "merges").is_dir()
    assert faults(modules, allowed, set()) == []


def test_only_a_key_of_other_letters_loads_the_slugs(store: str) -> None:
    _, ascii_key = load("--store", store, "fact", "get", "deploy target")
    code, modules = load("--store", store, "fact", "get", "как писать")
    assert code == 0
    assert {"slugify", "text_unidecode", "unicodedata"} <= modules - ascii_key
    assert not {"typer", "rich", "yaml", "frontmatter", "filelock"} & modules


VECTORS = ours("base.network", "index.vectors", "index.encoders", "index.codes", "engine.meaning", "engine.encoding")


@pytest.mark.parametrize("argv", [["search", "deploy"], ["context", "how do we deploy?"]], ids=" ".join)
def test_without_vectors_nothing_of_them_is_loaded(argv: list[str], store: str) -> None:
    known = VECTORS - {"memcli"}
    _, modules = load("--store", store, *argv)
    assert not {*known, "ctypes", "numpy", "http", "ssl"} & modules
    with (Path(store) / "memcli.toml").open("a") as settings:
        settings.write("\n[vectors]\nenabled = true\n")
    _, modules = load("--store", store, *argv)
    assert "memcli.engine.meaning" in modules
    assert not {"numpy", "http", "ssl"} & modules


@pytest.mark.parametrize("plant", ["import tomllib", "import typing", "import memcli.engine.sweep", "import http"])
def test_a_planted_import_is_found(plant: str, store: str) -> None:
    argv, allowed, others = HOT["fact get"]
    _, modules = load("--store", store, *argv, plant=plant)
    assert any(plant.split()[1] in fault for fault in faults(modules, allowed, others))


def test_a_list_that_allows_too_much_is_found(store: str) -> None:
    argv, allowed, others = HOT["fact get"]
    _, modules = load("--store", store, *argv)
    wide = allowed | ours("engine.sweep")
    assert faults(modules, wide, others) == ["memcli.engine.sweep is loaded no more: take it out of the list"]


# The console script leaves through os._exit: nothing may be lost or changed by that.

PROGRAM = f"import sys; sys.path[:0] = {paths()!r}; from memcli.cli.main import program; program()"
MAIN = PROGRAM.replace("program", "main")
Start = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def start() -> Start:
    def run(code: str, *argv: str, shell: str = '"$@"') -> "subprocess.CompletedProcess[bytes]":
        call = ["/bin/sh", "-c", shell, "sh", sys.executable, "-I", "-S", "-c", code, *argv]
        env = {"PATH": os.environ["PATH"], "MEMCLI_NOW": NOW}
        return subprocess.run(call, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    return run


@pytest.mark.parametrize(
    "argv",
    [["--version"], ["--help"], ["fact", "get", "deploy target"], ["fact", "get", "none"], ["fact", "--nope"]],
    ids=" ".join,
)
def test_the_program_says_what_main_says(argv: list[str], store: str, start: Start) -> None:
    words = argv if argv[0].startswith("--") else ["--store", store, *argv]
    one, other = start(PROGRAM, *words), start(MAIN, *words)
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert one.stdout + one.stderr


def test_a_long_output_arrives_whole(store: str, tmp_path: Path, start: Start) -> None:
    rows = [{"kind": "fact", "key": f"key {n}", "text": "x" * 500, "sensitivity": "public"} for n in range(500)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        start(PROGRAM, "--store", store, "import", "jsonl", str(tmp_path / "rows.jsonl"), "--trusted").returncode == 0
    )
    listed = start(PROGRAM, "--store", store, "fact", "list", "--jsonl", shell='"$@" | cat')
    assert listed.stdout.count(b"\n") == 502


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_still_an_error(start: Start) -> None:
    done = start(PROGRAM, "--version", shell='"$@" > /dev/full')
    assert done.returncode == 7
    assert done.stderr.startswith(b"memcli: cannot write to stdout")


def test_the_version_is_that_of_the_package(start: Start) -> None:
    assert start(PROGRAM, "--version").stdout.decode() == f"memcli {__version__}\n"
