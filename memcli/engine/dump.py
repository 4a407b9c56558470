"""The store as JSON lines, one record a line, nothing left out: its backup, and what `load` reads back.

Facts have the fields of their sidecar and front matter beside `kind`, `key` and `text`; a former value has `archived`
with reason and time and stands before its successor. A proposal has the fields of a fact. Episodes, procedures and sources
have the fields of their files.
"""

import json

from memcli.base import named
from memcli.base.value import Value, as_dict, value
from memcli.model import labels, policy, sidecar
from memcli.model.records import Episode, Fact, Former, Procedure, SourceRecord
from memcli.store import archive, episodes, facts, monthly, naming, procedures, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

_NO_META = frozenset(("text", "tags", "relations", "header", "state", "name", "digest", "key", "unknown"))


@value
class Dumped(Value):
    """What went out: records written, those left out by the clearance, how many written ones are above internal, and how
    many are missing because their file cannot be read (a month of episodes is one)."""

    written: int
    left_out: int
    close: int
    unread: int = 0


def to_text(store: "Store", clearance: "Sensitivity") -> "tuple[list[str], Dumped]":
    """The lines of a dump and what is in it."""
    lines, left, close = [], 0, 0
    unread: list[str] = []
    for row, label in rows(store, clearance, unread):
        if row is None:
            left += 1
            continue
        close += label > labels.INTERNAL
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return lines, Dumped(written=len(lines), left_out=left, close=close, unread=len(unread))


def to_file(store: "Store", path: str, clearance: "Sensitivity") -> Dumped:
    """Write a dump to a file that its owner alone can read, whole or not at all. Raises NotFound, SystemFailure."""
    lines, done = to_text(store, clearance)
    named.write(path, "".join(lines).encode())
    return done


def rows(
    store: "Store", clearance: "Sensitivity" = labels.RESTRICTED, unread: "list[str] | None" = None
) -> "Iterator[tuple[dict[str, Any] | None, Sensitivity]]":
    """Every record as (JSON object, label); the object is None where the label is above the clearance. unread: gets the names
    of those whose file is there and cannot be read."""
    hidden = naming.withheld_keys(store, clearance)
    for row, label in _all(store, unread):
        yield (_without(row, hidden) if policy.cleared(label, clearance) else None), label


def _without(row: "dict[str, Any]", hidden: set[str]) -> "dict[str, Any]":
    """A row without the relations and bases that name a withheld fact."""
    kept = row
    if hidden and not hidden.isdisjoint(str(r.get("target")) for r in row.get("relations", ())):
        kept = {**kept, "relations": [r for r in row["relations"] if str(r.get("target")) not in hidden]}
    if hidden and not hidden.isdisjoint(row.get("derived_from", ())):
        kept = {**kept, "derived_from": [ref for ref in row["derived_from"] if ref not in hidden]}
    return kept


def _all(store: "Store", unread: "list[str] | None") -> "Iterator[tuple[dict[str, Any], Sensitivity]]":
    from memcli.store import proposals  # a context block as data needs none of it

    for record in sources.every(store):
        yield source_row(record), labels.INTERNAL
    yield from _facts(store, unread)
    for proposal in proposals.every(store, unread):
        yield fact_row(proposal) | {"kind": "proposal"}, proposal.sensitivity
    for procedure in procedures.every(store, unread):
        yield procedure_row(procedure), procedure.sensitivity
    for month in episodes.months(store):
        log = episodes.read(store, month)
        if unread is not None and episodes.unreadable(log):
            unread.append(month)
        for episode in log.entries:
            yield episode_row(episode), episode.sensitivity
    for episode, reason, at in episodes.former(store, "archive"):
        yield episode_row(episode) | {"archived": _why(reason, at)}, episode.sensitivity


def _facts(store: "Store", unread: "list[str] | None") -> "Iterator[tuple[dict[str, Any], Sensitivity]]":
    for fact, former in values(store, unread):
        why = {} if former is None else {"archived": _why(former.reason, former.at)}
        yield fact_row(fact) | why, fact.sensitivity


