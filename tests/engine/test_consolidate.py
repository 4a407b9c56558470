"""From working memory and transcripts to episodes and proposed facts."""

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import CANARY, Box, at, stamp

from memcli.engine import consolidate, digest, echo, propose
from memcli.model import labels
from memcli.model.records import Fact, Source
from memcli.store import proposals

S = ("--session", "s1")


def run(box: Box, *options: str, session: str = "s1", now: str = "", stdin: bytes = b"") -> dict[str, Any]:
    (row,) = box.data("consolidate", "--session", session, *options, now=now or None, stdin=stdin)
    return row  # type: ignore[no-any-return]


def proposed(box: Box) -> dict[str, str]:
    return {f.key: f.text for f in proposals.every(box.store)}


def proposal(box: Box, key: str) -> Fact:
    (found,) = (f for f in proposals.every(box.store) if f.key == key)
    return found


def episodes(box: Box, *options: str) -> list[dict[str, Any]]:
    return box.data("episode", "list", *options)  # type: ignore[no-any-return]


def notes(box: Box, *texts: str, session: str = "s1", **fields: Any) -> None:
    for text in texts:
        box.memory.work_add(session, text, now=at(), **fields)


# Working memory


def test_a_session_becomes_one_episode_and_proposed_facts(box: Box) -> None:
    notes(box, "The deploy target is Fly.io", "Redis — это очередь задач", "lunch at noon")
    box.memory.work_set("s1", "billing owner", "Boris", now=at())
    row = run(box, "--task", "Plan the release", "--outcome", "completed", "--agent", "coder")
    assert proposed(box) == {"deploy target": "Fly.io", "Redis": "очередь задач", "billing owner": "Boris"}
    (episode,) = episodes(box)
    assert (episode["task"], episode["outcome"], episode["session"]) == ("Plan the release", "completed", "s1")
    assert episode["agent"] == "coder"
    assert "lunch at noon" in episode["text"]
    assert episode["source"] == {"id": "session_extract", "kind": "inference"}
    assert [e["id"] for e in row["episodes"]] == [episode["id"]]
    assert box.data("fact", "list") == []


def test_what_a_proposal_says_of_itself(box: Box) -> None:
    notes(box, "The deploy target is Fly.io", importance=0.7, tags=("ops",), sensitivity="public")
    run(box)
    made = proposal(box, "deploy target")
    assert made.source == Source(id="session_extract", kind="inference")
    assert (made.confidence, str(made.sensitivity), made.run) == (0.6, "internal", "s1")
    assert (made.importance, made.tags) == (0.7, ("ops",))
    assert proposals.observations(made) == 1
    assert box.ok("check").out == ""


@pytest.mark.parametrize(
    ("importance", "episode", "facts"), [(0.29, 0, 0), (0.3, 1, 0), (0.39, 1, 0), (0.4, 1, 1), (1.0, 1, 1)]
)
def test_the_thresholds(box: Box, importance: float, episode: int, facts: int) -> None:
    notes(box, "The deploy target is Fly.io", importance=importance)
    row = run(box)
    assert (len(row["episodes"]), len(row["proposed"])) == (episode, facts)


def test_facts_come_from_text_and_concepts_only(box: Box) -> None:
    notes(box, "The port is 8080", modality="image")
    notes(box, "The host is Hetzner", modality="concept")
    notes(box, "The shell is zsh", role="tool")
    notes(box, "The editor is vim", role="system")
    run(box)
    assert set(proposed(box)) == {"host"}


def test_preferences_have_their_domain(box: Box) -> None:
    notes(box, "I prefer tabs over spaces", role="user")
    notes(box, "Предпочитаю короткие ответы", role="user")
    notes(box, "I prefer to be asked", role="assistant")
    run(box)
    assert {f.domain for f in proposals.every(box.store)} == {"preferences"}
    assert set(proposed(box)) == {"preference: tabs over spaces", "preference: короткие ответы"}


