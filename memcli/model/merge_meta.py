"""Sidecars and source records merged field by field (docs/format.md §9): the stricter label, lists united, no count lost.

As in `merge`: pure, and the same whichever side is called ours.
"""

from memcli.base import errors
from memcli.model import keys, merge, policy, sidecar
from memcli.model.merge import Conflict, Merged, pick
from memcli.model.records import Opinion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Fields = dict[str, Any]

# What a new value keeps of the one before it: a change that the other side made to the former value holds for the new one.
_CARRIED = ("ttl_minutes", "importance", "modality", "domain", "needs_review", "unknown")
_LATEST = ("updated_at", "confirmed_at", "last_used_at")
_LISTS = ("renamed_from", "derived_from")
_COUNTS = ("runs", "successes")
# The rate moves by this share of the distance on each run (docs/format.md §5).
_RATE_STEP = 0.1
_RATE, _MEAN = "rate", "mean_duration_ms"


def sidecars(base: bytes, a: bytes, b: bytes, *, proposed: bool = False) -> Merged:
    """Two versions of a sidecar. base: b"" when both sides made it; proposed: who wrote it is a witness. Raises Conflict."""
    was, x, y = _load(base) if base else {}, _load(a), _load(b)
    if len({keys.nfc(side["key"]) for side in (was, x, y) if side}) > 1:
        raise Conflict("the two sides are of different keys")
    root = was.get("id", "")
    mine, other = (y, x) if merge.stands(root, x["id"], y["id"]) else (x, y)
    fields = _same_value(was, x, y) if x["id"] == y["id"] else _new_value(was, mine, other, proposed)
    fields["sensitivity"] = max(x["sensitivity"], y["sensitivity"])
    fields["created_at"] = merge.earlier(x["created_at"], y["created_at"])
    same = [data for side, data in ((x, a), (y, b)) if side == fields]
    data = max(same) if same else sidecar.dump(sidecar.encode(fields))
    if len(data) > merge.MAX_BYTES:
        raise Conflict("the sidecar would be larger than 1 MiB")
    apart = x["id"] != y["id"]
    return Merged(
        data=data,
        stood=mine["id"],
        other=other["id"],
        base=root,
        aside=(b if other is y else a) if apart else None,
        uneven=x["sensitivity"] != y["sensitivity"],
    )


def with_opinions(was: "Fields", more: "Fields") -> "Fields":
    """The fields of a former value with the opinions and the stricter label of another copy of it."""
    fields = was | {n: opinions(was.get(n, ()), more.get(n, ())) for n in ("confirmations", "denials")}
    fields["confirmed_at"] = merge.later(was.get("confirmed_at"), more.get("confirmed_at"))
    fields["sensitivity"] = max(was["sensitivity"], more["sensitivity"])
    return fields


def opinions(a: "tuple[Opinion, ...]", b: "tuple[Opinion, ...]") -> "tuple[Opinion, ...]":
    """All of both, each once, by time: opinions are only ever added."""
    every = {(o.at, o.source, o.run): o for o in (*a, *b)}
    return tuple(every[name] for name in sorted(every))


def source_records(base: bytes, a: bytes, b: bytes) -> Merged:
    """Two versions of a source record: a block on either side holds, the lower of two changed trusts. Raises Conflict."""
    was, x, y = (_source(data) if data else {} for data in (base, a, b))
    if len({str(side.get("id")) for side in (was, x, y) if side}) > 1:
        raise Conflict("the two sides are of different sources")
    found: Fields = {}
    for name in {**x, **y}:
        sides = (was.get(name), x.get(name), y.get(name))
        found[name] = pick(*sides, _SOURCE.get(name, _greater))
    if "block" in (x.get("list"), y.get("list")):
        found["list"] = "block"
    found = {n: item for n, item in found.items() if item is not None}
    order = [n for n in _SOURCE_ORDER if n in found]
    found = {n: found[n] for n in (*order, *sorted(found.keys() - set(order)))}
    same = [data for side, data in ((x, a), (y, b)) if side == found]
    return Merged(data=max(same) if same else sidecar.dump(found), stood=str(found["id"]), other=str(found["id"]))


def _load(data: bytes) -> "Fields":
    try:
        return sidecar.load(data)
    except errors.BadData:
        raise Conflict("a side is damaged or of a newer format") from None


def _source(data: bytes) -> "Fields":
    try:
        raw = sidecar.parse(data)
    except errors.BadData:
        raise Conflict("a side is damaged") from None
    if raw.get("format") != 1 or not isinstance(raw.get("id"), str):
        raise Conflict("a side is damaged or of a newer format")
    return raw


def _same_value(was: "Fields", x: "Fields", y: "Fields") -> "Fields":
    """The same value on both sides: what either changed; of two changes the rule of the field."""
    found: Fields = {}
    for name in {**x, **y}:
        sides = (was.get(name), x.get(name), y.get(name))
        if name in ("confirmations", "denials"):
            found[name] = opinions(sides[1] or (), sides[2] or ())
        elif name in _LATEST:
            found[name] = merge.later(*sides[1:])
        elif name in _LISTS:
            found[name] = tuple(merge.united(*(s or () for s in sides)))
        elif name in _COUNTS:
            found[name] = _count(*sides)
        else:
            found[name] = pick(*sides, _rule(name, x, y))
    return found | _uses(was, x, y)


