"""Notes of what a merge set aside: values that lost against the other side's and are not in the archive yet (decision 0019).

git calls the merge driver once a file, before it touches the work tree, so the driver may not write the archive. It leaves
a note a file in `.memcli/merges/`, named by what it says; `merges` takes the notes over into the archive.
"""

import json

from memcli.base import errors, ids, sha256
from memcli.base.value import Value, value
from memcli.model import sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.model.merge import Merged
    from memcli.store.folder import Store

FOLDER = "merges"
_SUFFIX = ".json"
LAYERS = ("facts", "procedures", "proposed/facts", "proposed/procedures")
_UNSAFE = frozenset("/\\\0")
MD, SIDE = "md", "sidecar"


@value
class Note(Value):
    """One file of a record after a merge. stood, other, base: ids as in `Merged`; part: md or sidecar; data: the other
    side's file, "" where only the labels differed; edited: a text edited by hand under the id of the base."""

    file: str
    layer: str
    name: str
    part: str
    stood: str
    other: str
    base: str
    edited: bool
    data: str


def leave(store: "Store", layer: str, name: str, part: str, made: "Merged") -> None:
    """Note what a merged file does not hold; durable when it returns. Nothing is written where nothing is missing."""
    if made.aside is None and not made.uneven:
        return
    row = {
        "format": 1,
        "layer": layer,
        "name": name,
        "part": part,
        "stood": made.stood,
        "other": made.other,
        "base": made.base,
        "edited": made.edited and made.aside is not None,
        "data": "" if made.aside is None else made.aside.decode(),
    }
    data = json.dumps(row, ensure_ascii=False).encode()
    with store.folder(".memcli", FOLDER, create=True) as folder:
        folder.replace(sha256.hexadecimal(data)[:32] + _SUFFIX, data)


def fits(layer: object, name: object) -> bool:
    """True for the layer and the name of a record that a note can be about."""
    plain = isinstance(name, str) and 0 < len(name) <= 200 and not set(name) & _UNSAFE and name.isprintable()
    return layer in LAYERS and plain


def notes(store: "Store") -> list[Note]:
    """All notes that can be read."""
    found = []
    with store.folder(".memcli", FOLDER) as folder:
        for name in sorted(n for n in folder.names() if n.endswith(_SUFFIX) and not n.startswith(".")):
            note = _note(name, folder.read(name, limit=None) or b"")
            if note is not None:
                found.append(note)
    return found


def of(store: "Store", layer: str, name: str) -> list[Note]:
    """The notes of one record."""
    return [n for n in notes(store) if (n.layer, n.name) == (layer, name)]


def remove(store: "Store", gone: list[str]) -> None:
    """Take notes away by their file names."""
    with store.folder(".memcli", FOLDER) as folder:
        for name in gone:
            folder.remove(name)
        folder.sync()


def _note(file: str, data: bytes) -> Note | None:
    """A note, None when no merge driver of ours can have left it: names must stay in the layer's folder."""
    try:
        raw = sidecar.parse(data)
        good = raw["format"] == 1 and fits(raw["layer"], raw["name"])
        good = good and raw["part"] in (MD, SIDE) and isinstance(raw["data"], str)
        good = (
            good and ids.valid(raw["stood"]) and ids.valid(raw["other"]) and (not raw["base"] or ids.valid(raw["base"]))
        )
        fields = {n: raw[n] for n in Note.__fields__ if n != "file"}
    except (errors.BadData, KeyError, TypeError):
        return None
    return Note(file=file, **fields) if good else None
