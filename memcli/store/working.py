"""Working memory on disk: one JSON file a session in `.memcli/work/`, never tracked by git.

The file's name is a hash of the session id, which may hold any characters and stands verbatim inside. It is replaced
whole, under the store's lock. How often something was read is noted beside it without the lock (one short append) and
folded in by the next writer, so that reading never waits.
"""

import json
from datetime import datetime

from memcli.base import errors, files, sha256
from memcli.model import labels, sidecar
from memcli.model.records import Source
from memcli.model.working import ROLES, SUMMARY, Entry, Item, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memcli.store.folder import Store, Writing

FOLDER = (".memcli", "work")
FORMAT = 1
_SUFFIX = ".json"
_SEEN = ".seen"
_MOST_SEEN_BYTES = 1 << 16
_MOST_TAKEN = 20_000


class Damaged(errors.BadData):
    """The working memory of a session cannot be read."""

    code = "damaged_session"
    hint = "memcli work clear --session S --yes"


def file_name(session: str) -> str:
    """The name, without extension, of a session's files."""
    return sha256.hexadecimal(session.encode())[:16]


def read(store: "Store", session: str) -> Session:
    """The working memory of a session, empty when there is none. Raises Damaged, NewerFormat."""
    with store.folder(*FOLDER) as folder:
        found = _read(folder, file_name(session))
    if found is None:
        return Session(id=session)
    if found.id != session:
        raise Damaged("the file of this session is another's", path=folder.where(file_name(session) + _SUFFIX))
    return found


def every(store: "Store") -> "Iterator[Session | None]":
    """All sessions by file name; None for one that cannot be read."""
    with store.folder(*FOLDER) as folder:
        for name in sorted(n for n in folder.names() if n.endswith(_SUFFIX) and not n.startswith(".")):
            try:
                yield _read(folder, name.removesuffix(_SUFFIX))
            except errors.BadData:
                yield None


def write(w: "Writing", session: Session, now: datetime) -> None:
    """Replace a session's working memory, durably. Raises UsageError for what could not be read again."""
    data = _encode(session.replace(touched_at=now))
    tidy(w)
    name = file_name(session.id)
    with w.store.folder(*FOLDER, create=True) as folder:
        folder.replace(name + _SUFFIX, data)
        folder.remove(name + _SEEN)


def remove(w: "Writing", session: str) -> bool:
    """Take a session's working memory away; False when there was none."""
    with w.store.folder(*FOLDER) as folder:
        there = [folder.remove(file_name(session) + suffix) for suffix in (_SUFFIX, _SEEN)]
        folder.sync()
    return there[0]


def tidy(w: "Writing") -> int:
    """Remove what stopped writers left, which only another writer may do; how much."""
    with w.store.folder(*FOLDER) as folder:
        left = [n for n in folder.names() if n.startswith(".") and n.endswith(".tmp")]
        for name in left:
            folder.remove(name)
    return len(left)


def count(store: "Store", session: str, ids: "list[str]") -> None:
    """Note that these were read. A count is not worth an error: a read-only store is read without it."""
    try:
        with store.folder(*FOLDER) as folder:
            name = file_name(session) + _SEEN
            info = folder.info(name)
            if ids and not folder.missing and (info is None or info.st_size < _MOST_SEEN_BYTES):
                folder.append(name, "".join(f"{i}\n" for i in ids).encode(), durable=False)
    except errors.MemcliError:
        return


def _read(folder: files.Folder, name: str) -> Session | None:
    path = folder.where(name + _SUFFIX)
    try:
        data = folder.read(name + _SUFFIX, limit=None)
        if data is None:
            return None
        raw = sidecar.parse(data)
        if type(raw.get("format")) is int and raw["format"] > FORMAT:
            raise errors.NewerFormat("the working memory was written by a newer memcli", path=path)
        return _decode(raw, _seen(folder, name))
    except (sidecar.Damaged, ValueError, TypeError, KeyError, AttributeError):
        raise Damaged("the working memory of this session is damaged", path=path) from None


def _seen(folder: files.Folder, name: str) -> dict[str, int]:
    """How often each was read since the last write."""
    try:
        data = folder.read(name + _SEEN) or b""
    except errors.MemcliError:
        return {}
    found: dict[str, int] = {}
    for line in data.decode("ascii", "replace").split():
        found[line] = found.get(line, 0) + 1
    return found


