"""What a proof of forgetting looks for, and how often it stands in a stream of bytes.

Text and data are folded alike before they are compared: capitals, white space and line breaks, quotation marks and
compatibility forms do not count, nor does whether the data is escaped for JSON. So whatever a tombstone keeps out is found
(docs/format.md §10). A text is also looked for cut to stems, as the index has it, and of a long text in parts. Other
encodings (base64, UTF-16, HTML entities) and texts that were taken apart are not found.
"""

import codecs
import re
import unicodedata

from memcli.base.value import Value, value
from memcli.model import words
from memcli.store import tombstones

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Shorter texts ("yes", "8080") stand everywhere: they count only as whole words of a file that names their key too.
LEAST_BYTES = 6
# A line of a longer text by itself; and windows of a long one, which a database may have split between two pages.
_LINE_CHARS = 16
_WINDOW_CHARS = 48
_MOST_WINDOWS = 32
# So much text may wait for a place where it can be cut.
_MOST_HELD_CHARS = 1 << 16
_LONGEST_ESCAPE = 12  # \ud83d\ude00
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t", "b": "\b", "f": "\f"}
# Those that a tombstone does not mind, and the single ones.
_QUOTES = re.compile("[\"'«»“”„`‘’‚‹›]")


@value
class Needle(Value):
    """A folded text to look for. near: for a short one, the folded key that must stand in the same file."""

    text: str
    near: str = ""


@value
class Wanted(Value):
    """All that is looked for. raw: the texts as they are, for data in which something else clings to them."""

    folded: tuple[Needle, ...]
    raw: tuple[bytes, ...]


def of(said: "Iterable[tuple[str, str]]") -> Wanted:
    """What to look for, each once."""
    folded: dict[Needle, None] = {}
    raw: dict[bytes, None] = {}
    for key, text in said:
        for part in _parts(text):
            if len(part.encode("utf-8", "replace")) >= LEAST_BYTES:
                folded[Needle(text=part)] = None
            elif part and key:
                folded[Needle(text=part, near=_folded(key))] = None
        if len(plain := text.strip().encode()) >= LEAST_BYTES:
            raw[plain] = None
    return Wanted(folded=tuple(folded), raw=tuple(raw))


def count(data: bytes, wanted: Wanted) -> int:
    """As `Search`, of data that is there as a whole."""
    search = Search(wanted)
    search.feed(data)
    return search.end()


def shown(parts: tuple[str, ...], name: str, wanted: Wanted) -> str:
    """A path as far as it does not itself hold what is looked for."""
    path = (*parts, name)
    for size in range(1, len(path) + 1):
        if count("/".join(path[:size]).encode("utf-8", "surrogateescape"), wanted):
            return "/".join((*path[: size - 1], "(its name holds it)"))
    return "/".join(path)


class Search:
    """Counts in a stream: `feed` each piece, then ask `end`. Holds no more than a piece and what may be cut by its end."""

    __slots__ = ("_decode", "_escaped", "_plain", "_raw", "_raw_counts", "_tail")

    def __init__(self, wanted: Wanted) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._plain = _Reading(wanted.folded)
        self._escaped: _Reading | None = None
        self._raw, self._raw_counts, self._tail = wanted.raw, [0] * len(wanted.raw), b""

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """The next bytes."""
        whole = self._tail + piece
        for i, needle in enumerate(self._raw):
            self._raw_counts[i] += whole.count(needle, max(0, len(self._tail) - len(needle) + 1))
        self._tail = whole[-max(map(len, self._raw), default=1) :]
        text = self._decode(piece, last)
        if self._escaped is None and "\\" in text:
            self._escaped = self._plain.branch()
        for reading in (self._plain, self._escaped):
            if reading is not None:
                reading.feed(text, last=last)

    def end(self) -> int:
        """How many of the needles stood there, each as often as it stood there; forms of one text that are equal once."""
        self.feed(b"", last=True)
        counts = [*self._raw_counts, *self._plain.counts()]
        return max([*counts, *(self._escaped.counts() if self._escaped else ())], default=0)


