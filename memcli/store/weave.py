"""Monthly logs and JSON lines of two sides made one: each entry once, none torn, nothing that one side took out comes back.

Pure, like the rules of `model.merge`: what both sides have keeps the order of their common past, what is new follows by id.
"""

import re

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import labels, merge, merge_meta, sidecar
from memcli.model.merge import Conflict
from memcli.store import archive, monthly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RAISE = rb"(?m)^<!-- raise ([0-9a-f-]{36}) ([^\n]*?) -->\n"
_CONFLICT = rb"(?m)^(?:<<<<<<<|>>>>>>>) "
_NEWER = rb"# Episodes \S+ \(memcli format (?!1\))"
_MARKERS = (b"<<<<<<< ", b">>>>>>> ", b"|||||||", b"=======")


@value
class _Log(Value):
    """A log in pieces. head: what stands before the first entry; entries: id to its bytes and to what stands between it
    and the next entry; raised: id to labels that were raised later."""

    head: bytes
    entries: dict[str, tuple[bytes, bytes]]
    raised: dict[str, set[bytes]]


def logs(base: bytes, a: bytes, b: bytes) -> bytes:
    """One log of two. Raises Conflict for damaged logs and for an entry that both sides changed in other than its label."""
    was, x, y = (_cut(data) for data in (base, a, b))
    entries: dict[str, tuple[bytes, bytes]] = {}
    new = sorted((x.entries.keys() | y.entries.keys()) - was.entries.keys())
    for made in (*was.entries, *new):
        found = _entry(*(side.entries.get(made) for side in (was, x, y)))
        if found is not None:
            entries[made] = found
    head = merge.pick(was.head, x.head, y.head, merge.refuse)
    raised = {made: x.raised.get(made, set()) | y.raised.get(made, set()) for made in {**x.raised, **y.raised}}
    gone = was.entries.keys() - entries.keys()
    woven = [head]
    for made, (entry, gap) in entries.items():
        woven += [entry, *_raises(made, raised.pop(made, set())), gap]
    for made in sorted(raised.keys() - gone):  # of an entry that stands elsewhere
        woven += _raises(made, raised[made])
    data = b"".join(woven)
    if list(_cut(data).entries) != list(entries):
        raise Conflict("the logs cannot be united")
    return data


def _cut(data: bytes) -> _Log:
    data = monthly.normal(data)
    if data and not data.endswith(b"\n"):
        data += b"\n"
    problems: list[tuple[int, str]] = []
    placed = list(monthly.spans(data, problems))
    if problems or any(e.state == "damaged" for _, _, e in placed) or len({e.id for _, _, e in placed}) != len(placed):
        raise Conflict("a side has torn, damaged or doubled entries")
    if re.match(_NEWER, data):
        raise Conflict("a side is of a newer format")
    raised: dict[str, set[bytes]] = {}
    ends = [*(start for start, _, _ in placed), len(data)][1:]
    entries = {
        entry.id: (_unmarked(data[start:end], entry.state), _gap(data[end:following], raised))
        for (start, end, entry), following in zip(placed, ends, strict=True)
    }
    head = _gap(data[: placed[0][0]] if placed else data, raised)
    return _Log(head=head, entries=entries, raised=raised)


def _unmarked(data: bytes, state: str) -> bytes:
    """The bytes of an entry. A whole one may be about a merge; in an edited one markers are those of a merge."""
    if state != "ok" and re.search(_CONFLICT, data):
        raise Conflict("a side holds conflict markers")
    return data


def _gap(data: bytes, raised: dict[str, set[bytes]]) -> bytes:
    """What stands between entries without its raise lines, which go into `raised`."""
    if data.strip() and re.search(_CONFLICT, data):
        raise Conflict("a side holds conflict markers")
    for found in re.finditer(_RAISE, data):
        raised.setdefault(found[1].decode(), set()).add(found[2])
    return re.sub(_RAISE, b"", data)


def _raises(made: str, said: set[bytes]) -> list[bytes]:
    return [b"<!-- raise %s %s -->\n" % (made.encode(), label) for label in sorted(said)]


