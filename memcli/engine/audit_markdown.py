"""Entries of a Markdown file or a paste: list items and paragraphs with the headings above them; blocks stay whole.

A day in the file's name, in a heading or before the text is the day of what stands there.
"""

import bisect
import re
from datetime import UTC, datetime
from functools import cache

from memcli.engine.audit_entry import Entry
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memcli.model.labels import Sensitivity

_re = cache(re.compile)
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*$|===+ (.+?) ===+$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(\S.*)$")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_TAG = re.compile(r"<([A-Za-z][\w-]{1,40})(?:\s[^<>]{0,200})?>\s*(?:\S.*)?$")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})$")
_RULE = re.compile(r"(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
# `[2026-01-15] - text`, `1. [2026-04-26]. text`, `[date saved, if available] - text`.
_PASTED = re.compile(r"(?:[-*]|\d{1,4}[.)])?[ \t]{0,4}\[([^\]\n]{4,40})\](?:\.|[ \t]{0,4}[-–—:])[ \t]{1,4}(\S.*)$")
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?(?!\d)")
_LABEL = re.compile(r"sensitivity\"?\s*[:=]\s*\"?([A-Za-z]+)", re.I)
_CONTEXT = re.compile(r"<memory-([0-9a-f]{8})>")
_CLOSING = re.compile(r"</([A-Za-z][\w-]{0,40})>")
MOST_BLOCK_LINES = 2000
_MOST_LINE_CHARS = 1000  # a longer one is no heading
_HTML = frozenset(
    "p div details summary br img a table tr td th ul ol li b i em strong span sub sup center h1 h2 h3 pre code".split()
)


class _Splitter:
    """One pass over the lines. stack: (depth, heading); held: lines of the entry that is being read."""

    def __init__(self, path: str, at: datetime | None, dated: bool, label: "Sensitivity") -> None:
        self.path, self.file_at, self.file_dated, self.file_label = path, at, dated, label
        self.at, self.dated, self.label = at, dated, label
        self.stack: list[tuple[int, str]] = []
        self.parents: list[tuple[int, str]] = []
        self.held: list[str] = []
        self.begun, self.indent = 0, -1
        self.lead: tuple[Entry, int] | None = None

    def entries(self, lines: list[str], first: int) -> "Iterator[Entry]":
        closings = _closings(lines)
        number = 0
        while number < len(lines):
            line = lines[number]
            end = _block_end(lines, number, closings)
            if end:
                yield from self.flush()
                yield from self.block(lines[number:end], first + number)
                number = end
                continue
            yield from self.line(line, first + number)
            number += 1
        yield from self.flush()
        yield from self.alone()

    def line(self, line: str, number: int) -> "Iterator[Entry]":
        short = len(line) <= _MOST_LINE_CHARS
        heading, item = _HEADING.match(line) if short else None, _ITEM.match(line)
        bare = line.strip()
        if self.indent < 0 and len(self.held) == 1 and _UNDERLINE.match(bare):
            title, self.held = self.held[0], []
            yield from self.alone()
            self.head(1 if bare[0] == "=" else 2, title)
        elif not bare or _RULE.match(bare):
            yield from self.flush()
        elif heading:
            yield from self.flush()
            yield from self.alone()
            self.head(*((len(heading[1]), heading[2] or "") if heading[1] else (1, heading[3])))
        elif pasted := _PASTED.match(bare):
            yield from self.flush()
            yield self.pasted(pasted, number)
        elif item:
            yield from self.flush()
            indent = len(item[1].expandtabs(4))
            self.parents = [p for p in self.parents if p[0] < indent]
            self.held, self.begun, self.indent = [item[2]], number, indent
            if item[2].rstrip().endswith(":"):
                self.parents.append((indent, item[2].rstrip(" :*_")))
        else:
            if not self.held:
                self.begun, self.indent = number, -1
                self.parents = self.parents if line[:1] in " \t" else []
            self.held.append(line.strip())

    def head(self, depth: int, text: str) -> None:
        self.stack = [(d, t) for d, t in self.stack if d < depth]
        self.parents = []
        day = day_in(text)
        said = _LABEL.search(text)
        self.stack.append((depth, _re(r"\s*\{\".*").sub("", text).strip("*_` ")))
        self.at, self.dated, self.label = self.file_at, self.file_dated, self.file_label
        for _, title in self.stack:
            if found_day := day_in(title):
                self.at, self.dated = found_day, True
        if day:
            self.at, self.dated = day, True
        if said:
            self.label = max(self.file_label, label_of(said[1]))

    def title(self) -> str:
        return " / ".join([*(t for _, t in self.stack if t), *(t for _, t in self.parents)])

    def made(self, text: str, line: int, form: str = "text") -> Entry:
        return Entry(
            path=self.path, line=line, text=text, title=self.title(), form=form, at=self.at, dated=self.dated,
            label=self.label,
        )  # fmt: skip

    def flush(self) -> "Iterator[Entry]":
        text = "\n".join(self.held).strip()
        self.held = []
        if not text:
            return
        if self.lead and not (self.lead[1] < 0 or self.indent > self.lead[1]):
            yield self.lead[0]
        self.lead = None
        parent = bool(self.parents) and text.rstrip(" :*_") == self.parents[-1][1]
        if parent:
            self.parents.pop()
        made = self.made(text, self.begun, "code" if text.startswith("|") else "text")
        if parent:
            self.parents.append((self.indent, text.rstrip(" :*_")))
        if text.endswith(":") and len(text) <= 200:
            self.lead = (made, self.indent)
        else:
            yield made

    def alone(self) -> "Iterator[Entry]":
        """What ends in a colon and leads to nothing is an entry; else it is the title of what follows."""
        if self.lead:
            yield self.lead[0]
        self.lead = None

    def pasted(self, found: "re.Match[str]", number: int) -> Entry:
        day = day_in(found[1])
        text = found[2] if day or not found[1].startswith("date ") else f"[{found[1]}] - {found[2]}"
        made = self.made(text.strip(), number)
        return made.replace(at=day) if day else made

    def block(self, lines: list[str], number: int) -> "Iterator[Entry]":
        """A fenced block or one between tags; a fence around pasted memories is only their wrapping."""
        inside = lines[1:-1] if len(lines) > 2 else []
        pasted = [(n, m) for n, line in enumerate(inside, number + 1) if (m := _PASTED.match(line.strip()))]
        if pasted and 2 * len(pasted) >= sum(bool(line.strip()) for line in inside):
            yield from (self.pasted(m, n) for n, m in pasted)
            return
        text = "\n".join(lines).strip()
        if text and not text.startswith("<!--"):
            self.lead = None
            yield self.made(text, number, "code" if _FENCE.match(lines[0].lstrip()) else "text")


def split(
    text: str, path: str, *, first: int = 1, at: datetime | None = None, label: "Sensitivity" = labels.INTERNAL
) -> "Iterator[Entry]":
    """The entries of a text without its front matter. first: the number of its first line; at: the day of the file."""
    name = path.rpartition("/")[2]
    day = day_in(name)
    yield from _Splitter(path, day or at, day is not None, label).entries(text.split("\n"), first)


def day_in(text: str) -> datetime | None:
    """The first day that a text names as 2026-08-01 (or a month, 2026-08), at its beginning in UTC."""
    for found in _DAY.finditer(text):
        try:
            return datetime(int(found[1]), int(found[2]), int(found[3] or 1), tzinfo=UTC)
        except ValueError:
            continue
    return None


def label_of(word: object) -> "Sensitivity":
    """The label that a file of another tool gives; one that is no label counts as restricted."""
    found = labels.stored_sensitivity(str(word).lower())
    return labels.RESTRICTED if found is None else found


def _closings(lines: list[str]) -> dict[str, list[int]]:
    """The lines at which each tag, and a comment, is closed: looked for once, however many are never closed."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if "</" in line:
            for tag in _CLOSING.findall(line):
                found.setdefault(tag, []).append(number)
        if "-->" in line:
            found.setdefault("-->", []).append(number)
    return found


def _block_end(lines: list[str], at: int, closings: dict[str, list[int]]) -> int:
    """The line after a block that begins here: a fence, a comment, a context block, a tag to its end; 0 for none."""
    line = lines[at].lstrip()
    if fence := _FENCE.match(line):
        most = min(len(lines), at + MOST_BLOCK_LINES)
        return next((n + 1 for n in range(at + 1, most) if lines[n].strip().startswith(fence[1])), most)
    if line.startswith("<!--"):
        return _closed(closings, "-->", at) or at + 1
    if "<" not in line:
        return 0
    if ours := _CONTEXT.search(line):
        end = _closed(closings, f"memory-{ours[1]}", at)
        account = end and end < len(lines) and lines[end].startswith(f"memory {ours[1]}:")
        return end + 1 if account else end
    tag = _TAG.match(line)
    return _closed(closings, tag[1], at) if tag and tag[1].lower() not in _HTML else 0


def _closed(closings: dict[str, list[int]], name: str, at: int) -> int:
    """The line after the first one from `at` on that closes it, within MOST_BLOCK_LINES; 0 for none."""
    listed = closings.get(name, [])
    place = bisect.bisect_left(listed, at)
    return listed[place] + 1 if place < len(listed) and listed[place] - at < MOST_BLOCK_LINES else 0
