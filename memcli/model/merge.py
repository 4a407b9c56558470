"""Two versions of one record and the one that both come from: the rules by which they are united (docs/format.md §9).

Everything here is a pure function of three texts, and the same whichever side is called ours. A Markdown file and its
sidecar are merged by separate calls that know nothing of each other, so both decide by the ids alone which value stands:
`stands`. Whatever no rule covers raises `Conflict`.
"""

import json
from datetime import datetime

from memcli.base import errors, ids
from memcli.base.value import Value, value
from memcli.model import header, keys, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")

MAX_BYTES = 1 << 20
# Front matter in the order in which memcli writes it; what a person added comes after.
_FACT = ("id", "key", "sensitivity", "tags", "relations")
_PROCEDURE = ("id", "key", "sensitivity", "title", "task_type", "trigger", "tags", "steps", "relations")


class Conflict(Exception):
    """The two sides cannot be united by a rule: the driver leaves it to a person. The message holds no value."""


@value
class Merged(Value):
    """One file as merged. stood: the id of the value that stands in it; other: the id of the other side's value, the same
    when only metadata differ; base: that of the value that both sides come from, "" for none.

    aside: the other side's file where it holds what the merged one does not, else None; edited: it is a text that was
    edited by hand under the id of the base; uneven: the sides have different labels, so that the other file of the record
    may say less than the stricter one.
    """

    data: bytes
    stood: str
    other: str
    base: str = ""
    aside: bytes | None = None
    edited: bool = False
    uneven: bool = False


def stands(base: str, a: str, b: str) -> bool:
    """True when of two values b's stands: the side that still has the base's gives way, else the greater id wins.

    Where git finds only one side changed it takes that side without asking, so the base must count before the ids.
    """
    if a == b or b == base:
        return False
    return a == base or b > a


def pick(base: "T", a: "T", b: "T", both: "Callable[[T, T], T]") -> "T":
    """What both sides agree on, or the change of the one that changed it, or what `both` makes of two changes."""
    if a == b or b == base:
        return a
    return b if a == base else both(a, b)


def refuse(a: object, b: object) -> "Any":
    """For `pick`: two changes that exclude each other."""
    raise Conflict("both sides changed the same thing in different ways")


