"""A service map as a file: SVG for browsers and documents, DOT for Graphviz, Mermaid for Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from math import log10

from analyzer.columns.text import safe_text
from analyzer.insight.metrics import Metrics
from analyzer.insight.service_map import Edge, ServiceMap
from analyzer.render.amounts import format_counted, format_rate, format_share
from analyzer.render.durations import format_duration
from analyzer.render.sequence_files import quote_mermaid
from analyzer.render.svg import cut, write_document, write_text

BOX, LINE, WIDTH, MARGIN = 250, 64, 1100, 20
"""Sizes in pixels: the width of a node, the height per node, the width of the drawing, and its margin."""

SHARES = (0.2, 0.8)
"""Positions of the first and the last of three labels, as fractions of the length of an edge."""

LONGEST = 34
MOST_WIDTH = 6
COLOURS = {"edge": "#1a54ad", "error": "#b00f34"}

STYLE = (
    "text{font:12px monospace;fill:#20262e}.head{font-weight:bold}.note{fill:#59606b;font-size:11px}"
    ".error{fill:#b00f34;font-size:11px}rect.node{fill:#f1f3f6;stroke:#8b93a3}path{fill:none}"
)


def format_edge(metrics: Metrics) -> str:
    """Formats rate, latency and errors of an edge: `12.5/s  p50 1.2ms  p99 30ms  0.1% errors`."""
    rate = format_counted(metrics.messages, "message") if metrics.rate is None else f"{format_rate(metrics.rate)}/s"
    parts = [rate]
    if metrics.timed:
        parts += [f"p50 {format_duration(metrics.p50_ns)}", f"p99 {format_duration(metrics.p99_ns)}"]
    if metrics.errors:
        parts.append(
            f"{format_share(metrics.error_rate)} errors"
            if metrics.error_rate
            else format_counted(metrics.errors, "error")
        )
    return "  ".join(parts)


def write_svg(found: ServiceMap) -> str:
    """Draws clients on the left and servers on the right; the width of an edge grows with its messages."""
    columns = [
        [place for place, node in enumerate(found.nodes) if node.participant.is_server is is_server]
        for is_server in (False, True)
    ]
    tall = max(*map(len, columns), 1)
    spots = {}
    for side, column in enumerate(columns):
        for at, place in enumerate(column):
            spots[place] = side, round(MARGIN + LINE * (at + 0.5) * tall / len(column))
    return write_document(WIDTH, 2 * MARGIN + LINE * tall, STYLE, _list_svg(found, spots))


def _list_svg(found: ServiceMap, spots: dict[int, tuple[int, int]]) -> Iterator[str]:
    most = max((edge.metrics.messages for edge in found.edges), default=1)
    for edge in found.edges:
        yield _draw_edge(edge, spots, most)
    for place, edge in enumerate(found.edges):
        yield _label_edge(edge, spots, place)
    for place, node in enumerate(found.nodes):
        side, y = spots[place]
        x = MARGIN if not side else WIDTH - MARGIN - BOX
        yield f'<rect class="node" x="{x}" y="{y - 22}" width="{BOX}" height="44" rx="4"/>'
        yield write_text(x + 8, y - 4, cut(safe_text(node.participant.title), LONGEST), "head")
        yield write_text(x + 8, y + 13, cut(", ".join(node.roles), LONGEST), "note")


def _draw_edge(edge: Edge, spots: dict[int, tuple[int, int]], most: int) -> str:
    (side, first), (_, last) = spots[edge.client], spots[edge.server]
    right = WIDTH - MARGIN - BOX
    thick = 1 + (MOST_WIDTH - 1) * log10(1 + edge.metrics.messages) / log10(1 + most)
    colour = COLOURS["error" if edge.metrics.errors else "edge"]
    if side:
        bend = right - 120 - abs(last - first) // 4
        way = f"M{right} {first}C{bend} {first} {bend} {last} {right} {last}"
    else:
        way = f"M{MARGIN + BOX} {first}L{right} {last}"
    return f'<path d="{way}" stroke="{colour}" stroke-width="{thick:.1f}" stroke-opacity="0.55"/>'


def _label_edge(edge: Edge, spots: dict[int, tuple[int, int]], place: int) -> str:
    (side, first), (_, last) = spots[edge.client], spots[edge.server]
    left, right = MARGIN + BOX, WIDTH - MARGIN - BOX
    share = SHARES[0] + (SHARES[1] - SHARES[0]) * (place % 3) / 2
    x, y = left + (right - left) * share, first + (last - first) * share
    if side:
        x, y = right - 130, (first + last) / 2
    anchor = "start" if share == SHARES[0] else "middle" if share < SHARES[1] else "end"
    kind = "error" if edge.metrics.errors else "note"
    return write_text(round(x), round(y) - 4, format_edge(edge.metrics), kind, "middle" if side else anchor)


def write_dot(found: ServiceMap) -> str:
    """Writes a map in Graphviz's language."""
    lines = ["digraph services {", "  rankdir=LR;", '  node [shape=box, fontname="monospace"];']
    for place, node in enumerate(found.nodes):
        style = ", style=filled" if node.participant.is_server else ""
        label = "\\n".join(_quote_dot(text) for text in (node.participant.title, ", ".join(node.roles)) if text)
        lines.append(f'  n{place} [label="{label}"{style}];')
    for edge in found.edges:
        colour = ", color=red" if edge.metrics.errors else ""
        lines.append(f'  n{edge.client} -> n{edge.server} [label="{_quote_dot(format_edge(edge.metrics))}"{colour}];')
    return "\n".join([*lines, "}"]) + "\n"


def _quote_dot(text: str) -> str:
    return safe_text(text).replace("\\", "\\\\").replace('"', '\\"')


def write_mermaid(found: ServiceMap) -> str:
    """Writes a map as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    for place, node in enumerate(found.nodes):
        label = "<br/>".join(quote_mermaid(text) for text in (node.participant.title, ", ".join(node.roles)) if text)
        begin, end = ("([", "])") if node.participant.is_server else ("[", "]")
        lines.append(f'    n{place}{begin}"{label}"{end}')
    edges = [
        f'    n{edge.client} -->|"{quote_mermaid(format_edge(edge.metrics))}"| n{edge.server}' for edge in found.edges
    ]
    return "\n".join([*lines, *edges]) + "\n"
