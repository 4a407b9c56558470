"""Records as JSON objects and as lines for people. What a reader is not cleared for never comes here."""

from memcli.base import clock, text
from memcli.model import labels, policy, redact, sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from memcli.engine.work import Held
    from memcli.model.records import Episode, Fact, Former, Procedure

_LINE = 100


def fact(item: "Fact", now: "datetime", half_life_days: float, *, plain: bool = False) -> "dict[str, Any]":
    """A fact as JSON: the fields of its sidecar, the text, and what is computed. plain: not scrubbed (--reveal)."""
    from memcli.engine import dump

    row = dump.fact_row(item)
    del row["kind"]
    header = row.pop("header", None)
    effective = policy.effective_confidence(item, now, half_life_days)
    row["effective_confidence"] = round(effective, 4)
    row["confidence_label"] = labels.confidence_word(effective)
    ends = policy.expires_at(item)
    row["expires_at"] = clock.show(ends) if ends else None
    row["state"] = item.state
    row["digest"] = item.digest
    row["path"] = f"facts/{item.name}.md"
    if header:
        row["header"] = header
    return row if plain else scrub(row)


def fact_line(item: "Fact") -> str:
    """`key<TAB>first line of the text`, scrubbed."""
    first, _, rest = item.text.strip().partition("\n")
    short = first if len(first) <= _LINE else first[:_LINE] + "…"
    more = " …" if rest and not short.endswith("…") else ""
    return f"{one_line(item.key)}\t{one_line(short)}{more}\n"


def former(item: "Former", now: "datetime", half_life_days: float) -> "dict[str, Any]":
    """A former value as JSON, with why and when it ended."""
    row = fact(item.fact, now, half_life_days)
    for name in ("digest", "path", "expires_at", "state"):
        row.pop(name, None)
    return row | {"reason": item.reason, "ended_at": sidecar.show_instant(item.at)}


def episode(item: "Episode", *, plain: bool = False) -> "dict[str, Any]":
    """An episode as JSON."""
    from memcli.engine import dump

    row = dump.episode_row(item)
    del row["kind"]
    row |= {"state": item.state, "month": item.month}
    return row if plain else scrub(row)


def episode_line(item: "Episode") -> str:
    """`time  outcome  id  task or first line`, scrubbed."""
    said = item.task or item.text.strip().partition("\n")[0]
    short = said if len(said) <= _LINE else said[:_LINE] + "…"
    return f"{clock.show(item.at)}\t{item.outcome}\t{item.id}\t{one_line(short)}\n"


def held(item: "Held") -> "dict[str, Any]":
    """Something of working memory as JSON, in brief; not scrubbed."""
    row: dict[str, Any] = {"id": item.id, "text": item.text, "importance": item.importance}
    row |= {"at": clock.show(item.since), "sensitivity": str(item.sensitivity)}
    return row | ({"key": item.key} if hasattr(item, "key") else {"role": item.role or None})


def record_line(item: "Fact | Episode | Procedure | Held") -> str:
    """Any record on one line after the name of its kind, scrubbed."""
    from memcli.model.records import Episode, Fact, Procedure

    if isinstance(item, Fact):
        return f"fact\t{fact_line(item)}"
    if isinstance(item, Episode):
        return f"episode\t{episode_line(item)}"
    if isinstance(item, Procedure):
        return f"procedure\t{one_line(item.key)}\t{one_line(item.title)}\n"
    name = f"{one_line(item.key)}\t" if hasattr(item, "key") else ""
    return f"working\t{name}{one_line(item.text)}\n"


def terms(score: float, why: dict[str, float]) -> str:
    """The terms that a score is the sum of, on a line below what was scored."""
    return f"    score {score:.3f}: {', '.join(f'{name} {part:.2f}' for name, part in why.items())}\n"


def scrub(item: "Any") -> "Any":
    """Every text in a JSON value with secrets and personal data replaced by their type."""
    if isinstance(item, str):
        return str.__str__(redact.mask(item))
    if isinstance(item, dict):
        return {k: scrub(v) for k, v in item.items()}
    if isinstance(item, (list, tuple)):
        return [scrub(v) for v in item]
    return item


def one_line(words: str) -> str:
    """A stored text on one inert, scrubbed line."""
    return text.one_line(redact.mask(words))
