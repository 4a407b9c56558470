"""Front matter: the header of a `.md` file and the text below it (format: docs/format.md §3.2).

Two readers share one meaning of words. A small strict one knows exactly the plain subset of YAML that `join` writes;
whatever else people write goes to PyYAML by way of a strict python-frontmatter handler, which costs its import.
The small reader agrees with PyYAML or steps aside (contract test in tests/model/test_header.py).
"""

import functools
import json
import re

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from frontmatter.default_handlers import YAMLHandler

MAX_BYTES = 64 * 1024
MAX_DEPTH = 20
MAX_NODES = 10_000
# PyYAML finds a key only when its colon comes within 1,024 characters.
_MAX_KEY = 1000

# Compiled on first use, here and below: a command that reads no header must not pay for them.
_re = functools.cache(re.compile)
_QUOTED = r'"[^"\\]*(?:\\(?:["\\bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})[^"\\]*)*"'
_FIELD = rf"([A-Za-z_][A-Za-z0-9_-]*|{_QUOTED}):(?: +(.*))?"
_WORDS = r"(?:[\w./+]|-(?=[\w.]))(?:[^:#]|:(?! |\Z)|(?<! )#)*"
_TOKEN = rf"{_QUOTED}|[\[\]{{}},]|:(?= )|(?:[\w./+]|-(?=[\w.]))[\w./+@-]*(?: +[\w./+@-]+)*"
_MARKS = ("[", "]", "{", "}", ",", ":")
# How every record that memcli wrote begins; the words in it are plain strings to all readers.
_BEGINNING = (
    r"id: ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\nkey: ([A-Za-z][\w.+/-]*(?: [\w.+/-]+)*)\n"
    r"sensitivity: (public|internal|sensitive|restricted)\n"
)
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}

# Bare, these would make a string something else for some reader.
_SAFE = r"[^\W\d_][\w.+/-]*(?: [\w.+/-]+)*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LOOKALIKES = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "none", "nan", "inf", "infinity")
# Line breaks in YAML 1.1 but not in 1.2, and the byte order mark: readers would see different headers.
_AMBIGUOUS = "\x85\u2028\u2029\ufeff"
_UNSAFE = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
_SURROGATE = r"\\(?:u|U0000)[dD][89a-fA-F]"
_LIKE_A_MAPPING = r""":(?:\s|\Z)|["'][ \t]*:|(?m:^)[ \t]*[{?]"""


class _Declined(Exception):
    """The text is outside the plain subset."""


