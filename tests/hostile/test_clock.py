"""Any clock, any time in a file: nothing raises, and a wrong clock takes nothing away."""

import ast
import os
from pathlib import Path

import pytest
from figures import Record
from support import Box, stamp

import memcli
from memcli.cli import table

from .common import clean, refused

PACKAGE = Path(memcli.__file__).parent

CLOCKS = [
    "0001-01-01T00:00:00Z", "0001-01-01", "0999-12-31T23:59:59Z", "1582-10-15T00:00:00Z", "1899-12-31T23:59:59Z", "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2000-02-29T12:00:00Z", "2026-01-31T23:59:59Z", "2026-02-28T23:59:59Z",
    "2026-03-31T23:59:59Z", "2026-04-30T23:59:59Z", "2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z", "2028-02-29T00:00:00Z",
    "2038-01-19T03:14:08Z", "2099-12-31T23:59:59Z", "2106-02-07T06:28:16Z", "9999-12-31T23:59:59Z", "2026-11-15T09:00:00+14:00",
    "2026-11-15T09:00:00-12:00",
]  # fmt: skip
CALLS = [
    ("fact", "set", "k", "v", "--ttl", "52w"),
    ("fact", "set", "k", "w", "--ttl", "52596000"),
    ("fact", "set", "k", "w", "--ttl", "1"),
    ("episode", "add", "text", "--task", "t"),
    ("episode", "add", "text", "--at", "0001-01-01", "--ttl", "0"),
    ("episode", "add", "text", "--at", "9999-12-31T23:59:59Z", "--ttl", "0"),
    ("work", "set", "a", "b", "--session", "s"),
    ("procedure", "propose", "p", "text", "--step", "a: b"),
    ("fact", "confirm", "k", "--run", "r1"),
    ("fact", "get", "k", "--json"),
    ("fact", "list", "--json"),
    ("fact", "history", "k", "--json"),
    ("episode", "list", "--json", "--since", "5200w"),
    ("episode", "list", "--until", "0m"),
    ("context", "text", "--format", "json"),
    ("status",),
    ("stats",),
    ("source", "list"),
    ("doctor",),
    ("check",),
    ("verify",),
    ("sweep", "--dry-run"),
    ("sweep",),
    ("sweep", "--yes"),
    ("doctor", "--fix"),
    ("forget", "k", "--yes"),
    ("restore", "k"),
    ("export", "jsonl", "-"),
    ("recall", "text"),
    ("recall", "text yesterday", "--time-sensitive", "--session", "s"),
    ("recall", "text", "--goal", "verify_claim", "--json"),
    ("retrieve", "text", "--session", "s", "--json"),
    ("retrieve", "text", "--last-hours", "24"),
    ("search", "text", "--since", "7d"),
    ("search", "text last week", "--explain"),
    ("stats", "--retrieval"),
    ("stats", "--retrieval", "--days", "10000", "--json"),
    ("work", "add", "We always deploy on Friday.", "--session", "s", "--role", "user"),
    ("work", "get", "a", "--session", "s"),
    ("work", "list", "--session", "s"),
    ("consolidate", "--session", "s", "--dry-run"),
    ("consolidate", "--session", "s"),
    ("consolidate", "--all"),
    ("remember", "The office has a red door.", "--session", "s"),
    ("review", "list", "--json"),
    ("review", "diff", "HEAD"),
    ("review", "show", "door"),
    ("review", "reject", "nothing"),
    ("review", "accept", "door"),
    ("procedure", "approve", "p"),
    ("procedure", "record", "p", "--success"),
    ("procedure", "best", "text"),
    ("procedure", "list"),
    ("procedure", "show", "p"),
    ("fact", "deny", "k", "--run", "r2"),
    ("fact", "set", "k2", "v2", "--derived-from", "k"),
    ("fact", "relate", "k2", "related_to", "k"),
    ("fact", "related", "k2"),
    ("fact", "chain", "k2"),
    ("graph",),
    ("fact", "rename", "k2", "k3"),
    ("fact", "adopt", "--all"),
    ("source", "show", "user"),
    ("scrub",),
    ("reindex",),
    ("config",),
    ("where",),
    ("init",),
    ("fact", "unrelate", "k2", "related_to", "k"),
    ("fact", "forget", "k2", "--yes"),
    ("fact", "restore", "k2"),
    ("episode", "show", "nothing"),
    ("procedure", "reject", "p"),
    ("source", "set", "blog", "--kind", "url"),
    ("source", "block", "blog"),
    ("source", "allow", "blog"),
    ("import", "jsonl", "-"),
    ("audit",),
    ("work", "clear", "--session", "s", "--yes"),
]


def test_the_calls_are_those_of_every_command() -> None:
    # `fact edit` opens an editor, `review walk` asks a person; the others are git's and take no time.
    called = {" ".join(words[:2]) if " ".join(words[:2]) in table.COMMANDS else words[0] for words in CALLS}
    assert set(table.COMMANDS) - called == {
        "fact edit",
        "review walk",
        "git setup",
        "merge-driver",
        "sync",
    }


@pytest.mark.also_full
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_command_works_at_any_time(clock: str, box: Box, figure: Record) -> None:
    box.set("before", "v", "--ttl", "1d")
    box.add("before")
    for words in CALLS:
        ran = clean(box.run(*words, now=clock))
        ahead = words[:2] == ("episode", "add") and words[-3] == "9999-12-31T23:59:59Z" != clock
        assert ran.code in ((2,) if ahead else (0, 3, 4, 6)), (words, ran)
    assert box.run("status").code == 0
    figure("times and TTLs: wrong or raising", len(CALLS))


