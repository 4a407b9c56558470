"""The monthly log: cut at any byte it loses no whole entry and joins none; no text forges one (R9)."""

import random

import pytest
from figures import Record
from support import Box

from memcli.store import episodes

from .common import ID

MONTH = "2026-11"
PIECES = [
    "\n", "\n\n", "\n## 2026-11-15T09:00:00Z {", f'\n## 2026-11-15T09:00:00Z {{"id":"{ID}","length":1,"digest":"ca978112","sensitivity":"public"}}\na\n',
    f"\n<!-- end {ID} public -->\n", f"\n<!-- raise {ID} public -->\n", "\n<!-- torn 2026-11-15T09:00:00Z -->\n", "\n# Episodes 2026-11 (memcli format 1)\n", "\\", "\\## ", "\\<!-- end ",
    "<<<<<<< HEAD\n", "=======\n", ">>>>>>> b\n", "\n---\n", "```\n", "\u2028", "\x85", "\x0b", "\x0c", "ünïcode ", "word ", "{", "}", '"', "-->", "<!--", "\t", " " * 9,
]  # fmt: skip


def bodies(count: int) -> list[str]:
    dice = random.Random(11)
    return [f"body {n}: " + "".join(dice.choices(PIECES, k=dice.randint(1, 12))) for n in range(count)]


@pytest.mark.also_full
def test_no_body_forges_an_entry(box: Box, figure: Record) -> None:
    texts = bodies(200)
    made = [box.add(text, "--sensitivity", "restricted") for text in texts]
    found = episodes.read(box.store, MONTH)
    forged = [e for e in found.entries if e.id not in made]
    whole = [e.text for e in found.entries if str(e.sensitivity) == "restricted" and e.state == "ok"]
    figure("log entries: forged", len(texts), bad=len(forged))
    assert forged == []
    assert whole == texts
    assert [p for p in found.problems if p[1] != "conflict_markers"] == []


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.full)])
def test_a_log_cut_anywhere_loses_no_whole_entry_and_joins_none(box: Box, step: int, figure: Record) -> None:
    """Every byte of the last entry: what stood before it stands, the next append is whole, and nothing is two in one."""
    first = bodies(3)
    for text in first:
        box.add(text)
    start = len(box.log().read_bytes())
    last = bodies(8)[-1] + " and a long rest of it" * 10
    box.add(last, "--task", "the task", "--finding", "a finding", "--tag", "t")
    full = box.log().read_bytes()
    cuts = bad = 0
    for cut in range(start, len(full) + 1, step):
        box.log().write_bytes(full[:cut])
        new = box.add("the next one")
        found = episodes.read(box.store, MONTH).entries
        texts = [e.text for e in found]
        bad += texts not in ([*first, "the next one"], [*first, last, "the next one"]) or found[-1].id != new
        cuts += 1
    figure("log cut points: mishandled", cuts, bad=bad)
    assert bad == 0
