"""What is known of each source: trust, allow and block lists, one small JSON file a source (docs/format.md §6)."""

from memcli.base import errors, files
from memcli.model import keys, labels, sidecar
from memcli.model.records import SourceRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memcli.store.folder import Store, Writing

LAYER = "sources"
SUFFIX = ".meta.json"
LISTS = ("", "allow", "block")
_KNOWN = frozenset(("format", "id", "kind", "trust", "list", "first_seen_at", "last_seen_at", "note"))


def every(store: "Store") -> "Iterator[SourceRecord]":
    """All readable source records by file name; a damaged one is passed over (`doctor` lists it)."""
    with store.folder(LAYER) as folder:
        for name in sorted(n for n in folder.names() if n.endswith(SUFFIX) and not n.startswith(".")):
            found = _read(folder, name)
            if found is not None:
                yield found


class Blocked:
    """Which sources are not served: those on the block list, and those whose record is damaged (it may be a block).

    trust: by id the trust of every source whose record can be read; untrusted: ids of those that are pages or imports.
    """

    __slots__ = ("_damaged", "_ids", "trust", "untrusted")

    def __init__(self, store: "Store") -> None:
        self._ids = set()
        self._damaged = set()
        self.trust: dict[str, float] = {}
        self.untrusted: set[str] = set()
        with store.folder(LAYER) as folder:
            for name in (n for n in folder.names() if n.endswith(SUFFIX) and not n.startswith(".")):
                found = _read(folder, name)
                if found is None:
                    self._damaged.add(name)
                    continue
                self.trust[found.id] = found.trust
                if found.kind in labels.UNTRUSTED_KINDS:
                    self.untrusted.add(found.id)
                if found.list == "block":
                    self._ids.add(found.id)

    @property
    def ids(self) -> frozenset[str]:
        """Ids on the block list; those of damaged records are only known by their file."""
        return frozenset(self._ids)

    def __bool__(self) -> bool:
        """True when any source may not be served."""
        return bool(self._ids or self._damaged)

    def __contains__(self, source: str) -> bool:
        """True for the id of a source that is not served."""
        return source in self._ids or (bool(self._damaged) and _file(source) in self._damaged)


def way_back(store: "Store", source: str) -> str:
    """What to do to have a source served again; one whose id may not be shown is not named."""
    import shlex

    from memcli.model import redact

    if source not in Blocked(store).ids:
        return "the record of the source is damaged: memcli doctor"
    # A bare id with a colon, such as an address, would be read as KIND:ID.
    kind = next((s.kind for s in every(store) if s.id == source), "") if ":" in source else ""
    return f"memcli source allow {'ID' if redact.scan(source) else shlex.quote(f'{kind}:{source}' if kind else source)}"


def readable(folder: files.Folder, name: str) -> bool:
    """True when the file of this name is a source record."""
    return _read(folder, name) is not None


def put(w: "Writing", record: SourceRecord, *, durable: bool = True) -> bool:
    """Write one source record; False when the file says so already. Raises UsageError for what could not be read again."""
    raw = encode(record)
    try:
        decode(raw)
        data = sidecar.dump(raw)
    except (errors.BadData, ValueError, TypeError):
        raise errors.UsageError("the source cannot be stored: one of its fields is not what it must be") from None
    name = keys.file_name(keys.normal(record.id)) + SUFFIX
    with w.store.folder(LAYER, create=True) as folder:
        if folder.read(name) == data:
            return False
        folder.replace(name, data, durable=durable)
    return True


def encode(record: SourceRecord) -> "dict[str, Any]":
    """The JSON object of a source; empty fields are left out."""
    raw: dict[str, Any] = {"format": 1, "id": record.id, "kind": record.kind, "trust": record.trust}
    if record.list:
        raw["list"] = record.list
    for name in ("first_seen_at", "last_seen_at"):
        if getattr(record, name) is not None:
            raw[name] = sidecar.show_instant(getattr(record, name))
    if record.note:
        raw["note"] = record.note
    return raw | (record.unknown or {})


def decode(raw: "dict[str, Any]") -> SourceRecord:
    """A source record from its JSON object; raises Damaged."""
    try:
        trust = raw.get("trust", labels.KIND_TRUST[raw["kind"]])
        if type(trust) not in (int, float) or not 0 <= trust <= 1 or type(raw["id"]) is not str or not raw["id"]:
            raise ValueError
        if (raw.get("list") or "") not in LISTS or type(raw.get("note", "")) is not str:
            raise ValueError
        seen = {n: sidecar.instant(raw[n]) for n in ("first_seen_at", "last_seen_at") if raw.get(n) is not None}
    except (KeyError, ValueError, TypeError):
        raise sidecar.Damaged("the source record is not what it must be") from None
    return SourceRecord(
        id=raw["id"],
        kind=raw["kind"],
        trust=float(trust),
        list=raw.get("list") or "",
        note=raw.get("note", ""),
        unknown={k: v for k, v in raw.items() if k not in _KNOWN} or None,
        **seen,
    )


def _read(folder: files.Folder, name: str) -> SourceRecord | None:
    try:
        data = folder.read(name)
        return None if data is None else decode(sidecar.parse(data))
    except errors.BadData:
        return None


def _file(source: str) -> str:
    try:
        return keys.file_name(keys.normal(source)) + SUFFIX
    except errors.UsageError:
        return ""  # no source of ours has such an id
