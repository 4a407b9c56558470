"""The two files of one record, `NAME.md` and `NAME.meta.json`: reading them without a lock, writing them crash-safe.

docs/format.md §3.4 is the table that `read` follows, §3.5 the protocol that `write` follows.
"""

from memcli.base import errors, files, ids, sha256
from memcli.base.value import Value, value
from memcli.model import header, keys, labels, sidecar
from memcli.model.labels import Sensitivity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.store.folder import Writing

TRIES = 5
MD = ".md"
SIDE = ".meta.json"
_MARKERS = ("<<<<<<< ", ">>>>>>> ")
_CONFLICT_COPIES = ("sync-conflict", "conflicted copy", "case conflict", "(conflict")


@value
class Pair(Value):
    """One record as its files say. meta is None without a readable sidecar.

    state: ok, drift, bare, half or damaged (docs/format.md §3.4); problem: a code for `doctor`, "" when all is well.
    served: the Markdown bytes that the text came from; side: the sidecar's bytes.
    """

    name: str
    header: "dict[str, Any]"
    text: str
    meta: "dict[str, Any] | None"
    sensitivity: Sensitivity
    state: str
    problem: str
    modified: float
    served: bytes
    side: bytes

    @property
    def key(self) -> str:
        """The key that the files name (in the normal form NFC), else the file name."""
        found = self.meta["key"] if self.meta else self.header.get("key")
        if not found and self.state == "damaged":
            found = _told_key(self.served)
        return keys.nfc(found if isinstance(found, str) and found else self.name)

    @property
    def id(self) -> str:
        """The id of the value, "" for a file made by hand, whatever else it calls its id."""
        found = self.meta["id"] if self.meta else self.header.get("id")
        return str(found) if ids.valid(found) else ""

    @property
    def said(self) -> "tuple[object, ...]":
        """All that the two files say, without the names of their fields."""
        return (self.key, self.text, *self.header.values(), *(self.meta or {}).values())

    @property
    def digest(self) -> str:
        """SHA-256 over the sidecar's and the Markdown file's bytes as served."""
        return sha256.hexadecimal(self.side + self.served)


def read(folder: files.Folder, name: str) -> Pair | None:
    """The record `name`, None when there is none. Takes no lock: reads again while the two files do not fit."""
    pair = None
    for _ in range(TRIES):
        pair, settled = _read_once(folder, name)
        if settled:
            break
    return pair


def body_hash(text: str) -> str:
    """`body_sha256`: SHA-256 of the text alone, without the final LF."""
    return sha256.hexadecimal(text.encode())


def md_temp(name: str, made: str) -> str:
    """Where the next `NAME.md` is prepared; the id tells a committed one from a leftover."""
    return f".{name}.md.{made}.tmp"


def side_temp(name: str, made: str) -> str:
    """Where the next sidecar is prepared."""
    return f".{name}.meta.{made}.tmp"


def write(
    w: "Writing",
    folder: files.Folder,
    layer: str,
    name: str,
    made: str,
    *,
    md: bytes | None = None,
    side: bytes | None = None,
    new_value: bool = False,
) -> None:
    """Replace one or both files of a record; `made` is the id that both carry.

    new_value: a value with a new id, which readers must be able to find from its temp file once it is committed.
    Raises UsageError above 1 MiB, SystemFailure; on failure the old value stands unless the commit point was passed.
    """
    check_size(*(data for data in (md, side) if data is not None))
    w.note({"layer": layer, "name": name, "id": made})
    try:
        if md is not None:
            folder.create(md_temp(name, made), md)
        if side is not None:
            folder.create(side_temp(name, made), side)
        if new_value:
            folder.sync()
        if side is not None:
            folder.rename(side_temp(name, made), name + SIDE)  # the commit point
    except BaseException:
        _discard(folder, name, made)
        raise
    _finish(folder, name, made, md is not None, side is not None)


def check_free(folder: files.Folder, name: str) -> None:
    """A new record must not write over a file that is there: a hand-made one of another key, a link, a folder."""
    if folder.info(name + MD) is not None:
        raise errors.BadData(
            "the file for this key is taken by another record or is no plain file",
            path=folder.where(name + MD),
            hint="rename that file; see: memcli doctor",
        )


