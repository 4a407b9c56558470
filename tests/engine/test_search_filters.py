"""A filter is asked before candidates are cut, so that many better matches elsewhere hide nothing."""

from support import Box, at

import memcli


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
