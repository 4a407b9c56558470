"""Real power cuts: a file system in an image, shut down in the middle of a write, mounted again and read.

The ioctl EXT4_IOC_SHUTDOWN, which is XFS_IOC_GOINGDOWN by another name, with the flag NOLOGFLUSH stops the file system as
a power cut does: nothing that is only in memory reaches the image, neither data nor the journal (linux/fs/ext4/ioctl.c,
linux/fs/xfs/xfs_fsops.c). Needs root, loop devices and mkfs of the kind.
"""

import fcntl
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import time

from .victim import HERE

SHUTDOWN, NOLOGFLUSH = 0x8004587D, 2
# The image is sparse. The least that mkfs of each makes.
SIZE_MIB = {"ext4": 64, "xfs": 320}
KEYS = 4


def why_not(kind: str) -> str | None:
    """Why no power can be cut here; None where it can."""
    if not sys.platform.startswith("linux"):
        return "power cuts need Linux"
    if os.geteuid() != 0:
        return "power cuts need root, to mount an image"
    if not (shutil.which(f"mkfs.{kind}") and shutil.which("mount")):
        return f"power cuts of {kind} need mkfs.{kind} and mount"
    if not os.path.exists("/dev/loop-control"):
        return "power cuts need loop devices"
    return None


class Disk:
    """A small disk of one's own, mounted at `place`. Use it in a with statement."""

    def __init__(self, folder: pathlib.Path, kind: str) -> None:
        self.image, self.place = folder / "disk.img", folder / "disk"
        self.place.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(SIZE_MIB[kind] << 20)
        force = {"ext4": "-F", "xfs": "-f"}[kind]
        subprocess.run([f"mkfs.{kind}", "-q", force, self.image], check=True)

    def mount(self) -> str | None:
        """Mounts it; what went wrong, if anything."""
        done = subprocess.run(
            ["mount", "-o", "loop", self.image, self.place], check=False, capture_output=True, text=True
        )
        return done.stderr or "mount failed" if done.returncode else None

    def cut(self) -> None:
        """The power goes: whatever has not reached the medium is lost."""
        fd = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NOLOGFLUSH))
        finally:
            os.close(fd)

    def unmount(self) -> None:
        for _ in range(300):
            if subprocess.run(["umount", self.place], check=False, capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        subprocess.run(["umount", "-l", self.place], check=False, capture_output=True)

    def __enter__(self) -> "Disk":
        return self

    def __exit__(self, *_: object) -> None:
        if os.path.ismount(self.place):
            self.unmount()


# A writer that says the number of each value after it has been acknowledged, until the disk is gone.
MEMCLI = """
import memcli
from memcli.base import clock, files
m, now = memcli.open({root!r}), clock.parse("2026-11-15T09:00:00Z")
{weak}
def put(n):
    m.set_fact(f"key {{n % {keys}}}", f"value {{n}}", now=now, sensitivity="internal" if n % 2 else "restricted")
"""
PROTOCOL = """
sys.path.insert(0, {here!r})
import protocols
def put(n):
    protocols.put(protocols.PROTOCOLS[{name!r}], {root!r}, f"key{{n % {keys}}}", f"value {{n}}", "public")
"""
LOOP = """
import contextlib, io
sys.stdin.readline()
for n in itertools.count({start}):
    with contextlib.redirect_stdout(io.StringIO()):
        put(n)
    os.write(1, b"%d\\n" % n)
"""


def program(root: pathlib.Path, start: int, protocol: str, package_parent: str) -> list[str]:
    """The words of the writer. protocol: memcli, memcli without a sync, or one of protocols.PROTOCOLS."""
    weak = "files.fsync = lambda fd: None" if protocol == "memcli without a sync" else ""
    how = MEMCLI if protocol.startswith("memcli") else PROTOCOL
    body = how.format(root=str(root), weak=weak, keys=KEYS, here=str(HERE), name=protocol)
    head = f"import itertools, os, sys\nsys.path.insert(0, {package_parent!r})\n"
    return [sys.executable, "-c", head + body + LOOP.format(start=start)]


def write_until_cut(disk: Disk, words: list[str], dice: random.Random) -> list[int]:
    """Starts the writer, cuts the power while it writes; the numbers that it had acknowledged."""
    # Unbuffered: what `readline` had read ahead, `communicate` would not see.
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    writer = subprocess.Popen(words, bufsize=0, **streams)
    assert writer.stdin is not None
    assert writer.stdout is not None
    try:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
        first = writer.stdout.readline()
        time.sleep(dice.uniform(0, 0.05))
        disk.cut()
        rest, _ = writer.communicate(timeout=120)
    finally:
        writer.kill()
        writer.wait()
    return [int(line) for line in (first + rest).split()]
