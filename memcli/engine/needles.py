"""What a proof of forgetting looks for, and how often it stands in a file.

A text is looked for as it is and in the forms that memcli writes: escaped for JSON, folded, cut to stems; of a long text
also parts of it.
"""

import json

from memcli.base.value import Value, value
from memcli.model import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Shorter texts ("yes", "8080") stand everywhere: they count only as whole words of a file that names their key too.
LEAST_BYTES = 6
# A line of a longer text by itself; and windows of a long one, which a database may have split between two pages.
_LINE_BYTES = 16
_WINDOW_BYTES = 48
_MOST_WINDOWS = 32


@value
class Needle(Value):
    """One sequence of bytes to look for. near: for a short text, the key that must stand in the same piece."""

    data: bytes
    near: bytes = b""


def of(said: "Iterable[tuple[str, str]]") -> list[Needle]:
    """What to look for, each once."""
    found: dict[Needle, None] = {}
    for key, text in said:
        for form in _forms(text.strip()):
            if len(form) >= LEAST_BYTES:
                found[Needle(data=form)] = None
            elif form and key:
                found[Needle(data=form, near=key.encode())] = None
    return list(found)


def _forms(text: str) -> "Iterator[bytes]":
    """A text as memcli writes it."""
    if not text:
        return
    lines = [line.strip() for line in text.splitlines()]
    long_lines = [line for line in lines if len(lines) > 1 and len(line.encode()) >= _LINE_BYTES]
    for part in (text, *long_lines):
        yield part.encode()
        yield json.dumps(part, ensure_ascii=False)[1:-1].encode()
        yield json.dumps(part)[1:-1].encode()
        yield words.fold(part).encode()
        stems = " ".join(words.terms(part)).encode()
        if len(stems) >= _LINE_BYTES:
            yield stems
    raw = text.encode()
    if len(raw) > 4 * _WINDOW_BYTES:
        step = max(_WINDOW_BYTES, len(raw) // _MOST_WINDOWS)
        for start in range(0, len(raw) - _WINDOW_BYTES, step):
            yield raw[start : start + _WINDOW_BYTES].strip()


def count(data: bytes, wanted: list[Needle]) -> int:
    """How many of the needles stand in the data, each counted as often as it stands there; the forms that are equal once."""
    return max((_times(data, n) for n in wanted), default=0)


def _times(data: bytes, needle: Needle) -> int:
    if not needle.near:
        return data.count(needle.data)
    if needle.near not in data:
        return 0
    count, at = 0, data.find(needle.data)
    while at >= 0:
        end = at + len(needle.data)
        count += not (_in_word(data[at - 1 : at]) or _in_word(data[end : end + 1]))
        at = data.find(needle.data, end)
    return count


def _in_word(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_" or byte >= b"\x80"
