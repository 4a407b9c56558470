"""Files that a person named on the command line: no part of a store, written whole or not at all."""

import os
import stat

from memcli.base import errors, files


def write(path: str, data: bytes) -> None:
    """Write a file that a person named, whole or not at all, readable by its owner alone.

    A link is followed, and a device or pipe (`/dev/stderr`) is written into. Raises UsageError, NotFound, SystemFailure.
    """
    if not path:
        raise errors.UsageError("the path of the file is empty")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except OSError as e:
        files.fail("write", path, e)
    if stat.S_ISDIR(mode):
        raise errors.UsageError("this is a folder; name a file in it", path=path)
    if not stat.S_ISREG(mode):
        _pour(path, data)
        return
    where, name = os.path.split(os.path.realpath(files.absolute(path)))
    with files.Folder(where) as d:
        if d.missing or not name:
            raise errors.NotFound("no such folder", path=where)
        d.replace(name, data)


def _pour(path: str, data: bytes) -> None:
    """Write into what is no plain file. Raises SystemFailure."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            files.write_all(fd, data)
        finally:
            os.close(fd)
    except OSError as e:
        files.fail("write", path, e)
