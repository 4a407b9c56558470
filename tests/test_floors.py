"""The tower stands: imports go down only, and what touches the world is done in one place (docs/architecture.md).

Everything here reads the source and runs none of it. A place that may do what others may not is named with its reason;
a place that no longer needs its leave must give it back.
"""

import ast
import functools
import graphlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import memcli

PACKAGE = Path(memcli.__file__).parent
# From the ground up: a floor may import itself and what is below.
FLOORS = ("base", "model", "store", "index", "engine", "cli")
# The face of the package: it may import anything, and only the command line may import it back.
FACE = ("__init__.py", "__main__.py", "errors.py")
MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_MODULE = 420
# Longer than they should be today. Split them; nothing may join them.
TOO_LONG = {
    "cli/episode.py: add",
    "cli/fact.py: set_",
    "engine/memorize.py: run",
    "engine/remember.py: set_fact",
}


@dataclass(frozen=True)
class Fence:
    """What only a few places may do. words: dotted names, one with * at the end stands for all that begin so."""

    what: str
    words: str
    allowed: dict[str, str]


FENCES = (
    Fence(
        "runs another program",
        "subprocess pty multiprocessing os.system os.popen os.fork* os.exec* os.spawn* os.posix_spawn* os.kill*",
        {"base/command.py": "the only place that does"},
    ),
    Fence(
        "touches the disk",
        "open io.open os.open os.fdopen os.read os.write os.pread os.pwrite os.rename* os.replace os.unlink os.remove* "
        "os.rmdir os.mkdir os.makedirs os.link os.symlink os.truncate os.ftruncate os.chmod os.fchmod os.chown os.utime "
        "os.fsync os.fdatasync os.sync os.listdir os.scandir os.walk os.mkfifo os.mknod fcntl shutil tempfile pathlib glob "
        "mmap sqlite3 _sqlite3 dbm shelve",
        {
            "base/files.py": "the only hand on disk",
            "base/named.py": "writes the file that a command names; no part of a store",
            "base/lock.py": "the lock file is not a record",
            "base/command.py": "the pipes of the program that it runs",
            "index/database.py": "the only one that opens the index",
            "cli/render.py": "puts /dev/null in the place of a closed stdin, stdout or stderr",
            "cli/exchange.py": "reads the file that the command names; no part of a store",
            "cli/session.py": "reads the file that --request names; no part of a store",
            "engine/memory.py": "reads the file that import_jsonl names; no part of a store",
            "engine/cognitive_files.py": "reads the files that an import names; no part of a store",
            "engine/stores.py": "makes the folder in which a store will be",
            "engine/mending.py": "takes the rights of others away from .memcli",
        },
    ),
    Fence(
        "speaks to the terminal",
        "print input sys.stdout sys.stderr logging warnings getpass",
        {
            "cli/render.py": "the only renderer",
            "cli/main.py": "--version, before anything is imported",
            "cli/session.py": "asks for a yes",
            "cli/review.py": "asks item by item",
        },
    ),
    Fence("uses the CLI framework", "typer rich click argparse", {"cli/full.py": "the full reader"}),
    Fence(
        "looks at the clock",
        "datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today time.time* "
        "time.localtime time.gmtime time.strftime time.ctime",
        {
            "base/clock.py": "the only clock",
            "store/recovery.py": "names the copy of a text that stood in a stopped writer's way; no record carries it",
        },
    ),
    Fence(
        "reads the environment",
        "os.environ os.getenv os.getcwd os.path.expanduser",
        {
            "store/folder.py": "where the store is",
            "engine/intake.py": "MEMCLI_SOURCE, for every writer that names no source",
            "engine/memory_review.py": "MEMCLI_NOW, for Python as for the shell",
            "cli/session.py": "MEMCLI_NOW",
            "cli/store.py": "init reads MEMCLI_STORE and MEMCLI_TENANT before there is a store to find",
            "cli/quick.py": "steps aside when a shell asks for completion",
            "cli/main.py": "MEMCLI_DEBUG",
            "base/bucket.py": "host and credentials of an object store: AWS_*",
            "cli/editor.py": "VISUAL and EDITOR",
            "index/encoders.py": "the variable that vectors.key_env names",
        },
    ),
    Fence("reads YAML", "yaml frontmatter", {"model/header.py": "the only reader of front matter"}),
    Fence(
        "uses the network",
        "socket ssl http urllib.request ftplib smtplib asyncio requests httpx obstore",
        {
            "base/bucket.py": "the bucket that `sync` names, where somebody has agreed to it",
            "base/network.py": "asks the one host that vectors.endpoint names, where somebody has allowed it",
        },
    ),
    Fence("evaluates text as code", "eval exec pickle marshal", {}),
)


