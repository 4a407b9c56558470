"""The memory of cognitive-core as exchange rows: what its records say in the words that `engine/load.py` takes.

Field names are those of its JSON files, of its database and of its own document, which differ. What a row may do here
is not decided here: it is scanned, masked and distrusted as every imported row is. Nothing in this module reads a file.
"""

import json

from memcli.engine import loose
from memcli.model import keys, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Raw = dict[str, Any]

KINDS = {"sources": "source", "nodes": "fact", "episodes": "episode", "procedures": "procedure"}
DROPPED = ("embeddings", "access_counts", "relations", "blacklisted", "claims")
_UNNAMED = {"id": "cognitive-core", "kind": "import"}
_TOO_DEEP = "a list or object in it is nested too deeply"


class Conversion:
    """The records of one memory on their way into a store.

    found: by name of the collection (KINDS) its records as (place, name in the collection, object); a place is words for
    people. saved_at: the time for facts that have none. trusted: the sources' black list comes along as this store's
    block list; without it, nothing that rests on a blacklisted source alone is brought in.

    read: records by kind; dropped: what has no place here, by DROPPED; places: by number of a row where it came from;
    bad: number and reason of records of which no row could be made.
    """

    def __init__(
        self, found: "dict[str, list[tuple[str, str, Any]]]", saved_at: str = "", *, trusted: bool = False
    ) -> None:
        self.found, self.saved_at, self.trusted = found, saved_at, trusted
        self.read = {f"{kind}s": len(found.get(name, ())) for name, kind in KINDS.items()}
        self.dropped = dict.fromkeys(DROPPED, 0)
        self.places: dict[int, str] = {}
        self.bad: list[tuple[int, str]] = []
        self.concepts = {loose.squeezed(name) for _, name, _ in found.get("nodes", ())}
        self.kinds: dict[str, str] = {}
        self.blocked: set[str] = set()
        for _, name, raw in found.get("sources", ()):
            if isinstance(raw, dict):
                self.kinds[name] = _source_kind(raw)
                if loose.flag(raw, "blacklisted", "is_blacklisted"):
                    self.blocked.add(name)

    def lines(self) -> "Iterator[bytes]":
        """One JSON line a record, sources first; a blank one where there is no row, so that numbers stay those of `places`."""
        number = 0
        for collection, kind in KINDS.items():
            for place, name, raw in self.found.get(collection, ()):
                number += 1
                self.places[number] = place
                try:
                    row = self._row(kind, name, raw)
                    yield b"\n" if row is None else json.dumps(row).encode() + b"\n"
                except loose.Unusable as e:
                    self.bad.append((number, str(e)))
                    yield b"\n"
                except RecursionError:
                    self.bad.append((number, _TOO_DEEP))
                    yield b"\n"

    def _row(self, kind: str, name: str, raw: "Any") -> "Raw | None":
        if not isinstance(raw, dict):
            raise loose.Unusable("it is no object")
        if not name:
            raise loose.Unusable("it has no name")
        self.dropped["embeddings"] += bool(raw.get("embedding"))
        self.dropped["access_counts"] += bool(raw.get("access_count"))
        if kind == "source":
            return source(name, raw)
        if kind == "procedure":
            return procedure(name, raw)
        refs = loose.strings(raw, "source_refs", "source_ref", "source")
        # What somebody else also said rests on them.
        refs.sort(key=lambda ref: ref in self.blocked)
        if refs and refs[0] in self.blocked and not self.trusted:
            self.dropped["blacklisted"] += 1
            return None
        origin = {"id": refs[0], "kind": self._kind(refs[0])} if refs else dict(_UNNAMED)
        if kind == "episode":
            return episode(raw) | {"source": origin}
        made, lost = fact(name, raw, self.saved_at)
        self.dropped["relations"] += lost
        # A reference that is also a concept would read as "concluded from that fact", which nobody said.
        others = [ref for ref in dict.fromkeys(refs[1:]) if ref != refs[0] and loose.squeezed(ref) not in self.concepts]
        return made | {"source": origin} | ({"derived_from": others} if others else {})

    def _kind(self, ref: str) -> str:
        """The kind of a source: as its own record says, else by the look of it; `path#part` is a part of `path`."""
        known = self.kinds.get(ref) or self.kinds.get(ref.partition("#")[0])
        if known:
            return known
        if ref.startswith(("http://", "https://")):
            return "url"
        first = ref.partition("_")[0]
        return first if first in ("user", "system", "inference") else "unknown"


def fact(name: str, raw: "Raw", saved_at: str = "") -> "tuple[Raw, int]":
    """The row of a concept, without its source, and how many of its relations could not be read. Raises Unusable.

    A concept that is known only by its relations has no description: its text is its name. Confirmations and denials
    are counts without witnesses, so they become fields of the header and move no confidence here.
    """
    relations, lost = _relations(raw)
    created = loose.instant(raw, "created_ts", "created_at") or saved_at
    counts = {
        "cognitive_core_confirmed": loose.count(raw, "confirm_count", "confirmed_count"),
        "cognitive_core_denied": loose.count(raw, "deny_count", "denied_count"),
    }
    row = _common(raw) | {
        "kind": "fact",
        "key": loose.squeezed(name),
        "text": loose.text(raw, "description") or name,
        "relations": relations,
        "created_at": created or None,
        "updated_at": loose.instant(raw, "updated_ts", "updated_at") or created or None,
        "modality": loose.text(raw, "modality") or "text",
        "header": {n: c for n, c in counts.items() if c} or None,
    }
    return row, lost


