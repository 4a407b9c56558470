"""The sidecar `NAME.meta.json`: exact types in, fixed order out (docs/format.md §3.3).

`load` turns bytes into field values or raises BadData; `dump` writes one field a line. Fields that this version does not
know are kept under "unknown" and written back after the known ones.
"""

import json
from datetime import datetime, timezone

from memcli.base import errors, ids
from memcli.model import labels
from memcli.model.records import Opinion, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FORMAT = 1
MAX_DEPTH = 50
MAX_COUNT = 10**15
_WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError)


class Damaged(errors.BadData):
    """A sidecar that breaks the format."""

    code = "damaged_sidecar"


def load(data: bytes) -> "dict[str, Any]":
    """The fields of a sidecar by name: converted values, "unknown" for the rest.

    Raises Damaged (never with a value of the file in the message) and NewerFormat.
    """
    return decode(parse(data))


def parse(data: bytes) -> "dict[str, Any]":
    """One strict JSON object: UTF-8, no duplicate keys, no runaway nesting, and nothing that cannot be written back
    (NaN, numbers beyond a float, lone surrogates). Raises Damaged.
    """
    try:
        found = _DECODER.decode(data.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        raise Damaged("the JSON cannot be read") from None
    if b"\\u" in data and not writable(found):
        raise Damaged("the JSON holds lone surrogates")
    if not isinstance(found, dict):
        raise Damaged("the JSON is no object")
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and _depth(found) > MAX_DEPTH:
        raise Damaged("the JSON is nested too deeply")
    return found


def writable(item: object) -> bool:
    """False for a JSON value with texts that are no Unicode: lone surrogates, from escapes."""
    try:
        _ENCODER.encode(item).encode()
    except (ValueError, RecursionError):
        return False
    return True


def decode(raw: "dict[str, Any]") -> "dict[str, Any]":
    """Field values from the JSON object of a sidecar; raises Damaged and NewerFormat."""
    version = raw.get("format")
    if type(version) is int and version > FORMAT:
        raise errors.NewerFormat(f"format {version} is newer than this memcli knows ({FORMAT})")
    if version != FORMAT or type(version) is not int:
        raise Damaged("field format is missing or wrong")
    fields: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    name = ""
    try:
        for name, item in raw.items():
            reader = _READ.get(name)
            if reader is None:
                unknown[name] = item
            else:
                fields[name] = reader(item)
    except _WRONG:
        raise Damaged(f"field {name} is not what it must be") from None
    if missing := _REQUIRED - fields.keys():
        raise Damaged(f"field {min(missing)} is missing")
    del fields["format"]
    fields["unknown"] = unknown or None
    return fields


def encode(fields: "dict[str, Any]") -> "dict[str, Any]":
    """The JSON object of a sidecar in its fixed order; empty fields are left out.

    Raises UsageError for a value that `decode` would refuse: what is written can be read.
    """
    raw: dict[str, Any] = {"format": FORMAT}
    for name, writer in _WRITE.items():
        item = fields.get(name)
        if item is not None and item != "" and item != () and item != []:
            try:
                raw[name] = writer(item)
                _READ[name](raw[name])
            except _WRONG:
                raise errors.UsageError(f"{name} cannot be stored: it is not what it must be") from None
    raw.update(fields.get("unknown") or {})
    return raw


def dump(raw: "dict[str, Any]") -> bytes:
    """One field a line, two-space indent; a list of objects gets one line an item."""
    rows = []
    for name, item in raw.items():
        if isinstance(item, list) and item and isinstance(item[0], dict):
            body = "[\n" + ",\n".join("    " + _compact(i) for i in item) + "\n  ]"
        else:
            body = _compact(item)
        rows.append(f"  {_compact(name)}: {body}")
    return ("{\n" + ",\n".join(rows) + "\n}\n").encode()


def instant(text: object) -> datetime:
    """An RFC 3339 instant in UTC; raises ValueError."""
    if type(text) is not str or not text.endswith("Z"):
        raise ValueError
    return datetime.fromisoformat(text)


def show_instant(t: datetime) -> str:
    """The text of an instant as files hold it: whole seconds, `Z`."""
    return t.astimezone(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _compact(item: object) -> str:
    return _ENCODER.encode(item)


def _no_duplicates(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(_: str) -> float:
    raise ValueError("not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        raise ValueError("beyond what a number can hold")
    return number


def _depth(item: object) -> int:
    """How many lists and objects lie in one another; counted level by level, so that depth costs no stack."""
    depth, level = 0, [item]
    while level := [i for i in level if isinstance(i, (dict, list))]:
        depth += 1
        level = [x for i in level for x in (i.values() if isinstance(i, dict) else i)]
    return depth


def _string(item: object) -> str:
    if type(item) is not str:
        raise ValueError
    item.encode()  # lone surrogates cannot be written back
    return item


def _id(item: object) -> str:
    if not ids.valid(item):
        raise ValueError
    return str(item)


def _unit(item: object) -> float:
    if type(item) not in (int, float) or not 0 <= item <= 1:  # type: ignore[operator]
        raise ValueError
    return float(item)  # type: ignore[arg-type]


def _count(item: object) -> int:
    if type(item) is not int or not 0 <= item <= MAX_COUNT:
        raise ValueError
    return item


def _label(item: object) -> labels.Sensitivity:
    found = labels.stored_sensitivity(item)
    if found is None:
        raise ValueError
    return found


def _source(item: "Any") -> Source:
    if not isinstance(item, dict) or item.get("kind") not in labels.KIND_TRUST or set(item) - {"id", "kind", "via"}:
        raise ValueError
    return Source(id=_string(item["id"]), kind=item["kind"], via=_string(item.get("via", "")))


def _show_source(item: Source) -> "dict[str, str]":
    return {"id": item.id, "kind": item.kind} | ({"via": item.via} if item.via else {})


def _strings(item: object) -> tuple[str, ...]:
    if type(item) is not list:
        raise ValueError
    return tuple(_string(i) for i in item)


def _plain(item: object) -> object:
    return str.__str__(item) if isinstance(item, str) else item


def _same(item: object) -> object:
    return item


def _listed(items: object) -> "list[Any]":
    if not isinstance(items, (tuple, list)):
        raise ValueError  # a text would become its letters
    return list(items)


def _opinions(item: "Any") -> tuple[Opinion, ...]:
    if type(item) is not list:
        raise ValueError
    return tuple(Opinion(source=_string(o["source"]), run=_string(o.get("run", "")), at=instant(o["at"])) for o in item)


def _show_opinions(items: tuple[Opinion, ...]) -> "list[dict[str, str]]":
    return [{"source": o.source, "run": o.run, "at": show_instant(o.at)} for o in items]


def _number(x: float) -> float | int:
    return int(x) if x == int(x) else x


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_float=_finite, parse_constant=_no_constant)
_SPEC: "dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]" = {
    "id": (_id, _plain),
    "key": (_string, _plain),
    "source": (_source, _show_source),
    "run": (_string, _plain),
    "agent": (_string, _plain),
    "confidence": (_unit, _number),
    "ttl_minutes": (_count, _same),
    "sensitivity": (_label, str),
    "importance": (_unit, _number),
    "modality": (_string, _plain),
    "domain": (_string, _plain),
    "created_at": (instant, show_instant),
    "updated_at": (instant, show_instant),
    "confirmed_at": (instant, show_instant),
    "confirmations": (_opinions, _show_opinions),
    "denials": (_opinions, _show_opinions),
    "valid_from": (instant, show_instant),
    "valid_to": (instant, show_instant),
    "supersedes": (_id, _plain),
    "renamed_from": (_strings, _listed),
    "derived_from": (_strings, _listed),
    "check": (_string, _plain),
    "state": (_string, _plain),
    "validated_by": (_source, _show_source),
    "needs_review": (_string, _plain),
    "runs": (_count, _same),
    "successes": (_count, _same),
    "rate": (_unit, _number),
    "mean_duration_ms": (_count, _same),
    "last_used_at": (instant, show_instant),
    "body_sha256": (_string, _plain),
}
_READ: "dict[str, Callable[[Any], Any]]" = {"format": lambda v: v} | {n: r for n, (r, _) in _SPEC.items()}
_WRITE: "dict[str, Callable[[Any], Any]]" = {n: w for n, (_, w) in _SPEC.items()}
_REQUIRED = frozenset("id key source confidence ttl_minutes sensitivity created_at updated_at body_sha256".split())
