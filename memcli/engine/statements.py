"""Statements in plain text: "X is Y", "X: Y", "X — Y", "X - Y", "X это Y", and "I prefer X"; English and Russian.

Better to miss one than to learn what nobody claimed: questions, hypotheticals, negations, commands, code, quotations and
what holds only for the moment are no statements. No model, no grammar: cue words and shapes.
"""

import re

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import echo
from memcli.model import cues, keys, kinds, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFERENCES = "preferences"
MOST_SUBJECT_CHARS = 80
MOST_VALUE_CHARS = 500
_MOST_SENTENCE_CHARS = 1000
_MOST_SUBJECT_WORDS = {"is": 8, "eto": 8, "colon": 6, "dash": 5}

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.M | re.S)
_SKIPPED_LINE = re.compile(
    r"\s*(?:>|\||#|[-*+]\s*\[[ xX]\]|\$ |[{}\[\]\"<]|//|import |from \S+ import |def |class |return\b)"
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=[\w.:])[*_](?!\w)")
_END = re.compile(r"(?<=[.!?…])[\"»”)]?\s+(?=[\"«“(]?[^\W_])|;\s+")
_LABEL = re.compile(rf"(?:{cues.LABELS})\s*(?::|\s[—–-])\s+", re.I)
_VOID = re.compile(rf"(?:{cues.VOID_LABELS})\s*(?::|\s[—–-])(?:\s|$)", re.I)
_LEAD_IN = re.compile(rf"(?:(?:{cues.LEAD_INS}),?|(?:{cues.LEAD_INS_COMMA}),)\s+", re.I)
_TOKEN = re.compile(r"[\w'-]+")
_MAY = re.compile(r"\bmay\b")
_SEPARATORS = (
    ("eto", re.compile(r"(?:\s+[—–-])?\s+это\s+", re.I)),
    ("colon", re.compile(r"(?<=[\w)\"»”`]):\s+")),
    ("dash", re.compile(r"\s+[—–]\s+|\s+-\s+")),
    ("is", re.compile(r"\s+(?:is|are)\s+")),
)
_CODE = re.compile(r"[{}<>|\\=\[\]]|://|\w\(|\(\)|&&|\$\w|^[-/~.]")
_FILE = re.compile(r"\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|md|json|ya?ml|toml|txt|log|sh|sql|html|css|rb)\b")
_ARTICLE = re.compile(r"^(?:the|an|a)\s+", re.I)
_PREFER_EN = re.compile(
    r"(?P<who>i|we|the user|user) (?:really |strongly |always |generally |usually |also )*prefers? (?P<what>.+)",
    re.I,
)
_PREFER_RU = re.compile(
    r"(?:(?P<who>я|мы|пользователь) )?(?:всегда |обычно |очень |лично |сильно )*предпочита(?:ю|ем|ет) (?P<what>.+)",
    re.I,
)


@value
class Statement(Value):
    """Something that a text claims. key: its subject; text: what is said of it.

    domain: "preferences", "people", "projects", "tools" (see model.kinds) or "".
    """

    key: str
    text: str
    pattern: str
    domain: str = ""


def find(text: str, *, speaker: str = "") -> list[Statement]:
    """The statements of a text in order, each once. speaker: the role of who said it; "I" and "my" are the user's only."""
    found: dict[tuple[str, str], Statement] = {}
    for sentence in sentences(text):
        made = _preference(sentence, speaker) or _statement(sentence, speaker)
        if made is not None:
            found.setdefault((words.fold(made.key), words.fold(made.text)), made)
    return list(found.values())


def sentences(text: str) -> "Iterator[str]":
    """The sentences of a text without code, quotations, tables, headings, marks of lists and our own context blocks."""
    for line in _FENCE.sub("", echo.cut(text)).split("\n"):
        if _SKIPPED_LINE.match(line):
            continue
        line = _EMPHASIS.sub("", _BULLET.sub("", " ".join(line.split())))
        held = ""
        for piece in _END.split(line):
            held = f"{held} {piece}".strip() if held else piece.strip()
            if held and held.lower().split()[-1].lstrip('(«"') not in cues.ABBREVIATIONS:
                if 0 < len(held) <= _MOST_SENTENCE_CHARS:
                    yield held
                held = ""
        if 0 < len(held) <= _MOST_SENTENCE_CHARS:
            yield held


def _preference(sentence: str, speaker: str) -> Statement | None:
    bare = _bare(sentence).rstrip(".! ")
    found = _PREFER_EN.fullmatch(bare) or _PREFER_RU.fullmatch(bare)
    if found is None or not _plain(bare):
        return None
    who = (found["who"] or "я").lower()
    if who in ("i", "we", "я", "мы") and speaker not in ("", "user"):
        return None
    what = _short(found["what"], 60)
    key = _key(f"preference: {what}")
    return Statement(key=key, text=bare, pattern="prefer", domain=PREFERENCES) if key else None


def _statement(sentence: str, speaker: str) -> Statement | None:
    bare = _bare(sentence)
    if not bare or _VOID.match(bare) or not _plain(bare):
        return None
    split = _split(bare)
    if split is None:
        return None
    pattern, written, said = split
    subject = _subject(written, pattern, speaker)
    said = _said(said, pattern)
    if not (subject and said):
        return None
    liked = not cues.PREFERRED.isdisjoint(_tokens(subject))
    about = PREFERENCES if liked else kinds.domain(subject, said, definite=subject != written.strip())
    key = _key(subject, named=about == kinds.PROJECTS)
    return Statement(key=key, text=said, pattern=pattern, domain=about) if key else None


