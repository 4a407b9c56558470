"""Who a source is: what `--source` and MEMCLI_SOURCE name."""

import pytest

from memcli.base import errors
from memcli.model import records

MADE = "AKIA" + "Q3T7WZ5NDJ2LXPVB"  # in the shape of a key, and nobody's


@pytest.mark.parametrize(
    ("words", "kind", "name"),
    [
        ("user:anna", "user", "anna"),
        ("user", "user", "user"),
        ("anna", "unknown", "anna"),
        ("https://example.org/a", "url", "https://example.org/a"),
        ("user://x", "url", "user://x"),
        ("file:///etc/x", "url", "file:///etc/x"),
        ("import://x", "url", "import://x"),
        ("url://x", "url", "url://x"),
        ("s3://bucket/a", "url", "s3://bucket/a"),
        ("url:https://example.org", "url", "https://example.org"),
        ("url:user://x", "url", "user://x"),
        ("file:https://example.org", "file", "https://example.org"),
        ("tool:https://example.org", "tool", "https://example.org"),
        ("file:/etc/x", "file", "/etc/x"),
    ],
)
def test_a_kind_and_an_id_or_an_address(words: str, kind: str, name: str) -> None:
    found = records.source(words)
    assert (found.kind, found.id) == (kind, name)
    assert records.source(str(found)) == found


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("url:https://user:pass123@host/", "name it without the password"),
        ("https://user:pass123@host/", "name it without the password"),
        (f"user:{MADE}", "name it without the credential"),
        (MADE, "name it without the credential"),
    ],
)
def test_a_credential_is_left_out(words: str, hint: str) -> None:
    with pytest.raises(errors.SecretFound) as found:
        records.source(words)
    assert found.value.hint == hint
    assert MADE not in found.value.message
    assert "pass123" not in found.value.message
