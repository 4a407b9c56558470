"""Many processes at once: nothing is lost, readers see whole values, no lock goes stale, one bad lock path is one error."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from figures import Record
from support import Box, command, environment

from memcli.base import errors, lock
from memcli.model import labels
from memcli.store import archive, episodes, facts

FULL = pytest.mark.full
SIZES = [pytest.param(8, 15), pytest.param(16, 50, marks=FULL)]
QUICK_DISK = "from memcli.base import files; files.fsync = lambda fd: None\n"


def script(source: str, *words: object) -> "subprocess.Popen[str]":
    """A Python process with memcli; `words` are its sys.argv."""
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, words)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env=environment(),
    )


# Writers.


@pytest.mark.parametrize(("writers", "each"), SIZES)
def test_writers_through_the_command_line_lose_nothing(box: Box, writers: int, each: int, figure: Record) -> None:
    def write(writer: int) -> list[int]:
        codes = []
        for n in range(each):
            key = "shared" if n % 5 == 0 else f"writer {writer} fact {n}"
            words = box.words("fact", "set", key, f"{writer}/{n}")
            codes.append(
                subprocess.run(
                    command(words), env=environment(), capture_output=True, timeout=120, check=False
                ).returncode
            )
        return codes

    with ThreadPoolExecutor(writers) as pool:
        codes = [code for found in pool.map(write, range(writers)) for code in found]
    assert codes == [0] * (writers * each)
    held = {f.key: f.text for f in facts.every(box.store)}
    own = {(w, n) for w in range(writers) for n in range(each) if n % 5}
    assert held.pop("shared")
    assert held == {f"writer {w} fact {n}": f"{w}/{n}" for w, n in own}
    history = box.data("fact", "history", "shared")
    assert sorted(r["text"] for r in history) == sorted(f"{w}/{n}" for w in range(writers) for n in range(0, each, 5))
    made = [r["id"] for r in history]
    assert made == sorted(made, reverse=True)
    assert [r.get("supersedes") for r in history] == [*made[1:], None]
    assert box.data("doctor") == []
    figure("command-line writers: facts lost", len(held) + len(history))


APPEND = (
    QUICK_DISK
    + """
import sys
import memcli
from memcli.base import clock
m = memcli.open(sys.argv[1])
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    text = f"{sys.argv[2]}/{n}\\n## 2026-11-15T09:00:00Z {{\\n" + "x" * (n * 400 % 50_000)
    m.add_episode(text, now=clock.parse("2026-11-15T09:00:00Z"))
"""
)


@pytest.mark.parametrize("each", [25, pytest.param(200, marks=FULL)])
def test_sixteen_processes_append_episodes_and_lose_and_join_none(box: Box, each: int, figure: Record) -> None:
    running = [script(APPEND, box.root, n, each) for n in range(16)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [p.wait(120) for p in running] == [0] * 16
    found = episodes.read(box.store, "2026-11")
    assert found.problems == ()
    assert sorted(e.text.partition("\n")[0] for e in found.entries) == sorted(
        f"{w}/{n}" for w in range(16) for n in range(each)
    )
    assert all(e.state == "ok" and e.text.count("\n") == 2 for e in found.entries)
    made = [e.id for e in found.entries]
    assert made == sorted(made)
    assert len(set(made)) == 16 * each
    figure("log appends: lost or joined", len(made))


CONFIRM = (
    QUICK_DISK
    + """
import sys
import memcli
from memcli.base import clock
from memcli.engine import opinions
m = memcli.open(sys.argv[1])
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    run = f"run {sys.argv[2]}/{n}"
    said = opinions.confirm(m.store, "k", now=clock.parse("2026-11-15T09:00:00Z"), source="user:sam", run=run)
    assert said.counted
"""
)


@pytest.mark.parametrize("each", [8, pytest.param(100, marks=FULL)])
def test_confirmations_of_one_fact_by_distinct_runs_are_all_kept(box: Box, each: int, figure: Record) -> None:
    box.set("k", "v")
    running = [script(CONFIRM, box.root, n, each) for n in range(8)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [p.wait(120) for p in running] == [0] * 8
    kept = [o.run for o in box.fact("k").confirmations]
    assert len(kept) == 8 * each
    assert set(kept) == {f"run {w}/{n}" for w in range(8) for n in range(each)}
    figure("confirmations by distinct runs: lost", len(kept))


# Readers.

WRITE_ON = (
    QUICK_DISK
    + """
