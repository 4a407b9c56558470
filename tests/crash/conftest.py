"""Fixtures of the crash tests: the compiled shim, a scratch folder in memory, the fork servers."""

import pathlib
import tempfile
from collections.abc import Iterator

import pytest

from . import victim


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the full-size proofs out unless -m asks for them."""
    if "full" not in (config.option.markexpr or ""):
        for item in items:
            if item.get_closest_marker("full") and item.path.is_relative_to(pathlib.Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason="full size: run with -m full"))


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    if reason := victim.why_not():
        pytest.skip(reason)
    return victim.build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def scratch() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="memcrash-", dir=victim.scratch()) as folder:
        yield pathlib.Path(folder).resolve()


@pytest.fixture(scope="module")
def controls(shim: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[victim.Server]:
    with victim.Server(shim, "protocols:main", tmp_path_factory.mktemp("home")) as server:
        yield server
