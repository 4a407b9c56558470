"""The figures of docs/reference/promises.md: what the tests count while they prove something, as one table at the end.

A test that proves one case of a figure says so with a marker, `@pytest.mark.figure("bad inputs")`; one that proves many
takes the fixture: `figure("torn reads", seen, bad=torn)`. A failed test counts as bad. `pytest -m full` runs the full-size
tests and all with a marker; without it the same table shows the small sizes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

Record = Callable[..., None]


class Figure(NamedTuple):
    """One row: what is counted, how many at full size, and what may be bad of them (share of the count)."""

    name: str
    full: int
    most_bad: float = 0.0


TABLE = tuple(
    Figure(*row)
    for row in (
        ("random kill points: lost or mixed", 10_000),
        ("kill points of every command: lost or mixed", 600),
        ("kills during recovery: lost or mixed", 150),
        ("power-loss states: lost or mixed", 400),
        ("ext4 power cuts: acknowledged and lost", 300),
        ("xfs power cuts: acknowledged and lost", 30),
        ("wrong protocols that the harness misses", 4),
        ("injected errnos: traceback, damage, temp left", 1_000),
        ("library writers: facts lost", 64_000),
        ("command-line writers: facts lost", 800),
        ("confirmations by distinct runs: lost", 800),
        ("register history: not linearizable", 2_000),
        ("lock-free reads: torn", 20_000),
        ("sweep or consolidate over a newer write", 70),
        ("log appends: lost or joined", 3_200),
        ("log cut points: mishandled", 500),
        ("log entries: forged", 200),
        ("locks: stale, or an odd lock path followed", 20),
        ("wrong clock: facts not recoverable", 120),
        ("times and TTLs: wrong or raising", 200),
        ("bad inputs: traceback", 200),
        ("bad inputs: 5 s or longer", 200),
        ("bad inputs: 300 MB or more", 200),
        ("keys that collide", 300),
        ("git accidents: leak or loss", 25),
        ("sync and editor accidents: leak or loss", 30),
        ("planted secrets: shown", 36_000),
        ("labels that cannot be read: shown", 40),
        ("labels lowered without an explicit act", 30),
        ("queries that tell of withheld facts", 100),
        ("bodies that escape the context block", 10_000),
        ("terminal escapes that live", 480),
        ("tenants: crossings", 96),
        ("paths: escapes", 60),
        ("purged facts: residue outside git", 100),
        ("copies of a purged text that the proof misses", 100),
        ("public facts withheld or masked", 500, 0.01),
        ("answers that differ without the index", 1_600),
        ("untrusted facts in the default context", 60),
        ("writes that sync more often than they may", 8),
    )
)
NAMES = frozenset(f.name for f in TABLE)


PAGE = Path(__file__).parents[1] / "docs" / "reference" / "promises.md"
HEADING = "## Figures\n"
INTRO = """
As last reached on two cores with `python -m pytest -m full --write-figures`, or with the part of it that counts the figure: what
was not run stays as it was.

| what is counted | count | bad | target |
|---|---|---|---|
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-figures", action="store_true", help="write what -m full has reached to promises.md")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "figure(name): this test is one case of a figure of docs/reference/promises.md")
    config.addinivalue_line("markers", "also_full: this test has its full size at once, and runs with -m full too")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `-m full` what has its full size at once runs too."""
    full = "full" in (config.option.markexpr or "")
    for item in items:
        for marker in item.iter_markers("figure"):
            assert marker.args[0] in NAMES, f"{item.nodeid}: no figure {marker.args[0]!r}"
            item.user_properties.append(("figure", [marker.args[0], 1, 0]))
        if full and (item.get_closest_marker("figure") or item.get_closest_marker("also_full")):
            item.add_marker("full")


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Record:
    """Note what this test has counted: figure(name, count, bad=0)."""

    def record(name: str, count: int, bad: int = 0) -> None:
        assert name in NAMES, name
        request.node.user_properties.append(("figure", [name, count, bad]))

    return record


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table, of what ran."""
    found = _found(terminalreporter)
    if not found:
        return
    full = "full" in (terminalreporter.config.option.markexpr or "")
    terminalreporter.section("figures" if full else "figures at small size; pytest -m full shows the full ones")
    terminalreporter.write_line(f"{'what is counted':<50}{'count':>8}{'of':>8}{'bad':>6}  target")
    for row in TABLE:
        if row.name in found:
            terminalreporter.write_line(line(row, *found[row.name], full=full))
        elif full:
            terminalreporter.write_line(f"{row.name:<50}{'-':>8}{row.full:>8}{'-':>6}  not run")
    if full and terminalreporter.config.option.write_figures:
        PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")


def _found(terminalreporter: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            if report.when == "call":
                for name, value in report.user_properties:
                    if name == "figure":
                        counts = found.setdefault(value[0], [0, 0])
                        counts[0] += value[1]
                        counts[1] += value[2] if outcome == "passed" else max(value[2], 1)
    return found


def page(text: str, found: dict[str, list[int]]) -> str:
    """The page with these counts in its table; rows of other figures stay."""
    kept = {r[0]: [int(n.replace(",", "")) for n in r[1:3]] for r in rows(text)}
    kept |= found
    lines = [_row(figure, *kept[figure.name]) for figure in TABLE if figure.name in kept]
    return text[: text.index(HEADING)] + HEADING + INTRO + "".join(lines)


def rows(text: str) -> list[list[str]]:
    """The cells of the table of figures of the page."""
    table = text[text.index(HEADING) :].splitlines()
    return [[cell.strip() for cell in r.strip("|").split("|")] for r in table if r.startswith("| ")][1:]


def _row(figure: Figure, count: int, bad: int) -> str:
    target = f"at most {figure.most_bad:.0%} of {figure.full:,}" if figure.most_bad else f"0 of {figure.full:,}"
    return f"| {figure.name} | {count:,} | {bad:,} | {target} |\n"


def line(row: Figure, count: int, bad: int, *, full: bool) -> str:
    """One row as it is printed."""
    reached = bad <= row.most_bad * count and (count >= row.full or not full)
    target = f"<= {row.most_bad:.0%}" if row.most_bad else "0"
    word = "reached" if reached else "MISSED" if bad > row.most_bad * count else "too few"
    return f"{row.name:<50}{count:>8}{row.full:>8}{bad:>6}  {target} {word}"