def episode(raw: "Raw") -> "Raw":
    """The row of an episode, without its source. Raises Unusable, also for one without a time."""
    at = loose.instant(raw, "ts", "timestamp", "created_at")
    if not at:
        raise loose.Unusable("an episode needs a time")
    evidence = [
        {
            "modality": loose.text(e, "modality") or "text",
            "source": loose.text(e, "source"),
            "content": loose.text(e, "content_ref"),
            "confidence": loose.unit(e, "confidence", default=1.0),
            "metadata": loose.finite(loose.loaded(e.get("metadata")) or {}),
        }
        for e in loose.objects(raw, "modal_evidence", "evidence")
    ]
    return _common(raw) | {
        "kind": "episode",
        "at": at,
        "text": loose.text(raw, "content"),
        "modality": loose.text(raw, "modality") or "text",
        "concepts": loose.strings(raw, "concepts"),
        "evidence": evidence,
        "trace": loose.text(raw, "trace_id"),
        "session": loose.text(raw, "session_id"),
    }


def source(name: str, raw: "Raw") -> "Raw":
    """The row of a source; its counts become a note. Raises Unusable."""
    metadata = loose.loaded(raw.get("metadata"))
    reason = metadata.get("blacklist_reason") if isinstance(metadata, dict) else None
    counts = {n: loose.count(raw, n) for n in ("confirmations", "contradictions", "fact_count")}
    said = [reason] if isinstance(reason, str) and reason else []
    if any(counts.values()):
        said.append(
            "cognitive-core: {confirmations} confirmations, {contradictions} contradictions, {fact_count} facts".format(
                **counts
            )
        )
    blocked, allowed = loose.flag(raw, "blacklisted", "is_blacklisted"), loose.flag(raw, "is_whitelisted")
    return {
        "kind": "source",
        "id": name,
        "source_kind": _source_kind(raw),
        "trust": loose.unit(raw, "trust_score", "trust", default=None),
        "list": "block" if blocked else "allow" if allowed else None,
        "first_seen_at": loose.instant(raw, "first_seen_ts", "first_seen_at", "first_seen") or None,
        "last_seen_at": loose.instant(raw, "last_seen_ts", "last_seen_at", "last_seen") or None,
        "note": "; ".join(said) or None,
    }


def procedure(name: str, raw: "Raw") -> "Raw":
    """The row of a procedure. Approved there means nothing here, unless the whole memory is one's own. Raises Unusable."""
    steps = [
        {
            "action": loose.text(s, "action"),
            "parameters": loose.finite(loose.loaded(s.get("params", s.get("parameters"))) or {}),
            "expected": loose.text(s, "expected_outcome"),
            "optional": loose.flag(s, "is_optional", "optional"),
        }
        for s in loose.objects(raw, "steps", text="action")
    ]
    successes, failures = loose.count(raw, "success_count"), loose.count(raw, "fail_count", "failure_count")
    created = loose.instant(raw, "created_ts", "created_at")
    return _common(raw) | {
        "kind": "procedure",
        "key": loose.squeezed(name),
        "title": name.strip(),
        "text": loose.text(raw, "description"),
        "steps": [s for s in steps if s["action"]],
        "trigger": loose.text(raw, "trigger_pattern", "trigger"),
        "importance": loose.unit(raw, "priority", "importance", default=0.5),
        "source": dict(_UNNAMED),
        "state": "approved",
        "runs": max(loose.count(raw, "use_count", "execution_count"), successes + failures),
        "successes": successes,
        "rate": loose.unit(raw, "success_rate", default=0.5),
        "mean_duration_ms": loose.count(raw, "avg_duration_ms"),
        "created_at": created or None,
        "updated_at": created or None,
        "last_used_at": loose.instant(raw, "last_used_ts", "last_used_at") or None,
    }


def _common(raw: "Raw") -> "Raw":
    """What every record has. No label is known there: internal, which the scanners raise."""
    return {
        "sensitivity": "internal",
        "confidence": loose.unit(raw, "confidence", default=None),
        "importance": loose.unit(raw, "importance", default=None),
        "tags": loose.strings(raw, "tags"),
    }


def _relations(raw: "Raw") -> "tuple[list[Raw], int]":
    found, lost = [], 0
    for r in loose.objects(raw, "relations"):
        try:
            made: Raw = {
                "type": loose.text(r, "rel_type", "relation_type", "type") or "related",
                "target": loose.squeezed(loose.text(r, "target")),
            }
            made["weight"] = loose.unit(r, "weight", default=0.5)
            sure = loose.unit(r, "confidence", default=1.0)
            ref = loose.text(r, "source_ref")
        except loose.Unusable:
            lost += 1
            continue
        if not keys.possible(made["target"]):
            lost += 1
            continue
        found.append(made | ({"confidence": sure} if sure != 1 else {}) | ({"source": ref} if ref else {}))
    return found, lost


def _source_kind(raw: "Raw") -> str:
    """Its kinds are among ours; a record without one is of a file there."""
    found = loose.first(raw, ("source_type", "type"))
    return "file" if found is None else found if isinstance(found, str) and found in labels.KIND_TRUST else "unknown"
