"""The only hand on disk: one small set of durable operations on the files of one folder.

A `Folder` is opened component by component without following links, so nothing below a store's root can lead out of it.
New files are 0600 and new folders 0700 whatever the umask. After a failed write or fsync nothing is tried again: the page
cache can no longer be trusted (see the fsync reports of PostgreSQL, 2018).
"""

import errno
import os
import stat
import sys

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NoReturn

MAX_FILE_BYTES = 1 << 20

_MARK = (1 << 63) - 1

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotAFile(errors.BadData):
    """A link, FIFO, device, folder or over-long file where a plain file must be."""

    code = "not_a_file"


class Unreadable(NotAFile):
    """A file that this user may not read: for readers of a whole store one more bad file, by itself the system's no."""

    exit_code = errors.SystemFailure.exit_code
    code = errors.SystemFailure.code
    hint = "check who owns it"


def fail(what: str, path: str, error: OSError) -> "NoReturn":
    """Raise the SystemFailure that says what could not be done to which file and why."""
    raise errors.SystemFailure(f"cannot {what}: {error.strerror or type(error).__name__}", path=path) from error


def fsync(fd: int) -> None:
    """Flush one descriptor to the medium; on macOS past the drive's cache."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fsync(fd)


class Folder:
    """One folder of a store, open for a while: `with files.Folder(root, "facts") as folder: ...`.

    root: a path that may itself be a link (the user chose it); parts: components below it, never followed as links.
    create: make what is missing, else a missing folder reads as an empty one.
    Raises NotAFile when a component is a link or no folder, SystemFailure on any other trouble.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, root: str, *parts: str, create: bool = False) -> None:
        self.path = os.path.join(root, *parts)
        self._fd = _open_folder(root, parts, create)

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def missing(self) -> bool:
        """True when the folder does not exist."""
        return self._fd is None

    def where(self, name: str) -> str:
        """The full path of a name, for messages."""
        return f"{self.path}/{name}"  # os.path.join would cost a tenth of reading a file

    def names(self) -> list[str]:
        """Every name in the folder, unsorted."""
        if self._fd is None:
            return []
        try:
            return os.listdir(self._fd)
        except OSError as e:
            fail("list the folder", self.path, e)

    def read(self, name: str, limit: int | None = MAX_FILE_BYTES) -> bytes | None:
        """The bytes of a regular file, None when there is none.

        Raises NotAFile for links, FIFOs, devices and files above `limit` bytes, SystemFailure when it cannot be read.
        """
        found = self.read_dated(name, limit)
        return None if found is None else found[0]

    def read_dated(self, name: str, limit: int | None = MAX_FILE_BYTES) -> tuple[bytes, float] | None:
        """As `read`, with the time of the last change in seconds since 1970."""
        fd = self._open(name)
        if fd is None:
            return None
        try:
            info = _plain(fd, self.where(name), limit)
            return _read_all(fd, info.st_size), info.st_mtime
        except OSError as e:
            fail("read", self.where(name), e)
        finally:
            os.close(fd)

    def pieces(self, name: str, size: int, overlap: int = 0) -> "Iterator[bytes]":
        """A regular file of any length, `size` bytes at a time, each piece after the last `overlap` bytes of the one before.

        Nothing where there is none. Raises as `read`.
        """
        fd = self._open(name)
        if fd is None:
            return
        try:
            _plain(fd, self.where(name))
            kept = b""
            while piece := os.read(fd, size):
                yield kept + piece
                kept = (kept + piece)[-overlap:] if overlap else b""
        except OSError as e:
            fail("read", self.where(name), e)
        finally:
            os.close(fd)

    def tail(self, name: str, count: int) -> tuple[bytes, int]:
        """The last `count` bytes of a file and its size; (b"", 0) when there is none. Raises as `read`."""
        fd = self._open(name)
        if fd is None:
            return b"", 0
        try:
            info = _plain(fd, self.where(name))
            return os.pread(fd, count, max(0, info.st_size - count)), info.st_size
        except OSError as e:
            fail("read", self.where(name), e)
        finally:
            os.close(fd)

    def _open(self, name: str) -> int | None:
        if self._fd is None:
            return None
        try:
            return os.open(name, _READ, dir_fd=self._fd)
        except FileNotFoundError:
            return None
        except OSError as e:
            if e.errno in (errno.ELOOP, errno.ENXIO):
                raise NotAFile("not a plain file", path=self.where(name)) from None
            if e.errno in (errno.EACCES, errno.EPERM):
                raise Unreadable(f"cannot read: {e.strerror}", path=self.where(name)) from None
            fail("read", self.where(name), e)

    def create(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Write a new file and (durable) fsync it; the folder is not synced. Removes its own leavings on failure."""
        fd = None
        try:
            fd = os.open(name, _NEW, 0o600, dir_fd=self._fd)
            write_all(fd, data)
            if durable:
                fsync(fd)
        except OSError as e:
            if fd is not None:
                self._forget(name)
            fail("write", self.where(name), e)
        finally:
            if fd is not None:
                os.close(fd)

    def append(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Add bytes to a file with one write and (durable) fsync it, and the folder when the file is new.

        On a short or failed write the file is cut back to what it was. A file with a second name (a backup of hard
        links, or worse) is written anew, so that the other name keeps what it had. Raises NotAFile, SystemFailure.
        """
        try:
            fd = os.open(name, _APPEND, 0o600, dir_fd=self._fd)
        except OSError as e:
            if e.errno in (errno.ELOOP, errno.EISDIR):
                raise NotAFile("not a plain file", path=self.where(name)) from None
            fail("append to", self.where(name), e)
        try:
            info = _plain(fd, self.where(name))
            before = info.st_size
            if info.st_nlink > 1:
                self.replace(name, (self.read(name, limit=None) or b"") + data, durable=durable)
                return
            try:
                written = os.write(fd, data)
                if written != len(data):
                    os.write(fd, data[written:])  # to be told why: no space, a quota, a limit on the size of files
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if durable:
                    fsync(fd)
            except OSError:
                os.ftruncate(fd, before)
                raise
        except OSError as e:
            fail("append to", self.where(name), e)
        finally:
            os.close(fd)
        if durable and before == 0:
            self.sync()

    def rename(self, old: str, new: str) -> None:
        """Put `old` in the place of `new`, atomically; not yet durable: see `sync`."""
        try:
            os.rename(old, new, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError as e:
            fail("rename", self.where(old), e)

    def remove(self, name: str) -> bool:
        """Unlink a name; False when it is not there."""
        if self._fd is None:
            return False
        try:
            os.unlink(name, dir_fd=self._fd)
        except FileNotFoundError:
            return False
        except OSError as e:
            fail("remove", self.where(name), e)
        return True

    def remove_empty(self, name: str) -> bool:
        """Remove a folder in this one if there is nothing in it; False when it stands or is not there."""
        try:
            os.rmdir(name, dir_fd=self._fd)
        except OSError:
            return False
        return True

    def sync(self) -> None:
        """Make creations, renames and removals in this folder durable."""
        if self._fd is None:
            return
        try:
            fsync(self._fd)
        except OSError as e:
            fail("sync the folder", self.path, e)

    def sync_everything(self) -> None:
        """Make all data of the file system durable: one call in place of thousands (`syncfs` of Linux).

        Where there is none, every file of the folder is synced by itself.
        """
        if self._fd is None:
            return
        if sys.platform == "linux":
            import ctypes

            if ctypes.CDLL(None, use_errno=True).syncfs(self._fd) == 0:
                return
            code = ctypes.get_errno()
            fail("sync", self.path, OSError(code, os.strerror(code)))
        for name in self.names():
            self.sync_file(name)
        self.sync()

    def sync_file(self, name: str) -> None:
        """fsync one file that was written without it."""
        try:
            fd = os.open(name, _READ, dir_fd=self._fd)
            try:
                fsync(fd)
            finally:
                os.close(fd)
        except OSError as e:
            fail("sync", self.where(name), e)

    def info(self, name: str = "") -> os.stat_result | None:
        """What `lstat` says of a name in the folder (of the folder itself without one), None when it is not there."""
        if self._fd is None:
            return None
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False) if name else os.fstat(self._fd)
        except FileNotFoundError:
            return None
        except OSError as e:
            fail("look at", self.where(name), e)

    def change_times(self, names: list[str]) -> list[int]:
        """The time of the last change (ctime, in nanoseconds) of each file; 0 for what is not there."""
        fd, look = self._fd, os.stat
        if fd is None:  # to `os.stat` it would be the current folder
            return [0] * len(names)
        try:
            return [look(name, dir_fd=fd, follow_symlinks=False).st_ctime_ns for name in names]
        except OSError:
            return [time for time, _ in self.stamps(names)]

    def stamps(self, names: "Iterable[str]", suffix: str = "") -> list[tuple[int, int]]:
        """Two figures a file that change whenever it does: the time of its last change (ctime, in nanoseconds), which
        no program can set, and inode and size in one. (0, 0) for what is not there.
        """
        fd, found = self._fd, []
        if fd is None:
            return [(0, 0) for _ in names]
        for name in names:
            try:
                info = os.stat(name + suffix, dir_fd=fd, follow_symlinks=False)
            except OSError:
                found.append((0, 0))
            else:
                found.append((info.st_ctime_ns, (info.st_ino << 21 ^ info.st_size) & _MARK))
        return found

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Replace a whole file atomically and (durable) for good."""
        temp = f".{name}.{os.getpid()}.tmp"
        self.remove(temp)
        self.create(temp, data, durable=durable)
        try:
            self.rename(temp, name)
        except errors.MemcliError:
            self._forget(temp)
            raise
        if durable:
            self.sync()

    def _forget(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._fd)
        except OSError:
            return  # The first error is the one to report.


def absolute(path: str) -> str:
    """The path from the root. Raises SystemFailure where the current folder is gone."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise errors.SystemFailure("the current folder is gone", hint="cd to one that is there") from None


def _plain(fd: int, path: str, limit: int | None = None) -> os.stat_result:
    """What fstat says of an open plain file; raises NotAFile for any other, and for one above `limit` bytes."""
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise NotAFile("not a plain file", path=path)
    if limit is not None and info.st_size > limit:
        raise NotAFile(f"larger than {limit >> 20} MiB", path=path)
    return info


def _open_folder(root: str, parts: "Iterable[str]", create: bool) -> int | None:
    path = root
    try:
        fd = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        if create:
            fail("open the folder", root, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        return None
    except OSError as e:
        fail("open the folder", root, e)
    for part in parts:
        path = os.path.join(path, part)
        parent = fd
        try:
            fd = _open_below(parent, part, create)
        except FileNotFoundError:
            return None
        except OSError as e:
            if e.errno in (errno.ELOOP, errno.ENOTDIR):
                raise NotAFile("not a folder of its own", path=path) from None
            fail("open the folder", path, e)
        finally:
            os.close(parent)
    return fd


def _open_below(parent: int, part: str, create: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(part, 0o700, dir_fd=parent)
        fsync(parent)
    except FileExistsError:
        pass
    return os.open(part, _FOLDER, dir_fd=parent)


def _read_all(fd: int, size: int) -> bytes:
    data = os.read(fd, size + 1)
    if len(data) == size:
        return data
    pieces = [data]
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def write_all(fd: int, data: bytes) -> None:
    """Every byte, however many calls it takes. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def lines(data: bytes) -> "Iterator[bytes]":
    """The lines of a JSON-lines file, split on LF alone (never on U+2028), blank ones left out."""
    return (line for line in data.split(b"\n") if line.strip())
