"""The graph of facts as Mermaid, DOT, or one HTML file that opens offline: no script, no font, nothing fetched."""

import html
import math

from memcli.model import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memcli.engine.relations import Edge

FORMATS = ("mermaid", "dot", "html")
_ROUNDS = 300
_GRAVITY = 2.5
_WIDTH, _HEIGHT, _MARGIN = 1200.0, 800.0, 90.0
_MAX_LABEL = 40
_STYLE = (
    "body{margin:0;font:14px system-ui,sans-serif;background:#fff;color:#1a1a1a}"
    "svg{display:block;width:100vw;height:100vh}line{stroke:#9aa5b1}circle{fill:#2f6f9f}.unknown{fill:#c9cfd6}"
    "text{font-size:13px}.kind{font-size:10px;fill:#5a6672}"
)


def draw(edges: "list[Edge]", form: str, *, alone: "tuple[str, ...]" = ()) -> str:
    """The drawing of these relations. alone: keys without any relation that are shown too."""
    nodes = list(dict.fromkeys([*(k for e in edges for k in (e.source, e.target)), *alone]))
    unknown = {e.target for e in edges if not e.known}
    return {"mermaid": _mermaid, "dot": _dot, "html": _html}[form](nodes, edges, unknown)


def _mermaid(nodes: list[str], edges: "list[Edge]", unknown: set[str]) -> str:
    number = {key: f"n{i}" for i, key in enumerate(nodes)}
    lines = ["graph LR"]
    lines += [f'  {number[k]}["{_entity(k)}"]' for k in nodes]
    lines += [f'  {number[e.source]} -->|"{_entity(_said(e))}"| {number[e.target]}' for e in edges]
    return "\n".join(lines) + "\n"


def _dot(nodes: list[str], edges: "list[Edge]", unknown: set[str]) -> str:
    number = {key: f"n{i}" for i, key in enumerate(nodes)}
    lines = ["digraph memory {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f"  {number[k]} [label={_quoted(k)}{', style=dashed' if k in unknown else ''}];" for k in nodes]
    lines += [f"  {number[e.source]} -> {number[e.target]} [label={_quoted(_said(e))}];" for e in edges]
    return "\n".join([*lines, "}"]) + "\n"


def _html(nodes: list[str], edges: "list[Edge]", unknown: set[str]) -> str:
    place = _layout(nodes, edges)
    parts = [_line(e, place) for e in edges] + [_node(k, place[k], k in unknown) for k in nodes]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>memory</title>\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="graph of facts">\n'
        + "\n".join(parts)
        + "\n</svg>\n</body>\n</html>\n"
    )


def _line(edge: "Edge", place: dict[str, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = place[edge.source], place[edge.target]
    width = 0.5 + 2.5 * edge.weight
    said = html.escape(_clean(_said(edge)))
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width:.1f}"/>'
        f'<text class="kind" x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2:.1f}">{said}</text>'
    )


def _node(key: str, at: tuple[float, float], unknown: bool) -> str:
    mark = ' class="unknown"' if unknown else ""
    label = html.escape(_short(key))
    return (
        f'<g><title>{html.escape(_clean(key))}</title><circle{mark} cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="7"/>'
        f'<text x="{at[0] + 10:.1f}" y="{at[1] + 4:.1f}">{label}</text></g>'
    )


def _layout(nodes: list[str], edges: "list[Edge]") -> dict[str, tuple[float, float]]:
    """A force-directed layout (Fruchterman and Reingold 1991) from a circle; the same graph gives the same drawing."""
    count = max(len(nodes), 1)
    at = [[math.cos(2 * math.pi * i / count), math.sin(2 * math.pi * i / count)] for i in range(count)]
    index = {k: i for i, k in enumerate(nodes)}
    pairs = [(index[e.source], index[e.target]) for e in edges if e.source != e.target]
    ideal = 1.6 / math.sqrt(count)
    for turn in range(_ROUNDS if count <= 300 else 0):
        move = _forces(at, pairs, ideal)
        heat = 0.1 * (1 - turn / _ROUNDS)
        for spot, (dx, dy) in zip(at, move, strict=True):
            length = math.hypot(dx, dy) or 1.0
            spot[0] += dx / length * min(length, heat)
            spot[1] += dy / length * min(length, heat)
    return dict(zip(nodes, _scaled(at), strict=False))


def _forces(at: list[list[float]], pairs: list[tuple[int, int]], ideal: float) -> list[list[float]]:
    move = [[0.0, 0.0] for _ in at]
    for i, a in enumerate(at):
        for j in range(i):
            dx, dy = a[0] - at[j][0], a[1] - at[j][1]
            push = ideal * ideal / (dx * dx + dy * dy + 1e-6)
            _add(move, i, j, dx * push, dy * push)
    for i, j in pairs:
        dx, dy = at[j][0] - at[i][0], at[j][1] - at[i][1]
        pull = math.hypot(dx, dy) / ideal
        _add(move, i, j, dx * pull, dy * pull)
    for spot, (x, y) in zip(move, at, strict=True):  # gravity keeps what is not connected on one page
        spot[0] -= _GRAVITY * x
        spot[1] -= _GRAVITY * y
    return move


def _add(move: list[list[float]], i: int, j: int, x: float, y: float) -> None:
    move[i][0] += x
    move[i][1] += y
    move[j][0] -= x
    move[j][1] -= y


def _scaled(at: list[list[float]]) -> list[tuple[float, float]]:
    xs, ys = [a[0] for a in at], [a[1] for a in at]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    return [
        (
            _MARGIN + (x - min(xs)) / wide * (_WIDTH - 3 * _MARGIN),
            _MARGIN + (y - min(ys)) / high * (_HEIGHT - 2 * _MARGIN),
        )
        for x, y in at
    ]


def _said(edge: "Edge") -> str:
    return edge.kind if edge.weight == 1 else f"{edge.kind} {edge.weight:g}"


def _short(key: str) -> str:
    clean = _clean(key)
    return clean if len(clean) <= _MAX_LABEL else clean[: _MAX_LABEL - 1] + "…"


def _clean(words: str) -> str:
    from memcli.base import text

    return text.one_line(redact.mask(words))


def _entity(words: str) -> str:
    """Mermaid's own escape: `#` and the number of the character."""
    return "".join(c if c.isalnum() or c in " .,_/-" else f"#{ord(c)};" for c in _clean(words))


def _quoted(words: str) -> str:
    return '"' + _clean(words).replace("\\", "\\\\").replace('"', '\\"') + '"'