def values(store: "Store", unread: "list[str] | None" = None) -> "Iterator[tuple[Fact, Former | None]]":
    """Every value that any key has or had: the present ones, and former ones as they are read now, oldest first.

    A former value is as strict as all that came of its key; what was forgotten is not among them. unread: as for `rows`.
    """
    live = {fact.name: fact for fact in facts.every(store, unread)}
    trash = {name: facts.former(store, name, "trash") for name in archive.names(store, facts.LAYER, "trash")}
    heirs: dict[str, Sensitivity] = {}  # what came of a key, under whatever name it lies now
    forgotten = (f.fact for rows in trash.values() for f in rows)
    for fact, names in [
        *((f, (f.key, *f.renamed_from)) for f in live.values()),
        *((f, f.renamed_from) for f in forgotten),
    ]:
        heirs |= {key: max(fact.sensitivity, heirs.get(key, labels.PUBLIC)) for key in names}
    for name in sorted({*live, *archive.names(store, facts.LAYER)}):
        present = live.get(name)
        rows = facts.former(store, name)
        least = max([heirs.get(f.fact.key, labels.PUBLIC) for f in rows], default=labels.PUBLIC)
        least = max(least, present.sensitivity) if present else least
        for former in facts.strict([*rows, *trash.get(name, ())], least):
            if former.place != "archive" or (present is not None and former.fact.id == present.id):
                continue  # the trash stays here; the other was left by a writer that was stopped
            yield former.fact, former
        if present is not None:
            yield present, None


def row(record: "Fact | Episode | Procedure") -> "dict[str, Any]":
    """Any record as one JSON object."""
    if isinstance(record, Fact):
        return fact_row(record)
    return episode_row(record) if isinstance(record, Episode) else procedure_row(record)


def fact_row(fact: Fact) -> "dict[str, Any]":
    """A fact as one JSON object."""
    meta = sidecar.encode({k: v for k, v in as_dict(fact).items() if k not in _NO_META})
    del meta["format"]
    row: dict[str, Any] = {"kind": "fact", "key": fact.key, "text": fact.text, **meta}
    row["sensitivity"] = str(fact.sensitivity)
    if fact.tags:
        row["tags"] = list(fact.tags)
    if fact.relations:
        row["relations"] = [dict(r) for r in fact.relations]
    if fact.header:
        row["header"] = dict(fact.header)
    if fact.unknown:
        row["unknown"] = dict(fact.unknown)
    return {k: v for k, v in row.items() if v != ""} | {"text": fact.text}


def episode_row(episode: Episode) -> "dict[str, Any]":
    """An episode as one JSON object."""
    raw = monthly.as_raw(episode.replace(unknown=None))
    row = {"kind": "episode", "id": raw.pop("id"), "at": raw.pop("at"), "text": episode.text, **raw}
    return row | ({"unknown": dict(episode.unknown)} if episode.unknown else {})


def procedure_row(procedure: Procedure) -> "dict[str, Any]":
    """A procedure as one JSON object."""
    fields = {k: v for k, v in as_dict(procedure).items() if k not in (*_NO_META, "title", "steps")}
    meta = sidecar.encode(fields | {"state": procedure.state})
    del meta["format"]
    texts = {n: getattr(procedure, n) for n in ("title", "text", "task_type", "trigger")}
    row: dict[str, Any] = {"kind": "procedure", "key": procedure.key, **texts, **meta}
    row["sensitivity"] = str(procedure.sensitivity)
    row["tags"] = list(procedure.tags)
    row["steps"] = [procedures.show_step(s) for s in procedure.steps]
    row |= {"header": dict(procedure.header)} if procedure.header else {}
    return row | ({"unknown": dict(procedure.unknown)} if procedure.unknown else {})


def source_row(record: SourceRecord) -> "dict[str, Any]":
    """A source as one JSON object."""
    raw = sources.encode(record)
    del raw["format"]
    return {"kind": "source", "id": raw.pop("id"), "source_kind": raw.pop("kind"), **raw}


def _why(reason: str, at: "Any") -> dict[str, str]:
    return {"reason": reason, "at": sidecar.show_instant(at)}
