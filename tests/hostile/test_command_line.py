"""A careless user, cron and a broken machine at the command line: one clear line, the right exit code, nothing half done."""

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import support
from support import Box, Ran, call

from memcli.base import errors

from .common import EXITS, clean, refused

LINUX = sys.platform == "linux"
ROOT = os.geteuid() == 0

# Words that mean nothing. The second part is what the one line must say.
USAGE: list[tuple[tuple[str, ...], str]] = [
    (("nonsense",), "no such command"),
    (("fact",), ""),
    (("fact", "nonsense"), "no such command"),
    (("--nonsense",), "no such option"),
    (("fact", "set"), "KEY"),
    (("fact", "set", "k", "v", "w"), "too many arguments"),
    (("fact", "set", "k", "v", "--nonsense"), "no such option"),
    (("fact", "set", "k", "v", "--ttl"), "requires an argument"),
    (("fact", "get"), "KEY"),
    (("fact", "get", "k", "--json", "--jsonl"), ""),
    (("fact", "list", "-n", "many"), "many"),
    (("fact", "list", "--json", "--jsonl"), "exclude each other"),
    (("fact", "list", "--clearance", "secret"), "label"),
    (("context", "--clearance", "top"), "label"),
    (("context", "--layer", "dreams"), "layer"),
    (("context", "--format", "xml"), "format"),
    (("context", "--budget", "0"), "budget"),
    (("context", "--budget=-5"), "budget"),
    (("context", "--budget", "many"), "budget"),
    (("context", "--budget", "1e3"), "budget"),
    (("context", "--budget", "9" * 5000), "budget"),
    (("context", "--budget", "٣"), "budget"),
    (("context", "--budget", "1"), "at least"),
    (("context", "-", "--request", "-"), "stdin"),
    (("episode", "add"), "--task"),
    (("episode", "add", "x", "--outcome", "fine"), "outcome"),
    (("episode", "add", "x", "--steps=-1"), "steps"),
    (("episode", "add", "x", "--steps", "1e400"), ""),
    (("episode", "add", "x", "--at", "yesterday"), "time"),
    (("episode", "list", "--since", "soon"), "time"),
    (("episode", "list", "--outcome", "fine"), "outcome"),
    (("fact", "adopt"), "--all"),
    (("import", "xml", "x"), "format"),
    (("export", "xml", "x"), "format"),
    (("fact", "relate", "a"), ""),
    (("graph", "--format", "png"), "format"),
    (("init", ""), "empty"),
    (("--store", "", "status"), "--store"),
    (("--store", "", "init"), "empty"),
    (("--tenant", "", "init"), "tenant"),
    (("--tenant", "", "status"), "tenant"),
    (("work", "set", "a", "b"), "session"),
    *((("fact", "set", "k", "v", f"--ttl={ttl}"), "time to live") for ttl in (
        "-1", "-5m", "nan", "inf", "1e3", "abc", "9" * 30, "9" * 5000, "52596001", "0.5m", "1.5", "P", "PT", "5x", " 5", "5 ", "0x10", "٥", "--5",
    )),
    *((("fact", "set", "k", "v", f"--ttl={ttl}"), "fixed length") for ttl in ("1y", "P1Y", "P1M", "3mo")),
    *((("fact", "set", "k", "v", f"--confidence={x}"), "confidence") for x in ("nan", "inf", "-0.1", "1.1", "sure", "High", "1e400", "", "0,5")),
    *((("fact", "set", "k", "v", f"--importance={x}"), "importance") for x in ("nan", "-inf", "2", "much", "")),
    *((("fact", "set", "k", "v", f"--sensitivity={x}"), "label") for x in ("secret", "PUBLIC", "public ", "no", "", "0", "public,internal")),
    *((("fact", "set", "k", "v", f"--source={x}"), "source") for x in ("", " ", "root:me", "a\nb", "x" * 501, "user:a\x1bb")),
    *((("fact", "set", "k", "v", f"--tag={x}"), "tag") for x in ("", " ", "a\nb", "\x1b[2J", "t" * 201)),
]  # fmt: skip


