"""Taking over what a merge set aside: into the archive, by whoever writes next (decision 0019).

A note is only needed until then, and taking it over twice adds nothing. Until it is taken over, readers of the archive see
what it will hold.
"""

from datetime import datetime, timezone

from memcli.base import errors, ids, sha256
from memcli.model import header, labels, merge_meta, sidecar
from memcli.model.records import Source
from memcli.store import archive, merge_notes, names, pair
from memcli.store.merge_notes import MD, SIDE, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.base import files
    from memcli.store.folder import Store, Writing


def rows(store: "Store", layer: str, name: str) -> "list[bytes]":
    """The lines that the archive of a record lacks, as long as the notes are not taken over."""
    mine = merge_notes.of(store, layer, name)
    if not mine or layer not in ("facts", "procedures"):
        return []
    with store.folder(*layer.split("/")) as folder:
        live = pair.read(folder, name)
    return _lines(store, layer, name, mine, live)


def settle(w: "Writing") -> list[str]:
    """Take the notes over: values into the archive, the stricter label into both files. The records concerned, as paths.

    A record that still has conflict markers, or is damaged otherwise, keeps its notes until it is mended.
    """
    groups: dict[tuple[str, str], list[Note]] = {}
    for note in merge_notes.notes(w.store):
        groups.setdefault((note.layer, note.name), []).append(note)
    done = []
    for (layer, name), group in groups.items():
        if _take_over(w, layer, name, group):
            done.append(f"{layer}/{name}{pair.MD}")
            merge_notes.remove(w.store, [n.file for n in group])
    if done:
        with w.store.folder(".memcli") as state:
            state.remove_empty(merge_notes.FOLDER)
    return done


def pending(store: "Store", *, mendable: bool = False) -> list[str]:
    """The records, as paths, whose notes are still to be taken over; mendable: those in conflict are left out."""
    found = []
    for layer, name in sorted({(n.layer, n.name) for n in merge_notes.notes(store)}):
        with store.folder(*layer.split("/")) as folder:
            live = pair.read(folder, name)
        if live is not None and live.state == "damaged":
            lacks = not mendable
        else:
            uneven = live is not None and live.state == "ok" and _uneven(live)
            lacks = uneven or bool(_lines(store, layer, name, merge_notes.of(store, layer, name), live))
        if lacks:
            found.append(f"{layer}/{name}{pair.MD}")
    return found


def drop(store: "Store", layer: str, name: str, gone: "set[str] | None") -> None:
    """Erase notes of a record (all, or those of values with the ids) for good: for purge."""
    mine = merge_notes.of(store, layer, name)
    merge_notes.remove(store, [n.file for n in mine if gone is None or gone & {n.other, n.stood, n.base}])


def _take_over(w: "Writing", layer: str, name: str, group: list[Note]) -> bool:
    with w.store.folder(*layer.split("/")) as folder:
        live = pair.read(folder, name)
        if live is not None and live.state == "damaged":
            return False
        place = "trash" if layer.startswith("proposed/") else "archive"
        for line in _lines(w.store, layer, name, group, live):
            archive.append(w, layer, name, line, place)
        if live is not None and live.state == "ok":
            _one_label(w, folder, layer, live)
    return True


def _one_label(w: "Writing", folder: "files.Folder", layer: str, live: pair.Pair) -> None:
    """Write the stricter label into the file that has the other; git may have taken one file from each side."""
    if not _uneven(live):
        return
    assert live.meta is not None
    front, meta, label = live.header, live.meta, live.sensitivity
    in_text, in_side = labels.stored_sensitivity(front.get("sensitivity")), meta["sensitivity"]
    md = header.join(front | {"sensitivity": str(label)}, live.text).encode() if in_text != label else None
    side = sidecar.dump(sidecar.encode(meta | {"sensitivity": label})) if in_side != label else None
    known = names.current(w.store, folder) if layer == "facts" else None
    pair.write(w, folder, layer, live.name, live.id, md=md, side=side)
    names.keep(w.store, folder, known)


def _uneven(live: pair.Pair) -> bool:
    """True when the two files of a whole record have different labels, both readable."""
    in_text = labels.stored_sensitivity(live.header.get("sensitivity"))
    return in_text is not None and live.meta is not None and in_text != live.meta["sensitivity"]


