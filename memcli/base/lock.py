"""One exclusive lock a store: `flock` on `.memcli/lock`, freed by the kernel when its holder dies.

Hot commands take it with `fcntl`, long ones with `filelock` on the same file; both are the same `flock`, so they exclude
each other. Soft locks (marker files) are never used: they go stale.
"""

import errno
import os
import time

from memcli.base import errors, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WAIT_SECONDS = 10.0
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Lock:
    """Hold the store's lock: `with lock.Lock(path): ...`; raises Locked after WAIT_SECONDS, SystemFailure without flock."""

    __slots__ = ("_busy", "_fd", "_hint", "_wait", "path")

    def __init__(
        self, path: str, *, wait_seconds: float = WAIT_SECONDS, busy: str = "the store stayed locked", hint: str = ""
    ) -> None:
        """busy, hint: what is said of another holder who goes on for so long, and what to do."""
        self.path = path
        self._wait = wait_seconds
        self._busy, self._hint = busy, hint or errors.Locked.hint
        self._fd = -1

    def __enter__(self) -> "Lock":
        deadline = time.monotonic() + self._wait
        pause = 0.001
        while not self._take():
            if time.monotonic() > deadline:
                raise errors.Locked(f"{self._busy} for {self._wait:g} seconds", path=self.path, hint=self._hint)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
        self._fd = -1

    def _take(self) -> bool:
        import fcntl

        try:
            fd = os.open(self.path, _FLAGS, 0o600)
        except OSError as e:
            files.fail("open the lock", self.path, e)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same(fd, self.path):
                self._fd, fd = fd, -1
                return True
            return False
        except OSError as e:
            if e.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                return False
            files.fail("lock the store (this file system has no flock?)", self.path, e)
        finally:
            if fd >= 0:
                os.close(fd)


class PatientLock:
    """The same lock for long commands (sweep, import, doctor), through `filelock`."""

    __slots__ = ("_lock", "_wait", "path")

    def __init__(self, path: str, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self.path = path
        self._wait = wait_seconds
        self._lock: Any = None

    def __enter__(self) -> "PatientLock":
        import filelock

        self._lock = filelock.FileLock(self.path, timeout=self._wait, mode=0o600, fallback_to_soft=False)
        try:
            self._lock.acquire()  # compares the inode itself
        except filelock.Timeout:
            raise errors.Locked(f"the store stayed locked for {self._wait:g} seconds", path=self.path) from None
        except NotImplementedError as e:
            raise errors.SystemFailure("cannot lock the store: this file system has no flock", path=self.path) from e
        except OSError as e:
            files.fail("lock the store", self.path, e)
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _same(fd: int, path: str) -> bool:
    """The file behind the descriptor is still the one at the path (a `git clean` may have removed it meanwhile)."""
    held = os.fstat(fd)
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)
