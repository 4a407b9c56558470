"""What the git repository of a store still holds of what was purged: every object, reachable or not, and git's plain files
(messages being written, reflogs, names of branches, those of other worktrees too).

History is only looked at, never changed. What git cannot say is a gap in the proof, not an error: by then the record is
gone, and whoever purged it must still learn what is known.
"""

import os
import stat

from memcli.base import command, errors, files
from memcli.base.value import Value, value
from memcli.engine import needles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE_BYTES = 1 << 20
_SECONDS = 3600.0
_MOST_FILES = 20_000
# Objects are asked of git; a submodule is a repository of its own.
_NOT_PLAIN = ("objects", "modules")


@value
class Git(Value):
    """What git holds.

    objects: looked at; holding: ids of those that hold it; reachable: how many of these a branch, tag or reflog leads to,
    None where git does not say; messages: how many are commits or tags; files: plain files that hold it, as paths in git's
    folder.
    """

    objects: int
    holding: tuple[str, ...]
    reachable: int | None
    messages: int = 0
    files: tuple[str, ...] = ()


def check(root: str) -> None:
    """Raise SystemFailure when the folder lies in a repository that git cannot read: what cannot be looked at afterwards."""
    trouble = _trouble(root)
    if trouble:
        raise errors.SystemFailure(
            f"{trouble}, so nothing could be proved; nothing was erased",
            path=root,
            hint="git status says why; --purge without --prove erases it all the same",
        )


def look(root: str, wanted: needles.Wanted) -> tuple[Git | None, tuple[str, ...]]:
    """What the repository of this folder holds, None when it is in none or cannot be read; and why something was not
    looked at."""
    trouble = _trouble(root)
    if trouble is None:
        return None, ()
    if trouble:
        return None, (trouble,)
    objects, holding, damaged, messages = 0, [], 0, 0
    held, gaps = _plain_files(root, wanted)
    try:
        for name, kind, found in _objects(_stream(root, "cat-file", *_EVERY_OBJECT), wanted):
            objects += 1
            damaged += found is None
            if found:
                holding.append(name)
                messages += kind in ("commit", "tag")
    except errors.SystemFailure as e:
        gaps.append(f"not every git object could be read: {e.message}; git fsck")
    if damaged:
        gaps.append(f"{damaged} git objects are damaged; git fsck")
    reachable: int | None = 0
    try:
        reachable = _reachable(root, set(holding)) if holding else 0
    except errors.SystemFailure as e:
        reachable = None
        gaps.append(f"which git objects can be reached is not known: {e.message}; git fsck")
    whole = objects - damaged
    git = Git(objects=whole, holding=tuple(holding), reachable=reachable, messages=messages, files=tuple(held))
    return git, tuple(gaps)


def _plain_files(root: str, wanted: needles.Wanted) -> tuple[list[str], list[str]]:
    """Files of git's folder, without its objects, that hold a needle in their name or text; and why some were not read."""
    held: list[str] = []
    gaps: list[str] = []
    looked = 0
    for folder in _git_folders(root):
        for parts, name in _walk(folder, (), gaps):
            looked += 1
            if looked > _MOST_FILES:
                return held, [*gaps, f"git's folder has more than {_MOST_FILES} files beside its objects"]
            path = "/".join((*parts, name))
            in_name = needles.count(os.fsencode(path), wanted) > 0
            search = needles.Search(wanted)
            try:
                with files.Folder(folder, *parts) as d:
                    for piece in d.pieces(name, _PIECE_BYTES):
                        search.feed(piece)
            except errors.MemcliError as e:
                gaps.append(f"a file of git's folder: {e.message}")
            if in_name or search.end():
                held.append(needles.shown(parts, name, wanted))
    return held, gaps


def _git_folders(root: str) -> list[str]:
    """Git's own folder, and that of this worktree where it is another."""
    done = _run(root, "rev-parse", "--git-common-dir", "--git-dir")
    found = [os.path.realpath(os.path.join(root, line)) for line in done.out.splitlines() if line]
    common = found[:1]
    return common + [
        f for f in found[1:] if not f.startswith(tuple(f"{c}{os.sep}" for c in common)) and f not in common
    ]


