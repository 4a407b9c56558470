"""Reading the memory of another tool for an audit: files and folders that are only read, whatever is in them.

No link is followed out of the folder, nothing but plain files is opened, and there is a limit to everything. What is not
read is listed with why, and one bad file hides no other.
"""

import os
import re
import stat

from memcli.base import clock, errors, files
from memcli.base.value import Value, value
from memcli.engine import audit_json, audit_markdown
from memcli.engine.audit_entry import Entry, Finding
from memcli.model import header, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = (".md", ".markdown", ".mdc", ".txt", ".journal")
MAX_TEXT_BYTES = 16 << 20
MAX_JSON_BYTES = 32 << 20
MAX_JSONL_BYTES = 256 << 20
MOST_FILES = 100_000
MOST_ENTRIES = 1_000_000
MOST_DEPTH = 24
_MARKER = "memcli.toml"
_PARTS = ("facts", "episodes", "procedures", "sources", "proposed", "archive", "tenants", ".memcli")
_SIDE = ".meta.json"
_PASSED_OVER = ("node_modules", "__pycache__", "venv")
_CONFLICT = re.compile(r"(?m)^(?:<{7}|>{7}) ")
_LINK = re.compile(r"\]\([ \t]{0,4}<?([^()\s<>]{1,400})>?(?:[ \t]{1,4}\"[^\"\n]{0,200}\")?[ \t]{0,4}\)")
_IMPORT = re.compile(r"(?<!\S)@([\w./-]{1,200}\.md)\b")
_CODE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1|<!--.*?-->")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)[^\n]{0,400}?(?<!`)\1(?!`)")
_INDEX = "memory.md"
_NOT_INDEXED = (_INDEX, "readme.md", "index.md", "claude.md", "agents.md")
_LEAST_INDEXED = 2
_CLOSE = ("```", "~~~", "-->")


@value
class Unread(Value):
    """A file that was not read, and why."""

    path: str
    why: str


