"""Finishing or cleaning what a stopped writer left. Idempotent, and safe to be stopped itself.

Every writer settles what the journal names; `sweep` and `doctor --fix` settle whole folders. The rules are the table of
docs/format.md §3.4: a temp file is the value when the sidecar beside it already carries its id, and rubbish otherwise.
"""

import json
import os
import re
from datetime import datetime, timezone

from memcli.base import errors, files
from memcli.model import header, labels, sidecar
from memcli.store import archive, pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.store.folder import Store

_LAYERS = ("facts", "procedures", "proposed/facts", "proposed/procedures")
_UNSAFE = frozenset("/\\\0")
_LONGEST = 200
_TEMP = re.compile(r"\.(?P<name>.+)\.(?:md|meta)\.(?P<id>[0-9a-f-]{36})\.tmp")


def settle_journal(store: "Store", data: bytes) -> None:
    """Settle each record that the journal names. A torn line belongs to a write that had not begun."""
    for text in files.lines(data):
        appended = _appended(text)
        if appended:
            _make_durable(store, appended)
        entry = None if appended else _entry(text)
        if entry is None:
            continue
        with store.folder(*entry["layer"].split("/")) as folder:
            if not folder.missing:
                _settle_entry(store, folder, entry)


def _appended(text: bytes) -> list[str]:
    """The file that a line of the journal says was appended to, as components; [] for another line."""
    try:
        parts = json.loads(text)["appended"]
        known = isinstance(parts, list) and parts != [] and tuple(parts[:-1]) in _APPENDED and _plain(parts[-1])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return parts if known else []


def _make_durable(store: "Store", parts: list[str]) -> None:
    """What a stopped writer had written but not synced is read as written, so it must not be lost either."""
    with store.folder(*parts[:-1]) as folder:
        if folder.info(parts[-1]) is not None:
            folder.sync_file(parts[-1])
    for depth in range(len(parts)):
        with store.folder(*parts[:depth]) as folder:
            folder.sync()