@dataclass(frozen=True)
class Module:
    """One source file: its path below the package, its dotted name, its tree and its number of lines."""

    path: str
    name: str
    tree: ast.Module
    lines: int


def read(path: str, source: str) -> Module:
    dotted = "memcli." + path.removesuffix(".py").replace("/", ".")
    return Module(path, dotted.removesuffix(".__init__"), ast.parse(source), source.count("\n"))


def modules() -> list[Module]:
    paths = sorted(p for p in PACKAGE.rglob("*.py"))
    return [read(p.relative_to(PACKAGE).as_posix(), p.read_text("utf-8")) for p in paths]


MODULES = modules()
NAMES = {m.name for m in MODULES}


def floor(dotted: str) -> int | None:
    """The floor of a module of memcli, None for the face."""
    parts = dotted.split(".")
    return FLOORS.index(parts[1]) if len(parts) > 1 and parts[1] in FLOORS else None


def imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every imported name, dotted, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def module_of(dotted: str) -> str:
    """The module that an imported name is or stands in."""
    return dotted if dotted in NAMES else dotted.rpartition(".")[0]


def climbs(module: Module) -> list[str]:
    """Imports that go up."""
    if module.path in FACE:
        return []
    own = floor(module.name)
    found = []
    for node, dotted in imports(module.tree):
        if dotted.split(".")[0] != "memcli":
            continue
        other = floor(module_of(dotted))
        if own is None or (other is None and FLOORS[own] != "cli") or (other is not None and other > own):
            found.append(f"{module.path}:{node.lineno} imports {dotted}")  # type: ignore[attr-defined]
    return found


@functools.cache
def uses(module: Module) -> tuple[tuple[int, str], ...]:
    """Every name of another module or of the interpreter that the code uses, dotted, with its line."""
    known: dict[str, str] = {}
    found = [(node.lineno, dotted) for node, dotted in imports(module.tree)]  # type: ignore[attr-defined]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                known[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            known.update({(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names})
    for node in ast.walk(module.tree):
        first, _, rest = written(node).partition(".")
        if first in known:
            found.append((node.lineno, f"{known[first]}.{rest}" if rest else known[first]))  # type: ignore[attr-defined]
        elif first and not rest and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.append((node.lineno, first))
    return tuple(found)


