"""The harness tested on controls: it must find every planted fault, and nothing in the good protocol."""

import dataclasses
import errno
import os
import pathlib
import subprocess
import sys

import pytest
from figures import Record

from . import harness, powerloss, victim
from .harness import KILLS, Case, Point, Rig, errno_modes
from .victim import Server

STORE = "{store}"
OLD = ("put", "good", STORE, "fact", "the old text", "restricted")


def case(protocol: str, *, update: bool = True, recovery: str = "tidy") -> Case:
    """Lowers the label with a new text: the new text may be public, the old one never."""
    return Case(
        name=protocol,
        prepare=(OLD,) if update else (),
        command=("put", protocol, STORE, "fact", "the new text, a longer one", "public"),
        readings=(("get", STORE, "fact"),),
        writer=("put", "good", STORE, "other", "x", "public"),
        recovery=(("fix", recovery, STORE),),
    )


def problems(rig: Rig, modes: tuple[str, ...]) -> list[str]:
    points = rig.points(modes)
    assert points
    return [problem for point in points for problem in rig.check(point)]


# ---- the shim ----

PROBE = """
import ctypes, os, shutil, pathlib
os.chdir({root!r})
fd = os.open("a", os.O_WRONLY | os.O_CREAT, 0o600)
os.write(fd, b"12345"); os.pwrite(fd, b"xy", 1); os.writev(fd, [b"67", b"89"]); os.ftruncate(fd, 7)
os.fsync(fd); os.fdatasync(fd); ctypes.CDLL(None).syncfs(fd)
copy = os.dup(fd); os.write(copy, b"!")
os.rename("a", "b"); os.replace("b", "c"); os.link("c", "d"); os.truncate("d", 3); os.remove("d"); os.unlink("c")
os.mkdir("e"); os.rmdir("e")
folder = os.open({root!r}, os.O_RDONLY)
os.fsync(folder)
os.open("f", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder)
os.rename("f", "g", src_dir_fd=folder, dst_dir_fd=folder)
os.unlink("g", dir_fd=folder); os.mkdir("h", dir_fd=folder); os.rmdir("h", dir_fd=folder)
with open("i", "w") as file: file.write("through io")
pathlib.Path("j").write_text("through pathlib")
shutil.copyfile("i", "k")
os.symlink("k", "l")
open("i").read(); os.stat("i"); os.listdir(".")
open({other!r}, "w").write("outside")
os.open("./x/../m", os.O_WRONLY | os.O_CREAT)
"""
CAUGHT = """open a|write a|pwrite a|writev a|ftruncate a|fsync a|fdatasync a|syncfs a|write a|rename a b|rename b c|
link c d|truncate d|unlink d|unlink c|mkdir e|rmdir e|fsync .|open f|rename f g|unlink g|mkdir h|rmdir h|open i|
write i|open j|write j|open k|write k|symlink l|open m"""


def probe(shim: pathlib.Path, root: pathlib.Path, code: str, **strike: object) -> tuple[int, list[victim.Call]]:
    """Runs Python code in a process of its own under the shim."""
    log = root.parent / "log"
    names = {"ROOT": root, "LOG": log, **strike}
    env = {**os.environ, "LD_PRELOAD": str(shim), **{f"MEMCRASH_{k.upper()}": str(v) for k, v in names.items()}}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=False, capture_output=True)
    return done.returncode, victim.read_log(str(log)) if log.exists() else []


@pytest.fixture
def root(scratch: pathlib.Path) -> pathlib.Path:
    (scratch / "root" / "x").mkdir(parents=True)
    return scratch / "root"


def test_every_way_to_change_a_file_is_caught(shim: pathlib.Path, root: pathlib.Path) -> None:
    code, calls = probe(shim, root, PROBE.format(root=str(root), other=str(root.parent / "root2")))
    assert code == 0
    seen = [" ".join(os.path.relpath(p, root) for p in (c.path, c.to) if p) for c in calls]
    assert [f"{c.name} {s}" for c, s in zip(calls, seen, strict=True)] == CAUGHT.replace("\n", "").split("|")
    assert [c.number for c in calls] == list(range(1, len(calls) + 1))


def test_the_log_holds_the_bytes_and_where_they_went(shim: pathlib.Path, root: pathlib.Path) -> None:
    code = f"import os; f = open({str(root / 'a b%')!r}, 'ab', 0); f.write(b'12\\n'); f.write(bytes(3000))"
    code += "; os.write(1, b'ok\\n')"
    (root / "a b%").write_bytes(b"0")
    _, calls = probe(shim, root, code)
    assert [(c.offset, c.data) for c in calls if c.name == "write"] == [(1, b"12\n"), (4, bytes(3000))]
    assert calls[0].path == str(root / "a b%")
    assert calls[0].was == calls[0].inode == os.stat(root / "a b%").st_ino
    assert (calls[-1].number, calls[-1].name, calls[-1].data) == (0, "stdout", b"ok\n")


def test_sqlite_is_caught(shim: pathlib.Path, root: pathlib.Path) -> None:
    code = f"import sqlite3; sqlite3.connect({str(root / 'db')!r}).execute('create table t (x)')"
    _, calls = probe(shim, root, code)
    assert {"open", "pwrite", "fdatasync", "unlink"} <= {c.name for c in calls}