@pytest.mark.parametrize(
    "clock",
    ["", " ", "now", "2026", "2026-11", "2026-11-15T09:00", "2026-11-15T09:00:00", "2026-02-30", "2026-11-15T24:00:00Z", "2026-11-15T09:00:60Z",
     "0000-01-01", "10000-01-01", "-2026-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1763197200", "٢٠٢٦-11-15", "2026-11-15Z",
     "2026-11-15T09:00:00 Z", "2026-11-15\n", "20261115T090000Z", "2026-W46-7", "nan", "inf"],
    ids=repr,
)  # fmt: skip
def test_what_is_no_time_is_refused_and_nothing_is_written(clock: str, box: Box) -> None:
    if not clock:
        pytest.skip("an empty MEMCLI_NOW and --now mean none")
    before = box.tree(state=True)
    for words in (("--now=" + clock, "fact", "set", "k", "v"), ("episode", "add", "x", "--at=" + clock)):
        refused(box.run(*words), 2)
    assert box.tree(state=True) == before


@pytest.mark.also_full
@pytest.mark.parametrize(
    "clock",
    [
        "1970-01-01T00:00:00Z",
        "2099-01-01T00:00:00Z",
        "2026-11-13T09:00:00Z",
        "2026-12-15T09:00:00Z",
        "2038-01-19T03:14:08Z",
        "0001-01-01T00:00:00Z",
    ],
)
def test_a_sweep_under_a_wrong_clock_stops(clock: str, box: Box, figure: Record) -> None:
    lines = "".join(
        f'{{"kind":"fact","key":"k{i}","text":"v","sensitivity":"internal","updated_at":"{box.now}","ttl_minutes":{1000 + i}}}\n'
        for i in range(20)
    )
    box.ok("import", "jsonl", "-", "--trusted", stdin=lines.encode())
    before = box.tree()
    ran = refused(box.run("sweep", now=clock), 6)
    assert "memcli sweep --yes" in ran.err
    assert box.tree() == before
    box.ok("sweep", "--yes", now=clock)
    for i in range(20):
        box.ok("restore", f"k{i}") if clock > box.now else None
        assert box.get(f"k{i}") == "v"
    figure("wrong clock: facts not recoverable", 20)


@pytest.mark.figure("times and TTLs: wrong or raising")
@pytest.mark.parametrize(
    ("ttl", "later", "there"), [("60", 59 * 60 + 59, True), ("60", 60 * 60, False), ("60", 60 * 60 + 1, False)]
)
def test_a_ttl_ends_to_the_second(ttl: str, later: int, there: bool, box: Box) -> None:
    box.set("k", "v", "--ttl", ttl)
    assert (box.run("fact", "get", "k", now=stamp(seconds=later)).code == 0) is there
    assert ("v" in box.ok("fact", "list", now=stamp(seconds=later)).out) is there


def test_ids_grow_though_the_clock_goes_back(box: Box) -> None:
    ids = [box.set("k", f"v{i}", now=stamp(days=-i))["id"] for i in range(5)]
    assert ids == sorted(ids)
    entries = [box.add(f"e{i}", "--at", stamp(seconds=-i)) for i in range(5)]
    assert entries == sorted(entries)
    assert [row["text"] for row in box.data("fact", "history", "k")] == ["v4", "v3", "v2", "v1", "v0"]


def test_an_id_at_the_end_of_time_is_still_followed_by_greater_ones(box: Box) -> None:
    """Someone's file says the greatest time there is; a wrap-around would make every later value look older."""
    last = "ffffffff-ffff-7fff-bfff-fffffffffff0"
    line = f'{{"kind":"fact","key":"k","id":"{last}","text":"v","sensitivity":"internal"}}'
    box.ok("import", "jsonl", "-", "--trusted", stdin=line.encode())
    made = [box.set("k", f"v{i}")["id"] for i in range(3)]
    assert [last, *made] == sorted({last, *made})
    assert [row["text"] for row in box.data("fact", "history", "k")] == ["v2", "v1", "v0", "v"]


def test_only_the_clock_adds_to_instants() -> None:
    """What is added elsewhere can leave the years 1 to 9999, and raises."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path == PACKAGE / "base" / "clock.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            sides = (
                (node.left, node.right)
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
                else ()
            )
            for side in sides:
                spans = isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id == "timedelta"
                assert not spans, f"{path}:{node.lineno}: clock.shifted or clock.add_minutes"


@pytest.mark.parametrize("clock", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_session_of_any_time_does_not_keep_the_others_from_consolidation(clock: str, box: Box) -> None:
    box.ok("work", "set", "a", "The port of the staging host is 8080.", "--session", "s", now=clock)
    box.ok("work", "set", "b", "The port of the test host is 9090.", "--session", "t")
    done = clean(box.run("consolidate", "--all", "--json"))
    assert done.code == 0
    assert {row["session"] for row in done.data} >= {"t"}
    assert any(e["text"].startswith("- b:") for row in done.data for e in row["episodes"])


def test_a_file_of_any_age_can_be_read(box: Box) -> None:
    path = box.root / "facts" / "old.md"
    path.write_bytes(b"---\nkey: old\nsensitivity: internal\n---\n\nv\n")
    for seconds in (2**33, -(2**33), 2**35, 2**40):
        try:
            os.utime(path, (seconds, seconds))
        except (OverflowError, OSError):
            continue
        for words in (("fact", "get", "old"), ("fact", "list"), ("doctor",), ("reindex",), ("context", "old")):
            clean(box.run(*words))
