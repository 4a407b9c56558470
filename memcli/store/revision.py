"""A store as it was at a git revision: read like a folder, never written.

Two calls of git bring all its files; `facts.every(Revision(...))` then reads them like those on disk. `git archive` would
be one call, but leaves out what a `.gitattributes` of the revision itself says, and so would a gate that reads it.
"""

import os
from datetime import datetime, timezone

from memcli.base import command, errors, files
from memcli.model import settings
from memcli.store import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.store.folder import Store, Writing

_TIMEOUT_SECONDS = 300.0


class Revision(folder.Store):
    """A store at a revision. Raises NotFound when git does not know the revision or the store is not in it."""

    __slots__ = ("_files", "name")

    def __init__(self, store: "Store", name: str) -> None:
        super().__init__(store.root, tenant=store.tenant, why=f"git {name}")
        self.name = name
        self._files = _read(store.root, name)
        self._settings = settings.Settings() if folder.MARKER not in self._files else None

    @property
    def settings(self) -> settings.Settings:
        """The settings as they were; defaults before there was a memcli.toml."""
        if self._settings is None:
            from memcli.base import toml

            self._settings = settings.read(toml.load(self._files[folder.MARKER].decode("utf-8-sig", "replace")))
        return self._settings

    def folder(self, *parts: str, create: bool = False) -> files.Folder:
        """One folder of the revision, to be read only."""
        return _Shelf("/".join(parts), self._files)

    def writing(self, *, patient: bool = False) -> "Writing":
        """Never: what is in git is not changed."""
        raise errors.SystemFailure("a revision cannot be written", path=self.root)


class _Shelf(files.Folder):
    """The files of one folder of a revision."""

    __slots__ = ("_held",)

    def __init__(self, path: str, held: dict[str, bytes]) -> None:
        self.path = path
        self._fd = None
        lead = f"{path}/" if path else ""
        self._held = {n.removeprefix(lead): data for n, data in held.items() if n.startswith(lead)}

    def close(self) -> None:
        return

    @property
    def missing(self) -> bool:
        return not self._held

    def names(self) -> list[str]:
        return [n for n in self._held if "/" not in n]

    def read_dated(self, name: str, limit: int | None = files.MAX_FILE_BYTES) -> tuple[bytes, float] | None:
        data = self._held.get(name)
        if data is None:
            return None
        if limit is not None and len(data) > limit:
            raise files.NotAFile("not a plain file of at most 1 MiB", path=self.where(name))
        return data, 0.0

    def info(self, name: str = "") -> os.stat_result | None:
        return os.stat_result((0o100600, 0, 0, 1, 0, 0, 0, 0, 0, 0)) if name in self._held else None

    def tail(self, name: str, count: int) -> tuple[bytes, int]:
        data = self._held.get(name, b"")
        return data[-count:], len(data)


def time_of(store: "Store", name: str) -> datetime:
    """When the commit of a revision was made. Raises NotFound."""
    done = command.run(["git", "-C", store.root, "show", "-s", "--format=%ct", f"{name}^{{commit}}", "--"])
    try:
        return datetime.fromtimestamp(int(done.out.strip()), timezone.utc)
    except (ValueError, OverflowError, OSError):  # git does not know it, or its time is none
        raise _unknown(store.root) from None


def _read(root: str, name: str) -> dict[str, bytes]:
    if name.startswith("-") or not name.strip():
        raise errors.UsageError("odd revision", hint="a branch, tag or commit, such as HEAD~1")
    if command.run(["git", "-C", root, "rev-parse", "--git-dir"]).code != 0:
        raise errors.NotFound("the store is not in a git repository", path=root, hint="memcli init --git")
    # From a folder below the top, git lists that folder alone, and names its files relative to it.
    code, listed = command.fetch(["git", "-C", root, "ls-tree", "-r", "-z", name], timeout_seconds=_TIMEOUT_SECONDS)
    rows = [row.partition(b"\t") for row in listed.split(b"\0") if row.startswith(b"100")]  # plain files, no links
    if code != 0 or not rows:
        raise _unknown(root)
    blobs = [head.split(b" ")[2] for head, _, _ in rows]
    code, data = command.fetch(
        ["git", "-C", root, "cat-file", "--batch"], timeout_seconds=_TIMEOUT_SECONDS, given=b"\n".join(blobs) + b"\n"
    )
    if code != 0:
        raise _unknown(root)
    return dict(zip((os.fsdecode(path) for _, _, path in rows), _contents(data), strict=False))


def _contents(data: bytes) -> "Iterator[bytes]":
    """The objects that `git cat-file --batch` says, each after a line that ends in its size."""
    position = 0
    while (end := data.find(b"\n", position)) >= 0:
        words = data[position:end].split(b" ")
        size = int(words[-1]) if words[-1].isdigit() else 0  # "missing" in a partial clone
        yield data[end + 1 : end + 1 + size]
        position = end + 1 + size + (words[-1].isdigit())


def _unknown(root: str) -> errors.NotFound:
    return errors.NotFound("git does not know this revision, or the store is not in it", path=root)
