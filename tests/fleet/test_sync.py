"""`memcli sync` between two machines: what goes, what comes, what is refused, what is said."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import CANARY, Box

from memcli.base import bucket, errors
from memcli.engine.memory import Memory

from .common import Machine, Server, agree

Make = Callable[[str], Machine]


def test_the_server_writes_on_conditions(url: str) -> None:
    """All else rests on this: of many who make an object or replace one version of it, one does."""
    from concurrent.futures import ThreadPoolExecutor

    far = bucket.Bucket(url)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: far.create("x", f"{n}".encode()), range(8)))
        assert made.count(True) == 1
        got = far.read("x", 10)
        assert got is not None
        assert got[0] == f"{made.index(True)}".encode()
        swapped = list(pool.map(lambda n: far.swap("x", f"new {n}".encode(), got[1]), range(8)))
        assert swapped.count(True) == 1
    now = far.read("x", 10)
    assert now is not None
    assert now[0] == f"new {swapped.index(True)}".encode()
    assert not far.swap("x", b"late", got[1])
    assert not far.swap("x", b"none", None)
    assert far.read("y", 10) is None
    with pytest.raises(errors.BadData):
        far.read("x", 2)
    assert [o.name for o in far.names("")] == ["x"]
    far.delete("x")
    assert far.read("x", 10) is None


def test_two_machines(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("deploy target", "Fly.io")
    b.set("database", "Postgres")
    assert a.sync().out == "sent 1, received 0 commits\n"
    assert b.sync().out == "sent 2, received 1 commits\n"
    assert a.sync().out == "sent 0, received 2 commits\n"
    assert a.sync().out == ""
    assert a.get("database") == "Postgres"
    assert b.get("deploy target") == "Fly.io"
    agree([a, b])


def test_both_set_one_fact(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "first")
    a.synced()
    b.synced()
    a.at(1).set("k", "of a")
    b.at(2).set("k", "of b")
    b.add("an entry of b")
    a.add("an entry of a")
    agree([a, b])
    assert a.get("k") == "of b"
    former = [row["text"] for row in a.data("fact", "history", "k") if row["text"] != "of b"]
    assert sorted(former) == ["first", "of a"]
    assert len(a.data("episode", "list")) == 2


def test_a_value_that_was_set_anew_is_kept_when_the_other_forgot_it(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "first")
    a.set("l", "stays forgotten", "--source", "user:anna")
    agree([a, b])
    a.ok("forget", "k", "--yes")
    a.ok("forget", "l", "--yes")
    b.at(1).set("k", "second")
    b.ok("fact", "confirm", "l", "--run", "r1")
    agree([a, b])
    for each in (a, b):
        assert each.get("k") == "second"
        assert [r["text"] for r in each.data("fact", "history", "k")] == ["second", "first"]
        assert each.run("fact", "get", "l").code == 3


def test_what_was_purged_does_not_come_back_in_an_archive(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "old")
    a.at(1).set("k", "purged value")
    agree([a, b])
    a.ok("forget", "k", "--purge", "--yes")
    b.at(2).set("k", "new")
    agree([a, b])
    for each in (a, b):
        assert each.get("k") == "new"
        assert not any(b"purged value" in data or b'"old"' in data for data in each.files().values())


def test_a_text_edited_by_hand_is_not_lost_to_a_forget(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "first")
    agree([a, b])
    a.ok("forget", "k", "--yes")
    b.md("k").write_text(b.md("k").read_text().replace("first", "by hand"))
    for each in (a, b, a):
        each.synced()
    assert "by hand" in a.md("k").read_text()
    assert a.files() == b.files()


def test_the_stricter_label_holds(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "v", "--sensitivity", "public")
    agree([a, b])
    a.ok("fact", "set", "k", "--sensitivity", "internal")
    b.ok("fact", "confirm", "k", "--run", "r1", "--source", "user:anna")
    agree([a, b])
    assert str(b.fact("k").sensitivity) == "internal"


@pytest.mark.parametrize("first", [0, 1])
def test_a_label_that_was_raised_reaches_what_the_other_forgot_meanwhile(make: Make, first: int) -> None:
    a, b = make("a"), make("b")
    for key in ("k", "l"):
        a.set(key, f"the value of {key}", "--sensitivity", "public")
    a.ok("procedure", "propose", "way", "--step", "Go: there", "--sensitivity", "public")
    agree([a, b])
    a.ok("fact", "set", "k", "--sensitivity", "internal")
    side = a.root / "procedures" / "way.meta.json"
    side.write_text(side.read_text().replace('"public"', '"internal"'))
    b.ok("forget", "k", "--yes")
    b.ok("forget", "l", "--yes")
    b.ok("forget", "way", "--yes")
    agree([b, a] if first else [a, b])
    for key, label in (("k", "internal"), ("l", "public"), ("way", "internal")):
        assert b.data("restore", key)["sensitivity"] == label
    assert b.run("doctor").code == 0


def test_a_conflict_changes_nothing(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "first")
    agree([a, b])
    for each, text in ((a, "of a"), (b, "of b")):
        each.md("k").write_text(each.md("k").read_text().replace("first", text))
    a.synced()
    before = b.files()
    ran = b.sync()
    assert ran.code == 5
    assert "facts/" in ran.err
    assert "git merge refs/memcli/fleet" in ran.err
    assert b.files() == before
    assert b.git("status", "--porcelain") == ""
    head = b.head()
    assert b.sync().code == 5
    assert b.head() == head
    assert a.sync().out == ""
    done = subprocess.run(
        ["git", "-C", str(b.root), "merge", "-q", "refs/memcli/fleet"], capture_output=True, check=False
    )
    assert done.returncode == 1
    b.git("checkout", "-q", "--ours", "facts")
    b.git("add", "-A")
    b.git("commit", "-qm", "mended")
    b.ok("fact", "adopt", "--all")
    agree([a, b])
    assert a.get("k") == "of b"


def test_dry_run_says_what_would_be(make: Make) -> None:
    a, b = make("a"), make("b")
    a.set("k", "v")
    a.synced()
    b.set("l", "w")
    before = b.tree(state=True)
    ran = b.ok("sync", "--url", b.url, "--dry-run")
    assert ran.out.startswith("would send: what is not committed yet\nwould receive: 1 bundles, ")
    assert b.tree(state=True) == before
    b.synced()
    a.synced()
    a.set("k", "w")
    a.synced()
    assert b.ok("sync", "--url", b.url, "--dry-run").out.startswith("would receive: 1 bundles, ")
    assert a.ok("sync", "--url", b.url, "--dry-run").out == ""


def test_the_first_time_needs_a_yes_on_each_machine(make: Make) -> None:
    a = make("a")
    ran = a.run("sync", "--url", a.url)
    assert ran.code == 6
    assert "--yes" in ran.err
    assert bucket.Bucket(a.url).names("") == []
    a.sync()
    assert a.run("sync", "--url", a.url).code == 0
    assert a.run("sync", "--url", a.url + "2").code == 6
    (a.root / "memcli.toml").write_text((a.root / "memcli.toml").read_text() + '\n[sync]\nclearance = "sensitive"\n')
    assert a.run("sync", "--url", a.url).code == 6  # what may go is part of what was agreed to


def test_python_and_the_setting(make: Make) -> None:
    a = make("a")
    a.set("k", "v")
    with pytest.raises(errors.UsageError):
        Memory(a.store).sync()
    (a.root / "memcli.toml").write_text((a.root / "memcli.toml").read_text() + f'\n[sync]\nurl = "{a.url}"\n')
    with pytest.raises(errors.Refused):
        Memory(a.store).sync()
    assert Memory(a.store).sync(yes=True).sent == 1
    assert Memory(a.store).sync().sent == 0


@pytest.mark.parametrize("where", ["now", "before", "purged", "archive", "log", "damaged", "proposed"])
def test_what_is_above_the_clearance_never_leaves(where: str, make: Make, server: Server) -> None:
    a = make("a")
    a.set("open", "words")
    a.synced()
    before = bucket.Bucket(a.url).names("")
    secret = f"{CANARY} {where}"
    if where == "now":
        a.set("k", secret, "--sensitivity", "sensitive")
    elif where in ("before", "archive"):
        a.set("k", secret, "--sensitivity", "restricted")
        if where == "before":
            a.git("add", "-A")
            a.git("commit", "-qm", "by hand")
        a.at(1).set("k", "harmless", "--sensitivity", "internal")
    elif where == "purged":
        a.set("k", secret, "--sensitivity", "restricted")
        a.git("add", "-A")
        a.git("commit", "-qm", "by hand")
        a.ok("forget", "k", "--purge", "--yes")
        a.git("add", "-A")
        a.git("commit", "-qm", "by hand")
    elif where == "log":
        a.add(secret, "--sensitivity", "restricted")
    elif where == "damaged":
        (a.root / "facts" / "k.md").write_text(f"---\nsensitivity: nonsense\n---\n{secret}\n")
    else:
        a.ok(
            "remember",
            f"The staging server is {secret}.",
            "--session",
            "s",
            "--source",
            "agent:a",
            "--sensitivity",
            "sensitive",
        )
    ran = a.sync()
    assert ran.code == 6, ran
    assert "records above internal" in ran.err
    assert CANARY not in ran.out + ran.err
    assert bucket.Bucket(a.url).names("") == before
    assert CANARY.encode() not in server.bytes()


def test_the_setting_lets_it_out(make: Make) -> None:
    a, b = make("a"), make("b")
    for each in (a, b):
        toml = each.root / "memcli.toml"
        toml.write_text(toml.read_text() + '\n[sync]\nclearance = "sensitive"\n')
    a.set("k", "v", "--sensitivity", "sensitive")
    agree([a, b])
    assert b.get("k") == "v"
    a.set("l", "v", "--sensitivity", "restricted")
    assert a.sync().code == 6


def test_what_is_no_part_of_the_store_stays(make: Make) -> None:
    a = make("a")
    a.set("k", "v")
    (a.root / ".env").write_text("TOKEN=1")
    (a.root / "notes.txt").write_text("mine")
    (a.root / "facts" / "link.md").symlink_to("/etc/passwd")
    a.synced()
    assert set(a.git("ls-files").split()) & {".env", "notes.txt", "facts/link.md"} == set()
    assert a.git("ls-files", ".memcli") == ""


@pytest.mark.parametrize("how", ["no repository", "more than the store", "merge", "detached", "tenant", "index locked"])
def test_what_cannot_be_synced(how: str, make: Make, tmp_path: Path) -> None:
    a = make("a")
    a.set("k", "v")
    a.git("add", "-A")
    a.git("commit", "-qm", "one")
    if how == "no repository":
        a = Machine(tmp_path / "plain")
        a.url = make("c").url
        a.ok("init", str(a.root))
    elif how in ("more than the store", "tenant"):
        inner = Machine(a.root / "inner")
        inner.url = a.url
        inner.ok("init", str(inner.root))
        a = inner
    elif how == "merge":
        (a.root / ".git" / "MERGE_HEAD").write_text(a.head())
    elif how == "detached":
        a.git("checkout", "-q", "--detach")
    else:
        (a.root / ".git" / "index.lock").touch()
    ran = a.sync()
    if how == "index locked":
        assert a.sync().code == 5
        assert (a.root / ".git" / "index.lock").exists(), "it may be somebody's"
    code = {"no repository": 3, "more than the store": 6, "tenant": 6}.get(how, 5)
    assert ran.code == code, ran
    assert ran.err.count("\n") == 1
    assert bucket.Bucket(a.url).names("") == []


def test_a_file_in_the_way(make: Make) -> None:
    a, b = make("a"), make("b")
    (a.root / "README.md").write_text("of a")
    a.git("add", "README.md")
    a.synced()
    (b.root / "README.md").write_text("of b, in no commit")
    before = b.files()
    ran = b.sync()
    assert ran.code == 5
    assert "README.md" in ran.err
    assert b.files() == before


def test_fifty_bundles_become_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from memcli.model import manifest

    monkeypatch.setattr(manifest, "MOST_BUNDLES", 3)
    a, b = make("a"), make("b")
    b.synced()
    for n in range(4):
        a.at(n).set("k", f"value {n}")
        a.synced()
    got = bucket.Bucket(a.url).read(manifest.NAME, 1 << 20)
    assert got is not None
    listed = manifest.read(got[0])
    assert len(listed.bundles) == 2
    assert len(bucket.Bucket(a.url).names("bundles")) == 5
    c = make("c")
    agree([a, b, c])
    assert c.get("k") == "value 3"
    assert a.synced("--tidy")["tidied"] == 0  # they are young
    from datetime import datetime, timedelta, timezone

    from memcli.base import clock

    monkeypatch.setattr(clock, "now", lambda _: datetime.now(timezone.utc) + timedelta(hours=25))
    from memcli.engine import sync

    left = {b.path for b in manifest.read(bucket.Bucket(a.url).read(manifest.NAME, 1 << 20)[0]).bundles}  # type: ignore[index]
    assert sync._tidy(bucket.Bucket(a.url)) > 0
    assert {o.name for o in bucket.Bucket(a.url).names("bundles")} == left


@pytest.mark.parametrize(
    "url",
    ["s3://key:secretword@bucket/x", "http://bucket/secretword", "s3://", "s3://b/../secretword", "s3://bucket/x?key=secretword",
     "file:///tmp/secretword", "s3://B_/x", ""],
)  # fmt: skip
def test_odd_urls(url: str, make: Make) -> None:
    ran = make("a").run("sync", "--url", url, "--yes")
    assert ran.code == 2, ran
    assert "secretword" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong", 7),
        ("AWS_SECRET_ACCESS_KEY", "", 2),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 7),
        ("AWS_ENDPOINT_URL", "http://me:secretword@127.0.0.1:1", 2),
        ("AWS_ALLOW_HTTP", "", 2),
    ],
)
def test_odd_surroundings(name: str, value: str, code: int, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    a = make("a")
    a.set("k", "v")
    monkeypatch.setattr(bucket, "_RETRIES", 0)
    monkeypatch.setenv(name, value)
    ran = a.sync()
    assert ran.code == code, ran
    assert "secretword" not in ran.out + ran.err
    assert ran.err.count("\n") == 1


def test_without_the_extra(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [n for n in sys.modules if n.partition(".")[0] == "obstore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "obstore", None)
    ran = make("a").sync()
    assert ran.code == 7
    assert "memcli[sync]" in ran.err


def test_json(make: Make) -> None:
    a = make("a")
    a.set("k", "v")
    data = json.loads(a.sync("--json").out)["data"]
    assert data | {"head": ""} == {"sent": 1, "received": 0, "committed": True, "tries": 1, "tidied": 0, "head": ""}


def test_a_plain_box_has_no_bucket(tmp_path: Path) -> None:
    box = Box(tmp_path / "box")
    box.ok("init", str(box.root), "--git")
    assert box.run("sync").code == 2
