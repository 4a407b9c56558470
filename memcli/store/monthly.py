"""The format of a monthly log as bytes: entries written and read, torn and raised ones told apart (docs/format.md §4)."""

import functools
import json
import re
from datetime import datetime

from memcli.base import errors, ids, sha256
from memcli.base.value import Value, as_dict, value
from memcli.model import labels, sidecar
from memcli.model.records import Episode, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Compiled on first use: adding an entry needs one of them.
_re = functools.cache(re.compile)
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_HEADER = rf"(?m)^## ({_TIME}) (\{{.*\}})$".encode()
_END = rf"<!-- end ({_ID}) (\w+) -->\n?".encode()
_END_LINE = rf"(?m)^<!-- end ({_ID}) ([^\n]*?) ?-->\n?".encode()
_RAISE = rf"(?m)^<!-- raise ({_ID}) ([^\n]*?) -->$".encode()
_PROPER_END = rf"(?:^|\n)<!-- (?:end ({_ID}) \w+|raise {_ID} \w+|torn {_TIME}) -->\n\Z".encode()
_STRUCTURAL = rf"(?:## {_TIME} \{{|<!-- (?:end|raise|torn) )"
_ESCAPE = rf"(?m)^(?=\\*{_STRUCTURAL})"
_UNESCAPE = rf"(?m)^\\(?=\\*{_STRUCTURAL})"
# Where an entry may have begun that is none: a header, or one that was cut before its JSON. A mark alone follows a note of
# a hand too, and is no loss.
_GAP = rf"(?m)^(?:## {_TIME} \{{|## [\dTZ:-]+ ?(?=\Z|\n<!-- torn ))".encode()
_CONFLICT = rb"(?m)^(?:<<<<<<<|>>>>>>>) "
_TEXTS = ("task", "outcome", "session", "run", "agent", "approach", "trace", "modality")
_LISTS = ("tags", "concepts", "findings", "tools", "patterns")
_FRAME = ("id", "length", "digest", "sensitivity")


@value
class Log(Value):
    """One month as parsed: its entries in file order, and what is wrong with it by line number."""

    month: str
    entries: tuple[Episode, ...]
    problems: tuple[tuple[int, str], ...]


def opening(end: bytes, size: int, month: str, at: datetime) -> bytes:
    """What must be written before an entry: the title of a new log, or the mark of a torn end."""
    if size == 0:
        return f"# Episodes {month} (memcli format 1)\n".encode()
    if _re(_PROPER_END).search(end) or re.fullmatch(rb"# Episodes [^\n]*\n", end):
        return b""
    lead = b"" if end.endswith(b"\n") else b"\n"
    return lead + f"<!-- torn {sidecar.show_instant(at)} -->\n".encode()


def encode(episode: Episode) -> bytes:
    """One entry as it stands in the log, from the blank line before it to the LF after its end marker.

    Raises UsageError for an entry that could not be read again as what it is.
    """
    body = _escape(episode.text).encode()
    head: dict[str, Any] = {
        "id": episode.id,
        "length": len(body),
        "digest": _digest(body),
        "sensitivity": str(episode.sensitivity),
    }
    head |= {k: v for k, v in as_raw(episode).items() if k not in ("id", "sensitivity", "at")}
    line = _checked(head, episode)
    line = line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
    start = f"\n## {sidecar.show_instant(episode.at)} {line}\n".encode()
    return start + body + f"\n<!-- end {episode.id} {episode.sensitivity} -->\n".encode()


