"""`remember`: one text in every layer that it belongs to."""

from typing import Any

import pytest
from support import CANARY, Box, at, stamp

from memcli.store import proposals

S = ("--session", "s1")
TEXT = "The deploy target is Fly.io. I prefer small pull requests."


def held(box: Box) -> list[str]:
    return [r["text"] for r in box.data("work", "list", *S)]


def episodes(box: Box) -> list[dict[str, Any]]:
    return box.data("episode", "list")  # type: ignore[no-any-return]


def proposed(box: Box) -> dict[str, str]:
    return {f.key: f.text for f in proposals.every(box.store)}


def test_a_text_goes_into_all_layers(box: Box) -> None:
    made = box.data("remember", TEXT, *S)
    assert held(box) == [TEXT]
    assert [e["text"] for e in episodes(box)] == [TEXT]
    assert set(proposed(box)) == {"deploy target", "preference: small pull requests"}
    assert made["working"]
    assert made["episode"] == episodes(box)[0]["id"]
    assert box.data("fact", "list") == []


@pytest.mark.parametrize(("importance", "count"), [("0.39", 0), ("0.4", 1)])
def test_an_episode_from_the_threshold_on(box: Box, importance: str, count: int) -> None:
    box.ok("remember", "lunch at noon", *S, "--importance", importance)
    assert len(episodes(box)) == count
    assert held(box) == ["lunch at noon"]


def test_without_a_session_there_is_no_working_memory(box: Box) -> None:
    made = box.data("remember", TEXT)
    assert made["working"] is None
    assert len(episodes(box)) == 1
    assert not (box.root / ".memcli/work").exists()
    assert box.run("remember", "lunch", "--importance", "0.1").code == 2
    box.ok("remember", TEXT, "--importance", "0.1")  # a statement has its place


def test_no_extract(box: Box) -> None:
    box.ok("remember", TEXT, *S, "--no-extract")
    assert proposed(box) == {}
    box.memory.remember(TEXT, session="s2", extract=False, now=at(days=1))
    assert proposed(box) == {}
    box.ok("consolidate", "--all")
    assert proposed(box) == {}


def test_the_same_again_changes_nothing(box: Box) -> None:
    box.ok("remember", TEXT, *S)
    before = box.tree(state=True)
    box.ok("remember", TEXT, *S, now=stamp(minutes=30))
    assert box.tree(state=True) == before


def test_consolidating_afterwards_adds_nothing(box: Box) -> None:
    box.ok("remember", TEXT, *S)
    before = box.tree()
    box.ok("consolidate", *S)
    box.ok("consolidate", *S, now=stamp(days=1))
    assert box.tree() == before


def test_another_session_is_another_witness(box: Box) -> None:
    for session in ("a", "b", "c", "c"):
        box.ok("remember", "The port is 8080", "--session", session)
    (found,) = proposals.every(box.store)
    assert proposals.observations(found) == 3


def test_the_source_and_label_are_those_of_the_writer(box: Box) -> None:
    box.ok("remember", "The port is 8080", "--source", "user:anna", "--sensitivity", "sensitive", "--agent", "a1", *S)
    (found,) = proposals.every(box.store)
    assert (str(found.source), str(found.sensitivity), found.agent) == ("user:anna", "sensitive", "a1")
    done = box.ok("remember", f"The vault is {CANARY}", "--sensitivity", "restricted", *S)
    assert CANARY not in done.out + done.err


def test_a_role_does_not_make_it_the_users_word(box: Box) -> None:
    box.ok("remember", "The port is 8080", "--role", "user", *S)
    (found,) = proposals.every(box.store)
    assert found.source.kind == "unknown"


def test_a_credential_is_refused_and_nothing_is_written(box: Box) -> None:
    before = box.tree()
    assert box.run("remember", "password: hunter2xyz", *S).code == 6
    assert box.run("remember", TEXT, "--session", "ghp_" + "a1B2" * 9).code == 6
    assert box.tree() == before
    box.ok("remember", "ask anna@example.org about it", *S)
    assert episodes(box)[0]["text"] == "ask [EMAIL] about it"


def test_our_own_block_is_not_learned(box: Box) -> None:
    box.set("deploy target", "Fly.io")
    block = box.ok("context").out
    box.ok("remember", "-", *S, stdin=block.encode())
    assert proposed(box) == {}


def test_from_python(box: Box) -> None:
    done = box.memory.remember(TEXT, session="s1", importance=0.9, tags=("ops",), now=at())
    assert done.episode is not None
    assert done.episode.importance == 0.9
    assert [f.tags for f in done.proposed] == [("ops",), ("ops",)]
    assert box.memory.remember(TEXT, session="s1", now=at()).repeated
