"""A service map as a file: SVG for browsers and documents, DOT for Graphviz, Mermaid for Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log10

from analyzer.columns.text import safe_text
from analyzer.insight.metrics import Metrics
from analyzer.insight.service_map import Edge, Node, ServiceMap
from analyzer.render.amounts import format_counted, format_rate, format_share
from analyzer.render.durations import format_duration
from analyzer.render.sequence_files import quote_mermaid
from analyzer.render.svg import cut, write_document, write_text

BOX, LABEL, LINE, GAP, WIDTH, MARGIN = 250, 300, 18, 16, 1200, 20
"""Pixels: the widths of a node and of an edge's label, the height of a label and between nodes, the picture's width and
its margin.
"""

LEAST = 44
"""The least height of a node in pixels."""

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
    """Draws clients on the left and servers on the right; the width of an edge grows with its messages.

    A server that speaks to others is on both sides.
    """
    servers = list(dict.fromkeys(edge.server for edge in found.edges))
    edges: dict[int, list[Edge]] = {edge.client: [] for edge in found.edges}
    for edge in sorted(found.edges, key=lambda edge: servers.index(edge.server)):
        edges[edge.client].append(edge)
    tall = sum(_measure_client(mine) + GAP for mine in edges.values())
    tall = max(tall, len(servers) * (LEAST + GAP))
    ends = {server: round(MARGIN + tall * (at + 0.5) / len(servers)) for at, server in enumerate(servers)}
    return write_document(WIDTH, 2 * MARGIN + tall, STYLE, _list_svg(found, edges, ends))


def _measure_client(edges: Sequence[Edge]) -> int:
    return max(LEAST, LINE * len(edges))


def _list_svg(found: ServiceMap, edges: Mapping[int, Sequence[Edge]], ends: Mapping[int, int]) -> Iterator[str]:
    most = max((edge.metrics.messages for edge in found.edges), default=1)
    top = MARGIN
    for client, mine in edges.items():
        tall = _measure_client(mine)
        yield _draw_node(found.nodes[client], MARGIN, top, tall)
        for at, edge in enumerate(mine):
            y = top + round(tall * (at + 0.5) / len(mine))
            kind = "error" if edge.metrics.errors else "note"
            yield write_text(MARGIN + BOX + 8, y + 4, cut(format_edge(edge.metrics), LONGEST + 10), kind)
            yield _draw_edge(edge, y, ends[edge.server], most)
        top += tall + GAP
    for server, y in ends.items():
        yield _draw_node(found.nodes[server], WIDTH - MARGIN - BOX, y - LEAST // 2, LEAST)


def _draw_node(node: Node, x: int, y: int, tall: int) -> str:
    box = f'<rect class="node" x="{x}" y="{y}" width="{BOX}" height="{tall}" rx="4"/>'
    name = write_text(x + 8, y + 18, cut(safe_text(node.participant.title), LONGEST), "head")
    return f"{box}{name}{write_text(x + 8, y + 35, cut(', '.join(node.roles), LONGEST), 'note')}"


def _draw_edge(edge: Edge, first: int, last: int, most: int) -> str:
    left, right = MARGIN + BOX + LABEL, WIDTH - MARGIN - BOX
    middle = (left + right) // 2
    thick = 1 + (MOST_WIDTH - 1) * log10(1 + edge.metrics.messages) / log10(1 + most)
    colour = COLOURS["error" if edge.metrics.errors else "edge"]
    way = f"M{left} {first}C{middle} {first} {middle} {last} {right} {last}"
    return f'<path d="{way}" stroke="{colour}" stroke-width="{thick:.1f}" stroke-opacity="0.55"/>'


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
