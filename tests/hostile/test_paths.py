"""No word leads out of the store, and what a person names is written where it was named and nowhere else."""

import json
import os
import stat
from pathlib import Path

import pytest
from support import Box

from .common import EXITS, clean, refused

WAYS_OUT = [
    "..", "../..", "../victim", "../../victim", "a/../../victim", "./../victim", "/etc/passwd", "/tmp/victim", "//tmp/victim", "~/victim",
    "~root/victim", "..\\victim", "C:\\victim", "\\\\host\\victim", "file:///tmp/victim", "%2e%2e%2fvictim", "..%00", ".", "./", "/", "//",
    "facts/../../victim", ".git/config", ".memcli/lock", "memcli.toml", "tenants/x", "a" * 300, "-", "--", "-rf", "$HOME", "`id`", "$(id)",
]  # fmt: skip


def everything(box: Box) -> dict[str, tuple[int, bytes]]:
    """Every file beside the store with type and bytes."""
    found = {}
    for p in sorted(box.root.parent.rglob("*")):
        if box.root != p and box.root not in p.parents:
            info = p.lstat()
            found[str(p)] = (info.st_mode, p.read_bytes() if stat.S_ISREG(info.st_mode) else b"")
    return found


@pytest.fixture
def placed(box: Box, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A store with a victim beside it, seen from a folder of its own."""
    (box.root.parent / "victim").write_text("kept")
    (box.root.parent / "victim.md").write_text("kept")
    work = box.root.parent / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    box.set("k", "v")
    return box


@pytest.mark.figure("paths: escapes")
@pytest.mark.parametrize("word", WAYS_OUT)
def test_as_key_tag_session_or_anything_stored_it_stays_inside(word: str, placed: Box) -> None:
    before = everything(placed)
    calls = (
        ("fact", "set", "--", word, "v"),
        ("fact", "set", "named", "v", "--tag=" + word, "--domain=" + word, "--derived-from=" + word, "--run=" + word),
        ("fact", "set", "sourced", "v", "--source=file:" + word),
        ("fact", "set", "secret", "v", "--sensitivity", "restricted"),
        ("fact", "rename", "--", "named", word),
        ("fact", "forget", "--yes", "--", word),
        ("fact", "restore", "--", word),
        ("episode", "add", "x", "--session=" + word, "--evidence=image:" + word, "--task=" + word),
        ("episode", "show", "--", word),
        ("work", "set", "--session=" + word, "--", word, "v"),
        ("work", "clear", "--yes", "--session=" + word),
        ("source", "set", "--by=user:keeper", "--trust=0.5", "--", f"user:{word}"),
        ("source", "block", "--", f"user:{word}"),
        ("procedure", "propose", "--step=a: b", "--", word, "x"),
        ("context", "--domain=" + word, "--session=" + word, "--", word),
        ("fact", "relate", "--", "secret", "is_a", word),
    )
    for words in calls:
        clean(placed.run(*words))
    assert everything(placed) == before
    assert all(p.parent.name in ("facts", "episodes", "sources", "proposed", "procedures") or p.parent == placed.root
               for p in placed.root.rglob("*.md"))  # fmt: skip


@pytest.mark.figure("paths: escapes")
@pytest.mark.parametrize("word", WAYS_OUT)
def test_as_tenant_it_is_an_error_and_nothing_is_made(word: str, placed: Box) -> None:
    before = everything(placed)
    for words in (("status",), ("init", str(placed.root)), ("fact", "set", "k", "v"), ("export", "jsonl", "x")):
        ran = refused(placed.run("--tenant=" + word, *words), 2)
        assert "tenant" in ran.err
    assert everything(placed) == before
    assert not (placed.root / "tenants").exists()


@pytest.mark.parametrize("word", [w for w in WAYS_OUT if w not in ("-", "/tmp/victim", "//tmp/victim")])
def test_a_store_that_is_none_is_an_error_and_nothing_is_made(word: str, placed: Box) -> None:
    before = everything(placed)
    for words in (("status",), ("fact", "set", "k", "v"), ("sweep",), ("doctor", "--fix"), ("import", "jsonl", "-")):
        from support import call

        ran = clean(call(["--store=" + word, *words]))
        assert ran.code in (2, 3, 4, 7), ran
    assert everything(placed) == before


LINKED = (
    "facts",
    "episodes",
    "archive",
    "sources",
    "procedures",
    "proposed",
    "tenants",
    ".memcli",
    ".memcli/trash",
    ".memcli/work",
)


@pytest.mark.parametrize("part", LINKED)
def test_a_linked_part_of_the_store_is_never_written_through(part: str, placed: Box) -> None:
    out = placed.root.parent / "out"
    out.mkdir()
    path = placed.root / part
    if path.exists():
        path.rename(placed.root.parent / "was")
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(out)
    before = everything(placed)
    for words in (
        ("fact", "set", "k", "w"),
        ("fact", "set", "k", "x"),
        ("fact", "set", "new", "v", "--sensitivity", "restricted"),
        ("episode", "add", "x"),
        ("source", "block", "user:x"),
        ("procedure", "propose", "p", "x", "--step", "a: b"),
        ("work", "set", "a", "b", "--session", "s"),
        ("forget", "new", "--yes"),
        ("sweep", "--yes"),
        ("doctor", "--fix"),
        ("import", "jsonl", "-"),
        ("--tenant", "acme", "init", str(placed.root)),
    ):
        ran = placed.run(*words, stdin=b'{"kind":"fact","key":"i","text":"v","sensitivity":"internal"}')
        assert clean(ran).code in EXITS
    assert everything(placed) == before


@pytest.mark.parametrize("name", ["k.md", "k.meta.json", "new.md", "new.meta.json"])
def test_a_linked_file_is_replaced_or_refused_and_its_target_kept(name: str, placed: Box) -> None:
    target = placed.root.parent / "victim"
    (placed.root / "facts" / name).unlink(missing_ok=True)
    (placed.root / "facts" / name).symlink_to(target)
    for words in (
        ("fact", "set", "k", "w"),
        ("fact", "set", "new", "v"),
        ("fact", "rename", "k", "new"),
        ("doctor", "--fix"),
    ):
        clean(placed.run(*words))
    assert target.read_text() == "kept"


def test_a_file_in_the_way_of_a_new_record_is_not_written_over(placed: Box) -> None:
    for layer, words in (
        ("facts", ("fact", "set", "mine", "v")),
        ("facts", ("fact", "rename", "k", "mine")),
        ("facts", ("import", "jsonl", "-")),
        ("procedures", ("procedure", "propose", "mine", "v", "--step", "a: b")),
    ):
        for data in (b"caf\xe9", b"---\nkey: other\nsensitivity: public\n---\nother\n", b"x" * ((1 << 20) + 1)):
            path = placed.root / layer / "mine.md"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            ran = placed.run(*words, stdin=b'{"kind":"fact","key":"mine","text":"v","sensitivity":"internal"}')
            assert clean(ran).code in (0, 4)
            assert path.read_bytes() == data
            path.unlink()


# What a person names outside the store.


def test_an_export_goes_where_it_was_sent(placed: Box) -> None:
    work = Path.cwd()
    placed.ok("export", "jsonl", "plain.jsonl")
    assert stat.S_IMODE((work / "plain.jsonl").stat().st_mode) == 0o600
    (work / "target").write_text("old")
    (work / "link").symlink_to(work / "target")
    placed.ok("export", "jsonl", "link")
    assert (work / "link").is_symlink()
    assert json.loads((work / "target").read_text())["key"] == "k"
    assert sorted(p.name for p in work.iterdir()) == ["link", "plain.jsonl", "target"]


@pytest.mark.parametrize("words", [("export", "jsonl", "{path}"), ("context", "--receipt", "{path}")], ids=" ".join)
def test_a_device_or_pipe_is_written_into_not_replaced(words: tuple[str, ...], placed: Box) -> None:
    pipe = Path.cwd() / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        placed.ok(*(w.format(path=pipe) for w in words))
        assert os.read(reader, 1 << 16).lstrip().startswith(b"{")
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as replacing a device does")
@pytest.mark.parametrize("words", [("export", "jsonl", "{path}"), ("context", "--receipt", "{path}")], ids=" ".join)
def test_root_does_not_break_a_device(words: tuple[str, ...], placed: Box) -> None:
    null = Path.cwd() / "null"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no devices can be made here")
    placed.ok(*(w.format(path=null) for w in words))
    assert stat.S_ISCHR(null.stat().st_mode)


@pytest.mark.parametrize("path", ["", "/", ".", "..", "none/x", "/none/x", "file/x", "loop", "a" * 300], ids=repr)
@pytest.mark.parametrize(
    "words",
    [("export", "jsonl"), ("context", "--receipt"), ("context", "--request"), ("import", "jsonl")],
    ids=" ".join,
)
def test_a_path_that_cannot_be_is_one_clear_line(words: tuple[str, ...], path: str, placed: Box) -> None:
    (Path.cwd() / "file").write_text("x")
    (Path.cwd() / "loop").symlink_to("loop")
    before = everything(placed)
    ran = clean(placed.run(*words, path))
    assert ran.code in (2, 3, 7), ran
    assert everything(placed) == before
