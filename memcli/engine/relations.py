"""Facts as concepts: typed, weighted relations between them, and walks over the graph that they make.

Relations stand in the front matter of the fact they lead from; `[[target]]` in a text counts as `related` at weight 0.5.
A relation to a key that is not there is kept, shown as unknown, and reported by `doctor`.
"""

import re
from collections import deque
from datetime import datetime

from memcli.base import errors
from memcli.base.value import Value, value
from memcli.engine import intake, remember, view
from memcli.model import keys, labels, policy
from memcli.model.records import Fact
from memcli.store import facts, naming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any

    from memcli.model.labels import Sensitivity
    from memcli.store.folder import Store

KINDS = ("is_a", "part_of", "related", "opposite", "causes", "example")
OPPOSITES = ("opposite", "contradicts")
LINK_WEIGHT = 0.5
_LINK = re.compile(r"\[\[([^\[\]\n|]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")


@value
class Edge(Value):
    """One relation: from a key to a key, of a kind, with a weight 0..1. known: the target is a fact the reader may see."""

    source: str
    kind: str
    target: str
    weight: float
    known: bool = True


@value
class Step(Value):
    """One concept reached by a walk: its key, how many steps away, by which edges, and the product of their weights."""

    key: str
    depth: int
    path: tuple[Edge, ...]
    weight: float
    known: bool = True


class Graph:
    """The relations between the current facts that a reader is cleared for. Withheld facts are not in it, by no name."""

    def __init__(self, store: "Store", now: datetime, clearance: "Sensitivity" = labels.INTERNAL) -> None:
        seen = view.survey(store, now, clearance, layers=("facts",))
        self.unread = seen.unread
        self.facts = {f.key: f for f in seen.facts}
        hidden = _hidden_keys(store, clearance)
        self.edges = [e for f in seen.facts for e in edges_of(f, self.facts) if e.target not in hidden]
        self._out: dict[str, list[Edge]] = {}
        self._into: dict[str, list[Edge]] = {}
        for edge in self.edges:
            self._out.setdefault(edge.source, []).append(edge)
            self._into.setdefault(edge.target, []).append(edge)

    def related(self, key: str, n: int = 10, kinds: tuple[str, ...] = ()) -> list[Edge]:
        """The strongest relations from and to a key; n: 0 = all."""
        found = [e for e in (*self._out.get(key, ()), *self._into.get(key, ())) if not kinds or e.kind in kinds]
        return sorted(dict.fromkeys(found), key=lambda e: (-e.weight, e.kind, e.target))[: labels.most(n) or None]

    def chain(self, key: str, depth: int = 3, kinds: tuple[str, ...] = ()) -> list[Step]:
        """Breadth first from a key along its relations: each concept once, by its shortest way. Cycles are safe."""
        found, queue, seen = [], deque([Step(key=key, depth=0, path=(), weight=1.0)]), {key}
        while queue:
            here = queue.popleft()
            if here.depth == depth:
                continue
            for edge in sorted(self._out.get(here.key, ()), key=lambda e: (-e.weight, e.target)):
                if edge.target in seen or (kinds and edge.kind not in kinds):
                    continue
                seen.add(edge.target)
                weight = here.weight * edge.weight
                path = (*here.path, edge)
                step = Step(key=edge.target, depth=here.depth + 1, path=path, weight=weight, known=edge.known)
                found.append(step)
                queue.append(step)
        return found

    def around(self, key: str, depth: int) -> list[Edge]:
        """The relations within so many steps of a key, in either direction."""
        near, edge_set = {key}, []
        for _ in range(depth):
            step = [e for e in self.edges if e.source in near or e.target in near]
            near |= {k for e in step for k in (e.source, e.target)}
            edge_set = step
        return edge_set


