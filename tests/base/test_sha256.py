"""Our SHA-256 is the one of hashlib."""

import builtins
import hashlib
import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.base import sha256


@given(st.binary(max_size=300))
def test_the_digests_are_those_of_hashlib(data: bytes) -> None:
    assert sha256.binary(data) == hashlib.sha256(data).digest()
    assert sha256.hexadecimal(data) == hashlib.sha256(data).hexdigest()


def test_without_the_interpreters_own_module_hashlib_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in ("_sha2", "_sha256"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    try:
        assert importlib.reload(sha256)._sha256 is hashlib.sha256
        assert sha256.hexadecimal(b"") == hashlib.sha256(b"").hexdigest()
    finally:
        monkeypatch.undo()
        importlib.reload(sha256)
