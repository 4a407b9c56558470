"""The page of features names what is there: commands of the table, calls of Python, and tests that run."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from typing import NamedTuple

import pytest
from support import SHARED, environment

import memcli
from memcli.cli import table
from memcli.engine.memory import Memory

from . import transcript

PAGE = transcript.TOP / "docs" / "reference" / "features.md"
TESTS = transcript.TOP / "tests"
# Heading -> how many rows its table must have.
SIZES = {
    "Layered memory": 10,
    "Brain-like memory": 11,
    "Four-tier agent memory": 15,
    "What no other system of this kind has": 10,
}
DONE = "—"
# Run by pytest in a process of its own: what it collects, and what of that it would skip.
COLLECT = """
import json, sys
import pytest

class Listed:
    def pytest_collection_finish(self, session):
        rows = {}
        for item in session.items:
            skipped = bool(list(item.iter_markers("skip"))) or any(m.args and m.args[0] for m in item.iter_markers("skipif"))
            name = item.nodeid.partition("[")[0].removeprefix("tests/")
            rows[name] = rows.get(name, True) and skipped
        print(json.dumps(rows), file=sys.stderr)

sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "-n0", *sys.argv[1:]], plugins=[Listed()]))
"""


class Row(NamedTuple):
    """One feature. missing: what is not done yet, DONE when nothing is."""

    section: str
    feature: str
    commands: list[str]
    calls: list[str]
    tests: list[str]
    missing: str


def rows(text: str) -> list[Row]:
    """The rows of all tables of a page."""
    found = []
    for part in text.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        lines = [line for line in body.split("\n") if line.startswith("| ")]
        for line in lines[1:]:
            cells = [cell.strip() for cell in line.strip("| \n").split(" | ")]
            if len(cells) != 5:
                cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            feature, *names, missing = cells
            found.append(Row(heading, feature, *(re.findall(r"`([^`]+)`", cell) for cell in names), missing))
    return found


def faults(found: Iterable[Row], tests: dict[str, bool]) -> list[str]:
    """What a page names that is not there. tests: name to whether it would be skipped."""
    wrong = []
    for row in found:
        wrong += [f"{row.feature}: no command {c}" for c in row.commands if c not in table.COMMANDS]
        wrong += [f"{row.feature}: no call {c}" for c in row.calls if not _is_call(c)]
        wrong += [f"{row.feature}: no test {t}" for t in row.tests if t not in tests]
        wrong += [f"{row.feature}: {t} is skipped" for t in row.tests if tests.get(t)]
        named = [bool(names) for names in (row.commands, row.calls, row.tests)]
        if row.missing.startswith("not yet"):
            wrong += [f"{row.feature}: not yet, and yet it names something"] if any(named) else []
        elif not all(named) or not row.missing:
            wrong.append(f"{row.feature}: names no command, call or test, and does not say that it is not done")
    return wrong


def _is_call(name: str) -> bool:
    owner, _, attribute = name.partition(".")
    return hasattr({"m": Memory, "memcli": memcli}.get(owner), attribute) and bool(attribute)


ROWS = rows(PAGE.read_text("utf-8"))


@pytest.fixture(scope="module")
def collected() -> dict[str, bool]:
    files = sorted({str(TESTS / test.partition("::")[0]) for row in ROWS for test in row.tests})
    assert [f for f in files if not (TESTS / f).exists()] == []
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, *files],
        cwd=transcript.TOP,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    listed: dict[str, bool] = json.loads(done.stderr.splitlines()[-1])
    return listed


def test_every_row_is_there() -> None:
    assert {h: sum(r.section == h for r in ROWS) for h in SIZES} == SIZES
    assert len(ROWS) == sum(SIZES.values())


def test_the_rows_are_those_of_what_it_is_for() -> None:
    """Where the document of aims lies beside the checkout, the features have its names."""
    aims = SHARED / "mission.md"
    if aims.exists():
        wanted = [line.split("|")[1].strip() for line in aims.read_text("utf-8").split("\n") if line.startswith("| ")]
        named = [w for w in wanted if w != "feature"]
        assert [r.feature for r in ROWS][: len(named)] == named


def test_every_command_call_and_test_is_there_and_runs(collected: dict[str, bool]) -> None:
    assert faults(ROWS, collected) == []


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ("`fact gain` | `m.get_fact` | `a.py::test_a` | —", "no command fact gain"),
        ("`fact get` | `m.gain_fact` | `a.py::test_a` | —", "no call m.gain_fact"),
        ("`fact get` | `get_fact` | `a.py::test_a` | —", "no call get_fact"),
        ("`fact get` | `m.get_fact` | `a.py::test_b` | —", "no test a.py::test_b"),
        ("`fact get` | `m.get_fact` | `a.py::test_off` | —", "is skipped"),
        ("`fact get` | `m.get_fact` | | —", "names no command, call or test"),
        ("`fact get` | | | not yet", "and yet it names something"),
        ("`fact get` | `m.get_fact` | `a.py::test_a` | ", "does not say"),
    ],
)
def test_a_wrong_row_is_found(cells: str, fault: str) -> None:
    page = f"# F\n\n## H\n\n| feature | commands | Python | tests | not yet |\n|---|---|---|---|---|\n| x | {cells} |\n"
    found = faults(rows(page), {"a.py::test_a": False, "a.py::test_off": True})
    assert len(found) == 1
    assert fault in found[0]


def test_a_skipped_test_is_seen(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("skipped")
    (folder / "test_x.py").write_text(
        "import pytest\n@pytest.mark.skip\ndef test_off(): pass\n@pytest.mark.skipif(True, reason='x')\ndef test_if(): pass\n"
        "@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.skip)])\ndef test_on(n): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, "--rootdir", str(folder), str(folder / "test_x.py")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    names = {n.partition("::")[2]: off for n, off in json.loads(done.stderr.splitlines()[-1]).items()}
    assert names == {"test_off": True, "test_if": True, "test_on": False}
