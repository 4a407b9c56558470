"""git's plumbing for one repository: no hooks, no editor, no signature, and everything synced before it is named."""

import os
import time

from memcli.base import command, errors, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Without it git syncs packs alone, and a power cut can leave a branch that names a commit which is not there.
_SYNCED = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=batch")
_TIMEOUT_SECONDS = 600.0
_LOCKS = ("index.lock", "HEAD.lock", "refs/memcli/fleet.lock")
_STALE_SECONDS = 1.0
_SOME = 500


def ask(root: str, *words: str, given: bytes = b"", index: str = "") -> tuple[int, bytes]:
    """The exit code and stdout of `git WORDS` in a folder. index: another file in place of the repository's index."""
    lead = ["env", f"GIT_INDEX_FILE={index}"] if index else []
    return command.fetch([*lead, "git", "-C", root, *_SYNCED, *words], given=given, timeout_seconds=_TIMEOUT_SECONDS)


def tell(root: str, *words: str, given: bytes = b"", index: str = "") -> bytes:
    """As `ask`, stdout alone. Raises SystemFailure when git fails, Locked when another git holds the index."""
    code, out = ask(root, *words, given=given, index=index)
    if code != 0:
        name = next(w for w in words if not w.startswith("-"))
        check_free(root)
        import shlex

        hint = f"see what git says: git -C {shlex.quote(root)} status"
        raise errors.SystemFailure(f"git {name} failed", path=root, hint=hint)
    return out


def word(root: str, *words: str, given: bytes = b"", index: str = "") -> str:
    """As `tell`, as one line of text."""
    return tell(root, *words, given=given, index=index).decode("utf-8", "replace").strip()


def commit(root: str, name: str) -> str | None:
    """The commit that a name stands for, None when there is none."""
    code, out = ask(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return out.decode().strip() if code == 0 else None


def within(root: str, one: str, other: str | None) -> bool:
    """True when a commit is the other or one of its ancestors."""
    return other is not None and ask(root, "merge-base", "--is-ancestor", one, other)[0] == 0


def blobs(root: str, names: "Iterable[str]") -> "Iterator[bytes | None]":
    """The contents of objects in the order of their names, None for one that is not there. A few hundred at a time."""
    waiting = list(names)
    for start in range(0, len(waiting), _SOME):
        some = waiting[start : start + _SOME]
        data = tell(root, "cat-file", "--batch", given="".join(f"{n}\n" for n in some).encode())
        position = 0
        for _ in some:
            end = data.index(b"\n", position)
            size = data[position:end].split(b" ")[-1]
            if size.isdigit():
                yield data[end + 1 : end + 1 + int(size)]
                position = end + 2 + int(size)
            else:
                yield None
                position = end + 1


def check_free(root: str) -> None:
    """Raise Locked when another git holds the index. Ask before a note says that a lock is ours."""
    if os.path.isfile(_inside(root, "index.lock")):  # in no repository git names none, and the folder itself is there
        raise errors.Locked(
            "another git works in the store's repository, or was stopped there",
            path=root,
            hint="wait for it; if none runs, remove index.lock in its .git",
        )


def free(root: str) -> None:
    """Remove what a git that was killed in the middle of a sync left locked. Only for one who knows that it was.

    A git that goes on although its memcli is gone gets a moment to end.
    """
    branch = ask(root, "symbolic-ref", "--quiet", "HEAD")[1].decode("utf-8", "replace").strip()
    for name in (*_LOCKS, *([f"{branch}.lock"] if branch else [])):
        where, file = os.path.split(_inside(root, name))
        with files.Folder(where) as folder:
            before = folder.stamps([file])
            if before == [(0, 0)]:
                continue
            time.sleep(_STALE_SECONDS)
            if folder.stamps([file]) == before:
                folder.remove(file)


def _inside(root: str, name: str) -> str:
    """Where git keeps a file of its own."""
    out = ask(root, "rev-parse", "--git-path", name)[1]
    return os.path.join(root, os.fsdecode(out.removesuffix(b"\n")))
