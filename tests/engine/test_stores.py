"""Stores: how one is found, made and told apart; what is written is private; nothing initialises itself."""

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import CANARY, NOW, Box, Ran, call, environment, spawn

from memcli.base import errors
from memcli.engine import stores
from memcli.store import folder

Run = Callable[..., Ran]


def make(path: Path, *words: str) -> Box:
    assert call(["init", str(path), *words]).code == 0
    return Box(path)


def where(*words: str) -> tuple[str, str]:
    ran = call([*words, "where"])
    assert ran.code == 0, ran
    return ran.out.rstrip("\n"), ran.err


# Found.


def test_the_option_wins_then_the_environment_then_the_nearest_folder_then_the_data_folder(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, env, near = (tmp_path / n for n in ("named", "env", "near"))
    for path in (named, env, near):
        make(path)
    data = make(tmp_path / "xdg" / "memcli")
    (near / "a" / "b").mkdir(parents=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("MEMCLI_STORE", str(env))
    monkeypatch.chdir(near / "a" / "b")
    assert where("--store", str(named)) == (str(named), "named by --store\n")
    assert where() == (str(env), "named by MEMCLI_STORE\n")
    monkeypatch.delenv("MEMCLI_STORE")
    assert where() == (str(near), "nearest folder upwards that holds memcli.toml\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert where() == (str(data.root), "the user's data folder\n")
    monkeypatch.delenv("XDG_DATA_HOME")
    ran = call(["where", "--json"])
    assert (ran.code, ran.error["code"]) == (3, "no_store")
    assert ran.error["path"] == str(home / ".local" / "share" / "memcli")


def test_the_search_ends_at_the_top_of_a_git_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "outer")
    project = tmp_path / "outer" / "project"
    (project / ".git").mkdir(parents=True)
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    assert call(["where"]).code == 3
    make(project)
    assert where()[0] == str(project)


def test_a_nested_store_is_nearer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "outer")
    make(tmp_path / "outer" / "inner")
    monkeypatch.chdir(tmp_path / "outer" / "inner")
    assert where()[0] == str(tmp_path / "outer" / "inner")


COMMANDS = [
    ("where",),
    ("status",),
    ("fact", "set", "k", "v"),
    ("fact", "get", "k"),
    ("fact", "list"),
    ("episode", "add", "x"),
    ("context",),
    ("sweep",),
    ("doctor", "--fix"),
    ("import", "jsonl", "-"),
    ("export", "jsonl", "-"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", ["empty", "absent", "file"])
def test_a_folder_that_is_no_store_is_an_error_that_names_init_and_stays_as_it_is(
    tmp_path: Path, words: tuple[str, ...], kind: str
) -> None:
    path = tmp_path / "place"
    if kind == "empty":
        path.mkdir()
        (path / "note.txt").write_text("kept")
    elif kind == "file":
        path.write_text("kept")
    ran = call(["--store", str(path), *words, "--json"], stdin=b'{"kind": "fact", "key": "k", "text": "v"}')
    assert (ran.code, ran.out, ran.error["code"]) == (3, "", "no_store")
    way = "a file is in the way; name a folder, or make one with: memcli init DIR"
    assert ran.error["hint"] == (way if kind == "file" else f"make one with: memcli --store {path} init")
    assert ran.error["path"] == str(path)
    assert (
        sorted(p.name for p in tmp_path.rglob("*"))
        == {"empty": ["note.txt", "place"], "absent": [], "file": ["place"]}[kind]
    )


@pytest.mark.parametrize("data", [b"", b"format = 0", b'format = "1"', b"format = true", b"[defaults]\n", b"= x", b"\xff\xfe", b"format = 1\n[defaults]\nsensitivity = 3\n", b'format = 1\n[sweep]\nmax_share = "all"\n'])  # fmt: skip
def test_a_marker_that_cannot_be_read_is_bad_data_and_nothing_is_written(box: Box, data: bytes) -> None:
    box.set("k", "v")
    (box.root / "memcli.toml").write_bytes(data)
    before = box.tree(state=True)
    for words in (("fact", "set", "k", "w"), ("context",), ("sweep",)):
        ran = box.run(*words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1), ran
        assert "memcli.toml" in ran.err
    assert box.tree(state=True) == before


def test_an_unknown_setting_is_kept_and_reported(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[future]\nshine = true\n")
    assert box.set("k", "v")["how"] == "created"
    assert [(f["code"], f["detail"]) for f in box.data("doctor")] == [("unknown_setting", "future.shine")]


# Made.


def test_init_writes_the_marker_and_keeps_the_state_out_of_git(tmp_path: Path) -> None:
    ran = call(["init", str(tmp_path / "s"), "--json"])
    assert ran.data["how"] == "made"
    assert sorted(ran.data["new"]) == [".gitattributes", ".gitignore", "memcli.toml"]
    assert (tmp_path / "s" / ".gitignore").read_text() == "/.memcli/\n.*.tmp\n"
    attributes = (tmp_path / "s" / ".gitattributes").read_text()
    assert "merge=union" not in [
        w for line in attributes.splitlines() if not line.startswith("#") for w in line.split()
    ]
    assert "/facts/** text eol=lf" in attributes


def test_init_twice_is_init_once_and_overwrites_nothing(box: Box) -> None:
    box.set("k", "v")
    (box.root / "memcli.toml").write_text("format = 1\n# mine\n")
    (box.root / ".gitignore").write_text("*.log\n")
    ran = box.ok("init")
    assert ran.out == f"made {box.root}\n"  # the ignore file lacked the state
    assert (box.root / ".gitignore").read_text() == "*.log\n/.memcli/\n.*.tmp\n"
    before = box.touched()
    assert box.ok("init").out == f"unchanged {box.root}\n"
    assert box.touched() == before
    assert (box.root / "memcli.toml").read_text() == "format = 1\n# mine\n"
    assert box.get("k") == "v"


def test_init_without_a_folder_takes_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call(["init"])
    assert (tmp_path / "memcli.toml").is_file()
    monkeypatch.setenv("MEMCLI_STORE", str(tmp_path / "elsewhere"))
    call(["init"])
    assert (tmp_path / "elsewhere" / "memcli.toml").is_file()
    assert call(["--store", "a", "init", "b"]).code == 2


def test_init_of_a_newer_store_is_refused(box: Box) -> None:
    (box.root / "memcli.toml").write_text("format = 9\n")
    ran = box.run("init", "--json")
    assert (ran.code, ran.error["code"]) == (4, "newer_format")
    assert (box.root / "memcli.toml").read_text() == "format = 9\n"


def git(path: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(path), *words], check=True, capture_output=True, text=True).stdout


def test_init_git_makes_a_repository_that_never_tracks_the_state(tmp_path: Path) -> None:
    box = make(tmp_path / "s", "--git")
    box.now = NOW
    box.set("k", "v")
    box.set("j", CANARY, "--sensitivity", "restricted")
    box.ok("forget", "j", "--yes")
    box.add("text")
    tracked = git(box.root, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert "?? facts/k.md" in tracked
    assert [line for line in tracked if "/.memcli/" in f"/{line[3:]}"] == []
    git(box.root, "add", "-A")
    git(box.root, "commit", "-qm", "all")
    for words in (("context",), ("fact", "get", "k"), ("sweep",), ("doctor",), ("fact", "set", "k", "v"), ("status",)):
        box.ok(*words)
    assert git(box.root, "status", "--porcelain") == ""
    box.set("k", "w")
    assert git(box.root, "status", "--porcelain").splitlines() == [
        " M facts/k.md",
        " M facts/k.meta.json",
        "?? archive/",
    ]


def test_init_git_inside_a_repository_makes_none(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    made = call(["init", str(tmp_path / "memory"), "--git", "--json"]).data
    assert made["git"] is False
    assert not (tmp_path / "memory" / ".git").exists()


def test_a_checkout_with_crlf_or_without_empty_folders_is_a_store(tmp_path: Path) -> None:
    box = make(tmp_path / "s", "--git")
    box.set("k", "two\nlines")
    git(box.root, "add", "-A")
    git(box.root, "commit", "-qm", "x")
    subprocess.run(
        ["git", "-c", "core.autocrlf=true", "clone", "-q", str(box.root), str(tmp_path / "clone")], check=True
    )
    clone = Box(tmp_path / "clone")
    assert clone.get("k") == "two\nlines"
    assert b"\r" not in clone.md("k").read_bytes()
    assert clone.set("j", "v")["how"] == "created"
    assert [f["code"] for f in clone.data("doctor")] == ["no_driver"]


# Private.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_are_0600_and_folders_0700_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    root = tmp_path / "made" / "deep" / "store"
    store = ["--store", str(root), "--now", NOW]

    def ok(*words: str, stdin: bytes = b"") -> Ran:
        ran = spawn([*store, *words], umask=umask, stdin=stdin)
        assert ran.code == 0, ran
        return ran

    ok("init")
    ok("fact", "set", "k", "v")
    ok("fact", "set", "k", "w", "--ttl", "1")
    made = ok("episode", "add", "text").out.strip()
    ok("source", "block", "bad", "--by", "user:keeper")
    ok("work", "set", "a", "b", "--session", "s")
    ok("fact", "set", "j", "v")
    ok("forget", "j", "--yes")
    ok("forget", made, "--yes")
    (root / "facts" / "by hand.md").write_text("by hand\n")
    (root / "facts" / "by hand.md").chmod(0o600)
    ok("fact", "get", "by hand", "--reveal")
    rows = b'{"kind": "procedure", "key": "p", "steps": [{"name": "a", "action": "b"}]}\n{"kind": "episode", "at": "2026-01-01T00:00:00Z", "text": "x"}\n'
    ok("import", "jsonl", "-", stdin=rows)
    ok("doctor", "--fix")
    ok("sweep")
    ok("search", "v")
    store = ["--store", str(root.parent / "shared"), "--now", NOW, "--tenant", "acme"]
    ok("init")
    ok("fact", "set", "k", "v")
    ok("doctor", "--fix")
    ok("sweep")
    ok("export", "jsonl", str(root.parent / "backup.jsonl"))
    ok("context", "--receipt", str(root.parent / "receipt.json"))
    modes = {str(p.relative_to(tmp_path)): stat.S_IMODE(p.lstat().st_mode) for p in tmp_path.rglob("*")}
    assert len(modes) > 30
    assert {n: oct(m) for n, m in modes.items() if m != (0o700 if (tmp_path / n).is_dir() else 0o600)} == {}


# Tenants.


def test_a_store_with_records_of_its_own_takes_no_tenants(box: Box) -> None:
    """Nobody could reach the records any more: every command would ask for a tenant."""
    box.set("k", "v")
    ran = box.run("--tenant", "acme", "init", str(box.root))
    assert ran.code == 6
    assert "nobody could reach" in ran.err
    assert box.get("k") == "v"
    assert not (box.root / "tenants").exists()


ODD = [
    "",
    " ",
    ".",
    "..",
    "../acme",
    "acme/..",
    "/etc",
    "A",
    "Acme",
    "acme\0",
    "acme\n",
    "a b",
    "-x",
    "_x",
    "é",
    "x" * 64,
    "*",
    "tenants",
    "acme/",
]


def two_tenants(root: Path) -> None:
    for name in ("acme", "globex"):
        assert call(["--store", str(root), "--tenant", name, "init"]).code == 0
        assert call(["--store", str(root), "--tenant", name, "--now", NOW, "fact", "set", "k", f"of {name}"]).code == 0


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_an_odd_tenant_name_is_an_error_and_never_all(tmp_path: Path, name: str) -> None:
    two_tenants(tmp_path / "s")
    before = Box(tmp_path / "s").tree()
    for words in (
        ("init",),
        ("fact", "get", "k"),
        ("fact", "list"),
        ("fact", "set", "k", "x"),
        ("context",),
        ("export", "jsonl", "-"),
        ("where",),
    ):
        if name == "tenants" and words == ("init",):
            continue
        ran = call(["--store", str(tmp_path / "s"), f"--tenant={name}", *words])
        assert ran.code in (2, 3), (words, ran)
        assert ran.out == ""
    assert Box(tmp_path / "s").tree() == before


@pytest.mark.parametrize(
    "words",
    [
        ("fact", "get", "k"),
        ("fact", "list"),
        ("context",),
        ("status",),
        ("export", "jsonl", "-"),
        ("fact", "set", "k", "v"),
        ("sweep",),
        ("doctor",),
    ],
)
def test_where_tenants_exist_none_named_is_an_error(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    two_tenants(tmp_path / "s")
    ran = call(["--store", str(tmp_path / "s"), *words, "--json"])
    assert (ran.code, ran.out, ran.error["code"]) == (2, "", "usage")
    assert "--tenant" in ran.error["hint"]
    monkeypatch.setenv("MEMCLI_TENANT", "")
    assert call(["--store", str(tmp_path / "s"), *words]).code == 2
    monkeypatch.setenv("MEMCLI_TENANT", "nobody")
    ran = call(["--store", str(tmp_path / "s"), *words])
    assert (ran.code, f"memcli --store {tmp_path / 's'} --tenant nobody init" in ran.err) == (3, True)


def test_tenants_never_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "s"
    two_tenants(root)
    for mine, other in (("acme", "globex"), ("globex", "acme")):
        store = ["--store", str(root), "--tenant", mine, "--now", NOW]
        for words in (
            ("fact", "get", "k"),
            ("fact", "list"),
            ("context",),
            ("export", "jsonl", "-"),
            ("fact", "history", "k"),
        ):
            out = call([*store, *words]).out
            assert (f"of {mine}" in out, f"of {other}" in out) == (True, False)
        call([*store, "forget", "k", "--purge", "--no-tombstone", "--yes"])
        monkeypatch.setenv("MEMCLI_TENANT", other)
        assert call(["--store", str(root), "fact", "get", "k"]).out in (f"of {other}\n", "")
        call([*store, "fact", "set", "k", f"of {mine}"])
    assert where("--store", str(root), "--tenant", "acme")[0] == str(root / "tenants" / "acme")


def test_a_tenant_that_is_a_link_is_none(tmp_path: Path) -> None:
    two_tenants(tmp_path / "s")
    (tmp_path / "s" / "tenants" / "evil").symlink_to(tmp_path / "s" / "tenants" / "acme")
    ran = call(["--store", str(tmp_path / "s"), "--tenant", "evil", "fact", "get", "k"])
    assert (ran.code in (3, 4), ran.out) == (True, "")


def test_an_empty_tenants_folder_is_no_tenant(box: Box) -> None:
    (box.root / "tenants" / "leftover").mkdir(parents=True)
    assert box.set("k", "v")["how"] == "created"
    with pytest.raises(errors.NotFound):
        folder.open_store(str(box.root), tenant="leftover")


# Told.


def test_status_and_stats_count_and_name_nothing(box: Box) -> None:
    box.set("open", "v", "--confidence", "high", "--source", "user:anna")
    box.set(CANARY, CANARY, "--sensitivity", "restricted", "--tag", CANARY, "--domain", CANARY)
    box.set("ends", "v", "--ttl", "1", now="2026-11-14T00:00:00Z")
    box.set("open", "w")
    box.set("forgotten", "v")
    box.ok("forget", "forgotten", "--yes")
    box.md("hand").write_text("by hand\n")
    box.add("text", "--outcome", "failed")
    status, stats = box.data("status"), box.data("stats")
    assert {n: status[n] for n in ("facts", "ended", "episodes", "by_hand", "damaged")} == {
        "facts": 3,
        "ended": 1,
        "episodes": 1,
        "by_hand": 1,
        "damaged": 0,
    }
    assert stats["facts"] == {"current": 3, "expired": 1, "faded": 0, "by_hand": 1, "damaged": 0}
    assert stats["by_sensitivity"] == {"public": 0, "internal": 2, "sensitive": 0, "restricted": 2}
    assert stats["episodes"] == {"completed": 0, "partial": 0, "failed": 1, "unknown": 0}
    assert (stats["former_values"], stats["trash"]) == (1, 1)
    assert stats["bytes"]["facts"] == sum(p.stat().st_size for p in (box.root / "facts").iterdir())
    for words in (("status",), ("stats",)):
        assert CANARY not in box.ok(*words).out + json_of(box, *words)


def json_of(box: Box, *words: str) -> str:
    return box.ok(*words, "--json").out


def test_config_shows_what_is_in_force_and_what_the_file_sets(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text("format = 1\n[context]\nbudget_tokens = 777\n")
    lines = box.ok("config").out.splitlines()
    assert "* context.budget_tokens = 777" in lines
    assert "  sweep.max_share = 0.2" in lines
    assert box.ok("config", "context.budget_tokens").out == "777\n"
    assert box.data("config", "context.budget_tokens") == {"context.budget_tokens": 777}
    assert box.run("config", "no.such").code == 3


def test_a_store_made_by_the_library_is_that_of_the_command(tmp_path: Path) -> None:
    made = stores.make(str(tmp_path / "a"))
    assert call(["init", str(tmp_path / "b")]).code == 0
    assert Box(tmp_path / "a").tree() == Box(tmp_path / "b").tree()
    assert made.root == str(tmp_path / "a")


def test_a_read_only_store_is_read_and_a_write_is_one_clean_error(box: Box) -> None:
    box.set("k", "v")
    probe = box.root / ".memcli" / "probe"
    folders = [box.root, *(p for p in box.root.rglob("*") if p.is_dir())]
    for path in folders:
        path.chmod(0o500)
    try:
        if os.access(probe.parent, os.W_OK):
            pytest.skip("the superuser is denied nothing")
        for words in (("fact", "get", "k"), ("context",), ("fact", "list"), ("status",), ("doctor",)):
            assert box.run(*words).code == 0
        ran = box.run("fact", "set", "k", "w")
        assert (ran.code, ran.out, ran.err.count("\n")) == (7, "", 1)
    finally:
        for path in folders:
            path.chmod(0o700)


def test_python_m_and_the_script_are_the_same_program(box: Box) -> None:
    box.set("k", "v")
    assert spawn(box.words("fact", "get", "k")) == Ran(0, "v\n", "")
    assert spawn(["--version"], env={"PATH": environment()["PATH"]}).out.startswith("memcli ")
