"""The guards of conftest.py do guard: a test that wrote into the checkout or the home folder would fail."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Guard, Outside
from support import CHECKOUT, PACKAGE_PARENT, Box, Ran

OUTSIDE = CHECKOUT / "written-by-a-test"
ELSEWHERE = Path("/usr/lib/written-by-a-test")


def by_descriptor(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.open(path.name, os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    finally:
        os.close(folder)


def by_rename(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.rename("pyproject.toml", path.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


WAYS: dict[str, Callable[[Path], object]] = {
    "open": lambda path: path.write_text("x"),
    "append": lambda path: path.open("a"),
    "os.open": lambda path: os.open(path, os.O_RDWR | os.O_CREAT),
    "os.open in a folder": by_descriptor,
    "rename": by_rename,
    "mkdir": lambda path: path.mkdir(),
    "unlink": lambda path: path.unlink(),
    "rmdir": lambda path: path.rmdir(),
    "link": lambda path: path.hardlink_to(CHECKOUT / "pyproject.toml"),
    "symlink": lambda path: path.symlink_to("/"),
    "truncate": lambda path: os.truncate(path, 0),
    "chmod": lambda path: path.chmod(0o600),
    "utime": lambda path: os.utime(path),
    "sqlite": lambda path: sqlite3.connect(path),
    "a store": lambda path: Box(path).run("init"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", [OUTSIDE, ELSEWHERE], ids=["checkout", "system"])
def test_a_write_outside_the_temp_folder_raises_and_is_noted(way: str, path: Path, guard: Guard) -> None:
    if way == "rename" and path == ELSEWHERE:
        pytest.skip("needs a file there")
    with pytest.raises(Outside):
        WAYS[way](path)
    assert guard.caught
    guard.caught.clear()
    assert not path.exists()


def test_a_write_through_a_link_is_seen(tmp_path: Path, guard: Guard) -> None:
    (tmp_path / "way-out").symlink_to(CHECKOUT)
    with pytest.raises(Outside):
        (tmp_path / "way-out" / OUTSIDE.name).write_text("x")
    guard.caught.clear()


def test_reading_anywhere_and_writing_in_the_temp_folder_are_free(tmp_path: Path, guard: Guard) -> None:
    (tmp_path / "x").write_bytes((CHECKOUT / "pyproject.toml").read_bytes())
    (tmp_path / "x").rename(tmp_path / "y")
    (CHECKOUT / "tests" / "__pycache__").mkdir(exist_ok=True)
    assert guard.caught == []


def test_a_swallowed_violation_still_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(
        "def test_it():\n    try:\n        open('/usr/lib/x', 'w')\n    except BaseException:\n        pass\n"
    )
    path = os.pathsep.join([str(Path(__file__).parent), str(PACKAGE_PARENT)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["*wrote outside the temp folder*"])


def test_no_variable_of_the_user_reaches_a_test(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [n for n in os.environ if n.startswith("MEMCLI_")] == []
    monkeypatch.chdir(tmp_path)
    assert run("where").code == 3
