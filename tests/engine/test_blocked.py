"""What a blocked source said is kept and served by no command that names it; each says why."""

import json
from pathlib import Path

import pytest
from support import CANARY, Box, at

from memcli.base import errors

ASKED = {
    "get": ("fact", "get", "bad"),
    "get revealed": ("fact", "get", "bad", "--reveal"),
    "history": ("fact", "history", "bad"),
    "edit": ("fact", "edit", "bad"),
    "related": ("fact", "related", "bad"),
    "chain": ("fact", "chain", "bad"),
    "graph": ("graph", "bad"),
    "verify": ("verify", "bad"),
    "work": ("work", "get", "note", "--session", "s"),
    "procedure": ("procedure", "show", "way"),
    "skill": ("export", "skill", "way", "out"),
}


@pytest.fixture
def held(box: Box) -> Box:
    """A store with a record of each layer of one source, which is blocked."""
    said = ("--source", "agent:mallory")
    box.set("bad", f"{CANARY} before", *said)
    box.set("bad", CANARY, *said, "--check", "path:memcli.toml")
    box.ok("work", "set", "note", CANARY, "--session", "s", *said)
    box.ok("procedure", "propose", "way", "--step", f"Go: {CANARY}", *said)
    box.ok("procedure", "approve", "way", "--by", "user:anna")
    box.made = box.add(CANARY, *said)  # type: ignore[attr-defined]
    box.ok("source", "block", "mallory")
    return box


