"""The numbers of `status` are those of the files, whatever their state."""

import os
from datetime import timedelta

import pytest
from support import Box, at

from memcli.engine import stores
from memcli.index import census, refresh
from memcli.model import policy
from memcli.store import episodes, facts

NOW = at()


def by_reading(box: Box) -> dict[str, int]:
    """The same numbers from all files, one after the other."""
    found = dict.fromkeys(("current", "expired", "faded", "by_hand", "damaged"), 0)
    unread: list[str] = []
    for fact in facts.every(box.store, unread):
        gone = policy.expired(fact, NOW)
        found["expired" if gone else "current" if policy.current(fact, NOW, box.store.settings) else "faded"] += 1
        found["by_hand"] += fact.state in census.BY_HAND
        found["damaged"] += fact.state in census.DAMAGED
    found["damaged"] += len(unread)
    return found | {"episodes": sum(1 for _ in episodes.newest(box.store))}


@pytest.fixture
def mixed(box: Box) -> Box:
    """Facts of every state and label, and two episodes."""
    for n, label in enumerate(("public", "internal", "sensitive", "restricted")):
        box.set(f"key {n}", f"lantern {n}", "--sensitivity", label)
    for n in range(8):
        box.set(f"odd {n}", f"pebble {n}")
    old = NOW - timedelta(days=3000)
    box.memory.set_fact("over", "value", ttl_minutes=5, now=NOW - timedelta(hours=1))
    box.memory.set_fact("pale", "value", now=old)
    box.memory.set_fact("firm", "value", importance=0.9, now=old)
    box.md("odd 0").write_bytes(box.md("odd 0").read_bytes() + b"more\n")
    (box.root / "facts" / "bare.md").write_text("by hand\n")
    box.side("odd 1").write_text("{")
    box.md("odd 2").write_bytes(b"\xff\xfe")
    box.md("odd 3").unlink()
    os.mkfifo(box.md("odd 3"))
    two = box.md("odd 4").with_name("two.md")
    two.write_bytes(box.md("odd 4").read_bytes())
    box.side("odd 4").with_name("two.meta.json").write_bytes(box.side("odd 4").read_bytes())
    before = box.md("odd 5").read_bytes()
    box.memory.set_fact("odd 5", "another", now=NOW)
    box.md("odd 5").write_bytes(before)
    box.add("a quiet harbour")
    box.add("another harbour")
    return box


def test_status_counts_what_the_files_say(mixed: Box) -> None:
    read = by_reading(mixed)
    assert all(read.values()), read
    for _ in range(2):
        found = refresh.ask(mixed.store, lambda con: census.take(con, mixed.store, NOW))
        assert {n: getattr(found, n) for n in read} == read
    said = stores.status(mixed.store, NOW)
    assert (said["facts"], said["ended"]) == (read["current"], read["expired"] + read["faded"])
    assert {n: said[n] for n in ("by_hand", "damaged", "episodes")} == {
        n: read[n] for n in ("by_hand", "damaged", "episodes")
    }
    assert stores.stats(mixed.store, NOW)["facts"] == {n: read[n] for n in read if n != "episodes"}


def test_status_reads_no_record(mixed: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    stores.status(mixed.store, NOW)
    monkeypatch.setattr(facts, "every", None)
    monkeypatch.setattr(episodes, "newest", None)
    assert stores.status(mixed.store, NOW)["episodes"] == 2
