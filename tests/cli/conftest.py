"""The command line over a table of fake commands, in this process and in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memcli.cli import table

from . import fake_commands

Spawn = Callable[..., subprocess.CompletedProcess[bytes]]

# The folder that this package is imported from.
TOP = Path(__file__).parents[fake_commands.__name__.count(".")]
# Runs main() over the fake table in a process of its own; `import` of the fakes is left to the command line.
SCRIPT = """
import sys
sys.path[:0] = {paths!r}
bare = set(sys.modules)
from memcli.cli.main import main
if {commands!r} is not None:
    from memcli.cli import table
    table.COMMANDS, table.GROUPS = {commands!r}, {groups!r}
try:
    main()
finally:
    if {watch!r}:
        with open({watch!r}, "w") as seen:
            seen.write("\\n".join(set(sys.modules) - bare))
"""


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Help wraps alike on every terminal."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake table in this process; use memcli.cli.main.run(argv)."""
    monkeypatch.setattr(table, "COMMANDS", fake_commands.COMMANDS)
    monkeypatch.setattr(table, "GROUPS", fake_commands.GROUPS)


@pytest.fixture
def spawn(tmp_path: Path) -> Spawn:
    """Run the command line over a table in a process of its own; stdout is a pipe unless given."""

    def run(
        *argv: str | bytes,
        commands: dict[str, tuple[str, str]] | None = fake_commands.COMMANDS,
        groups: dict[str, str] | None = fake_commands.GROUPS,
        watch: Path | None = None,
        path: Path = TOP,
        env: dict[str, str] | None = None,
        shell: str = 'exec "$@"',
        stdout: Any = subprocess.PIPE,
    ) -> subprocess.CompletedProcess[bytes]:
        paths = [str(path), str(Path(table.__file__).parents[2])]
        words = {"commands": commands, "groups": groups, "watch": watch and str(watch), "paths": paths}
        call = ["/bin/sh", "-c", shell, "sh", sys.executable, "-c", SCRIPT.format(**words), *argv]
        place = os.environ if env is None else env
        return subprocess.run(
            call, env=place, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False
        )

    return run


@pytest.fixture
def loaded(spawn: Spawn, tmp_path: Path) -> Callable[..., set[str]]:
    """The modules that a call of its own process loads beyond those of a bare interpreter."""

    def run(*argv: str, **settings: Any) -> set[str]:
        watch = tmp_path / "modules"
        spawn(*argv, watch=watch, **settings)
        return set(watch.read_text().split("\n"))

    return run
