"""More of what people do with git: rebase, cherry-pick, stash, clean, sparse and shallow clones. Nothing leaks or is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import CANARY, Box

from .common import clean, good, still_good
from .test_git_and_sync import Repo, shown

Act = Callable[[Repo, Path], object]


def begin(repo: Repo) -> None:
    """A fact that becomes restricted, an episode, and a second branch that has its own ideas of both."""
    box = repo.box
    box.set("k", "base value", "--sensitivity", "public")
    box.set("stays", "as it was")
    repo.commit("base")
    repo.git("checkout", "-qb", "theirs")
    box.set("k", "their value")
    box.add("their episode")
    repo.commit("theirs")
    repo.git("checkout", "-q", "main")
    box.set("k", f"{CANARY} value", "--sensitivity", "restricted")
    box.add(f"{CANARY} episode", "--sensitivity", "restricted")
    repo.commit("ours")


def stash(repo: Repo, _: Path) -> None:
    repo.box.set("stays", "changed here")
    repo.git("stash", "-q")
    repo.box.set("stays", f"{CANARY} meanwhile", "--sensitivity", "restricted")
    repo.commit("meanwhile")
    repo.git("stash", "pop", check=False)


def clone(*words: str) -> Act:
    """A clone with these options takes the place of the store."""

    def act(repo: Repo, place: Path) -> None:
        repo.git("clone", "-q", *words, f"file://{repo.box.root}", str(place / "clone"))
        repo.box.root = place / "clone"
        repo.git("checkout", "-q", "main", check=False)

    return act


def sparse(*patterns: str) -> Act:
    def act(repo: Repo, _: Path) -> None:
        repo.git("sparse-checkout", "set", "--no-cone", *patterns, check=False)

    return act


def restored(repo: Repo, name: str) -> None:
    repo.git("checkout", "-q", "theirs", "--", name)


ACTS: dict[str, Act] = {
    "rebase": lambda r, _: r.git("rebase", "theirs", check=False),
    "rebase, theirs": lambda r, _: r.git("rebase", "-X", "theirs", "theirs", check=False),
    "rebase, then abort": lambda r, _: (r.git("rebase", "theirs", check=False), r.git("rebase", "--abort", check=False)),
    "cherry-pick": lambda r, _: r.git("cherry-pick", "theirs", check=False),
    "cherry-pick without commit": lambda r, _: r.git("cherry-pick", "-n", "theirs", check=False),
    "revert": lambda r, _: r.git("revert", "--no-edit", "HEAD", check=False),
    "merge, ours": lambda r, _: r.git("merge", "-q", "-X", "ours", "theirs", check=False),
    "merge, patience": lambda r, _: r.git("merge", "-q", "-X", "patience", "theirs", check=False),
    "squash": lambda r, _: r.git("merge", "-q", "--squash", "theirs", check=False),
    "stash and pop": stash,
    "one file of theirs": lambda r, _: restored(r, "facts/k.md"),
    "one sidecar of theirs": lambda r, _: restored(r, "facts/k.meta.json"),
    "reset soft": lambda r, _: r.git("reset", "-q", "--soft", "HEAD~1"),
    "reset mixed": lambda r, _: r.git("reset", "-q", "HEAD~1"),
    "clean all that is ignored": lambda r, _: r.git("clean", "-qfdx"),
    "gc": lambda r, _: r.git("gc", "-q", "--prune=now"),
    "autocrlf": lambda r, _: (r.git("config", "core.autocrlf", "true"), r.git("checkout", "-q", "theirs"), r.git("checkout", "-q", "main")),
    "shallow clone": clone("--depth", "1", "--no-single-branch"),
    "bare words of a clone": clone("--no-hardlinks"),
    "sparse without sidecars": sparse("/*", "!*.meta.json"),
    "sparse without texts": sparse("/*", "!facts/*.md"),
    "sparse without the archive": sparse("/*", "!archive/"),
    "worktree": lambda r, p: (r.git("worktree", "add", "-q", str(p / "tree"), "theirs"), r.git("worktree", "remove", str(p / "tree"))),
}  # fmt: skip


@pytest.mark.figure("git accidents: leak or loss")
@pytest.mark.parametrize("act", ACTS)
def test_nothing_leaks_and_what_is_whole_is_served(act: str, box: Box, tmp_path: Path) -> None:
    good(box)
    repo = Repo(box)
    begin(repo)
    ACTS[act](repo, tmp_path)
    assert CANARY not in shown(box)
    if "without texts" not in act:
        still_good(box)
    if act not in ("stash and pop",) and "without texts" not in act:
        assert box.run("fact", "get", "stays").code in ((0,) if "sidecars" not in act else (0, 6))
    for words in (("doctor",), ("check",), ("sweep", "--yes"), ("doctor", "--fix"), ("fact", "adopt", "--all")):
        clean(box.run(*words))
        assert CANARY not in shown(box), words
    # And the way back: everything that was committed is there again.
    if not (tmp_path / "clone").exists():
        for words in (
            ("rebase", "--abort"),
            ("cherry-pick", "--abort"),
            ("merge", "--abort"),
            ("sparse-checkout", "disable"),
            ("config", "core.autocrlf", "false"),
        ):
            repo.git(*words, check=False)
        repo.git("reset", "-q", "--hard", "main@{0}" if "reset" not in act else "main@{1}", check=False)
        repo.git("checkout", "-q", "-f", "main", check=False)
        assert CANARY not in shown(box)
        still_good(box)