def _walk(folder: str, parts: tuple[str, ...], gaps: list[str]) -> "Iterator[tuple[tuple[str, ...], str]]":
    """The plain files below, objects and submodules left out."""
    try:
        with files.Folder(folder, *parts) as d:
            listed = [(name, d.info(name)) for name in sorted(d.names())]
    except errors.MemcliError as e:
        gaps.append(f"a folder of git's folder: {e.message}")
        return
    for name, info in listed:
        if info is not None and stat.S_ISDIR(info.st_mode):
            if parts or name not in _NOT_PLAIN:
                yield from _walk(folder, (*parts, name), gaps)
        elif info is not None and stat.S_ISREG(info.st_mode):
            yield parts, name


def prefix(root: str) -> str:
    """The way from the top of the repository to this folder, "" where git does not say."""
    done = _run(root, "rev-parse", "--show-prefix")
    return done.out.strip() if done.code == 0 else ""


_EVERY_OBJECT = ("--batch-all-objects", "--batch", "--unordered", "--buffer")


def _run(root: str, *words: str) -> command.Done:
    try:
        return command.run(["git", "-C", root, *words])
    except errors.SystemFailure:
        return command.Done(code=126, out="")


def _stream(root: str, *words: str) -> "Iterator[bytes]":
    return command.stream(["git", "-C", root, *words], timeout_seconds=_SECONDS)


def _trouble(root: str) -> str | None:
    """Why git cannot be asked, "" when it can, None where there is no repository."""
    code = _run(root, "rev-parse", "--git-dir").code
    if code == 0:
        return ""
    if not _below_git(root):
        return None
    return "git is not there" if code == 127 else "git cannot read the repository"


def _below_git(path: str) -> bool:
    while not os.path.lexists(os.path.join(path, ".git")):
        if path == (path := os.path.dirname(path)):
            return False
    return True


def _objects(stream: "Iterator[bytes]", wanted: needles.Wanted) -> "Iterator[tuple[str, str, bool | None]]":
    """(id, type, whether it holds a needle, None: it cannot be read) of each object of `git cat-file --batch`: a header
    line, the bytes, LF."""
    reader = _Reader(stream)
    while line := reader.line():
        name, _, rest = line.decode("ascii", "replace").partition(" ")
        kind, _, size = rest.partition(" ")
        if kind == "missing" and not size:
            yield name, kind, None
            continue
        if not size.isdecimal():
            raise errors.SystemFailure("git says what memcli does not understand")
        search, left = needles.Search(wanted), int(size)
        while left:
            piece = reader.take(min(left, _PIECE_BYTES))
            left -= len(piece)
            search.feed(piece)
        reader.take(1)
        yield name, kind, search.end() > 0


class _Reader:
    """Lines and so many bytes from a stream of pieces."""

    def __init__(self, stream: "Iterator[bytes]") -> None:
        self._stream = stream
        self._held = bytearray()

    def line(self) -> bytes:
        """The next line without its LF; b"" at the end."""
        while (end := self._held.find(b"\n")) < 0:
            if not self._more():
                return b""
        found = bytes(self._held[:end])
        del self._held[: end + 1]
        return found

    def take(self, count: int) -> bytes:
        """So many bytes. Raises SystemFailure when there are fewer."""
        while len(self._held) < count:
            if not self._more():
                raise errors.SystemFailure("git stopped half-way through an object")
        found = bytes(self._held[:count])
        del self._held[:count]
        return found

    def _more(self) -> bool:
        piece = next(self._stream, b"")
        self._held += piece
        return bool(piece)


def _reachable(root: str, holding: set[str]) -> int:
    """How many of the objects a branch, tag or reflog leads to."""
    held = b""
    found: set[str] = set()
    for piece in _stream(root, "rev-list", "--objects", "--all", "--reflog"):
        *rows, held = (held + piece).split(b"\n")
        found |= {row.split(b" ")[0].decode("ascii", "replace") for row in rows} & holding
    return len(found)
