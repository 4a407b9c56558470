"""Many writers through the library: every acknowledged fact is there, and one key has one history that all agree on."""

import errno
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from figures import Record
from support import Box, command, environment

from memcli.store import facts

from .register import Op, violations
from .test_processes import FULL, script

# Order is at stake here, not durability, which tests/crash proves: no writer waits for a disk.
START = """
import json, os, sys, time
from memcli.base import files
files.fsync = lambda fd: None
import memcli
from memcli.base import clock, errors
m = memcli.open(sys.argv[1])
now = clock.parse("2026-11-15T09:00:00Z")
print("ready", flush=True)
sys.stdin.readline()
"""
WRITE = (
    START
    + """
for n in range(int(sys.argv[3])):
    m.set_fact(f"writer {sys.argv[2]} fact {n}", f"{sys.argv[2]}/{n}", now=now)
"""
)


@pytest.fixture
def quick(box: Box) -> Iterator[Box]:
    """A store in memory where there is some."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        moved = Box(Path(folder) / "store")
        shutil.copytree(box.root, moved.root)
        yield moved


def together(programs: "list[subprocess.Popen[str]]", seconds: float) -> list[str]:
    """Start at once when all are ready; what each said after that."""
    for p in programs:
        assert p.stdout is not None
        assert p.stdout.readline() == "ready\n"
    for p in programs:
        assert p.stdin is not None
        p.stdin.write("go\n")
        p.stdin.flush()
    with ThreadPoolExecutor(len(programs)) as pool:  # a full pipe stops its writer
        said = [out for out, _ in pool.map(lambda p: p.communicate(timeout=seconds), programs)]
    assert [p.returncode for p in programs] == [0] * len(programs)
    return said


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("writers", "each"), [(8, 50), pytest.param(64, 1_000, marks=FULL)])
def test_writers_through_the_library_lose_nothing(quick: Box, writers: int, each: int, figure: Record) -> None:
    together([script(WRITE, quick.root, w, each) for w in range(writers)], 1100)
    held = {f.key: f.text for f in facts.every(quick.store)}
    wanted = {f"writer {w} fact {n}": f"{w}/{n}" for w in range(writers) for n in range(each)}
    lost = [key for key, text in wanted.items() if held.get(key) != text]
    assert lost == []
    assert len(held) == len(wanted)
    figure("library writers: facts lost", len(wanted), bad=len(lost))


# One register: each operation with the time at which it began and ended.

OPERATE = (
    START
    + """
rows = []
for n in range(int(sys.argv[3])):
    began = time.monotonic_ns()
    if sys.argv[4] == "write":
        said = f"{sys.argv[2]}/{n}"
        m.set_fact("register", said, now=now)
    else:
        try:
            said = m.get_fact("register", now=now).text
        except errors.NotFound:
            said = ""
    rows.append([sys.argv[4], said, began, time.monotonic_ns()])
print(json.dumps(rows))
"""
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("each", [40, pytest.param(334, marks=FULL)])
def test_the_history_of_one_key_is_linearizable(quick: Box, each: int, figure: Record) -> None:
    doing = ["write"] * 4 + ["read"] * 2
    said = together([script(OPERATE, quick.root, n, each, what) for n, what in enumerate(doing)], 500)
    ops = [Op(*row) for text in said for row in json.loads(text)]
    # The chain of values is the order in which the writes took effect: the program itself says which.
    order = [row["text"] for row in quick.data("fact", "history", "register")][::-1]
    assert sorted(order) == sorted(op.value for op in ops if op.kind == "write")
    bad = violations(ops, order)
    assert bad == []
    figure("register history: not linearizable", len(ops), bad=len(bad))


GOOD = [
    Op("write", "a", 0, 2),
    Op("read", "", 0, 1),
    Op("read", "a", 1, 3),
    Op("write", "b", 3, 5),
    Op("read", "b", 4, 6),
]


@pytest.mark.parametrize(
    ("odd", "order"),
    [
        (Op("read", "a", 6, 7), ["a", "b"]),  # stale
        (Op("read", "", 3, 4), ["a", "b"]),  # empty after a write had ended
        (Op("read", "b", 0, 1), ["a", "b"]),  # from the future
        (Op("read", "c", 0, 1), ["a", "b"]),  # never written
        (Op("read", "a", 3, 4), ["b", "a"]),  # the chain contradicts the clock
    ],
)
def test_a_history_that_is_not_linearizable_is_found(odd: Op, order: list[str]) -> None:
    assert violations(GOOD, ["a", "b"]) == []
    assert violations([*GOOD, odd], order)


# A file system without locks.


@pytest.fixture(scope="module")
def no_flock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = next((c for name in ("cc", "gcc", "clang") if (c := shutil.which(name))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler (cc, gcc, clang) to build the shim, or no LD_PRELOAD")
    target = tmp_path_factory.mktemp("flock") / "flock.so"
    source = Path(__file__).with_name("flock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source], check=True)
    return target


@pytest.mark.figure("locks: stale, or an odd lock path followed")
@pytest.mark.parametrize(
    "number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL], ids=errno.errorcode.get
)
@pytest.mark.parametrize("words", [("fact", "set", "k", "w"), ("sweep", "--yes")], ids=["set", "sweep"])
def test_where_there_are_no_locks_nothing_is_written_and_readers_work(
    box: Box, no_flock: Path, number: int, words: tuple[str, ...]
) -> None:
    box.set("k", "v", "--ttl", "1h")
    before = box.tree()
    env = environment({"LD_PRELOAD": str(no_flock), "MEMCLI_TEST_FLOCK": str(number)})
    done = subprocess.run(command(box.words(*words)), env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "", 1), done
    assert "lock" in done.stderr
    assert box.tree() == before
    read = subprocess.run(command(box.words("fact", "get", "k")), env=env, capture_output=True, text=True, check=False)
    assert (read.returncode, read.stdout) == (0, "v\n")
