"""What the tests of a store share: a store to play with, two ways to call the command line, a clock that stands."""

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import memcli
from memcli.cli import main
from memcli.engine.memory import Memory
from memcli.model import keys
from memcli.model.records import Fact
from memcli.store import facts, folder, proposals

NOW = "2026-11-15T09:00:00Z"
PACKAGE_PARENT = Path(memcli.__file__).parents[1]
CHECKOUT = Path(__file__).parents[1]
SHARED = CHECKOUT.parent / "shared"
# Everything that a reader above internal may not see is made of this word, so that one search finds every leak.
DECISIONS = (
    ("review", "accept"),
    ("review", "reject"),
    ("source", "set"),
    ("source", "allow"),
    ("procedure", "reject"),
)
CANARY = "kingfisher"


def at(text: str = NOW, **later: float) -> datetime:
    """An instant, and so much later: at(days=3)."""
    return datetime.fromisoformat(text) + timedelta(**later)


def stamp(text: str = NOW, **later: float) -> str:
    """The same as text, for --now."""
    return at(text, **later).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Ran(NamedTuple):
    """How a call of the command line ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What --json said."""
        envelope = json.loads(self.out)
        assert envelope["format"] == 1
        return envelope["data"]

    @property
    def error(self) -> dict[str, Any]:
        """What --json said on stderr; notes may stand before it."""
        envelope = json.loads(self.err[self.err.index('{"format"') :])
        assert envelope["format"] == 1
        found: dict[str, Any] = envelope["error"]
        return found


def call(argv: Iterable[str], stdin: bytes = b"") -> Ran:
    """Run words in this process with streams of their own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run(list(argv))
    finally:
        sys.stdin = before
    return Ran(code, *(s.buffer.getvalue().decode() for s in (out, err)))  # type: ignore[attr-defined]


def spawn(
    argv: Iterable[str | bytes],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    umask: int = -1,
) -> Ran:
    """Run words in a process of their own."""
    done = subprocess.run(
        command(argv),
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        cwd=cwd,
        env=environment(env),
        umask=umask,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def command(argv: Iterable[str | bytes]) -> list[str | bytes]:
    """The words of a process that runs memcli as it is imported here."""
    return [sys.executable, "-m", "memcli", *argv]


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of such a process."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT), **(more or {})}


class Box:
    """One store and the clock that its calls are given."""

    def __init__(self, root: Path, *, now: str = NOW) -> None:
        self.root, self.now = root, now

    @property
    def store(self) -> folder.Store:
        """The store, opened anew."""
        return folder.open_store(str(self.root))

    @property
    def memory(self) -> Memory:
        """The Python face, opened anew."""
        return Memory(self.store)

    def at_once(self) -> "Box":
        """From here on an import that is not trusted writes its facts at once, as the settings allow."""
        toml = self.root / "memcli.toml"
        toml.write_text(toml.read_text() + '\n[promotion]\nimport = "immediate"\n')
        return self

    def words(self, *argv: str, now: str | None = None) -> list[str]:
        """The whole command line for this store."""
        return ["--store", str(self.root), "--now", now or self.now, *argv]

    def run(self, *argv: str, now: str | None = None, stdin: bytes = b"") -> Ran:
        """A call in this process; what a person decides is decided by one, unless it says by whom.

        What is advised is given as it is where nobody names the store on the command line: tests/cli/test_advice.py.
        """
        if argv[:2] in DECISIONS and "--by" not in argv and "MEMCLI_SOURCE" not in os.environ:
            argv = (*argv[:2], "--by", "user:keeper", *argv[2:])
        ran = call(self.words(*argv, now=now), stdin)
        named = f"memcli --store {shlex.quote(str(self.root))} "
        return Ran(ran.code, ran.out.replace(named, "memcli "), ran.err.replace(named, "memcli "))

    def ok(self, *argv: str, now: str | None = None, stdin: bytes = b"") -> Ran:
        """A call that must succeed."""
        ran = self.run(*argv, now=now, stdin=stdin)
        assert ran.code == 0, ran
        return ran

    def data(self, *argv: str, now: str | None = None, stdin: bytes = b"") -> Any:
        """What a call that must succeed says with --json."""
        return self.ok(*argv, "--json", now=now, stdin=stdin).data

    def kept(self) -> dict[str, Fact]:
        """Facts and proposals by key, whatever their label; of one key the last by file name."""
        return {f.key: f for f in (*facts.every(self.store), *proposals.every(self.store))}

    def get(self, key: str, *, now: str | None = None) -> str:
        """The value of a fact, whatever its label."""
        return self.ok("fact", "get", key, "--reveal", now=now).out.removesuffix("\n")

    def set(self, key: str, text: str, *options: str, now: str | None = None) -> dict[str, Any]:
        """Set a fact and say what came of it."""
        found: dict[str, Any] = self.data("fact", "set", key, text, *options, now=now)
        return found

    def add(self, text: str, *options: str, now: str | None = None) -> str:
        """Add an episode; its id."""
        return self.ok("episode", "add", text, *options, now=now).out.strip()

    def fact(self, key: str) -> Any:
        """The fact as the store layer reads it."""
        return facts.get(self.store, keys.normal(key))

    def md(self, key: str) -> Path:
        """The Markdown file of a key."""
        return self._file(key, ".md")

    def side(self, key: str) -> Path:
        """The sidecar of a key."""
        return self._file(key, ".meta.json")

    def meta(self, key: str) -> dict[str, Any]:
        """The sidecar of a key, parsed."""
        found: dict[str, Any] = json.loads(self.side(key).read_bytes())
        return found

    def _file(self, key: str, suffix: str) -> Path:
        names = [self.root / "facts" / f"{n}{suffix}" for n in (keys.file_name(key), keys.hidden_name(key))]
        return next((p for p in names if p.exists()), names[0])

    def log(self, month: str = "2026-11") -> Path:
        """A month's log."""
        return self.root / "episodes" / f"{month}.md"

    def tree(self, *, state: bool = False, index: bool = False) -> dict[str, bytes]:
        """Every tracked file with its bytes; state: what is in .memcli too; index: and what readers write, the index and the
        retrieval log."""
        return {
            str(p.relative_to(self.root)): p.read_bytes()
            for p in sorted(self.root.rglob("*"))
            if p.is_file()
            and (state or ".memcli" not in p.relative_to(self.root).parts)
            and (index or not p.name.startswith(("index.", "retrieval.")))
        }

    def touched(self) -> dict[str, tuple[int, int, int]]:
        """Every file and folder outside .memcli with what a write would change: mtime, inode, size."""
        found = {}
        for p in sorted(self.root.rglob("*")):
            if ".memcli" not in p.relative_to(self.root).parts:
                info = p.lstat()
                found[str(p.relative_to(self.root))] = (info.st_mtime_ns, info.st_ino, info.st_size)
        return found
