"""Procedures on disk: pairs like facts, with steps in the front matter and the record of their use in the sidecar."""

from datetime import datetime

from memcli.base import clock, errors
from memcli.base.value import as_dict
from memcli.model import header, keys, labels, sidecar
from memcli.model.records import Procedure, Source, Step
from memcli.store import archive, pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memcli.base import files
    from memcli.store.folder import Store, Writing
    from memcli.store.pair import Pair

LAYER = "procedures"
_FRONT = ("title", "task_type", "trigger")
_HEADER = frozenset(("id", "key", "sensitivity", "tags", "steps", *_FRONT))
_NOT_META = frozenset((*_FRONT, "text", "tags", "steps", "header", "file_state", "name", "digest"))
_META = frozenset(Procedure.__fields__)


def every(store: "Store", unread: "list[str] | None" = None) -> "Iterator[Procedure]":
    """All procedures by file name, whatever their state and label. unread: gets the names of those whose text is there
    and cannot be read."""
    with store.folder(LAYER) as folder:
        for name in pair.stems(folder.names()):
            found = named(store, folder, name)
            if found is not None:
                yield found
            elif unread is not None and folder.info(name + pair.MD) is not None:
                unread.append(name)


def named(store: "Store", folder: "files.Folder", name: str) -> Procedure | None:
    """The procedure of a file name."""
    found = pair.read(folder, name)
    return None if found is None else _procedure(found)


def get(store: "Store", key: str) -> Procedure | None:
    """The procedure of a key, None when there is none; of two files the greater id and the stricter label hold."""
    with store.folder(LAYER) as folder:
        names = (keys.file_name(key), keys.hidden_name(key))
        found = [_procedure(p) for name in names if (p := pair.read(folder, name)) and p.key == key]
    if not found:
        return None
    return max(found, key=lambda p: p.id).replace(sensitivity=max(p.sensitivity for p in found))


def put(w: "Writing", procedure: Procedure, old: Procedure | None = None, *, at: datetime | None = None) -> None:
    """Write a procedure over `old` (None: create); with the same id only the files that differ are replaced.

    at: when `old` was superseded; with it, and another id, `old` goes to the archive first.
    """
    hidden = procedure.sensitivity >= labels.SENSITIVE
    name = procedure.name or (keys.hidden_name(procedure.key) if hidden else keys.file_name(procedure.key))
    md, side = encode(procedure)
    pair.check_size(md, side)
    new_value = old is None or old.id != procedure.id
    same_md, same_side = (None, None) if new_value or old is None or old.file_state != "ok" else encode(old)
    if new_value and old is not None and at is not None:
        archive.append(w, LAYER, old.name, _archived(old, "superseded", at))
    with w.store.folder(LAYER, create=True) as folder:
        if old is None:
            pair.check_free(folder, name)
        pair.write(
            w,
            folder,
            LAYER,
            name,
            procedure.id,
            md=None if md == same_md else md,
            side=None if side == same_side else side,
            new_value=new_value,
        )


def remove(w: "Writing", gone: list[Procedure], at: datetime) -> None:
    """Take procedures out after they lie, synced, in the trash."""
    archive.append_many(w, LAYER, [(p.name, _archived(p, "forgotten", at)) for p in gone], "trash")
    with w.store.folder(LAYER) as folder:
        pair.drop(w, folder, LAYER, [p.name for p in gone])


def former(store: "Store", name: str, place: str) -> list[Procedure]:
    """The procedures kept under a file name in the archive or the trash, oldest first; damaged lines left out."""
    return [p for row in archive.read(store, LAYER, name, place) if (p := _from_row(row)) is not None]


def said(procedure: Procedure) -> str:
    """What a procedure says, as its tombstone has it (docs/format.md §10): the text, then a line for each step."""
    lines = [f"{s.name}: {s.action}" if s.name else s.action for s in procedure.steps]
    return "\n".join(line for line in (procedure.text, *lines) if line)


def encode(procedure: Procedure) -> tuple[bytes, bytes]:
    """The bytes of the two files of a procedure. Raises UsageError for what could not be read again as it is."""
    front = _front(procedure)
    try:
        text = header.join(front, procedure.text)
        if header.split(text)[0] != front:
            raise ValueError("a step, a tag or a title is not what it must be")
    except (ValueError, TypeError, AttributeError, errors.BadData) as e:
        raise errors.UsageError(
            f"the procedure cannot be stored: {e}", hint="fewer or simpler steps and tags"
        ) from None
    return text.encode(), sidecar.dump(sidecar.encode(_meta(procedure)))


