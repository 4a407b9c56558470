"""A look at everything: nothing but names and times is compared when nothing changed, and any change is found."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import Box, at

from memcli.index import pairs, refresh

from . import common

NOW = at()


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> common.Ticks:
    return common.Ticks(monkeypatch)


@pytest.fixture
def known(box: Box, ticks: common.Ticks) -> Box:
    """A store whose index has a digest of each folder."""
    common.fill(box, NOW)
    digest(box, ticks)
    return box


def digest(box: Box, ticks: common.Ticks) -> None:
    for _ in range(2):
        ticks.rest()
        refresh.ask(box.store, lambda con: None, fresh=True)
    assert all(seen for (seen,) in common.raw(box).execute("SELECT seen FROM folder"))


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many layers were compared record by record since the last call."""
    found: list[int] = []
    listed = pairs._listed

    def count(con: object, layer: int, *args: object, **options: object) -> object:
        found.append(layer)
        return listed(con, layer, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pairs, "_listed", count)

    def taken() -> int:
        number = len(found)
        found.clear()
        return number

    return taken


def test_nothing_is_compared_when_nothing_changed(known: Box, compared: Callable[[], int]) -> None:
    common.looked(known.store, NOW, fresh=True)
    assert compared() == 0
    md = known.md("key 2")
    common.edit(md, md.read_bytes().replace(b"lantern", b"orchard"))
    common.looked(known.store, NOW, fresh=True)
    assert compared()


def in_place(box: Box, path: Path) -> None:
    common.edit(path, path.read_bytes().replace(b"internal", b"restricted"))


def swapped(box: Box, path: Path) -> None:
    """Two files change places, so that all names stay."""
    other, aside = box.md("key 4"), path.with_name("aside")
    path.rename(aside)
    other.rename(path)
    aside.rename(other)


CHANGES: dict[str, Callable[[Box], object]] = {
    "text in place": lambda box: in_place(box, box.md("key 2")),
    "sidecar in place": lambda box: in_place(box, box.side("key 2")),
    "removed": lambda box: box.md("key 2").unlink(),
    "sidecar removed": lambda box: box.side("key 2").unlink(),
    "added": lambda box: (box.root / "facts" / "more.md").write_text("---\nsensitivity: internal\n---\n\nwalnut\n"),
    "renamed": lambda box: box.md("key 2").rename(box.root / "facts" / "other.md"),
    "swapped": lambda box: swapped(box, box.md("key 2")),
    "procedure in place": lambda box: in_place(box, next((box.root / "procedures").glob("*.md"))),
    "written": lambda box: box.memory.set_fact("key 2", "walnut", now=NOW),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("rests", [0, 1, 2])
def test_every_change_is_found(known: Box, how: str, rests: int, ticks: common.Ticks) -> None:
    CHANGES[how](known)
    for _ in range(rests):
        ticks.rest()
    common.same(known, NOW, fresh=True)
    in_place(known, known.md("key 5"))
    common.same(known, NOW, fresh=True)


def test_what_changed_within_the_tick_gives_no_digest() -> None:
    """It may change again and keep its time."""
    wall, old = 10**18, 10**18 - pairs._TICK_NS - 1
    assert pairs._seen(["a.md", "b.md"], [old, old], wall)
    assert not pairs._seen(["a.md", "b.md"], [old, old + 1], wall)
    assert not pairs._seen(["a.md"], [wall + 10**12], wall)


def test_back_to_what_was_is_a_change_too(known: Box, ticks: common.Ticks) -> None:
    md = known.md("key 2")
    before = md.read_bytes()
    known.memory.set_fact("key 2", "walnut", now=NOW)
    refresh.ask(known.store, lambda con: None)
    assert not common.raw(known).execute("SELECT seen FROM folder WHERE layer = 0").fetchone()[0]
    common.edit(md, before)
    common.same(known, NOW, fresh=True)


def test_half_a_value_is_read_again_on_every_look(known: Box, ticks: common.Ticks) -> None:
    """It is read from the archive too, whose files no look at the folder sees."""
    md = known.md("key 2")
    before = md.read_bytes()
    known.memory.set_fact("key 2", "walnut", now=NOW)
    md.write_bytes(before)  # as half a clone has it
    for _ in range(2):
        ticks.rest()
        common.same(known, NOW, fresh=True)
    assert not common.raw(known).execute("SELECT seen FROM folder WHERE layer = 0").fetchone()[0]
    for path in (known.root / "archive").rglob("*.jsonl"):
        common.edit(path, b"")
    common.same(known, NOW, fresh=True)
