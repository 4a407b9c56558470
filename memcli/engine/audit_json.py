"""Entries of JSON and JSON lines in the shapes that memory tools write; an unknown shape is said, not guessed."""

import io
import json
from datetime import UTC, datetime

from memcli.base import clock, errors, files
from memcli.base.value import Value, value
from memcli.engine import audit_markdown
from memcli.engine.audit_entry import Entry, Finding
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from memcli.model.labels import Sensitivity

# Names that fields have in one tool or another, the best first; compared in lower case.
TEXT = ("memory", "content", "text", "fact", "observation", "value", "description", "summary", "body", "note", "data")
NAMED = ("key", "title", "name", "concept", "task")
WRITTEN = ("updated_at", "modified", "updated", "created_at", "createdat", "created", "timestamp", "date", "time", "ts",
           "updated_ts", "created_ts", "at")  # fmt: skip
ENDS = ("expiration_date", "expires_at", "expires", "valid_to", "valid_until", "expiry")
_LISTS = ("results", "memories", "items", "facts", "entries", "episodes", "notes", "data", "observations", "records")
_FROM, _TO = ("from", "from_entity", "source", "fromEntity"), ("to", "to_entity", "target", "toEntity")
_TALK = frozenset(
    ("user", "assistant", "system", "summary", "attachment", "session_meta", "response_item", "event_msg")
)
_OURS = ("fact", "episode", "proposal", "procedure")
_MOST_LINE = 4 << 20
_SIDE_BYTES = 1 << 20
_CANNOT = "a line that is no JSON object"


@value
class Read(Value):
    """What a file gave. why: why it holds no entries, "" when it does."""

    entries: tuple[Entry, ...] = ()
    faults: tuple[Finding, ...] = ()
    why: str = ""


def document(text: str, path: str) -> Read:
    """One JSON document."""
    try:
        raw = _load(text)
    except ValueError:
        fault = Finding(kind="damaged", path=path, what="no JSON that can be read")
        return Read(faults=(fault,), why="no JSON that can be read")
    if _conversations(raw):
        return Read(why="conversations, not a memory")
    graph = _Graph(path)
    if isinstance(raw, dict) and isinstance(raw.get("entities"), list):
        for number, row in enumerate(raw["entities"], 1):
            graph.entity(row, item=number)
        bonds = raw.get("relations")
        for number, row in enumerate(bonds if isinstance(bonds, list) else [], 1):
            graph.relation(row, item=number)
        return Read(entries=tuple(graph.found), faults=tuple(graph.loose()))
    rows = _rows(raw)
    if rows is None:
        return Read(why="JSON of a shape that is not known")
    return Read(entries=tuple(e for n, row in enumerate(rows, 1) for e in _entries(row, path, item=n)))


def lines(data: bytes, path: str) -> Read:
    """JSON lines: an MCP memory graph, memcli's own export, or objects with a text."""
    faults: list[Finding] = []
    graph = _Graph(path)
    talk = known = count = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip():
            continue
        raw = _object(line)
        if raw is None:
            faults.append(Finding(kind="damaged", path=path, line=number, what=_CANNOT))
            continue
        count += 1
        kind = raw.get("type")
        talk += isinstance(kind, str) and kind in _TALK and ("message" in raw or "payload" in raw or "sessionId" in raw)
        known += "kind" in raw
        if kind == "entity":
            graph.entity(raw, line=number)
        elif kind == "relation":
            graph.relation(raw, line=number)
        else:
            graph.found += _entries(raw, path, line=number)
    if talk and talk >= count / 2:
        return Read(why="a transcript, not a memory")
    if count and not graph.found and not graph.names and not known:
        return Read(faults=tuple(faults), why="JSON lines of a shape that is not known")
    return Read(entries=tuple(graph.found), faults=(*faults, *graph.loose()))


def sidecar(here: files.Folder, name: str) -> "dict[str, Any]":
    """The fields of a sidecar in lower case; one that cannot be read makes its text restricted."""
    try:
        data = here.read(name, limit=_SIDE_BYTES)
    except errors.MemcliError:
        return {"sensitivity": "unreadable"}
    if data is None:
        return {}
    raw = _object(data)
    return {"sensitivity": "unreadable"} if raw is None else {str(k).lower(): v for k, v in raw.items()}


def label(fields: "dict[str, Any]") -> "Sensitivity":
    """The label that fields give: internal where their form knows no labels, restricted for what is none."""
    given = fields.get("sensitivity")
    if isinstance(fields.get("meta"), dict) and "text" in fields:  # a line of an archive of memcli
        given = fields["meta"].get("sensitivity")
    elif "sensitivity" not in fields and fields.get("kind") not in _OURS:
        return labels.INTERNAL
    return audit_markdown.label_of(given)


