"""What the index keeps on disk: nothing of records above internal, nothing of secrets, nothing of what was taken away."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support import Box, at, environment, spawn

from memcli.index import database, refresh
from memcli.store import episodes

from . import common

NOW = at()
# A word that is its own stem.
CANARY = "zanzibar"
# Secrets of kinds that the scanner knows, made up.
SECRETS = ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "AKIA" + "QWERTYUIOP123456", "jane.roe@example.com")


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> common.Ticks:
    return common.Ticks(monkeypatch)


def look(box: Box) -> None:
    refresh.ask(box.store, lambda con: None)


def holds(box: Box, *words: str) -> list[str]:
    """Which of the words stand in the files of the index, in whatever case; a stem is found in its word."""
    data = common.bytes_of(box).lower()
    return [w for w in words if w.lower().encode() in data]


@pytest.mark.parametrize("label", ["sensitive", "restricted"])
@pytest.mark.parametrize("built", [False, True])
def test_nothing_of_a_record_above_internal_is_kept(box: Box, label: str, built: bool) -> None:
    """built: the index was there before, so that the records come in one by one."""
    if built:
        look(box)
    box.set("plain", "a lantern", "--sensitivity", "internal")
    box.set(
        f"{CANARY} key", f"{CANARY} text", "--sensitivity", label, "--tag", f"{CANARY}tag", "--domain", f"{CANARY}domain",
        "--source", f"user:{CANARY}source", "--run", f"{CANARY}run", "--check", f"path:{CANARY}",
        "--derived-from", f"{CANARY} parent",
    )  # fmt: skip
    box.add(
        f"{CANARY} words", "--sensitivity", label, "--task", f"{CANARY} task", "--session", f"{CANARY} session",
        "--concept", f"{CANARY} concept", "--tag", f"{CANARY}tag",
    )  # fmt: skip
    box.memory.propose_procedure(
        f"{CANARY} way",
        (f"one: {CANARY}",),
        now=NOW,
        sensitivity=label,
        title=f"{CANARY} title",
        task_type=f"{CANARY} type",
    )
    look(box)
    assert holds(box, CANARY, "lantern") == ["lantern"]


def raised(box: Box, how: str) -> None:
    """Raises the label of the fact `quiet` by one of the ways there are."""
    md, side = box.md("quiet"), box.side("quiet")
    if how == "by memcli":
        box.set("quiet", f"{CANARY} sings", "--sensitivity", "restricted")
    elif how == "in the text":
        common.edit(md, md.read_bytes().replace(b"internal", b"restricted"))
    elif how == "in the sidecar":
        common.edit(side, side.read_bytes().replace(b'"internal"', b'"restricted"'))
    elif how == "by damage":
        common.edit(side, b"{")
    elif how == "by a rename":
        for p in (md, side):
            p.with_name(p.name.replace("quiet", "other")).write_bytes(
                p.read_bytes().replace(b"internal", b"restricted")
            )
            p.unlink()
    elif how == "by a rival":
        for p in (md, side):
            p.with_name(p.name.replace("quiet", "other")).write_bytes(
                p.read_bytes().replace(b"internal", b"restricted")
            )
    else:
        md.write_bytes(md.read_bytes().replace(b"\n---\n", b"\n<<<<<<< ours\n---\n", 1))


HOWS = ("by memcli", "in the text", "in the sidecar", "by damage", "by a rename", "by a rival", "by conflict markers")


@pytest.mark.parametrize("how", HOWS)
def test_after_a_label_is_raised_the_old_text_is_gone_from_the_disk(box: Box, how: str, ticks: common.Ticks) -> None:
    look(box)
    for n in range(30):
        box.set(f"key {n}", f"lantern {n} and meadow")
    box.set("quiet", f"{CANARY} sings")
    look(box)
    ticks.rest()
    look(box)
    assert holds(box, CANARY) == [CANARY]
    raised(box, how)
    look(box)
    assert holds(box, CANARY) == []
    common.same(box, NOW)


@pytest.mark.parametrize("how", ["a line", "an edit", "an amended end", "import"])
def test_after_an_episode_is_raised_its_text_is_gone_from_the_disk(box: Box, how: str, ticks: common.Ticks) -> None:
    look(box)
    made = box.add(f"{CANARY} sings", "--session", "one")
    box.add("a lantern")
    look(box)
    ticks.rest()
    look(box)
    assert holds(box, CANARY) == [CANARY]
    data = box.log().read_bytes()
    if how == "a line":
        box.log().write_bytes(data + f"<!-- raise {made} restricted -->\n".encode())
    elif how == "an edit":
        common.edit(box.log(), data.replace(b'"sensitivity":"internal"', b'"sensitivity":"restricted"'))
    elif how == "an amended end":
        common.edit(box.log(), data.replace(f"end {made} internal".encode(), f"end {made} what".encode()))
    else:
        with box.store.writing() as w:
            entry = next(e for e in episodes.newest(box.store) if e.id == made)
            from memcli.model import labels

            episodes.raise_label(w, entry, labels.SENSITIVE)
    look(box)
    assert holds(box, CANARY) == []
    common.same(box, NOW)


def test_a_reader_that_stands_in_the_way_only_puts_it_off(box: Box, ticks: common.Ticks) -> None:
    """The write-ahead log cannot be emptied while somebody reads an older state; the next look does it."""
    box.set("quiet", f"{CANARY} sings")
    box.set("plain", "lantern")
    look(box)
    ticks.rest()
    look(box)
    other = common.raw(box)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM record").fetchone()
    raised(box, "in the sidecar")
    look(box)
    other.execute("COMMIT")
    other.close()
    look(box)
    assert holds(box, CANARY) == []


@pytest.mark.parametrize("prove", [(), ("--prove",)])
def test_after_a_purge_nothing_is_left(box: Box, prove: tuple[str, ...]) -> None:
    look(box)
    box.set(f"{CANARY} key", f"{CANARY} text")
    box.set("other", "a lantern")
    made = box.add("timbuktu words")
    box.memory.propose_procedure("way", ("one: harbour",), now=NOW)
    look(box)
    assert holds(box, CANARY, "timbuktu", "harbour") == [CANARY, "timbuktu", "harbour"]
    box.ok("forget", f"{CANARY} key", "--purge", "--yes", *prove)
    assert holds(box, CANARY) == []
    look(box)
    box.ok("forget", made, "--purge", "--yes", *prove)
    assert holds(box, CANARY, "timbuktu") == []
    look(box)
    assert holds(box, CANARY, "timbuktu", "lantern") == ["lantern"]


def test_an_index_that_is_built_while_the_state_folder_is_cleaned_is_thrown_away(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git clean` knows no lock: what was read before it must not come back after it."""
    box.set(f"{CANARY} key", f"{CANARY} text")
    plain = refresh._fill

    def slow(con: object, store: object, *more: object) -> None:
        plain(con, store, *more)  # type: ignore[arg-type]
        monkeypatch.setattr(refresh, "_fill", plain)
        for p in [*(box.root / ".memcli").glob("index.*"), box.md(f"{CANARY} key"), box.side(f"{CANARY} key")]:
            p.unlink()
        (box.root / ".memcli" / database.LOCK).touch()  # and somebody else has begun
        (box.root / ".memcli" / "index.new").touch()

    monkeypatch.setattr(refresh, "_fill", slow)
    look(box)
    assert holds(box, CANARY) == []