def _new_value(was: "Fields", mine: "Fields", other: "Fields", proposed: bool) -> "Fields":
    """Another value on each side: that of `mine`, with what the other side changed of what a new value keeps."""
    found = dict(mine)
    for name in _CARRIED:
        if was and (item := pick(was.get(name), mine.get(name), other.get(name), lambda a, _: a)) is not None:
            found[name] = item
    found["renamed_from"] = tuple(dict.fromkeys((*mine.get("renamed_from", ()), *other.get("renamed_from", ()))))
    if mine["body_sha256"] != other["body_sha256"] and not proposed:
        return _tidy(found, mine)
    for name in ("confirmations", "denials"):
        found[name] = opinions(mine.get(name, ()), other.get(name, ()))
    found["confirmed_at"] = merge.later(mine.get("confirmed_at"), other.get("confirmed_at"))
    if proposed:
        found |= _witnessed(found, mine, other)
    return _tidy(found, mine)


def _witnessed(found: "Fields", mine: "Fields", other: "Fields") -> "Fields":
    """Whoever wrote the other side's proposal has observed it too, once a run."""
    first, second = (Opinion(source=str(s["source"]), run=s.get("run", ""), at=s["created_at"]) for s in (mine, other))
    spoken = {policy.witness(o) for o in (first, *found["confirmations"])}
    if policy.witness(second) in spoken:
        return {}
    seen = opinions(found["confirmations"], (second,))
    return {"confirmations": seen, "confirmed_at": merge.later(found.get("confirmed_at"), other["updated_at"])}


def _tidy(found: "Fields", mine: "Fields") -> "Fields":
    """Without the empty fields that the side did not have, so that an unchanged side keeps its own bytes."""
    return {n: item for n, item in found.items() if n in mine or (item is not None and item not in ("", ()))}


def _rule(name: str, x: "Fields", y: "Fields") -> "Callable[[Any, Any], Any]":
    """Which of two changes holds. What has no rule of its own: the side that was updated later, else the greater text."""
    if name in _RULES:
        return _RULES[name]

    def by_time(a: object, b: object) -> object:
        if x["updated_at"] == y["updated_at"]:
            return max(a, b, key=lambda item: _text(name, item))
        return a if x["updated_at"] > y["updated_at"] else b

    return by_time


def _text(name: str, item: object) -> str:
    return merge.shown(sidecar.encode({name: item}))


def _count(was: int | None, a: int | None, b: int | None) -> int:
    """Both sides' increments over what was; without a common past they may be the same ones, so the greater."""
    one, two = a or 0, b or 0
    return max(one, two, one + two - was) if was is not None else max(one, two)


def _uses(was: "Fields", x: "Fields", y: "Fields") -> "Fields":
    """Rate and mean duration of a procedure that both sides used: each side's runs count with their weight."""
    if not was or _RATE not in {**x, **y}:
        return {}
    runs = [side.get("runs", 0) for side in (was, x, y)]
    more = [max(0, n - runs[0]) for n in runs[1:]]
    if not all(more):
        return {}
    start, one, two = (side.get(_RATE, 0.5) for side in (was, x, y))
    # After one side's runs the other's: the mean of both orders, for neither side comes first.
    kept = [(1 - _RATE_STEP) ** n for n in more]
    rate = ((one * kept[1] + two - start * kept[1]) + (two * kept[0] + one - start * kept[0])) / 2
    spent = [side.get(_MEAN, 0) for side in (was, x, y)]
    mean = max(spent)
    if spent[1] and spent[2]:
        total = spent[1] * runs[1] + spent[2] * runs[2] - spent[0] * runs[0]
        mean = max(0, round(total / max(1, runs[1] + runs[2] - runs[0])))
    return {_RATE: round(min(max(rate, 0.0), 1.0), 6), _MEAN: mean}


def _shorter(a: int | None, b: int | None) -> int:
    """The shorter of two times to live; 0 is for ever."""
    return min(a or 0, b or 0) or max(a or 0, b or 0)


def _state(a: str | None, b: str | None) -> str:
    """Rejected stays rejected; else the one that is further on."""
    order = ("pending", "trial", "approved", "rejected")
    return max(a or "", b or "", key=lambda s: (s in order, order.index(s) if s in order else 0, s))


def _greater(a: object, b: object) -> object:
    return max(a, b, key=merge.shown)


def _less(a: "Any", b: "Any") -> "Any":
    return min((i for i in (a, b) if i is not None), default=None)


def _most(a: "Any", b: "Any") -> "Any":
    return max((i for i in (a, b) if i is not None), default=None)


def _more_said(a: str | None, b: str | None) -> str:
    """Both notes, unless one says what the other does."""
    one, two = sorted((a or "", b or ""), key=lambda s: (len(s), s))
    return two if one in two else "; ".join(sorted((one, two)))


def _no_leave(a: str | None, b: str | None) -> str | None:
    """Of two changes of a source's list the one that allows less."""
    return "block" if "block" in (a, b) else a if b == "allow" else b


_RULES: "dict[str, Callable[[Any, Any], Any]]" = {
    "sensitivity": max,
    "created_at": merge.earlier,
    "confidence": _less,
    "importance": _most,
    "ttl_minutes": _shorter,
    "needs_review": lambda a, b: max(a or "", b or ""),
    "state": _state,
    "rate": _less,
    "mean_duration_ms": _most,
    "body_sha256": merge.refuse,
    "supersedes": merge.refuse,
}
_SOURCE: "dict[str, Callable[[Any, Any], Any]]" = {
    "trust": _less,
    "list": _no_leave,
    "note": _more_said,
    "first_seen_at": _less,
    "last_seen_at": _most,
    "kind": merge.refuse,
}
_SOURCE_ORDER = ("format", "id", "kind", "trust", "list", "first_seen_at", "last_seen_at", "note")
