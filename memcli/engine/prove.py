"""Proof of forgetting: a search of everything that a store keeps, byte by byte, for what was purged.

Looked at: every file below the store (its tenants are stores of their own) and every object of its git repository,
reachable or not. Not looked at: other clones, remotes, backups, what the file system keeps of deleted files, and what a
program has read before. A text is looked for as it is and in the forms that memcli writes: escaped for JSON, folded, cut
to stems; of a long text also parts of it. What is found is counted and named by path, never shown.
"""

import json
import os
import stat

from memcli.base import command, errors
from memcli.base.value import Value, value
from memcli.model import words
from memcli.store import episodes, folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memcli.store.folder import Store

# Shorter texts ("yes", "8080") stand everywhere: they count only as whole words of a file that names their key too.
LEAST_BYTES = 6
_PIECE_BYTES = 4 << 20
# A line of a longer text by itself; and windows of a long one, which a database may have split between two pages.
_LINE_BYTES = 16
_WINDOW_BYTES = 48
_MOST_WINDOWS = 32
_GIT_SECONDS = 3600.0


@value
class Needle(Value):
    """One sequence of bytes to look for. near: for a short text, the key that must stand in the same piece."""

    data: bytes
    near: bytes = b""


@value
class Trace(Value):
    """Where something still stands. area: as in Proof.looked; path: relative to the store; count: how often."""

    area: str
    path: str
    count: int


@value
class Git(Value):
    """What the object store holds. objects: looked at; holding: ids of those that hold it, and how many can be reached."""

    objects: int
    holding: tuple[str, ...]
    reachable: int


@value
class Proof(Value):
    """What was looked at and what was found.

    looked: files by area (facts, episodes, procedures, sources, proposed, archive, trash, working, index, state, other);
    found: residue outside git; skipped: links and other things that are no files; git: None where the store is in no
    repository, or git is not there; paths: files of the record, for a tool that rewrites history.
    """

    looked: dict[str, int]
    found: tuple[Trace, ...]
    skipped: int
    git: Git | None
    paths: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """True when nothing is left outside git."""
        return not self.found


def run(store: "Store", said: "Iterable[tuple[str, str]]", *, names: "Iterable[str]", layer: str) -> Proof:
    """Search the store and its git objects for these (key, text) pairs. names: the file names that the record had.

    Raises SystemFailure when something cannot be read: a proof with a hole is none.
    """
    wanted = needles(said)
    looked: dict[str, int] = {}
    found, skipped = [], 0
    for parts, name, is_file in _files(store, ()):
        if not is_file:
            skipped += 1
            continue
        area = _area((*parts, name))
        looked[area] = looked.get(area, 0) + 1
        count = _count_file(store, parts, name, wanted)
        if count:
            in_name = _count("/".join((*parts, name)).encode(), wanted)
            path = "/".join((*parts, "(its name holds it)" if in_name else name))
            found.append(Trace(area=area, path=path, count=count))
    return Proof(
        looked=dict(sorted(looked.items())),
        found=tuple(found),
        skipped=skipped,
        git=_git(store, wanted),
        paths=tuple(_paths(store, names, layer)),
    )


def needles(said: "Iterable[tuple[str, str]]") -> list[Needle]:
    """What to look for, each once."""
    found: dict[Needle, None] = {}
    for key, text in said:
        for form in _forms(text.strip()):
            if len(form) >= LEAST_BYTES:
                found[Needle(data=form)] = None
            elif form and key:
                found[Needle(data=form, near=key.encode())] = None
    return list(found)