def test_an_index_that_comes_back_during_a_purge_learns_no_name_of_it(box: Box) -> None:
    """Another reader may build one between the erasing and the end of the purge."""
    look(box)
    box.set(f"{CANARY} key", "text")
    name = box.md(f"{CANARY} key").stem
    look(box)
    with box.store.writing() as w:
        w.note({"layer": "facts", "name": name, "drop": True})
        for p in [*(box.root / ".memcli").glob("index.*"), box.md(f"{CANARY} key"), box.side(f"{CANARY} key")]:
            p.unlink()
        look(box)
    assert holds(box, CANARY) == []


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_that_a_hand_wrote_are_masked(box: Box, secret: str) -> None:
    look(box)
    md, side = "---\nkey: k {0}\nsensitivity: internal\ntags: [x {0}]\n---\n\na lantern {0}\n", {
        "format": 1, "id": "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d", "key": f"k {secret}", "source": {"id": secret, "kind": "user"},
        "confidence": 0.6, "ttl_minutes": 0, "sensitivity": "internal", "importance": 0.5, "created_at": "2026-11-15T09:00:00Z",
        "updated_at": "2026-11-15T09:00:00Z", "body_sha256": "0" * 64, "domain": secret,
    }  # fmt: skip
    (box.root / "facts").mkdir(exist_ok=True)
    (box.root / "facts" / "hand.md").write_text(md.format(secret))
    (box.root / "facts" / "hand.meta.json").write_text(json.dumps(side))
    (box.root / "facts" / "bare.md").write_text(md.format(secret).replace("k ", "l "))
    box.add("a harbour in words")
    data = box.log().read_text().replace("a harbour", f"a harbour {secret}")
    for field in ("task", "session", "run"):
        data = data.replace('"source":', f'"{field}":"{secret}","source":', 1)
    data = data.replace('"source":{"id":', f'"concepts":["{secret}"],"source":{{"via":"{secret}","id":"{secret} ')
    box.log().write_text(data.replace(f'{secret} "', f"{secret} "))
    look(box)
    common.same(box, NOW)
    rows = refresh.ask(box.store, lambda con: con.execute("SELECT layer, level FROM record").fetchall())
    assert len(rows) == 3, "all of them are read"
    assert all(level == 1 for _, level in rows)
    assert holds(box, secret, secret.split("@")[0], "lantern", "harbour") == ["lantern", "harbour"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_are_private_whatever_the_umask(box: Box, umask: int) -> None:
    script = (
        "import sys, os; from memcli.store.folder import open_store; from memcli.index import refresh; s = open_store(sys.argv[1])\n"
        "def look(con): print(*[f'{n}:{os.stat(os.path.join(s.root, \".memcli\", n)).st_mode & 0o777:o}' for n in"
        " os.listdir(os.path.join(s.root, '.memcli'))])\n"
        "refresh.ask(s, look); open(os.path.join(s.root, 'facts', 'a.md'), 'w').write('x'); refresh.ask(s, look)"
    )

    box.set("plain", "lantern")
    done = subprocess.run(
        [sys.executable, "-c", script, str(box.root)],
        env=environment(),
        umask=umask,
        capture_output=True,
        text=True,
        check=True,
    )
    seen = dict(pair.split(":") for pair in done.stdout.split())
    assert any(n.endswith("-wal") for n in seen)
    assert spawn([*box.words("fact", "set", "more", "words")], umask=umask).code == 0
    for p in (box.root / ".memcli").iterdir():
        if p.is_file():
            assert stat.S_IMODE(p.stat().st_mode) == 0o600, p
    assert {n: m for n, m in seen.items() if n.startswith("index.") and m != "600"} == {}


def test_nothing_is_written_outside_the_state_folder(box: Box, tmp_path: Path) -> None:
    """SQLite sorts large amounts in files of its own in /var/tmp, unless it is told not to."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    box.set("plain", "lantern")
    numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 60000)"
    large = f"{numbers} SELECT randomblob(50) FROM c ORDER BY 1"
    script = (
        "import sys; from memcli.index import refresh; from memcli.store.folder import open_store\n"
        f"refresh.ask(open_store(sys.argv[1]), lambda con: con.execute({large!r}).fetchone())"
    )
    log = tmp_path / "trace"
    traced = ["strace", "-f", "-o", str(log), "-e", "trace=openat,open,creat", sys.executable, "-c", script]
    env = environment({"PYTHONDONTWRITEBYTECODE": "1"})
    subprocess.run([*traced, str(box.root)], env=env, check=True, capture_output=True, timeout=120)
    written = [line for line in log.read_text().splitlines() if "O_CREAT" in line and "ENOENT" not in line]
    assert written
    assert [w for w in written if "index." not in w] == []


def test_the_index_counts_nobody_s_key_in_clear(box: Box) -> None:
    """What finds two files of one key is a hash."""
    box.set(f"{CANARY} key", "x", "--sensitivity", "restricted")
    look(box)
    columns = refresh.ask(box.store, lambda con: con.execute("SELECT * FROM record").fetchall())
    assert CANARY not in repr(columns)
    assert os.path.exists(box.root / ".memcli" / database.LOCK)
