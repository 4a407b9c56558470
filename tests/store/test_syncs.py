"""How often a write waits for the disk before it is acknowledged: the protocol's cost, and its least."""

from collections.abc import Callable

import pytest
from support import Box

from memcli.base import files

FIGURE = "writes that sync more often than they may"
# What is done, and the most syncs that it may take; a record that goes for the first time makes the file of its trash.
WRITES: dict[str, tuple[Callable[[Box], object], int]] = {
    "create": (lambda box: box.set("another", "v"), 5),
    "a new value": (lambda box: box.set("k", "w"), 9),
    "another label": (lambda box: box.set("k", "v", "--sensitivity", "restricted"), 4),
    "another tag": (lambda box: box.set("k", "v", "--tag", "t"), 2),
    "another source": (lambda box: box.set("k", "v", "--confidence", "high"), 2),
    "an episode": (lambda box: box.add("told"), 1),
    "forget": (lambda box: box.ok("fact", "forget", "k", "--yes"), 6),
    "confirm": (lambda box: box.ok("fact", "confirm", "k", "--run", "r"), 2),
}


@pytest.mark.also_full
@pytest.mark.parametrize("name", WRITES)
def test_a_write_syncs_no_more_than_it_may(
    name: str, box: Box, monkeypatch: pytest.MonkeyPatch, figure: Callable[..., None]
) -> None:
    write, most = WRITES[name]
    box.set("k", "v")
    box.add("told before")
    if name == "a new value":
        box.set("k", "u")  # so that the archive has its file
    synced = []
    real = files.fsync
    monkeypatch.setattr(files, "fsync", lambda fd: (synced.append(fd), real(fd)))
    write(box)
    figure(FIGURE, 1, bad=len(synced) > most)
    assert 0 < len(synced) <= most, len(synced)
