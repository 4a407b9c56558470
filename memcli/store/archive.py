"""Former values, one compact JSON line each: the tracked archive and the git-ignored trash (docs/format.md §3.6)."""

import json
from datetime import datetime

from memcli.base import errors, files, ids
from memcli.model import sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.store.folder import Store, Writing

SUFFIX = ".jsonl"
# From here on one sync of everything is cheaper than one of each file.
_MANY = 20
REASONS = ("superseded", "expired", "faded", "pruned", "forgotten", "promoted", "rejected")
MAX_LINE_BYTES = 16 << 20


def line(
    reason: str, at: datetime, layer: str, name: str, meta: "dict[str, Any]", header: "dict[str, Any]", text: str
) -> bytes:
    """One archived value as it is stored."""
    row = {
        "format": 1,
        "reason": reason,
        "at": sidecar.show_instant(at),
        "layer": layer,
        "name": name,
        "meta": meta,
        "header": header,
        "text": text,
    }
    return compact(row) + b"\n"


def compact(row: "dict[str, Any]") -> bytes:
    """A line as it is stored, without its LF."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def path(layer: str, place: str) -> tuple[str, ...]:
    """The components of the folder of a layer's former values; place is "archive" or "trash"."""
    if place == "trash":
        return (".memcli", "trash", *layer.split("/"))
    return ("archive",) if layer == "facts" else ("archive", *layer.split("/"))


def folder(store: "Store", layer: str, place: str, *, create: bool = False) -> files.Folder:
    """That folder, open."""
    return store.folder(*path(layer, place), create=create)


def append(w: "Writing", layer: str, name: str, data: bytes, place: str = "archive") -> None:
    """Add lines to a record's former values; durable when it returns."""
    append_many(w, layer, [(name, data)], place)


def append_many(w: "Writing", layer: str, lines: "list[tuple[str, bytes]]", place: str = "archive") -> None:
    """Add lines to the former values of each named record; durable when it returns. Many take one sync in all."""
    if not lines:
        return
    many = len(lines) > _MANY
    w.note(*({"appended": [*path(layer, place), name + SUFFIX]} for name, _ in lines))
    with folder(w.store, layer, place, create=True) as d:
        for name, data in lines:
            _append(d, name, data, durable=not many)
        if many:
            d.sync_everything()


def _append(d: files.Folder, name: str, data: bytes, *, durable: bool) -> None:
    end, size = d.tail(name + SUFFIX, 1)
    if size and end != b"\n":  # a writer was stopped half-way through its line
        data = b"\n" + data
    d.append(name + SUFFIX, data, durable=durable)


def read(store: "Store", layer: str, name: str, place: str = "archive") -> "list[dict[str, Any]]":
    """The former values of a record as JSON objects, oldest first; of several with one id the last holds.

    What a merge set aside counts as archived before a writer has written it down.
    """
    waiting: list[bytes] = []
    if place == "archive" and _merged(store):
        from memcli.store import merges

        waiting = merges.rows(store, layer, name)  # before the file: whoever takes them over writes it first
    return rows(b"\n".join([_bytes(store, layer, name, place), *waiting]), name)


def kept(store: "Store", layer: str, name: str, place: str = "archive") -> "list[dict[str, Any]]":
    """As `read`, but only what is written down."""
    return rows(_bytes(store, layer, name, place), name)


def _bytes(store: "Store", layer: str, name: str, place: str) -> bytes:
    with folder(store, layer, place) as d:
        return d.read(name + SUFFIX, limit=None) or b""


def _merged(store: "Store") -> bool:
    """True when a merge has left notes."""
    with store.folder(".memcli") as state:
        return state.info("merges") is not None


def rows(data: bytes, name: str) -> "list[dict[str, Any]]":
    """The readable lines of the archive file of a record; a torn or foreign line is passed over (`doctor` counts them).

    The file says whose they are: what a line says of its name leads nowhere.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in files.lines(data):
        row = row_of(text)
        if row is not None:
            found.pop(row["meta"]["id"], None)
            found[row["meta"]["id"]] = row | {"name": name}
    return list(found.values())


def row_of(text: bytes) -> "dict[str, Any] | None":
    """One archived value, None when the line is not one."""
    try:
        row = sidecar.parse(text) if len(text) <= MAX_LINE_BYTES else {}
        instant = sidecar.instant(row["at"])
        meta, head, body = row["meta"], row["header"], row["text"]
        good = row["reason"].isalpha() and isinstance(body, str) and isinstance(head, dict) and ids.valid(meta["id"])
    except (errors.BadData, KeyError, ValueError, TypeError, AttributeError):
        return None
    return row | {"at": instant} if good else None


def names(store: "Store", layer: str, place: str = "archive") -> list[str]:
    """The records that have former values."""
    with folder(store, layer, place) as d:
        found = {n[: -len(SUFFIX)] for n in d.names() if n.endswith(SUFFIX) and not n.startswith(".")}
    if place == "archive" and _merged(store):
        from memcli.store import merge_notes

        found |= {n.name for n in merge_notes.notes(store) if n.layer == layer}
    return sorted(found)


def without(store: "Store", layer: str, name: str, ids: "set[str] | None", place: str) -> int:
    """Erase values (all, or those with the ids) for good; the count. Only restore and purge may call it."""
    if place == "archive" and _merged(store):
        from memcli.store import merges

        merges.drop(store, layer, name, ids)
    with folder(store, layer, place) as d:
        data = d.read(name + SUFFIX, limit=None)
        if data is None:
            return 0
        kept, gone = [], 0
        for text in files.lines(data):
            row = row_of(text)
            if ids is None or (row is not None and row["meta"]["id"] in ids):
                gone += 1
            else:
                kept.append(text)
        if not gone:
            return 0
        if kept:
            d.replace(name + SUFFIX, b"\n".join(kept) + b"\n")
        else:
            d.remove(name + SUFFIX)
            d.sync()
        return gone