def _front(procedure: Procedure) -> "dict[str, Any]":
    front: dict[str, Any] = {"id": procedure.id, "key": procedure.key, "sensitivity": str(procedure.sensitivity)}
    front |= {n: getattr(procedure, n) for n in _FRONT if getattr(procedure, n)}
    if procedure.tags:
        front["tags"] = list(procedure.tags)
    if procedure.steps:
        front["steps"] = [show_step(s) for s in procedure.steps]
    return front | {k: v for k, v in (procedure.header or {}).items() if k not in _HEADER}


def _meta(procedure: Procedure) -> "dict[str, Any]":
    fields = {k: v for k, v in as_dict(procedure).items() if k not in _NOT_META}
    return fields | {"body_sha256": pair.body_hash(procedure.text)}


def show_step(step: Step) -> "dict[str, Any]":
    """A step as files and JSON hold it; empty fields are left out."""
    found: dict[str, Any] = {"name": step.name, "action": step.action}
    if step.parameters:
        found["parameters"] = dict(step.parameters)
    if step.expected:
        found["expected"] = step.expected
    if step.optional:
        found["optional"] = True
    return found


def steps(found: object) -> tuple[Step, ...]:
    """Steps from files or JSON; what is no step is left out."""
    if not isinstance(found, list):
        return ()
    return tuple(_step(s) for s in found if isinstance(s, dict) and isinstance(s.get("action"), str))


def _step(raw: "dict[str, Any]") -> Step:
    parameters = raw.get("parameters")
    return Step(
        name=str(raw.get("name") or ""),
        action=raw["action"],
        parameters=parameters if isinstance(parameters, dict) and parameters else None,
        expected=str(raw.get("expected") or ""),
        optional=raw.get("optional") is True,
    )


def of_pair(p: "Pair") -> Procedure:
    """The procedure that a pair of files holds, wherever it lies."""
    return _procedure(p)


def _archived(procedure: Procedure, reason: str, at: datetime) -> bytes:
    meta = sidecar.encode(_meta(procedure))
    return archive.line(reason, at, LAYER, procedure.name, meta, _front(procedure), procedure.text)


def _from_row(row: "dict[str, Any]") -> Procedure | None:
    try:
        meta = sidecar.decode(dict(row["meta"]))
    except errors.BadData:
        return None
    label = labels.stored_sensitivity(row["header"].get("sensitivity")) or labels.PUBLIC
    p = pair.Pair(
        name=row["name"],
        header=row["header"],
        text=row["text"],
        meta=meta,
        sensitivity=max(meta["sensitivity"], label),
        state="ok",
        problem="",
        modified=0.0,
        served=b"",
        side=b"",
    )
    return _procedure(p).replace(digest="")


def _procedure(p: "Pair") -> Procedure:
    fields = {k: v for k, v in p.meta.items() if k in _META} if p.meta else _by_hand(p)
    if fields.get("state") not in labels.PROCEDURE_STATES:
        fields["state"] = "pending"
    texts = {n: p.header[n] for n in _FRONT if isinstance(p.header.get(n), str)}
    tags = p.header.get("tags")
    fields |= texts | {
        "key": p.key,
        "title": texts.get("title", p.key),
        "text": p.text,
        "sensitivity": p.sensitivity,
        "tags": tuple(t for t in tags if isinstance(t, str)) if isinstance(tags, list) else (),
        "steps": steps(p.header.get("steps")),
        "header": {k: v for k, v in p.header.items() if k not in _HEADER} or None,
        "file_state": p.state,
        "name": p.name,
        "digest": p.digest,
    }
    return Procedure(**fields)


def _by_hand(p: "Pair") -> "dict[str, Any]":
    changed = clock.since_epoch(int(p.modified))
    return {
        "id": p.id,
        "source": Source(id="hand", kind="unknown"),
        "confidence": labels.CONFIDENCE_WORDS["low"],
        "created_at": changed,
        "updated_at": changed,
    }