def split(text: str) -> tuple[dict[str, object] | None, str]:
    """The header of a file's text (None when it has no valid front matter), and the body.

    A header stands between a first line `---` and the next line `---` and is a mapping; else all is body, so that a
    body may begin with a rule. A byte order mark is dropped, CRLF and CR become LF, one blank line after the header
    and one final LF are not part of the body. Numbers are numbers only in the form in which they are written back
    (`1.5`, not `1.50`), `true`, `false` and `null` only in lower case; every other plain word is a string.
    Raises BadData, without any value of the file, for a mapping that breaks the rules or looks like a broken one.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    inside, rest = _cut(text)
    header = None if inside is None else _read(inside)
    if header is None:
        return None, text.removesuffix("\n")
    return header, rest.removeprefix("\n").removesuffix("\n")


def join(header: dict[str, object], body: str) -> str:
    """The text of a file: one field a line between fences, a blank line, the body, one LF. `split` is its inverse.

    Values: str, int, float, bool, None (nothing behind the colon), a list of str, a list of mappings (a line each), and
    whatever else `split` may have found in a file that was written by hand. Raises ValueError for anything else,
    non-finite numbers included, and for a header that would be too large to be read.
    """
    text = "".join(f"{line}\n" for name, value in header.items() for line in _lines(name, value))
    if len(text) > MAX_NODES:
        try:
            _read(text)
        except errors.BadData as bad:
            raise ValueError(bad.message) from None
    return f"---\n{text}---\n\n{body}\n"


def _cut(text: str) -> tuple[str | None, str]:
    """What stands between the fences (None without two of them), and what follows."""
    if not text.startswith("---\n"):
        return None, text
    end = text.find("\n---\n", 3)
    if end < 0 and text.endswith("\n---") and len(text) > 4:
        end = len(text) - 4
    return (None, text) if end < 0 else (text[4 : end + 1], text[end + 5 :])


def _read(text: str) -> dict[str, object] | None:
    if not text:
        return {}
    try:
        return _read_plain(text) or _read_yaml(text)
    except (_Declined, IndexError):
        return _read_yaml(text)


def _read_plain(text: str) -> dict[str, object]:
    # A node takes a character at least, so this length also keeps within MAX_NODES.
    if len(text) > MAX_NODES or _unsafe(text):
        raise _Declined
    header: dict[str, object] = {}
    items: list[object] | None = None
    name, column = "", 0
    usual = _re(_BEGINNING).match(text)
    if usual and usual[2] not in _CONSTANTS:
        header = dict(zip(("id", "key", "sensitivity"), usual.groups(), strict=True))
        text = text[usual.end() :]
    for line in text.split("\n"):
        row = line.strip(" ")
        if not row or row[0] == "#":
            continue
        if row.startswith("- "):
            indent = line.index("-")
            if items is None or (items and indent != column):
                raise _Declined
            header[name], column = items, indent
            items.append(_value(row[2:].lstrip(" ")))
        else:
            name, word = _field(line.rstrip(" "), header)
            header[name] = _value(word) if word else None
            items = None if word else []
    return header


def _field(line: str, header: dict[str, object]) -> tuple[str, str | None]:
    raw, colon, rest = line.partition(":")
    word: str | None = rest.lstrip(" ") or None
    # What memcli writes needs no expression, and most commands read one header.
    if not (colon and rest[:1] in ("", " ") and raw.isascii() and raw.isidentifier()):
        found = _re(_FIELD).fullmatch(line)
        if found is None:
            raise _Declined
        raw, word = found.groups()
    name = _unquote(raw)
    if len(raw) > _MAX_KEY or name in header:
        raise _Declined
    return name, word


def _value(text: str) -> object:
    if text[0] in '"[{':
        tokens = _re(_TOKEN).findall(text)
        if "".join(tokens).replace(" ", "") != text.replace(" ", ""):
            raise _Declined
        tokens.reverse()
        made = _flow(tokens, 0)
        if tokens:
            raise _Declined
        return made
    simple = text[0].isalnum() and ":" not in text and "#" not in text
    if not simple and not _re(_WORDS).fullmatch(text):
        raise _Declined
    return _scalar(text)


def _flow(tokens: list[str], depth: int) -> object:
    """The value that the last tokens spell; they stand in reverse order and are used up."""
    token = tokens.pop()
    if token == "[" and depth < 8:
        return _flow_list(tokens, depth + 1)
    if token == "{" and depth < 8:
        return _flow_mapping(tokens, depth + 1)
    if token in _MARKS:
        raise _Declined
    return _unquote(token) if token[0] == '"' else _scalar(token)


def _flow_list(tokens: list[str], depth: int) -> list[object]:
    made: list[object] = []
    while tokens[-1] != "]":
        made.append(_flow(tokens, depth))
        if tokens[-1] != "]" and tokens.pop() != ",":
            raise _Declined
    tokens.pop()
    return made


def _flow_mapping(tokens: list[str], depth: int) -> dict[str, object]:
    made: dict[str, object] = {}
    while tokens[-1] != "}":
        token = tokens.pop()
        name = _unquote(token)
        if token in _MARKS or len(token) > _MAX_KEY or name in made or tokens.pop() != ":":
            raise _Declined
        made[name] = _flow(tokens, depth)
        if tokens[-1] != "}" and tokens.pop() != ",":
            raise _Declined
    tokens.pop()
    return made


def _unquote(token: str) -> str:
    if token[0] != '"':
        return token
    return str(json.loads(token)) if "\\" in token else token[1:-1]


def _scalar(word: str) -> object:
    """What a word without quotes means, in both readers."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if word[0] in "-0123456789" and word[-1].isdigit() and len(word) <= 300:
        try:
            number = float(word) if "." in word or "e" in word else int(word)
        except ValueError:
            return word
        # Versions (1.10), codes (007) and the like keep their text.
        return number if repr(number) == word else word
    return word


def _unsafe(text: str) -> bool:
    # isprintable is quick and stricter; only what fails it is looked at.
    return not text.replace("\n", "").isprintable() and re.search(_UNSAFE, text) is not None


def _read_yaml(text: str) -> dict[str, object] | None:
    # Read as a stream of events, so that nothing is built before it is judged.
    try:
        found = _handler().load(text)
    except errors.BadData:
        # Prose between two rules is often no YAML; without a colon it cannot have been meant as a header.
        if re.search(_LIKE_A_MAPPING, text):
            raise
        return None
    return found if isinstance(found, dict) else None