class Reader:
    """One pass over a file or a folder. What it finds beside entries is in `faults`, `unread`, `files` and `withheld`."""

    def __init__(self, root: str, clearance: labels.Sensitivity) -> None:
        self.root, self.clearance = root, clearance
        self.faults: list[Finding] = []
        self.unread: list[Unread] = []
        self.files = self.withheld = self.taken = 0
        self._index: dict[str, set[str]] = {}  # folder: what its MEMORY.md links to
        self._listed: dict[str, frozenset[str] | None] = {}

    def entries(self) -> "Iterator[Entry]":
        """Every entry that the reader may see, by path. Raises NotFound, UsageError, SystemFailure for the path itself."""
        for where, name in self._named():
            yield from self._file(where, name)
        self.faults += self._unnamed()

    def _named(self) -> "Iterator[tuple[tuple[str, ...], str]]":
        if not self.root:
            raise errors.UsageError("the path is empty", hint="memcli audit PATH; a variable that is not set?")
        path = os.path.realpath(files.absolute(self.root))
        if _of_a_store(path):
            raise errors.UsageError(
                "this is a part of a memcli store, whose labels count", path=self.root, hint="memcli --store DIR audit"
            )
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            raise errors.NotFound("no such file or folder", path=self.root) from None
        except OSError as e:
            files.fail("read", self.root, e)
        if stat.S_ISDIR(mode):
            self.root = path
            yield from self._walk(())
        elif stat.S_ISREG(mode):
            self.root, name = os.path.split(path)
            yield (), name
        else:
            raise errors.UsageError("this is neither a file nor a folder", path=self.root)

    def _walk(self, parts: tuple[str, ...]) -> "Iterator[tuple[tuple[str, ...], str]]":
        with files.Folder(self.root, *parts) as here:
            listed = sorted(here.names())
            kinds = {name: _kind(here, name) for name in listed}
        if parts and _MARKER in listed:
            self._skip((*parts, ""), "a memcli store: memcli --store DIR audit")
            return
        for name in listed:
            if kinds[name] == "folder":
                continue
            if kinds[name] == "file":
                yield parts, name
            else:
                self._skip((*parts, name), kinds[name])
        for name in (n for n in listed if kinds[n] == "folder"):
            if name.startswith(".") or name in _PASSED_OVER:
                self._skip((*parts, name, ""), "a folder of tools or hidden")
            elif len(parts) >= MOST_DEPTH:
                self._skip((*parts, name, ""), "too deep")
            else:
                try:
                    yield from self._walk((*parts, name))
                except errors.MemcliError as e:
                    self._skip((*parts, name, ""), _why(e))

    def _file(self, parts: tuple[str, ...], name: str) -> "Iterator[Entry]":
        path, low = "/".join((*parts, name)), name.lower()
        why = _form(low)
        if why not in ("text", "json", "jsonl", "side"):
            self._skip((path,), why)
            return
        if self.files >= MOST_FILES or self.taken >= MOST_ENTRIES:
            self._skip((path,), "too many: the first were read")
            return
        try:
            with files.Folder(self.root, *parts) as here:
                found = list(self._read(here, path, name, why))
        except errors.MemcliError as e:
            self._skip((path,), _why(e))
            return
        except _Unfit as e:
            self._skip((path,), str(e))
            return
        self.files += why != "side"
        for entry in found:
            self.taken += 1
            if entry.label > self.clearance:
                self.withheld += 1
            else:
                yield entry

    def _read(self, here: files.Folder, path: str, name: str, form: str) -> "Iterator[Entry]":
        if form == "side":
            if here.info(name.removesuffix(_SIDE) + ".md") is None:
                self.faults.append(Finding(kind="orphan", path=path, what="a sidecar without its text"))
            return
        most = {"text": MAX_TEXT_BYTES, "json": MAX_JSON_BYTES, "jsonl": MAX_JSONL_BYTES}[form]
        info = here.info(name)
        if info is not None and info.st_size > most:
            raise _Unfit(f"larger than {most >> 20} MiB")
        data = here.read(name, limit=most) or b""
        if form == "jsonl":
            found = audit_json.lines(data, path)
        else:
            text = _decoded(data)
            if _CONFLICT.search(text):
                self.faults.append(Finding(kind="damaged", path=path, what="has merge conflict markers"))
            if form == "text":
                yield from self._text(here, path, name, text)
                return
            found = audit_json.document(text, path)
        yield from found.entries
        self.faults += found.faults
        if found.why:
            raise _Unfit(found.why)

    def _text(self, here: files.Folder, path: str, name: str, text: str) -> "Iterator[Entry]":
        clean = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        label = labels.INTERNAL
        try:
            head, body = header.split(clean)
        except errors.BadData:
            self.faults.append(Finding(kind="damaged", path=path, what="front matter that cannot be read"))
            head, body = None, clean
            if "sensitivity" in clean[: header.MAX_BYTES].lower():  # what it says of its label is not known
                label = labels.RESTRICTED
        said = {} if head is None else {str(k).lower(): v for k, v in head.items()}
        said |= audit_json.sidecar(here, name.removesuffix(".md") + _SIDE) if name.endswith(".md") else {}
        label = max(label, audit_json.label(said))
        first = clean[: clean.find(body)].count("\n") + 1 if head is not None and body else 1
        at, expires = audit_json.moment(said, *audit_json.WRITTEN), audit_json.moment(said, *audit_json.ENDS)
        minutes = said.get("ttlminutes")
        if expires is None and at and isinstance(minutes, int) and 0 < minutes < 10**8:
            expires = clock.add_minutes(at, minutes)
        named = next((str(said[k]) for k in ("title", "name", "key") if isinstance(said.get(k), str)), "")
        for entry in audit_markdown.split(body, path, first=first, at=at, label=label):
            full = f"{named} / {entry.title}" if named and entry.title else named or entry.title
            yield entry.replace(title=full, expires=expires)
        if label <= self.clearance:
            self.faults += self._links(here, path, clean)

    def _links(self, here: files.Folder, path: str, text: str) -> "Iterator[Finding]":
        """Relative links that lead to nothing in the folder; what lies outside of it is nobody's business here."""
        if "](" not in text and "@" not in text:
            return
        # Beyond the last closing mark nothing could be cut, and looking for it again and again would take for ever.
        last = max(text.rfind(mark) for mark in _CLOSE) + 3
        plain = _SPAN.sub(_blank, _CODE.sub(_blank, text[:last]) + text[last:])
        base, line, counted = path.rpartition("/")[0], 1, 0
        marks = sorted((*_LINK.finditer(plain), *_IMPORT.finditer(plain)), key=lambda m: m.start())
        for found in marks:
            target = found[1].partition("#")[0].partition("?")[0]
            if not target or target[0] in "/~{$" or ":" in target or len(target) > 300:
                continue
            whole = os.path.normpath(os.path.join(base, _unquoted(target)))
            if path.lower().rpartition("/")[2] == _INDEX:
                self._index.setdefault(base, set()).add(whole)
            if whole.startswith("..") or self._there(whole):
                continue
            line, counted = line + plain.count("\n", counted, found.start()), found.start()
            yield Finding(kind="link", path=path, line=line, what="a link to a file that is not there")

    def _unnamed(self) -> "Iterator[Finding]":
        """Notes beside a MEMORY.md that is an index of its folder and does not name them: no reader is led there."""
        for base, linked in self._index.items():
            notes = {f"{base}/{n}" if base else n for n in self._listed.get(base) or () if n.endswith(".md")}
            if len(linked & notes) < _LEAST_INDEXED:
                continue
            for path in sorted(notes - linked):
                name = path.rpartition("/")[2]
                if name.lower() not in _NOT_INDEXED and audit_markdown.day_in(name) is None:
                    yield Finding(kind="orphan", path=path, what="a note that MEMORY.md does not name")

    def _there(self, whole: str) -> bool:
        where, _, name = whole.rpartition("/")
        if whole == ".":
            return True
        if where not in self._listed:
            try:
                with files.Folder(self.root, *(where.split("/") if where else ())) as there:
                    self._listed[where] = None if there.missing else frozenset(there.names())
            except (errors.MemcliError, OSError, ValueError):
                self._listed[where] = None  # something odd on the way
        held = self._listed[where]
        return held is not None and (name in held or f"{name}.md" in held)

    def _skip(self, parts: tuple[str, ...], why: str) -> None:
        self.unread.append(Unread(path="/".join(parts), why=why))


