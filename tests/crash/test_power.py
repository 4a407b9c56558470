"""Acknowledged is durable on a real file system: the power is cut while facts are written (R3)."""

import pathlib
import random
from collections.abc import Callable, Iterator

import pytest
from figures import Record
from support import CHECKOUT, at

import memcli
from memcli.base import errors

from . import protocols
from .disk import KEYS, SIZE_MIB, Disk, program, why_not, write_until_cut
from .harness import temps

FIGURE = "{} power cuts: acknowledged and lost"
Reader = Callable[[pathlib.Path, int], str | None]


@pytest.fixture
def disk(scratch: pathlib.Path, kind: str) -> Iterator[Disk]:
    if reason := why_not(kind):
        pytest.skip(reason)
    with Disk(scratch, kind) as made:
        if reason := made.mount():
            pytest.skip(f"cannot mount an image here: {reason}")
        yield made


def by_memcli(root: pathlib.Path, number: int) -> str | None:
    try:
        fact = memcli.open(root).get_fact(f"key {number}", reveal=True, now=at())
    except errors.NotFound:
        return None
    label = "internal" if int(fact.text.split()[1]) % 2 else "restricted"
    return fact.text if (fact.state, str(fact.sensitivity)) == ("ok", label) else f"{fact.state} {fact.sensitivity}"


def by_protocol(root: pathlib.Path, number: int) -> str | None:
    try:
        return protocols.get(str(root), f"key{number}")[0].strip()
    except SystemExit as stop:
        return None if stop.code == protocols.GONE else "damaged"
    except ValueError:
        return "damaged"


def cuts(disk: Disk, protocol: str, count: int, seed: int) -> tuple[int, list[str]]:
    """So many power cuts in a row on one store; how many values had been acknowledged, and what is wrong."""
    root, dice, wrong = disk.place / "store", random.Random(seed), []
    read: Reader = by_memcli if protocol.startswith("memcli") else by_protocol
    memcli.init(root) if read is by_memcli else root.mkdir()
    last: dict[int, int] = {}
    start = acknowledged = 0
    for number in range(count):
        said = write_until_cut(disk, program(root, start, protocol, str(CHECKOUT)), dice)
        disk.unmount()
        assert disk.mount() is None
        acknowledged += len(said)
        last |= {n % KEYS: n for n in said}
        start = max([start - 1, *said]) + 2
        for recovered in (False, True):
            if recovered and read is by_memcli:
                memcli.open(root).doctor(fix=True, now=at())
                wrong += [f"cut {number}: {name} is left" for name in temps(str(root))]
            for key, n in list(last.items()):
                seen = read(root, key)
                # The one that was being written may be there or not.
                if seen not in (f"value {n}", f"value {start - 1}" if (start - 1) % KEYS == key else ""):
                    wrong.append(f"cut {number}, recovered {recovered}: key {key} is {seen}, not value {n}")
        for key in list(last):
            seen = read(root, key)
            last[key] = int(seen.split()[1]) if seen and seen.startswith("value ") else last.pop(key)
        if wrong and read is by_protocol:
            break  # a control has been caught
    return acknowledged, wrong


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("ext4", 6),
        ("xfs", 6),
        pytest.param("ext4", 300, marks=pytest.mark.full),
        pytest.param("xfs", 30, marks=pytest.mark.full),
    ],
)
def test_what_was_acknowledged_survives_a_power_cut(disk: Disk, kind: str, count: int, figure: Record) -> None:
    acknowledged, wrong = cuts(disk, "memcli", count, seed=1)
    assert wrong == []
    assert acknowledged >= count
    figure(FIGURE.format(kind), count)


@pytest.mark.parametrize("kind", SIZE_MIB)
@pytest.mark.parametrize("protocol", ["memcli without a sync", "no fsync", "no folder fsync"])
def test_a_writer_that_does_not_sync_is_caught(disk: Disk, protocol: str) -> None:
    """In place and body first are left to the model and to the kills: a real disk shows their faults once in a while."""
    _, wrong = cuts(disk, protocol, 10, seed=2)
    assert wrong
