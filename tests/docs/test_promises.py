"""The page of promises names tests that exist, and figures that the tests print and that reach their targets."""

import ast
import re

import figures
import pytest

from . import transcript

PAGE = transcript.TOP / "docs" / "reference" / "promises.md"
TESTS = transcript.TOP / "tests"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
PROMISES = [*(f"R{n}" for n in range(1, 17)), *(f"S{n}" for n in range(1, 16))]


def rows() -> dict[str, str]:
    """Promise -> its row."""
    found = (line.split("|", 2) for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| [RS]\d+ \|", line))
    return {cells[1].strip(): cells[2] for cells in found}


def defined(path: str) -> set[str]:
    """The test functions of a module that are not skipped without a condition."""
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {
        f.name for f in functions if not any(ast.unparse(d).startswith("pytest.mark.skip(") for d in f.decorator_list)
    }


def missing(text: str) -> list[str]:
    return [
        f"{path}::{name}"
        for path, name in NAMED.findall(text)
        if not (TESTS / path).exists() or name not in defined(path)
    ]


def test_every_promise_has_a_row_with_a_test() -> None:
    assert list(rows()) == PROMISES
    assert [promise for promise, row in rows().items() if not NAMED.search(row)] == []


def test_every_test_that_is_named_exists() -> None:
    assert missing(PAGE.read_text("utf-8")) == []


@pytest.mark.parametrize("odd", ["`crash/test_memcli.py::test_no_such`", "`no/test_such.py::test_any`"])
def test_a_test_that_does_not_exist_is_found(odd: str) -> None:
    assert missing(odd)


def test_the_page_says_what_is_not_promised() -> None:
    text = PAGE.read_text("utf-8")
    part = text[text.index("## What is not promised") :]
    for word in ("every secret", "injected instruction", "NFS", "guessed", "Clones, remotes"):
        assert word in part


def test_the_figures_are_those_of_the_tests_and_reach_their_targets() -> None:
    by_name = {f.name: f for f in figures.TABLE}
    table = figures.rows(PAGE.read_text("utf-8"))
    assert table
    for name, count, bad, _ in table:
        figure, counted = by_name[name], int(count.replace(",", ""))
        assert counted >= figure.full, name
        assert int(bad) <= figure.most_bad * counted, name


def test_a_page_keeps_what_was_not_run_and_takes_what_was() -> None:
    first, second = figures.TABLE[0], figures.TABLE[1]
    empty = f"text\n\n{figures.HEADING}"
    one = figures.page(empty, {first.name: [first.full, 0]})
    two = figures.page(one, {second.name: [second.full, 3]})
    assert [row[:3] for row in figures.rows(two)] == [
        [first.name, f"{first.full:,}", "0"],
        [second.name, f"{second.full:,}", "3"],
    ]
    assert figures.page(two, {}) == two
