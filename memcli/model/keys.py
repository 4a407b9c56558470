"""Keys of records and the file names that follow from them (docs/format.md §3.1).

A key is the identity of a record: text in the normal form NFC. Its file name is safe on every file system, differs
from that of any other key also where case and Unicode forms do not count, and is the key itself where possible.
"""

import functools
import re

from memcli.base import errors, sha256

MAX_LENGTH = 1000
_MAX_SLUG = 60
# Names of devices on Windows.
_RESERVED = frozenset(
    "con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9".split()
)

# Compiled on first use, since most keys are plain ASCII words. C0, DEL and C1; separators; bidi controls; surrogates;
# tag characters, which carry hidden text.
_FORBIDDEN = (
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"


def normal(key: str) -> str:
    """The key in the form in which keys are stored and compared (NFC).

    Raises UsageError for a key that is blank, longer than 1,000 characters, has white space around it, a path segment
    `..`, or control, bidi, tag or line-separator characters or lone surrogates in it. Normal keys stay as they are.
    """
    key = nfc(key)
    fault = _fault(key)
    if fault:
        raise errors.UsageError(f"the key {fault}")  # without the key: it may hold a secret
    return key


def possible(key: str) -> bool:
    """False for what `normal` refuses."""
    return _fault(nfc(key)) is None


def nfc(key: str) -> str:
    """The key in the form NFC (a name from macOS is not), whatever else is wrong with it."""
    # It takes quadratic time for endless runs of marks, so the length comes first.
    if key.isascii() or len(key) > 4 * MAX_LENGTH:
        return key
    import unicodedata

    return unicodedata.normalize("NFC", key)


# Bulk work asks for the same name several times, and a slug of other letters than ASCII is slow to make.
@functools.lru_cache(maxsize=4096)
def file_name(key: str) -> str:
    """The name, without extension, of the files of a key: its slug where that is the key, else slug, `--` and a hash.

    Raises UsageError as `normal` does.
    """
    key = normal(key)
    if len(key) <= _MAX_SLUG and _is_slug(key) and key not in _RESERVED:
        return key
    # A slug never holds `--`, so no slug is another key's hashed name.
    return f"{_slug(key) or 'k'}--{_digest(key)[:12]}"


def hidden_name(key: str) -> str:
    """The name, without extension, for a record that is created sensitive or stricter; hides the key from listings.

    Raises UsageError as `normal` does.
    """
    return f"x--{_digest(normal(key))[:16]}"


def _fault(key: str) -> str | None:
    if all(c.isspace() or c in _INVISIBLE for c in key):
        return "is blank"
    if len(key) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    if key != key.strip():
        return "has white space around it" + _at(key, next(c for c in (key[0], key[-1]) if c.isspace()))
    # Whatever is forbidden is not printable, and that is quick to know.
    if not key.isprintable() and (found := re.search(_FORBIDDEN, key)):
        return "holds control or hidden characters" + _at(key, found[0])
    if ".." in key and ".." in re.split(r"[/\\]", key):
        return "has `..` as a path segment"
    return None


def _at(key: str, character: str) -> str:
    """Where a character stands first, and which it is."""
    return f" (U+{ord(character):04X} at {key.index(character) + 1})"


def _is_slug(key: str) -> bool:
    """Lower-case ASCII letters and digits in parts joined by single dashes."""
    return key.isascii() and key == key.lower() and all(map(str.isalnum, key.split("-")))


def _slug(key: str) -> str:
    """What python-slugify makes of it; computed here where that is sure to be the same (contract test)."""
    if key.isascii() and "&" not in key and "," not in key:
        slug = re.sub("[^a-z0-9]+", "-", key.lower()).strip("-")
        if len(slug) <= _MAX_SLUG:
            return slug
    from slugify import slugify

    # The defaults depend on the release and on what else is installed; names of files must not.
    return slugify(
        key,
        max_length=_MAX_SLUG,
        word_boundary=True,
        save_order=True,
        algorithm="legacy",
        backend="text-unidecode",
    )


def _digest(key: str) -> str:
    return sha256.hexadecimal(key.encode())
