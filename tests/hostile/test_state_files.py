"""What lies in .memcli and in archives may come from a stranger's clone: it costs time, never answers, and leads nowhere."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Box

from .common import clean, good, still_good

ID = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
JOURNALS: dict[str, Any] = {
    "no layer": {"name": "x", "id": ID},
    "no name": {"layer": "facts"},
    "no id": {"layer": "facts", "name": "x"},
    "name a number": {"layer": "facts", "name": 5, "id": ID},
    "name a list": {"layer": "facts", "name": ["x"], "id": ID},
    "name with NUL": {"layer": "facts", "name": "a\0b", "id": ID},
    "name with a surrogate": {"layer": "facts", "name": "a\ud800b", "id": ID},
    "name too long": {"layer": "facts", "name": "x" * 5000, "id": ID},
    "name a path": {"layer": "facts", "name": "../../victim", "id": ID},
    "id a path": {"layer": "facts", "name": "x", "id": "/../../victim"},
    "id a number": {"layer": "facts", "name": "x", "id": 7},
    "layer above": {"layer": "..", "name": "victim", "drop": True},
    "layer elsewhere": {"layer": "facts/../..", "name": "victim", "drop": True},
    "layer absolute": {"layer": "/tmp", "name": "victim", "drop": True},
    "layer a file": {"layer": "memcli.toml", "name": "x", "id": ID},
    "layer a list": {"layer": ["facts"], "name": "x", "id": ID},
    "renamed without id": {"layer": "facts", "name": "x", "renamed": "y"},
    "renamed to a path": {"layer": "facts", "name": "x", "renamed": "../../victim", "id": ID},
    "appended to nothing": {"appended": []},
    "appended to a text": {"appended": "x"},
    "appended to a path": {"appended": ["episodes", "../../victim.md"]},
    "appended elsewhere": {"appended": ["..", "victim.md"]},
    "appended to a number": {"appended": ["episodes", 5]},
    "appended to a list": {"appended": [["episodes"], "x"]},
    "a list": [],
    "a number": 5,
    "null": None,
}


def victim(box: Box) -> dict[Path, bytes]:
    """A pair of files beside the store that looks like a record."""
    for suffix, text in ((".md", f"---\nid: {ID}\nkey: v\nsensitivity: public\n---\nv\n"), (".meta.json", "{}")):
        (box.root.parent / f"victim{suffix}").write_text(text)
    return {p: p.read_bytes() for p in box.root.parent.glob("victim*")}


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in JOURNALS.items()])
def test_an_odd_journal_stops_no_writer_and_leads_nowhere(entry: Any, box: Box) -> None:
    box.set("k", "v")
    outside = victim(box)
    journal = box.root / ".memcli" / "journal"
    journal.write_text(json.dumps(entry) + "\n" + json.dumps({"layer": "facts", "name": "k", "id": ID}) + "\n")
    clean(box.ok("fact", "set", "k", "w"))
    assert box.get("k") == "w"
    assert {p: p.read_bytes() for p in outside} == outside
    assert not journal.exists()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\0" * 5000, b"\xff\n", b"[" * 100_000, b"null\n" * 1000], ids=lambda d: repr(d[:5])
)
def test_a_garbled_journal_stops_no_writer(data: bytes, box: Box) -> None:
    (box.root / ".memcli" / "journal").write_bytes(data)
    clean(box.ok("fact", "set", "k", "w"))


@pytest.mark.parametrize("kind", ["FIFO", "folder", "link"])
def test_a_journal_that_is_no_file_is_refused_in_one_line(kind: str, box: Box) -> None:
    path = box.root / ".memcli" / "journal"
    out = box.root.parent / "out"
    out.write_text("kept")
    {"FIFO": os.mkfifo, "folder": Path.mkdir, "link": lambda p: p.symlink_to(out)}[kind](path)
    ran = clean(box.run("fact", "set", "k", "w"))
    assert ran.code == 4
    assert ".memcli/journal" in ran.err
    assert out.read_text() == "kept"


def names_cache(box: Box) -> Path:
    """A store with a hand-made fact `bar` in foo.md, and its cache of names."""
    (box.root / "facts" / "foo.md").write_text("---\nkey: bar\nsensitivity: public\n---\nby hand\n")
    box.ok("fact", "get", "bar")
    return box.root / ".memcli" / "names.json"


def _with(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        raw = json.loads(data)
        found = change(raw)
        return json.dumps(raw if found is None else found).encode()

    return changed


CACHES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-3],
    "garbage": lambda data: b"\xff\0" * 1000,
    "null": lambda data: b"null",
    "list": lambda data: b"[]",
    "deep": lambda data: b"[" * 100_000,
    **{
        f"{part} is {value!r}": _with(lambda raw, part=part, value=value: raw.update({part: value}))
        for part in ("folder_mtime_ns", "hashed")
        for value in (None, 5, "x", [], {"x": 5}, {"x": ["../../x"]}, {"x": ["a\0b"]}, {"x": [5]}, {"x": {}})
    },
    "without fields": _with(lambda raw: {}),
    "all point elsewhere": _with(lambda raw: raw.update(hashed={k: ["nowhere"] for k in raw["hashed"]})),
}


@pytest.mark.parametrize("garble", [pytest.param(garble, id=name) for name, garble in CACHES.items()])
def test_a_damaged_cache_of_names_never_crashes_and_never_leads_out(garble: Callable[[bytes], bytes], box: Box) -> None:
    path = names_cache(box)
    path.write_bytes(garble(path.read_bytes()))
    ran = clean(box.run("fact", "get", "bar"))
    assert ran.code in (0, 3)
    assert ran.out in ("by hand\n", "")
    clean(box.ok("fact", "set", "new", "v"))
    path.unlink()
    assert box.ok("fact", "get", "bar").out == "by hand\n"


def test_a_cache_that_cannot_be_read_or_written_costs_nothing_but_time(box: Box) -> None:
    path = names_cache(box)
    path.unlink()
    path.mkdir()
    assert box.ok("fact", "get", "bar").out == "by hand\n"


def test_the_cache_shows_no_key(box: Box) -> None:
    (box.root / "facts" / "foo.md").write_text("---\nkey: kingfisher plan\n---\nby hand\n")
    box.run("fact", "get", "some other key")
    assert (box.root / ".memcli" / "names.json").exists()
    assert b"kingfisher" not in (box.root / ".memcli" / "names.json").read_bytes()


# Archives are tracked by git, so a line of one is anybody's.


def archived(box: Box, **changed: Any) -> Path:
    """A fact with one former value, and its archived line changed."""
    box.set("k", "old value")
    box.set("k", "new value")
    path = box.root / "archive" / "k.jsonl"
    row = json.loads(path.read_bytes())
    meta = row["meta"] | changed.pop("meta", {})
    row = {k: v for k, v in (row | {"meta": meta} | changed).items() if v is not None}
    path.write_text(json.dumps(row) + "\n")
    return path


ROWS: dict[str, dict[str, Any]] = {
    "name a path": {"name": "x/../../../victim"},
    "name absolute": {"name": "/tmp/victim"},
    "name missing": {"name": None},
    "name a number": {"name": 5},
    "reason missing": {"reason": None},
    "reason a list": {"reason": ["x"]},
    "reason breaks the line": {"reason": "superseded\nforged"},
    "text a surrogate": {"text": "\ud800"},
    "text a list": {"text": ["x"]},
    "at missing": {"at": None},
    "at a number": {"at": 5},
    "header a list": {"header": []},
    "meta a list": {"meta": {}},
    "meta of a newer format": {"meta": {"format": 2}},
    "meta without label": {"meta": {"sensitivity": None}},
    "meta with an odd id": {"meta": {"id": "../x"}},
    "meta of another key": {"meta": {"key": "other"}},
    "meta with an impossible key": {"meta": {"key": "a/../b"}},
}


@pytest.mark.parametrize("changed", [pytest.param(changed, id=name) for name, changed in ROWS.items()])
def test_an_odd_line_of_an_archive_is_passed_over_or_stays_inside(changed: dict[str, Any], box: Box) -> None:
    for folder in ("x", ".x"):  # the folders that a path would need
        (box.root / "facts" / folder).mkdir()
    archived(box, **json.loads(json.dumps(changed)))
    box.set("other fact", "one")
    box.set("other fact", "two")
    before = {str(p) for p in box.root.parent.rglob("*") if box.root not in p.parents}
    rows = box.data("fact", "history", "k", "--reveal")
    assert {"\n", "/"}.isdisjoint("".join(str(row["reason"]) for row in rows))
    clean(box.run("stats"))
    clean(box.run("check"))
    clean(box.run("export", "jsonl", "-"))
    clean(box.run("restore", "k"))
    for made in {row["id"] for row in rows}:
        clean(box.run("restore", made))
    assert box.run("restore", "other fact").code == 0
    assert box.get("other fact") == "one"
    assert {str(p) for p in box.root.parent.rglob("*") if box.root not in p.parents} == before
    assert not list((box.root / "facts").glob("*x/*"))


def test_a_former_value_is_as_strict_as_all_that_followed_it(box: Box) -> None:
    """Also when what followed was renamed, forgotten or has expired."""
    box.set("k", "kingfisher one")
    box.set("k", "kingfisher two", "--sensitivity", "restricted", "--ttl", "1d")
    box.set("r", "kingfisher one")
    box.set("r", "kingfisher two", "--sensitivity", "restricted")
    box.ok("fact", "rename", "r", "s")

    def shown(now: str) -> str:
        calls = [
            ("fact", "history", key, *form) for key in ("k", "r", "s", "t") for form in ((), ("--json",), ("--jsonl",))
        ]
        calls += [("context",), ("export", "jsonl", "-", "--clearance", "internal"), ("fact", "list"), ("restore", "r")]
        ran = [box.run(*words, now=now) for words in calls]
        return "".join(r.out + r.err for r in ran)

    assert "kingfisher" not in shown(box.now)
    box.ok("fact", "rename", "s", "t")
    assert "kingfisher" not in shown(box.now)
    box.ok("fact", "forget", "k", "--yes")
    box.ok("fact", "forget", "t", "--yes")
    assert "kingfisher" not in shown(box.now)
    box.ok("fact", "restore", "k")
    assert "kingfisher" not in shown("2026-12-15T00:00:00Z")
    box.ok("sweep", "--yes", now="2026-12-15T00:00:00Z")
    assert "kingfisher" not in shown("2026-12-15T00:00:00Z")


def test_restoring_an_older_value_keeps_the_stricter_label(box: Box) -> None:
    first = box.set("k", "one")["id"]
    box.set("k", "two", "--sensitivity", "restricted")
    box.ok("restore", first)
    assert box.run("fact", "get", "k").code == 6
    box.ok("fact", "forget", "k", "--yes")
    box.ok("restore", first)
    assert box.run("fact", "get", "k").code == 6


def test_forgetting_takes_every_file_of_the_key_and_purging_every_copy(box: Box) -> None:
    box.set("a", "kingfisher 1")
    box.set("a", "kingfisher 2")
    box.ok("fact", "rename", "a", "b")
    box.set("b", "kingfisher 3")
    box.set("a", "another fact took the old key")
    box.set("a", "twice")
    for name in ("copy", "second copy"):
        for suffix in (".md", ".meta.json"):
            (box.root / "facts" / (name + suffix)).write_bytes((box.root / "facts" / f"b{suffix}").read_bytes())
    (box.root / "archive" / "b.jsonl").open("ab").write(b'{"torn": "kingfisher')
    box.ok("fact", "forget", "b", "--purge", "--yes")
    assert box.run("fact", "get", "b").code == 3
    assert [name for name, data in box.tree(state=True).items() if b"kingfisher" in data] == []
    assert [row["text"] for row in box.data("fact", "history", "a")] == ["twice", "another fact took the old key"]


def test_an_append_leaves_a_hard_linked_backup_alone(box: Box) -> None:
    box.add("one")
    box.set("k", "v1")
    box.set("k", "v2")
    linked = [box.log(), box.root / "archive" / "k.jsonl"]
    out = box.root.parent / "backup"
    out.mkdir()
    before = {}
    for path in linked:
        os.link(path, out / path.name)
        before[out / path.name] = path.read_bytes()
    box.add("two")
    box.set("k", "v3")
    assert {p: p.read_bytes() for p in before} == before
    assert [row["text"] for row in box.data("episode", "list")] == ["two", "one"]
    assert len(box.data("fact", "history", "k")) == 3


# All of .memcli at once.

GARBLES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeros": lambda data: b"\0" * len(data),
    "not UTF-8": lambda data: b"\xff\xfe" + data,
    "null": lambda data: b"null",
    "list": lambda data: b"[1, 2]",
    "object of lists": lambda data: json.dumps({ID: ["stale", "yesterday"], "x": [], "y": None}).encode(),
    "deep": lambda data: b"[" * 100_000,
    "numbers for texts": lambda data: b'{"session": 5, "entries": [{"id": 5}], "items": 5, "format": 1}',
    "newer": lambda data: data.replace(b'"format":1', b'"format":2').replace(b'"format": 1', b'"format": 2'),
    "huge": lambda data: data + b" " * (2 << 20),
}
LOOKS = [
    ("context", "--session", "s"), ("context", "good", "--session", "s"), ("work", "list", "--session", "s"), ("work", "get", "a", "--session", "s"), ("status",), ("stats",),
    ("doctor",), ("check",), ("fact", "list"), ("search", "good", "--session", "s"), ("review", "list"), ("verify",), ("consolidate", "--all"), ("sweep",), ("export", "jsonl", "-"),
    ("work", "set", "a", "c", "--session", "s"), ("work", "add", "x", "--session", "s"), ("consolidate", "--session", "s"), ("doctor", "--fix"), ("work", "clear", "--session", "s", "--yes"),
]  # fmt: skip


def full_state(box: Box) -> list[Path]:
    """A store with everything in its state that commands leave there."""
    good(box)
    box.set("checked", "v", "--check", "path:nowhere")
    box.run("verify")
    box.ok("work", "set", "a", "b", "--session", "s")
    box.ok("work", "add", "x", "--session", "s", "--role", "user")
    box.ok("work", "get", "a", "--session", "s")
    box.set("gone", "v")
    box.ok("forget", "gone", "--yes")
    (box.root / "facts" / "foo.md").write_text("---\nkey: bar\nsensitivity: public\n---\nby hand\n")
    box.ok("fact", "get", "bar")
    box.run("search", "good")
    return sorted(p for p in (box.root / ".memcli").rglob("*") if p.is_file())


@pytest.mark.parametrize("garble", [pytest.param(garble, id=name) for name, garble in GARBLES.items()])
def test_any_garbled_state_costs_time_or_itself_and_no_record(garble: Callable[[bytes], bytes], box: Box) -> None:
    files = full_state(box)
    assert len(files) >= 5
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else b""
        path.write_bytes(garble(before))
        still_good(box)
        for words in LOOKS:
            ran = clean(box.run(*words))
            assert ran.code in (0, 3, 4), (path.name, words, ran)
        still_good(box)
        assert box.run("fact", "get", "bar").code == 0


@pytest.mark.parametrize("kind", ["link", "folder", "FIFO", "gone"])
def test_any_state_file_that_is_no_file_is_survived(kind: str, box: Box) -> None:
    out = box.root.parent / "out"
    for path in full_state(box):
        if path.name == "lock":
            continue
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("kept")
        {"link": lambda p: p.symlink_to(out), "folder": Path.mkdir, "FIFO": os.mkfifo, "gone": lambda p: None}[kind](
            path
        )
        still_good(box)
        for words in LOOKS:
            ran = clean(box.run(*words))
            assert ran.code in (0, 3, 4, 7), (path.name, words, ran)
        still_good(box)
        assert out.read_text() == "kept"
        if path.is_dir() and not path.is_symlink():
            path.rmdir()


def test_no_state_at_all_is_as_good(box: Box) -> None:
    import shutil

    full_state(box)
    shutil.rmtree(box.root / ".memcli")
    still_good(box)
    for words in LOOKS:
        assert clean(box.run(*words)).code in (0, 3, 4)
    box.set("k", "v")
