"""What may leave: text whose credentials and personal data are replaced by their kind in brackets.

`Redacted` is the type that the renderer and MCP insist on, and only this module makes it. The rules are in
`model/detect.py` and `model/personal.py`; here they are run and their findings settled and replaced.

Before matching, zero-width, soft-hyphen, bidi and tag characters are left out, and full-width letters and odd spaces,
dashes and quotes are read as their plain forms. Look-alike letters, percent-encoding and base64 around a secret are
not undone.
"""

import re
from functools import cache

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.model import detect, personal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FAMILIES = ("secret", "pii")
_KEY = object()
_MOST_PASSES = 8


@value
class Finding(Value):
    """One hit: `text[start:end]` is of this kind. The text itself is never kept here, so that no log can leak it."""

    start: int
    end: int
    kind: str
    family: str


class Redacted(str):
    """Text that `mask` has been over, with `counts`: how many findings of each kind it has lost.

    Whatever str does to it (slices, +, format) gives plain str back, which has to be masked again; `join` composes.
    Pickle and copy cannot make one. The guard is against accident, not against code that means to get around it.
    """

    __slots__ = ("counts",)
    counts: dict[str, int]

    def __new__(cls, text: str, counts: dict[str, int], key: object) -> "Redacted":
        if key is not _KEY:
            raise TypeError("only model/redact.py makes Redacted: call mask")
        self = super().__new__(cls, text)
        self.counts = counts
        return self


def mask(text: str, *, families: tuple[str, ...] = FAMILIES) -> Redacted:
    """The text with each finding of the families replaced by its kind, as in [EMAIL]. Never raises for a str.

    mask(mask(x)) == mask(x): a blank can lay bare what had been part of a longer word, so it is scanned until nothing
    is found. Text built to need more than eight passes becomes [REDACTED] as a whole.
    """
    counts: dict[str, int] = {}
    for _ in range(_MOST_PASSES):
        found = scan(text, families=families)
        if not found:
            return Redacted(str(text), counts, _KEY)
        pieces: list[str] = []
        end = 0
        for finding in found:
            pieces += text[end : finding.start], f"[{finding.kind.upper()}]"
            end = finding.end
            counts[finding.kind] = counts.get(finding.kind, 0) + 1
        text = "".join(pieces) + text[end:]
    return Redacted("[REDACTED]", {"redacted": 1}, _KEY)


def join(separator: str, parts: "Iterable[Redacted]") -> Redacted:
    """The parts with the separator between them, their counts added up. Raises TypeError for a part that is plain.

    The rule: what joins is the program's own words and is masked too; the whole is not scanned again, because each
    part stands for a record or a line of its own, and a secret has to be found in the record that holds it.
    """
    glue = separator if isinstance(separator, Redacted) else mask(separator)
    parts = tuple(parts)
    counts: dict[str, int] = {}
    for part in parts:
        if not isinstance(part, Redacted):
            raise TypeError(f"join takes Redacted, not {type(part).__name__}")
        for kind, number in part.counts.items():
            counts[kind] = counts.get(kind, 0) + number
    return Redacted(str.join(glue, parts), counts, _KEY)


def told(*items: object) -> str:
    """Every text in values, lists and mappings (after its name), each on a line of its own: to be scanned."""
    return "\n".join(_told(items))


def refuse_secrets(texts: dict[str, str]) -> None:
    """Raises SecretFound for the first credential in the texts (name of the field: text); names field and kind only."""
    for field, text in texts.items():
        for finding in scan(text, families=("secret",)):
            raise errors.SecretFound(f"{field} holds what looks like a credential ({finding.kind})")


def scan(text: str, *, families: tuple[str, ...] = FAMILIES) -> tuple[Finding, ...]:
    """Every credential ("secret") and piece of personal data ("pii") in the text, in order, never overlapping.

    Takes any str, lone surrogates included, and never raises. A kind in brackets, as in [EMAIL], is already masked.
    """
    clean, places = _fold(text)
    if "[" in clean:
        clean = _placeholder().sub(_blank, clean)
    low = _lower(clean)
    walls = _merge(detect.secrets(clean, low)) if "secret" in families else []
    found = [(*span, "secret") for span in walls]
    if "pii" in families:
        found += [(*span, "pii") for span in _outside(_merge(personal.spans(clean, low)), walls)]
    return tuple(
        Finding(start=places[s] if places else s, end=places[e - 1] + 1 if places else e, kind=kind, family=family)
        for s, e, kind, family in sorted(found)
    )


def _told(item: object) -> "Iterator[str]":
    if isinstance(item, str):
        yield item
    elif isinstance(item, dict):
        for name, each in item.items():
            yield from (f"{name}: {each}",) if isinstance(each, str) else (str(name), *_told(each))
    elif isinstance(item, (list, tuple)):
        for each in item:
            yield from _told(each)
    elif isinstance(item, Value):
        for name in item.__fields__:
            yield from _told(getattr(item, name))


@cache
def _folds() -> dict[str, str]:
    folds = {chr(c): "" for c in (0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0xFEFF)}
    folds |= {chr(c): "" for c in (*range(0x2060, 0x2070), *range(0xE0000, 0xE0080))}
    folds |= {chr(c): chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)}
    folds |= dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ") | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    return folds | dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("“”„‟«»", '"')


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it is matched, and for each of its characters the place in the original (empty: the same place)."""
    if text.isascii() or _folds().keys().isdisjoint(set(text)):
        return text, []
    folds = _folds()
    clean = "".join([folds.get(c, c) for c in text])
    return clean, [] if len(clean) == len(text) else [i for i, c in enumerate(text) if folds.get(c, c)]


def _lower(text: str) -> str:
    low = text.lower()
    # U+0130 is the only character whose lower case is longer; places must stay comparable.
    return low if len(low) == len(text) else text.replace("\u0130", "i").lower()


@cache
def _placeholder() -> "re.Pattern[str]":
    return re.compile(r"\[[A-Z_]{2,24}\]")


def _blank(match: "re.Match[str]") -> str:
    # NUL belongs to no rule: a placeholder can neither be found nor lend its words to a finding.
    return "[" + "\0" * (len(match[0]) - 2) + "]"


def _merge(spans: "Iterable[detect.Span]") -> "list[detect.Span]":
    """Overlapping spans become one; its kind is that of the rule that stands first."""
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted((s, e, rank, kind) for rank, (s, e, kind) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            first, last, best, named = merged[-1]
            merged[-1] = (first, max(last, end), *min((best, named), (rank, kind)))
        else:
            merged.append((start, end, rank, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


def _outside(spans: "list[detect.Span]", walls: "list[detect.Span]") -> "Iterator[detect.Span]":
    """The spans that touch no wall: `pass@host` in a URL is a password, not an address. Both lists in order."""
    at = 0
    for span in spans:
        while at < len(walls) and walls[at][1] <= span[0]:
            at += 1
        if at == len(walls) or walls[at][0] >= span[1]:
            yield span
