"""Many processes at one index: readers, writers, builders, and processes that are killed."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from support import Box, at, environment

from memcli.index import database, refresh

from . import common

NOW = at()
HEAD = (
    "import sys, os, random\n"
    "from datetime import datetime, timezone\n"
    "from memcli.base import files\n"
    "from memcli.engine.memory import open_memory\n"
    "files.fsync = lambda fd: None\n"
    "m = open_memory(sys.argv[1]); now = datetime(2026, 11, 15, 9, tzinfo=timezone.utc)\n"
)
READER = HEAD + (
    "seen = 0\n"
    "while not os.path.exists(sys.argv[2]):\n"
    "    found = m.search('lantern', limit=1000, now=now)\n"
    "    assert len(found) >= seen, (len(found), seen)\n"
    "    seen = len(found)\n"
    "    assert all('lantern' in h.record.text for h in found)\n"
    "    m.block('meadow', now=now)\n"
    "print(seen)\n"
)
WRITER = HEAD + (
    "for n in range(int(sys.argv[3])):\n"
    "    m.set_fact(f'{sys.argv[2]} {n}', f'lantern {n}', now=now)\n"
    "    if n % 5 == 0: m.set_fact(f'{sys.argv[2]} {n}', f'lantern again {n}', now=now)\n"
    "    if n % 7 == 0: m.add_episode(f'meadow {n}', session='s', now=now)\n"
)
LOOKER = HEAD + "print(len(m.search('lantern', limit=1000, now=now)))\n"
# Looks as often as it can until it is killed, with a new index now and then.
RESTLESS = HEAD + (
    "from memcli.index import refresh\n"
    "print('on', flush=True)\n"
    "r = random.Random(int(sys.argv[2])); n = 0\n"
    "while True:\n"
    "    n += 1\n"
    "    path = os.path.join(sys.argv[1], 'facts', f'hand {r.randrange(20)}.md')\n"
    "    open(path, 'w').write(f'---\\nsensitivity: {r.choice([\"internal\", \"restricted\"])}\\n---\\n\\nharbour {n}\\n')\n"
    "    refresh.rebuild(m.store) if r.random() < .3 else refresh.ask(m.store, lambda con: None)\n"
)


def start(script: str, box: Box, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, str(box.root), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True,
    )  # fmt: skip


def ended(process: "subprocess.Popen[str]") -> str:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert err == ""
    return out


def crowd(box: Box, readers: int, writers: int, each: int) -> None:
    """Readers that search while writers write; what each of them sees only grows."""
    over = box.root.parent / "over"
    looking = [start(READER, box, str(over)) for _ in range(readers)]
    writing = [start(WRITER, box, f"w{n}", str(each)) for n in range(writers)]
    for process in writing:
        ended(process)
    over.touch()
    for process in looking:
        ended(process)
    holding = "SELECT count(*) FROM words WHERE words MATCH 'lantern'"  # a search ranks no more than the best
    assert refresh.ask(box.store, lambda con: con.execute(holding).fetchone()[0]) == writers * each
    common.same(box, NOW)
    assert len(common.index_files(box)) == 1, "no log is left, and one database"


def test_readers_and_writers_at_once(box: Box) -> None:
    refresh.ask(box.store, lambda con: None)
    crowd(box, readers=3, writers=2, each=20)


@pytest.mark.full
def test_four_readers_while_two_writers_write_200_facts(box: Box) -> None:
    crowd(box, readers=4, writers=2, each=100)


def test_many_who_build_at_once_make_one(box: Box) -> None:
    for n in range(30):
        box.set(f"key {n}", "lantern")
    for p in (box.root / ".memcli").glob("index.*"):
        p.unlink()
    together = [start(LOOKER, box) for _ in range(4)]
    assert [ended(p) for p in together] == ["30\n"] * 4
    common.database(box)
    common.same(box, NOW)


def kills(box: Box, seed: int, times: int) -> None:
    r = random.Random(seed)
    for n in range(times):
        process = start(RESTLESS, box, str(seed * 1000 + n))
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        time.sleep(r.random() * 0.12)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        common.same(box, NOW)
        assert len(box.memory.search("lantern", limit=1000, now=NOW)) == 20
    assert len([p for p in common.index_files(box) if p.name.endswith(".sqlite")]) == 1


@pytest.fixture
def lanterns(box: Box) -> Box:
    for n in range(20):
        box.set(f"key {n}", "lantern")
    return box


def test_after_a_kill_the_next_reader_goes_on(lanterns: Box) -> None:
    kills(lanterns, 1, 8)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 6))
def test_after_many_kills_the_next_reader_goes_on(lanterns: Box, seed: int) -> None:
    kills(lanterns, seed, 100)


def test_a_builder_that_was_killed_leaves_nothing_for_good(lanterns: Box) -> None:
    state = lanterns.root / ".memcli"
    for name in ("index.new", "index.new-journal", "index.new-wal"):
        (state / name).write_bytes(b"lantern")
    for p in common.index_files(lanterns):
        p.unlink()
    refresh.ask(lanterns.store, lambda con: None)
    assert [p.name for p in state.iterdir() if p.name.startswith("index.new")] == []


def test_a_question_sees_one_instant(lanterns: Box) -> None:
    """Another reader takes a changed record in while this one has an answer half done."""
    store = lanterns.store

    def asked(con: object) -> tuple[int, int]:
        counts = "SELECT count(*), sum(rid) FROM record"
        first = con.execute(counts).fetchone()  # type: ignore[attr-defined]
        lanterns.md("key 3").unlink()
        refresh.ask(lanterns.store, lambda con: None)
        assert con.execute(counts).fetchone() == first  # type: ignore[attr-defined]
        return first  # type: ignore[no-any-return]

    assert refresh.ask(store, asked)[0] == 20
    common.same(lanterns, NOW)


def test_a_reader_whom_others_outrun_waits_for_its_turn(lanterns: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its look at the files and its turn to write, somebody else is faster each time."""
    refresh.ask(lanterns.store, lambda con: None)
    plain, nested = refresh.logs.changed, []

    def outrun(con: object, store: object) -> object:
        found = plain(con, store)  # type: ignore[arg-type]
        if not nested and not con.in_transaction:  # type: ignore[attr-defined]
            nested.append(1)
            lanterns.md("key 0").write_text(f"---\nsensitivity: internal\n---\n\nharbour {time.time_ns()}\n")
            refresh.ask(lanterns.store, lambda con: None)
            nested.clear()
        return found

    monkeypatch.setattr(refresh.logs, "changed", outrun)
    lanterns.md("key 1").write_text("---\nsensitivity: internal\n---\n\nharbour\n")
    refresh.ask(lanterns.store, lambda con: None)
    monkeypatch.undo()
    common.same(lanterns, NOW)
    assert os.path.exists(lanterns.root / ".memcli" / database.LOCK)
