"""A key that was withheld stays unnamed when its fact is forgotten, swept, renamed, or was not there yet."""

import pytest
from support import CANARY, Box, at, stamp

from memcli.store import facts

KEY = f"{CANARY} merger"
READS = [
    ("search", "value"), ("search", "value", "--json"), ("fact", "get", "a", "--json"), ("fact", "related", "a"),
    ("recall", "value", "--explain"), ("context", "value", "--format", "json"), ("fact", "list", "--json"), ("graph",),
    ("retrieve", "value", "--json"), ("export", "jsonl", "-", "--clearance", "internal"),
]  # fmt: skip
ENDS = {
    "forgotten": lambda box: box.ok("forget", KEY, "--yes"),
    "renamed": lambda box: box.ok("fact", "rename", KEY, "another name"),
    "swept": lambda box: box.ok("sweep", "--yes", now=stamp(days=40)),
}


@pytest.mark.parametrize("how", ENDS)
def test_it_stays_unnamed(box: Box, how: str) -> None:
    box.set("a", "value a")
    box.set(KEY, "dossier text", "--sensitivity", "restricted", "--ttl", "30d")
    box.ok("fact", "relate", "a", "related", KEY)
    ENDS[how](box)
    for words in READS:
        ran = box.run(*words, now=stamp(days=41))
        assert ran.code == 0
        assert CANARY not in ran.out + ran.err, words


def test_a_past_day_names_nothing_that_is_withheld_today(box: Box) -> None:
    box.set("alpha", "the alpha value", now=stamp(days=-9))
    box.set(KEY, "x", "--sensitivity", "restricted", now=stamp(days=-3))
    box.ok("fact", "relate", "alpha", "related", KEY, now=stamp(days=-2))
    for words in (("search", "alpha", "--json"), ("search", "alpha", "--json", "--as-of", stamp(days=-5))):
        assert CANARY not in box.ok(*words).out


def test_what_was_forgotten_is_not_found_in_the_past_though_its_key_is_written_again(box: Box) -> None:
    box.set("addr", "lives at elm street nine", now=stamp(days=-9))
    box.set("addr", "lives at oak street ten", now=stamp(days=-8))
    box.ok("fact", "forget", "addr", "--yes", now=stamp(days=-7))
    box.set("addr", "unknown", now=stamp(days=-6))
    assert box.data("search", "street", "--as-of", stamp(days=-8)) == []
    assert [h["text"] for h in box.data("search", "unknown", "--as-of", stamp(days=-5))] == ["unknown"]


def test_a_target_that_never_was_is_still_named(box: Box) -> None:
    box.set("a", "value a")
    box.ok("fact", "relate", "a", "related", "not written yet")
    assert "not written yet" in box.ok("fact", "related", "a").out
    assert "not written yet" in box.ok("search", "value", "--json").out


def test_a_target_that_is_not_there_costs_no_look_at_every_fact(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index knows former keys: reading all files for one unknown name would cost a hook the whole store."""
    box.set("a", "value a")
    box.ok("fact", "relate", "a", "related", "not written yet")
    memory = box.memory
    memory.search("value", now=at())
    monkeypatch.setattr(facts, "every", lambda store: pytest.fail("every fact was read"))
    assert [h.record.relations[0]["target"] for h in memory.search("value", now=at())] == ["not written yet"]
