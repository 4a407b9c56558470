"""A damaged, missing, odd or old index costs time, never an answer (R14)."""

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from figures import Record
from support import Box

from .common import clean

Damage = Callable[[Path], object]


def each(act: Callable[[Path], object]) -> Damage:
    """An act on every file of the index."""
    return lambda state: [act(p) for p in sorted(state.glob("index.*")) if p.is_file() and p.name != "index.lock"]


def overwrite(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def link(path: Path) -> None:
    away = path.parent.parent / f"away-{path.name}"
    path.rename(away)
    path.symlink_to(away)


DAMAGES: dict[str, Damage] = {
    "deleted": each(Path.unlink),
    "truncated": each(lambda p: os.truncate(p, p.stat().st_size // 2)),
    "empty": each(lambda p: p.write_bytes(b"")),
    "garbage": each(lambda p: p.write_bytes(random.Random(1).randbytes(9000))),
    "garbage inside": each(lambda p: overwrite(p, 4096, random.Random(2).randbytes(4096))),
    "a link": each(link),
    "of the future": each(lambda p: os.utime(p, (4e9, 4e9))),
    "all of the state gone": lambda state: shutil.rmtree(state),
}


def queries(count: int) -> list[str]:
    """Words of the sample, one to four at a time, some misspelled."""
    text = (Path(__file__).parents[2] / "docs" / "sample_memory.jsonl").read_text("utf-8")
    known = sorted(
        set(re.findall(r"[a-z]{4,}", " ".join(str(json.loads(row).get("text", "")) for row in text.splitlines())))
    )
    dice = random.Random(5)
    made = [" ".join(dice.sample(known, dice.randint(1, 4))) for _ in range(count)]
    return [q[:-2] + q[-1] + q[-2] if n % 7 == 0 else q for n, q in enumerate(made)]


def answers(box: Box, asked: list[str]) -> list[tuple[int, str]]:
    return [(ran.code, ran.out) for q in asked for ran in (clean(box.run("search", q, "--json")),)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [15, pytest.param(200, marks=pytest.mark.full)])
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_answers_are_those_of_a_fresh_index(sample: Box, damage: str, count: int, figure: Record) -> None:
    asked = queries(count)
    state = sample.root / ".memcli"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(0o700)
    wanted = answers(sample, asked)
    assert sum('"id"' in out for _, out in wanted) > count // 2
    assert list(state.glob("index.*.sqlite"))
    DAMAGES[damage](state)
    found = answers(sample, asked)
    bad = sum(a != b for a, b in zip(wanted, found, strict=True))
    figure("answers that differ without the index", count, bad=bad)
    assert bad == 0