def _bare(sentence: str) -> str:
    """Without labels and lead-ins; labels that void what follows stay, so that they are seen."""
    for _ in range(4):
        found = _LABEL.match(sentence) or _LEAD_IN.match(sentence)
        if found is None:
            break
        sentence = sentence[found.end() :]
    return sentence


def _plain(sentence: str) -> bool:
    """No question, no hypothesis, no negation, no command."""
    tokens = _tokens(sentence)
    if not tokens or "?" in sentence:
        return False
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else ""
    if first in cues.ASKING or (first in cues.ASKING_VERBS and second not in ("is", "are")):
        return False
    if first in cues.COMMANDS and (not second or second in cues.AFTER_COMMAND or not first.isascii()):
        return False
    if not (cues.HEDGES | cues.NEGATIONS).isdisjoint(tokens) or "no longer" in sentence.lower():
        return False
    return first not in ("please", "let's", "lets") and not _MAY.search(sentence)


def _split(sentence: str) -> tuple[str, str, str] | None:
    """(pattern, subject, what is said of it) by the separator that comes first."""
    hits = [(m.start(), -len(m[0]), name, m) for name, shape in _SEPARATORS if (m := shape.search(sentence))]
    if not hits:
        return None
    _, _, name, match = min(hits, key=lambda h: h[:2])
    rest = sentence[match.end() :]
    if name == "dash" and _SEPARATORS[2][1].search(rest):
        return None  # an aside between two dashes, or a line of a log
    return name, sentence[: match.start()], rest


def _subject(words_: str, pattern: str, speaker: str) -> str:
    """The subject without quotes and article; "" when it is none."""
    bare = words_.strip(" \"'«»“”`*_")
    for opening, closing in ("«»", "“”"):  # of a name in quotes at the end
        bare += closing if bare.count(opening) > bare.count(closing) else ""
    bare = _ARTICLE.sub("", bare)
    tokens = _tokens(bare)
    if tokens and tokens[0] in cues.OURS:
        bare = bare.partition(" ")[2]
        tokens = tokens[1:]
    if not tokens or len(bare) > MOST_SUBJECT_CHARS or len(bare.split()) > _MOST_SUBJECT_WORDS[pattern]:
        return ""
    if _CODE.search(bare) or (pattern in ("colon", "dash") and _FILE.search(bare)):
        return ""
    if "," in bare or not any(c.isalpha() for c in bare):
        return ""
    return bare if _is_name(tokens, pattern, speaker) else ""


def _is_name(tokens: list[str], pattern: str, speaker: str) -> bool:
    """True when the words may name a thing."""
    first, last, alone = tokens[0], tokens[-1], len(tokens) == 1
    if first in cues.POINTERS | cues.TODAY | cues.OPENING | cues.PASSING or last in cues.BINDING:
        return False
    if first in cues.MINE and (alone or speaker not in ("", "user")):
        return False
    if not (cues.PERSONS | cues.VERBS).isdisjoint(tokens) or any(t in cues.MINE | cues.OURS for t in tokens[1:]):
        return False
    if alone and first in cues.VAGUE | cues.FIELDS:
        return False
    if pattern not in ("colon", "dash"):
        return True
    if first[0].isdigit() or last.endswith(("error", "exception", "warning")):
        return False
    return not (alone and first in cues.COMMANDS)


def _said(words_: str, pattern: str) -> str:
    """What is said, without its final stop; "" when it is no knowledge."""
    said = words_.strip().rstrip(".! ").strip()
    if len(said) > 1 and said[0] in "\"«“`'" and said[-1] in "\"»”`'":
        said = said[1:-1].strip()
    tokens = _tokens(said)
    if not tokens or len(said) > MOST_VALUE_CHARS or not any(c.isalnum() for c in said):
        return ""
    first = tokens[0]
    if first in cues.POINTERS | cues.ASKING | cues.PERSONS | cues.PASSING or first == "no":
        return ""
    talk = cues.SPEAKERS if pattern in ("is", "eto") else cues.SPEAKERS | cues.WE
    if not talk.isdisjoint(tokens) or said.endswith(("{", "(", "[", ";", ":")):
        return ""
    return said


def _tokens(text: str) -> list[str]:
    """The words in lower case, but for US and IT, which are names."""
    found = (t.strip("'-") for t in _TOKEN.findall(text.replace("’", "'")))
    return [t if t in ("US", "IT") else t.lower() for t in found if t]


def _key(subject: str, *, named: bool = False) -> str:
    """The subject as a key: an ordinary word that opens the sentence loses its capital, unless it is a name.

    "" when it cannot be a key.
    """
    listed = " ".join(subject.split())
    first, _, rest = listed.partition(" ")
    if not named and rest.islower() and first[:1].isupper() and first[1:].islower():
        listed = first.lower() + " " + rest
    try:
        return keys.normal(listed)
    except errors.UsageError:
        return ""


def _short(text: str, most: int) -> str:
    """The beginning of a text, cut between words."""
    bare = " ".join(text.split()).rstrip(".!, ")
    return bare if len(bare) <= most else bare[:most].rpartition(" ")[0] or bare[:most]
