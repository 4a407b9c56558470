"""Transcripts of sessions: plain text, JSON lines of {role, content}, or Claude Code's (its shape is internal and changes).

What cannot be read is passed over and counted, never an error. Lines end with LF alone: U+2028 may stand inside a string.
"""

import json
import re
from datetime import datetime, timezone

from memcli.base import clock, errors, sha256
from memcli.base.value import Value, value
from memcli.engine import echo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ROLES = {
    "user": "user",
    "human": "user",
    "you": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "claude": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "пользователь": "user",
    "ассистент": "assistant",
}
_SPEAKER = re.compile(rf"({'|'.join(_ROLES)}) ?:[ \t]*", re.I)
# What the host says, not the people: wrapped commands, their output, reminders.
_HOST = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-caveat>",
    "Caveat: The messages below",
)
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.S)


@value
class Message(Value):
    """One thing that was said. id: the same for the same words at the same turn; at: when, where the transcript says it."""

    id: str
    role: str
    text: str
    at: datetime | None = None


@value
class Transcript(Value):
    """A session as it was said. tools: names of those that were called; steps: how often; skipped: what was unreadable."""

    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    steps: int = 0
    skipped: int = 0


class _Reader:
    def __init__(self) -> None:
        self.said: list[tuple[datetime | None, str, str]] = []
        self.tools: list[str] = []
        self.skipped = 0
        self.known = 0

    def row(self, raw: "Any") -> None:
        """One line of JSON."""
        if not isinstance(raw, dict):
            self.skipped += 1
        elif isinstance(raw.get("message"), dict) and raw.get("type") in ("user", "assistant", "system"):
            if not raw.get("isSidechain") and not raw.get("isMeta"):
                self.message(raw["message"], raw.get("timestamp"))
        elif "role" in raw and "content" in raw:
            self.message(raw, raw.get("timestamp") or raw.get("created_at"))
        elif "type" not in raw:
            self.skipped += 1

    def message(self, raw: "dict[str, Any]", when: object) -> None:
        self.known += 1
        role = _ROLES.get(str(raw.get("role")).lower(), "")
        at = _instant(when)
        for kind, text in self._parts(raw.get("content")):
            self.say(at, "tool" if kind == "tool_result" else role, text)

    def _parts(self, content: object) -> "Iterator[tuple[str, str]]":
        if isinstance(content, str):
            yield "text", content
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict):
                continue
            kind = part.get("type")
            if kind == "tool_use":
                self.tools.append(_unicode(str(part.get("name") or "tool")))
            elif kind == "tool_result":
                inner = part.get("content")
                yield "tool_result", inner if isinstance(inner, str) else "\n".join(t for _, t in self._parts(inner))
            elif isinstance(part.get("text"), str) and kind in (None, "text", "input_text", "output_text"):
                yield "text", part["text"]

    def say(self, at: datetime | None, role: str, text: str) -> None:
        text = echo.cut(_REMINDER.sub("", _unicode(text))).strip()
        if text and not text.startswith(_HOST):
            self.said.append((at, role, text))

    def done(self) -> Transcript:
        if all(at is not None for at, _, _ in self.said):
            self.said.sort(key=lambda s: s[0] or datetime.min.replace(tzinfo=timezone.utc))
        turns: dict[tuple[str, str], int] = {}
        found = []
        for at, role, text in self.said:
            turn = turns[role, text] = turns.get((role, text), 0) + 1
            made = sha256.hexadecimal(json.dumps([role, text, turn]).encode())[:16]
            found.append(Message(id=made, role=role, text=text, at=at))
        names = tuple(dict.fromkeys(self.tools))
        return Transcript(messages=tuple(found), tools=names, steps=len(self.tools), skipped=self.skipped)


def read(text: str) -> Transcript:
    """The messages of a transcript, in order of time where every one has a time, else as they stand."""
    reader = _Reader()
    bare = text.lstrip("\ufeff \t\r\n")
    if bare[:1] in ("{", "["):
        for raw in _rows(bare, reader):
            reader.row(raw)
        if reader.known:
            return reader.done()
        reader = _Reader()
    _plain(text, reader)
    return reader.done()


def _rows(text: str, reader: _Reader) -> "Iterator[Any]":
    """The objects of a JSON document with a list of messages, or of JSON lines."""
    whole = _load(text)
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        whole = whole["messages"]
    if isinstance(whole, list):
        yield from whole
        return
    for line in text.split("\n"):
        if line.strip():
            raw = _load(line)
            if raw is None:
                reader.skipped += 1
            else:
                yield raw


def _unicode(text: str) -> str:
    """The text without lone surrogates, which JSON's escapes can spell and no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _load(text: str) -> "Any":
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(text: str, reader: _Reader) -> None:
    """Paragraphs; a line that begins with a speaker begins a message of his."""
    role = ""
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").split("\n"), ""]:
        speaker = _SPEAKER.match(line)
        if speaker or not line.strip():
            reader.say(None, role, "\n".join(lines))
            lines = []
        if speaker:
            role, line = _ROLES[speaker[1].lower()], line[speaker.end() :]
        lines.append(line)
    reader.say(None, role, "\n".join(lines))


def _instant(when: object) -> datetime | None:
    try:
        return clock.parse(when).replace(microsecond=0) if isinstance(when, str) else None
    except errors.UsageError:
        return None
