"""What may come in: texts are cleaned and scanned for credentials and personal data before anything is written.

A scanner may only raise a label or replace text; nothing here lowers anything.
"""

import json
import os
from datetime import datetime

from memcli.base import clock, errors
from memcli.base.value import Value, value
from memcli.model import labels, records, redact
from memcli.model.labels import Sensitivity
from memcli.model.records import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.model.settings import Settings

MOST_STEPS = 10**9
_FAMILIES = {"source": ("secret",)}


@value
class Taken(Value):
    """Texts as they may be stored, the least label they must carry, and what to tell the writer."""

    texts: dict[str, str]
    least: Sensitivity
    notes: tuple[str, ...]


def clean(text: str, what: str = "the text") -> str:
    """LF line ends; raises UsageError for what is not UTF-8 (lone surrogates stand for undecodable bytes)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise errors.UsageError(f"{what} is not UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def words(item: object, what: str) -> str:
    """A text as a plain str; raises UsageError naming the field."""
    if not isinstance(item, str):
        raise errors.UsageError(f"{what} is not a text")
    return str.__str__(item)


def several(items: object, what: str) -> tuple[str, ...]:
    """A list of texts; one text is a list of one. Raises UsageError naming the field."""
    if isinstance(items, str):
        return (words(items, what),)
    if not isinstance(items, (list, tuple)) or not all(isinstance(i, str) for i in items):
        raise errors.UsageError(f"{what} is no list of texts")
    return tuple(words(i, what) for i in items)


def mappings(items: object, what: str) -> "tuple[dict[str, Any], ...]":
    """A list of mappings of what JSON can hold; one mapping is a list of one. Raises UsageError naming the field."""
    listed = (items,) if isinstance(items, dict) else items
    if not isinstance(listed, (list, tuple)) or not all(isinstance(i, dict) for i in listed):
        raise errors.UsageError(f"{what} is no list of mappings")
    try:
        return tuple(json.loads(json.dumps(i, allow_nan=False)) for i in listed)
    except (TypeError, ValueError, RecursionError):
        raise errors.UsageError(f"{what} holds what JSON cannot hold") from None


def number_or_text(words: str) -> "int | float | str":
    """What a shell wrote: a number where it is written as numbers are shown, else the text."""
    for kind in (int, float):
        try:
            found = kind(words)
        except ValueError:
            continue
        if repr(found) == words and abs(found) < MOST_STEPS:
            return found
    return words


def whole(item: object, what: str, most: int) -> int:
    """A whole number from 0 to `most`; raises UsageError naming the field."""
    if type(item) is not int:
        raise errors.UsageError(f"{what} is no whole number", hint=f"0 to {most}")
    if not 0 <= item <= most:
        raise errors.UsageError(f"{what} is out of range", hint=f"0 to {most}")
    return item


def ttl(minutes: int) -> int:
    """A time to live that a caller named; raises UsageError beyond 100 years: that is a slip of the finger."""
    if type(minutes) is not int or not 0 <= minutes <= clock.MAX_TTL_MINUTES:
        raise errors.UsageError("the TTL is out of range", hint="0 (for ever) to 52596000 minutes (100 years)")
    return minutes


def episode_ttl(settings: "Settings", at: datetime, now: datetime) -> int:
    """The TTL in minutes of an episode that names none: the store's, or none for one that would be over already.

    Who brings in what is older than the retention wants it kept (docs/decisions/0013).
    """
    minutes: int = settings["defaults.episode_ttl_minutes"]
    return minutes if (now - at).total_seconds() < 60 * minutes else 0


def default_source(kind: str) -> Source:
    """Who writes when nobody says so: MEMCLI_SOURCE, else `kind` (user on a terminal, unknown elsewhere)."""
    said = os.environ.get("MEMCLI_SOURCE")
    if not said:
        return Source(id=kind, kind=kind)
    redact.refuse_secrets({"MEMCLI_SOURCE": said})
    return records.source(said)


def take(
    settings: "Settings",
    texts: dict[str, str],
    *,
    fixed: tuple[str, ...] = (),
    allow_secret: bool = False,
    allow_pii: bool = False,
    mask_secrets: bool = False,
) -> Taken:
    """Scan the named texts of a new record.

    A credential is refused (SecretFound), masked with mask_secrets or by the setting policy.secrets, or kept with
    allow_secret at label restricted. Personal data is replaced by its type, or with allow_pii or policy.pii = "raise"
    kept at label sensitive. fixed: names whose text is an identity and cannot be replaced: there it raises the label.
    The text named "source" says who, not what: an address in it stays and raises nothing (whatever goes out is scrubbed).
    """
    found = {n: redact.scan(text, families=_FAMILIES.get(n, redact.FAMILIES)) for n, text in texts.items() if text}
    least, notes, out = labels.PUBLIC, [], dict(texts)
    mask_secrets = mask_secrets or settings["policy.secrets"] == "mask"
    for family, keep, replace in (
        ("secret", allow_secret, mask_secrets),
        ("pii", allow_pii or settings["policy.pii"] == "raise", True),
    ):
        hit = [name for name, findings in found.items() if any(f.family == family for f in findings)]
        stuck = [name for name in hit if name in fixed]
        if not hit:
            continue
        if family == "secret" and not keep and (stuck or not replace):
            redact.refuse_secrets({name: texts[name] for name in hit})
        if keep or stuck:
            least = max(least, labels.RESTRICTED if family == "secret" else labels.SENSITIVE)
            notes.append(_kept(family, hit if keep else stuck, least))
        if not keep:
            masked = [name for name in hit if name not in fixed]
            for name in masked:
                out[name] = str.__str__(redact.mask(out[name], families=(family,)))
            if masked:
                notes.append(_masked(family, masked, found))
    return Taken(texts=out, least=least, notes=tuple(notes))


def _kept(family: str, names: list[str], label: Sensitivity) -> str:
    what = "a credential" if family == "secret" else "personal data"
    return f"{what} in {', '.join(names)}: kept, label at least {label}"


def _masked(family: str, names: list[str], found: "dict[str, tuple[redact.Finding, ...]]") -> str:
    kinds = sorted({f.kind for name in names for f in found[name] if f.family == family})
    way = "; --allow-pii keeps it at label sensitive" if family == "pii" else ""
    return f"replaced in {', '.join(names)}: {', '.join(kinds)}{way}"
