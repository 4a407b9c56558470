"""Fork server, run as a script by `victim.Server`: imports the program once and forks a child for each request.

    forkserver.py ENTRY FD        ENTRY is module:function; FD is a socket that carries one JSON object a line

The shim is preloaded into this process and sleeps until a child arms it. A child leaves through os._exit, so that
nothing of the server runs in it. What it had to import it names in a memory file, and the server imports that too: the
next child need not.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import traceback
from typing import Any


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    entry = getattr(importlib.import_module(module), name)
    preload(module.partition(".")[0])
    gc.freeze()  # else the children's first collection copies every page of the parent's objects
    channel = socket.socket(fileno=int(sys.argv[2]))
    for line in channel.makefile("rb"):
        reply = serve(entry, json.loads(line), channel)
        channel.sendall(json.dumps(reply).encode() + b"\n")


def preload(package: str) -> None:
    """Imports every module of the package: what a child imports, it would import again in each case."""
    for found in pkgutil.walk_packages(getattr(sys.modules[package], "__path__", []), package + "."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # optional parts
                importlib.import_module(found.name)


def serve(entry: Any, request: dict[str, Any], channel: socket.socket) -> list[dict[str, Any]]:
    """One outcome for each of the request's argument lists. Only the last one that began can have been killed."""
    # Memory files, not pipes: nobody has to drain them while the child runs.
    files = [os.memfd_create(name) for name in ("out", "err", "report")]
    if not (child := os.fork()):
        channel.close()
        run(entry, request, files)
    _, status = os.waitpid(child, 0)
    out, err, report = (read(fd) for fd in files)
    rows = [json.loads(line) for line in report.splitlines()]
    if rows and "modules" in rows[-1]:
        learn(rows.pop()["modules"])
    else:
        rows.append({"code": os.waitstatus_to_exitcode(status), "out": len(out), "err": len(err)})
    starts = [{"out": 0, "err": 0}, *rows]
    return [
        {"code": row["code"]} | {n: text[start[n] : row[n]].decode("utf-8", "backslashreplace") for n, text in texts}
        for start, row in zip(starts, rows, strict=False)
        for texts in [(("out", out), ("err", err))]
    ]


def read(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        return file.read()


def learn(modules: list[str]) -> None:
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if modules:
        gc.freeze()


def run(entry: Any, request: dict[str, Any], files: list[int]) -> None:
    """The child: runs the argument lists in turn, reports after each, and never returns."""
    known = set(sys.modules)
    out, err, report = files
    try:
        prepare(request, out, err)
        for argv in request["argvs"]:
            row = {"code": call(entry, argv)}
            row |= {name: os.lseek(fd, 0, os.SEEK_CUR) for name, fd in (("out", out), ("err", err))}
            os.write(report, json.dumps(row).encode() + b"\n")
        os.write(report, json.dumps({"modules": sorted(set(sys.modules) - known)}).encode())
    finally:
        os._exit(0)


def call(entry: Any, argv: list[str]) -> int:
    """The exit code that the interpreter would have given."""
    sys.argv = argv
    code: object = 1
    try:
        code = entry()
    except SystemExit as stop:
        code = stop.code
    except BaseException:  # noqa: BLE001 - stands for the interpreter's own last resort
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


def prepare(request: dict[str, Any], out: int, err: int) -> None:
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    signal.alarm(request["patience"])  # a hang shows as death by SIGALRM
    if request["seed"]:
        ctypes.CDLL(None).memcrash_settle(ctypes.c_long(request["seed"]))
    if request["shim"]:
        arm = ctypes.CDLL(None).memcrash_arm
        arm(*(os.fsencode(a) if isinstance(a, str) else ctypes.c_long(a) for a in request["shim"]))


if __name__ == "__main__":
    main()