@functools.cache
def _handler() -> "YAMLHandler":
    import yaml
    from frontmatter.default_handlers import YAMLHandler

    class Strict(YAMLHandler):
        def load(self, fm: str, **_: object) -> "Any":
            if len(fm.encode("utf-8", "surrogatepass")) > MAX_BYTES:
                raise errors.BadData("the front matter is larger than 64 KiB")
            if any(c in fm for c in _AMBIGUOUS):
                raise errors.BadData("the front matter holds a character that some readers take for a line break")
            # libyaml refuses the surrogates that `join` may have escaped.
            fast = not re.search(_SURROGATE, fm) and getattr(yaml, "CSafeLoader", None)
            try:
                return _Tree(fm).build(yaml.parse(fm, Loader=fast or yaml.SafeLoader))
            except (yaml.YAMLError, ValueError, RecursionError) as bad:
                raise errors.BadData(f"the front matter is no valid YAML{_at(bad, 'problem_mark')}") from None

        def split(self, text: str) -> "NoReturn":
            raise NotImplementedError("its splitter takes `----` for a fence and loses bodies that begin with a rule")

    return Strict()


class _Tree:
    """Makes dicts and lists of PyYAML's events, without recursion; raises BadData for what a header may not hold."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes = 0
        self.top: list[object] = []
        # Each open collection with the key that waits for its value.
        self.open: list[tuple[list[object] | dict[str, object], str | None]] = [(self.top, None)]

    def build(self, events: "Any") -> object:
        """The document's value; None for an empty one."""
        for event in events:
            kind = type(event).__name__
            if kind in ("MappingEndEvent", "SequenceEndEvent"):
                self.open.pop()
            elif kind.startswith("Document") and event.explicit:
                _refuse("a document mark or directive", event)
            elif not kind.startswith(("Document", "Stream")):
                self._node(kind, event)
        return self.top[0] if self.top else None

    def _node(self, kind: str, event: "Any") -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(self.open) > MAX_DEPTH:
            _refuse("too many or too deeply nested values", event)
        if kind == "AliasEvent" or event.anchor is not None:
            _refuse("an anchor or alias", event)
        # Old releases of libyaml swallow a lone `!`, so the text is asked as well.
        if event.tag is not None or self.text.startswith("!", event.start_mark.index):
            _refuse("a tag", event)
        if kind == "ScalarEvent":
            self._put(event, event.value if event.style else _scalar(event.value))
        else:
            made: list[object] | dict[str, object] = {} if kind == "MappingStartEvent" else []
            self._put(event, made)
            self.open.append((made, None))

    def _put(self, event: "Any", value: object) -> None:
        into, key = self.open[-1]
        if isinstance(into, list):
            into.append(value)
        elif key is not None:
            into[key] = value
            self.open[-1] = (into, None)
        elif isinstance(value, list | dict) or (not event.style and event.value in ("", "<<")):
            _refuse("a key that is no plain word", event)
        elif event.value in into:
            _refuse("the same key twice", event)
        else:
            self.open[-1] = (into, event.value)


def _refuse(what: str, event: "Any") -> "NoReturn":
    raise errors.BadData(f"the front matter holds {what}{_at(event, 'start_mark')}")


def _at(source: object, name: str) -> str:
    # The mark counts from 0, and the opening fence is line 1 of the file.
    mark = getattr(source, name, None)
    return "" if mark is None else f" (line {mark.line + 2})"


def _lines(name: str, value: object) -> list[str]:
    if isinstance(value, list) and value and all(isinstance(i, dict) for i in value):
        return [f"{_key(name)}:"] + [f"  - {_flowing(item, MAX_DEPTH - 3)}" for item in value]
    if isinstance(value, list | dict):
        return [f"{_key(name)}: {_flowing(value, MAX_DEPTH - 2)}"]
    return [f"{_key(name)}:" if value is None else f"{_key(name)}: {_write(value, line=True)}"]


def _flowing(value: object, room: int) -> str:
    """A value inside a collection; it may hold `room` more levels."""
    if isinstance(value, list | dict) and not room:
        raise ValueError("front matter is nested too deeply")
    if isinstance(value, list):
        return "[" + ", ".join(_flowing(i, room - 1) for i in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)}: {_flowing(v, room - 1)}" for k, v in value.items()) + "}"
    return "null" if value is None else _write(value)


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise ValueError("a key of front matter is a string")
    plain = name.isascii() and name.replace("-", "_").isidentifier() and name[0] != "-"
    text = name if plain and name.lower() not in _LOOKALIKES else _quote(name)
    if len(text) > _MAX_KEY:
        raise ValueError("a key of front matter is too long")
    return text


def _write(value: object, *, line: bool = False) -> str:
    if isinstance(value, str):
        plain = _re(_SAFE).fullmatch(value) and value.lower() not in _LOOKALIKES and (line or " " not in value)
        return value if plain else _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and type(_scalar(repr(value))) is type(value):
        return repr(value)
    raise ValueError("front matter holds strings, finite numbers, booleans, lists and mappings")


def _quote(text: str) -> str:
    made = json.dumps(text, ensure_ascii=False)
    return re.sub(_UNSAFE, lambda m: f"\\u{ord(m[0]):04x}", made) if _unsafe(made) else made