def shown(item: object) -> str:
    """JSON by which values are compared and ordered."""
    return json.dumps(item, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def united(base: "Iterable[T]", a: "Iterable[T]", b: "Iterable[T]") -> "list[T]":
    """A list with what either side added and without what either took out: the base's order, then what is new, sorted."""
    was, x, y = ({shown(i): i for i in items} for items in (base, a, b))
    kept = [i for name, i in was.items() if name in x and name in y]
    new = x | y
    return kept + [new[name] for name in sorted(new.keys() - was.keys())]


def markdown(base: bytes, a: bytes, b: bytes, *, procedure: bool = False) -> Merged:
    """Two versions of a record's `.md`. base: b"" when both sides made it. Raises Conflict."""
    was = _read(base, needed=False) if base else ({}, "")
    x, y = _read(a), _read(b)
    root, one, two = (_id(front) for front, _ in (was, x, y))
    if len({keys.nfc(str(front["key"])) for front, _ in (was, x, y) if "key" in front}) > 1:
        raise Conflict("the two sides are of different keys")
    mine, other = (y, x) if stands(root, one, two) else (x, y)
    front = _front(was[0], mine[0], other[0], same=one == two)
    text = pick(was[1], x[1], y[1], refuse) if one == two else mine[1]
    data = _bytes(front, text, [(x, a), (y, b)], procedure)
    uneven = x[0]["sensitivity"] != y[0]["sensitivity"]
    stood, lost = str(mine[0]["id"]), str(other[0]["id"])
    if stood == lost:
        return Merged(data=data, stood=stood, other=lost, base=root, uneven=uneven)
    edited = lost == root
    aside = None if edited and other[1] == was[1] else b if other is y else a
    return Merged(data=data, stood=stood, other=lost, base=root, aside=aside, edited=edited, uneven=uneven)


def instant_of(made: str) -> float:
    """The time inside an id, in seconds since 1970."""
    return ids.milliseconds(made) / 1000


def _read(data: bytes, *, needed: bool = True) -> "tuple[dict[str, Any], str]":
    """Front matter and text. needed: it must be that of a record with id, key and label."""
    try:
        front, text = header.split(data.decode())
    except (errors.BadData, UnicodeDecodeError):
        raise Conflict("a side is damaged") from None
    found = front or {}
    if needed and not (ids.valid(found.get("id")) and isinstance(found.get("key"), str) and _label(found) is not None):
        raise Conflict("a side has no front matter with id, key and sensitivity")
    if needed and any(line.startswith(("<<<<<<< ", ">>>>>>> ")) for line in text.split("\n")):
        raise Conflict("a side holds conflict markers")
    return found, text


def _id(front: "dict[str, Any]") -> str:
    return str(front["id"]) if ids.valid(front.get("id")) else ""


def _label(front: "dict[str, Any]") -> labels.Sensitivity | None:
    return labels.stored_sensitivity(front.get("sensitivity"))


def _front(was: "dict[str, Any]", mine: "dict[str, Any]", other: "dict[str, Any]", *, same: bool) -> "dict[str, Any]":
    """The header of what stands: the stricter label, lists united, of the rest what either side changed."""

    def both(a: "Any", b: "Any") -> "Any":
        return refuse(a, b) if same else a

    found: dict[str, Any] = {}
    for name in {**mine, **other}:
        sides = (was.get(name), mine.get(name), other.get(name))
        if name == "id":
            found[name] = mine["id"]
        elif name == "sensitivity":
            found[name] = str(max(label for label in (_label(mine), _label(other)) if label is not None))
        elif name == "tags" and all(s is None or _is_words(s) for s in sides):
            found[name] = united(*(s or () for s in sides)) or None
        elif name == "relations" and all(s is None or _is_mappings(s) for s in sides):
            found[name] = _relations(*(s or () for s in sides)) or None
        elif not same and not was:
            found[name] = mine.get(name)
        else:
            found[name] = pick(*sides, both)
    kept = {n for side in (mine, other) for n, item in side.items() if item is None}  # an empty field of one's own
    return {n: item for n, item in found.items() if item is not None or n in kept}


def _relations(was: "Iterable[Any]", a: "Iterable[Any]", b: "Iterable[Any]") -> "list[dict[str, Any]]":
    """As `united`; of two weights of one relation the changed one holds, of two changed ones the greater."""
    sides = [{(shown(r.get("type")), shown(r.get("target"))): shown(r) for r in rows} for rows in (was, a, b)]
    root, x, y = sides
    names = [n for n in root if n in x and n in y] + sorted((x.keys() | y.keys()) - root.keys())
    rows = []
    for name in names:
        one, two = x.get(name), y.get(name)
        rows.append(pick(root.get(name), one or two, two or one, lambda p, q: max(p or "", q or "")))
    return [json.loads(row) for row in rows if row is not None]


def _is_words(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(i, str) for i in found)


def _is_mappings(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(i, dict) for i in found)


def _bytes(
    front: "dict[str, Any]", text: str, sides: "list[tuple[tuple[dict[str, Any], str], bytes]]", procedure: bool
) -> bytes:
    """A side's own bytes when it says just this, so that what a person wrote keeps its form."""
    same = [data for (was, said), data in sides if was == front and said == text]
    if same:
        return max(same)
    order = _PROCEDURE if procedure else _FACT
    known = {name: front[name] for name in order if name in front}
    known["key"] = front["key"]
    known |= {name: front[name] for name in sorted(front) if name not in known}
    try:
        data = header.join(known, text).encode()
    except ValueError:
        raise Conflict("the front matter cannot be united") from None
    if len(data) > MAX_BYTES:
        raise Conflict("the record would be larger than 1 MiB")
    return data


def later(a: datetime | None, b: datetime | None) -> datetime | None:
    """The later of two instants; one that is missing does not count."""
    return max((t for t in (a, b) if t is not None), default=None)


def earlier(a: datetime | None, b: datetime | None) -> datetime | None:
    """The earlier of two instants; one that is missing does not count."""
    return min((t for t in (a, b) if t is not None), default=None)
