"""A filter is asked before candidates are cut, so that many better matches elsewhere hide nothing."""

from typing import Any

import pytest
from support import Box, at

import memcli
from memcli.base import errors
from memcli.engine import features


def test_many_better_matches_elsewhere_hide_nothing(box: Box) -> None:
    m = memcli.open(str(box.root))
    with box.store.writing():
        pass
    m.add_episode("deploy of the billing service went fine after the long weekend", session="B", now=at())
    for n in range(170):
        m.add_episode("deploy deploy", session="A", now=at(minutes=n))
    assert len(m.search("deploy", session="B", now=at(hours=5))) == 1
    assert len(m.search("deploy", limit=500, now=at(hours=5))) == 171


def test_a_blocked_source_whose_id_is_masked_is_blocked_everywhere(box: Box) -> None:
    box.set("blk", "blocked words", "--source", "agent:carl2@example.org")
    box.set("open", "open words", "--source", "agent:dora@example.org")
    box.ok("search", "words")
    box.ok("source", "block", "carl2@example.org")
    assert [h["key"] for h in box.data("search", "words")] == ["open"]
    last = box.ok("context", "words").out.splitlines()[-1]
    assert "blocked 1" in last
    assert "changed" not in last
    assert [h["key"] for h in box.data("search", "words", "--source", "agent:dora@example.org")] == ["open"]


def test_a_question_of_many_words_costs_no_more_than_its_first_ones(box: Box) -> None:
    box.set("k", "a needle in the haystack")
    m = memcli.open(str(box.root))
    assert [h.record.key for h in m.search("needle " + " ".join(f"word{n}" for n in range(200_000)), now=at())] == ["k"]


@pytest.mark.parametrize(
    "given",
    [
        {"layers": ("xx",)},
        {"outcome": "nope"},
        {"min_confidence": 5},
        {"min_importance": "much"},
        {"since": "30d"},
        {"until": at().replace(tzinfo=None)},
        {"as_of": at().replace(tzinfo=None)},
        {"last_hours": -1},
        {"last_hours": "24"},
        {"limit": None},
        {"limit": -1},
        {"session": 3},
    ],
    ids=repr,
)
def test_python_refuses_what_the_command_line_refuses(given: dict[str, Any], box: Box) -> None:
    box.set("deploy target", "Fly.io")
    with pytest.raises(errors.UsageError):
        box.memory.search("deploy", now=at(), **given)


def test_python_takes_one_word_for_a_list_and_words_for_numbers(box: Box) -> None:
    box.set("deploy target", "Fly.io", "--tag", "ops", "--confidence", "high")
    for given in ({"layers": "facts"}, {"tags": "ops"}, {"min_confidence": "high"}, {"last_hours": 1}, {"limit": 0}):
        assert len(box.memory.search("deploy", now=at(), **given)) == 1, given
    assert box.memory.search("deploy", now=at(), layers="episodes") == []


@pytest.mark.parametrize("words", [("--outcome", "nope"), ("-n", "-1"), ("--layer", "xx"), ("--last-hours", "-3")])
def test_nonsense_is_no_empty_answer(words: tuple[str, ...], box: Box) -> None:
    assert box.run("search", "deploy", *words).code == 2


def test_a_word_to_leave_out_counts_with_all_its_parts(box: Box) -> None:
    box.set("C++", "the compiler gcc for C++")
    box.set("C#", "the compiler roslyn for C#")
    box.set("incident", "the compiler broke, INC-214")
    box.set("another", "the compiler broke, INC-215")
    assert {h["key"] for h in box.data("search", "compiler -C++")} == {"C#", "incident", "another"}
    assert {h["key"] for h in box.data("search", "compiler -INC-214")} == {"C++", "C#", "another"}
    assert {h["key"] for h in box.data("search", "compiler -the")} == {"C++", "C#", "incident", "another"}


@pytest.mark.parametrize("letter", ["猫", "好"])
def test_one_letter_of_a_script_without_spaces_is_found_in_its_words(letter: str, box: Box) -> None:
    box.set("pet", "猫が好きです")
    box.set("other", "犬がいます")
    box.set("colour", f"黒{letter}")
    assert {h["key"] for h in box.data("search", letter)} == {"pet", "colour"}


def test_a_word_that_stands_nowhere_hides_no_common_one(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large store the commonest words bring no candidates, as long as others do."""
    for n in range(12):
        box.set(f"deploy {n}", f"the deploy number {n}")
    box.set("kraken", "a kraken")
    monkeypatch.setattr(features, "LARGE", 5)
    monkeypatch.setattr(features, "TOO_COMMON", 2.0)
    assert len(box.data("search", "deploy")) == 12
    assert len(box.data("search", "deploy xyzzyplugh")) == 12