def test_people_projects_and_tools_have_their_domains(box: Box) -> None:
    text = "Anna is our backend lead. Проект «Атлас» — новый биллинг. ripgrep is a search tool. Is Boris the tech lead?"
    notes(box, text, role="user")
    run(box)
    box.ok("remember", "Ольга — дизайнер. The port is 8080.", "--importance", "0.1")
    found = {f.key: f.domain for f in proposals.every(box.store)}
    assert found == {"Anna": "people", "Проект «Атлас»": "projects", "ripgrep": "tools", "Ольга": "people", "port": ""}
    box.ok("review", "accept", "Anna", "--by", "user:ivan")
    assert [f["key"] for f in box.data("fact", "list", "--domain", "people")] == ["Anna"]


def test_running_again_adds_nothing(box: Box) -> None:
    notes(box, "The deploy target is Fly.io", "The port is 8080")
    notes(box, "Please fix it", role="user")
    run(box)
    before = box.tree()
    for later in (stamp(), stamp(hours=5), stamp(days=40)):
        row = run(box, now=later)
        assert (row["episodes"], row["proposed"], row["again"]) == ([], [], [])
        assert box.ok("consolidate", "--all", now=later).out == ""
    assert box.tree() == before


def test_only_what_is_new_makes_the_next_episode(box: Box) -> None:
    notes(box, "first thing")
    run(box)
    notes(box, "second thing")
    run(box)
    assert sorted(e["text"] for e in episodes(box)) == ["- first thing", "- second thing"]


def test_no_duplicate_within_the_hour(box: Box) -> None:
    notes(box, "The same note")
    run(box)
    box.memory.work_clear("s1")
    box.memory.work_add("s1", "The same  note.", now=at(minutes=59))
    assert run(box, now=stamp(minutes=59))["repeated"] == 1
    box.memory.work_clear("s1")
    box.memory.work_add("s1", "The same note", now=at(minutes=61))
    run(box, now=stamp(minutes=61))
    assert len(episodes(box)) == 2


def test_another_session_is_one_more_witness(box: Box) -> None:
    notes(box, "The deploy target is Fly.io", session="a")
    notes(box, "the Deploy target is fly.io.", session="b")
    notes(box, "The deploy target is Fly.io", session="c")
    run(box, session="a")
    assert len(run(box, session="b")["again"]) == 1
    run(box, session="c")
    assert proposals.observations(proposal(box, "deploy target")) == 3
    assert len(list(proposals.every(box.store))) == 1
    box.memory.work_clear("a")
    notes(box, "The deploy target is Fly.io!", session="a")
    assert run(box, session="a")["unchanged"] == 1
    assert proposals.observations(proposal(box, "deploy target")) == 3


def test_rival_values_stand_side_by_side(box: Box) -> None:
    notes(box, "The deploy target is Fly.io", session="a")
    notes(box, "The deploy target is Hetzner", session="b")
    run(box, session="a")
    run(box, session="b")
    assert sorted(f.text for f in proposals.every(box.store)) == ["Fly.io", "Hetzner"]
    assert box.ok("check").out == ""


def test_what_is_a_fact_already_is_not_proposed(box: Box) -> None:
    box.set("Deploy target", "Fly.io")
    notes(box, "The deploy target is Fly.io.", "The deploy target is Heroku")
    row = run(box)
    assert row["known"] == 1
    assert [p["text"] for p in row["proposed"]] == ["Heroku"]
    assert proposal(box, "Deploy target").text == "Heroku"  # under the key that the fact has
    assert box.get("Deploy target") == "Fly.io"


def test_a_person_may_edit_a_proposal(box: Box) -> None:
    notes(box, "The port is 8080")
    run(box)
    (file,) = (box.root / "proposed/facts").glob("*.md")
    file.write_text(file.read_text().replace("8080", "9090"))
    notes(box, "The port is 8080", session="b")
    run(box, session="b")
    assert "9090" in file.read_text()
    assert len(list(proposals.every(box.store))) == 1


def test_at_most_fifty_a_pass_and_the_rest_in_the_next(box: Box) -> None:
    text = "\n".join(f"The port of service{n} is {8000 + n}" for n in range(120))
    box.memory.work_add("s1", text, now=at())
    counts = []
    for _ in range(4):
        row = run(box)
        counts.append((len(row["proposed"]), row["left"]))
    assert counts == [(50, 70), (50, 20), (20, 0), (0, 0)]
    assert len(proposed(box)) == 120
    assert len(episodes(box)) == 1