STRUCK = "import os; f = os.open('{0}/a', os.O_WRONLY | os.O_CREAT | os.O_EXCL); print(os.write(f, b'1234')); {1}"


@pytest.mark.parametrize(
    ("at", "mode", "code", "content"),
    [
        (1, "before", -9, None),
        (1, "after", -9, b""),
        (1, "half", -9, b""),
        (2, "before", -9, b""),
        (2, "half", -9, b"12"),
        (2, "after", -9, b"1234"),
        (2, "short", 0, b"121234"),
        (2, f"errno:{errno.ENOSPC}:once", 1, b""),
        (4, "after", 0, b"12341234"),
    ],
)
def test_strikes(shim: pathlib.Path, root: pathlib.Path, at: int, mode: str, code: int, content: bytes | None) -> None:
    ended, _ = probe(shim, root, STRUCK.format(root, "os.write(f, b'1234')"), at=at, mode=mode)
    assert ended == code
    assert ((root / "a").read_bytes() if (root / "a").exists() else None) == content


@pytest.mark.parametrize(("span", "results"), [("once", [-5, 0]), ("sticky", [-5, -5])])
def test_an_errno_comes_once_or_sticks(shim: pathlib.Path, root: pathlib.Path, span: str, results: list[int]) -> None:
    code = f"import os\nfor n in 'ab':\n try: os.mkdir('{root}/' + n)\n except OSError as e: assert e.errno == 5"
    ended, calls = probe(shim, root, code, at=1, mode=f"errno:5:{span}")
    assert (ended, [c.result for c in calls]) == (0, results)


def test_a_started_program_does_not_count_again(shim: pathlib.Path, root: pathlib.Path) -> None:
    code = f"import os, subprocess; subprocess.run(['mkdir', '{root}/a'], check=True); os.mkdir('{root}/b')"
    ended, calls = probe(shim, root, code, at=1, mode="errno:5:once")
    assert ended == 1
    assert [os.path.basename(c.path) for c in calls if c.number] == ["b"]


def test_fork_server_and_real_process_agree(controls: Server, scratch: pathlib.Path) -> None:
    rig = Rig(controls, case("good"), scratch)
    with rig.fresh() as store:
        log = str(scratch / "log")
        argv = tuple(a.replace(STORE, store) for a in rig.case.command)
        assert controls.spawn(argv, victim.Strike(store, log=log)).out == rig.whole.out
        assert [c.name for c in victim.read_log(log)] == [c.name for c in rig.calls]


# ---- kills and errors ----


@pytest.mark.parametrize("update", [True, False])
def test_the_good_protocol_is_clean(controls: Server, scratch: pathlib.Path, update: bool) -> None:
    rig = Rig(controls, case("good", update=update), scratch)
    modes = (*KILLS, "short", *errno_modes(harness.SIX_ERRNOS))
    assert len(rig.points(modes)) > 150
    assert problems(rig, modes) == []


@pytest.mark.parametrize(
    ("protocol", "modes", "symptom"),
    [
        ("in place", KILLS, "reads as neither old nor new"),
        ("body first", KILLS, "reads as neither old nor new"),
        ("early word", KILLS, "was acknowledged and is lost"),
        ("deaf", errno_modes(), "was acknowledged and is lost"),
        ("untidy", errno_modes(), "though nothing kept it from cleaning up"),
        ("careless", errno_modes(), "traceback"),
        ("short-sighted", ("short",), "reads as neither old nor new"),
    ],
)
def test_bad_protocols_are_caught(
    controls: Server, scratch: pathlib.Path, protocol: str, modes: tuple[str, ...], symptom: str
) -> None:
    found = problems(Rig(controls, case(protocol), scratch), modes)
    assert [p for p in found if symptom in p]


@pytest.mark.parametrize(
    ("recovery", "symptom"), [("idle", "is left"), ("amnesiac", "recovery took the new value back")]
)
def test_bad_recoveries_are_caught(controls: Server, scratch: pathlib.Path, recovery: str, symptom: str) -> None:
    found = problems(Rig(controls, case("good", update=False, recovery=recovery), scratch), KILLS)
    assert [p for p in found if symptom in p]