def _lines(store: "Store", layer: str, name: str, group: list[Note], live: pair.Pair | None) -> list[bytes]:
    """What the archive lacks of the values that the notes tell of. Values that were purged stay away."""
    place = "trash" if layer.startswith("proposed/") else "archive"
    known = {row["meta"]["id"]: row for row in archive.kept(store, layer, name, place)}
    by_id: dict[str, dict[str, Note]] = {}
    for note in sorted(group, key=lambda n: (n.stood, n.data)):
        if not note.data or not _readable(note):
            continue
        lives = live is not None and note.other == live.id  # the merge was given up, or a person took this side
        by_hand = note.edited or (lives and note.part == MD)
        if by_hand or not lives:
            by_id.setdefault(note.other, {})["edited" if by_hand else note.part] = note
    found = []
    for made in sorted(by_id):
        parts = by_id[made]
        meta = _meta(parts.get(SIDE), known.get(made))
        if MD in parts:
            found += _value(layer, name, parts[MD], meta, known, live, place)
        elif SIDE in parts and made in known:
            found += _told_more(known[made], meta)
        if "edited" in parts and (
            live is None or made != live.id or header.split(parts["edited"].data)[1] != live.text
        ):
            found += _edited(layer, name, parts["edited"], meta, known)
    held = store.tombstones() if found else None
    return [line for line in found if held is None or not _purged(held, layer, line)]


def _readable(note: Note) -> bool:
    try:
        return note.part == SIDE or header.split(note.data) is not None
    except errors.BadData:
        return False


def _meta(note: Note | None, row: "dict[str, Any] | None") -> "dict[str, Any] | None":
    """The fields of a value's sidecar: from its note, else from the archive."""
    try:
        if note is not None:
            return sidecar.load(note.data.encode())
        return sidecar.decode(dict(row["meta"])) if row is not None else None
    except errors.BadData:
        return None


def _value(
    layer: str,
    name: str,
    note: Note,
    meta: "dict[str, Any] | None",
    known: "dict[str, Any]",
    live: pair.Pair | None,
    place: str,
) -> list[bytes]:
    """The line of a value that nobody has archived."""
    front, text = header.split(note.data)
    front = front or {}
    row = known.get(note.other)
    if row is not None and row["text"] == text:
        return _told_more(row, meta)
    if place == "trash" and live is not None and live.text == text:
        return []  # a proposal in the same words: its witnesses are counted
    if row is not None or meta is None or meta["body_sha256"] != pair.body_hash(text):
        return _edited(layer, name, note, meta, known)
    ended = max(_time(note.stood), meta["updated_at"])
    return [archive.line("superseded", ended, layer, name, sidecar.encode(meta), front, text)]


def _edited(layer: str, name: str, note: Note, meta: "dict[str, Any] | None", known: "dict[str, Any]") -> list[bytes]:
    """The line of a text that a person wrote into a file: a value of its own, as `adopt` would have made it."""
    front, text = header.split(note.data)
    front = front or {}
    ended = _time(note.stood)
    made = ids.derived(_time(note.other), bytes.fromhex(sha256.hexadecimal(f"{note.other}\n{text}".encode())))
    if made in known:
        return []
    label = labels.stored_sensitivity(front.get("sensitivity"))
    fields = {
        "key": front.get("key", name),
        "ttl_minutes": 0,
        "created_at": _time(note.other),
        "sensitivity": labels.RESTRICTED if label is None else label,
        **(meta or {}),
        "id": made,
        "supersedes": note.other,
        "source": Source(id="hand", kind="user"),
        "confidence": labels.CONFIDENCE_WORDS["medium"],
        "updated_at": _time(note.other),
        "confirmations": (),
        "denials": (),
        "confirmed_at": None,
        "body_sha256": pair.body_hash(text),
    }
    return [archive.line("superseded", ended, layer, name, sidecar.encode(fields), front | {"id": made}, text)]


def _told_more(row: "dict[str, Any]", meta: "dict[str, Any] | None") -> list[bytes]:
    """The line of an archived value again, with the opinions and the stricter label of the other side's copy."""
    try:
        was = sidecar.decode(dict(row["meta"]))
    except errors.BadData:
        return []
    if meta is None:
        return []
    more = sidecar.encode(merge_meta.with_opinions(was, meta))
    if more == sidecar.encode(was):
        return []
    said = (row["reason"], row["at"], row["layer"], row["name"], more, row["header"], row["text"])
    return [archive.line(*said)]


def _purged(held: "Any", layer: str, line: bytes) -> bool:
    row = sidecar.parse(line)
    return bool(held.hold(layer.removeprefix("proposed/"), str(row["meta"].get("key", "")), row["text"]))


def _time(made: str) -> datetime:
    return datetime.fromtimestamp(ids.milliseconds(made) // 1000, timezone.utc)
