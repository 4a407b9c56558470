"""Bringing the files of a store from one commit to another, so that a stop anywhere is finished by whoever writes next.

`git merge` and `git checkout` write files one by one; stopped half-way, a mixture stands that looks like work of this
machine, and the next value set in it would supersede one that nobody has archived. So the merge is made beside the work
tree, and its files come in here: noted first, each replaced as a whole, HEAD last (docs/decisions/0021-sync.md).
"""

import json
import os
import re

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import sidecar
from memcli.store import folder, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.base import files
    from memcli.store.folder import Store, Writing

MARK = "updating"
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name of a tree without files
_OID = re.compile(r"[0-9a-f]{40}")
_NONE = "0" * 40
_PLAIN = ("100644", "100755")
_SIDE = ".meta.json"


@value
class Change(Value):
    """A file that differs: its path below the store, and what it was and is, "" where it is not there."""

    path: str
    was: str
    now: str
    mode: str


def changes(root: str, old: str, new: str) -> list[Change]:
    """What differs between two commits or trees. Raises BadData for what no store may bring: a link, a state folder."""
    out = git.tell(root, "diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--raw", old, new)
    fields = out.split(b"\0")[:-1]
    found = []
    for head, name in zip(fields[::2], fields[1::2], strict=True):
        _, mode, was, now, _ = head.decode().lstrip(":").split(" ")
        if now != _NONE and not allowed(mode, name):
            raise errors.BadData(
                "a commit holds what is no plain file of a store, or is this machine's own",
                path=os.fsdecode(name).encode("utf-8", "replace").decode(),
                hint="take it out of git where it came in: git rm --cached; nothing was changed",
            )
        found.append(Change(path=os.fsdecode(name), was=_there(was), now=_there(now), mode=mode))
    return found


def allowed(mode: str, path: bytes) -> bool:
    """True for a plain file whose path stays below the store and out of what is git's or this machine's."""
    parts = path.split(b"/")
    good = mode in _PLAIN and not {b"", b".", b".."} & set(parts)
    return good and parts[0].lower() != folder.STATE.encode() and b".git" not in {p.lower() for p in parts}


def mark(store: "Store", old: str = "", new: str = "") -> None:
    """Note that git is at work here (no names), or that files go from one commit to another. Durable."""
    row = {"format": 1, "from": old, "to": new}
    with store.folder(folder.STATE, create=True) as state:
        state.replace(MARK, json.dumps(row).encode())


def unmark(store: "Store") -> None:
    """What was noted is done."""
    with store.folder(folder.STATE) as state:
        state.remove(MARK)
        state.sync()


def marked(store: "Store") -> bool:
    """True when somebody was stopped."""
    with store.folder(folder.STATE) as state:
        return state.info(MARK) is not None


def update(w: "Writing", old: str | None, new: str) -> None:
    """Bring the work tree, the index and the branch from `old` (None: nothing yet), which they are at, to `new`.

    Raises Changed when a file that git does not track is in the way; then nothing has changed.
    """
    rows = changes(w.store.root, old or EMPTY, new)
    _check_way(w.store, rows)
    git.check_free(w.store.root)
    mark(w.store, old or EMPTY, new)
    _finish(w.store, rows, old or EMPTY, new)
    unmark(w.store)


def settle(store: "Store") -> None:
    """Finish an update that was stopped. Twice does no harm."""
    with store.folder(folder.STATE) as state:
        data = state.read(MARK) or b""
    try:
        raw = sidecar.parse(data)
        old, new = str(raw["from"]), str(raw["to"])
    except (errors.BadData, KeyError):
        old = new = ""
    if not _OID.fullmatch(old) or not _OID.fullmatch(new):
        return  # git was at work, but no file of a store: `sync` frees what it left
    git.free(store.root)
    if git.commit(store.root, new) is not None:
        _finish(store, changes(store.root, old, new), old, new)
    unmark(store)


def _finish(store: "Store", rows: list[Change], old: str, new: str) -> None:
    root = store.root
    for row, was, now in _contents(root, _ordered(rows)):
        parts = row.path.split("/")
        with store.folder(*parts[:-1], create=bool(row.now)) as place:
            _bring(place, parts[-1], was, now)
    with store.folder() as top:
        top.sync_everything()
    head = git.commit(root, "HEAD")
    if head == new or (head or EMPTY) == old:
        lines = b"".join(
            f"{r.mode if r.now else 0} {r.now or _NONE}\t".encode() + os.fsencode(r.path) + b"\0" for r in rows
        )
        git.tell(root, "update-index", "-z", "--index-info", given=lines)
        if head != new:
            git.tell(root, "update-ref", "-m", "memcli sync", "HEAD", new, head or _NONE)
        git.ask(root, "update-index", "-q", "--refresh")


def _bring(place: "files.Folder", name: str, was: bytes | None, now: bytes | None) -> None:
    """One file. What is neither of the two is a person's, written meanwhile: it stays, and shows as changed."""
    held = place.read(name, limit=None)
    if held == now or held not in (was, None):
        return
    if now is None:
        place.remove(name)
    else:
        place.replace(name, now, durable=False)


def _contents(root: str, rows: list[Change]) -> "Iterator[tuple[Change, bytes | None, bytes | None]]":
    names = [n for r in rows for n in (r.was, r.now)]
    found = git.blobs(root, (n for n in names if n))
    for row in rows:
        was = next(found) if row.was else None
        now = next(found) if row.now else None
        if row.now and now is None:
            raise errors.SystemFailure("an object is missing in the repository", path=root, hint="git fsck")
        yield row, was, now


def _ordered(rows: list[Change]) -> list[Change]:
    """New and changed files before those that go; of a record the sidecar first, as a writer does, and last when it goes."""
    return sorted(
        rows,
        key=lambda r: (
            not r.now,
            r.path.removesuffix(_SIDE).removesuffix(".md"),
            r.path.endswith(_SIDE) != bool(r.now),
        ),
    )


def _check_way(store: "Store", rows: list[Change]) -> None:
    for row, _, now in _contents(store.root, [r for r in rows if not r.was]):
        parts = row.path.split("/")
        with store.folder(*parts[:-1]) as place:
            if place.info(parts[-1]) is not None and place.read(parts[-1], limit=None) != now:
                raise errors.Changed(
                    "a file that git does not track is in the way of one of the fleet",
                    path=os.path.join(store.root, row.path),
                    hint="move it away, and run it again",
                )


def _there(oid: str) -> str:
    return "" if oid == _NONE else oid
