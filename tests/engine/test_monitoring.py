"""The retrieval log: what is written of a question and what never is, and what `stats --retrieval` makes of it."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import CANARY, NOW, Box, at, environment, stamp
from support import command as command_line

from memcli.base import clock, files, lock
from memcli.engine import monitoring
from memcli.store import retrievals


def log(box: Box) -> Path:
    return box.root / ".memcli" / retrievals.LOG


def old(box: Box) -> Path:
    return box.root / ".memcli" / retrievals.OLD


def lines(box: Box) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log(box).read_text().splitlines()] if log(box).exists() else []


def put(box: Box, **values: object) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(
        toml.read_text() + "\n[monitor]\n" + "".join(f"{n} = {str(v).lower()}\n" for n, v in values.items())
    )


@pytest.fixture
def kept(box: Box) -> Box:
    box.set("deploy target", "Fly.io", "--source", "user:anna")
    box.set("lunch", "at noon")
    return box


# --- What is written


def test_each_verb_writes_one_line(kept: Box) -> None:
    made = kept.fact("deploy target").id
    m = kept.memory
    calls = [
        ("search", lambda: kept.ok("search", "the deploy target")),
        ("recall", lambda: kept.ok("recall", "the deploy target")),
        ("context", lambda: kept.ok("context", "the deploy target")),
        ("search", lambda: m.search("the deploy target", now=at())),
        ("recall", lambda: m.recall("the deploy target", now=at())),
        ("context", lambda: m.context("the deploy target", now=at())),
        ("context", lambda: m.block("the deploy target", now=at())),
    ]
    for command, do in calls:
        do()
        row = lines(kept)[-1]
        assert (row["command"], row["at"], row["verdict"], row["best"]) == (command, NOW, "strong", 1.0)
        assert (row["served"], row["ids"]) == (1, [made])
        assert "text" not in row
    assert len(lines(kept)) == len(calls)
    assert len({row["query"] for row in lines(kept)}) == 1
    assert log(kept).stat().st_mode & 0o777 == 0o600


def test_a_miss_and_a_listing(kept: Box) -> None:
    kept.ok("search", "quantum gravity")
    kept.ok("context")
    miss, listing = lines(kept)
    assert (miss["served"], miss["ids"], miss["best"], miss["verdict"]) == (0, [], 0.0, "none")
    assert (listing["query"], listing["served"], listing["verdict"]) == ("", 2, "")


def test_other_commands_write_nothing(kept: Box) -> None:
    for words in (
        ("fact", "get", "lunch"),
        ("retrieve", "lunch"),
        ("stats",),
        ("stats", "--retrieval"),
        ("fact", "list"),
    ):
        kept.ok(*words)
    assert not log(kept).exists()


def test_no_words_are_in_the_log(box: Box) -> None:
    box.set(f"{CANARY} key", f"{CANARY} value", "--source", f"agent:{CANARY}", "--tag", CANARY)
    box.set(f"{CANARY} hidden", CANARY, "--sensitivity", "restricted")
    for command in ("search", "recall", "context"):
        assert CANARY in box.ok(command, CANARY).out
    written = log(box).read_text()
    assert CANARY not in written.lower()
    assert box.fact(f"{CANARY} hidden").id not in written
    assert len(lines(box)) == 3


def test_the_hash_is_salted_and_tells_equal_questions(kept: Box, tmp_path: Path) -> None:
    for query in ("Deploy  Target", "deploy target", "lunch"):
        kept.ok("search", query)
    one, same, other = (row["query"] for row in lines(kept))
    assert one == same != other
    twin = Box(tmp_path / "twin")
    twin.ok("init")
    twin.set("deploy target", "Fly.io")
    twin.ok("search", "deploy target")
    assert lines(twin)[0]["query"] != one


def test_a_damaged_salt_is_made_anew(kept: Box) -> None:
    kept.ok("search", "lunch")
    (kept.root / ".memcli" / retrievals.SALT).write_bytes(b"")
    kept.ok("search", "lunch")
    kept.ok("search", "lunch")
    assert len({row["query"] for row in lines(kept)[1:]}) == 1


def test_the_question_itself_only_when_asked_for_and_masked(kept: Box) -> None:
    put(kept, query_text=True)
    kept.ok("search", "did anna@example.org deploy? ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5")
    (row,) = lines(kept)
    assert row["text"].startswith("did [EMAIL] deploy?")
    assert "ghp_" not in log(kept).read_text()
    assert [r["text"] for r in retrievals.read(kept.store)] == [row["text"]]


def test_the_latest_questions_without_a_strong_answer_are_shown_where_they_are_kept(kept: Box) -> None:
    put(kept, query_text=True)
    kept.set("vault code", "blue heron", "--sensitivity", "restricted")
    for n in range(12):
        kept.ok("search", f"quantum gravity {n} of anna@example.org", now=stamp(days=n / 100))
    for query in ("lunch", "is it in the Vault  Code?", "what is a blue heron?"):
        kept.ok("search", query, now=stamp(days=1))
    found = kept.data("stats", "--retrieval", now=stamp(days=2))["not_strong"]
    assert found["count"] == 14
    assert [q["text"] for q in found["questions"]] == [f"quantum gravity {n} of [EMAIL]" for n in range(11, 1, -1)]
    assert {(q["command"], q["verdict"]) for q in found["questions"]} == {("search", "none")}
    text = kept.ok("stats", "--retrieval", now=stamp(days=2)).out
    assert "none: 2026-11-15T11:38:24Z\tquantum gravity 11 of [EMAIL]\n" in text
    assert "questions without a strong answer: 14\n" in text
    assert "heron" not in text
    assert "Vault" not in text
    toml = kept.root / "memcli.toml"
    toml.write_text(toml.read_text().replace("query_text = true", "query_text = false"))
    assert kept.data("stats", "--retrieval", now=stamp(days=2))["not_strong"] == {"count": 14, "questions": []}


def test_a_log_of_garbage_is_said(kept: Box) -> None:
    log(kept).write_bytes(b"\x00\xff garbage\n\n{}\n[1]")
    ran = kept.ok("stats", "--retrieval")
    assert "3 lines of .memcli/retrieval.jsonl cannot be read" in ran.err
    assert kept.data("stats", "--retrieval")["unreadable"] == 3
    log(kept).unlink()
    log(kept).mkdir()
    assert kept.data("stats", "--retrieval")["unreadable"] == 1


def test_the_weeks_of_the_first_years_are_days_too(kept: Box) -> None:
    kept.ok("search", "quantum gravity", now="0001-01-04")
    assert [week["week"] for week in kept.data("stats", "--retrieval", now="0001-01-05")["weeks"]] == ["0001-01-01"]


def test_days_without_retrieval_is_refused(kept: Box) -> None:
    ran = kept.run("stats", "--days", "5")
    assert (ran.code, ran.err) == (2, "memcli: --days needs --retrieval; memcli stats --retrieval --days 5\n")


def test_a_request_is_kept_in_no_words(kept: Box) -> None:
    put(kept, query_text=True)
    request = json.dumps({"user_input": f"when is {CANARY}?", "turns": [{"role": "user", "content": CANARY}]}).encode()
    kept.ok("context", "--request", "-", stdin=request)
    kept.ok("context", "lunch", "--request", "-", stdin=request)
    assert [row.get("text") for row in lines(kept)] == [None, "lunch"]
    assert CANARY not in log(kept).read_text()


def test_off_is_off(kept: Box) -> None:
    put(kept, enabled=False)
    for command in ("search", "recall", "context"):
        kept.ok(command, "lunch")
    assert not log(kept).exists()
    assert "nothing new is written down" in kept.ok("stats", "--retrieval").err


def test_at_most_ten_ids(box: Box) -> None:
    for n in range(14):
        box.set(f"port {n}", f"the port number {n}")
    box.ok("search", "port")
    (row,) = lines(box)
    assert (row["served"], len(row["ids"])) == (14, 10)


# --- It never fails the command, and never grows for ever


@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
@pytest.mark.parametrize("name", [retrievals.LOG, retrievals.SALT])
def test_a_log_that_cannot_be_written_does_no_harm(kept: Box, what: str, name: str, tmp_path: Path) -> None:
    kept.ok("search", "first")
    place = kept.root / ".memcli" / name
    place.unlink()
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    {"folder": place.mkdir, "link": lambda: place.symlink_to(outside), "pipe": lambda: os.mkfifo(place)}[what]()
    assert "at noon" in kept.ok("search", "lunch").out
    assert outside.read_text() == "mine\n"
    kept.ok("stats", "--retrieval")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_read_all_the_same(kept: Box) -> None:
    kept.ok("search", "lunch")
    before = log(kept).read_bytes()
    state = kept.root / ".memcli"
    log(kept).chmod(0o400)
    state.chmod(0o500)
    try:
        for command in ("search", "recall", "context"):
            assert "at noon" in kept.ok(command, "lunch").out
    finally:
        state.chmod(0o700)
    assert log(kept).read_bytes() == before


def test_a_disk_that_takes_no_more_is_no_error(kept: Box) -> None:
    kept.ok("search", "lunch")
    log(kept).write_bytes(log(kept).read_bytes() * 4000)
    before = log(kept).read_bytes()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), len(before)))

    for command in ("search", "recall", "context"):
        done = subprocess.run(
            command_line(kept.words(command, "lunch")),
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            preexec_fn=limit,
            timeout=60,
            check=True,
        )
        assert b"at noon" in done.stdout
    assert log(kept).read_bytes() == before


def test_without_a_state_folder_nothing_is_written_anywhere(
    kept: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    store = kept.store
    (kept.root / ".memcli").rename(tmp_path.parent / f"{tmp_path.name}-aside")
    retrievals.note(store, "search", "lunch", now=at(), served=[], verdict="none")
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert not (kept.root / ".memcli").exists()


def test_a_full_log_is_put_aside_and_the_oldest_goes(kept: Box) -> None:
    kept.ok("search", "lunch")
    row = log(kept).read_bytes()
    log(kept).write_bytes(row * (retrievals.MOST_BYTES // len(row)))
    old(kept).write_text("the one before\n")
    kept.ok("search", "deploy")
    assert log(kept).read_bytes().count(b"\n") == 1
    assert old(kept).read_bytes() == row * (retrievals.MOST_BYTES // len(row))
    assert kept.data("stats", "--retrieval")["queries"] == retrievals.MOST_BYTES // len(row) + 1


def test_a_log_that_cannot_be_put_aside_stops_growing(kept: Box) -> None:
    old(kept).mkdir(parents=True)
    kept.ok("search", "lunch")
    row = log(kept).read_bytes()
    log(kept).write_bytes(row * (2 * retrievals.MOST_BYTES // len(row) + 1))
    size = log(kept).stat().st_size
    kept.ok("search", "lunch")
    assert log(kept).stat().st_size == size


def test_of_two_that_see_it_full_one_puts_it_aside(kept: Box) -> None:
    kept.ok("search", "lunch")
    row = log(kept).read_bytes()
    log(kept).write_bytes(row * (retrievals.MOST_BYTES // len(row)))
    with kept.store.folder(".memcli") as state:
        retrievals._rotate(state, len(row))
        whole = old(kept).read_bytes()
        kept.ok("search", "lunch")
        retrievals._rotate(state, len(row))  # the other, which looked before the first was done
    assert old(kept).read_bytes() == whole
    assert log(kept).read_bytes().count(b"\n") == 1


def test_nobody_waits_for_who_puts_it_aside(kept: Box) -> None:
    kept.ok("search", "lunch")
    row = log(kept).read_bytes()
    count = retrievals.MOST_BYTES // len(row)
    log(kept).write_bytes(row * count)
    with lock.Lock(str(kept.root / ".memcli" / retrievals.LOCK)):
        kept.ok("search", "lunch")
    assert not old(kept).exists()
    assert log(kept).read_bytes().count(b"\n") == count + 1


WRITER = """
import sys
from memcli.base import clock
from memcli.store import folder, retrievals
store = folder.open_store(sys.argv[1])
made = "01a1d4e2-dd40-717e-9cd6-15298e419d56"
for n in range(int(sys.argv[3])):
    retrievals.note(store, "search", f"{sys.argv[2]} {n}", now=clock.now("2026-11-15T09:00:00Z"), served=[(made, 0.5)] * 10, verdict="weak")
