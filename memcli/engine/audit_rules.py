"""The rules of an audit that look at one entry: each a small function that says why, or "" where there is nothing to say.

Better to miss one than to call good knowledge junk: a rule matches a whole text or sentence, or a mark that nothing else
has, and steps back where the text says that it holds for longer. The shapes are in model/junk.py
and model/talk.py.
"""

import re
from datetime import datetime, timedelta
from functools import cache

from memcli.engine import echo
from memcli.engine.audit_entry import Entry, Finding, of
from memcli.model import dates, junk, labels, redact, talk, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rule = Callable[["Look"], str]

_re = cache(re.compile)
OLD_DAYS = 7
_SHORT, _TALK = 160, 600
_MOST_CHARS = 20_000
_MARKS = re.compile(
    r"^(?:[-*+•]\s+|\d{1,3}[.)]\s+|>\s?|\[[ xX]\]\s+|#{1,6}\s+)+|\*{1,3}|`{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?…])[\"»”)]?\s+|\s?[,;—–-]?\s?[\U0001f300-\U0001faff\u2600-\u27bf]+\s?|\n+")
_STOPS = " .!?…,;:)(\"'«»“”~"
_LETTERS = re.compile(r"[^\W_]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{120,}={0,2}")
_VERBISH = re.compile(
    r"\b(?:is|are|has|have|uses?|prefers?|likes?|loves?|hates?|wants?|needs?|works?|lives?|runs?|must|should|never|always|"
    r"not?|это|любит|использует|предпочитает|хочет|живет|работает|нужн\w+|не)\b"
)


class Look:
    """One entry prepared for the rules: its text without marks, and folded; what several rules ask is kept."""

    __slots__ = ("_found", "_said", "bare", "entry", "low", "now")

    def __init__(self, entry: Entry, now: datetime) -> None:
        self.entry, self.now = entry, now
        self._said: list[str] | None = None
        self._found: tuple[redact.Finding, ...] | None = None
        text = entry.text[:_MOST_CHARS]
        self.bare = _MARKS.sub("", _re(r"[^\S\n]+").sub(" ", text)).strip()
        self.low = " ".join(words.fold(self.bare).split()).replace("’", "'")

    def sentences(self) -> list[str]:
        """Its sentences, folded and without their stops."""
        if self._said is None:
            found = (s.strip(_STOPS) for s in _SENTENCE.split(words.fold(self.bare).replace("’", "'")))
            self._said = [" ".join(s.split()) for s in found if s]
        return self._said

    def kinds(self, family: str) -> str:
        """The kinds of credentials ("secret") or personal data ("pii") in it; of a record in a store also in its key."""
        if self._found is None:
            entry = self.entry
            self._found = redact.scan(f"{entry.title}\n{entry.text}" if entry.layer else entry.text)
        return ", ".join(sorted({f.kind for f in self._found if f.family == family}))


def empty(look: Look) -> str:
    """Without a letter, or too short to say anything."""
    letters = _LETTERS.findall(look.low)
    if not letters:
        return "no words"
    if not look.entry.title and look.low.strip(_STOPS) in ("none", "null", "nil", "нет", "ничего", "nothing"):
        return "says only that there is nothing"
    if look.low.endswith(":") and len(look.low.split()) <= 4 and not look.entry.layer:
        return "a name without a value"
    known = look.entry.title and any(c.isdigit() for c in letters)
    plain = all(c < "\u0530" for c in letters)
    return "one or two letters" if len(letters) <= 2 and plain and not known else ""


def title(look: Look) -> str:
    """The title once more and nothing else."""
    last = look.entry.title.rpartition(" / ")[2]
    if not last or len(look.low) > 80:
        return ""
    said = words.terms(look.bare)
    if not 0 < len(said) <= 3 or set(said) != set(words.terms(last)) or _VERBISH.search(look.low):
        return ""
    return "the words of its title"


def placeholder(look: Look) -> str:
    """A word that keeps a place free, a field of a template."""
    low = look.low.rstrip(" .!")
    if len(low) <= _SHORT and _full(junk.PLACEHOLDER, low):
        return "nothing filled in"
    if "[" not in look.low and "lorem" not in look.low:
        return ""
    outside = _re(r"`[^`]*`").sub("", words.fold(look.entry.text[:_MOST_CHARS]))
    return "words of a template" if _re(junk.PLACEHOLDER_ANYWHERE).search(outside) else ""


