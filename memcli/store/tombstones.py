"""What must stay forgotten: salted hashes of purged values in `tombstones.jsonl` (docs/format.md §10).

A tombstone stops a value from being learned again by accident. It does not keep the value secret: whoever has the file
can try guesses, as with any salted hash of a short text.
"""

import json
import os
import re
import unicodedata
from datetime import datetime

from memcli.base import errors, sha256
from memcli.model import sidecar
from memcli.store import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memcli.store.folder import Store, Writing

FILE = folder.TOMBSTONES
FORMAT = 1
_SALT = re.compile(r"[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{64}")
_QUOTES = re.compile(r"[\"'«»“”„`]")

# (layer, key, text): the key of an episode is "".
Buried = tuple[str, str, str]


class Tombstones:
    """The tombstones of a store. damaged: numbers of lines that are none; the others hold all the same."""

    __slots__ = ("_held", "_salts", "damaged")

    def __init__(self, rows: "Iterable[dict[str, Any]]", damaged: "tuple[int, ...]" = ()) -> None:
        self._held = {(row["salt"], row["hash"]) for row in rows}
        self._salts = sorted({salt for salt, _ in self._held})
        self.damaged = damaged

    def hold(self, layer: str, key: str, text: str) -> bool:
        """True when this value was purged, however it is written (see `normal`)."""
        return any((salt, digest(salt, layer, key, text)) in self._held for salt in self._salts)

    @property
    def salt(self) -> str:
        """The salt of the store, "" while it has none. Two clones that each made the file have two; the least is used on."""
        return self._salts[0] if self._salts else ""

    def __len__(self) -> int:
        return len(self._held)


def read(store: "Store") -> Tombstones:
    """The tombstones of a store. Raises NotAFile, and NewerFormat for a line of a later version: both stop a writer."""
    with store.folder() as root:
        data = root.read(FILE, limit=None)
        path = root.where(FILE)
    rows, damaged = [], []
    for number, text in enumerate((data or b"").split(b"\n"), 1):
        row = _row(text, path) if text.strip() else None
        if row is not None:
            rows.append(row)
        elif text.strip():
            damaged.append(number)
    return Tombstones(rows, tuple(damaged))


def add(w: "Writing", values: "Iterable[Buried]", at: datetime) -> int:
    """Write a tombstone for each value that has none yet, durable when it returns; how many are new."""
    held = read(w.store)
    salt = held.salt or os.urandom(16).hex()
    fresh = dict.fromkeys(digest(salt, *v) for v in values if not held.hold(*v))
    if not fresh:
        return 0
    shown = sidecar.show_instant(at)
    lines = [json.dumps({"format": FORMAT, "at": shown, "salt": salt, "hash": h}, separators=(",", ":")) for h in fresh]
    w.note({"appended": [FILE]})
    with w.store.folder() as root:
        end, size = root.tail(FILE, 1)
        lead = b"\n" if size and end != b"\n" else b""  # a writer was stopped half-way through its line
        root.append(FILE, lead + "".join(line + "\n" for line in lines).encode())
    return len(fresh)


def lift(w: "Writing", layer: str, key: str, text: str) -> int:
    """Take the tombstones of a value away: somebody has said that it may be known again. How many."""
    with w.store.folder() as root:
        kept, gone = [], 0
        for line in (root.read(FILE, limit=None) or b"").split(b"\n"):
            row = _row(line, root.where(FILE)) if line.strip() else None
            if row is not None and row["hash"] == digest(row["salt"], layer, key, text):
                gone += 1
            else:
                kept.append(line)
        if gone:
            root.replace(FILE, b"\n".join(kept))
    return gone


def digest(salt: str, layer: str, key: str, text: str) -> str:
    """SHA-256 over the salt's bytes, then layer, normal key and normal text, each ended by LF; hexadecimal."""
    said = "".join(f"{part}\n" for part in (layer, normal(key), normal(text)))
    return sha256.hexadecimal(bytes.fromhex(salt) + said.encode())


def normal(text: str) -> str:
    """What is compared: NFKC, case folded, quotation marks left out, white space collapsed, no punctuation at the end."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")
    return " ".join(_QUOTES.sub("", folded).split()).rstrip(".!;, ") or " ".join(text.split())


def _row(line: bytes, path: str) -> "dict[str, Any] | None":
    """One tombstone, None for a line that is none."""
    try:
        row = sidecar.parse(line)
        known = type(row["format"]) is int and row["format"] > 0
        if known and row["format"] > FORMAT:
            raise errors.NewerFormat("a tombstone was written by a newer memcli", path=path)
        good = known and _SALT.fullmatch(row["salt"]) and _HASH.fullmatch(row["hash"])
    except (sidecar.Damaged, KeyError, TypeError):
        return None
    return row if good else None
