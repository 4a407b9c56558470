"""The manifest of a fleet: which commit is its head and which bundles lead there (docs/decisions/0021-sync.md).

Whoever can write to the bucket can write it, so nothing in it is believed before it is checked.
"""

import json
import re

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import sidecar

NAME = "memcli-fleet.json"
FOLDER = "bundles"
FORMAT = 1
MOST_BYTES = 1 << 20
MOST_BUNDLE_BYTES = 256 << 20
MOST_BUNDLES = 50
# Room for a list that somebody forgot to shorten.
_MOST_READ = 4 * MOST_BUNDLES
_MOST_PREREQUISITES = 100
_HASH = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FIELDS = {"format", "kind", "head", "bundles"}
_KIND = "memcli-fleet"


@value
class Bundle(Value):
    """One bundle. name: the SHA-256 of its bytes; head: the commit it leads to; prerequisites: commits it builds on."""

    name: str
    size_bytes: int
    head: str
    prerequisites: tuple[str, ...]

    @property
    def path(self) -> str:
        """Its name in the bucket."""
        return path(self.name)


@value
class Manifest(Value):
    """The head of a fleet and the bundles, oldest first, of which each leads on from the one before."""

    head: str
    bundles: tuple[Bundle, ...]


def path(name: str) -> str:
    """The name in the bucket of the bundle with this hash."""
    return f"{FOLDER}/{name}.bundle"


def read(data: bytes) -> Manifest:
    """Raises BadData for anything but a manifest, NewerFormat for one of a newer memcli."""
    try:
        raw = sidecar.parse(data)
        if raw.get("kind") == _KIND and type(raw.get("format")) is int and raw["format"] > FORMAT:
            raise errors.NewerFormat(f"the fleet's manifest has format {raw['format']}, this memcli knows {FORMAT}")
        if set(raw) != _FIELDS or raw["kind"] != _KIND or raw["format"] != FORMAT or type(raw["format"]) is not int:
            raise ValueError
        listed = raw["bundles"]
        if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_READ:
            raise ValueError
        found = Manifest(head=_one(_COMMIT, raw["head"]), bundles=tuple(map(_bundle, listed)))
        if found.bundles[-1].head != found.head or len({b.name for b in found.bundles}) != len(listed):
            raise ValueError
    except errors.NewerFormat:
        raise
    except (errors.BadData, ValueError, KeyError, TypeError, AttributeError):
        raise errors.BadData(
            f"{NAME} in the bucket is no manifest of a fleet", hint="is the URL right? nothing was changed"
        ) from None
    return found


def write(found: Manifest) -> bytes:
    """The manifest as it is stored."""
    rows = [
        {"name": b.name, "size_bytes": b.size_bytes, "heads": [b.head], "prerequisites": list(b.prerequisites)}
        for b in found.bundles
    ]
    raw = {"format": FORMAT, "kind": _KIND, "head": found.head, "bundles": rows}
    return json.dumps(raw, indent=1).encode() + b"\n"


def _bundle(raw: "dict[str, object]") -> Bundle:
    if set(raw) != {"name", "size_bytes", "heads", "prerequisites"}:
        raise ValueError
    size, heads, needed = raw["size_bytes"], raw["heads"], raw["prerequisites"]
    if type(size) is not int or not 0 < size <= MOST_BUNDLE_BYTES:
        raise ValueError
    if not isinstance(heads, list) or not isinstance(needed, list) or len(needed) > _MOST_PREREQUISITES:
        raise ValueError
    (head,) = heads
    return Bundle(
        name=_one(_HASH, raw["name"]),
        size_bytes=size,
        head=_one(_COMMIT, head),
        prerequisites=tuple(_one(_COMMIT, c) for c in needed),
    )


def _one(form: "re.Pattern[str]", text: object) -> str:
    if not isinstance(text, str) or not form.fullmatch(text):
        raise ValueError
    return text