@pytest.mark.parametrize(("words", "says"), USAGE, ids=lambda x: " ".join(x)[:60] if isinstance(x, tuple) else "")
def test_wrong_words_are_exit_2_one_line_and_nothing_written(
    words: tuple[str, ...], says: str, box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.set("there", "v")
    monkeypatch.chdir(box.root)
    before = box.tree(state=True)
    ran = refused(call(words), 2, says=says)
    last = ran.err.splitlines()[-1]
    assert last.startswith(("memcli: ", '{"format": 1, "error"'))
    assert len(last) < 500
    assert box.tree(state=True) == before
    if "--jsonl" not in words:
        as_json = call([*words, "--json"])
        assert as_json.code == 2
        assert as_json.out == ""


def test_a_bad_word_in_the_environment_is_named(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, code in (
        ("MEMCLI_NOW", "soon", 2),
        ("MEMCLI_SOURCE", "root:me", 2),
        ("MEMCLI_TENANT", "..", 2),
        ("MEMCLI_STORE", "/none", 3),
    ):
        with monkeypatch.context() as patch:
            patch.chdir(box.root)
            patch.setenv(name, value)
            refused(call(["fact", "set", "k", "v"]), code)
    assert box.run("fact", "get", "k").code == 3


# Streams.


def spawned(
    box: Box, script: str, *words: str, env: dict[str, str | None] | None = None, cwd: Path | None = None
) -> Ran:
    """The command line in a process that /bin/sh starts in its own way: `"$@"` stands for it."""
    merged = {k: v for k, v in (support.environment() | (env or {})).items() if v is not None}
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *map(str, support.command(box.words(*words)))],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, env=merged, cwd=cwd or box.root.parent,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


STDIN = [("import", "jsonl", "-"), ("fact", "set", "k", "-"), ("episode", "add", "-"), ("context", "--request", "-"), ("context", "-"),
         ("scrub",), ("forget", "there"), ("work", "add", "-", "--session", "s")]  # fmt: skip


@pytest.mark.parametrize("words", STDIN, ids=" ".join)
def test_without_stdin_a_command_that_needs_it_says_so(words: tuple[str, ...], box: Box) -> None:
    box.set("there", "v")
    before = box.tree()
    ran = clean(spawned(box, 'exec "$@" <&-', *words))
    assert ran.code in (2, 6), ran
    assert box.tree() == before


@pytest.mark.parametrize("data", [b"\xff\xfe", b"caf\xe9", "x".encode("utf-16"), b"\xed\xa0\x80"], ids=repr)
@pytest.mark.parametrize("words", [w for w in STDIN if w[0] not in ("forget", "import")], ids=" ".join)
def test_stdin_that_is_not_utf8_is_refused(words: tuple[str, ...], data: bytes, box: Box) -> None:
    before = box.tree()
    refused(box.run(*words, stdin=data), 2, says="UTF-8")
    assert box.tree() == before


@pytest.mark.parametrize("words", STDIN[:6], ids=" ".join)
def test_endless_stdin_is_refused_before_it_fills_the_memory(words: tuple[str, ...], box: Box) -> None:
    limit = 'ulimit -v 200000; head -c 300000000 /dev/zero | "$@"'
    ran = clean(spawned(box, limit, *words))
    assert ran.code in (2, 4), ran
    assert ran.out in ("", "imported: nothing\n")


def test_words_that_are_not_utf8_are_refused(box: Box) -> None:
    for words in (
        (b"fact", b"set", b"k", b"caf\xe9"),
        (b"fact", b"get", b"\xff"),
        (b"fact", b"set", b"k", b"v", b"--tag", b"\xff"),
    ):
        refused(support.spawn([*box.words(), *words]), 2, says="UTF-8")
    assert box.run("fact", "get", "k").code == 3


@pytest.mark.parametrize(
    "words",
    [("fact", "list"), ("context",), ("export", "jsonl", "-"), ("--version",), ("--help",), ("doctor",), ("check",)],
    ids=" ".join,
)
def test_a_closed_full_or_broken_stdout(words: tuple[str, ...], box: Box) -> None:
    box.set("k", "v" * 100_000)
    says_nothing = words in (("check",), ("doctor",))
    closed = clean(spawned(box, 'exec "$@" >&-', *words))
    assert closed.code == (0 if says_nothing else 7)
    broken = spawned(box, '{ "$@"; echo $? >&2; } | true', *words)
    assert broken.err.strip().splitlines()[-1] in ("0", "141")
    assert "Traceback" not in broken.err
    if Path("/dev/full").exists():
        full = clean(spawned(box, 'exec "$@" >/dev/full', *words))
        assert full.code == (0 if says_nothing else 7)
        assert spawned(box, 'exec "$@" 2>/dev/full', *words).code == 0
    assert spawned(box, 'exec "$@" 2>&-', *words).code == 0
    assert spawned(box, 'exec "$@" >&- 2>&- <&-', *words).code == (0 if says_nothing else 7)


def test_an_error_with_stderr_closed_keeps_its_exit_code(box: Box) -> None:
    assert spawned(box, 'exec "$@" 2>&-', "fact", "get", "none").code == 3
    assert spawned(box, 'exec "$@" 2>&- >&-', "fact", "set", "", "v").code == 2


@pytest.mark.parametrize(
    "env",
    [{"HOME": None}, {"HOME": ""}, {"HOME": "/none"}, {"LANG": None, "LC_ALL": None}, {"LC_ALL": "C"}, {"LC_ALL": "xx_YY.nonsense"}, {"PATH": ""},
     {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}, {"TERM": None}, {"COLUMNS": "0"}, {"COLUMNS": "x"}, {"TZ": "Pacific/Kiritimati"},
     {"XDG_DATA_HOME": "relative"}, {"PYTHONWARNINGS": "error"}, {"TMPDIR": "/none"}],
    ids=str,
)  # fmt: skip
def test_any_environment_will_do(env: dict[str, str | None], box: Box) -> None:
    clean(spawned(box, '"$@"', "fact", "set", "ключ", "значение — ok", env=env))
    ran = spawned(box, '"$@"', "fact", "get", "ключ", env=env)
    assert (ran.code, ran.out) == (0, "значение — ok\n"), ran
    assert spawned(box, '"$@"', "context", "--help", env=env).code == 0


def test_a_current_folder_that_is_gone(box: Box) -> None:
    gone = box.root.parent / "gone"
    script = f'mkdir {gone} && cd {gone} && rmdir {gone} && "$@"'
    assert spawned(box, script, "fact", "set", "k", "v").code == 0
    for words in (["status"], ["--store", "x", "status"], ["init"], ["where"]):
        done = subprocess.run(
            ["/bin/sh", "-c", script, "sh", *map(str, support.command(words))],
            capture_output=True, check=False, env=support.environment(), text=True,
        )  # fmt: skip
        ran = clean(Ran(done.returncode, done.stdout, done.stderr))
        assert ran.code in (3, 7), ran
        assert "folder" in ran.err, ran


# The machine says no.


@contextlib.contextmanager
def mounted(*options: str) -> Iterator[Path]:
    """A small file system of its own, or a skip where none can be mounted."""
    place = Path(tempfile.mkdtemp())
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(place)], capture_output=True, check=False)
    if done.returncode:
        place.rmdir()
        pytest.skip("nothing can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
        place.rmdir()


WRITES = [
    ("fact", "set", "k", "w" * 3000), ("fact", "set", "new", "v" * 3000), ("fact", "set", "k", "--tag", "t"), ("fact", "set", "k", "--sensitivity", "restricted"),
    ("fact", "rename", "k", "other"), ("forget", "k", "--yes"), ("episode", "add", "e" * 3000), ("sweep", "--yes"), ("fact", "confirm", "k", "--run", "r"),
    ("procedure", "propose", "p", "x" * 3000, "--step", "a: b"), ("work", "set", "a", "b" * 3000, "--session", "s"), ("source", "block", "user:x", "--by", "user:keeper"),
]  # fmt: skip


def filled(root: Path) -> None:
    """Takes the last byte of a file system."""
    with contextlib.suppress(OSError), (root / "filler").open("wb", buffering=0) as f:
        while f.write(b"\0" * 4096):
            pass


@pytest.mark.skipif(not (LINUX and ROOT), reason="mounts a file system")
@pytest.mark.parametrize("words", WRITES, ids=lambda w: " ".join(w)[:30])
@pytest.mark.parametrize("full", ["blocks", "inodes"])
def test_a_full_disk_takes_nothing_away(full: str, words: tuple[str, ...]) -> None:
    with mounted("-o", "size=256k" if full == "blocks" else "size=4m,nr_inodes=40") as place:
        box = Box(place / "store")
        box.ok("init")
        box.set("k", "old value", "--ttl", "1m")
        box.add("old entry")
        if full == "blocks":
            filled(place)
        else:
            with contextlib.suppress(OSError):
                for i in range(100):
                    (place / f"f{i}").touch()
        ran = clean(support.spawn(box.words(*words)))
        assert ran.code in (0, 7), ran
        for name in (place / "filler", *place.glob("f*")):
            if name.is_file():
                name.unlink()
        done = {"forget": 3}.get(words[0], 0)
        if ran.code == 7:
            assert box.get("k") == "old value"
            assert "old entry" in box.ok("episode", "list").out
        elif words[:2] != ("fact", "rename"):
            assert box.run("fact", "get", "k", "--reveal").code == done
        assert [p.name for p in box.root.rglob("*.tmp")] == []
        clean(box.run("doctor", "--fix"))
        assert box.run("check").code == 0


@pytest.mark.skipif(not (LINUX and ROOT), reason="mounts a file system")
def test_a_read_only_store_is_read_and_not_written() -> None:
    with mounted("-o", "size=4m") as place:
        box = Box(place / "store")
        box.ok("init")
        box.set("k", "old value", "--ttl", "1h")
        (box.root / "facts" / "by hand.md").write_text("---\nkey: hand\nsensitivity: public\n---\nv\n")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for words in (
            ("fact", "get", "k"),
            ("fact", "get", "hand"),
            ("fact", "list"),
            ("context",),
            ("doctor",),
            ("check",),
            ("status",),
            ("export", "jsonl", "-"),
            ("sweep", "--dry-run"),
        ):
            assert clean(box.run(*words)).code in (0, 4), words
        for words in (*WRITES, ("doctor", "--fix"), ("init", str(box.root)), ("fact", "edit", "k")):
            later = "2026-12-15T00:00:00Z" if words[0] == "sweep" else box.now
            ran = clean(support.spawn(box.words(*words, now=later), env={"EDITOR": "true"}))
            assert ran.code == 7 or words[0] == "init", (words, ran)
            assert ran.code != 7 or "ead-only" in ran.err


def limited(box: Box, words: tuple[str, ...], set_limit: Callable[[], Any]) -> Ran:
    """A process under a limit of its own."""
    done = subprocess.run(
        support.command(box.words(*words)), stdin=subprocess.DEVNULL, capture_output=True, check=False, preexec_fn=set_limit,
        env=support.environment({"PYTHONDONTWRITEBYTECODE": "1"}), timeout=60,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("words", WRITES, ids=lambda w: " ".join(w)[:30])
def test_a_limit_on_file_size_takes_nothing_away(words: tuple[str, ...], box: Box) -> None:
    box.set("k", "old value")
    box.add("old entry")
    for size in (0, 100, 700, 2000):
        ran = clean(limited(box, words, lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))))
        assert ran.code in (0, 7), ran
        if ran.code == 0:
            return
        assert "too large" in ran.err.lower()
        assert box.get("k") == "old value"
        assert [row["text"] for row in box.data("episode", "list")] == ["old entry"]
        assert [p.name for p in box.root.rglob("*.tmp")] == []