def _checked(head: "dict[str, Any]", episode: Episode) -> str:
    """The header as JSON, after it has been read as a reader would."""
    try:
        line = json.dumps(head, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        found = build(sidecar.parse(line.encode()), "", sidecar.show_instant(episode.at), "ok", [])
    except (errors.BadData, ValueError, TypeError, RecursionError):
        found = None
    if found is None or found.state != "ok":
        raise errors.UsageError("the episode cannot be stored: one of its fields is not what it must be")
    return line


def as_raw(episode: Episode) -> "dict[str, Any]":
    """The metadata of an episode as JSON values; empty fields are left out."""
    fields = as_dict(episode)
    raw: dict[str, Any] = {
        "id": episode.id,
        "at": sidecar.show_instant(episode.at),
        "sensitivity": str(episode.sensitivity),
    }
    raw |= {k: fields[k] for k in ("task", "outcome", "session", "run", "agent") if fields[k]}
    s = episode.source
    raw["source"] = {"id": s.id, "kind": s.kind} | ({"via": s.via} if s.via else {})
    raw |= {k: fields[k] for k in ("confidence", "importance", "ttl_minutes")}
    raw |= {k: fields[k] for k in ("modality", "approach", "trace", "steps") if fields[k] and fields[k] != "text"}
    raw |= {k: _listed(fields[k]) for k in (*_LISTS, "evidence") if fields[k]}
    return raw | (episode.unknown or {})


def _listed(items: object) -> object:
    # A text or a mapping would become its letters or names; as it is, it is refused.
    return list(items) if isinstance(items, (tuple, list)) else items


def parse(data: bytes, month: str) -> Log:
    """Entries and problems of a log. Never raises for any bytes."""
    data = normal(data)
    problems: list[tuple[int, str]] = []
    entries = tuple(e for _, _, e in _placed(data, month, problems))
    return Log(month=month, entries=entries, problems=_by_line(data, problems))


def placed(data: bytes, month: str) -> list[tuple[int, int, Episode]]:
    """The entries of a log that is in its normal form, each with its place: from the blank line before it to its end."""
    return _placed(data, month, [])


def _placed(data: bytes, month: str, problems: list[tuple[int, str]]) -> list[tuple[int, int, Episode]]:
    raised = raised_labels(data)
    found: dict[str, tuple[int, int, Episode]] = {}
    position = 0
    whole = list(spans(data, problems))
    known = {start for start, _ in problems}
    # One whose header is cut is seen by no reader, and yet it was there: its writer, or a copy, was stopped.
    problems += [(start, "torn") for start, _ in _gaps(data, whole) if start not in known]
    for start, end, entry in whole:
        if entry.state == "ok":  # a whole entry may be about a merge
            problems += _conflicts(data, position, start)
            position = end
        label = max(entry.sensitivity, raised.get(entry.id, labels.PUBLIC))
        if entry.id in found:
            label = max(label, found[entry.id][2].sensitivity)
        if entry.state != "ok":
            problems.append((start, entry.state))
        found[entry.id] = start, end, entry.replace(month=month, sensitivity=label)
    problems += _conflicts(data, position, len(data))
    return list(found.values())


def normal(data: bytes) -> bytes:
    """The bytes of a log without a byte order mark and with LF, whatever an editor or a checkout made of it."""
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def _conflicts(data: bytes, start: int, end: int) -> list[tuple[int, str]]:
    return [(m.start(), "conflict_markers") for m in _re(_CONFLICT).finditer(data, start, end)]


def _by_line(data: bytes, problems: list[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """Problems by line in place of offset; the lines are counted once, however many problems there are."""
    found, line, position = [], 1, 0
    for start, code in sorted(problems):
        line += data.count(b"\n", position, start)
        position = start
        found.append((line, code))
    return tuple(found)


def spans(data: bytes, problems: list[tuple[int, str]]) -> "Iterator[tuple[int, int, Episode]]":
    """Each entry with its place: from the blank line before its header to after its end marker."""
    position = 0
    while match := _re(_HEADER).search(data, position):
        start = match.start()
        end, entry = _entry(data, match, problems)
        if entry is not None:
            lead = (
                1
                if start > 0 and data[start - 1 : start] == b"\n" and data[start - 2 : start - 1] in (b"\n", b"")
                else 0
            )
            yield start - lead, end, entry
        position = max(end, match.end())


def _entry(data: bytes, match: "re.Match[bytes]", problems: list[tuple[int, str]]) -> tuple[int, Episode | None]:
    def problem(code: str) -> None:
        problems.append((match.start(), code))

    try:
        head = sidecar.parse(match[2])
        made, length = head["id"], head["length"]
        if not ids.valid(made) or type(length) is not int or length < 0:
            raise ValueError
    except (errors.BadData, KeyError, ValueError):
        problem("damaged_header")
        return match.end(), None
    begin = match.end() + 1
    found, stop = _by_length(data, begin, length, made)
    if not found:
        found, stop = _by_marker(data, begin, made)
    if not found:
        problem("torn")
        return match.end(), None
    body = data[begin:stop]
    state = "ok" if length == len(body) and head.get("digest") == _digest(body) else "edited"
    text = _unescape(body.decode("utf-8", "replace"))
    entry = build(head, text, match[1].decode(), state, [found[2].decode("utf-8", "replace")])
    if entry is None:
        problem("damaged_header")
    return found.end(), entry


def _escape(text: str) -> str:
    return _re(_ESCAPE).sub(r"\\", text) if _may_look_structural(text) else text


def _unescape(text: str) -> str:
    return _re(_UNESCAPE).sub("", text) if _may_look_structural(text) else text


def _may_look_structural(text: str) -> bool:
    return "## " in text or "<!-- " in text


def _by_length(data: bytes, begin: int, length: int, made: str) -> "tuple[re.Match[bytes] | None, int]":
    stop = begin + length
    found = _re(_END).match(data, stop + 1) if data[stop : stop + 1] == b"\n" else None
    return (found, stop) if found and found[1].decode() == made else (None, 0)


def _by_marker(data: bytes, begin: int, made: str) -> "tuple[re.Match[bytes] | None, int]":
    """After a hand edit: the first end line with this id, before the next header."""
    next_header = _re(_HEADER).search(data, begin)
    limit = next_header.start() if next_header else len(data)
    ends = _re(_END_LINE).finditer(data, begin, limit)
    found = next((m for m in ends if m[1].decode() == made), None)
    return (found, max(begin, found.start() - 1)) if found else (None, 0)


def raised_labels(data: bytes) -> dict[str, labels.Sensitivity]:
    """The strictest label that amend lines give to each id; one that cannot be read is restricted."""
    found: dict[str, labels.Sensitivity] = {}
    for m in _re(_RAISE).finditer(data):
        made = m[1].decode()
        label = labels.stored_sensitivity(m[2].decode("utf-8", "replace"))
        found[made] = max(found.get(made, labels.PUBLIC), labels.RESTRICTED if label is None else label)
    return found


def ended_ids(data: bytes) -> set[str]:
    """The ids of all end markers, whatever they end."""
    return {m[1].decode() for m in _re(_END_LINE).finditer(data)}


def torn_spans(data: bytes) -> list[tuple[int, int]]:
    """What lies between whole entries and begins like an entry, with the torn mark that follows."""
    return _gaps(data, list(spans(data, [])))


def _gaps(data: bytes, whole: list[tuple[int, int, Episode]]) -> list[tuple[int, int]]:
    position, found = 0, []
    for start, end in [*((s, e) for s, e, _ in whole), (len(data), len(data))]:
        while gap := _re(_GAP).search(data, position, start):
            raised = _re(_RAISE).search(data, gap.start(), start)  # a raised label stays, whatever stands around it
            position = raised.start() if raised else start
            found.append((gap.start(), position))
        position = end
    return found


def last_id(end: bytes) -> str | None:
    """The id of the entry that ends a log, None when something else stands last."""
    found = _re(_PROPER_END).search(end)
    return found[1].decode() if found and found[1] else None


def build(head: "dict[str, Any]", text: str, at: object, state: str, more: list[str]) -> Episode | None:
    """An episode from its header; a label that cannot be read makes it restricted, a wrong field damaged."""
    found = [labels.stored_sensitivity(x) for x in (head.get("sensitivity"), *more)]
    known = [x for x in found if x is not None]
    label = max(known) if len(known) == len(found) else labels.RESTRICTED
    try:
        fields = _fields(head)
        made, when = head["id"], sidecar.instant(at)
    except (ValueError, TypeError, KeyError):
        return None
    unknown = {k: v for k, v in head.items() if k not in _KNOWN} or None
    if len(known) != len(found):
        state = "damaged"
    return Episode(id=made, at=when, text=text, sensitivity=label, state=state, unknown=unknown, **fields)


_KNOWN = frozenset(
    (*_FRAME, *_TEXTS, *_LISTS, "at", "source", "confidence", "importance", "ttl_minutes", "steps", "evidence")
)


def _fields(head: "dict[str, Any]") -> "dict[str, Any]":
    """The optional fields that are there and of the right type; raises ValueError for a wrong one."""
    found: dict[str, Any] = {}
    for name in _TEXTS:
        if name in head:
            found[name] = _typed(head[name], str)
    if found.get("outcome") not in labels.OUTCOMES:
        found["outcome"] = "unknown"
    for name in _LISTS:
        if name in head:
            found[name] = tuple(_typed(x, str) for x in _typed(head[name], list))
    for name in ("ttl_minutes", "steps"):
        if name in head:
            found[name] = _typed(head[name], int)
    for name in ("confidence", "importance"):
        if name in head:
            found[name] = min(max(float(_typed(head[name], (int, float))), 0.0), 1.0)
    if "evidence" in head:
        found["evidence"] = tuple(_typed(x, dict) for x in _typed(head["evidence"], list))
    raw = head.get("source")
    found["source"] = _source(raw) if raw is not None else Source(id="unknown", kind="unknown")
    return found


def _source(raw: object) -> Source:
    fields = _typed(raw, dict)
    kind = fields.get("kind")
    if kind not in labels.KIND_TRUST:
        raise ValueError
    return Source(id=_typed(fields.get("id"), str), kind=kind, via=_typed(fields.get("via", ""), str))


def _typed(item: "Any", kind: "Any") -> "Any":
    if isinstance(item, bool) or not isinstance(item, kind):
        raise ValueError
    return item


def _digest(body: bytes) -> str:
    return sha256.hexadecimal(body)[:8]


def greatest_id(data: bytes) -> str | None:
    """Of all entries, for a log that does not end in one: a raise line, a torn one or a note stands last."""
    return max((found[1].decode() for found in _re(_END).finditer(data)), default=None)