def graph(store: "Store", key: str | None, now: datetime, clearance: "Sensitivity") -> Graph:
    """The graph for a reader, who may ask about one key. Raises Withheld for a fact above the clearance, as its value is;
    NotFound where no current fact of this key may be seen, and Blocked for one that may be seen otherwise."""
    from memcli.engine import missing

    found = Graph(store, now, clearance)
    if key is not None and keys.normal(key) not in found.facts:
        missing.check_clearance(store, keys.normal(key), now, clearance)
        live = facts.get(store, keys.normal(key))
        if live is not None and policy.current(live, now, store.settings):
            store.check_served(live.source.id)
        message = "no current fact of this key that you may see"
        raise missing.no_fact(store, keys.normal(key), now, message, clearance=clearance)
    return found


def relate(
    store: "Store", key: str, kind: str, target: str, *, now: datetime, weight: "str | float | None" = None
) -> tuple[Fact, bool]:
    """Add a relation, or change its weight; the fact, and whether anything changed. The target need not exist yet.

    kind: one of KINDS or a free name of a-z, 0-9 and _. Raises NotFound, UsageError, SecretFound, BadData.
    """
    kind, target = _kind(kind), keys.normal(target)
    number = 1.0 if weight is None else labels.unit(weight, "weight")
    intake.take(store.settings, {"relation": kind, "target": target}, fixed=("relation", "target"))
    made = {"type": kind, "target": target, "weight": number}
    return _change(store, key, now, lambda rows: [*(r for r in rows if not _same(r, kind, target)), made])


def unrelate(store: "Store", key: str, kind: str, target: str, *, now: datetime) -> tuple[Fact, bool]:
    """Take a relation away. Raises NotFound when the fact has no such relation."""
    kind, target = _kind(kind), keys.normal(target)
    fact, changed = _change(store, key, now, lambda rows: [r for r in rows if not _same(r, kind, target)])
    if not changed:
        raise errors.NotFound("the fact has no such relation", hint="memcli fact related KEY")
    return fact, changed


def links(text: str) -> list[str]:
    """The targets of `[[target]]` and `[[target|words]]` in a text, in order, each once."""
    return list(dict.fromkeys(t.strip() for t in _LINK.findall(text) if t.strip()))


def _change(store: "Store", key: str, now: datetime, edit: "Any") -> tuple[Fact, bool]:
    with store.writing() as w:
        fact = remember.usable(store, keys.normal(key), now)
        rows = tuple(sorted(edit(fact.relations), key=lambda r: (str(r.get("type")), str(r.get("target")))))
        if rows == tuple(sorted(fact.relations, key=lambda r: (str(r.get("type")), str(r.get("target"))))):
            return fact, False
        return facts.put(w, fact.replace(relations=rows), fact), True


def edges_of(fact: Fact, known: "Container[str]") -> "Iterable[Edge]":
    """The relations that lead from a fact, those of its text included. known: the keys that the reader may see."""
    told = set()
    for row in fact.relations:
        kind, target, weight = row.get("type"), row.get("target"), row.get("weight", 1.0)
        if isinstance(kind, str) and isinstance(target, str) and isinstance(weight, (int, float)):
            told.add(target)
            yield Edge(
                source=fact.key,
                kind=kind,
                target=target,
                weight=min(max(float(weight), 0.0), 1.0),
                known=target in known,
            )
    for target in links(fact.text):
        if target not in told and target != fact.key:
            yield Edge(source=fact.key, kind="related", target=target, weight=LINK_WEIGHT, known=target in known)


def _hidden_keys(store: "Store", clearance: "Sensitivity") -> set[str]:
    """Keys that must not be named: a relation from an open fact to a withheld one would give it away."""
    return naming.withheld_keys(store, clearance)


def _same(row: "dict[str, Any]", kind: str, target: str) -> bool:
    return row.get("type") == kind and row.get("target") == target


def _kind(text: str) -> str:
    if not _KIND.fullmatch(text):
        raise errors.UsageError("odd kind of relation", hint=f"{', '.join(KINDS)}, or a name of a-z, 0-9 and _")
    return text
