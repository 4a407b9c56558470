"""The quick reader: binds well-formed words to a command through its code object, without the CLI framework.

It knows only what it is sure of. On anything doubtful (help, an unknown word or option, a missing or surplus
argument, a value that starts with "-", a bad number, shell completion) it steps aside and returns None, and full.py
reads the same words again. A contract test holds that the two agree on all that this one accepts.

`inspect`, `typing` and `argparse` would each cost more than the command: signatures are read from `__code__`,
`__defaults__`, `__kwdefaults__` and `__annotations__`.
"""

import os

from memcli.cli import call, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ROOT_OPTIONS = ("--store", "--tenant", "--now")
# How shells ask for completions; typer answers them.
COMPLETION = "_MEMCLI_COMPLETE"
_TYPES = (str, int, float)
_VARIADIC = 0x04 | 0x08  # co_flags of a function with *args or **kwargs


class Doubt(Exception):
    """Not for the quick reader. Never leaves this module."""


def read(argv: list[str]) -> "call.Call | None":
    """The call that the words after `memcli` mean, its module imported; None where the full reader must look."""
    if COMPLETION in os.environ:
        return None
    try:
        roots, start = _roots(argv)
        path, start = _path(argv, start)
        function = table.load(path)
        given = _bind(function, argv[start:])
    except Doubt:
        return None
    json, jsonl = given.pop("json", False), given.pop("jsonl", False)
    return call.Call(function, call.Context(**roots, json=json, jsonl=jsonl), given)


def option_name(parameter: str) -> str:
    """How a keyword-only parameter is written on the command line: `n` -> -n, `derived_from` -> --derived-from."""
    if len(parameter) == 1:
        return f"-{parameter}"
    return "--" + parameter.rstrip("_").replace("_", "-")


def kind(annotation: "Any") -> "tuple[type, bool] | None":
    """(base type, takes many) of a parameter's annotation; None when a command may not use it."""
    if annotation in _TYPES or annotation is bool:
        return annotation, False
    parts = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) is tuple:
        return (str, True) if parts == (str, ...) else None
    named = [part for part in parts if part is not type(None)]
    return (named[0], False) if len(parts) == 2 and len(named) == 1 and named[0] in _TYPES else None


def _roots(argv: list[str]) -> "tuple[dict[str, Any], int]":
    # The options before the command, and where the command starts.
    roots: dict[str, Any] = {}
    at = 0
    while at < len(argv) and argv[at][:1] == "-":
        flag, equals, value = argv[at].partition("=")
        if flag not in ROOT_OPTIONS:
            raise Doubt
        if not equals:
            at += 1
            value = _value(argv, at)
        roots[flag[2:]] = _plain(value)
        at += 1
    return roots, at


def _path(argv: list[str], at: int) -> tuple[str, int]:
    # One word, or a group and its command.
    if at < len(argv) and argv[at] in table.GROUPS:
        path, after = " ".join(argv[at : at + 2]), at + 2
    else:
        path, after = "".join(argv[at : at + 1]), at + 1
    # A word that holds a space could otherwise pass for two.
    if path not in table.COMMANDS or path.count(" ") != after - at - 1:
        raise Doubt
    return path, after


def _bind(function: "Callable[..., Any]", words: list[str]) -> "dict[str, Any]":
    # Parameter name -> value for all that was given.
    code = function.__code__
    if code.co_flags & _VARIADIC:
        raise Doubt
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    given, places = _options(function, named, words)
    _places(function, code.co_varnames[1 : code.co_argcount], places, given)
    required = [name for name in named if name not in (function.__kwdefaults__ or ())]
    if any(name not in given for name in required):
        raise Doubt
    return given


def _options(
    function: "Callable[..., Any]", named: tuple[str, ...], words: list[str]
) -> "tuple[dict[str, Any], list[str]]":
    # Options by parameter name, and the words that are arguments.
    kinds: dict[str, Any] = {option_name(name): (name, function.__annotations__.get(name)) for name in named}
    kinds["--json"] = ("json", bool)
    if call.lists(function):
        kinds["--jsonl"] = ("jsonl", bool)
    given: dict[str, Any] = {}
    places: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return given, places + words[at:]
        if word[:1] != "-" or word == "-":
            places.append(word)
        elif _option(kinds, given, word, words, at):
            at += 1
    return given, places


def _option(kinds: "dict[str, Any]", given: "dict[str, Any]", word: str, words: list[str], at: int) -> bool:
    # Takes one option into `given`; True when its value was the next word.
    flag, equals, value = word.partition("=")
    if flag not in kinds or (equals and flag[:2] != "--"):
        raise Doubt
    name, annotation = kinds[flag]
    if annotation is bool:
        if equals:
            raise Doubt
        given[name] = True
        return False
    value = _plain(value) if equals else _value(words, at)
    base, many = _known(annotation)
    given[name] = (*given.get(name, ()), value) if many else _convert(base, value)
    return not equals


def _places(function: "Callable[..., Any]", names: tuple[str, ...], places: list[str], given: "dict[str, Any]") -> None:
    # Arguments in order into `given`; a tuple as the last one takes the rest.
    rest = list(places)
    for name in names:
        base, many = _known(function.__annotations__.get(name))
        if base is bool or (many and name != names[-1]):
            raise Doubt
        if rest:
            given[name] = tuple(rest) if many else _convert(base, rest[0])
            rest = [] if many else rest[1:]
    required = names[: len(names) - len(function.__defaults__ or ())]
    if rest or any(name not in given for name in required):
        raise Doubt


def _value(words: list[str], at: int) -> str:
    # The option's value in the next word.
    if at >= len(words):
        raise Doubt
    return _plain(words[at])


def _plain(value: str) -> str:
    # A value that looks like an option is more often a slip than a value.
    if value[:1] == "-" and value != "-":
        raise Doubt
    return value


def _known(annotation: "Any") -> tuple[type, bool]:
    found = kind(annotation)
    if found is None:
        raise Doubt
    return found


def _convert(base: type, value: str) -> object:
    try:
        return base(value)
    except ValueError:
        raise Doubt from None
