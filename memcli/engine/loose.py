"""Reading the fields of JSON objects that another program wrote: each in one of several names, and of the type it must be.

What is not becomes Unusable, which names the field and never repeats what it holds.
"""

import json
import math
from datetime import datetime, timezone

from memcli.base import clock, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]


class Unusable(Exception):
    """A record that cannot be used; the message says why, without its content."""


def first(raw: "Raw", names: tuple[str, ...]) -> "Any":
    """What the first of the names holds that holds anything."""
    return next((raw[n] for n in names if raw.get(n) is not None), None)


def text(raw: "Raw", *names: str) -> str:
    """A text, "" where there is none."""
    found = first(raw, names)
    if found is not None and not isinstance(found, str):
        raise Unusable(f"{names[0]} is not a text")
    return found or ""


def unit(raw: "Raw", *names: str, default: float | None) -> float | None:
    """A number from 0 to 1."""
    found = first(raw, names)
    if found is None:
        return default
    if type(found) not in (int, float) or not 0 <= found <= 1:
        raise Unusable(f"{names[0]} is no number from 0 to 1")
    return float(found)


def count(raw: "Raw", *names: str) -> int:
    """A whole number from 0 on (milliseconds may have parts)."""
    found = first(raw, names)
    if found is None:
        return 0
    if type(found) not in (int, float) or not 0 <= found < 1 << 53:
        raise Unusable(f"{names[0]} is no count")
    count: int = round(found)
    return count


def flag(raw: "Raw", *names: str) -> bool:
    """True for true and, as databases write it, 1."""
    found = first(raw, names)
    return found is True or (type(found) is int and found == 1)


def instant(raw: "Raw", *names: str) -> str:
    """An instant as text: from seconds since 1970, or a text, in UTC where it names no zone; "" for none and for 0."""
    found = first(raw, names)
    if found is None or found == 0 or found == "":
        return ""
    try:
        if isinstance(found, str):
            return clock.show(_parsed(found))
        if type(found) not in (int, float) or not math.isfinite(found) or found < 0:
            raise ValueError
        at = datetime.fromtimestamp(found, timezone.utc)
        return clock.show(at.replace(microsecond=at.microsecond // 1000 * 1000))
    except (ValueError, OverflowError, OSError, errors.UsageError):
        raise Unusable(f"{names[0]} is no time") from None


def _parsed(text: str) -> datetime:
    try:
        return clock.parse(text)
    except errors.UsageError:
        return clock.parse(f"{text}Z")


def strings(raw: "Raw", *names: str) -> list[str]:
    """A list of texts, or one text that is no JSON list as the only one; blank ones are left out."""
    found = loaded(first(raw, names))
    found = [found] if isinstance(found, str) else found or []
    if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
        raise Unusable(f"{names[0]} is not a list of texts")
    return [x for x in found if x.strip()]


def objects(raw: "Raw", *names: str, text: str = "") -> "list[Raw]":
    """A list of objects; with `text`, a text in it stands for an object with that field."""
    found = loaded(first(raw, names)) or []
    if isinstance(found, list) and text:
        found = [{text: x} if isinstance(x, str) else x for x in found]
    if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
        raise Unusable(f"{names[0]} is not a list of objects")
    return found


def loaded(found: "Any") -> "Any":
    """A value that a database keeps as JSON text, read; any other text stays as it is."""
    if isinstance(found, str) and found[:1] in ("[", "{"):
        try:
            return json.loads(found)
        except (ValueError, RecursionError):
            return found
    return found


def finite(item: "Any") -> "Any":
    """A JSON value without numbers that no file can hold: none stands in their place."""
    if isinstance(item, float) and not math.isfinite(item):
        return None
    if isinstance(item, dict):
        return {k: finite(v) for k, v in item.items()}
    return [finite(v) for v in item] if isinstance(item, list) else item


def squeezed(name: str) -> str:
    """A name without the white space that no key has."""
    return " ".join(name.split())