def test_what_is_stricter_keeps_its_label_and_hides_nothing_else(box: Box) -> None:
    notes(box, f"The vault is {CANARY}", sensitivity="sensitive")
    notes(box, "The port is 8080")
    done = box.ok("consolidate", *S)
    report = box.ok("consolidate", "--session", "s1", "--json")
    assert CANARY not in done.out + done.err + report.out
    assert "1 withheld" in done.out
    found = {f.key: f for f in proposals.every(box.store)}
    assert str(found["vault"].sensitivity) == "sensitive"
    assert found["vault"].name.startswith("x--")
    assert [e["text"] for e in episodes(box)] == ["- The port is 8080"]
    assert len(episodes(box, "--clearance", "restricted")) == 2


def test_a_stricter_observation_raises_the_label(box: Box) -> None:
    notes(box, "The port is 8080", session="a")
    notes(box, "The port is 8080", session="b", sensitivity="sensitive")
    run(box, session="a")
    run(box, session="b")
    assert proposal(box, "port").sensitivity == labels.SENSITIVE


def test_an_untrusted_source_cannot_become_an_inference(box: Box) -> None:
    notes(box, "The best host is evil.example", source="url:evil.example")
    notes(box, "something else")
    run(box)
    assert proposal(box, "best host").source == Source(id="evil.example", kind="url")
    (episode,) = episodes(box)
    assert episode["source"]["kind"] == "url"


def test_what_is_old_and_unimportant_is_cleaned_up(box: Box) -> None:
    notes(box, "noise", importance=0.1)
    notes(box, "kept", importance=0.2)
    box.memory.work_set("s1", "scratch", "v", importance=0.1, now=at())
    assert run(box, now=stamp(minutes=30))["cleaned"] == 0
    assert run(box, "--dry-run", now=stamp(minutes=31))["cleaned"] == 2
    assert run(box, now=stamp(minutes=31))["cleaned"] == 2
    assert [r["text"] for r in box.data("work", "list", *S)] == ["kept"]


def test_a_dry_run_says_the_same_and_writes_nothing(box: Box) -> None:
    notes(box, "The deploy target is Fly.io")
    would = run(box, "--dry-run")  # the caches for look-ups may be written
    before = box.tree(state=True)
    assert run(box, "--dry-run") == would
    assert box.tree(state=True) == before
    assert proposed(box) == {}
    did = run(box)
    assert [p["key"] for p in would["proposed"]] == [p["key"] for p in did["proposed"]]
    assert [e["id"] for e in would["episodes"]] == [e["id"] for e in did["episodes"]]


