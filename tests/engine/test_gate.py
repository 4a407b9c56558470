"""Who may decide: a person, or another agent than the one that proposed; nobody on his own trust."""

import pytest
from support import Box, at

from memcli.base import errors

PROPOSED = "The database is SQLite."


@pytest.fixture
def asked(box: Box) -> Box:
    """A store with a person's fact, and an agent's proposal against it."""
    box.set("database", "Postgres", "--source", "user:anna")
    box.ok("remember", PROPOSED, "--session", "e", "--source", "agent:m")
    box.ok("remember", "The cache is Redis.", "--session", "e", "--source", "agent:m")
    return box


@pytest.mark.parametrize("verb", ["accept", "reject"])
@pytest.mark.parametrize("who", ["agent:m", "url:http://x.example", "import:file", "unknown:x", ""])
@pytest.mark.parametrize("key", ["database", "cache"])
def test_neither_who_proposed_it_nor_a_stranger_decides(
    asked: Box, monkeypatch: pytest.MonkeyPatch, verb: str, who: str, key: str
) -> None:
    monkeypatch.setenv("MEMCLI_SOURCE", who)
    before = asked.tree()
    done = asked.run("review", verb, key)
    assert (done.code, asked.tree()) == (6, before)
    assert "--by user:NAME" in done.err
    said = asked.memory.review_accept if verb == "accept" else asked.memory.review_reject
    with pytest.raises(errors.Refused):
        said(key, by=who or None, now=at())
    assert asked.ok("review", verb, key, "--by", "user:anna").out == f"{verb}ed\n"


def test_another_agent_decides_but_takes_no_value_away_that_a_person_set(asked: Box) -> None:
    asked.ok("review", "accept", "cache", "--by", "agent:other")
    done = asked.run("review", "accept", "database", "--by", "agent:other")
    assert (done.code, "only a person" in done.err) == (6, True)
    asked.ok("source", "block", "other")
    assert asked.run("review", "reject", "database", "--by", "agent:other").code == 6
    assert asked.get("database") == "Postgres"


def test_an_agent_does_not_put_a_persons_fact_into_the_trash(asked: Box) -> None:
    for run in ("a", "b", "c", "d"):
        asked.ok("fact", "deny", "database", "--source", "agent:m", "--run", run)
    (item,) = asked.data("review", "list", "--kind", "doubted")
    assert asked.run("review", "reject", item["ref"], "--by", "agent:other").code == 6
    asked.ok("review", "reject", item["ref"], "--by", "user:boris")


def test_a_yes_to_all_leaves_what_one_proposed_oneself(asked: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_SOURCE", "agent:m")
    assert asked.data("review", "accept", "--all", "--yes")["accepted"] == 0
    monkeypatch.setenv("MEMCLI_SOURCE", "agent:other")
    assert asked.data("review", "accept", "--all", "--yes")["accepted"] == 1
    monkeypatch.setenv("MEMCLI_SOURCE", "url:x")
    asked.ok("review", "reject", "database", "--by", "user:anna")
    asked.ok("remember", PROPOSED.replace("database", "queue"), "--session", "e", "--source", "agent:m")
    assert asked.ok("review", "accept", "--all", "--dry-run").code == 0
    assert asked.run("review", "accept", "--all", "--yes").code == 6


@pytest.mark.parametrize(
    "words", [("set", "m", "--trust", "1.0"), ("allow", "m"), ("set", "agent:m", "--kind", "user")]
)
@pytest.mark.parametrize("who", ["agent:m", "agent:other", "tool:t", "url:x", "", "user:m"])
def test_nobody_below_a_person_says_how_far_a_source_is_trusted_and_nobody_of_himself(
    asked: Box, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], who: str
) -> None:
    monkeypatch.setenv("MEMCLI_SOURCE", who)
    before = asked.tree()
    done = asked.run("source", *words)
    assert (done.code, asked.tree()) == (6, before)
    with pytest.raises(errors.Refused):
        asked.memory.set_source("m", trust=1.0, by=who or None, now=at())
    with pytest.raises(errors.Refused):
        asked.memory.allow_source("m", by=who or None, now=at())
    asked.ok("source", *words, "--by", "user:anna")


def test_the_agent_of_a_session_does_not_accept_what_the_session_proposed(box: Box) -> None:
    box.ok("remember", PROPOSED, "--session", "e", "--source", "inference:s", "--agent", "m")
    assert box.run("review", "accept", "database", "--by", "agent:m").code == 6
