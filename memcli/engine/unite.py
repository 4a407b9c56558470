"""Uniting two commits of a store beside its work tree: git merges, with memcli's drivers, and here is what git leaves open.

git never asks a driver about a file that one side deleted and the other changed. In a fleet that happens every day
(forgotten here, confirmed there), so there is a rule for it (docs/decisions/0021-sync.md).
"""

import os

from memcli.base import errors, files
from memcli.base.value import Value, value
from memcli.model import header, sidecar
from memcli.store import archive, folder, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memcli.store.folder import Store

REF = "refs/memcli/fleet"
_MD, _SIDE = ".md", ".meta.json"
_PAIRS = ("facts/", "procedures/", "proposed/facts/", "proposed/procedures/")
_STAYS = ("episodes/", "sources/", "tombstones.jsonl")
_INDEX = "fleet.index"


class Conflict(errors.Changed):
    """The two sides changed the same thing in ways that no rule unites."""

    code = "conflict"


@value
class _Open(Value):
    """A file that one side deleted. base: what both had; left: what the other made of it; side: the commit that has it."""

    path: str
    base: str
    left: str
    side: str


def unite(store: "Store", ours: str, theirs: str, message: str) -> str:
    """A commit with both as parents. Neither the work tree nor a branch is touched. Raises Conflict, which names the files."""
    root = store.root
    tree, stages = _merged(root, ours, theirs)
    left, bad = _left_open(stages, ours, theirs)
    if bad:
        raise _conflict(store, bad, ours, theirs)
    if left:
        tree = _closed(store, tree, left)
    return commit_tree(root, tree, (ours, theirs), message)


def commit_tree(root: str, tree: str, parents: "Iterable[str]", message: str) -> str:
    """A new commit of a tree, by whom git knows here, else by memcli."""
    who = (
        ()
        if git.ask(root, "var", "GIT_COMMITTER_IDENT")[0] == 0
        else ("user.name=memcli", "user.email=memcli@localhost")
    )
    lead = [word for each in who for word in ("-c", each)]
    over = [word for each in parents for word in ("-p", each)]
    return git.word(root, *lead, "commit-tree", tree, *over, given=message.encode() + b"\n")


def _merged(root: str, ours: str, theirs: str) -> tuple[str, dict[str, dict[int, str]]]:
    """git's tree, and of each file that it could not merge the versions by stage (1 base, 2 ours, 3 theirs)."""
    words = ("merge-tree", "--write-tree", "--allow-unrelated-histories", "--no-messages", "-z", ours, theirs)
    code, out = git.ask(root, *words)
    tree, *rows = out.split(b"\0")
    if code not in (0, 1) or len(tree) != 40:
        raise errors.SystemFailure("git merge-tree failed", path=root, hint="a fleet needs git 2.38 or later")
    stages: dict[str, dict[int, str]] = {}
    for row in filter(None, rows):
        head, _, path = row.partition(b"\t")
        _, oid, stage = head.decode().split(" ")
        stages.setdefault(os.fsdecode(path), {})[int(stage)] = oid
    if code == 1 and not stages:
        raise errors.SystemFailure("git merge-tree failed", path=root)
    return tree.decode(), stages


def _left_open(stages: dict[str, dict[int, str]], ours: str, theirs: str) -> tuple[list[_Open], list[str]]:
    """Files that one side deleted, and those in conflict."""
    left, bad = [], []
    for path, found in stages.items():
        known = path.startswith((*_PAIRS, *_STAYS, "archive/"))
        if not known or set(found) not in ({1, 2}, {1, 3}):
            bad.append(path)
            continue
        side = 2 if 2 in found else 3
        left.append(_Open(path=path, base=found[1], left=found[side], side=ours if side == 2 else theirs))
    return left, bad


def _closed(store: "Store", tree: str, left: list[_Open]) -> str:
    """The tree after the rules for what one side deleted."""
    root = store.root
    edits: dict[str, str] = {}
    for one in left:
        if one.path.startswith("archive/"):
            edits[one.path] = _not_purged(root, one)
        elif one.path.startswith(_PAIRS):
            name = one.path.removesuffix(_SIDE).removesuffix(_MD)
            kept = _another_value(root, name, one.side, left)
            for path in (name + _MD, name + _SIDE):
                edits[path] = _blob(root, one.side, path) if kept else ""
    with store.folder(folder.STATE, create=True) as state:
        state.remove(_INDEX)
        index = state.where(_INDEX)
        git.tell(root, "read-tree", tree, index=index)
        lines = [f"100644 {oid}\t{p}" if oid else f"0 {'0' * 40}\t{p}" for p, oid in edits.items()]
        git.tell(
            root,
            "update-index",
            "-z",
            "--index-info",
            given=b"".join(os.fsencode(x) + b"\0" for x in lines),
            index=index,
        )
        made = git.word(root, "write-tree", index=index)
        state.remove(_INDEX)
    return made


def _another_value(root: str, name: str, side: str, left: list[_Open]) -> bool:
    """True when the side that kept a record gave it another value than the one that was deleted, or nobody can tell."""
    base = {one.path: one.base for one in left}
    texts: list[str | None] = []
    made: list[str | None] = []
    for path, into in ((name + _MD, texts), (name + _SIDE, made)):
        now = _blob(root, side, path)
        for data in git.blobs(root, (base.get(path, now) or "0" * 40, now or "0" * 40)):
            into.append(_said(path, data))
    return None in texts or None in made or texts[0] != texts[1] or made[0] != made[1]


def _said(path: str, data: bytes | None) -> str | None:
    """The text of a Markdown file, the id in a sidecar; None where there is none."""
    try:
        if data is None:
            return None
        return header.split(data.decode())[1] if path.endswith(_MD) else str(sidecar.load(data)["id"])
    except (errors.BadData, UnicodeDecodeError):
        return None


def _not_purged(root: str, one: _Open) -> str:
    """Of an archive that one side purged, what the other added to it since; "" for nothing."""
    was, now = (data or b"" for data in git.blobs(root, (one.base, one.left)))
    gone = {row["meta"]["id"] for text in files.lines(was) if (row := archive.row_of(text)) is not None}
    before = set(files.lines(was))
    kept = []
    for text in files.lines(now):
        row = archive.row_of(text)
        if text not in before and (row is None or row["meta"]["id"] not in gone):
            kept.append(text + b"\n")
    return git.word(root, "hash-object", "-w", "--stdin", given=b"".join(kept)) if kept else ""


def _blob(root: str, side: str, path: str) -> str:
    """The object of a file at a commit, "" where there is none."""
    code, out = git.ask(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{side}:{path}")
    return out.decode().strip() if code == 0 else ""


def _conflict(store: "Store", paths: list[str], ours: str, theirs: str) -> Conflict:
    few = ", ".join(sorted(paths)[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
    related = git.ask(store.root, "merge-base", ours, theirs)[0] == 0
    more = "" if related else "--allow-unrelated-histories "
    return Conflict(
        f"this machine and the fleet changed the same in different ways: {few}",
        path=store.root,
        hint=f"git merge {more}{REF}, mend these files, commit, and sync again; nothing was sent",
    )
