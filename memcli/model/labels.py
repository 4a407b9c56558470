"""The ordered words of memory: sensitivity, confidence, kinds of sources, outcomes."""

from memcli.base import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

OUTCOMES = ("completed", "partial", "failed", "unknown")
PROCEDURE_STATES = ("pending", "trial", "approved", "rejected")
MODALITIES = ("text", "image", "audio", "video", "concept", "mixed")
LAYERS = ("facts", "episodes", "procedures", "working", "request")

# Trust at first, by kind of source (after cognitive-core's source memory).
KIND_TRUST = {
    "system": 1.0,
    "user": 0.8,
    "file": 0.7,
    "agent": 0.6,
    "tool": 0.6,
    "inference": 0.6,
    "url": 0.5,
    "import": 0.5,
    "unknown": 0.4,
}
CONFIDENCE_WORDS = {"high": 0.9, "medium": 0.6, "low": 0.3}
HIGH_FROM = 0.75
MEDIUM_FROM = 0.45
UNTRUSTED_KINDS = ("url", "import")

_NAMES = ("public", "internal", "sensitive", "restricted")


class Sensitivity(int):
    """How closely a text is held, ordered: public < internal < sensitive < restricted. `max` gives the stricter."""

    __slots__ = ()

    def __str__(self) -> str:
        return _NAMES[self]

    def __repr__(self) -> str:
        return f"Sensitivity.{_NAMES[self]}"


PUBLIC: "Final" = Sensitivity(0)
INTERNAL: "Final" = Sensitivity(1)
SENSITIVE: "Final" = Sensitivity(2)
RESTRICTED: "Final" = Sensitivity(3)
_BY_NAME = {"public": PUBLIC, "internal": INTERNAL, "sensitive": SENSITIVE, "restricted": RESTRICTED}


def sensitivity(text: object) -> Sensitivity:
    """The label a person wrote; raises UsageError for any other word."""
    if isinstance(text, Sensitivity):
        return text
    found = _BY_NAME.get(text) if isinstance(text, str) else None
    if found is None:
        raise errors.UsageError("unknown sensitivity label", hint=f"one of: {', '.join(_NAMES)}")
    return found


def stored_sensitivity(text: object) -> Sensitivity | None:
    """The label a file holds, None when it is none of the four words: callers treat that as restricted."""
    return _BY_NAME.get(text) if isinstance(text, str) else None


def confidence(text: "str | float") -> float:
    """A number from 0 to 1 or one of high, medium, low; raises UsageError."""
    if isinstance(text, str) and text in CONFIDENCE_WORDS:
        return CONFIDENCE_WORDS[text]
    return unit(text, "confidence", "a number from 0 to 1, or high, medium, low")


def unit(text: "str | float", what: str, hint: str = "a number from 0 to 1") -> float:
    """A number from 0 to 1; raises UsageError naming `what`."""
    try:
        number = float(text)
    except (TypeError, ValueError):
        raise errors.UsageError(f"{what} is not a number", hint=hint) from None
    if isinstance(text, bool) or not 0.0 <= number <= 1.0:
        raise errors.UsageError(f"{what} is out of range", hint=hint)
    return number


def modality(text: str) -> str:
    """`text` when it is a kind of matter, or "" for none; raises UsageError. What is stored is read whatever it says."""
    return choice(text, "modality", MODALITIES) if text else text


def most(n: int) -> int:
    """How many records are wanted at most, 0 for all; raises UsageError below."""
    if type(n) is not int or n < 0:
        raise errors.UsageError("the number of records is out of range", hint="0 or more; 0 shows all")
    return n


def confidence_word(number: float) -> str:
    """The word shown for a confidence: high from 0.75, medium from 0.45, else low."""
    return "high" if number >= HIGH_FROM else "medium" if number >= MEDIUM_FROM else "low"


def choice(text: str, what: str, allowed: "tuple[str, ...]") -> str:
    """`text` when it is one of the allowed words; raises UsageError."""
    if text not in allowed:
        raise errors.UsageError(f"unknown {what}", hint=f"one of: {', '.join(allowed)}")
    return text
