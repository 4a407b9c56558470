"""UUIDs of version 7 (RFC 9562 §5.7): 48 bits of milliseconds since 1970, then random bits; ordered as text."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

_MAX_MS = (1 << 48) - 1
_DIGITS = frozenset("0123456789abcdef")


def new(at: "datetime", *, after: str | None = None) -> str:
    """A fresh id for a value made `at`; greater than the id `after`, even when the clock has gone back."""
    ms = _milliseconds(at)
    made = _shape(ms, os.urandom(10))
    if after is not None and made <= after:
        made = _shape(milliseconds(after) + 1, os.urandom(10)) if milliseconds(after) < _MAX_MS else _next(after)
    return made


def _next(made: str) -> str:
    """The id right after one whose time is the last that there is (from elsewhere, or from a forger)."""
    text = f"{(int(made.replace('-', ''), 16) + 1) % (1 << 128):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def derived(at: "datetime", digest: bytes) -> str:
    """The id that the same content always gets: bits of its SHA-256 (at least 10 bytes) stand in for the random ones."""
    return _shape(_milliseconds(at), digest)


def milliseconds(made: str) -> int:
    """The time inside an id, in milliseconds since 1970; 0 when it is no UUID of version 7."""
    return int(made[:8] + made[9:13], 16) if valid(made) else 0


def valid(text: object) -> bool:
    """True for a lower-case UUID in its usual form (any version: stores may be brought in from elsewhere)."""
    if not isinstance(text, str) or len(text) != 36:
        return False
    digits = text.replace("-", "")
    return len(digits) == 32 and text[8:24:5] == "----" and _DIGITS.issuperset(digits)


def _milliseconds(at: "datetime") -> int:
    return min(max(int(at.timestamp() * 1000), 0), _MAX_MS)


def _shape(ms: int, noise: bytes) -> str:
    bits = int.from_bytes(noise[:10], "big")
    number = ((ms & _MAX_MS) << 80) | (0x7 << 76) | ((bits >> 64 & 0xFFF) << 64) | (0b10 << 62) | (bits & (1 << 62) - 1)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