class _Reading:
    """The text of a stream, folded: as it is, or with the escapes of JSON undone."""

    __slots__ = ("_begin", "_buffer", "_counts", "_escaped", "_held", "_longest", "_near", "_needles")

    def __init__(self, needles: tuple[Needle, ...], *, escaped: bool = False) -> None:
        self._needles, self._escaped = needles, escaped
        self._counts, self._near = [0] * len(needles), [not n.near for n in needles]
        self._longest = max((max(len(n.text), len(n.near)) for n in needles), default=0)
        self._held = self._buffer = ""
        self._begin = 0  # of the matches in the buffer that have not been counted yet

    def branch(self) -> "_Reading":
        """From here on with escapes undone: so far there were none."""
        made = _Reading(self._needles, escaped=True)
        made._counts, made._near = [*self._counts], [*self._near]
        made._held, made._buffer, made._begin = self._held, self._buffer, self._begin
        return made

    def feed(self, text: str, *, last: bool) -> None:
        text = self._held + text
        end = len(text) if last else _cut(text)
        self._held = text[end:]
        folded = _fold(text[:end], escaped=self._escaped)
        if self._buffer.endswith(" ") and folded.startswith(" "):
            folded = folded[1:]
        self._buffer += folded
        # What begins later may be cut off, or be a part of a longer word.
        limit = len(self._buffer) if last else max(self._begin, len(self._buffer) - self._longest - 1)
        for i, needle in enumerate(self._needles):
            self._near[i] = self._near[i] or needle.near in self._buffer
            self._counts[i] += _times(self._buffer, needle, self._begin, limit)
        kept = max(0, limit - 1)
        self._buffer, self._begin = self._buffer[kept:], limit - kept

    def counts(self) -> "Iterator[int]":
        return (count for count, near in zip(self._counts, self._near, strict=True) if near)


def _times(text: str, needle: Needle, begin: int, limit: int) -> int:
    """How often it begins between the two places."""
    size = len(needle.text)
    if not needle.near:
        return text.count(needle.text, begin, limit + size - 1)
    found, at = 0, text.find(needle.text, begin, limit + size - 1)
    while at >= 0:
        end = at + size
        found += not (_in_word(text[at - 1 : at]) or _in_word(text[end : end + 1]))
        at = text.find(needle.text, end, limit + size - 1)
    return found


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _cut(text: str) -> int:
    """Where text can be cut so that its parts are folded as the whole would be: before white space, else, once it is long,
    before a character that belongs to no other; 0 where it must wait."""
    least = max(0, len(text) - _MOST_HELD_CHARS)
    at = max(text.rfind(" ", least), text.rfind("\n", least))
    if at > 0 or len(text) <= _MOST_HELD_CHARS:
        return max(0, at)
    return next((at for at in range(len(text) - _LONGEST_ESCAPE, least, -1) if _alone(text, at)), len(text))


def _alone(text: str, at: int) -> bool:
    """True for a letter or sign that is part of no escape and combines with nothing before it; or for such an escape."""
    if text[at] == "\\" and text[at - 1] != "\\":
        found = _ESCAPE.match(text, at)
        return found is not None and _begins(_unescaped(found))
    return _begins(text[at]) and "\\" not in text[at - _LONGEST_ESCAPE : at]


def _begins(char: str) -> bool:
    # Marks and the second parts of Hangul syllables combine; the second half of a pair is no letter.
    return char.isascii() or (char.isalpha() and not "\u1160" <= char <= "\u11ff")


def _fold(text: str, *, escaped: bool) -> str:
    """As `tombstones.normal`, but white space at both ends stays, as one space: more text may stand there."""
    if escaped and "\\" in text:
        text = _paired(_ESCAPE.sub(_unescaped, text))
    text = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")
    text = _QUOTES.sub("", text)
    if not text:
        return ""
    lead, trail = (" " if c.isspace() else "" for c in (text[0], text[-1]))
    inner = " ".join(text.split())
    return f"{lead}{inner}{trail}" if inner else " "


def _unescaped(found: "re.Match[str]") -> str:
    said = found[1]
    return chr(int(said[1:], 16)) if len(said) > 1 else _ESCAPED.get(said, said)


def _paired(text: str) -> str:
    """With the two halves of a character outside the first plane put together."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _folded(text: str) -> str:
    return _fold(tombstones.normal(text), escaped=False).strip()


def _parts(text: str) -> "Iterator[str]":
    """The text folded, its stems, and parts of it."""
    lines = [line.strip() for line in text.strip().splitlines()]
    long_lines = [line for line in lines if len(lines) > 1 and len(line) >= _LINE_CHARS]
    for part in (text, *long_lines):
        yield _folded(part)
        stems = " ".join(words.terms(part))
        if len(stems) >= _LINE_CHARS:
            yield _folded(stems)
    whole = _folded(text)
    if len(whole) > 4 * _WINDOW_CHARS:
        step = max(_WINDOW_CHARS, len(whole) // _MOST_WINDOWS)
        for start in range(0, len(whole) - _WINDOW_CHARS, step):
            yield whole[start : start + _WINDOW_CHARS].strip()
