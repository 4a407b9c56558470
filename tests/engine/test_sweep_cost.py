"""What a plan of a sweep asks of the index: as much as is due, however much there is."""

import json
from typing import Any

from support import Box, at

from memcli.engine import sweep
from memcli.index import refresh

NOW = at()


def grow(box: Box, size: int) -> None:
    """A store with so many facts and episodes, two in a hundred of the episodes failed ones, and an index of it."""
    rows = [{"kind": "fact", "key": f"k{n}", "text": f"lantern {n}", "ttl_minutes": 10**6} for n in range(size)]
    rows += [
        {"kind": "episode", "text": f"harbour {n}", "outcome": "failed" if n % 50 == 0 else "success"}
        for n in range(size)
    ]
    path = box.root.parent / "rows.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    box.ok("import", "jsonl", str(path), "--trusted")
    refresh.ask(box.store, lambda con: None)


def steps(box: Box) -> int:
    """How many instructions SQLite's machine runs through for a plan."""
    ran = 0

    def step() -> int:
        nonlocal ran
        ran += 1
        return 0

    def plan(con: Any) -> None:
        nonlocal ran
        ran = 0
        con.set_progress_handler(step, 1)
        sweep._due(con, box.store, NOW)
        con.set_progress_handler(None, 1)

    refresh.ask(box.store, plan)
    return ran


def test_a_plan_costs_what_is_due(box: Box) -> None:
    costs = []
    for size in (200, 1000):
        grow(box, size)
        costs.append(steps(box))
    # Of the failed episodes each is looked at.
    assert 0 < costs[1] <= costs[0] + 20 * 30, costs