def test_a_hang_is_caught(controls: Server, scratch: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(controls, case("endless"), scratch)
    monkeypatch.setattr(controls, "patience_seconds", 1)
    assert [p for p in rig.check(Point(1, "errno:5:once")) if "exit -14" in p]


def test_a_kill_that_does_not_happen_is_caught(controls: Server, scratch: pathlib.Path) -> None:
    rig = Rig(controls, case("good"), scratch)
    assert rig.check(Point(99, "after")) == ["good after at 99 ?: was not killed but exited 0"]


def test_a_case_that_proves_nothing_is_refused(controls: Server, scratch: pathlib.Path) -> None:
    blind = dataclasses.replace(case("good"), readings=(("get", STORE, "other"),))
    with pytest.raises(AssertionError, match="cannot tell old from new"):
        Rig(controls, blind, scratch)


def second(controls: Server, scratch: pathlib.Path, recovery: str) -> list[str]:
    rig = Rig(controls, case("good", recovery=recovery), scratch)
    struck = [(point, *later) for point in rig.points(("before",))[6:] for later in rig.second_points(point)]
    assert len(struck) > 50
    return [problem for strike in struck for problem in rig.check_second(*strike)]


@pytest.mark.parametrize(
    ("recovery", "symptom"),
    [
        ("clumsy", "after recovery reads as neither"),
        ("clumsy", "was new, after the second kill"),
        ("restless", "recovering twice changes something"),
    ],
)
def test_recoveries_that_a_second_kill_breaks_are_caught(
    controls: Server, scratch: pathlib.Path, recovery: str, symptom: str
) -> None:
    assert [p for p in second(controls, scratch, recovery) if symptom in p]


def test_the_good_recovery_stands_a_second_kill(controls: Server, scratch: pathlib.Path) -> None:
    assert second(controls, scratch, "tidy") == []


def canary(protocol: str) -> Case:
    """Raises the label with a new text, which no reader of public text may ever see."""
    return dataclasses.replace(
        case(protocol),
        prepare=(("put", "good", STORE, "fact", "harmless", "public"),),
        command=("put", protocol, STORE, "fact", "CANARY", "restricted"),
        low=(("peek", STORE, "fact"),),
        canary="CANARY",
    )


@pytest.mark.parametrize(("protocol", "leaks"), [("good", False), ("body first", True)])
def test_a_raised_label_opens_no_window(controls: Server, scratch: pathlib.Path, protocol: str, leaks: bool) -> None:
    found = problems(Rig(controls, canary(protocol), scratch), KILLS)
    assert any("shows the canary" in p for p in found) == leaks


# ---- power loss ----


@pytest.mark.parametrize(
    ("protocol", "bad"),
    [("good", False), ("in place", True), ("body first", True), ("no fsync", True), ("no folder fsync", True)],
)
@pytest.mark.also_full
@pytest.mark.parametrize("update", [True, False])
def test_power_loss(
    controls: Server, scratch: pathlib.Path, protocol: str, bad: bool, update: bool, figure: Record
) -> None:
    rig = Rig(controls, case(protocol, update=update), scratch)
    found = [powerloss.check(rig, state) for state in powerloss.enumerate_states(rig)]
    assert len(found) >= 10
    if bad and update:
        figure("wrong protocols that the harness misses", 1, bad=not any(found))
    assert any(found) == bad


def test_power_loss_finds_acknowledged_writes_lost(controls: Server, scratch: pathlib.Path) -> None:
    rig = Rig(controls, case("no folder fsync"), scratch)
    found = [p for state in powerloss.enumerate_states(rig) for p in powerloss.check(rig, state)]
    assert [p for p in found if "was acknowledged and is lost" in p]


def listed(store: pathlib.Path, calls: list[victim.Call]) -> set[tuple[tuple[str, bytes | None], ...]]:
    return {s.content for s in powerloss.states(str(store), calls, powerloss.Disk(str(store)))}


def call(name: str, path: pathlib.Path, inode: int, **more: object) -> victim.Call:
    plain = victim.Call(1, name, 0, inode, 0, 0, str(path), "", b"")
    return dataclasses.replace(plain, **more)  # type: ignore[arg-type]


def test_unsynced_bytes_have_four_fates(root: pathlib.Path) -> None:
    os.rmdir(root / "x")
    (root / "a").write_bytes(b"old!")
    write = call("write", root / "a", os.stat(root / "a").st_ino, data=b"new", offset=4)
    assert listed(root, [write]) == {(("a", b"old!" + tail),) for tail in (b"", b"new", b"n", b"\0\0\0")}
    assert len(listed(root, [write, call("fsync", root / "a", write.inode)])) == 4
    disk = powerloss.Disk(str(root))
    for step in (write, call("fsync", root / "a", write.inode)):
        disk.play(step)
    assert set(disk.contents()) == {(("a", b"old!new"),)}


def test_unsynced_names_come_in_any_combination(root: pathlib.Path) -> None:
    os.rmdir(root / "x")
    steps = [
        call("mkdir", root / "d", 8),
        call("open", root / "d" / "a", 9),
        call("rename", root / "d" / "a", 9, to=str(root / "b")),
    ]
    folder, a, b = ("d", None), (os.path.join("d", "a"), b""), ("b", b"")
    assert listed(root, steps) == {(), (folder,), (folder, a), (b,), (b, folder)}


def test_what_the_model_does_not_know_stops_it(root: pathlib.Path) -> None:
    with pytest.raises(powerloss.Unmodelled):
        listed(root, [call("symlink", root / "a", 8)])


@pytest.mark.parametrize(("protocol", "bad"), [("good", False), ("trusting", True)])
def test_power_loss_after_a_kill_and_another_try(
    controls: Server, scratch: pathlib.Path, protocol: str, bad: bool
) -> None:
    rig = Rig(controls, case(protocol), scratch)
    assert any(powerloss.check_after_kill(rig, point) for point in rig.points(("before",))) == bad