def _finish(folder: files.Folder, name: str, made: str, has_md: bool, has_side: bool) -> None:
    try:
        if has_side:
            folder.sync()
    finally:  # past the commit point the text goes to its place whatever the folder's fsync said
        if has_md:
            folder.rename(md_temp(name, made), name + MD)
    if has_md:
        folder.sync()


def _discard(folder: files.Folder, name: str, made: str) -> None:
    for temp in (side_temp(name, made), md_temp(name, made)):
        try:
            folder.remove(temp)
        except errors.SystemFailure:
            continue  # The first error is the one to report; the journal leads the next writer here.


def check_size(*data: bytes) -> None:
    """Raises UsageError above 1 MiB. Callers ask before they archive what would be replaced."""
    if max(map(len, data)) > files.MAX_FILE_BYTES:
        raise errors.UsageError("the record would be larger than 1 MiB", hint="split it, or keep a reference to a file")


def write_many(w: "Writing", folder: files.Folder, layer: str, rows: "list[tuple[str, str, bytes, bytes]]") -> None:
    """The protocol of `write` for many new values at once: rows of (name, id, md, sidecar), each file synced by one call."""
    for _, _, md, side in rows:
        check_size(md, side)
    w.note(*({"layer": layer, "name": name, "id": made} for name, made, _, _ in rows))
    written = []
    try:
        for name, made, md, side in rows:
            written.append((name, made))
            folder.create(md_temp(name, made), md, durable=False)
            folder.create(side_temp(name, made), side, durable=False)
        folder.sync_everything()
    except BaseException:
        for name, made in written:
            _discard(folder, name, made)
        raise
    committed = 0
    try:
        for name, made, _, _ in rows:
            folder.rename(side_temp(name, made), name + SIDE)
            committed += 1
        folder.sync()
    finally:  # what is past its commit point gets its text, of the rest nothing stays
        for name, made, _, _ in rows[committed:]:
            _discard(folder, name, made)
        for name, made, _, _ in rows[:committed]:
            folder.rename(md_temp(name, made), name + MD)
    folder.sync()


def drop(w: "Writing", folder: files.Folder, layer: str, gone: list[str]) -> None:
    """Take records out after their copies in the archive or trash are synced: the `.md` goes first, which commits it."""
    w.note(*({"layer": layer, "name": name, "drop": True} for name in gone))
    for suffix in (MD, SIDE):
        for name in gone:
            folder.remove(name + suffix)
        folder.sync()


def _read_once(folder: files.Folder, name: str) -> tuple[Pair | None, bool]:
    try:
        found = folder.read_dated(name + MD)
        text = None if found is None else found[0].decode()
    except (files.NotAFile, UnicodeDecodeError):
        return None, True  # not a fact: `doctor` lists it
    meta, side, damage = _sidecar(folder, name)
    if found is None or text is None:
        return _from_temp(folder, name, meta, side)
    try:
        front, body = header.split(text)
        if "\\" in text and not sidecar.writable(front):
            raise errors.BadData("the front matter holds lone surrogates")
    except errors.BadData:
        front, body, damage = {}, text, "damaged_header"
    if damage and (_conflicted(text) or _conflicted(side.decode("utf-8", "replace"))):
        damage = "conflict_markers"
    return _judge(folder, name, front or {}, body, meta, side, damage, found)


def _sidecar(folder: files.Folder, name: str) -> "tuple[dict[str, Any] | None, bytes, str]":
    try:
        side = folder.read(name + SIDE)
    except files.NotAFile:
        return None, b"", "damaged_sidecar"
    if side is None:
        return None, b"", ""
    try:
        return sidecar.load(side), side, ""
    except errors.NewerFormat:
        return None, side, "newer_format"
    except errors.BadData:
        return None, side, "damaged_sidecar"


