"""`memcli search` over what a session holds: ranked with the rest, filtered, withheld, and of that session alone."""

from datetime import timedelta

import pytest
from support import CANARY, Box, at, stamp

from memcli.engine import held
from memcli.model import labels

S = ("--session", "s1")


@pytest.fixture
def desk(box: Box) -> Box:
    box.set("deploy target", "Production runs on Fly.io.")
    box.ok("work", "set", "topic", "the kraken release", *S, "--tag", "plan")
    box.ok("work", "add", "deploy with the kraken on Friday", "--role", "user", *S, "--importance", "0.9")
    box.ok("work", "set", "topic", "the kraken of another", "--session", "s2")
    return box


def found(box: Box, *words: str) -> list[str]:
    return [row.get("key") or row["text"] for row in box.data("search", *words)]


def test_a_session_is_searched_with_the_rest_and_only_when_named(desk: Box) -> None:
    assert found(desk, "kraken") == []
    assert set(found(desk, "kraken", *S)) == {"topic", "deploy with the kraken on Friday"}
    assert [r["layer"] for r in desk.data("search", "kraken", *S)] == ["working", "working"]
    hits = desk.memory.search("deploy", now=at())
    assert [h.record.text for h in hits] == ["Production runs on Fly.io."]
    ranked = desk.memory.search("kraken", session="s2", now=at())
    assert [h.record.text for h in ranked] == ["the kraken of another"]
    assert ranked[0].score == pytest.approx(sum(ranked[0].why.values()), abs=1e-3)


def test_the_session_of_the_environment_leaves_nothing_else_out(desk: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_SESSION", "s1")
    assert set(found(desk, "deploy")) == {"deploy target", "deploy with the kraken on Friday"}


def test_working_alone_needs_a_session(desk: Box) -> None:
    ran = desk.run("search", "kraken", "--layer", "working")
    assert ran.code == 2
    assert "--session" in ran.err
    assert found(desk, "deploy", "--layer", "working", *S) == ["deploy with the kraken on Friday"]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (("--tag", "plan"), {"topic"}),
        (("--min-importance", "0.8"), {"deploy with the kraken on Friday"}),
        (("--source", "user"), {"deploy with the kraken on Friday"}),
        (("--source", "unknown"), {"topic"}),
        (("--since", stamp(hours=1)), set()),
        (("--until", stamp()), {"topic", "deploy with the kraken on Friday"}),
        (("--min-confidence", "high"), set()),
        (("--domain", "plans"), set()),
        (("--prefix", "top"), set()),
        (("--outcome", "failed"), set()),
        (("--concept", "kraken"), set()),
        (("--layer", "facts"), set()),
        (("--as-of", stamp()), set()),
    ],
)
def test_each_filter(desk: Box, options: tuple[str, ...], kept: set[str]) -> None:
    assert set(found(desk, "kraken", *S, *options)) == kept


def test_phrases_and_words_to_leave_out(desk: Box) -> None:
    assert found(desk, '"kraken release"', *S) == ["topic"]
    assert found(desk, "kraken -deploying", *S) == ["topic"]


def test_what_is_above_the_clearance_is_counted_alone(desk: Box) -> None:
    desk.ok("work", "set", f"plan {CANARY}", f"kraken {CANARY}", *S, "--sensitivity", "restricted")
    ran = desk.ok("search", "kraken", *S)
    assert CANARY not in ran.out + ran.err
    assert "1 withheld" in ran.err
    assert CANARY in desk.ok("search", CANARY, *S, "--clearance", "restricted").out


def test_what_has_ended_or_comes_from_a_blocked_source_is_not_found(desk: Box) -> None:
    desk.ok("work", "set", "short", "kraken for an hour", *S, "--ttl", "1h")
    desk.ok("work", "set", "odd", "kraken from afar", *S, "--source", "agent:odd")
    assert {"short", "odd"} <= set(found(desk, "kraken", *S))
    desk.ok("source", "block", "agent:odd")
    later = [h.record.text for h in desk.memory.search("kraken", session="s1", now=at() + timedelta(hours=1))]
    assert "kraken for an hour" not in later
    assert "kraken from afar" not in later
    assert later


def test_a_damaged_session_is_said_and_hides_nothing_else(desk: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_SESSION", "s1")
    for path in (desk.root / ".memcli/work").glob("*.json"):
        path.write_text("{")
    ran = desk.ok("search", "deploy")
    assert "deploy target" in ran.out
    assert held.DAMAGED in ran.err


def test_what_is_found_counts_as_read(desk: Box) -> None:
    desk.ok("search", "release", *S)
    read = {row["key"]: row["accesses"] for row in desk.data("work", "list", *S) if row["kind"] == "entry"}
    assert read == {"topic": 1}


def test_no_row_of_the_index_is_taken_for_one_of_the_session(desk: Box) -> None:
    rows = held.InMind(desk.store, "s1", now=at(), clearance=labels.INTERNAL).rows
    assert [row.rid for row, _ in rows] == [-1, -2]
