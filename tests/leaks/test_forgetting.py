"""A hundred facts with all their traces, purged: nothing is left outside git, and the proof finds every copy that was made."""

import json
import random

import pytest
from figures import Record
from support import Box, stamp

WORD = "kingfisher"
SIZES = [pytest.param(10), pytest.param(100, marks=pytest.mark.full)]


def lived(box: Box, n: int) -> str:
    """A fact with everything that a life leaves: history, renaming, opinions, relations, proposals, trash, an expiry."""
    key, word = f"matter {n}", f"{WORD}-{n:03}-"
    box.set(key, f"first {word} value of it", "--tag", "t", "--sensitivity", "public" if n % 2 else "restricted")
    box.set(key, f"second {word} value of it", "--source", f"agent:a{n}")
    box.ok("fact", "confirm", key, "--run", f"r{n}")
    if n % 3 == 0:
        box.ok("fact", "rename", key, f"matter {n} renamed")
        key = f"matter {n} renamed"
    if n % 4 == 0:
        box.ok("forget", key, "--yes")
        box.ok("restore", key)
    if n % 5 == 0:
        box.set(key, f"brief {word} value of it", "--ttl", "1h")
        box.ok("sweep", "--yes", now=stamp(hours=2))
        box.set(key, f"after {word} the expiry", "--ttl", "0", now=stamp(hours=3))
    row = {"kind": "proposal", "key": key, "text": f"rumoured {word} value", "sensitivity": "internal"}
    box.ok("import", "jsonl", "-", stdin=json.dumps(row).encode())
    return key


def residue(box: Box, n: int) -> list[str]:
    """A search of its own, for the bytes alone, that shares nothing with the proof."""
    word = f"{WORD}-{n:03}-".encode()
    return sorted(name for name, data in box.tree(state=True).items() if word in data.lower() or word.decode() in name)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", SIZES)
def test_nothing_is_left_of_what_was_purged(box: Box, count: int, figure: Record) -> None:
    keys = [lived(box, n) for n in range(count)]
    for words in (
        ("search", WORD),
        ("context", WORD),
        ("context", "first second value", "--clearance", "restricted"),
        ("graph",),
        ("stats",),
        ("review", "list"),
    ):
        box.ok(*words)
    box.now = stamp(hours=4)
    assert all(len(residue(box, n)) >= 3 for n in range(count))
    bad = 0
    for n, key in enumerate(keys):
        ran = box.run("forget", key, "--purge", "--prove", "--yes", "--json")
        bad += bool(residue(box, n)) or ran.code != 0 or not ran.data["proof"]["clean"]
    box.run("search", WORD)
    bad += sum(bool(residue(box, n)) for n in range(count))
    figure("purged facts: residue outside git", count, bad=bad)
    assert bad == 0


def test_facts_that_still_name_a_purged_key_are_said(box: Box) -> None:
    """A relation of another fact is that fact's own; who purges is told, and decides."""
    box.set("trip", "a journey to Lyon with the whole team")
    box.set("plan", "buy the tickets", "--derived-from", "trip")
    box.set("hotel", "near the station", "--sensitivity", "restricted")
    box.ok("fact", "relate", "hotel", "related", "trip")
    box.set("other", "nothing to do with it")
    done = box.data("forget", "trip", "--purge", "--yes")
    assert sorted(map(str, done["named_by"])) == ["None", "plan"]


def test_a_purge_that_forgets_a_place_is_found(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three planted faults: the archive is left, the proposals are, the index is."""
    from memcli.engine import erase

    for fault in ("carry_out", "former"):
        key = lived(box, 1)
        with monkeypatch.context() as patch:
            if fault == "carry_out":
                patch.setattr(erase, "carry_out", lambda *_: None)
            else:
                patch.setattr(erase, "_former", lambda *_: iter(()))
            ran = box.run("forget", key, "--purge", "--prove", "--yes", "--json", "--no-tombstone")
        assert residue(box, 1)
        assert ran.code == 4 or fault == "former"  # what the purge does not know of, the proof does not look for
        box.run("forget", key, "--purge", "--yes", "--no-tombstone")
        for path in [p for p in box.root.rglob("*") if p.is_file() and WORD.encode() in p.read_bytes()]:
            path.unlink()


PLACES = (
    "facts/note.md",
    "episodes/note.txt",
    "procedures/p.md",
    "sources/s.md",
    "proposed/facts/x.md",
    "archive/other.jsonl",
    ".memcli/trash/facts/o.jsonl",
    ".memcli/work/w.json",
    ".memcli/index.sqlite3-wal",
    "notes/deep/er/file.bin",
)


@pytest.mark.parametrize("facts", [2, pytest.param(10, marks=pytest.mark.full)])
def test_the_proof_finds_a_copy_in_any_place(box: Box, facts: int, figure: Record) -> None:
    from memcli.engine import erase, prove

    dice, missed = random.Random(3), 0
    for n in range(facts):
        text = f'"{WORD}" No {n}\tlives — ünder the bridge {n}' + " and waits" * n
        for place in PLACES:
            path = box.root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            form = [text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], text.casefold()][
                (n + len(place)) % 4
            ]
            path.write_bytes(dice.randbytes(dice.randint(0, 3000)) + form.encode() + dice.randbytes(100))
            found = prove.run(box.store, [("k", text)], names=(), layer="facts")
            missed += [t.path for t in found.found] != [place]
            path.unlink()
    assert erase.PLACES == ("archive", "trash")
    figure("copies of a purged text that the proof misses", facts * len(PLACES), bad=missed)
    assert missed == 0
