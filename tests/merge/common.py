"""Two clones of one store with memcli's merge driver, and every way in which git brings their work together."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from support import CHECKOUT, Box

from memcli.model import labels
from memcli.store import archive, episodes, facts, folder, proposals

Act = Callable[[Box], object]
WAYS = ("merge", "rebase", "cherry-pick", "stash pop")


def git(box: Box, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GIT_EDITOR": "true", "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        ["git", "-C", str(box.root), *words], capture_output=True, text=True, check=False, env=env, timeout=120
    )
    assert not check or done.returncode == 0, (words, done)
    assert "Traceback" not in done.stderr + done.stdout, done
    assert "bug:" not in done.stderr + done.stdout, done
    return done


def commit(box: Box, message: str) -> None:
    git(box, "add", "-A")
    git(box, "commit", "-qm", message, "--allow-empty")


class Outcome(NamedTuple):
    """How bringing the other side in ended: the store as it is now, and git's exit code (0: clean)."""

    box: Box
    code: int
    said: str


class Pair:
    """A store that two people have cloned; `ours` and `theirs` are their clones."""

    def __init__(self, tmp: Path, *before: Act) -> None:
        self.tmp = tmp
        self.number = 0
        self.base = Box(tmp / "base")
        self.base.ok("init", str(self.base.root), "--git")
        git(self.base, "checkout", "-qb", "main", check=False)
        for act in before:
            act(self.base)
        commit(self.base, "base")
        self.config = (self.base.root / ".git" / "config").read_text()
        self.ours, self.theirs = self.copy(self.base, "ours"), self.copy(self.base, "theirs")

    def copy(self, box: Box, name: str) -> Box:
        """A clone that knows the driver; git's configuration is not cloned, and its state not either."""
        shutil.copytree(box.root, self.tmp / name, ignore=lambda d, _: [".memcli"] if Path(d) == box.root else [])
        return Box(self.tmp / name)

    def act(self, ours: Act | None = None, theirs: Act | None = None) -> "Pair":
        for box, act in ((self.ours, ours), (self.theirs, theirs)):
            if act is not None:
                act(box)
                commit(box, "work")
        return self

    def bring(self, into: Box, other: Box, way: str = "merge") -> Outcome:
        """A copy of `into` with the work of `other`, by one of WAYS."""
        self.number += 1
        box = self.copy(into, f"result{self.number}")
        git(box, "fetch", "-q", str(other.root), "HEAD:refs/heads/other")
        if way == "merge":
            done = git(box, "merge", "-q", "--no-edit", "other", check=False)
        elif way == "rebase":
            done = git(box, "rebase", "-q", "other", check=False)
        elif way == "cherry-pick":
            base = git(box, "merge-base", "HEAD", "other").stdout.strip()
            done = git(box, "cherry-pick", "--keep-redundant-commits", f"{base}..other", check=False)
        else:
            base = git(box, "merge-base", "HEAD", "other").stdout.strip()
            git(box, "reset", "-q", base)
            git(box, "add", "-A")
            git(box, "stash", "push", "-q")
            git(box, "merge", "-q", "--ff-only", "other")
            done = git(box, "stash", "pop", "-q", check=False)
        return Outcome(box, done.returncode, done.stdout + done.stderr)

    def both(self, way: str = "merge") -> Outcome:
        """Each side brought into the other: the same tree, nothing that doctor minds. Our side's result."""
        one, two = self.bring(self.ours, self.theirs, way), self.bring(self.theirs, self.ours, way)
        assert (one.code, two.code) == (0, 0), (one.said, two.said)
        for each in (one, two):
            settled(each.box)
        assert show(one.box, two.box) == ""
        return one


def settled(box: Box) -> None:
    """Take over what the merge set aside; then nothing is wrong, and a second time changes nothing."""
    seen = set(values(box))
    box.ok("doctor", "--fix")
    assert [f["code"] for f in box.data("doctor") if f["severity"] != "note"] == []
    assert seen <= set(values(box)), "the archive was read as it is now before it was written"
    before = box.tree()
    box.ok("doctor", "--fix")
    assert box.tree() == before


def show(one: Box, two: Box) -> str:
    """Where two trees differ, for the eye; .git left out."""
    a, b = ({n: d for n, d in box.tree().items() if not n.startswith(".git/")} for box in (one, two))
    return "\n".join(f"--- {n}\n{a.get(n)!r}\n+++\n{b.get(n)!r}" for n in sorted({*a, *b}) if a.get(n) != b.get(n))


def values(box: Box) -> dict[tuple[str, str, str], labels.Sensitivity]:
    """Every value that can be found, with the label that readers go by: current, archived or in the trash."""
    store, found = box.store, {}
    for fact in facts.every(store):
        found["fact", fact.key, fact.text] = fact.sensitivity
    for proposal in proposals.every(store):
        found["proposal", proposal.key, proposal.text] = proposal.sensitivity
    for entry in episodes.newest(store):
        found["episode", "", entry.text] = entry.sensitivity
    for place in ("archive", "trash"):
        for layer in ("facts", "proposed/facts"):
            for name in archive.names(store, layer, place):
                for row in facts.strict(_former(store, layer, name, place)):
                    kind = "fact" if layer == "facts" else "proposal"
                    found.setdefault((kind, row.fact.key, row.fact.text), row.fact.sensitivity)
        for entry, _, _ in episodes.former(store, place):
            found.setdefault(("episode", "", entry.text), entry.sensitivity)
    return found


def _former(store: folder.Store, layer: str, name: str, place: str) -> list[facts.Former]:
    if layer == "facts":
        return facts.former(store, name, place)
    rows = archive.read(store, layer, name, place)
    return [facts.Former(fact=f, reason=r["reason"], at=r["at"], place=place) for r in rows if (f := facts.from_row(r))]


def history(box: Box, key: str) -> list[str]:
    """The former values of a fact, newest first, whatever their label."""
    rows, live = box.data("fact", "history", key, "--reveal"), box.fact(key)
    return [row["text"] for row in rows if row["id"] != live.id]


def driver(kind: str, base: bytes, ours: bytes, theirs: bytes, place: str, root: Path) -> tuple[int, bytes, str]:
    """The driver called as git calls it: exit code, what is in %A then, and what it said."""
    for name, data in ((".merge_file_O", base), (".merge_file_A", ours), (".merge_file_B", theirs)):
        (root / name).write_bytes(data)
    words = [sys.executable, "-m", "memcli", "merge-driver", kind, *(f".merge_file_{n}" for n in "OAB"), place]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, env=env, timeout=60)
    data = (root / ".merge_file_A").read_bytes()
    for name in "OAB":
        (root / f".merge_file_{name}").unlink()
    return done.returncode, data, done.stderr + done.stdout