@pytest.mark.parametrize(
    "words", [*WRITES[:2], WRITES[6], ("context",), ("fact", "list"), ("doctor",)], ids=lambda w: " ".join(w)[:30]
)
@pytest.mark.parametrize("many", [4, 5, 6, 7, 8])
def test_too_few_open_files(words: tuple[str, ...], many: int, box: Box) -> None:
    box.set("k", "old value")
    ran = limited(box, words, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (many, many)))
    if "memcli" not in ran.err and ran.code not in EXITS:
        pytest.skip("Python itself needs more")
    clean(ran)
    assert ran.code in (0, 7), ran
    assert box.get("k") in ("old value", "w" * 3000)


def unprivileged() -> list[str]:
    """Words before a command that take from root what lets it read any file; [] where the user is not root."""
    if not ROOT:
        return []
    words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs setpriv")
    return words


def without_rights(box: Box, *words: str) -> Ran:
    done = subprocess.run(
        [*unprivileged(), *map(str, support.command(box.words(*words)))], stdin=subprocess.DEVNULL, capture_output=True, check=False,
        env=support.environment({"EDITOR": "true"}),
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_fact_that_is_not_utf_8_is_not_absent(box: Box) -> None:
    box.set("k", "kingfisher")
    assert "damaged: 0" in box.ok("status").out
    box.md("k").write_bytes(box.md("k").read_bytes() + b"\xff")
    ran = refused(box.run("fact", "get", "k"), 4)
    assert "not UTF-8" in ran.err
    assert str(box.md("k")) in ran.err
    assert "damaged: 1" in box.ok("status").out
    with pytest.raises(errors.BadData, match="not UTF-8"):
        box.memory.get_fact("k")
    refused(box.run("fact", "get", "absent"), 3)


def test_a_store_without_rights_is_not_absent(box: Box) -> None:
    box.root.chmod(0)
    ran = clean(without_rights(box, "fact", "list"))
    box.root.chmod(0o700)
    assert ran.code == 7
    assert "cannot be read" in ran.err
    assert str(box.root) in ran.err
    assert "memcli init" not in ran.err


def test_a_tenant_without_rights_is_not_absent(box: Box) -> None:
    box.ok("--tenant", "two", "init")
    tenant = box.root / "tenants" / "two"
    tenant.chmod(0)
    ran = clean(without_rights(box, "--tenant", "two", "status"))
    tenant.chmod(0o700)
    assert ran.code == 7
    assert str(tenant) in ran.err


def test_one_file_without_rights_hides_no_other(box: Box) -> None:
    box.set("k", "kingfisher")
    box.set("other", "there")
    box.md("k").chmod(0)
    assert "there" in clean(without_rights(box, "fact", "list")).out
    assert "there" in clean(without_rights(box, "context")).out
    ran = clean(without_rights(box, "fact", "get", "k"))
    assert ran.code == 7
    assert "cannot read" in ran.err
    assert str(box.md("k")) in ran.err
    assert "damaged: 1" in without_rights(box, "status").out
    assert without_rights(box, "fact", "get", "absent").code == 3
    ran = clean(without_rights(box, "fact", "set", "k", "new"))
    assert ran.code in (4, 7)
    checked = without_rights(box, "check")
    assert checked.code == 4
    assert "facts/k.md" in checked.out
    box.md("k").chmod(0o600)
    assert box.get("k") == "kingfisher"
    box.side("k").chmod(0)
    assert "kingfisher" not in without_rights(box, "context").out
    assert without_rights(box, "fact", "get", "k").code == 6
    box.side("k").chmod(0o600)


@pytest.mark.parametrize("part", ["", "memcli.toml", "facts", "episodes", ".memcli"])
@pytest.mark.parametrize("mode", [0, 0o500])
def test_a_part_without_rights_is_one_clear_line(part: str, mode: int, box: Box) -> None:
    box.set("k", "v")
    path = box.root / part
    path.chmod(mode)
    try:
        for words in (
            ("fact", "list"),
            ("context",),
            ("status",),
            ("check",),
            ("doctor",),
            *WRITES[:2],
            ("episode", "add", "x"),
            ("fact", "edit", "k"),
        ):
            ran = clean(without_rights(box, *words))
            assert ran.code in (0, 3, 4, 7), (words, ran)
            if mode == 0 and part in ("memcli.toml", "facts") and words[:2] != ("episode", "add"):
                assert ran.code in (3, 4, 7), (words, ran)
    finally:
        path.chmod(0o700)
    assert box.get("k") in ("v", "w" * 3000)


# The person's editor.


EDITORS: dict[str, tuple[str, int]] = {
    "nothing": ("true", 0),
    "fails": ("false", 7),
    "not there": ("/none/editor", 7),
    "no program": ("/etc/passwd", 7),
    "a quote without end": ('"', 2),
    "takes the file away": ("rm -f", 7),
    "empties the file": ("truncate -s 0", 0),
    "not UTF-8": ('sh -c \'printf "\\377" > "$0"\'', 2),
    "too large": ("truncate -s 2000000", 4),
    "puts a link there": ('sh -c \'rm "$0"; ln -s /etc/passwd "$0"\'', 4),
    "puts a folder there": ('sh -c \'rm "$0"; mkdir "$0"\'', 4),
    "puts a FIFO there": ('sh -c \'rm "$0"; mkfifo "$0"\'', 4),
    "dies": ("sh -c 'kill -9 $$'", 7),
}


@pytest.mark.parametrize(("editor", "code"), EDITORS.values(), ids=EDITORS)
@pytest.mark.parametrize("name", ["EDITOR", "VISUAL"])
def test_an_odd_editor_changes_nothing_by_accident(name: str, editor: str, code: int, box: Box) -> None:
    box.set("k", "v")
    ran = clean(support.spawn(box.words("fact", "edit", "k"), env={name: editor}))
    assert ran.code == code, ran
    assert box.get("k") == ("" if "size" in editor or "-s 0" in editor else "v")
    assert [p.name for p in (box.root / ".memcli").glob("edit-*") if p.is_file()] == []


KEPT: dict[str, tuple[str, int, str]] = {
    "a credential": ("password: hunter2-correct-horse", 6, "exit 0"),
    "somebody was faster": ("mine", 5, '"$MEMCLI" --store "$STORE" fact set k "theirs $$"'),
    "the editor fails": ("mine", 7, "exit 1"),
    "the editor dies": ("mine", 7, "kill -9 $$"),
}


@pytest.mark.parametrize(("text", "code", "then"), KEPT.values(), ids=KEPT)
def test_a_text_that_is_refused_is_kept_and_the_error_says_where(
    text: str, code: int, then: str, box: Box, tmp_path: Path
) -> None:
    box.set("k", "v")
    (tmp_path / "memcli").write_text(f'#!/bin/sh\nexec {sys.executable} -m memcli "$@"\n')
    (tmp_path / "memcli").chmod(0o755)
    script = tmp_path / "editor.sh"
    script.write_text(f'#!/bin/sh\nrm "$1"\nprintf \'%s\\n\' \'{text}\' > "$1"\nchmod 644 "$1"\n{then}\n')
    env = {"EDITOR": f"sh {script}", "MEMCLI": str(tmp_path / "memcli"), "STORE": str(box.root)}
    ran = clean(support.spawn(box.words("fact", "edit", "k", "--json"), env=env))
    assert ran.code == code, ran
    place = re.search(r"your text is kept in (\S+\.md)", ran.error["hint"])
    assert place is not None
    kept = Path(place[1])
    assert kept.read_text() == f"{text}\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert text not in ran.err
    assert support.spawn(box.words("fact", "edit", "k"), env=env).code == code
    assert len(list((box.root / ".memcli").glob("kept-*"))) == 2  # the second took nothing of the first away


def test_an_edit_that_is_taken_or_changes_nothing_keeps_no_copy(box: Box) -> None:
    box.set("k", "v")
    for editor in ("sh -c 'echo w > \"$0\"'", "true", "false", "rm -f"):
        support.spawn(box.words("fact", "edit", "k"), env={"EDITOR": editor})
    assert box.get("k") == "w"
    assert [p.name for p in (box.root / ".memcli").iterdir() if p.name.startswith(("edit-", "kept-"))] == []


def test_a_blank_editor_is_none(box: Box, tmp_path: Path) -> None:
    """Off a terminal no editor is started that nobody named."""
    (tmp_path / "vi").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "vi").chmod(0o755)
    box.set("k", "v")
    for value in ("", "  "):
        ran = support.spawn(
            box.words("fact", "edit", "k"), env={"EDITOR": value, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        )
        assert (ran.code, ran.out) == (2, "")
        assert "EDITOR" in ran.err
    assert not (tmp_path / "started").exists()


def test_ctrl_c_is_130_and_says_nothing(box: Box) -> None:
    process = subprocess.Popen(
        support.command(box.words("fact", "set", "k", "-")), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=support.environment(),
    )  # fmt: skip
    try:
        import time

        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert box.run("fact", "get", "k").code == 3


# Secrets and the list of processes, which everybody can read.


@pytest.mark.parametrize(
    "words",
    [
        ("fact", "set", "k", "-", "--sensitivity", "restricted", "--allow-secret"),
        ("episode", "add", "-", "--sensitivity", "restricted", "--allow-secret"),
        ("remember", "-", "--sensitivity", "restricted", "--allow-secret"),
        ("work", "set", "k", "-", "--session", "s", "--sensitivity", "restricted", "--allow-secret"),
        ("scrub",),
    ],
    ids=" ".join,
)
def test_a_value_need_not_be_on_the_command_line(words: tuple[str, ...], box: Box) -> None:
    value = "the pass" + "word is " + "x9Kq" * 4 + "!7"
    ran = clean(box.run(*words, stdin=value.encode()))
    assert ran.code == 0, ran
    assert "command line" not in ran.err
    assert value not in ran.out + ran.err


def test_a_restricted_value_on_the_command_line_is_warned_of(box: Box) -> None:
    ran = box.ok("fact", "set", "k", "for nobody else", "--sensitivity", "restricted")
    assert "pass it on stdin" in ran.err