"""


def write_together(box: Box, writers: int, each: int) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(box.root), str(w), str(each)], env=environment())
        for w in range(writers)
    ]
    assert [p.wait(timeout=120) for p in running] == [0] * writers


def test_many_writers_lose_no_line_and_tear_none(kept: Box) -> None:
    kept.ok("search", "lunch")  # the salt is there
    write_together(kept, 4, 100)
    assert len(lines(kept)) == 401
    assert len({row["query"] for row in lines(kept)}) == 401


def test_writers_that_rotate_together_lose_only_the_oldest(kept: Box) -> None:
    kept.ok("search", "lunch")
    row = log(kept).read_bytes()
    log(kept).write_bytes(row * ((retrievals.MOST_BYTES - 60_000) // len(row)))
    before = log(kept).read_bytes().count(b"\n")
    write_together(kept, 4, 60)
    assert old(kept).exists()
    assert sum(1 for _ in retrievals.read(kept.store)) == before + 240


# --- What it tells


def test_a_torn_line_costs_itself_alone(kept: Box) -> None:
    kept.ok("search", "lunch")
    whole = log(kept).read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 2):
        log(kept).write_bytes(whole + whole[:cut])
        kept.ok("search", "deploy")
        assert [row["served"] for row in retrievals.read(kept.store)] == [1, 1]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"null",
        b'{"at": "soon", "command": "search", "query": "", "served": 0, "ids": [], "best": 0, "verdict": ""}',
        b'{"at": "2026-11-15T09:00:00Z", "command": "search", "query": "", "served": "0", "ids": [], "best": 0, "verdict": ""}',
        b'{"at": "2026-11-15T09:00:00Z", "command": "search", "query": "", "served": 0, "ids": ["x"], "best": 0, "verdict": ""}',
        b'{"at": "2026-11-15T09:00:00Z", "command": "search", "query": "", "served": 0, "ids": [], "best": 0, "verdict": "so"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_line_is_passed_over(kept: Box, line: bytes) -> None:
    kept.ok("search", "lunch")
    log(kept).write_bytes(line + b"\n" + log(kept).read_bytes())
    assert kept.data("stats", "--retrieval")["queries"] == 1


def ask(box: Box, days: float, *, good: int = 0, weak: int = 0, none: int = 0) -> None:
    """So many questions of each verdict, so many days before now."""
    for verdict, count in (("strong", good), ("weak", weak), ("none", none)):
        for n in range(count):
            retrievals.note(
                box.store, "search", f"{verdict} {n} {days}", now=at(days=-days), served=[], verdict=verdict
            )


def test_misses_weeks_and_drift(kept: Box) -> None:
    ask(kept, 40, good=3, none=1)
    ask(kept, 9, good=1, weak=1)
    ask(kept, 1, good=1, none=3)
    kept.ok("context")
    found = kept.memory.retrieval_stats(now=at())
    assert found.queries == monitoring.Tally(queries=10, strong=5, weak=1, none=4)
    assert found.listings == 1
    assert [(w.start, w.queries, w.none) for w in found.weeks] == [
        ("2026-10-05", 4, 1),
        ("2026-11-02", 2, 0),
        ("2026-11-09", 4, 3),
    ]
    assert (found.drift.before, found.drift.now) == (0.25, pytest.approx(4 / 6))
    assert found.drift.change == pytest.approx(4 / 6 - 0.25)
    assert found.by_command == {"context": 1, "search": 10}
    data = kept.data("stats", "--retrieval")
    assert (data["queries"], data["none"], data["weeks"][0]["week"]) == (10, 4, "2026-10-05")
    assert data["drift"]["change"] == pytest.approx(4 / 6 - 0.25)
    lately = kept.data("stats", "--retrieval", "--since", "10d")
    assert (lately["queries"], len(lately["weeks"])) == (6, 2)
    assert lately["drift"] == data["drift"]
    assert kept.run("stats", "--since", "10d").code == 2


def test_without_questions_nothing_is_known(kept: Box) -> None:
    found = kept.memory.retrieval_stats(now=at())
    assert (found.since, found.queries.poor, found.drift.change) == (None, None, None)
    assert "unknown" in kept.ok("stats", "--retrieval").out


def test_a_question_asked_again_is_counted(kept: Box) -> None:
    for query in ("lunch", "Lunch", "deploy"):
        kept.ok("search", query)
    assert kept.memory.retrieval_stats(now=at()).repeated == 1


def test_accesses_are_counted_by_id(kept: Box) -> None:
    for _ in range(3):
        kept.ok("search", "deploy target")
    kept.ok("recall", "lunch")
    found = kept.memory.retrieval_stats(now=at())
    target, lunch = kept.fact("deploy target").id, kept.fact("lunch").id
    assert found.accesses == {target: 3, lunch: 1}
    assert [(s.key, s.count) for s in found.served] == [("deploy target", 3), ("lunch", 1)]


def test_facts_that_nobody_was_given(kept: Box) -> None:
    later = stamp(days=40)
    kept.ok("search", "lunch", now=stamp(days=5))
    kept.ok("search", "deploy", now=stamp(days=35))
    kept.set("fresh", "too young to judge", now=stamp(days=39))
    kept.set(CANARY, "withheld", "--sensitivity", "restricted")
    found = kept.memory.retrieval_stats(now=at(days=40))
    assert [s.key for s in found.never_served] == ["lunch"]
    assert kept.data("stats", "--retrieval", "--days", "36", now=later)["never_served"]["count"] == 0
    assert kept.run("stats", "--retrieval", "--days", "0").code == 2
    ran = kept.ok("stats", "--retrieval", now=later)
    assert CANARY not in ran.out
    assert "facts never served in 30 days: 1\nnever: " in ran.out


def test_what_is_withheld_is_counted_by_id_and_never_named(box: Box) -> None:
    box.set(CANARY, f"{CANARY} deploy", "--sensitivity", "restricted")
    box.ok("search", "deploy", "--clearance", "restricted")
    assert list(box.memory.retrieval_stats(now=at()).accesses) == [box.fact(CANARY).id]
    for form in ((), ("--json",)):
        out = box.ok("stats", "--retrieval", *form).out
        assert CANARY not in out
        assert box.fact(CANARY).id not in out


# --- Forgetting


def test_what_is_purged_leaves_the_log(kept: Box) -> None:
    put(kept, query_text=True)
    made = kept.add("the deploy target moved")
    kept.ok("search", "where is the deploy target Fly.io")
    old(kept).write_bytes(log(kept).read_bytes())
    fact = kept.fact("deploy target").id
    assert fact.encode() in log(kept).read_bytes()
    assert made.encode() in log(kept).read_bytes()
    kept.ok("forget", "deploy target", "--purge", "--yes")
    for path in (log(kept), old(kept)):
        assert fact.encode() not in path.read_bytes()
        assert made.encode() in path.read_bytes()
        assert b"Fly.io" not in path.read_bytes()
    kept.ok("forget", made, "--purge", "--yes")
    assert [(row["ids"], row["served"]) for row in retrievals.read(kept.store)] == [([], 2), ([], 2)]


def test_a_proof_of_forgetting_looks_into_the_log(kept: Box) -> None:
    put(kept, query_text=True)
    kept.ok("search", "is Fly.io in Frankfurt the target?")
    kept.set("deploy target", "Fly.io in Frankfurt")
    assert b"Fly.io in Frankfurt" in log(kept).read_bytes()
    found = kept.memory.forget("deploy target", purge=True, prove=True, now=at())
    assert found.proof is not None
    assert found.proof.clean
    assert found.proof.looked["state"] >= 2


# --- What it costs


def test_writing_it_syncs_nothing(kept: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.ok("search", "lunch")
    called: list[int] = []
    monkeypatch.setattr(files, "fsync", called.append)
    retrievals.note(kept.store, "search", "lunch", now=clock.now(NOW), served=[], verdict="none")
    assert called == []
    assert len(lines(kept)) == 2