def _encode(session: Session) -> bytes:
    raw = {
        "format": FORMAT,
        "session": session.id,
        "entries": [_row(e) for e in session.entries],
        "items": [_row(i) for i in session.items],
        "taken": list(session.taken[-_MOST_TAKEN:]),
        "touched_at": session.touched_at and sidecar.show_instant(session.touched_at),
    }
    try:
        data = json.dumps(raw, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        _decode(raw, {})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise errors.UsageError("this cannot be kept: one of its fields is not what it must be") from None
    return data + b"\n"


def _row(held: "Item | Entry") -> "dict[str, Any]":
    row: dict[str, Any] = {
        "id": held.id,
        "text": held.text,
        "created_at": sidecar.show_instant(held.created_at),
        "source": {"id": held.source.id, "kind": held.source.kind},
        "confidence": held.confidence,
        "importance": held.importance,
        "sensitivity": str(held.sensitivity),
        "modality": held.modality,
    }
    if isinstance(held, Entry):
        row |= {"key": held.key, "updated_at": sidecar.show_instant(held.updated_at)}
    elif held.role:
        row["role"] = held.role
    optional = {"ttl_minutes": held.ttl_minutes, "tags": list(held.tags), "accesses": held.accesses}
    optional |= {"episode": held.episode, "facts": held.facts}
    optional |= {"sources": list(held.sources)} if isinstance(held, Item) else {}
    return row | {name: item for name, item in optional.items() if item}


def _decode(raw: "dict[str, Any]", seen: dict[str, int]) -> Session:
    """Raises ValueError, TypeError, KeyError, AttributeError for what is not as it must be."""
    entries = [
        Entry(key=_text(r["key"]), updated_at=sidecar.instant(r["updated_at"]), **_common(r, seen))
        for r in _typed(raw["entries"], list)
    ]
    items = [
        Item(role=_role(r.get("role", "")), sources=_texts(r, "sources"), **_common(r, seen))
        for r in _typed(raw["items"], list)
    ]
    touched = raw.get("touched_at")
    return Session(
        id=_text(raw["session"]),
        entries=tuple(entries),
        items=tuple(items),
        taken=_texts(raw, "taken"),
        touched_at=None if touched is None else sidecar.instant(touched),
    )


def _common(row: "dict[str, Any]", seen: dict[str, int]) -> "dict[str, Any]":
    label = labels.stored_sensitivity(row.get("sensitivity"))
    source = row["source"]
    if source["kind"] not in labels.KIND_TRUST:
        raise ValueError
    return {
        "id": _text(row["id"]),
        "text": _text(row["text"]),
        "created_at": sidecar.instant(row["created_at"]),
        "modality": _text(row.get("modality", "text")),
        "source": Source(id=_text(source["id"]), kind=source["kind"]),
        "importance": _unit(row.get("importance", 0.5)),
        "confidence": _unit(row.get("confidence", 0.6)),
        "sensitivity": labels.RESTRICTED if label is None else label,
        "ttl_minutes": _count(row.get("ttl_minutes", 0)),
        "tags": _texts(row, "tags"),
        "accesses": _count(row.get("accesses", 0)) + seen.get(row["id"], 0),
        "episode": row.get("episode") is True,
        "facts": row.get("facts") is True,
    }


def _typed(item: "Any", kind: type) -> "Any":
    if type(item) is not kind:
        raise ValueError
    return item


def _text(item: object) -> str:
    if type(item) is not str:
        raise ValueError
    item.encode()
    return item


def _texts(row: "dict[str, Any]", name: str) -> tuple[str, ...]:
    return tuple(map(_text, _typed(row.get(name, []), list)))


def _role(item: object) -> str:
    if item not in ("", SUMMARY, *ROLES):
        raise ValueError
    return str(item)


def _unit(item: object) -> float:
    if type(item) not in (int, float) or not 0 <= item <= 1:  # type: ignore[operator]
        raise ValueError
    return float(item)  # type: ignore[arg-type]


def _count(item: object) -> int:
    if type(item) is not int or item < 0:
        raise ValueError
    return item
