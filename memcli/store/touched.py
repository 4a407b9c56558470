"""Which records memcli's own writers changed, so that the index need not look at all the others.

A line a write: the layer, the time (ctime) of its folder before and after, and the names. Lines chain: where the time after one
is the time before the next, nothing else changed in between. A reader that finds no unbroken chain looks at everything,
so the file (`.memcli/index.touched`) may be cut short or removed at any time. It is written only where an index is.
"""

import json

from memcli.base import errors, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.store.folder import Store

NAME = "index.touched"
_DATABASE = ".sqlite"
_MOST_BYTES = 1 << 17
_MOST_NAMES = 500
_STATE = ".memcli"


class Trail:
    """What one writer changes: `step` before the first change of a layer, `leave` after the last."""

    __slots__ = ("_before", "_index", "_names", "_store")

    def __init__(self, store: "Store") -> None:
        self._store = store
        with store.folder(_STATE) as state:
            self._index = _databases(state)
        self._before: dict[str, int] = {}
        self._names: dict[str, set[str]] = {}

    def step(self, layer: str, *names: str) -> None:
        """These records of a layer are about to change."""
        if layer not in self._before:
            self._before[layer] = _stamp(self._store, layer)
        self._names.setdefault(layer, set()).update(names)

    def leave(self, state: files.Folder) -> None:
        """Everything is done: say so, after what others said. Never fails: without it readers only work harder."""
        lines = [
            {"layer": layer, "before": before, "after": _stamp(self._store, layer), "names": sorted(self._names[layer])}
            for layer, before in self._before.items()
            if len(self._names[layer]) <= _MOST_NAMES
        ]
        try:
            # A purge takes the index away, and the names that it purged must not stay either.
            if self._index.isdisjoint(_databases(state)):
                return
            info = state.info(NAME)
            if info is not None and info.st_size > _MOST_BYTES:
                state.remove(NAME)
            if lines:
                state.append(NAME, b"".join(json.dumps(line).encode() + b"\n" for line in lines), durable=False)
        except errors.MemcliError:
            return


def between(store: "Store", layer: str, before: int, after: int) -> list[str] | None:
    """The names that were changed while the folder's time went from `before` to `after`; None when nobody can say."""
    try:
        with store.folder(_STATE) as state:
            data = state.read(NAME)
        found: set[str] = set()
        at = before
        for line in files.lines(data or b""):
            row = _row(line)
            if row is not None and row["layer"] == layer and row["before"] == at:
                found.update(row["names"])
                at = row["after"]
        good = at == after and all(isinstance(n, str) and "/" not in n and "\0" not in n for n in found)
        return sorted(found) if good else None
    except (errors.MemcliError, KeyError, TypeError):
        return None


def _row(line: bytes) -> "dict[str, Any] | None":
    """One line; None for one that a stopped writer left half done: the chain is broken there and nowhere else."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _databases(state: files.Folder) -> set[str]:
    return {n for n in state.names() if n.endswith(_DATABASE)}


def _stamp(store: "Store", layer: str) -> int:
    with store.folder(*layer.split("/")) as folder:
        info = folder.info()
    return info.st_ctime_ns if info else 0