def _entry(
    was: tuple[bytes, bytes] | None, x: tuple[bytes, bytes] | None, y: tuple[bytes, bytes] | None
) -> tuple[bytes, bytes] | None:
    """An entry as both sides have it; None when one side took it out and the other left it as it was."""
    if x is None or y is None:
        kept = x or y
        if was is None or kept is None:
            return kept
        if kept[0] != was[0]:
            raise Conflict("an entry was taken out on one side and changed on the other")
        return None
    entry = merge.pick(was[0] if was else b"", x[0], y[0], _stricter)
    return entry, merge.pick(was[1] if was else b"", x[1], y[1], merge.refuse)


def _stricter(a: bytes, b: bytes) -> bytes:
    """Of two copies of an entry that differ in nothing but the label the stricter one. Raises Conflict."""
    (one,), (two,) = (list(monthly.spans(data, [])) for data in (a, b))
    x, y = one[2], two[2]
    if x.replace(sensitivity=y.sensitivity) != y:
        raise Conflict("both sides changed one entry")
    if x.sensitivity == y.sensitivity:
        return max(a, b)
    return a if x.sensitivity > y.sensitivity else b


def lines(base: bytes, a: bytes, b: bytes) -> bytes:
    """One file of JSON lines of two: the archive's by the id of the value, others by what they say. Raises Conflict."""
    was, x, y = (_rows(data) for data in (base, a, b))
    new = sorted((x.keys() | y.keys()) - was.keys())
    found = []
    for name in (*was, *new):
        old, one, two = was.get(name), x.get(name), y.get(name)
        if one is not None and two is not None:
            found.append(merge.pick(old or b"", one, two, _one_line))
        elif (kept := one or two) is not None and kept != old:  # else one side took it out
            found.append(kept)
    return b"".join(line + b"\n" for line in found)


def _rows(data: bytes) -> dict[tuple[str, bytes], bytes]:
    """Lines by the id of their value, or by themselves; of several with one id the last, which is the one that is read."""
    found: dict[tuple[str, bytes], bytes] = {}
    for line in data.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(_MARKERS):
            raise Conflict("a side holds conflict markers")
        row = archive.row_of(line) if line.strip() else None
        name = (row["meta"]["id"], b"") if row is not None else ("", line)
        if line.strip():
            found.pop(name, None)
            found[name] = line
    return found


def _one_line(a: bytes, b: bytes) -> bytes:
    """Two copies of one former value: the stricter label, all opinions, the earlier end. Other texts stand side by side."""
    one, two = sorted((a, b), key=_end)
    x, y = sidecar.parse(one), sidecar.parse(two)
    label = max(_label(row) for row in (x, y))
    united: dict[str, Any] = x | {"meta": _opinions(x["meta"], y["meta"])}
    for row in (united, y):
        if "sensitivity" in row["meta"]:
            row["meta"] = row["meta"] | {"sensitivity": str(label)}
        if "sensitivity" in row["header"]:
            row["header"] = row["header"] | {"sensitivity": str(label)}
    if x["text"] == y["text"]:
        return archive.compact(united)
    return b"\n".join(sorted((archive.compact(united), archive.compact(y))))


def _end(line: bytes) -> tuple[str, bytes]:
    return str(sidecar.parse(line)["at"]), line


def _label(row: "dict[str, Any]") -> labels.Sensitivity:
    said = [row[part]["sensitivity"] for part in ("meta", "header") if "sensitivity" in row[part]]
    found = [labels.stored_sensitivity(word) for word in said]
    return max((labels.RESTRICTED if label is None else label for label in found), default=labels.PUBLIC)


def _opinions(a: "dict[str, Any]", b: "dict[str, Any]") -> "dict[str, Any]":
    try:
        return sidecar.encode(merge_meta.with_opinions(sidecar.decode(dict(a)), sidecar.decode(dict(b))))
    except errors.BadData:  # an episode's, or one that a person made
        return a