def _forms(text: str) -> "Iterator[bytes]":
    """A text as memcli writes it."""
    if not text:
        return
    lines = [line.strip() for line in text.splitlines()]
    long_lines = [line for line in lines if len(lines) > 1 and len(line.encode()) >= _LINE_BYTES]
    for part in (text, *long_lines):
        yield part.encode()
        yield json.dumps(part, ensure_ascii=False)[1:-1].encode()
        yield json.dumps(part)[1:-1].encode()
        yield words.fold(part).encode()
        stems = " ".join(words.terms(part)).encode()
        if len(stems) >= _LINE_BYTES:
            yield stems
    raw = text.encode()
    if len(raw) > 4 * _WINDOW_BYTES:
        step = max(_WINDOW_BYTES, len(raw) // _MOST_WINDOWS)
        for start in range(0, len(raw) - _WINDOW_BYTES, step):
            yield raw[start : start + _WINDOW_BYTES].strip()


def _files(store: "Store", parts: tuple[str, ...]) -> "Iterator[tuple[tuple[str, ...], str, bool]]":
    """Every name below a folder of the store that is no folder: (folder, name, is a plain file)."""
    with store.folder(*parts) as d:
        listed = [(name, d.info(name)) for name in sorted(d.names())]
    for name, info in listed:
        if info is None:  # gone meanwhile
            continue
        if stat.S_ISDIR(info.st_mode):
            if parts or name not in (".git", folder.TENANTS):
                yield from _files(store, (*parts, name))
        else:
            yield parts, name, stat.S_ISREG(info.st_mode)


_AREAS = ("facts", "episodes", "procedures", "sources", "proposed", "archive")
_STATE_AREAS = {"trash": "trash", "work": "working"}


def _area(path: tuple[str, ...]) -> str:
    if path[0] == folder.STATE:
        return "index" if path[1].startswith("index.") else _STATE_AREAS.get(path[1], "state")
    return path[0] if path[0] in _AREAS else "other"


def _count_file(store: "Store", parts: tuple[str, ...], name: str, wanted: list[Needle]) -> int:
    count = _count(os.fsencode(name), wanted)
    overlap = max((len(n.data) for n in wanted), default=1)
    with store.folder(*parts) as d:
        lead = 0  # so much of the next piece was looked at with the one before
        for piece in d.pieces(name, _PIECE_BYTES, overlap):
            count += _count(piece, wanted) - _count(piece[:lead], wanted)
            lead = min(overlap, len(piece))
    return count


def _count(data: bytes, wanted: list[Needle]) -> int:
    """How many of the needles stand in the data, each counted as often as it stands there; the forms that are equal once."""
    return max((_times(data, n) for n in wanted), default=0)


def _times(data: bytes, needle: Needle) -> int:
    if not needle.near:
        return data.count(needle.data)
    if needle.near not in data:
        return 0
    count, at = 0, data.find(needle.data)
    while at >= 0:
        end = at + len(needle.data)
        count += not (_in_word(data[at - 1 : at]) or _in_word(data[end : end + 1]))
        at = data.find(needle.data, end)
    return count


def _in_word(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_" or byte >= b"\x80"


def _git(store: "Store", wanted: list[Needle]) -> Git | None:
    git = ["git", "-C", store.root]
    if command.run([*git, "rev-parse", "--git-dir"]).code != 0:
        if _below_git(store.root):
            raise errors.SystemFailure("git cannot read the repository", path=store.root, hint="git status says why")
        return None
    objects, holding = 0, []
    listed = [*git, "cat-file", "--batch-all-objects", "--batch", "--unordered", "--buffer"]
    for name, found in _objects(command.stream(listed, timeout_seconds=_GIT_SECONDS), wanted):
        objects += 1
        if found:
            holding.append(name)
    return Git(objects=objects, holding=tuple(holding), reachable=_reachable(git, set(holding)) if holding else 0)


def _below_git(path: str) -> bool:
    while not os.path.exists(os.path.join(path, ".git")):
        if path == (path := os.path.dirname(path)):
            return False
    return True


def _objects(stream: "Iterator[bytes]", wanted: list[Needle]) -> "Iterator[tuple[str, bool]]":
    """(id, whether it holds a needle) of each object that `git cat-file --batch` says: a header line, the bytes, LF."""
    overlap = max((len(n.data) for n in wanted), default=1)
    for name, size in _headers(reader := _Reader(stream)):
        found, left, held = False, size, b""
        while left:
            piece = reader.take(min(left, _PIECE_BYTES))
            left -= len(piece)
            found = found or _count(held + piece, wanted) > 0
            held = piece[-overlap:]
        reader.take(1)
        yield name, found


def _headers(reader: "_Reader") -> "Iterator[tuple[str, int]]":
    while line := reader.line():
        name, _, size = line.split(b" ", 2)
        if not size.isdigit():
            raise errors.SystemFailure("git says what memcli does not understand", hint="git fsck")
        yield name.decode(), int(size)


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
                raise errors.SystemFailure("git stopped half-way through an object", hint="git fsck")
        found = bytes(self._held[:count])
        del self._held[:count]
        return found

    def _more(self) -> bool:
        piece = next(self._stream, b"")
        self._held += piece
        return bool(piece)


def _reachable(git: list[str], holding: set[str]) -> int:
    """How many of the objects a branch, tag or reflog leads to."""
    held = b""
    found: set[str] = set()
    for piece in command.stream([*git, "rev-list", "--objects", "--all", "--reflog"], timeout_seconds=_GIT_SECONDS):
        *rows, held = (held + piece).split(b"\n")
        found |= {row.split(b" ")[0].decode("ascii", "replace") for row in rows} & holding
    return len(found)


def _paths(store: "Store", names: "Iterable[str]", layer: str) -> "Iterator[str]":
    """Files of the record as git names them, from the top of the repository."""
    done = command.run(["git", "-C", store.root, "rev-parse", "--show-prefix"])
    lead = done.out.strip() if done.code == 0 else ""
    for name in names:
        if layer == episodes.LAYER:
            yield from (f"{lead}episodes/{name}.md", f"{lead}archive/episodes/{name}.jsonl")
        else:
            yield from (f"{lead}facts/{name}.md", f"{lead}facts/{name}.meta.json", f"{lead}archive/{name}.jsonl")
