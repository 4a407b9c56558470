"""The process under test: the shim that strikes it, the server that forks it, how it ended, and the log of its calls."""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
from urllib.parse import unquote

HERE = pathlib.Path(__file__).parent
WRITES = ("write", "pwrite", "writev")

Argv = tuple[str, ...]


def compiler() -> str | None:
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)


def why_not() -> str | None:
    """Why no shim can be had here; None where it can."""
    if not sys.platform.startswith("linux"):
        return "the shim reads /proc and needs LD_PRELOAD: Linux only"
    return None if compiler() else "no C compiler (cc, gcc, clang) to build the shim"


def build_shim(folder: pathlib.Path) -> pathlib.Path:
    target = folder / "memcrash.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE"]
    subprocess.run([compiler() or "cc", *flags, "-o", target, HERE / "shim.c"], check=True)
    return target


def scratch() -> str | None:
    """Memory where there is some: these tests are about order, which needs no disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclasses.dataclass(frozen=True)
class Strike:
    """What the shim is to do: `mode` at call number `at` below `root`; at 0 it only counts and logs.

    seed: where not 0, random bytes and process id are the same in all runs of that seed.
    """

    root: str
    at: int = 0
    mode: str = ""
    log: str = ""
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a process ended. A negative code is the signal that ended it."""

    code: int
    out: str
    err: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def acknowledged(self, whole: "Outcome") -> bool:
        """True when it had said all that an undisturbed run says (numbers and ids may differ)."""
        said, wanted = (self.out, whole.out) if whole.out else (self.err, whole.err)
        complete = said.endswith("\n") and said.count("\n") >= wanted.count("\n")
        return self.code == 0 or (self.killed and complete)


class Server:
    """A fork server for one entry point ("module:function"). Close it, or use it in a with statement."""

    def __init__(self, shim: pathlib.Path, entry: str, home: pathlib.Path) -> None:
        self.entry, self.shim, self.home = entry, shim, home
        self.patience_seconds = 30
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, HERE / "forkserver.py", entry, str(theirs.fileno())],
            env={**self.env, "LD_PRELOAD": str(shim)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        self._channel = ours.makefile("rwb")

    def run(self, argv: Argv, strike: Strike | None = None) -> Outcome:
        """Runs the entry point in a forked child."""
        return self.run_all([argv], strike)[0]

    def run_all(self, argvs: list[Argv], strike: Strike | None = None) -> list[Outcome]:
        """Runs one after the other in one forked child: a fresh process that asks more than one question."""
        request = {
            "argvs": [[self.entry, *argv] for argv in argvs],
            "env": self.env,
            "cwd": str(self.home),
            "patience": self.patience_seconds,
            "shim": [strike.root, strike.at, strike.mode, strike.log] if strike else None,
            "seed": strike.seed if strike else 0,
        }
        self._channel.write(json.dumps(request).encode() + b"\n")
        self._channel.flush()
        reply = self._channel.readline()
        if not reply:
            raise RuntimeError(f"the fork server for {self.entry} died")
        outcomes = [Outcome(**row) for row in json.loads(reply)]
        return outcomes + outcomes[-1:] * (len(argvs) - len(outcomes))  # what a death kept from running died too

    def spawn(self, argv: Argv, strike: Strike) -> Outcome:
        """The same in a process of its own, slowly: proves that the fork server tells no tales."""
        module, _, name = self.entry.partition(":")
        code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import {module} as m; sys.exit(m.{name}())"
        names = {"ROOT": strike.root, "AT": str(strike.at), "MODE": strike.mode, "LOG": strike.log}
        env = {**self.env, "LD_PRELOAD": str(self.shim), **{f"MEMCRASH_{k}": v for k, v in names.items()}}
        command = [sys.executable, "-c", code, *argv]
        done = subprocess.run(command, env=env, cwd=self.home, capture_output=True, text=True, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        self._channel.close()
        self._process.wait(10)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- the log ----


@dataclasses.dataclass(frozen=True)
class Call:
    """One line of the shim's log. Number 0 is a write to stdout or stderr; a negative result is -errno."""

    number: int
    name: str
    result: int
    inode: int
    was: int
    offset: int
    path: str
    to: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.number} {self.name} {os.path.basename(self.path)} {os.path.basename(self.to)}".rstrip()


def read_log(path: str) -> list[Call]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return [_call(line.rstrip("\n").split("\t")) for line in file]


def _call(words: list[str]) -> Call:
    number, name, result, inode, was, offset, path, to, data = words
    where = (int(inode), int(was), int(offset))
    return Call(int(number), name, int(result), *where, unquote(path), unquote(to), bytes.fromhex(data))
