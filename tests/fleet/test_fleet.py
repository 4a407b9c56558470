"""Many machines that write, forget, relabel and sync in any order, are killed, and lose their server: all of them agree in the
end, and every value that was ever acknowledged is to be found."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from merge.common import values
from support import NOW, stamp

from memcli.base import bucket
from memcli.model import manifest

from .common import Machine, Server, agree

Make = Callable[[str], Machine]
KEYS = ("k", "other key", "third")
LABELS = ("public", "internal")


class Play:
    """What machines do, by a seed; and what they were told is kept."""

    def __init__(self, machines: list[Machine], seed: int) -> None:
        self.machines, self.dice, self.count = machines, random.Random(seed), 0
        self.set: set[tuple[str, str]] = set()
        self.said: set[str] = set()

    def step(self, each: Machine) -> None:
        """One write of one machine."""
        self.count += 1
        now = stamp(NOW, minutes=self.count)
        key, text = self.dice.choice(KEYS), f"value {self.count}"
        what = self.dice.choice(("set", "set", "set", "label", "forget", "confirm", "rename", "episode", "propose"))
        if what == "set":
            ran = each.run("fact", "set", key, text, "--source", "user:anna", now=now)
            self.set |= {(key, text)} if ran.code == 0 else set()
        elif what == "label":
            ran = each.run("fact", "set", key, "--sensitivity", self.dice.choice(LABELS), now=now)
        elif what == "forget":
            ran = each.run("forget", key, "--yes", now=now)
        elif what == "confirm":
            ran = each.run("fact", "confirm", key, "--run", f"r{self.count}", "--source", "user:sam", now=now)
        elif what == "rename":
            ran = each.run("fact", "rename", key, f"renamed {self.count}", now=now)
        elif what == "episode":
            ran = each.run("episode", "add", text, now=now)
            self.said |= {text} if ran.code == 0 else set()
        else:
            words = (f"The staging server is {text}.", "--session", f"s{self.count}", "--source", "agent:a")
            ran = each.run("remember", *words, now=now)
        assert ran.code in (0, 2, 3, 5, 6), (what, ran)
        assert "Traceback" not in ran.err

    def check(self) -> None:
        """All agree, and nothing that was acknowledged is lost. A forgotten value lies in the trash of who forgot it."""
        agree(self.machines)
        found = [values(m) for m in self.machines]
        texts = [{text for _, _, text in each} for each in found]
        everywhere, somewhere = set.intersection(*texts), set.union(*texts)
        assert {text for _, text in self.set} <= somewhere
        assert self.said <= everywhere
        # What is in no trash is on every machine, current or in the archive.
        trash = {text for m in self.machines for text in in_trash(m)}
        assert {text for _, text in self.set} - trash <= everywhere


def in_trash(each: Machine) -> set[str]:
    from memcli.store import archive, facts

    names = archive.names(each.store, "facts", "trash")
    return {row.fact.text for name in names for row in facts.former(each.store, name, "trash")}


def play(machines: list[Machine], seed: int, steps: int) -> None:
    game = Play(machines, seed)
    for _ in range(steps):
        each = game.dice.choice(machines)
        game.step(each)
        if game.dice.random() < 0.3:
            assert each.sync().code == 0
    game.check()


@pytest.mark.parametrize(("count", "steps"), [(2, 24)])
def test_machines_that_write_and_sync_agree_and_lose_nothing(count: int, steps: int, make: Make) -> None:
    play([make(f"m{n}") for n in range(count)], count, steps)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [2, 5])
def test_machines_that_write_and_sync_full(count: int, seed: int, make: Make) -> None:
    play([make(f"m{n}") for n in range(count)], seed, 80)


def at_once(machines: list[Machine], rounds: int) -> None:
    game = Play(machines, 7)
    with ThreadPoolExecutor(len(machines)) as pool:
        for _ in range(rounds):
            for each in machines:
                game.step(each)
                game.step(each)

            def one(each: Machine) -> tuple[int, bytes]:
                program = each.start_sync()
                out, err = program.communicate(timeout=120)
                return program.returncode, out + err

            ended = list(pool.map(one, machines))
            assert {code for code, _ in ended} <= {0, 5}, ended
    game.check()


def test_all_sync_at_the_same_time(make: Make) -> None:
    at_once([make(f"m{n}") for n in range(3)], 1)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_all_sync_at_the_same_time_full(make: Make) -> None:
    at_once([make(f"m{n}") for n in range(5)], 12)


def killed(machines: list[Machine], seed: int, rounds: int, *, group: bool) -> None:
    """A sync is killed after a random time: memcli alone (its git goes on), or the whole group."""
    game = Play(machines, seed)
    for number in range(rounds):
        each = game.dice.choice(machines)
        game.step(each)
        game.step(game.dice.choice(machines))
        program = each.start_sync()
        time.sleep(0.15 + game.dice.random() * 0.8)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL) if group else program.kill()
        program.communicate(timeout=60)
        if number % 2:
            game.step(each)  # the next writer finds what was left
        whole(each)
    game.check()


def whole(each: Machine) -> None:
    """What the manifest names is there."""
    far = bucket.Bucket(each.url)
    got = far.read(manifest.NAME, manifest.MOST_BYTES)
    if got is not None:
        for bundle in manifest.read(got[0]).bundles:
            assert far.read(bundle.path, bundle.size_bytes) is not None


@pytest.mark.parametrize("group", [True], ids=["with its git"])
def test_a_kill_at_any_moment(group: bool, make: Make) -> None:
    killed([make("a"), make("b")], 3, 3, group=group)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("group", [False, True], ids=["memcli", "with its git"])
def test_a_kill_at_any_moment_full(group: bool, seed: int, make: Make) -> None:
    killed([make("a"), make("b"), make("c")], seed, 25, group=group)


STOPS = ("after the mark", "after half of the files", "before the index", "before the branch", "before the mark goes")


class Stopped(BaseException):
    """As a kill, but in this process."""


@pytest.mark.parametrize("stop", STOPS)
def test_an_update_that_stops_is_finished_by_the_next_writer(
    stop: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.store import checkout, git

    a, b = make("a"), make("b")
    for n in range(4):
        a.set(f"key {n}", "old")
    agree([a, b])
    for n in range(4):
        a.at(1).set(f"key {n}", f"new {n}")
    a.synced()
    calls = {"n": 0}

    def after(module: object, name: str, count: int, when: Callable[..., bool] = lambda *_: True) -> None:
        real = getattr(module, name)

        def tripped(*args: object, **more: object) -> object:
            if when(*args):
                calls["n"] += 1
                if calls["n"] > count:
                    raise Stopped
            return real(*args, **more)

        patch.setattr(module, name, tripped)

    with monkeypatch.context() as patch:
        if stop == "after the mark":
            after(checkout, "_finish", 0)
        elif stop == "after half of the files":
            after(checkout, "_bring", 5)
        elif stop == "before the index":
            after(git, "tell", 0, lambda *words: "--index-info" in words)
        elif stop == "before the branch":
            after(git, "tell", 0, lambda *words: "update-ref" in words and "HEAD" in words)
        else:
            after(checkout, "unmark", 2)
        with pytest.raises(Stopped):
            b.sync()
    assert (b.root / ".memcli" / "updating").exists()
    b.at(2).set("key 1", "newer")
    assert not (b.root / ".memcli" / "updating").exists()
    assert [r["text"] for r in b.data("fact", "history", "key 1")] == ["newer", "new 1", "old"]
    agree([a, b])
    assert a.get("key 1") == "newer"
    assert a.get("key 3") == "new 3"


def test_the_server_goes_away(make: Make, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = make("a"), make("b")
    a.set("k", "v")
    agree([a, b])
    monkeypatch.setattr(bucket, "_RETRIES", 0)
    for stop in ("swap",):
        a.set(f"before {stop}", "v")
        real = getattr(bucket.Bucket, stop)

        def gone(self: bucket.Bucket, *words: object, real: Callable[..., object] = real) -> object:
            server.stop()
            return real(self, *words)

        with monkeypatch.context() as patch:
            patch.setattr(bucket.Bucket, stop, gone)
            ran = a.sync()
        assert ran.code == 7, ran
        assert ran.err.count("\n") == 1
        assert a.get(f"before {stop}") == "v"
        assert a.sync().code == 7
        server.start()
    agree([a, b])
    assert b.get("before swap") == "v"


def swap(url: str, change: Callable[[bytes], bytes], name: str = manifest.NAME) -> bytes:
    """Write over an object, as somebody with the keys can."""
    far = bucket.Bucket(url)
    got = far.read(name, 1 << 28)
    assert got is not None
    assert far.swap(name, change(got[0]), got[1])
    return got[0]


FAULTS: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "cut": (lambda d: d[:-20], 4),
    "empty": (lambda d: b"", 4),
    "not JSON": (lambda d: b"hello", 4),
    "a list": (lambda d: b"[]", 4),
    "twice the same name": (lambda d: d.replace(b'"format"', b'"kind": "x", "format"', 1), 4),
    "foreign": (lambda d: d.replace(b"memcli-fleet", b"another"), 4),
    "newer": (lambda d: d.replace(b'"format": 1', b'"format": 2'), 4),
    "a path": (lambda d: d.replace(b'"name": "', b'"name": "../../', 1), 4),
    "a head that is none": (lambda d: d.replace(b'"head": "', b'"head": "--all', 1), 4),
    "huge": (lambda d: d.replace(b'"size_bytes": ', b'"size_bytes": 99999999999', 1), 4),
    "another size": (lambda d: d.replace(b'"size_bytes": ', b'"size_bytes": 1', 1), 4),
    "more": (lambda d: d.replace(b'"head"', b'"more": 1, "head"', 1), 4),
    "another head": (lambda d: __import__("re").sub(rb'"(head|heads)": (\[?\s*)"[0-9a-f]{40}', rb'"\1": \2"' + b"0" * 40, d), 4),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_manifest_that_is_none(fault: str, make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "v")
    a.synced()
    b.set("l", "w")
    b.git("add", "-A")
    b.git("commit", "-qm", "mine")
    change, code = FAULTS[fault]
    was = swap(a.url, change)
    before, head = b.files(), b.head()
    ran = b.sync()
    assert ran.code == code, ran
    assert ran.err.count("\n") == 1
    assert ("upgrade memcli" in ran.err) == (fault == "newer")
    assert b.files() == before
    assert b.head() == head
    assert len(bucket.Bucket(a.url).names("bundles")) == 1
    swap(a.url, lambda _: was)
    agree([a, b])


@pytest.mark.parametrize("fault", ["cut", "a byte", "empty", "another bundle", "a twin", "gone"])
def test_a_bundle_that_is_none(fault: str, make: Make) -> None:
    from memcli.engine import bundles

    a, b = make("a"), make("b")
    a.set("k", "v")
    a.synced()
    far = bucket.Bucket(a.url)
    (one,) = far.names("bundles")
    faults: dict[str, Callable[[bytes], bytes]] = {
        "cut": lambda d: d[:-30],
        "a byte": lambda d: d[:200] + bytes([d[200] ^ 1]) + d[201:],
        "empty": lambda _: b"",
        "another bundle": lambda d: d[:16] + d[16:][::-1],
        "a twin": lambda _: bundles.make(a.store, a.head(), ())[1],  # good, but not what the manifest names
    }
    if fault == "gone":
        far.delete(one.name)
    else:
        swap(a.url, faults[fault], one.name)
    before = b.files()
    ran = b.sync()
    assert ran.code == 4, ran
    assert b.files() == before


def test_what_a_git_that_was_killed_laid_out_for_a_driver_goes(make: Make) -> None:
    from memcli.store import checkout

    a = make("a")
    a.set("k", "v")
    (a.root / ".merge_file_mine").write_text("a record")
    a.synced()
    assert (a.root / ".merge_file_mine").exists(), "somebody may be merging by hand"
    checkout.mark(a.store)
    (a.root / ".git" / "index.lock").touch()
    a.set("k", "w")
    assert a.synced()["sent"] == 1
    assert not (a.root / ".merge_file_mine").exists()
    assert a.git("status", "--porcelain") == ""


@pytest.mark.parametrize("what", ["a link", "a state folder", "git's folder", "a newer store", "no store"])
def test_a_commit_that_no_store_may_hold(what: str, make: Make, tmp_path: Path) -> None:
    """Somebody with the keys, and without memcli's care."""
    from memcli.engine import bundles
    from memcli.store import git

    a, b = make("a"), make("b")
    b.set("k", "v")
    b.git("add", "-A")
    b.git("commit", "-qm", "mine")
    root = str(a.root)
    mode, path, text = {
        "a link": ("120000", "facts/x.md", b"/etc/passwd"),
        "a state folder": ("100644", ".memcli/allowed", b"x"),
        "git's folder": ("100644", "hooks", b"x"),
        "a newer store": ("100644", "memcli.toml", b"format = 99\n"),
        "no store": ("100644", "README.md", b"hello"),
    }[what]
    if what != "no store":
        a.git("add", "-A")
    oid = git.word(root, "hash-object", "-w", "--stdin", given=text)
    git.tell(root, "update-index", "--add", "--cacheinfo", f"{mode},{oid},{path}")
    tree = git.word(root, "write-tree")
    if what == "git's folder":
        inner = git.word(root, "mktree", given=f"100755 blob {oid}\tpost-merge\n".encode())
        rows = git.tell(root, "ls-tree", tree) + f"040000 tree {inner}\t.git\n".encode()
        tree = git.word(root, "mktree", given=rows)
    made = git.word(root, "commit-tree", tree, given=b"evil\n")
    bundle, data = bundles.make(a.store, made, ())
    far = bucket.Bucket(a.url)
    assert far.create(bundle.path, data)
    assert far.swap(manifest.NAME, manifest.write(manifest.Manifest(head=made, bundles=(bundle,))), None)
    before, head = b.tree(), b.head()
    ran = b.sync()
    assert ran.code == 4, ran
    assert b.head() == head
    assert {n: d for n, d in b.tree().items() if not n.startswith(".git/")} == {
        n: d for n, d in before.items() if not n.startswith(".git/")
    }
    assert not (b.root / ".git" / "hooks" / "post-merge").exists()