import itertools, sys
import memcli
from memcli.base import clock
m = memcli.open(sys.argv[1])
now = clock.parse("2026-11-15T09:00:00Z")
print("on", flush=True)
for n in itertools.count():
    label = "restricted" if n % 2 else "public"
    word = "secret" if n % 2 else "open"
    m.set_fact("k", f"{word} {n}", now=now, sensitivity=label, tags=(f"t{n}",), domain=f"d{n}")
"""
)


@pytest.mark.parametrize("least", [500, pytest.param(20_000, marks=FULL)])
def test_readers_against_a_writer_that_never_stops_see_no_torn_value_and_no_open_secret(
    box: Box, least: int, figure: Record
) -> None:
    writer = script(WRITE_ON, box.root)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "on\n"
        seen, texts = 0, set()
        while seen < least or len(texts) < 50:
            fact = facts.get(box.store, "k")
            if fact is None:
                assert not texts
                continue
            seen += 1
            word, number = fact.text.split()
            assert (fact.state, fact.key) == ("ok", "k")
            assert (fact.tags, fact.domain) == ((f"t{number}",), f"d{number}")
            assert fact.sensitivity == (labels.RESTRICTED if word == "secret" else labels.PUBLIC)
            texts.add(fact.text)
            if seen % 25 == 0:
                ran = box.run("fact", "get", "k")
                assert ran.code in (0, 6)
                assert "secret" not in ran.out + ran.err
                assert "secret" not in box.ok("context").out + box.ok("fact", "list").out
        figure("lock-free reads: torn", seen)
    finally:
        writer.kill()
        writer.wait()


# The lock.


@pytest.mark.figure("locks: stale, or an odd lock path followed")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lock.Lock, lock.PatientLock),
        (lock.PatientLock, lock.Lock),
        (lock.Lock, lock.Lock),
        (lock.PatientLock, lock.PatientLock),
    ],
)
def test_both_kinds_of_lock_exclude_each_other(tmp_path: Path, first: type[lock.Lock], second: type[lock.Lock]) -> None:
    path = str(tmp_path / "lock")
    with first(path):
        began = time.monotonic()
        with pytest.raises(errors.Locked) as caught:
            second(path, wait_seconds=0.2).__enter__()
        assert 0.2 <= time.monotonic() - began < 2
        assert caught.value.exit_code == 5
    with second(path, wait_seconds=0.2):
        pass
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


HOLD = """
import sys, time
from memcli.base import lock
with getattr(lock, sys.argv[2])(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.mark.figure("locks: stale, or an odd lock path followed")
@pytest.mark.parametrize("kind", ["Lock", "PatientLock"])
@pytest.mark.parametrize("writer", [("fact", "set", "k", "w"), ("sweep",)], ids=["set", "sweep"])
def test_when_a_holder_is_killed_the_next_writer_goes_on_at_once(box: Box, kind: str, writer: tuple[str, ...]) -> None:
    holder = script(HOLD, box.root / ".memcli" / "lock", kind)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(errors.Locked):
        lock.Lock(str(box.root / ".memcli" / "lock"), wait_seconds=0.05).__enter__()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    began = time.monotonic()
    box.ok(*writer)
    assert time.monotonic() - began < 1


def test_a_locked_store_is_read_and_a_writer_says_so_after_its_wait(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set("k", "v")
    monkeypatch.setattr(
        lock.Lock.__init__, "__kwdefaults__", {**lock.Lock.__init__.__kwdefaults__, "wait_seconds": 0.2}
    )
    with box.store.writing():
        assert box.get("k") == "v"
        box.ok("context")
        before = box.tree()
        ran = box.run("fact", "set", "k", "w", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (5, "", "locked")
    assert box.tree() == before


def test_a_waiter_whose_lock_file_is_removed_takes_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for kind in (lock.Lock, lock.PatientLock):
        got: list[bool] = []

        def wait(kind: type[lock.Lock] = kind, got: list[bool] = got) -> None:
            with kind(str(path)):
                # Whoever takes the lock now must be kept out: this one has to be on the file that the path names.
                with pytest.raises(errors.Locked):
                    lock.Lock(str(path), wait_seconds=0.1).__enter__()
                got.append(True)

        with lock.Lock(str(path)):
            waiter = threading.Thread(target=wait)
            waiter.start()
            time.sleep(0.2)
            path.unlink()
            path.touch()
        waiter.join(10)
        assert got == [True]


def test_a_lock_file_that_is_removed_between_opening_and_locking_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plain, calls = tmp_path / "lock", fcntl.flock, []

    def slow(descriptor: int, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:  # `git clean` and another writer were quicker
            path.unlink()
            path.touch()
        plain(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with lock.Lock(str(path)):
        assert len(calls) == 2
        with pytest.raises(errors.Locked):
            lock.Lock(str(path), wait_seconds=0.1).__enter__()


@pytest.mark.figure("locks: stale, or an odd lock path followed")
@pytest.mark.parametrize("kind", ["symlink", "dangling", "folder", "fifo", "state is a link", "state is a file"])
@pytest.mark.parametrize("words", [("fact", "set", "k", "w"), ("sweep", "--yes")], ids=["set", "sweep"])
def test_a_lock_path_that_is_no_plain_file_is_one_clean_error(box: Box, kind: str, words: tuple[str, ...]) -> None:
    box.set("k", "v", "--ttl", "1h")
    path, outside = box.root / ".memcli" / "lock", box.root.parent / "outside"
    path.unlink()
    outside.mkdir()
    (outside / "target").write_text("kept")
    if kind == "symlink":
        path.symlink_to(outside / "target")
    elif kind == "dangling":
        path.symlink_to(outside / "new")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        for child in (box.root / ".memcli").iterdir():
            child.unlink()
        (box.root / ".memcli").rmdir()
        (box.root / ".memcli").symlink_to(outside) if "link" in kind else (box.root / ".memcli").write_text("")
    before = box.tree()
    began = time.monotonic()
    ran = box.run(*words, now="2026-11-16T00:00:00Z")
    assert time.monotonic() - began < 5
    assert (ran.code in (4, 7), ran.out, ran.err.count("\n")) == (True, "", 1), ran
    assert ran.err.startswith("memcli: ")
    assert box.tree() == before
    assert [p.name for p in outside.iterdir()] == ["target"]
    assert (outside / "target").read_text() == "kept"
    assert box.get("k") == "v"


# Stopped in the middle.


@pytest.mark.parametrize("trusted", [("--trusted",), ()], ids=["trusted", "proposed"])
def test_an_import_that_is_killed_and_run_again_completes(box: Box, trusted: tuple[str, ...]) -> None:
    rows = [{"kind": "fact", "key": f"key {n}", "text": f"value {n}", "sensitivity": "internal"} for n in range(2500)]
    rows += [
        {"kind": "episode", "at": "2026-11-01T00:00:00Z", "text": f"episode {n}", "sensitivity": "internal"}
        for n in range(500)
    ]
    path = box.root.parent / "rows.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    words = command(box.words("import", "jsonl", str(path), *trusted))
    for delay in (0.6, 1.0):
        process = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        process.wait()
    # What stands after a kill is whole values only.
    assert {f.state for f in box.kept().values()} <= {"ok"}
    box.ok("import", "jsonl", str(path), *trusted)
    held = {key: f.text for key, f in box.kept().items()}
    assert len(list(facts.every(box.store))) == (2500 if trusted else 0)
    assert held == {f"key {n}": f"value {n}" for n in range(2500)}
    assert sorted(e.text for e in episodes.newest(box.store)) == sorted(f"episode {n}" for n in range(500))
    assert archive.names(box.store, "facts") == []
    again = box.data("import", "jsonl", str(path), *trusted)
    assert (again["created"], again["proposed"], again["unchanged"], again["conflicts"]) == (0, 0, 3000, [])
    assert [f for f in box.data("doctor") if f["code"] != "torn"] == []