def test_a_session_that_raises_is_passed_over_and_said(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for i, name in enumerate("abc"):
        notes(box, f"The port of host{i} is 808{i}", session=name)
    made = digest.make

    def odd(store: Any, session: str, *rest: Any, **more: Any) -> Any:
        if session == "b":
            raise OverflowError("date value out of range")
        return made(store, session, *rest, **more)

    monkeypatch.setattr(digest, "make", odd)
    done = box.ok("consolidate", "--all")
    assert {e.session for e in box.memory.episodes()} == {"a", "c"}
    assert "the session b was passed over: bug: OverflowError" in done.err
    assert "date value" not in done.err
    assert "passed over: 1; that keeps no other session" in done.err


def test_all_sessions_and_the_damaged_one(box: Box) -> None:
    notes(box, "The port is 8080", session="a")
    notes(box, "The host is Hetzner", session="b")
    (box.root / ".memcli/work/0123456789abcdef.json").write_text("{")
    done = box.ok("consolidate", "--all")
    assert set(proposed(box)) == {"port", "host"}
    assert done.out.startswith("a: 1 episode") or done.out.startswith("b: 1 episode")
    assert "1 sessions could not be read" in done.err
    assert "passed over: 1; that keeps no other session" in done.err
    assert box.run("consolidate", "--all", *S).code == 2
    assert box.run("consolidate").code == 2
    assert box.run("consolidate", *S, "--outcome", "fine").code == 2


@pytest.mark.parametrize("session", ["anna@example.org", "../x", "a\nb", "тест"])
def test_a_session_id_with_personal_data_stays_out_of_tracked_files(box: Box, session: str) -> None:
    notes(box, "The port is 8080", session=session)
    box.memory.consolidate(session, now=at())
    made = proposal(box, "port")
    assert made.run == digest.name_of_run(session)
    assert str(made.sensitivity) == "internal"
    assert b"anna@example.org" not in b"".join(box.tree().values())


# No self-echo


def test_our_own_output_is_never_learned(box: Box) -> None:
    box.set("deploy target", "Fly.io")
    box.set("release day", "Friday")
    block = box.ok("context").out
    assert echo.cut(f"before\n{block}after") == "before\n\nafter"
    assert echo.cut(json.dumps(block)).strip('" \n\\') in ("", "n")
    notes(box, block, f"I looked it up:\n{block}")
    notes(box, next(line for line in block.splitlines() if "deploy" in line), role="assistant")
    row = run(box)
    assert proposed(box) == {}
    assert row["known"] == 0
    assert "Fly.io" not in "".join(e["text"] for e in episodes(box))


def test_the_whole_block_is_cut_with_a_session_in_it(box: Box) -> None:
    notes(box, "The port is 8080")
    block = box.ok("context", *S).out
    assert "8080" in block
    assert echo.cut(block).strip() == ""


# Transcripts

TALK = [
    {"role": "user", "content": "Please fix the refund webhook. Our deploy target is Fly.io."},
    {"role": "assistant", "content": "The signature check: raw body required. password: hunter2xyz"},
    {"role": "tool", "content": "the port is 9999"},
    {"role": "assistant", "content": "We decided to keep the old endpoint."},
]


def jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


def test_a_transcript_becomes_an_episode_and_proposals(box: Box) -> None:
    row = run(box, "--transcript", "-", "--outcome", "completed", stdin=jsonl(*TALK, "torn"))
    assert proposed(box) == {"deploy target": "Fly.io", "signature check": "raw body required"}
    (episode,) = episodes(box)
    assert episode["task"] == "Please fix the refund webhook."
    assert "We decided to keep the old endpoint" in episode["text"]
    assert b"hunter2xyz" not in b"".join(box.tree(state=True).values())
    assert row["skipped"] == 1


def test_the_same_transcript_again_adds_nothing_and_a_longer_one_only_the_rest(box: Box) -> None:
    run(box, "--transcript", "-", stdin=jsonl(*TALK))
    before = box.tree()
    run(box, "--transcript", "-", stdin=jsonl(*TALK), now=stamp(days=2))
    assert box.tree() == before
    more = {"role": "user", "content": "We agreed that the owner is Boris. The rate limit is 600."}
    row = run(box, "--transcript", "-", stdin=jsonl(*TALK, more), now=stamp(days=3))
    assert [p["key"] for p in row["proposed"]] == ["rate limit"]
    (episode,) = row["episodes"]
    assert "old endpoint" not in episode["text"]


def test_what_working_memory_holds_is_not_taken_twice_from_the_transcript(box: Box) -> None:
    notes(box, TALK[3]["content"], role="assistant")
    run(box)
    row = run(box, "--transcript", "-", stdin=jsonl(TALK[3]), now=stamp(days=1))
    assert row["episodes"] == []
    run(box, "--transcript", "-", stdin=jsonl(*TALK))
    assert sum("old endpoint" in e["text"] for e in episodes(box)) == 1


def test_times_of_a_transcript_decide_the_month(box: Box) -> None:
    row = {
        "type": "user",
        "timestamp": "2026-10-02T10:00:00Z",
        "message": {"role": "user", "content": "The port is 80"},
    }
    run(box, "--transcript", "-", stdin=jsonl(row))
    assert box.log("2026-10").exists()
    future = row | {"timestamp": "2031-10-02T10:00:00Z"}
    run(box, "--transcript", "-", stdin=jsonl(future), session="s2")
    assert box.log("2026-11").exists()


def test_a_plain_transcript_from_python(box: Box) -> None:
    done = box.memory.consolidate("s", transcript="User: The host is Hetzner.\nAssistant: ok", now=at())
    assert [f.key for f in done.proposed] == ["host"]
    assert box.memory.consolidate_all(now=at()) == []  # nothing in working memory


# With a model

ANSWER = {
    "task": "fix refunds",
    "outcome": "completed",
    "summary": "Fixed the refund webhook.",
    "findings": ["the signature covers the raw body"],
    "approach": "read the body once",
    "patterns": ["log the raw body"],
    "facts": [
        {
            "key": "webhook signature",
            "text": "covers the raw body",
            "confidence": 0.9,
            "tags": ["stripe"],
            "domain": "infra",
        },
        {"key": "secret place", "text": "the safe", "confidence": 0.9, "sensitivity": "restricted"},
        {"key": "odd label", "text": "x", "confidence": 0.9, "sensitivity": "very"},
        {"key": "public thing", "text": "known", "confidence": 0.9, "sensitivity": "public", "ttl_minutes": 60},
        {"key": "unsure", "text": "x", "confidence": 0.69},
        {"key": "", "text": "x", "confidence": 1},
        {"key": "no text", "confidence": 1},
        "nonsense",
    ],
    "procedure": {
        "title": "Fix a webhook",
        "steps": [{"name": "look", "action": "read the log", "expected": "a line"}, 3],
    },
    "confirmations": 99,
}


# The model thinks until somebody makes the file `go`, for a minute at most.
WAIT = "import os\nfor _ in range(600):\n    if os.path.exists({go!r}): break\n    time.sleep(0.1)"


def waiting_for(what: Callable[[], bool]) -> None:
    """Goes on when it is true; fails after a minute."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def model(box: Box) -> Callable[..., Path]:
    def made(answer: object, before: str = "") -> Path:
        before = before.format(go=str(box.root.parent / "go"))
        program = box.root.parent / "model.py"
        seen = box.root.parent / "prompt"
        body = answer if isinstance(answer, str) else f"print({json.dumps(json.dumps(answer))})"
        lines = ["import sys, time", f"open({str(seen)!r}, 'w').write(sys.stdin.read())", before, body]
        program.write_text("\n".join(lines))
        setting = f'format = 1\n[llm]\nextract_command = "{sys.executable} {program}"\ntimeout_seconds = 60\n'
        (box.root / "memcli.toml").write_text(setting)
        box.ok("config", "llm.extract_command", "--allow")
        return seen

    return made


def test_a_model_extracts_artifacts_facts_and_a_procedure(box: Box, model: Callable[..., Path]) -> None:
    seen = model(ANSWER)
    notes(box, "The port is 8080", f"The vault is {CANARY}")
    notes(box, f"The safe is {CANARY}", sensitivity="sensitive")
    notes(box, "password: hunter2xyz", allow_secret=True)
    row = run(box)
    (episode,) = episodes(box)
    assert episode["text"] == "Fixed the refund webhook."
    assert (episode["task"], episode["outcome"]) == ("fix refunds", "completed")
    assert episode["findings"] == ["the signature covers the raw body"]
    assert (episode["approach"], episode["patterns"]) == ("read the body once", ["log the raw body"])
    found = {f.key: f for f in proposals.every(box.store)}
    assert set(found) == {"webhook signature", "secret place", "odd label", "public thing", "port", "vault", "safe"}
    assert {str(found[k].sensitivity) for k in ("secret place", "odd label")} == {"restricted"}
    assert str(found["public thing"].sensitivity) == "internal"
    assert found["public thing"].ttl_minutes == 60
    made = found["webhook signature"]
    assert (made.confidence, made.domain, made.tags) == (0.6, "infra", ("stripe",))
    assert (str(made.source), made.confirmations) == ("inference:session_extract", ())
    assert row["procedure"] == "Fix a webhook"
    (way,) = box.data("procedure", "list", "--state", "pending")
    assert way["key"] == "Fix a webhook"
    prompt = seen.read_text()
    assert "The port is 8080" in prompt
    assert "hunter2xyz" not in prompt
    assert f"The safe is {CANARY}" not in prompt


@pytest.mark.parametrize("outcome", ["failed", "partial"])
def test_a_run_that_was_not_completed_teaches_no_facts(box: Box, outcome: str) -> None:
    notes(box, "The deploy target is Fly.io")
    done = box.run("consolidate", *S, "--transcript", "-", "--outcome", outcome, stdin=jsonl(*TALK))
    assert "no facts from a run that" in done.err
    assert proposed(box) == {}
    assert episodes(box)[0]["outcome"] == outcome
    for again in ((), ("--outcome", "completed")):  # what it said is done with
        run(box, "--transcript", "-", *again, stdin=jsonl(*TALK))
        assert proposed(box) == {}


def test_a_failed_run_is_no_witness(box: Box) -> None:
    for session, outcome in (("s1", "failed"), ("s2", "completed"), ("s3", "partial")):
        run(box, "--transcript", "-", "--outcome", outcome, session=session, stdin=jsonl(*TALK))
    assert proposals.observations(proposal(box, "deploy target")) == 1


def test_a_run_of_which_the_model_says_that_it_failed_teaches_no_facts(box: Box, model: Callable[..., Path]) -> None:
    model(ANSWER | {"outcome": "failed"})
    notes(box, "The deploy target is Fly.io")
    row = run(box)
    assert (row["proposed"], row["unlearned"], proposed(box)) == ([], 1, {})


@pytest.mark.parametrize("outcome", ["failed", "partial", "unknown"])
def test_facts_and_procedures_of_a_model_come_from_completed_runs_only(
    box: Box, model: Callable[..., Path], outcome: str
) -> None:
    model(ANSWER)
    notes(box, "something")
    row = run(box, "--outcome", outcome)  # the caller knows better than the model
    assert (row["proposed"], row["procedure"]) == ([], None)
    assert episodes(box)[0]["outcome"] == outcome


@pytest.mark.parametrize(
    "answer",
    [
        "print('hm')",
        "print('{}' * 3)",
        "sys.exit(1)",
        {"outcome": 3},
        {"findings": "x"},
        {"findings": [1]},
        {"facts": {}, "outcome": "completed"},
        {"procedure": "x", "outcome": "completed"},
        {"summary": ["x"]},
    ],
    ids=range(9),
)
def test_a_malformed_answer_never_breaks_a_run(box: Box, model: Callable[..., Path], answer: object) -> None:
    model(answer)
    notes(box, "The port is 8080")
    done = box.ok("consolidate", *S)
    assert "went on without it" in done.err
    assert proposed(box) == {"port": "8080"}
    (episode,) = episodes(box)
    assert (episode["text"], episode["outcome"]) == ("- The port is 8080", "unknown")


def test_a_model_that_nobody_allowed_here_is_not_asked(box: Box, model: Callable[..., Path]) -> None:
    seen = model(ANSWER)
    (box.root / ".memcli/allowed").unlink()
    notes(box, "something")
    done = box.ok("consolidate", *S)
    assert "is not allowed on this machine; see: memcli config llm.extract_command --allow" in done.err
    assert not seen.exists()
    assert episodes(box)[0]["text"] == "- something"


def test_an_unknown_outcome_is_unknown(box: Box, model: Callable[..., Path]) -> None:
    model({"outcome": "great", "summary": "s"})
    notes(box, "something")
    run(box)
    assert episodes(box)[0]["outcome"] == "unknown"


def test_a_model_cannot_echo_our_block_or_a_secret(box: Box, model: Callable[..., Path]) -> None:
    fact = {"key": "echoed", "text": "<memory-12ab34cd>x</memory-12ab34cd>", "confidence": 1}
    leak = {"key": "token", "text": "ghp_" + "a1B2" * 9, "confidence": 1}
    model({"outcome": "completed", "summary": "password: hunter2xyz", "facts": [fact, leak]})
    notes(box, "something")
    run(box)
    assert proposed(box) == {}
    assert b"hunter2xyz" not in b"".join(box.tree().values())


def test_nothing_is_locked_while_the_model_thinks(box: Box, model: Callable[..., Path]) -> None:
    seen, go = model({"outcome": "completed", "summary": "done"}, before=WAIT), box.root.parent / "go"
    notes(box, "The port is 8080", "The host is Hetzner")
    m = box.memory
    thinking = threading.Thread(target=lambda: m.consolidate("s1", now=at()))
    thinking.start()
    waiting_for(seen.exists)
    for n in range(50):
        m.set_fact(f"meanwhile {n}", "v", now=at())
    m.set_fact("host", "Hetzner", now=at())
    m.work_add("s1", "added meanwhile", now=at())
    assert thinking.is_alive()
    go.touch()
    thinking.join()
    assert len(m.facts(now=at())) == 51
    assert proposed(box) == {"port": "8080"}  # host became a fact meanwhile
    assert "added meanwhile" in [r["text"] for r in box.data("work", "list", *S)]
    (box.root / "memcli.toml").write_text("format = 1\n")
    run(box)
    assert sorted(e["text"] for e in episodes(box)) == ["- added meanwhile", "done"]


# Stopped half-way


@pytest.mark.parametrize("stop", ["propose", "append", "mark"])
def test_a_stopped_run_is_simply_run_again(box: Box, monkeypatch: pytest.MonkeyPatch, stop: str) -> None:
    class Stopped(BaseException):
        pass

    def stopped(*_: object) -> None:
        raise Stopped

    notes(box, "The port is 8080", "The host is Hetzner")
    m = box.memory
    with monkeypatch.context() as patch:
        if stop == "propose":
            plain, calls = proposals.put, []

            def once(*args: Any) -> Fact:
                if calls:
                    raise Stopped
                calls.append(1)
                return plain(*args)

            patch.setattr(proposals, "put", once)
        else:
            where = consolidate.episodes if stop == "append" else consolidate
            patch.setattr(where, "append" if stop == "append" else "_mark", stopped)
        with pytest.raises(Stopped):
            m.consolidate("s1", now=at())
    m.consolidate("s1", now=at(minutes=5))
    assert proposed(box) == {"port": "8080", "host": "Hetzner"}
    assert len(episodes(box)) == 1
    assert all(proposals.observations(f) == 1 for f in proposals.every(box.store))
    assert m.consolidate("s1", now=at(hours=9)).quiet


def test_a_model_that_says_it_otherwise_the_second_time_makes_no_second_episode(
    box: Box, model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(box, "something")
    for n, summary in enumerate(("said so", "said otherwise")):
        model({"summary": summary})
        with monkeypatch.context() as patch:
            patch.setattr(consolidate, "_mark", lambda *_: 0)  # stopped before it was noted
            box.memory.consolidate("s1", now=at(hours=5 * n))
    assert [e["text"] for e in episodes(box)] == ["said so"]


def test_two_at_once_make_one_episode(box: Box) -> None:
    notes(box, "The port is 8080", "a note")
    plans = [consolidate.plan(box.store, "s1", now=at()) for _ in range(2)]
    first, second = (consolidate.apply(box.store, plan) for plan in plans)
    assert (len(first.episodes), len(first.proposed)) == (1, 1)
    assert (len(second.episodes), second.repeated, second.unchanged) == (0, 1, 1)
    assert len(episodes(box)) == 1


# Proposals


def claim(**fields: Any) -> propose.Claim:
    made = {"key": "k", "text": "v", "source": Source(id="x", kind="agent"), "run": "r", "importance": 0.5}
    return propose.Claim(**made | {"sensitivity": labels.INTERNAL} | fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "anna@example.org"},
        {"key": "password", "text": "hunter2xyz"},
        {"text": "ghp_" + "a1B2" * 9},
        {"text": "anna@example.org"},
        {"text": "..."},
        {"key": " "},
        {"key": "a\x00b"},
        {"key": "x" * 1001},
    ],
    ids=range(8),
)
def test_what_cannot_be_kept_is_not_proposed(box: Box, fields: dict[str, Any]) -> None:
    assert propose.plan(box.store, claim(**fields), at()) is None


def test_personal_data_is_replaced_in_a_proposal(box: Box) -> None:
    made = propose.plan(box.store, claim(text="ask anna@example.org"), at())
    assert made is not None
    assert made.fact.text == "ask [EMAIL]"


def test_proposals_go_to_the_trash(box: Box) -> None:
    with box.store.writing() as w:
        (done,) = propose.write(w, [claim()], at())
        proposals.remove(w, [(done.fact, "rejected")], at())
    assert list(proposals.every(box.store)) == []
    (line,) = (box.root / ".memcli/trash/proposed/facts").glob("*.jsonl")
    assert json.loads(line.read_bytes())["reason"] == "rejected"


def test_spelling_does_not_make_another_proposal() -> None:
    assert proposals.same("Deploy  Target", "“Fly.io”.") == proposals.same("deploy target", "fly.io")
    assert proposals.same("k", "C++") != proposals.same("k", "C")
    assert proposals.same("k", "-5") != proposals.same("k", "5")
