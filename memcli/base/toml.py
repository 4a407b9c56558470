"""TOML 1.0 (toml.io): a small reader for the plain subset that memcli writes; anything else goes to `tomllib`.

The subset: comments, `[section]` and `[section.sub]`, and `key = value` with bare keys, where a value is a string
without escapes, an integer, a float, a boolean, or a list of these on one line. The small reader agrees with `tomllib`
or steps aside (contract test in tests/base/test_toml.py). Every command reads a store's settings, so it does without
regular expressions, whose compiling would take longer than the reading.
"""

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Declined(Exception):
    """The text is outside the plain subset."""


def load(text: str) -> "dict[str, Any]":
    """The table that a TOML text holds. A leading byte order mark is dropped.

    Raises BadData, with the line where it is known and without any value of the file, for text that is no TOML.
    """
    text = text.removeprefix("\ufeff")
    try:
        return _plain(text)
    except _Declined:
        return _full(text)


def _plain(text: str) -> "dict[str, Any]":
    # Tabs, carriage returns and control characters have rules of their own.
    if not text.replace("\n", "").isprintable():
        raise _Declined
    top: dict[str, Any] = {}
    table, seen = top, set()
    for line in text.split("\n"):
        row = line.strip(" ")
        if not row or row[0] == "#":
            continue
        if row[0] != "[":
            _set(table, row)
            continue
        path = _section(row)
        if path in seen:
            raise _Declined
        seen.add(path)
        table = _table(top, path.split("."))
    return top


def _section(row: str) -> str:
    path, bracket, rest = row[1:].partition("]")
    path = path.strip(" ")
    if not bracket or not all(map(_is_bare, path.split("."))):
        raise _Declined
    _check_end(rest)
    return path


def _set(table: "dict[str, Any]", row: str) -> None:
    name, equals, rest = row.partition("=")
    name = name.rstrip(" ")
    if not equals or not _is_bare(name) or name in table:
        raise _Declined
    table[name], rest = _value(rest.lstrip(" "))
    _check_end(rest)


def _value(text: str) -> "tuple[Any, str]":
    """The value that the text begins with, and what follows it."""
    if text[:1] == '"':
        word, quote, rest = text[1:].partition('"')
        if not quote or "\\" in word:
            raise _Declined
        return word, rest
    if text[:1] == "[":
        return _list(text[1:].lstrip(" "))
    word = text.partition("#")[0].partition(",")[0].partition("]")[0].rstrip(" ")
    if word in ("true", "false"):
        return word == "true", text[len(word) :]
    return _number(word), text[len(word) :]


def _list(rest: str) -> "tuple[list[Any], str]":
    items: list[Any] = []
    comma = False
    while comma or rest[:1] != "]":
        if rest[:1] in ("[", "]"):  # lists in lists, and a comma at the end
            raise _Declined
        item, rest = _value(rest)
        items.append(item)
        rest = rest.lstrip(" ")
        comma = rest[:1] == ","
        if comma:
            rest = rest[1:].lstrip(" ")
        elif rest[:1] != "]":
            raise _Declined
    return items, rest[1:]


def _number(word: str) -> int | float:
    whole, point, part = word.removeprefix("-").partition(".")
    digits = whole + part
    if not (digits.isascii() and digits.isdigit()) or not 0 < len(whole) <= 18 or len(part) > 17:
        raise _Declined
    if (point and not part) or (whole[0] == "0" and whole != "0"):
        raise _Declined
    return float(word) if point else int(word)


def _check_end(rest: str) -> None:
    if rest.lstrip(" ")[:1] not in ("", "#"):
        raise _Declined


def _is_bare(name: str) -> bool:
    return name.isascii() and name.replace("-", "0").replace("_", "0").isalnum()


def _table(top: "dict[str, Any]", path: list[str]) -> "dict[str, Any]":
    """The table of a section, made with its parents where they are not there yet."""
    for name in path:
        top = top.setdefault(name, {})
        if not isinstance(top, dict):
            raise _Declined
    return top


def _full(text: str) -> "dict[str, Any]":
    import re
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as bad:
        # The message may quote the file; only the place at its end is taken.
        where = re.search(r"\(at (?:line ([0-9]+), column [0-9]+|end of document)\)\Z", str(bad))
        line = f" (line {where[1] or text.count(chr(10)) + 1})" if where else ""
        raise errors.BadData(f"this is no valid TOML{line}") from None