def _judge(
    folder: files.Folder,
    name: str,
    front: "dict[str, Any]",
    body: str,
    meta: "dict[str, Any] | None",
    side: bytes,
    damage: str,
    found: tuple[bytes, float],
) -> tuple[Pair | None, bool]:
    served, modified = found

    def pair(state: str, problem: str, used: "dict[str, Any] | None" = meta) -> Pair:
        label = _label(front, used, state)
        return Pair(
            name=name,
            header=front,
            text=body,
            meta=used,
            sensitivity=label,
            state=state,
            problem=problem,
            modified=modified,
            served=served,
            side=side,
        )

    if damage:
        return pair("damaged", damage), True
    if meta is None:
        return pair("damaged", "conflict_markers") if _conflicted(body) else pair("bare", "no_sidecar"), True
    fits = body_hash(body) == meta["body_sha256"]
    if not fits and _conflicted(body):
        return pair("damaged", "conflict_markers"), True
    if "key" in front and front["key"] != meta["key"]:
        return pair("damaged", "key_differs"), False
    if front.get("id") == meta["id"]:
        return (pair("ok", ""), True) if fits else (pair("drift", "drift"), False)
    if front.get("id") and front["id"] == meta.get("supersedes"):
        from_temp, settled = _from_temp(folder, name, meta, side)
        return (from_temp, settled) if from_temp else (pair("half", "half_written"), False)
    return pair("drift", "drift"), False


def _from_temp(folder: files.Folder, name: str, meta: "dict[str, Any] | None", side: bytes) -> tuple[Pair | None, bool]:
    """A value whose writer was stopped between the commit and the last rename."""
    if meta is None:
        return None, True
    try:
        found = folder.read_dated(md_temp(name, meta["id"]))
        front, body = header.split(found[0].decode()) if found else (None, "")
    except (errors.BadData, UnicodeDecodeError):
        return None, False
    if found is None or not front or front.get("id") != meta["id"] or body_hash(body) != meta["body_sha256"]:
        return None, False
    label = _label(front, meta, "ok")
    return Pair(
        name=name,
        header=front,
        text=body,
        meta=meta,
        sensitivity=label,
        state="ok",
        problem="unfinished",
        modified=found[1],
        served=found[0],
        side=side,
    ), True


def _label(front: "dict[str, Any]", meta: "dict[str, Any] | None", state: str) -> Sensitivity:
    """The stricter of the two labels; what is missing, unknown or damaged is restricted."""
    in_text = labels.stored_sensitivity(front.get("sensitivity"))
    if state == "damaged" or in_text is None:
        return labels.RESTRICTED
    if meta is None:
        return in_text
    in_sidecar: Sensitivity = meta["sensitivity"]
    return max(in_text, in_sidecar)


def told_key(folder: files.Folder, name: str) -> str:
    """The key that the files of a record tell, where its text cannot be read; "" when they tell none."""
    meta, _, _ = _sidecar(folder, name)
    try:
        found = meta["key"] if meta else _told_key(folder.read(name + MD) or b"")
    except files.NotAFile:
        return ""
    return keys.nfc(found)


def _told_key(data: bytes) -> str:
    """The key that a damaged file still tells, when all of it agrees: both sides of a merge conflict name the same."""
    lines = {line for line in data.decode("utf-8", "replace").split("\n") if line.startswith("key: ")}
    if len(lines) != 1:
        return ""
    try:
        front, _ = header.split(f"---\n{lines.pop()}\n---\n")
    except errors.BadData:
        return ""
    key = front.get("key") if front else None
    return key if isinstance(key, str) else ""


def _conflicted(text: str) -> bool:
    return any(m in text for m in _MARKERS) and any(line.startswith(_MARKERS) for line in text.split("\n"))


def is_dropping(name: str) -> bool:
    """True for what editors, synchronisers and stopped writers leave: never a record (docs/format.md §1)."""
    if name.startswith((".", "#")) or name.endswith(("~", "#")):
        return True
    low = name.lower()
    if low.endswith((".orig", ".rej", ".bak", ".tmp", ".swp", ".swo", ".icloud")):
        return True
    return _looks_conflicted(low)


def _looks_conflicted(low: str) -> bool:
    if "conflict" in low and any(mark in low for mark in _CONFLICT_COPIES):
        return True
    stem = low.removesuffix(MD).removesuffix(SIDE)
    return stem.endswith(")") and stem.rpartition(" (")[2][:-1].isdigit() and " (" in stem


def stems(names: list[str]) -> list[str]:
    """The record names that a listing of file names holds, sorted; names that are not UTF-8 are none."""
    found = set()
    for n in names:
        suffix = MD if n.endswith(MD) else SIDE if n.endswith(SIDE) else ""
        if suffix and not is_dropping(n) and is_text(n):
            found.add(n[: -len(suffix)])
    return sorted(found)


def is_text(name: str) -> bool:
    """False for a file name that is not UTF-8: Python smuggles its bytes in as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
