"""Whoever shows many records says how many have a file that cannot be read, as `fact get`, `status` and `doctor` do."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support import Box, at

MONTH = "episodes/2026-11.md"
FACT, PROCEDURE, PROPOSAL = "facts/bad.md", "procedures/bad.md", "proposed/facts/bad.md"


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/null")


def latin(path: Path) -> None:
    path.write_bytes(b"---\nkey: zaffr\xe9\n---\n\nzaffr\xe9\n")


def forbidden(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.touch()
    path.chmod(0)


HARM = [folder, link, latin, forbidden]
# Command -> the kinds that it counts.
READERS = {
    ("fact", "list"): {FACT},
    ("fact", "list", "--clearance", "restricted"): {FACT},
    ("fact", "list", "--tag", "none"): {FACT},
    ("fact", "related", "good"): {FACT},
    ("fact", "chain", "good"): {FACT},
    ("graph",): {FACT},
    ("episode", "list"): {MONTH},
    ("episode", "list", "-n", "1"): {MONTH},
    ("procedure", "list"): {PROCEDURE},
    ("procedure", "best", "release"): {PROCEDURE},
    ("context", "what is good?"): {FACT, MONTH, PROCEDURE},
    ("search", "good"): {FACT, MONTH, PROCEDURE},
    ("recall", "what is good?"): {FACT, MONTH, PROCEDURE},
    ("retrieve", "good"): {FACT, MONTH, PROCEDURE},
    ("export", "jsonl", "-"): {FACT, MONTH, PROCEDURE, PROPOSAL},
    ("review", "list"): {FACT, PROCEDURE, PROPOSAL},
    ("review", "accept", "--all", "--dry-run"): {PROPOSAL},
}


@pytest.fixture
def full(box: Box) -> Box:
    box.set("good", "a good value")
    box.ok("procedure", "propose", "release", "--step", "Ship: make ship", "--task-type", "release")
    box.ok("search", "good")  # the index is there, and must notice what comes
    return box


def test_where_all_can_be_read_nobody_says_otherwise(full: Box) -> None:
    for words in READERS:
        assert "cannot be read" not in full.ok(*words).err


@pytest.mark.parametrize("harm", HARM, ids=lambda h: h.__name__)
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_readers_count_what_cannot_be_read(full: Box, words: tuple[str, ...], harm: Callable[[Path], None]) -> None:
    note = ": memcli doctor"
    for count, path in enumerate((FACT, PROCEDURE), 1):
        harm(full.root / path)
        counted = len({FACT, PROCEDURE} & READERS[words]) if count == 2 else int(FACT in READERS[words])
        ran = full.ok(*words)
        assert (f"{counted} cannot be read{note}" in ran.err) == bool(counted), ran
        assert ("cannot be read" in ran.err) == bool(counted)
        assert "zaffr" not in ran.out + ran.err
    assert full.data("doctor")
    for path in (FACT, PROCEDURE):
        bad = full.root / path
        bad.rmdir() if bad.is_dir() else bad.unlink()
    assert "cannot be read" not in full.ok(*words).err


@pytest.mark.parametrize("harm", [folder, link, forbidden], ids=lambda h: h.__name__)
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_month_that_cannot_be_read_is_counted(
    full: Box, words: tuple[str, ...], harm: Callable[[Path], None]
) -> None:
    full.add("good work", "--at", "2026-11-01T00:00:00Z")
    harm(full.root / MONTH)
    assert ("1 cannot be read" in full.ok(*words).err) == (MONTH in READERS[words])


def test_the_number_stands_in_json_beside_what_is_withheld(full: Box, tmp_path: Path) -> None:
    latin(full.root / FACT)
    folder(full.root / "facts" / "worse.md")
    receipt = tmp_path / "receipt.json"
    account = full.data("context", "good", "--receipt", str(receipt))["account"]
    assert (account["withheld"], account["unread"]) == (0, 2)
    assert json.loads(receipt.read_text())["unread"] == 2
    for words in (("recall", "good"), ("retrieve", "good"), ("graph",), ("export", "jsonl", str(tmp_path / "out"))):
        assert full.data(*words)["unread"] == 2
    ran = full.ok("fact", "list", "--json")
    assert [row["key"] for row in ran.data] == ["good"]
    assert "2 cannot be read" in ran.err


def test_a_sidecar_alone_is_no_record_that_cannot_be_read(full: Box) -> None:
    full.set("gone", "v")
    full.md("gone").unlink()
    for words in READERS:
        assert "cannot be read" not in full.ok(*words).err


def test_the_index_asks_only_for_what_cannot_be_read(full: Box) -> None:
    (path,) = (full.root / ".memcli").glob("index.*.sqlite")
    plan = "EXPLAIN QUERY PLAN SELECT count(*) FROM pair INDEXED BY pair_unread WHERE layer = 0 AND rid IS NULL"
    with sqlite3.connect(path) as con:
        assert "pair_unread" in con.execute(plan).fetchone()[3]
    con.close()


def test_a_month_without_entries_is_no_month_that_cannot_be_read(full: Box) -> None:
    full.log("2026-10").parent.mkdir(exist_ok=True)
    full.log("2026-10").write_text("# Episodes 2026-10 (memcli format 1)\n")
    full.log("2026-09").write_text("")
    for words in READERS:
        assert "cannot be read" not in full.ok(*words).err


def test_a_backup_says_that_a_proposal_is_missing(full: Box) -> None:
    (full.root / "proposed" / "facts").mkdir(parents=True, exist_ok=True)
    latin(full.root / "proposed" / "facts" / "bad.md")
    assert "1 cannot be read" in full.ok("export", "jsonl", "-").err


@pytest.mark.parametrize("kind", [FACT, MONTH, PROCEDURE, PROPOSAL])
@pytest.mark.parametrize("harm", HARM)
def test_status_counts_what_cannot_be_read(full: Box, kind: str, harm: Callable[[Path], None]) -> None:
    if (kind, harm) == (MONTH, latin):
        pytest.skip("a month is read entry by entry")
    before = full.data("status")["damaged"]
    (full.root / kind).parent.mkdir(parents=True, exist_ok=True)
    harm(full.root / kind)
    assert full.data("status")["damaged"] == before + 1


def long(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n" * (1 << 20))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\xff")


def aside(path: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to("aside")


@pytest.mark.parametrize("harm", [long, cut, aside])
@pytest.mark.parametrize("how", [("--prove",), ("--dry-run",), ()])
def test_nothing_is_purged_beside_a_file_of_its_key_that_cannot_be_read(
    box: Box, harm: Callable[[Path], None], how: tuple[str, ...]
) -> None:
    """Its value would stay, and no search could know it."""
    box.set("vault", "the first kingfisher")
    box.set("vault", "the second kingfisher")
    harm(box.md("vault"))
    before = box.tree()
    done = box.run("forget", "vault", "--purge", "--yes", *how)
    assert (done.code, box.tree()) == (4, before)
    assert "vault" in done.err
    assert "kingfisher" not in done.err


@pytest.mark.parametrize("suffix", ["proposed", "procedures"])
def test_nor_beside_a_proposal_or_a_procedure(box: Box, suffix: str) -> None:
    if suffix == "proposed":
        rows = [{"kind": "fact", "key": "vault", "text": f"proposal {n}"} for n in range(2)]
        path = box.root.parent / "rows.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        box.ok("import", "jsonl", str(path))
        box.set("vault", "live")
    else:
        for n in range(2):
            box.memory.propose_procedure("vault", (f"one: step {n}",), now=at())
            if n == 0:
                box.ok("forget", "vault", "--yes")
    harmed = next((box.root / suffix).rglob("*.md"))
    cut(harmed)
    before = box.tree()
    done = box.run("forget", "vault", "--purge", "--yes", "--prove")
    assert (done.code in (3, 4), box.tree()) == (True, before), done