def replay(look: Look) -> str:
    """What a memory tool printed: our own context block, or another's."""
    text = look.entry.text
    if echo.cut(text) != text:
        return "lines of a context block of memcli"
    return "a list that a memory tool gave out" if _any(junk.REPLAY, junk.REPLAY_HINTS, _outside(look)) else ""


def boilerplate(look: Look) -> str:
    """A prompt, or what a tool says to its model."""
    return "words of a prompt or a tool" if _any(junk.BOILERPLATE, junk.BOILERPLATE_HINTS, _outside(look)) else ""


def raw(look: Look) -> str:
    """Traces, logs, differences, coded data."""
    text = look.entry.text
    if len(text) < 60:
        return ""
    low = text[:_MOST_CHARS].lower()
    if _any(junk.TRACE, junk.TRACE_HINTS, low):
        return "a stack trace or a diff"
    lines = [line for line in low.split("\n") if line.strip()] if "\n" in low else []
    logged = sum(_re(junk.LOG_LINE).match(line) is not None for line in lines)
    if logged >= 3 and logged >= 0.6 * len(lines):
        return f"{logged} lines of a log"
    long = _BASE64.search(text)
    if long and len(set(long[0])) > 20 and any(c.isdigit() for c in long[0]) and not long[0].isupper():
        return "coded data"
    return "data that nobody reads" if _dump(text) else ""


def _dump(text: str) -> bool:
    """A long stretch of JSON or markup."""
    bare = text.strip("` \n")
    if len(bare) < 800 or bare[0] not in "[{<":
        return False
    return sum(bare.count(c) for c in '"{}[]<>:,=') > 0.12 * len(bare)


def chatter(look: Look) -> str:
    """Politeness and nods: every sentence of it."""
    if len(look.low) > _TALK or _keyed(look):
        return ""
    said = look.sentences()
    return "only talk" if 0 < len(said) <= 8 and all(map(_talk, said)) else ""


def transient(look: Look) -> str:
    """A state or step of the moment: every sentence of it."""
    if len(look.low) > 2 * _SHORT or look.entry.dated or _keyed(look):
        return ""
    shapes = talk.TRANSIENT
    said = look.sentences()
    if not 0 < len(said) <= 6:
        return ""
    held = [_full(shapes, s) for s in said]
    moment = (
        any(held)
        and not _re(talk.LASTING).search(look.low)
        and all(h or _talk(s) for h, s in zip(held, said, strict=True))
    )
    return "a state of the moment" if moment else ""


def no_news(look: Look) -> str:
    """In a log, where a state of the moment has its place: that nothing happened."""
    if not look.entry.dated or len(look.low) > 80:
        return ""
    return "says that nothing happened" if _full(talk.NO_NEWS, look.low.strip(" .!-:")) else ""


def secret(look: Look) -> str:
    """Credentials, where the label does not keep them close."""
    if look.entry.label >= labels.RESTRICTED:
        return ""
    return look.kinds("secret")


def personal(look: Look) -> str:
    """Personal data, where the label does not keep it close."""
    if look.entry.label >= labels.SENSITIVE:
        return ""
    return look.kinds("pii")


def injection(look: Look) -> str:
    """An order to the model; not a text about such orders."""
    low = look.low
    if not _any(junk.INJECTION, junk.INJECTION_HINTS, low):
        return ""
    outside = _re(r"[\"“«'`][^\"”»'`]{6,}[\"”»'`]").sub(
        "", low if "`" not in look.entry.text else _folded(look.entry.text)
    )
    quoted = not _any(junk.INJECTION, junk.INJECTION_HINTS, outside)
    if quoted and len(outside.split()) >= 3 and _re(junk.ABOUT_INJECTION).search(outside):
        return ""
    return "an order to the model"


