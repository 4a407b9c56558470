"""Who may decide: a person, or another agent than the one that proposed; nobody on his own trust."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from support import Box, at

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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


# Who may do what. "other": an agent that has not proposed the record; "own": the one that has; "stranger": a page, an import;
# "nobody": a program that does not say who it is; "banned": an agent of a blocked source. Which policy of promotion is in
# force changes what is a fact at once, and nothing of this. No command sets a policy: memcli.toml is a file.
WHO = {
    "person": "user:anna",
    "other": "agent:other",
    "own": "agent:m",
    "stranger": "url:http://x.example",
    "nobody": "",
    "banned": "agent:banned",
}
TABLE = {
    # A decision on a record: a person, or another agent than the one that proposed it.
    "review accept": ("person", "other"),
    "review reject": ("person", "other"),
    "review accept --all": ("person", "other", "own"),  # "own" leaves what it proposed itself
    "procedure approve": ("person", "other"),
    "procedure reject": ("person", "other"),
    # How far a source is trusted or served: a person, and not for himself.
    "source set": ("person",),
    "source allow": ("person",),
    # Without --by: whoever names nobody is the person who holds the files.
    "source block": ("person", "nobody"),
    "forget --purge": ("person", "nobody"),
    "restore rejected": ("person", "nobody"),
    "restore --include-forgotten": ("person", "nobody"),
    "config --allow": ("person", "nobody"),
    # No decision: it can be undone, or stands under the name of who did it.
    "forget": tuple(WHO),
    "restore": tuple(WHO),
    "fact adopt": tuple(WHO),
}
VERB = {
    "review accept": ("review", "accept", "cache"),
    "review reject": ("review", "reject", "cache"),
    "review accept --all": ("review", "accept", "--all", "--yes"),
    "procedure approve": ("procedure", "approve", "way"),
    "procedure reject": ("procedure", "reject", "way"),
    "source set": ("source", "set", "m", "--trust", "1.0"),
    "source allow": ("source", "allow", "m"),
    "source block": ("source", "block", "boris"),
    "forget --purge": ("forget", "database", "--purge", "--yes"),
    "restore rejected": ("restore", "queue"),
    "restore --include-forgotten": ("restore", "gone", "--include-forgotten"),
    "config --allow": ("config", "llm.command", "--allow"),
    "forget": ("forget", "database", "--yes"),
    "restore": ("restore", "gone"),
    "fact adopt": ("fact", "adopt", "by hand"),
}


@pytest.mark.parametrize("policy", ["gated", "immediate"])
@pytest.mark.parametrize("verb", TABLE)
def test_who_may_decide_what(asked: Box, monkeypatch: pytest.MonkeyPatch, verb: str, policy: str) -> None:
    asked.ok("remember", "The queue is Kafka.", "--session", "e", "--source", "agent:m")
    (queue,) = (i["ref"] for i in asked.data("review", "list") if i["key"] == "queue")
    asked.ok("review", "reject", queue, "--by", "user:anna")
    asked.ok("procedure", "propose", "way", "--step", "Go: there", "--source", "agent:m")
    asked.set("gone", "a value", "--source", "user:anna")
    asked.ok("forget", "gone", "--yes")
    asked.set("by hand", "a value", "--source", "user:anna")
    asked.md("by hand").write_text(asked.md("by hand").read_text() + "More.\n")
    asked.ok("source", "block", "banned", "--by", "user:anna")
    toml = asked.root / "memcli.toml"
    toml.write_text(f'{toml.read_text()}\n[llm]\ncommand = "true"\n[promotion]\npolicy = "{policy}"\n')
    may = {}
    for who, name in WHO.items():
        with shelved(asked.root):
            monkeypatch.setenv("MEMCLI_SOURCE", name)
            before = asked.tree(state=True)
            code = asked.run(*(queue if word == "queue" else word for word in VERB[verb])).code
            may[who] = code == 0
            assert code in (0, 6)
            assert code == 0 or asked.tree(state=True) == before
    assert may == {who: who in TABLE[verb] for who in WHO}


@contextlib.contextmanager
def shelved(root: Path) -> "Iterator[None]":
    """What is done to a store meanwhile is undone."""
    copy = root.with_name(f"{root.name}.copy")
    shutil.copytree(root, copy, symlinks=True)
    yield
    shutil.rmtree(root)
    copy.rename(root)


def test_an_agent_that_takes_over_a_hand_edit_speaks_for_itself(asked: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for how in (("fact", "adopt", "database"), ("review", "accept", "database", "--by", "agent:other")):
        for proposal in (i for i in asked.data("review", "list") if i["kind"] == "proposal" and i["key"] == "database"):
            asked.ok("review", "reject", proposal["ref"], "--by", "user:anna")
        asked.set("database", f"Postgres {how[0]}", "--source", "user:anna")
        asked.md("database").write_text(asked.md("database").read_text() + "Or so.\n")
        monkeypatch.setenv("MEMCLI_SOURCE", "agent:other")
        assert asked.run(*how).code == 0
        assert str(asked.fact("database").source) == "agent:other"
        monkeypatch.delenv("MEMCLI_SOURCE")


# Ways round the gate that were found and closed.


@pytest.fixture
def imported(box: Box) -> Box:
    """A proposal that agent:m has imported, from a file that names nobody."""
    path = box.root.parent / "rows.jsonl"
    path.write_text('{"kind": "fact", "key": "deploy target", "text": "Render", "sensitivity": "internal"}\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMCLI_SOURCE", "agent:m")
        box.ok("import", "jsonl", str(path))
    return box


@pytest.mark.parametrize("who", ["agent:m", "agent:other"])
def test_what_came_by_import_is_decided_by_a_person(imported: Box, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    monkeypatch.setenv("MEMCLI_SOURCE", who)
    assert imported.run("review", "accept", "deploy target", "--by", who).code == 6
    done = imported.ok("review", "accept", "--all", "--via", "import", "--yes", "--by", who, "--json").data
    assert (done["accepted"], done["left"]) == (0, 1)
    imported.ok("review", "accept", "deploy target", "--by", "user:anna")


def test_whoever_has_said_it_too_does_not_decide(box: Box) -> None:
    for who, run in (("agent:a", "r1"), ("agent:b", "r2")):
        box.ok("remember", "The port is 8080.", "--session", run, "--source", who)
    assert box.run("review", "accept", "port", "--by", "agent:b").code == 6
    box.ok("review", "accept", "port", "--by", "agent:c")


def test_no_agent_takes_a_rejected_procedure_away_to_propose_it_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.ok("procedure", "propose", "way", "--step", "A: do")
    box.ok("procedure", "reject", "way", "--by", "user:anna")
    monkeypatch.setenv("MEMCLI_SOURCE", "agent:bot")
    before = box.tree()
    assert box.run("forget", "way", "--yes").code == 6
    assert box.run("procedure", "propose", "way", "--step", "A: do").code == 5
    assert box.tree() == before
    monkeypatch.delenv("MEMCLI_SOURCE")
    box.ok("forget", "way", "--yes")


@pytest.mark.parametrize("who", ["agent:m", "agent:new", "user:banned"])
def test_no_file_of_an_agent_says_whom_to_trust(box: Box, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    for name in ("m", "banned"):
        box.ok("source", "block", name)
    path = box.root.parent / "sources.jsonl"
    rows = [
        {"kind": "source", "id": who.partition(":")[2], "source_kind": "agent", "trust": 1.0, "list": "allow"},
        {"kind": "fact", "key": "k", "text": "v"},
    ]
    path.write_text("".join(json.dumps(r | {"first_seen_at": "2026-01-01T00:00:00Z"}) + "\n" for r in rows))
    monkeypatch.setenv("MEMCLI_SOURCE", who)
    before = box.data("source", "list")
    done = box.run("import", "jsonl", str(path), "--trusted")
    assert "only a person" in done.out + done.err
    assert [r for r in box.data("source", "list") if r["id"] in ("m", "new", "banned")] == [
        r for r in before if r["id"] in ("m", "new", "banned")
    ]
    monkeypatch.setenv("MEMCLI_SOURCE", "user:anna")
    box.ok("import", "jsonl", str(path), "--trusted")


@pytest.mark.parametrize("who", ["agent:bot", "user:banned"])
@pytest.mark.parametrize(
    "words",
    [
        ("fact", "set", "gone", "the old value"),
        ("episode", "add", "the old value"),
        ("remember", "the old value", "--session", "s"),
        ("procedure", "propose", "gone", "--step", "A: do"),
        ("import", "jsonl", "rows.jsonl"),
    ],
    ids=" ".join,
)
def test_nobody_but_a_person_brings_back_what_was_purged(
    box: Box, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], who: str
) -> None:
    box.set("gone", "the old value")
    box.ok("forget", "gone", "--purge", "--yes")
    box.ok("source", "block", "banned")
    (box.root.parent / "rows.jsonl").write_text('{"kind": "fact", "key": "gone", "text": "the old value"}\n')
    monkeypatch.chdir(box.root.parent)
    monkeypatch.setenv("MEMCLI_SOURCE", who)
    before = box.tree()
    assert box.run(*words, "--include-forgotten").code == 6
    assert box.run("forget", "gone", "--purge", "--yes").code == 6
    assert box.tree() == before
    monkeypatch.setenv("MEMCLI_SOURCE", "user:anna")
    box.ok(*words, "--include-forgotten")