def _entry(text: bytes) -> "dict[str, Any] | None":
    """One line of the journal, None when no writer of ours can have meant it: names must stay in the layer's folder."""
    try:
        entry: dict[str, Any] = json.loads(text)
        needed = ("name",) if entry.get("drop") else ("name", "id", "renamed") if "renamed" in entry else ("name", "id")
        good = entry["layer"] in _LAYERS and all(_plain(entry[part]) for part in needed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return entry if good else None


def _plain(name: str) -> bool:
    return 0 < len(os.fsencode(name)) <= _LONGEST and isinstance(name, str) and not set(name) & _UNSAFE


def settle_folder(store: "Store", layer: str) -> list[str]:
    """Settle every temp file of a layer's folder; the names of the records concerned, sorted."""
    touched = set()
    with store.folder(*layer.split("/")) as folder:
        for found in filter(None, map(_TEMP.fullmatch, folder.names())):
            settle(store, folder, layer, found["name"], found["id"])
            touched.add(found["name"])
    return sorted(touched)


_APPENDED = frozenset(
    [(), ("episodes",)]  # (): the tombstones
    + [
        archive.path(layer, place)
        for layer in ("facts", "episodes", "procedures", "proposed/facts")
        for place in ("archive", "trash")
    ]
)
_WHOLE = (
    (),
    (".memcli",),
    (".memcli", "work"),
    ("episodes",),
    ("sources",),
    ("archive",),
    ("archive", "episodes"),
    ("archive", "procedures"),
    (".memcli", "trash", "facts"),
    (".memcli", "trash", "episodes"),
    (".memcli", "trash", "procedures"),
    (".memcli", "trash", "proposed", "facts"),
)


def clean_replacements(store: "Store") -> list[str]:
    """Remove what a stopped writer left of files that it was replacing as a whole; the old ones stand. The paths."""
    gone = []
    for parts in _WHOLE:
        with store.folder(*parts) as folder:
            for name in sorted(folder.names()):
                if name.startswith(".") and name.endswith(".tmp") and not _TEMP.fullmatch(name) and folder.remove(name):
                    gone.append("/".join((*parts, name)))
    return gone


def settle(store: "Store", folder: files.Folder, layer: str, name: str, made: str) -> None:
    """Finish or clean one write of the value `made` to the record `name`."""
    prepared = folder.read(pair.side_temp(name, made))
    temp = pair.md_temp(name, made)
    if prepared is not None or not _committed(folder, name, temp, made):
        folder.remove(pair.side_temp(name, made))
        folder.remove(temp)
    elif folder.info(temp) is not None:
        if _differs_by_hand(store, folder, layer, name, made):
            _keep_aside(folder, name)
        folder.rename(temp, name + pair.MD)
    folder.sync()


def leftover_sidecar(store: "Store", folder: files.Folder, layer: str, name: str) -> bool:
    """True when a sidecar stands alone because its record was being taken out."""
    meta = _meta(folder, name)
    if meta is None or folder.info(name + pair.MD) is not None:
        return False
    if folder.info(pair.md_temp(name, meta["id"])) is not None:
        return False
    for place in ("archive", "trash"):
        if any(row["meta"]["id"] == meta["id"] for row in archive.read(store, layer, name, place)):
            return True
    return False


def _settle_entry(store: "Store", folder: files.Folder, entry: "dict[str, Any]") -> None:
    layer, name = entry["layer"], entry["name"]
    if entry.get("renamed"):
        _settle_rename(folder, entry)
    elif entry.get("drop"):
        if leftover_sidecar(store, folder, layer, name):
            folder.remove(name + pair.SIDE)
            folder.sync()
    elif isinstance(entry.get("id"), str):
        settle(store, folder, layer, name, entry["id"])


def _settle_rename(folder: files.Folder, entry: "dict[str, Any]") -> None:
    """The new pair is committed when its sidecar carries the id: then the old pair goes."""
    new, old = _meta(folder, entry["renamed"]), _meta(folder, entry["name"])
    if new and new["id"] == entry["id"] and (old is None or old["id"] == entry["id"]):
        folder.remove(entry["name"] + pair.MD)
        folder.sync()
        folder.remove(entry["name"] + pair.SIDE)
        folder.sync()


def _committed(folder: files.Folder, name: str, temp: str, made: str) -> bool:
    meta = _meta(folder, name)
    found = folder.read(temp)
    if found is None or meta is None or meta["id"] != made:
        return False
    try:
        front, body = header.split(found.decode())
    except (errors.BadData, UnicodeDecodeError):
        return False
    same_label = front is not None and labels.stored_sensitivity(front.get("sensitivity")) == meta["sensitivity"]
    return same_label and front is not None and front.get("id") == made and pair.body_hash(body) == meta["body_sha256"]


def _differs_by_hand(store: "Store", folder: files.Folder, layer: str, name: str, made: str) -> bool:
    """True when the `.md` in the way is neither the value before nor this one: a person wrote it meanwhile."""
    try:
        found = folder.read(name + pair.MD)
        front, body = header.split(found.decode()) if found is not None else (None, "")
    except (errors.BadData, UnicodeDecodeError):
        return True
    if found is None:
        return False
    meta = _meta(folder, name)
    assert meta is not None
    front = front or {}
    if front.get("id") == made:
        return bool(pair.body_hash(body) != meta["body_sha256"])
    if front.get("id") != meta.get("supersedes"):
        return True
    before = [row for row in archive.read(store, layer, name) if row["meta"]["id"] == front.get("id")]
    return bool(before) and bool(before[-1]["text"] != body)


def _keep_aside(folder: files.Folder, name: str) -> None:
    """Keep a person's text as a conflict copy: an ordinary file that no reader takes for a fact."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S-%f")
    folder.rename(name + pair.MD, f"{name}.sync-conflict-{stamp}{pair.MD}")


def _meta(folder: files.Folder, name: str) -> "dict[str, Any] | None":
    try:
        side = folder.read(name + pair.SIDE)
        return None if side is None else sidecar.load(side)
    except errors.BadData:
        return None