def undated(look: Look) -> str:
    """A relative date in what is older than a week, or of no known age; in a log the day is known."""
    entry = look.entry
    if entry.dated or (entry.at and look.now - entry.at <= timedelta(days=OLD_DAYS)):
        return ""
    if not _any(junk.RELATIVE, junk.RELATIVE_HINTS, look.low):
        return ""
    low = _re(r"[\"“«`][^\"”»`]*[\"”»`]").sub("", _folded(entry.text[:_MOST_CHARS]))
    if not _any(junk.RELATIVE, junk.RELATIVE_HINTS, low) or _re(junk.HABITUAL).search(low):
        return ""
    rest = low
    for shape in junk.RELATIVE:
        rest = _re(shape).sub(" ", rest)
    if dates.asked(rest, look.now):
        return ""
    since = f", {entry.at:%Y-%m-%d}" if entry.at else ""
    return f"a date that counts from the day it was written{since}"


def stale(look: Look) -> str:
    """Past its own end."""
    end = look.entry.expires
    return f"ended {end:%Y-%m-%d}" if end is not None and end <= look.now else ""


def unsourced(look: Look) -> str:
    """Its form has a place for a source, and nothing stands there."""
    return "no source" if look.entry.source == "" else ""


# Of these the first that has something to say is taken: what is junk is junk once.
JUNK: "tuple[tuple[str, Rule], ...]" = (
    ("empty", empty),
    ("placeholder", placeholder),
    ("replay", replay),
    ("boilerplate", boilerplate),
    ("raw", raw),
    ("chatter", chatter),
    ("transient", transient),
    ("transient", no_news),
    ("title", title),
)
RISKS: "tuple[tuple[str, Rule], ...]" = (("secret", secret), ("personal", personal), ("injection", injection))
# Asked only of what is not junk anyway.
LOOKS: "tuple[tuple[str, Rule], ...]" = (("undated", undated), ("stale", stale), ("unsourced", unsourced))
_OF_CODE = ("replay", "raw", "secret", "personal")


def judge(entry: Entry, now: datetime) -> "Iterator[Finding]":
    """What the rules find in one entry."""
    look = Look(entry, now)
    found = ""
    for kind, rule in JUNK if entry.form != "bond" else ():
        if (entry.form == "text" or kind in _OF_CODE) and (found := rule(look)):
            yield of(entry, kind, found)
            break
    for kind, rule in RISKS:
        if (entry.form == "text" or kind in _OF_CODE) and (why := rule(look)):
            yield of(entry, kind, why)
    for kind, rule in LOOKS if not found and entry.form == "text" else ():
        if why := rule(look):
            yield of(entry, kind, why)


def _keyed(look: Look) -> bool:
    """A short word under a key is its value: "yes" answers what the key asks."""
    return look.entry.layer == "facts" and len(look.low.split()) <= 2


def _outside(look: Look) -> str:
    """The folded text without its code spans: what stands in them is spoken of."""
    text = look.entry.text[:_MOST_CHARS]
    if "`" not in text or look.entry.form == "code":
        return look.low
    return " ".join(_MARKS.sub("", _folded(_re(r"`[^`]*`").sub("", text))).split())


def _folded(text: str) -> str:
    return words.fold(text).replace("’", "'")


def _any(shapes: tuple[str, ...], hints: tuple[str, ...], low: str) -> bool:
    """Whether one of the shapes is in the text. Each of them holds a hint, which is quicker to look for."""
    return any(h in low for h in hints) and any(_re(p).search(low) for p in shapes)


def _talk(sentence: str) -> bool:
    """A sentence of talk, or of nothing but talk between commas; who says it may stand before it."""
    sentence = _re(r"(?:the )?(?:user|assistant|human|ai|пользователь|ассистент) ?: ?[\"'«]?").sub(
        "", sentence, count=1
    )
    parts = sentence.split(",")
    return _full(talk.CHATTER, sentence) or (len(parts) > 1 and all(_full(talk.CHATTER, p.strip()) for p in parts))


def _full(shapes: tuple[str, ...], low: str) -> bool:
    return _one(shapes).fullmatch(low) is not None


@cache
def _one(shapes: tuple[str, ...]) -> "re.Pattern[str]":
    return re.compile("|".join(f"(?:{p})" for p in shapes))
