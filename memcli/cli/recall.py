"""`memcli recall`: the evidence for a question, what contradicts what, and an honest "I don't know"."""

from memcli.cli import session
from memcli.cli.call import Context, Output
from memcli.model import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memcli.engine.evidence import Bundle, Evidence, Pair, Side

ANSWERS = {
    "strong": "This memory seems to answer it:",
    "weak": "Only weak matches; they may not answer it:",
    "none": "I don't know: nothing stored here answers this.",
}
# A claim is not answered: what is stored may bear on it, and memcli does not judge whether it confirms it.
_BEARING = {
    "strong": "Found on this claim, and nothing against it was recognised; compare:",
    "weak": "Only weak matches on this claim; compare:",
    "none": "I don't know: nothing stored here bears on this claim.",
}
_REFUTED = "Something here says otherwise:"
_NEAREST = "Nearest, but no answer:"
_KINDS = {
    "proposal": "rival proposals",
    "value": "two values",
    "denied": "denied",
    "relation": "said to contradict",
    "claim": "against the claim",
}


def recall(
    ctx: Context,
    query: str,
    *,
    goal: str = "answer_question",
    modality: str | None = None,
    time_sensitive: bool = False,
    session_: str | None = None,
    clearance: str = "internal",
    explain: bool = False,
    n: int | None = None,
) -> Output:
    """Gather the evidence for a question: the best of all layers, contradictions as pairs, and how far it answers.

    The goal decides how the question is widened through the relations between facts. What is trusted below 0.4 or believed
    below 0.3 is left out (recall.* in memcli.toml). Without an answer it says so; that is no error. verify_claim finds another
    value, number or last word in the same words, and no opposite in other words: that nothing says otherwise is no proof.

    Example: memcli recall "where does production run?"
    Example: memcli recall "the deploy target is Heroku" --goal verify_claim --explain
    """
    from memcli.engine import recall as engine

    found = engine.recall(
        session.store(ctx),
        session.text_or_stdin(query) or "",
        now=session.now(ctx),
        goal=goal,
        modality=labels.modality(modality or ""),
        time_sensitive=time_sensitive,
        session=session.session_named(session_),
        n=n,
        clearance=labels.sensitivity(clearance),
    )
    lines = [_answer(found), *([_NEAREST] if found.items and found.verdict == "none" else [])]
    lines += [line for item in found.items for line in _lines(item, explain)]
    lines += ["Contradictions:", *map(_pair_line, found.contradictions)] if found.contradictions else []
    lines += _account(found) if explain else []
    notes = [f"{found.withheld} withheld"] if found.withheld else []
    notes += [found.note] if found.note else []
    notes += session.unread(found.unread)
    return Output(_data(found), "".join(f"{line}\n" for line in lines), notes=tuple(notes))


def _answer(found: "Bundle") -> str:
    if found.refuted and found.verdict != "none":
        return _REFUTED
    return (_BEARING if found.goal == "verify_claim" else ANSWERS)[found.verdict]


def _data(found: "Bundle") -> "dict[str, Any]":
    from memcli.cli import show

    data: dict[str, Any] = {"query": found.query, "goal": found.goal, "queries": list(found.queries)}
    data |= {"verdict": found.verdict, "answer": _answer(found).rstrip(":"), "refuted": found.refuted}
    data |= {layer: [_row(i) for i in found.of(layer)] for layer in ("working", "facts", "episodes")}
    data |= {"confidence": _rounded(found.confidence), "trust": _rounded(found.trust)}
    data["contradictions"] = [_pair(p) for p in found.contradictions]
    data["concepts"] = list(found.concepts)
    data |= {"retrieved": found.retrieved, "kept": found.kept, "returned": found.returned, "dropped": found.dropped}
    data |= {"withheld": found.withheld, "unread": found.unread}
    scrubbed: dict[str, Any] = show.scrub(data)
    return scrubbed


def _row(item: "Evidence") -> "dict[str, Any]":
    from memcli.cli import show
    from memcli.engine import dump
    from memcli.model.records import Episode, Fact

    record = item.record
    if isinstance(record, (Fact, Episode)):
        row = dump.row(record)
        del row["kind"]
    else:
        row = show.held(record) | {"confidence": record.confidence}
    row |= {"score": _rounded(item.score), "relevance": _rounded(item.relevance), "trust": _rounded(item.trust)}
    row |= {"effective_confidence": _rounded(item.confidence), "contradicts": item.contradicts}
    row |= {"quarantined": item.quarantined, "why": {name: _rounded(part) for name, part in item.why.items()}}
    return row | {"queries": list(item.queries)}


def _pair(pair: "Pair") -> "dict[str, Any]":
    return {"kind": pair.kind, "one": _side(pair.one), "other": _side(pair.other)}


def _side(side: "Side") -> "dict[str, Any]":
    from memcli.base import clock

    row = {"layer": side.layer, "id": side.id or None, "name": side.name, "text": side.text}
    return row | {"source": side.source or None, "at": clock.show(side.at) if side.at else None}


def _lines(item: "Evidence", explain: bool) -> "list[str]":
    from memcli.cli import show

    record = item.record
    standing = f"{labels.confidence_word(item.confidence)} confidence, trust {item.trust:.2f}"
    marks = [standing, show.one_line(str(record.source))]
    marks += ["untrusted: a web page or an import"] if item.quarantined else []
    marks += ["contradicted"] if item.contradicts else []
    lines = [show.record_line(record).rstrip("\n"), f"    {', '.join(marks)}"]
    return [*lines, show.terms(item.score, item.why).rstrip("\n")] if explain else lines


def _pair_line(pair: "Pair") -> str:
    return f"{_KINDS[pair.kind]}: {_side_line(pair.one)} <> {_side_line(pair.other)}"


def _side_line(side: "Side") -> str:
    from memcli.base import clock
    from memcli.cli import show

    said = show.one_line(side.text)
    said = said if len(said) <= 100 else said[:99] + "…"
    where = ", ".join(part for part in (side.source, clock.show(side.at)[:10] if side.at else "") if part)
    name = f"{show.one_line(side.name)}: " if side.name and side.layer != "denial" else ""
    return f"[{side.layer}] {name}{said}" + (f" ({show.one_line(where)})" if where else "")


def _account(found: "Bundle") -> "list[str]":
    from memcli.cli import show

    dropped = ", ".join(f"{name} {count}" for name, count in found.dropped.items() if count)
    counts = f"retrieved {found.retrieved}, after the filter {found.kept}, returned {found.returned}"
    lines = [f"{counts}; left out for {dropped}" if dropped else counts]
    lines += [f"also asked: {'; '.join(show.one_line(q) for q in found.queries[1:])}"] if found.queries[1:] else []
    return lines + ([f"about: {', '.join(map(show.one_line, found.concepts))}"] if found.concepts else [])


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
