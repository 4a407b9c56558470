"""Words of like meaning, from a file that comes with the package; made by tests/bench/thesaurus.py, which says from what.

The file: 8 bytes `MEMWORDS`, the number of stems as 4 bytes, then for each stem in the order of its UTF-8 bytes 4 bytes
with the place of its entry. An entry: length and bytes of the stem, number of neighbours, for each 2 bytes with its number
and 1 with its closeness of 255. All numbers are little-endian and unsigned; the notices stand in thesaurus.NOTICE.md.
"""

import os

from memcli.base import files

MAGIC = b"MEMWORDS"
_held: "list[bytes]" = []


def neighbours(stem: str) -> list[tuple[str, float]]:
    """Stems of like meaning, the closest first, each with its closeness (0 excluded, up to 1); none for a rare word."""
    data = _data()
    place = _find(data, stem.encode("utf-8", "replace"))
    if place < 0:
        return []
    at = place + 1 + data[place]
    found = []
    for i in range(at + 1, at + 1 + 3 * data[at], 3):
        other = _place(data, data[i] | data[i + 1] << 8)
        found.append((data[other + 1 : other + 1 + data[other]].decode(), data[i + 2] / 255))
    return found


def _data() -> bytes:
    """The whole file, read once a process. Its link, if an installer linked it, is followed: it is no part of a store."""
    if not _held:
        folder, name = os.path.split(os.path.realpath(os.path.join(os.path.dirname(__file__), "thesaurus.bin")))
        with files.Folder(folder) as opened:
            _held.append(opened.read(name, limit=None) or MAGIC + bytes(4))
    return _held[0]


def _count(data: bytes) -> int:
    return int.from_bytes(data[8:12], "little")


def _place(data: bytes, number: int) -> int:
    return int.from_bytes(data[12 + 4 * number : 16 + 4 * number], "little")


def _find(data: bytes, stem: bytes) -> int:
    """The place of a stem's entry, -1 where it has none."""
    low, high = 0, _count(data)
    while low < high:
        middle = (low + high) // 2
        place = _place(data, middle)
        here = data[place + 1 : place + 1 + data[place]]
        if here == stem:
            return place
        if here < stem:
            low = middle + 1
        else:
            high = middle
    return -1