def moment(fields: "dict[str, Any]", *names: str) -> datetime | None:
    """The first of these fields that is a time: RFC 3339, a day, or seconds since 1970."""
    for name in names:
        given = fields.get(name)
        try:
            if isinstance(given, str) and given:
                return clock.parse(given)
            if isinstance(given, (int, float)) and not isinstance(given, bool) and 10**8 < given < 10**11:
                return datetime.fromtimestamp(given, UTC)
        except errors.UsageError:
            if day := audit_markdown.day_in(str(given)):
                return day
    return None


def _entries(raw: object, path: str, *, line: int = 0, item: int = 0, title: str = "") -> "Iterator[Entry]":
    """The entry of one object, if it has a text."""
    if isinstance(raw, str):
        yield Entry(path=path, line=line, item=item, text=raw, title=title)
        return
    if not isinstance(raw, dict) or raw.get("kind") in ("source", "archived", "procedure"):
        return
    fields = {str(k).lower(): v for k, v in raw.items()}
    text = next((fields[n] for n in TEXT if isinstance(fields.get(n), str)), None)
    if text is None:
        return
    named = next((fields[n] for n in NAMED if isinstance(fields.get(n), str) and fields[n] is not text), title)
    yield Entry(
        path=path,
        line=line,
        item=item,
        text=text,
        title=named,
        at=moment(fields, *WRITTEN),
        dated=fields.get("kind") == "episode" or "episode_id" in fields or "starred" in fields,
        expires=moment(fields, *ENDS),
        source=_source(fields),
        label=label(fields),
    )


def _source(fields: "dict[str, Any]") -> str | None:
    """Who said it where memcli's own form says so; other forms have no such place."""
    given = fields.get("source")
    if fields.get("kind") not in ("fact", "episode", "proposal") or not isinstance(given, dict):
        return None
    return "" if given.get("kind") == "unknown" and given.get("id") in ("unknown", "", None) else str(given.get("id"))


class _Graph:
    """The graph of an MCP memory server: one entry an observation; relations to what is not there are faults."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[Entry] = []
        self.names: set[str] = set()
        self.bonds: list[tuple[int, int, object, object]] = []

    def entity(self, row: object, *, line: int = 0, item: int = 0) -> None:
        if not isinstance(row, dict):
            return
        name, said = row.get("name"), row.get("observations")
        title = name if isinstance(name, str) else ""
        self.names.add(title)
        for text in said if isinstance(said, list) else []:
            self.found += _entries(text, self.path, line=line, item=item, title=title)

    def relation(self, row: object, *, line: int = 0, item: int = 0) -> None:
        if not isinstance(row, dict):
            return
        one, other = (next((row[n] for n in names if n in row), None) for names in (_FROM, _TO))
        if one is not None and other is not None:  # one without ends is of a form that is not known
            self.bonds.append((line, item, one, other))

    def loose(self) -> "Iterator[Finding]":
        for line, item, *ends in self.bonds:
            if not all(isinstance(end, str) and end in self.names for end in ends):
                what = "a relation of what is not there"
                yield Finding(kind="link", path=self.path, line=line, item=item, what=what)


def _rows(raw: object) -> "Iterable[Any] | None":
    """The list of entries in a document of a known shape, None for another."""
    if isinstance(raw, list):
        return raw if not raw or any(_has_text(r) for r in raw) else None
    if not isinstance(raw, dict):
        return None
    if isinstance(raw.get("nodes"), dict):  # cognitive-core
        return [r for r in raw["nodes"].values() if isinstance(r, dict)]
    if isinstance(raw.get("procedures"), dict) or isinstance(raw.get("sources"), dict):
        return []
    for name in _LISTS:
        if isinstance(raw.get(name), list):
            rows: list[Any] = raw[name]
            return rows if not rows or any(_has_text(r) for r in rows) else None
    return [raw] if isinstance(raw.get("memory"), str) else None


def _has_text(raw: object) -> bool:
    return isinstance(raw, str) or (isinstance(raw, dict) and any(isinstance(raw.get(n), str) for n in TEXT))


def _conversations(raw: object) -> bool:
    rows = raw if isinstance(raw, list) else []
    return bool(rows) and all(isinstance(r, dict) and ("mapping" in r or "chat_messages" in r) for r in rows)


def _object(line: bytes) -> "dict[str, Any] | None":
    if len(line) > _MOST_LINE:
        return None
    try:
        raw = _load(line.decode("utf-8-sig"))
    except ValueError:  # UnicodeDecodeError is one
        return None
    return raw if isinstance(raw, dict) else None


def _load(text: str) -> "Any":
    """Raises ValueError for whatever cannot be read, too deep a nesting and endless numbers included."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
