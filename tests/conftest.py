"""Fixtures for all tests, and two guards: no test sees the user's own store, and none writes outside the temp folder."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import support
from support import CHECKOUT, NOW, Box, Ran

from memcli.base import files

pytest_plugins = ["pytester", "figures"]

# A store as a fixture serves all examples of a property: more keys in it do no harm.
_SHARED = [hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("normal", deadline=None, suppress_health_check=_SHARED)
hypothesis.settings.load_profile("normal")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the full-size proofs out unless -m asks for them."""
    if "full" not in (config.option.markexpr or ""):
        for item in items:
            if item.get_closest_marker("full"):
                item.add_marker(pytest.mark.skip(reason="full size: run with -m full"))


# Guard 1: the environment.


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder that is nobody's."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _no_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the person who runs the tests decides anything."""
    for name in [n for n in os.environ if n.startswith("MEMCLI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")


# Guard 2: the disk.

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CACHES = {".pytest_cache", ".hypothesis", ".ruff_cache", ".mypy_cache", "__pycache__"}
# Audit event -> which arguments are paths, each with the argument that holds its folder's descriptor.
_CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "sqlite3.connect": ((0, None),),
}


class Outside(BaseException):
    """A test wrote where no test may. No `except Exception` swallows it."""


class Guard:
    """Looks at every write of this process. Processes that a test starts are not watched."""

    def __init__(self) -> None:
        self.watching = False
        self.looking = False
        self.caught: list[str] = []
        self.ours: tuple[str, ...] = ()

    def install(self, ours: tuple[str, ...]) -> None:
        """ours: where writing is free. An audit hook cannot be taken out again, so this is done once a process."""
        self.ours = tuple(os.path.realpath(p) for p in ours)
        sys.addaudithook(self._event)
        plain = os.open

        def watched(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            # The event of os.open does not say which folder its name is in.
            if self.watching and flags & _WRITING:
                self._check(path, dir_fd)
            before, self.looking = self.looking, True
            try:
                return plain(path, flags, mode, dir_fd=dir_fd)
            finally:
                self.looking = before

        os.open = watched

    def _event(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.watching or self.looking:
            return
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int):
                self._check(path, None)
        elif event in _CHANGES:
            for place, folder in _CHANGES[event]:
                self._check(args[place], None if folder is None else args[folder])

    def _check(self, path: Any, dir_fd: int | None) -> None:
        self.looking = True
        try:
            full = _resolved(path, dir_fd)
            if full is None or self._free(full):
                return
        finally:
            self.looking = False
        self.caught.append(full)
        raise Outside(f"a test writes outside the temp folder: {full}")

    def _free(self, full: str) -> bool:
        if _below(full, str(CHECKOUT)) and not _below(full, self.ours[0]):
            return not _CACHES.isdisjoint(Path(full).parts)
        return any(_below(full, place) for place in self.ours)


def _resolved(path: Any, dir_fd: int | None) -> str | None:
    """The path with links in its folders followed; None for what is no path (a descriptor)."""
    if isinstance(path, int):
        return None
    name = os.fsdecode(path)
    if name == ":memory:" or name.startswith("file:"):
        return None
    if not os.path.isabs(name) and dir_fd is not None and dir_fd >= 0:
        name = os.path.join(_folder_of(dir_fd), name)
    where, last = os.path.split(os.path.abspath(name))
    return os.path.join(os.path.realpath(where), last)


def _folder_of(descriptor: int) -> str:
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, b"\0" * 1024).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


_guard = Guard()


@pytest.fixture(scope="session", autouse=True)
def _guarded(tmp_path_factory: pytest.TempPathFactory) -> None:
    _guard.install((str(tmp_path_factory.getbasetemp()), tempfile.gettempdir(), "/dev"))


@pytest.fixture(autouse=True)
def guard(_guarded: None) -> Iterator[Guard]:
    """Watches the test; a write outside fails it, also where somebody swallowed the error."""
    _guard.caught.clear()
    _guard.watching = True
    yield _guard
    _guard.watching = False
    if _guard.caught:
        pytest.fail(f"wrote outside the temp folder: {_guard.caught}")


# Stores and calls.


@pytest.fixture
def run() -> Callable[..., Ran]:
    """The command line in this process: run("fact", "get", "k", stdin=b"")."""
    return lambda *argv, stdin=b"": support.call(argv, stdin)


@pytest.fixture
def spawn() -> Callable[..., Ran]:
    """The command line in a process of its own: spawn("where", cwd=..., env=...)."""
    return lambda *argv, **settings: support.spawn(argv, **settings)


@pytest.fixture
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is durable is proved in tests/crash; here a sync would only cost four fifths of the time."""
    monkeypatch.setattr(files, "fsync", lambda descriptor: None)
    monkeypatch.setattr(files.Folder, "sync_everything", lambda self: None)


@pytest.fixture
def box(tmp_path: Path, _quick_disk: None) -> Box:
    """A fresh store."""
    made = Box(tmp_path / "store")
    made.ok("init")
    return made


@pytest.fixture(scope="session")
def _sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sample") / "store"
    made = Box(root, now=NOW)
    made.ok("init")
    made.ok("import", "jsonl", str(CHECKOUT / "docs" / "sample_memory.jsonl"), "--trusted")
    return root


@pytest.fixture
def sample(_sample: Path, tmp_path: Path, _quick_disk: None) -> Box:
    """A copy of the sample store: a team's memory at 2026-11-15."""
    shutil.copytree(_sample, tmp_path / "sample")
    return Box(tmp_path / "sample")
