"""One server for all tests of a fleet, a bucket prefix for each."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .common import BUCKET, Machine, Server, machine, servers


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from servers(tmp_path_factory.mktemp("seaweed"))


@pytest.fixture(autouse=True)
def _surroundings(server: Server, monkeypatch: pytest.MonkeyPatch, _quick_disk: None) -> None:
    for name in [n for n in os.environ if n.startswith("AWS_") or n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, said in server.env().items():
        monkeypatch.setenv(name, said)
    monkeypatch.setenv("GIT_TEST_FSYNC", "0")


@pytest.fixture
def url() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/team"


@pytest.fixture
def make(tmp_path: Path, url: str) -> Callable[[str], Machine]:
    """A machine with an empty store."""
    return lambda name: machine(tmp_path, name, url)