@pytest.mark.parametrize("asked", ASKED)
def test_a_blocked_record_that_is_named_is_refused_with_the_reason(
    held: Box, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = held.run(*ASKED[asked])
    assert (done.code, CANARY in done.out + done.err) == (6, False)
    assert "its source is blocked" in done.err
    assert "memcli source allow mallory" in done.err
    held.ok("source", "allow", "mallory")
    assert "blocked" not in held.run(*ASKED[asked]).err


def test_an_episode_of_a_blocked_source_is_refused(held: Box) -> None:
    done = held.run("episode", "show", held.made)  # type: ignore[attr-defined]
    assert (done.code, CANARY in done.out) == (6, False)
    with pytest.raises(errors.Blocked):
        held.memory.episode(held.made, now=at())  # type: ignore[attr-defined]


def test_python_refuses_them_too(held: Box) -> None:
    m = held.memory
    for verb in (
        lambda: m.get_fact("bad", now=at()),
        lambda: m.get_fact("bad", reveal=True, now=at()),
        lambda: m.related("bad", now=at()),
        lambda: m.chain("bad", now=at()),
        lambda: m.graph("bad", now=at()),
        lambda: m.verify("bad", now=at()),
        lambda: m.work_get("s", "note", now=at()),
        lambda: m.procedure("way"),
    ):
        with pytest.raises(errors.Blocked):
            verb()
    assert m.history("bad") == []
    assert m.verify(now=at()) == []


def test_history_counts_what_it_leaves_out(held: Box) -> None:
    held.set("bad", "a person says so", "--source", "user:anna")
    done = held.ok("fact", "history", "bad")
    assert (done.out.count("\n"), CANARY in done.out) == (1, False)
    assert "2 of a blocked source" in done.err


def test_what_is_withheld_is_not_said_to_be_blocked(box: Box) -> None:
    box.set("bad", CANARY, "--source", "agent:mallory", "--sensitivity", "restricted")
    box.ok("source", "block", "mallory")
    for words in (("fact", "get", "bad"), ("fact", "related", "bad")):
        assert "blocked" not in box.run(*words).err


def test_a_source_whose_record_is_damaged_leads_to_doctor(held: Box) -> None:
    (held.root / "sources/mallory.meta.json").write_text("{")
    done = held.run("fact", "get", "bad")
    assert (done.code, "memcli doctor" in done.err) == (6, True)


SESSION = ("--session", "s")
LISTINGS = {
    "work list": ("work", "list", *SESSION),
    "work list of words": ("work", "list", "--text", "target", *SESSION),
    "search": ("search", "target", *SESSION),
    "retrieve": ("retrieve", "target", *SESSION),
    "recall": ("recall", "target", *SESSION),
    "context": ("context", "target", *SESSION),
}


@pytest.fixture
def desk(box: Box) -> Box:
    """A session with an entry, a note and a message of a source that is blocked, and one of another."""
    said = (*SESSION, "--source", "agent:mallory")
    box.ok("work", "set", "note", f"the deploy target is {CANARY}", *said)
    box.ok("work", "add", f"The build tool is {CANARY}.", *said)
    box.ok("work", "add", f"The database is {CANARY}.", "--role", "user", *said)
    box.ok("work", "add", "The log level is debug.", *SESSION, "--source", "user:anna")
    assert box.ok("work", "list", *SESSION).out.count(CANARY) == 3
    box.ok("source", "block", "mallory")
    return box


@pytest.mark.parametrize("asked", LISTINGS)
def test_what_a_session_holds_of_a_blocked_source_is_in_no_listing(desk: Box, asked: str) -> None:
    for words in ((), ("--json",)):
        done = desk.run(*LISTINGS[asked], *words)
        assert (done.code, CANARY in done.out + done.err) == (0, False)
    desk.ok("source", "allow", "mallory")
    assert CANARY in desk.ok(*LISTINGS[asked]).out


def test_it_is_counted_where_a_session_is_listed(desk: Box) -> None:
    done = desk.ok("work", "list", *SESSION)
    assert (done.out, "3 of a blocked source" in done.err) == ("(note)\tThe log level is debug.\n", True)
    seen = desk.memory.work_list("s", now=at())
    assert (len(seen.blocked), seen.withheld) == (3, 0)
    made = desk.memory.block("the log level", request={"session_id": "s"}, now=at())
    assert ", blocked 3" in made.text
    rows = [c for c in made.receipt["candidates"] if c["fate"] == "blocked"]
    assert [(c["layer"], c["why"]) for c in rows] == [("working", "its source is blocked")] * 3
    assert CANARY not in str(made.receipt)


def test_what_is_withheld_of_a_session_is_not_said_to_be_blocked(desk: Box) -> None:
    desk.ok("work", "set", "other", CANARY, "--sensitivity", "restricted", *SESSION, "--source", "agent:mallory")
    seen = desk.memory.work_list("s", now=at())
    assert (len(seen.blocked), seen.withheld) == (3, 1)


def test_consolidation_passes_over_it_says_so_and_takes_it_once_it_is_allowed(desk: Box) -> None:
    for words in (("--dry-run",), ()):
        done = desk.ok("consolidate", *SESSION, *words)
        assert CANARY not in done.out
        assert "3 of a blocked source passed over" in done.err
    assert [f.text for f in desk.kept().values()] == ["debug"]
    assert desk.data("consolidate", *SESSION)[0]["blocked"] == 3
    assert "passed over" in desk.ok("consolidate", "--all").err
    assert CANARY not in "".join(b.decode() for b in desk.tree().values())
    desk.ok("source", "allow", "mallory")
    (row,) = desk.data("consolidate", *SESSION)
    assert (row["blocked"], len(row["episodes"])) == (0, 1)
    assert {f.text for f in desk.kept().values()} == {"debug", CANARY}
    desk.ok("source", "block", "mallory")
    assert desk.data("consolidate", *SESSION)[0]["blocked"] == 0


def test_a_summary_of_messages_holds_nothing_of_a_blocked_source(box: Box) -> None:
    said = ("--role", "user", *SESSION)
    box.ok("work", "add", f"We decided to use {CANARY}.", *said, "--source", "agent:mallory")
    box.ok("source", "block", "mallory")
    for number in range(40):
        box.ok("work", "add", f"We decided that step {number} is done.", *said, "--source", "user:anna")
    rows = box.data("work", "list", *SESSION)
    assert any(r["role"] == "summary" for r in rows)
    assert CANARY not in str(rows)
    assert len(box.memory.work_list("s", now=at()).blocked) == 1


def test_a_blocked_source_pushes_out_nothing_of_others(box: Box) -> None:
    for number in range(3):
        said = ("--role", "user", "--source", "user:anna", "--importance", "0.9")
        box.ok("work", "add", f"The code owner of part {number} is Person{number}.", *said, *SESSION)
    box.ok("source", "block", "agent:evil", "--by", "user:anna")
    for number in range(40):
        done = box.ok("work", "add", f"tool said {number}", "--role", "tool", "--source", "agent:evil", *SESSION)
        assert ("made room: " in done.err) == (number >= 37), done.err
    shown = box.ok("work", "list", *SESSION)
    assert ([f"Person{n}" in shown.out for n in range(3)], "37 of a blocked source" in shown.err) == ([True] * 3, True)
    box.ok("consolidate", *SESSION)
    assert len(box.kept()) == 3


SUMMED_UP = LISTINGS | {
    "work list of words": ("work", "list", "--text", "queue", *SESSION),
    "search": ("search", "queue", *SESSION),
    "retrieve": ("retrieve", "queue", *SESSION),
    "recall": ("recall", "queue", *SESSION),
    "context": ("context", "queue", *SESSION),
}


@pytest.fixture
def summed_up(box: Box) -> Box:
    """A session whose oldest messages, one of them of a source that is blocked later, are a summary of a summary."""
    with (box.root / "memcli.toml").open("a") as f:
        f.write("\n[working]\nmax_messages = 6\ncompress_from = 4\nkeep_messages = 2\n")
    said = ("--role", "user", "--source", "user:anna", "--importance", "0.9", *SESSION)
    box.ok("work", "add", f"We decided on the queue {CANARY}.", "--role", "user", "--source", "agent:mallory", *SESSION)
    for number in range(8):
        box.ok("work", "add", f"We decided that step {number} is done.", *said)
    rows = box.data("work", "list", *SESSION)
    assert [CANARY in r["text"] for r in rows if r["role"] == "summary"] == [True]
    return box


@pytest.mark.parametrize("asked", SUMMED_UP)
def test_a_summary_with_a_part_of_a_source_blocked_later_is_in_no_listing(summed_up: Box, asked: str) -> None:
    assert CANARY in summed_up.ok(*SUMMED_UP[asked]).out
    summed_up.ok("source", "block", "mallory")
    for words in ((), ("--json",)):
        done = summed_up.run(*SUMMED_UP[asked], *words)
        assert (done.code, CANARY in done.out + done.err) == (0, False)
    assert len(summed_up.memory.work_list("s", now=at()).blocked) == 1
    summed_up.ok("source", "allow", "mallory")
    assert CANARY in summed_up.ok(*SUMMED_UP[asked]).out


def test_it_is_in_no_later_summary_and_no_episode_and_stays_for_the_day_it_is_allowed(summed_up: Box) -> None:
    summed_up.ok("source", "block", "mallory")
    for number in range(20):
        said = ("--role", "user", "--source", "user:anna", *SESSION)
        done = summed_up.ok("work", "add", f"We decided that stage {number} is done.", *said)
        assert "made room" not in done.err
    for number in range(9):
        summed_up.ok("work", "add", f"tool said {number}", "--role", "tool", "--source", "agent:mallory", *SESSION)
    rows = summed_up.data("work", "list", *SESSION)
    assert ([r["role"] for r in rows].count("summary"), CANARY in str(rows)) == (1, False)
    passed = len(summed_up.memory.work_list("s", now=at()).blocked)
    done = summed_up.ok("consolidate", *SESSION)
    assert f"{passed} of a blocked source passed over" in done.err
    assert CANARY not in "".join(b.decode() for b in summed_up.tree().values())
    summed_up.ok("source", "allow", "mallory")
    (row,) = summed_up.data("consolidate", *SESSION)
    assert (row["blocked"], len(row["episodes"])) == (0, 1)
    assert CANARY in "".join(b.decode() for b in summed_up.tree().values())


def test_a_summary_that_names_no_sources_is_read(summed_up: Box) -> None:
    """As memcli wrote them before."""
    (path,) = (summed_up.root / ".memcli" / "work").glob("*.json")
    raw = json.loads(path.read_text())
    made_of = [row.pop("sources", None) for row in raw["items"]]
    assert [set(m) for m in made_of if m] == [{"mallory", "anna", "summary"}]
    path.write_text(json.dumps(raw))
    assert CANARY in summed_up.ok("work", "list", *SESSION).out


def test_a_page_is_named_by_its_address_alone(box: Box) -> None:
    """As `source list` shows it."""
    address = "https://example.org/ads?a=1"
    box.set("advert", "buy the lantern", "--source", address)
    assert box.data("fact", "get", "advert")["source"] == {"id": address, "kind": "url"}
    box.ok("source", "block", address)
    assert box.run("fact", "get", "advert").code == 6
    box.ok("source", "allow", address, "--by", "user:anna")
    assert box.get("advert") == "buy the lantern"
    assert box.run("source", "block", "host:8080").code == 2
