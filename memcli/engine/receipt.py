"""The receipt of a context block: every candidate that the reader is cleared for, what became of it and why."""

from memcli.base import clock, text
from memcli.base.value import Value, value
from memcli.index import document
from memcli.index.refresh import unread
from memcli.model import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from memcli.engine.choice import Choice
    from memcli.index.look import Look

WHY = {
    "shown": "within budget",
    "space": "did not fit into the budget",
    "irrelevant": "holds too few of the task's words",
    "limit": "more of this kind than the store's settings allow",
    "untrusted": "a web page or an import is its source, or among what it was derived from; --untrusted shows it",
    "damaged": "its files are damaged; see memcli doctor",
    "changed": "its files changed while the block was made",
    "expired": "its TTL has run out",
    "faded": "its confidence has decayed below 0.1, or it is past the greatest age",
    "blocked": "its source is blocked",
}
_COLUMNS = "r.rid, r.id, r.layer, r.key, r.supersedes"


@value
class Totals(Value):
    """Figures of the account: candidates; ended, superseded and blocked records of the layers asked for; withheld ones
    of all layers, a total that no query changes."""

    wanted: int
    ended: int
    superseded: int
    blocked: int
    withheld: int


def totals(corpus: "Look", layers: "Iterable[str]") -> Totals:
    """The figures for a query over these layers."""
    found = corpus.totals()
    asked = [document.LAYER_OF[n] for n in layers if n in document.LAYER_OF]
    facts = 0 in asked
    return Totals(
        wanted=corpus.wanted(),
        ended=sum(found.expired[n] for n in asked) + (found.faded if facts else 0),
        superseded=found.superseded if facts else 0,
        blocked=sum(found.blocked[n] for n in asked),
        withheld=found.withheld,
    )


def write(choice: "Choice", final: str, *, whole: bool) -> "dict[str, Any]":
    """The receipt as JSON data. whole: with its candidates, which cost more than all the rest."""
    corpus, limit, desk = choice.corpus, choice.limit, choice.desk
    return {
        "format": 1,
        "nonce": choice.nonce,
        "at": clock.show(corpus.now),
        "task": redact.mask(choice.query.task),
        "clearance": str(corpus.clearance),
        "budget": {"amount": limit.amount, "unit": limit.unit, "used": limit.shown(limit.size(final))},
        "candidates": _candidates(choice) + (desk.receipt() if desk is not None else []) if whole else [],
        "withheld": choice.totals.withheld + (desk.withheld if desk is not None else 0),
        "unread": unread(corpus.con, corpus.store),
    }


def _candidates(choice: "Choice") -> "list[dict[str, Any]]":
    known = {row[0]: row for row in choice.corpus.select(_COLUMNS)}
    found = []
    for scored, fate in choice.fates:
        row = scored.row
        supersedes = known.pop(row.rid, ("",))[-1]
        parts = {name: round(part, 4) for name, part in scored.why.items()}
        about = {"score": round(scored.score, 4), "relevance": round(scored.relevance, 4), "parts": parts}
        found.append(_row(row.id, row.layer, row.key, supersedes, fate) | about)
    fate = "irrelevant" if choice.query.asked else "space"
    found += [_row(i, n, key or choice.corpus.key(rid), former, fate) for rid, i, n, key, former in known.values()]
    layers = {document.LAYER_OF[n] for n in choice.query.layers if n in document.LAYER_OF}
    return found + [_row(*row) for row in choice.corpus.ended() if row[1] in layers]


def _row(id_: str, layer: int, key: str, supersedes: str, fate: str) -> "dict[str, Any]":
    row = {"id": id_, "layer": document.NAME_OF[layer], "fate": fate, "why": WHY[fate]}
    if layer != document.LAYER_OF["episodes"]:
        row["key"] = text.one_line(redact.mask(key))
    if supersedes:
        row["supersedes"] = supersedes
    return row
