"""A damaged or missing index costs time, never answers; what is no index of ours is left alone or replaced."""

import contextlib
import fcntl
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Box, at, environment

from memcli.base import errors
from memcli.engine import context
from memcli.index import database, refresh

from . import common
from .play import Play

NOW = at()
HARM = tuple[str, Callable[[Box], None]]


@pytest.fixture
def told(sample: Box, monkeypatch: pytest.MonkeyPatch) -> Box:
    """The sample store with an index."""
    common.Ticks(monkeypatch)
    refresh.ask(sample.store, lambda con: None)
    return sample


@pytest.fixture
def queries() -> tuple[str, ...]:
    return ("deploy", "bilings queue", "")


def everything(box: Box, words: tuple[str, ...]) -> Any:
    """What search and context say."""
    found: dict[str, Any] = common.answers(box.store, NOW, words)
    block = context.build(box.store, context.Query(task=words[0]), now=NOW, limit=context.Budget(amount=3000))
    account = next(line for line in block.text.splitlines() if "shown " in line)
    return found | {"block": [(c.record.id, c.record.text) for c in block.shown], "account": account.partition(": ")[2]}


def harms() -> list[HARM]:
    """Ways to spoil the files of an index."""

    def at_length(length: Callable[[int], int]) -> Callable[[Box], None]:
        def cut(box: Box) -> None:
            path = common.database(box)
            os.truncate(path, length(path.stat().st_size))

        return cut

    def filled(start: int, stop: int, seed: int = 0) -> Callable[[Box], None]:
        def fill(box: Box) -> None:
            path = common.database(box)
            data = bytearray(path.read_bytes())
            last = stop or len(data)
            data[start:last] = random.Random(seed).randbytes(len(data[start:last]))
            path.write_bytes(data)

        return fill

    def pages(seed: int) -> Callable[[Box], None]:
        def fill(box: Box) -> None:
            path, r = common.database(box), random.Random(seed)
            data = bytearray(path.read_bytes())
            for _ in range(4):
                page = r.randrange(1, len(data) // 4096) * 4096
                data[page : page + 4096] = r.randbytes(4096)
            path.write_bytes(data)

        return fill

    def replaced(make: Callable[[Path], object], tail: str = "") -> Callable[[Box], None]:
        def put(box: Box) -> None:
            path = common.database(box)
            path = path.with_name(path.name + tail)
            path.unlink(missing_ok=True)
            make(path)

        return put

    def foreign(path: Path) -> None:
        con = sqlite3.connect(path)
        con.executescript(
            "CREATE TABLE meta(name, value); CREATE TABLE record(x); INSERT INTO meta VALUES('made_of', 'me')"
        )
        con.close()

    def schema(value: str) -> Callable[[Box], None]:
        def change(box: Box) -> None:
            con = common.raw(box)
            con.execute("UPDATE meta SET value = ? WHERE name = 'made_of'", (value,))
            con.close()

        return change

    def sql(script: str) -> Callable[[Box], None]:
        def change(box: Box) -> None:
            con = common.raw(box)
            con.executescript(script)
            con.close()

        return change

    def future(box: Box) -> None:
        for p in [*common.index_files(box), *(box.root / "facts").iterdir(), box.root / "facts", box.log()]:
            if p.exists():
                os.utime(p, (4e9, 4e9))

    def each(acts: Iterable[Callable[[], object]]) -> None:
        for act in acts:
            act()

    listed: list[HARM] = [
        ("deleted", lambda box: common.database(box).unlink()),
        ("all deleted", lambda box: each(p.unlink for p in (box.root / ".memcli").glob("index.*"))),
        ("no state folder", lambda box: shutil.rmtree(box.root / ".memcli")),
        *((f"cut to {n}", at_length(lambda size, n=n: n)) for n in (0, 1, 15, 16, 99, 100, 512, 4095, 4096, 4097)),
        *((f"cut at {n}/8", at_length(lambda size, n=n: size * n // 8)) for n in range(1, 8)),
        ("one byte short", at_length(lambda size: size - 1)),
        ("all garbage", filled(0, 0)),
        ("the header garbage", filled(0, 100)),
        ("the first page garbage", filled(100, 4096)),
        ("the end garbage", filled(8192, 0)),
        *((f"pages garbage {n}", pages(n)) for n in range(8)),
        ("an older schema", schema("1 1/1 180 0")),
        ("a newer schema", schema("99999 9/9 180 0")),
        ("a foreign database", replaced(foreign)),
        ("a text", replaced(lambda p: p.write_text("nothing"))),
        ("a link", replaced(lambda p: p.symlink_to("/dev/zero"))),
        ("a link to nowhere", replaced(lambda p: p.symlink_to("nowhere"))),
        ("a folder", replaced(lambda p: p.mkdir())),
        ("a fifo", replaced(lambda p: os.mkfifo(p))),
        *(
            (f"{name} in place of {tail}", replaced(make, tail))
            for tail in ("-wal", "-shm", "-journal")
            for name, make in (
                ("a link", lambda p: p.symlink_to("/dev/zero")),
                ("a folder", lambda p: p.mkdir()),
                ("a fifo", lambda p: os.mkfifo(p)),
                ("garbage", lambda p: p.write_bytes(random.Random(1).randbytes(5000))),
            )
        ),
        ("a table lost", sql("DROP TABLE stems")),
        ("the full text lost", sql("DELETE FROM words_data")),
        ("a folder unknown", sql("DELETE FROM folder")),
        ("odd stamps", sql("UPDATE folder SET checked_ns = 'then', times = 7, names = 5")),
        ("odd meta", sql("UPDATE meta SET value = 'x' WHERE name != 'made_of'")),
        ("future times", future),
        ("the greatest number", lambda box: (box.root / ".memcli" / ("index." + "9" * 15 + ".sqlite")).touch()),
        ("a number too great", lambda box: (box.root / ".memcli" / ("index." + "9" * 40 + ".sqlite")).touch()),
        (
            "index.new a folder",
            lambda box: each([common.database(box).unlink, (box.root / ".memcli" / "index.new").mkdir]),
        ),
        ("the lock a folder", lambda box: each([_lock(box).unlink, _lock(box).mkdir, common.database(box).unlink])),
        (
            "the lock a link",
            lambda box: each([_lock(box).unlink, lambda: _lock(box).symlink_to("x"), common.database(box).unlink]),
        ),
        ("touched a folder", lambda box: each([lambda: _touched(box).unlink(missing_ok=True), _touched(box).mkdir])),
    ]
    return listed


def _lock(box: Box) -> Path:
    return box.root / ".memcli" / database.LOCK


def _touched(box: Box) -> Path:
    return box.root / ".memcli" / database.TOUCHED


@pytest.mark.parametrize("harm", harms(), ids=lambda h: h[0])
def test_a_damaged_index_gives_the_same_answers(told: Box, harm: HARM, queries: tuple[str, ...]) -> None:
    before = everything(told, queries)
    harm[1](told)
    outside = common.outside(told)
    assert everything(told, queries) == before
    told.set("after the harm", "a lantern")
    assert [h.record.key for h in told.memory.search("lantern")] == ["after the harm"]
    told.ok("forget", "after the harm", "--yes")
    kept = {p: seen for p, seen in common.outside(told).items() if "/facts" not in p and p != str(told.root)}
    assert kept == {p: seen for p, seen in outside.items() if p in kept}
    assert {p for p in common.outside(told) if "/facts" not in p} <= outside.keys()


@pytest.mark.full
def test_200_queries_after_each_of_8_damages(told: Box) -> None:
    r = random.Random(5)
    listed = [w for text in (p.read_text() for p in (told.root / "facts").glob("*.md")) for w in text.split()]
    words = tuple(" ".join(r.sample(listed, r.randint(1, 4))) for _ in range(200))
    before = common.answers(told.store, NOW, words)
    for name, harm in [h for h in harms() if h[0] in (
        "deleted", "cut at 4/8", "all garbage", "an older schema", "a link", "future times", "pages garbage 0", "the header garbage",
    )]:  # fmt: skip
        harm(told)
        assert common.answers(told.store, NOW, words) == before, name


@pytest.mark.parametrize("seed", range(12))
def test_plausible_bytes_in_a_page_never_make_a_text_wrong(told: Box, seed: int) -> None:
    """A page of rows is overwritten with another of its kind: answers may be fewer or more, never false."""
    texts = {f.id: f.text for f in told.memory.facts(clearance="restricted", now=NOW)}
    texts |= {e.id: e.text for e in told.memory.episodes(clearance="restricted", now=NOW)}
    path, r = common.database(told), random.Random(seed)
    data = bytearray(path.read_bytes())
    last = len(data) // 4096
    one, other = r.randrange(2, last), r.randrange(2, last)
    data[one * 4096 : (one + 1) * 4096] = data[other * 4096 : (other + 1) * 4096]
    path.write_bytes(data)
    for word in ("deploy", "billing", "the queue", "postgres", ""):
        for hit in told.memory.search(word, now=NOW):
            if hit.record.id in texts:
                assert hit.record.text == texts[hit.record.id]
                assert hit.record.sensitivity <= 1


def test_a_label_in_a_false_row_does_not_hold(told: Box) -> None:
    """Rows tell what to read; the files tell who may see it."""
    told.set("quiet", "a lantern at night")
    made = told.add("a lantern in the day")
    refresh.ask(told.store, lambda con: None)
    for path in (told.md("quiet"), told.side("quiet")):
        path.write_bytes(path.read_bytes().replace(b"internal", b"restricted"))
    with told.log().open("ab") as f:
        f.write(f"<!-- raise {made} restricted -->\n".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "_bring_up", lambda *_, **__: None)
        assert [h.record.text for h in told.memory.search("lantern", now=NOW)] == []


# Where nothing can be written


@contextlib.contextmanager
def read_only(box: Box) -> Iterator[None]:
    """The store as a user sees it who may not write."""
    for p in [box.root, *box.root.rglob("*")]:
        p.chmod(0o555 if p.is_dir() else 0o444)
    try:
        yield
    finally:
        for p in [box.root, *box.root.rglob("*")]:
            if p.exists():
                p.chmod(0o755 if p.is_dir() else 0o644)


def stranger(*words: str) -> list[str]:
    """A command of this environment as a user who owns nothing."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, *words]


def reaches_us() -> bool:
    """Whether such a user can run what is installed here: an environment in a private folder is closed to him."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return False
    return subprocess.run(stranger("-c", "import memcli.cli.main"), capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not reaches_us(), reason="needs root, setpriv and an environment that others can read")
@pytest.mark.parametrize("state", ["with", "stale", "without"])
def test_a_reader_who_may_not_write_gets_the_same_answers(told: Box, state: str) -> None:
    if state == "without":
        shutil.rmtree(told.root / ".memcli")
    if state == "stale":
        (told.root / "facts" / "newer.md").write_text("---\nsensitivity: public\n---\n\ndeploy a lantern\n")
    expected = [h.record.key for h in told.memory.search("deploy", now=NOW) if hasattr(h.record, "key")]
    if state == "without":
        shutil.rmtree(told.root / ".memcli")
    for p in told.root.parents:
        if str(p).startswith("/tmp/pytest"):
            p.chmod(0o755)
    with read_only(told):
        before = told.tree(state=True, index=True)
        done = subprocess.run(
            stranger("-m", "memcli", *told.words("search", "deploy", "--json")),
            capture_output=True, env=environment({"PYTHONDONTWRITEBYTECODE": "1"}), text=True, timeout=60, check=False,
        )  # fmt: skip
        if "Permission denied" in done.stderr and "memcli: " not in done.stderr:
            pytest.skip("that user cannot start this Python")
        assert done.returncode == 0, done.stderr
        assert told.tree(state=True, index=True) == before
    assert [h["key"] for h in json.loads(done.stdout)["data"] if "key" in h] == expected


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_state_folder_that_is_none_only_costs_time(
    told: Box, kind: str, queries: tuple[str, ...], tmp_path: Path
) -> None:
    before = everything(told, queries)
    state = told.root / ".memcli"
    shutil.rmtree(state)
    (tmp_path / "elsewhere").mkdir()
    state.write_text("x") if kind == "file" else state.symlink_to(tmp_path / "elsewhere")
    assert everything(told, queries) == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_path_that_sqlite_cannot_take_only_costs_time(told: Box, queries: tuple[str, ...], tmp_path: Path) -> None:
    before = everything(told, queries)
    deep = tmp_path / "/".join(["d" * 200] * 4)
    deep.parent.mkdir(parents=True)
    shutil.copytree(told.root, deep)
    assert everything(Box(deep), queries) == before


@pytest.mark.parametrize(
    "name", ["with space", "with%20percent", "with?question#hash", "with'quote\"", "ключ", "\udcff"]
)
def test_any_path_has_its_index(told: Box, name: str, tmp_path: Path) -> None:
    root = tmp_path / name
    shutil.copytree(told.root, root)
    shutil.rmtree(root / ".memcli")
    box = Box(root)
    assert everything(box, ("deploy",)) == everything(told, ("deploy",))
    assert common.database(box).stat().st_size > 4096
    assert sorted(p.name for p in tmp_path.iterdir() if "sqlite" in p.name) == []


def test_a_lock_that_somebody_holds_only_costs_time(
    told: Box, queries: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(told, queries)
    monkeypatch.setattr(database, "_WAIT_SECONDS", 0.05)
    with _lock(told).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert everything(told, queries) == before  # nobody has to wait for an index that is there
        common.database(told).unlink()
        assert everything(told, queries) == before
        assert common.index_files(told) == []


def test_a_writer_in_the_database_only_costs_time(
    told: Box, queries: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(told, queries)
    monkeypatch.setattr(database, "_WAIT_SECONDS", 0.05)
    other = common.raw(told)
    other.execute("BEGIN IMMEDIATE")
    (told.root / "facts" / "newer.md").write_text("---\nsensitivity: restricted\n---\n\nnothing\n")
    found = everything(told, queries)
    other.close()
    assert {k: v[0] for k, v in found.items() if k in queries} == {k: v[0] for k, v in before.items() if k in queries}


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to mount")
@pytest.mark.parametrize("kilobytes", [4, 40, 200, 400])
def test_a_full_disk_only_costs_time(told: Box, kilobytes: int, queries: tuple[str, ...]) -> None:
    before = everything(told, queries)
    state = told.root / ".memcli"
    shutil.rmtree(state)
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(state)], check=False).returncode:
        pytest.skip("may not mount")
    try:
        assert everything(told, queries) == before
        (told.root / "facts" / "newer.md").write_text("---\nsensitivity: restricted\n---\n\nnothing\n")
        (state / "ballast").write_bytes(b"")
        with contextlib.suppress(OSError), (state / "ballast").open("wb") as f:
            while True:
                f.write(b"x" * 1024)
                f.flush()
        found = everything(told, queries)
        assert {k: v[0] for k, v in found.items() if k in queries} == {
            k: v[0] for k, v in before.items() if k in queries
        }
        assert not [p for p in state.iterdir() if p.name == "index.new"]
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


# What is no damage must not look like one


def test_a_fault_in_a_question_is_not_hidden(told: Box) -> None:
    def wrong(con: Any) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        refresh.ask(told.store, wrong)
    with pytest.raises(errors.UsageError):
        told.memory.block("x", budget=1)


def test_a_long_play_never_takes_a_sound_index_for_a_damaged_one(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net under a damaged index must not catch faults of ours."""
    common.Ticks(monkeypatch)
    plain, built = database.build, []
    monkeypatch.setattr(database, "build", lambda *a, **k: (built.append(k), plain(*a, **k))[1])
    game = Play(box, 77)
    for _ in range(60):
        game.step()
        refresh.ask(box.store, lambda con: None)
    assert [k for k in built if k.get("anew")] == []


def test_files_of_an_older_index_are_removed(told: Box) -> None:
    """Whoever had just opened it may have left a log with words of records."""
    old = told.root / ".memcli" / "index.7.sqlite-wal"
    old.write_bytes(b"words")
    refresh.ask(told.store, lambda con: None)
    assert not old.exists()


def test_no_number_is_given_twice(told: Box) -> None:
    seen = set()
    for _ in range(5):
        path = common.database(told)
        assert path.name not in seen
        seen.add(path.name)
        for p in (told.root / ".memcli").glob("index.*"):
            p.unlink()
        time.sleep(0.002)
        refresh.ask(told.store, lambda con: None)


def test_texts_that_sqlite_cannot_hold_never_reach_it(box: Box) -> None:
    """A hand may write half a surrogate pair into JSON; what holds one is no record."""
    box.set("plain", "a lantern")
    box.add("a lantern")
    data = box.log().read_text()
    box.log().write_text(data.replace('"source":', '"task":"half \\ud800 pair","session":"\\udfff","source":'))
    (box.root / "facts" / "hand.md").write_text('---\nkey: "x \\ud800"\nsensitivity: internal\n---\n\na lantern\n')
    common.same(box, NOW)
    assert [h.record.text for h in box.memory.search("lantern", now=NOW)] == ["a lantern"]
