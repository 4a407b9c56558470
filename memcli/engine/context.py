"""Building the context block: choose, fit into the budget, render, account for everything (design §4).

The index says which records matter for the task (memcli/index, `blend`); each one that is shown is read from its files.
"""

from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import blend, block
from memcli.engine.choice import MOST, MOST_IMPORTANT, Choice, Chosen
from memcli.engine.choice import Budget as Budget
from memcli.engine.choice import Query as Query
from memcli.engine.receipt import WHY
from memcli.index import document
from memcli.index.look import Look, Scope
from memcli.index.refresh import ask
from memcli.model import labels, redact
from memcli.model.records import Episode, Fact
from memcli.store import retrievals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.features import Meaning
    from memcli.index.database import Connection
    from memcli.model.labels import Sensitivity
    from memcli.model.redact import Redacted
    from memcli.store.folder import Store

_SERVED_STATES = "('approved', 'trial')"


@value
class Block(Value):
    """A context block: its text (redacted), the receipt, and the records and the working memory that are in it.

    verdict: strong, weak or none: does what may be shown answer the task; note: why it went without vectors, where they
    are enabled.
    """

    text: "Redacted"
    receipt: "dict[str, Any]"
    shown: tuple[Chosen, ...]
    working: "tuple[dict[str, Any], ...]" = ()
    verdict: str = "none"
    note: str = ""


def budget(words: str) -> Budget:
    """`2000` (tokens) or `8000c` (characters); raises UsageError."""
    unit = "characters" if words.endswith("c") else "tokens"
    digits = words.removesuffix("c")
    if not (digits.isascii() and digits.isdigit()) or not 0 < int(digits[:10]) <= 10_000_000:
        raise errors.UsageError("the budget is not a size", hint="tokens like 2000, or characters like 8000c")
    return Budget(amount=int(digits), unit=unit)


def build(
    store: "Store",
    query: Query,
    *,
    now: datetime,
    clearance: "Sensitivity | None" = None,
    limit: Budget | None = None,
    receipt: bool = True,
) -> Block:
    """The block for a query. clearance: what the reader may see, internal unless the store or the caller says otherwise.

    receipt: list every candidate in it, which costs more than the block.
    Raises UsageError when the budget cannot even hold the frame, BadData and SystemFailure when the store cannot be read.
    """
    for name in query.layers:
        labels.choice(name, "layer", labels.LAYERS)
    settings = store.settings
    label = labels.sensitivity(settings["context.clearance"]) if clearance is None else clearance
    room = limit or Budget(amount=settings["context.budget_tokens"])

    def look(con: "Connection", meaning: "Meaning | None") -> Block:
        corpus = Look(con, store, now, label, _scope(query))
        choice = Choice(query, corpus, room, block.Writer(now, _stale(corpus)))
        choice.consider(blend.rank(corpus, query.asked, now, MOST, meaning), corpus.important(MOST_IMPORTANT))
        choice.ask(query.request)
        choice.hold()
        text = choice.write()
        held = tuple(choice.desk.shown()) if choice.desk is not None else ()
        account = choice.receipt(text, whole=receipt)
        shown, verdict = tuple(choice.shown), choice.verdict()
        return Block(text=text, receipt=account, shown=shown, working=held, verdict=verdict)

    made, note = blend.with_meaning(store, query.asked, lambda meaning: ask(store, lambda con: look(con, meaning)))
    if note:
        made = made.replace(note=note)
    served = [(chosen.record.id, chosen.scored.relevance) for chosen in made.shown]
    private = not query.task  # a request is never stored
    retrievals.note(store, "context", query.asked, now=now, served=served, verdict=made.verdict, private=private)
    return made


def _scope(query: Query) -> Scope:
    """Which records a query is about: of its layers, facts of its domain, procedures that are served and of its type."""
    layers = [-1, *(document.LAYER_OF[n] for n in query.layers if n in document.LAYER_OF)]
    conditions = [f"r.layer IN ({', '.join(map(str, layers))})", f"(r.layer != 2 OR r.state IN {_SERVED_STATES})"]
    values = {}
    if query.domain:
        conditions.append("(r.layer != 0 OR r.domain = :domain)")
        values["domain"] = query.domain
    if query.task_type:
        conditions.append("(r.layer != 2 OR r.task_type = :task_type)")
        values["task_type"] = query.task_type
    return Scope(conditions=tuple(conditions), values=values)


def _stale(corpus: Look) -> dict[str, datetime]:
    if not corpus.any("checked"):
        return {}
    from memcli.engine import verify

    return verify.stale(corpus.store)


def read_request(words: str) -> "dict[str, Any]":
    """Per-request data from JSON: user_input (or input), session_id, turns as {role, content}. Raises UsageError."""
    import json

    try:
        raw = json.loads(words)
    except (ValueError, RecursionError):
        raw = None
    return checked_request(raw)


def checked_request(raw: "Any") -> "dict[str, Any]":
    """The request as this module uses it; raises UsageError for any other shape."""
    try:
        turns = [{"role": str(t["role"]), "content": _said(t["content"])} for t in raw.get("turns") or ()]
        said = raw.get("user_input", raw.get("input"))
        session = raw.get("session_id", raw.get("session"))
        if not all(x is None or isinstance(x, str) for x in (said, session)):
            raise TypeError
    except (KeyError, TypeError, AttributeError):
        hint = '{"user_input": "...", "session_id": "...", "turns": [{"role": "user", "content": "..."}]}'
        raise errors.UsageError("the request is not the JSON that it must be", hint=hint) from None
    return {"input": said or "", "session": session or "", "turns": turns}


def _said(content: object) -> str:
    """The text of a turn: a string, or the text parts of a list (the shape of chat APIs)."""
    if isinstance(content, str):
        return content
    return "\n".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))  # type: ignore[attr-defined]


def as_json(made: Block) -> "dict[str, Any]":
    """A block as data: what is shown as records with their citation, and the account."""
    from memcli.engine import dump

    rows: dict[str, list[Any]] = {"facts": [], "episodes": [], "procedures": []}
    for chosen in made.shown:
        item = chosen.record
        if isinstance(item, Fact):
            row = dump.fact_row(item) | {"confidence_label": labels.confidence_word(chosen.confidence)}
        else:
            row = dump.episode_row(item) if isinstance(item, Episode) else dump.procedure_row(item)
        scores = {"score": round(chosen.scored.score, 4), "relevance": round(chosen.scored.relevance, 4)}
        rows[document.NAME_OF[chosen.scored.row.layer]].append(_scrub(row) | scores)
    fates = [c["fate"] for c in made.receipt["candidates"]]
    account = {"total": sum(f not in ("expired", "faded", "blocked") for f in fates)}
    account |= {fate: fates.count(fate) for fate in WHY}
    account |= {name: made.receipt[name] for name in ("withheld", "unread")}
    return {
        **{k: made.receipt[k] for k in ("nonce", "at", "task", "clearance", "budget")},
        **rows,
        "working": list(made.working),
        "account": account,
        "text": made.text,
    }


def _scrub(item: "Any") -> "Any":
    if isinstance(item, str):
        return redact.mask(item)
    if isinstance(item, dict):
        return {k: _scrub(v) for k, v in item.items()}
    return [_scrub(v) for v in item] if isinstance(item, (list, tuple)) else item
