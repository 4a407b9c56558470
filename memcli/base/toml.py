"""TOML 1.0 (toml.io): a small reader for the plain subset that memcli writes; anything else goes to `tomllib`.

The subset: comments, `[section]` and `[section.sub]`, and `key = value` with bare keys, where a value is a string
without escapes, an integer, a float, a boolean, or a list of these on one line. The small reader agrees with `tomllib`
or steps aside (contract test in tests/base/test_toml.py).
"""

import re

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ATOM = r'"[^"\\]*"|-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?|true|false'
_FIELD = re.compile(rf" *([A-Za-z0-9_-]+) *= *({_ATOM}|\[ *(?:(?:{_ATOM}) *(?:, *(?:{_ATOM}) *)*)?\]) *(?:#.*)?")
_SECTION = re.compile(r" *\[ *([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*) *\] *(?:#.*)?")
_ATOMS = re.compile(_ATOM)


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
        row = line.lstrip(" ")
        if not row or row[0] == "#":
            continue
        if row[0] != "[":
            _set(table, line)
            continue
        found = _SECTION.fullmatch(line)
        if found is None or found[1] in seen:
            raise _Declined
        seen.add(found[1])
        table = _table(top, found[1].split("."))
    return top


def _set(table: "dict[str, Any]", line: str) -> None:
    found = _FIELD.fullmatch(line)
    if found is None or found[1] in table:
        raise _Declined
    word = found[2]
    table[found[1]] = [_atom(w) for w in _ATOMS.findall(word)] if word[0] == "[" else _atom(word)


def _table(top: "dict[str, Any]", path: list[str]) -> "dict[str, Any]":
    """The table of a section, made with its parents where they are not there yet."""
    for name in path:
        top = top.setdefault(name, {})
        if not isinstance(top, dict):
            raise _Declined
    return top


def _atom(word: str) -> "str | int | float | bool":
    if word[0] == '"':
        return word[1:-1]
    if word in ("true", "false"):
        return word == "true"
    return float(word) if "." in word else int(word)


def _full(text: str) -> "dict[str, Any]":
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as bad:
        # The message may quote the file; only the place at its end is taken.
        where = re.search(r"\(at (?:line ([0-9]+), column [0-9]+|end of document)\)\Z", str(bad))
        line = f" (line {where[1] or text.count(chr(10)) + 1})" if where else ""
        raise errors.BadData(f"this is no valid TOML{line}") from None
