"""`git setup`: what a clone is told, where it holds, and what happens without it."""

import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support import Box, call, stamp

import memcli
from memcli.engine import clone

from .common import Pair, commit, git, history, settled
from .test_facts import H1, H2, sets
from .test_layers import adds


def plain(box: Box, name: str) -> Box:
    """A clone as git makes it: without the configuration."""
    made = Box(box.root.parent / name)
    subprocess.run(["git", "clone", "-q", str(box.root), str(made.root)], check=True)
    return made


def program() -> str:
    """What the driver's command begins with."""
    return shlex.split(clone._driver("fact"))[0]


def config(box: Box, name: str) -> str:
    return git(box, "config", name, check=False).stdout.strip()


def codes(box: Box) -> list[str]:
    return [f["code"] for f in box.data("doctor")]


def test_a_clone_is_told_once(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    other = plain(pair.ours, "a clone")
    assert codes(other) == ["no_driver"]
    assert other.run("check").code == 0
    looked = other.run("git", "setup", "--check")
    assert looked.code == 4
    assert "lacking: merge.memcli-fact.driver\n" in looked.out
    assert codes(other) == ["no_driver"]
    done = other.data("git", "setup")
    assert done["how"] == "set up"
    assert "merge.memcli-log.driver" in done["config"]
    assert done["files"] == []
    assert codes(other) == []
    kept = (other.root / ".git" / "config").read_bytes()
    assert other.ok("git", "setup").out == "unchanged\n"
    assert other.ok("git", "setup", "--check").out == "unchanged\n"
    assert (other.root / ".git" / "config").read_bytes() == kept
    assert git(other, "pull", "-q", "--no-rebase", str(pair.theirs.root), "HEAD").returncode == 0
    assert other.get("k") == "theirs"


def test_without_it_conflict_markers_stand(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    other = plain(pair.ours, "clone")
    assert git(other, "pull", "-q", "--no-rebase", str(pair.theirs.root), "HEAD", check=False).returncode == 1
    assert "<<<<<<< " in other.md("k").read_text()
    assert other.run("fact", "get", "k").code == 6


@pytest.mark.parametrize("gone", ["program", "command"])
def test_when_memcli_is_gone_it_is_as_if_there_were_no_driver(gone: str, tmp_path: Path) -> None:
    """git alone would leave our side without a marker, and whoever adds it loses the other."""
    pair = Pair(tmp_path, sets("base", stamp()), adds("entry", now=stamp()))
    pair.act(sets("ours", H1), sets("theirs", H2))
    path = pair.ours.root / ".git" / "config"
    words = {"program": (program(), "/nowhere/memcli"), "command": ("merge-driver", "no-such-command")}
    text = path.read_text()
    assert words[gone][0] in text
    path.write_text(text.replace(*words[gone]))
    assert codes(pair.ours) == (["no_driver"] if gone == "program" else [])
    done = pair.bring(pair.ours, pair.theirs)
    assert done.code == 1
    assert "<<<<<<< " in done.box.md("k").read_text()
    assert "<<<<<<< " in done.box.side("k").read_text()


def test_a_store_in_a_folder_of_a_repository(tmp_path: Path) -> None:
    top = tmp_path / "a repo of 100%"
    box = Box(top / "some folder" / "the store")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    box.root.parent.mkdir()
    made = box.ok("init", str(box.root), "--git")
    assert "repository" not in made.out
    assert config(box, "merge.renameLimit") == ""  # merges of everything else are not ours to change
    assert "holds more than the store" in box.ok("git", "setup").err
    box.set("k", "base")
    commit(box, "base")
    git(box, "checkout", "-qb", "theirs")
    box.set("k", "theirs", now=H2)
    commit(box, "theirs")
    git(box, "checkout", "-q", "-")
    box.set("k", "ours", now=H1)
    commit(box, "ours")
    assert git(box, "merge", "-q", "theirs").returncode == 0  # from within the store
    assert box.get("k") == "theirs"
    settled(box)
    assert "ours" in history(box, "k")
    assert sorted(p.name for p in top.iterdir()) == [".git", "some folder"]


def test_what_stands_in_the_work_tree_is_not_run(tmp_path: Path) -> None:
    """git calls the driver in the top folder, and whoever can push can put modules there."""
    plant = 'import pathlib; pathlib.Path("{}").write_text("run")\n'

    def planted(box: Box) -> None:
        for name in ("memcli/__init__.py", "memcli/__main__.py", "json.py", "memcli.py", "sitecustomize.py"):
            path = box.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(plant.format(tmp_path / "was-run"))

    pair = Pair(tmp_path, sets("base", stamp()), planted).act(sets("ours", H1), sets("theirs", H2))
    assert pair.bring(pair.ours, pair.theirs).box.get("k") == "theirs"
    assert not (tmp_path / "was-run").exists()


def test_lines_and_settings_of_a_person_stay(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()))
    box = pair.ours
    mine = "# mine\n*.png binary\n/episodes/*.md merge=ours text"
    (box.root / ".gitattributes").write_text(mine)
    git(box, "config", "merge.renameLimit", "7")
    git(box, "config", "--unset", "merge.renames")
    looked = box.run("git", "setup", "--check")
    assert "lacking: .gitattributes\n" in looked.out
    assert (box.root / ".gitattributes").read_text() == mine
    done = box.ok("git", "setup")
    assert "merge.renameLimit stays as it is" in done.err
    text = (box.root / ".gitattributes").read_text()
    assert text.startswith(mine + "\n")
    assert text.count("/episodes/*.md") == 1
    assert "/facts/*.md merge=memcli-fact\n" in text
    assert config(box, "merge.renameLimit") == "7"
    assert config(box, "merge.renames") == "false"
    assert box.ok("git", "setup").out == "unchanged\n"
    assert (box.root / ".gitattributes").read_text() == text


def test_an_older_store_gets_its_lines(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()))
    path = pair.ours.root / ".gitattributes"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "merge" not in line))
    assert codes(pair.ours) == []  # nothing names the driver
    assert pair.ours.data("git", "setup")["files"] == [".gitattributes"]
    assert git(pair.ours, "check-attr", "merge", "facts/x.meta.json").stdout.endswith(": memcli-meta\n")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("facts/k.md", "fact"), ("facts/k.meta.json", "meta"), ("procedures/p.md", "fact"), ("procedures/p.meta.json", "meta"),
        ("proposed/facts/k.md", "fact"), ("proposed/procedures/k.meta.json", "meta"), ("sources/s.meta.json", "source"),
        ("episodes/2026-11.md", "log"), ("archive/k.jsonl", "archive"), ("archive/episodes/2026-11.jsonl", "archive"),
        ("archive/procedures/p.jsonl", "archive"), ("tombstones.jsonl", "archive"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tenant", ["", "tenants/acme/"])
def test_each_file_has_its_driver(path: str, kind: str, tenant: str, tmp_path: Path) -> None:
    root = tmp_path / "store"
    assert call(["init", str(root), "--git"]).code == 0
    if tenant:
        assert call(["--tenant", "acme", "init", str(root)]).code == 0
    done = subprocess.run(
        ["git", "-C", root, "check-attr", "merge", tenant + path], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith(f": memcli-{kind}\n")


def test_a_tenant_merges_as_a_store_does(tmp_path: Path) -> None:
    root = tmp_path / "store"
    assert call(["init", str(root), "--git"]).code == 0
    assert call(["--tenant", "acme", "init", str(root)]).code == 0

    def run(*words: str) -> str:
        ran = call(["--store", str(root), "--tenant", "acme", *words])
        assert ran.code == 0, ran
        return ran.out

    box = Box(root)
    path = root / "tenants" / "acme" / ".gitattributes"
    path.unlink()
    assert "set up" in run("git", "setup")
    assert "merge=memcli-fact" in path.read_text()
    run("fact", "set", "k", "base")
    commit(box, "base")
    git(box, "checkout", "-qb", "theirs")
    run("--now", H2, "fact", "set", "k", "theirs")
    commit(box, "theirs")
    git(box, "checkout", "-q", "-")
    run("--now", H1, "fact", "set", "k", "ours")
    commit(box, "ours")
    git(box, "merge", "-q", "theirs")
    run("doctor", "--fix")
    assert "ours" in run("fact", "history", "k")
    assert not (root / ".memcli" / "merges").exists()


def test_a_linked_work_tree(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    git(pair.ours, "fetch", "-q", str(pair.theirs.root), "HEAD:refs/heads/other")
    git(pair.ours, "worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    box = Box(tmp_path / "linked")
    git(box, "merge", "-q", "other")
    assert box.get("k") == "theirs"
    settled(box)
    assert "ours" in history(box, "k")


def test_outside_of_git_it_is_an_error_and_doctor_is_quiet(box: Box) -> None:
    ran = box.run("git", "setup")
    assert ran.code == 3
    assert ran.err.startswith("memcli: the store is in no git repository")
    assert codes(box) == []


def test_a_configuration_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    other = plain(pair.ours, "clone")
    (other.root / ".git" / "config.lock").write_text("")  # as another git leaves it that was stopped
    ran = other.run("git", "setup")
    assert ran.code == 7
    assert ran.err.startswith("memcli: git config failed")


def test_the_python_face(tmp_path: Path) -> None:
    other = plain(Pair(tmp_path).ours, "clone")
    m = memcli.open(other.root)
    assert "merge.memcli-fact.driver" in m.git_setup(check=True).config
    assert [f.code for f in m.doctor()] == ["no_driver"]
    assert m.git_setup().config
    assert m.git_setup() == m.git_setup(check=True)
    assert m.doctor() == []


def test_notes_are_private(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    folder = pair.bring(pair.ours, pair.theirs).box.root / ".memcli" / "merges"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert git(Box(folder.parents[1]), "status", "--short").stdout == ""


def test_a_merge_whose_place_for_notes_is_full_is_no_merge(tmp_path: Path) -> None:
    """What cannot be noted must not be dropped: git's text merge stands in, with its markers."""
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    box = pair.ours
    shutil.rmtree(box.root / ".memcli" / "merges", ignore_errors=True)
    (box.root / ".memcli" / "merges").write_text("no folder")
    git(box, "fetch", "-q", str(pair.theirs.root), "HEAD:refs/heads/other")
    assert git(box, "merge", "-q", "other", check=False).returncode == 1
    assert "<<<<<<< " in box.md("k").read_text()


def test_without_a_script_the_interpreter_is_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "a folder" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))
    assert clone._driver("log").startswith(f"'{python}' -P -m memcli merge-driver log %O %A %B %P; ")