class _Unfit(Exception):
    """A file of a form that holds no entries; the text says why."""


def _of_a_store(path: str) -> bool:
    """Whether this is a store, or one of its own parts; what only lies below a store is none of it."""
    here, below = path, ""
    while True:
        if os.path.isfile(os.path.join(here, _MARKER)):
            return not below or below in _PARTS or (os.path.isfile(path) and os.path.dirname(path) == here)
        parent, name = os.path.split(here)
        if parent == here:
            return False
        here, below = parent, name


def _kind(here: files.Folder, name: str) -> str:
    try:
        info = here.info(name)
    except errors.MemcliError as e:
        return _why(e)
    if info is None:
        return "gone"
    if stat.S_ISDIR(info.st_mode):
        return "folder"
    if stat.S_ISREG(info.st_mode):
        return "file"
    return "a link, which is not followed" if stat.S_ISLNK(info.st_mode) else "not a plain file"


def _form(low: str) -> str:
    """text, json, jsonl or side; else why not."""
    if low.startswith(".") or low.endswith("~"):
        return "hidden"
    if low.endswith(_SIDE):
        return "side"
    if low.endswith(TEXTS):
        return "text"
    if low.endswith((".jsonl", ".ndjson")):
        return "jsonl"
    return "json" if low.endswith(".json") else "no form that is known"


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Unfit("not UTF-8") from None
    if "\0" in text:
        raise _Unfit("binary")
    return text


def _blank(found: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _unquoted(target: str) -> str:
    if "%" not in target:
        return target
    from urllib.parse import unquote

    return unquote(target)


def _why(error: errors.MemcliError) -> str:
    return error.message
