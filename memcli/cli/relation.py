"""Facts as concepts: `fact relate`, `unrelate`, `related`, `chain`, and `graph`."""

from memcli.base import errors
from memcli.cli import session
from memcli.cli.call import Context, Listing, Output
from memcli.model import keys, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.relations import Edge, Graph


def relate(ctx: Context, key: str, relation: str, target: str, *, weight: str | None = None) -> Output:
    """Relate a fact to another: is_a, part_of, related, opposite, causes, example, or a name of your own.

    Example: memcli fact relate "deploy target" part_of "hosting" --weight 0.8
    """
    from memcli.engine import relations

    fact, changed = relations.relate(session.store(ctx), key, relation, target, now=session.now(ctx), weight=weight)
    how = "related" if changed else "unchanged"
    return Output({"how": how, "id": fact.id, "digest": fact.digest}, f"{how}\n")


def unrelate(ctx: Context, key: str, relation: str, target: str) -> Output:
    """Take a relation of a fact away.

    Example: memcli fact unrelate "deploy target" part_of "hosting"
    """
    from memcli.engine import relations

    fact, _ = relations.unrelate(session.store(ctx), key, relation, target, now=session.now(ctx))
    return Output({"how": "unrelated", "id": fact.id, "digest": fact.digest}, "unrelated\n")


def related(
    ctx: Context, key: str, *, relation: tuple[str, ...] = (), clearance: str = "internal", n: int = 10
) -> Listing:
    """List what a fact is related to and what is related to it, strongest first.

    Example: memcli fact related "database"
    """
    seen = _graph(ctx, key, clearance)
    found = seen.related(keys.normal(key), n, relation)
    return Listing([_edge(e) for e in found], "".join(map(_line, found)), notes=tuple(session.unread(seen.unread)))


def chain(
    ctx: Context, key: str, *, depth: int = 3, relation: tuple[str, ...] = (), clearance: str = "internal"
) -> Listing:
    """Walk the relations of a fact, breadth first, to a depth.

    Example: memcli fact chain "database" --depth 2
    """
    if not 1 <= depth <= 20:
        raise errors.UsageError("the depth is out of range", hint="1 to 20")
    from memcli.cli import show

    seen = _graph(ctx, key, clearance)
    found = seen.chain(keys.normal(key), depth, relation)
    rows = [
        {
            "key": s.key,
            "depth": s.depth,
            "weight": round(s.weight, 4),
            "known": s.known,
            "path": [_edge(e) for e in s.path],
        }
        for s in found
    ]
    text = "".join(
        f"{'  ' * (s.depth - 1)}{show.one_line(s.path[-1].kind)} {show.one_line(s.key)} ({s.weight:.2f}"
        f"{'' if s.known else ', unknown'})\n"
        for s in found
    )
    return Listing(show.scrub(rows), text, notes=tuple(session.unread(seen.unread)))


def graph(
    ctx: Context,
    key: str | None = None,
    *,
    format: str = "mermaid",
    depth: int = 2,
    clearance: str = "internal",
) -> Output:
    """Draw the relations between facts: mermaid, dot, or html (one file that opens offline).

    Example: memcli graph "database" --format dot
    Example: memcli graph --format html > memory.html
    """
    from memcli.engine import drawing

    labels.choice(format, "format", drawing.FORMATS)
    found = _graph(ctx, key, clearance)
    edges = found.edges if key is None else found.around(keys.normal(key), depth)
    drawn = drawing.draw(edges, format, alone=() if key is None else (keys.normal(key),))
    data = {"format": format, "drawing": drawn, "relations": len(edges), "unread": found.unread}
    return Output(data, drawn, notes=tuple(session.unread(found.unread)))


def _graph(ctx: Context, key: str | None, clearance: str) -> "Graph":
    from memcli.engine import relations

    return relations.graph(session.store(ctx), key, session.now(ctx), labels.sensitivity(clearance))


def _edge(edge: "Edge") -> "dict[str, object]":
    from memcli.cli import show

    row = {
        "source": edge.source,
        "relation": edge.kind,
        "target": edge.target,
        "weight": edge.weight,
        "known": edge.known,
    }
    scrubbed: dict[str, object] = show.scrub(row)
    return scrubbed


def _line(edge: "Edge") -> str:
    from memcli.cli import show

    unknown = "" if edge.known else "\tunknown"
    return f"{show.one_line(edge.source)}\t{show.one_line(edge.kind)}\t{show.one_line(edge.target)}\t{edge.weight:g}{unknown}\n"