def written(node: ast.AST) -> str:
    """`a.b.c` as it is written; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = written(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def breaches(module: Module, fence: Fence) -> list[str]:
    """Places where a module does what the fence keeps."""
    words = fence.words.split()
    own = {node.name for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found = []
    for line, name in uses(module):
        if name in own and "." not in name:
            continue  # its own function of that name
        hit = any(name.startswith(w[:-1]) if w.endswith("*") else name == w or name.startswith(w + ".") for w in words)
        if hit:
            found.append(f"{module.path}:{line} {fence.what}: {name}")
    return found


def long_ones(module: Module) -> list[str]:
    """What is too long in a module."""
    found = [module.path] if module.lines > MOST_LINES_OF_A_MODULE else []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION:
                found.append(f"{module.path}: {node.name}")
    return found


def at_import(module: Module) -> set[str]:
    """The modules of memcli that are loaded when this one is imported."""
    found = set()
    for node in module.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {module_of(d) for _, d in imports(node) if d.split(".")[0] == "memcli"}
    return found - {module.name}


def test_every_folder_is_a_floor() -> None:
    folders = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")} - {"."}
    assert folders == set(FLOORS)


def test_imports_go_down_only() -> None:
    assert [line for module in MODULES for line in climbs(module)] == []


def test_no_import_circles() -> None:
    graph = {module.name: at_import(module) for module in MODULES}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError and names the circle


@pytest.mark.parametrize("fence", FENCES, ids=lambda fence: fence.what)
def test_fences_hold(fence: Fence) -> None:
    found = [line for module in MODULES if module.path not in fence.allowed for line in breaches(module, fence)]
    assert found == []


@pytest.mark.parametrize("fence", FENCES, ids=lambda fence: fence.what)
def test_leave_that_is_not_needed_is_given_back(fence: Fence) -> None:
    using = {module.path for module in MODULES if breaches(module, fence)}
    assert set(fence.allowed) <= using


def test_functions_and_modules_are_short() -> None:
    found = {name for module in MODULES for name in long_ones(module)}
    assert found - TOO_LONG == set(), "too long: split it"
    assert found >= TOO_LONG, "no longer too long: take it off the list"


def test_every_module_says_what_it_is() -> None:
    assert [m.path for m in MODULES if not ast.get_docstring(m.tree) and m.tree.body] == []


# --- The checks can fail


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("base/x.py", "from memcli.model import labels"),
        ("model/x.py", "def f():\n    from memcli.store import facts"),
        ("store/x.py", "import memcli.engine.sweep"),
        ("engine/x.py", "if TYPE_CHECKING:\n    from memcli.cli.call import Context"),
        ("base/x.py", "from memcli import __version__"),
        ("loose.py", "from memcli.base import errors"),
    ],
)
def test_a_climb_is_found(path: str, source: str) -> None:
    assert len(climbs(read(path, source))) == 1


def test_a_climb_down_is_none() -> None:
    assert (
        climbs(read("engine/x.py", "from memcli.base import errors\nfrom memcli.engine import view\nimport os")) == []
    )


@pytest.mark.parametrize(
    ("what", "source"),
    [
        ("runs another program", "import subprocess as s\ns.run([])"),
        ("runs another program", "import os\nos.execvp('x', [])"),
        ("touches the disk", "with open('x') as f: pass"),
        ("touches the disk", "from os import unlink as gone\ngone('x')"),
        ("touches the disk", "def f():\n    from pathlib import Path"),
        ("speaks to the terminal", "print('x')"),
        ("speaks to the terminal", "from sys import stdout"),
        ("uses the CLI framework", "import typer.core"),
        ("looks at the clock", "from datetime import datetime\ndatetime.now()"),
        ("looks at the clock", "import datetime as d\nd.datetime.utcnow()"),
        ("looks at the clock", "import time\ntime.time_ns()"),
        ("reads the environment", "import os\nos.environ.get('X')"),
        ("reads YAML", "from yaml import load"),
        ("uses the network", "import urllib.request"),
        ("evaluates text as code", "eval('1')"),
    ],
)
def test_a_breach_is_found(what: str, source: str) -> None:
    (fence,) = (f for f in FENCES if f.what == what)
    assert breaches(read("engine/x.py", source), fence)


def test_what_only_looks_like_a_breach_is_none() -> None:
    source = "import os\nfrom memcli.base import clock\ndef open(path): ...\nopen(os.path.join('a'))\nclock.now()\nself.print()"
    assert [line for fence in FENCES for line in breaches(read("engine/x.py", source), fence)] == []


def test_what_is_too_long_is_found() -> None:
    source = "def f():\n" + "    pass\n" * 60 + "#\n" * 360
    assert long_ones(read("base/x.py", source)) == ["base/x.py", "base/x.py: f"]
