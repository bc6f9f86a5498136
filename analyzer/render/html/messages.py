"""The messages of an incident page: one line each, with the folded tree below it.

Secrets are masked as in `show`; there is no option to show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analyzer.decode import fragments
from analyzer.decode.limits import Limits
from analyzer.decode.masking import has_hidden_parts
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.render.durations import format_duration
from analyzer.render.html.elements import Html, join_parts, make_details, make_element
from analyzer.render.lines import Line
from analyzer.render.tree_text import format_finding, format_node
from analyzer.session import Session
from dissectors.field import Field

LIMITS = Limits(64, 100, False)
NODES, DEPTH = 600, 40
"""Number of nodes of a message that are shown, and of levels."""

LARGEST = 3 << 20
"""Characters of HTML that all messages together may take."""


class MessageLinks:
    """The messages that a page shows, so that their numbers become links."""

    def __init__(self, rows: Sequence[int]) -> None:
        self._rows = frozenset(rows)

    def make_link(self, row: int) -> Html:
        """Returns the number of a message, as a link if the page shows it."""
        number = f"{row + 1}"
        return make_element("a", number, href=f"#m{number}") if row in self._rows else join_parts([number])

    def join_links(self, rows: Iterable[int]) -> Html:
        """Returns the numbers of messages, each as a link if the page shows it."""
        return join_parts(map(self.make_link, rows), ", ")


def make_messages(session: Session, rows: Sequence[int]) -> tuple[list[Html], list[int]]:
    """Returns messages as folded trees, as many as fit, and their rows."""
    reader, namer = RowReader(session), TopicNamer(session)
    found, remaining = list[Html](), LARGEST
    for row in rows:
        (cells,) = reader.read_objects(ROW_KEYS, np.array([row]), namer.fill_in_names)
        message = _make_message(session, row, cells)
        remaining -= len(message)
        if remaining < 0:
            break
        found.append(message)
    return found, list(rows[: len(found)])


def _make_message(session: Session, row: int, cells: Mapping[str, Any]) -> Html:
    tree = fragments.decode_tree_with_message(session, row)
    version = "" if cells["version"] is None else f" v{cells['version']}"
    operation = cells["operation"] or cells["protocol"]
    what = make_element("b", f"{cells['number']}: {operation}{version} {cells['role']}")
    about = [f"{cells['time']}, stream {cells['stream']}, {cells['source']} > {cells['destination']}"]
    if cells["partner"] is not None:
        verb = "answers" if cells["role"] == "response" else "is answered by"
        later = "" if cells["latency_ns"] is None else f" after {format_duration(cells['latency_ns'])}"
        about.append(f"It {verb} message {cells['partner']}{later}.")
    findings = [make_element("p", _format_line(format_finding(each)), class_="finding") for each in tree.findings]
    nodes = list(_NodeWriter().write_nodes(tree.fields, 0, hidden=False))
    summary = join_parts([what, f" {cells['info'] or ''}"])
    paragraphs = [make_element("p", text) for text in about]
    # A browser unfolds the elements around the target of a link, so the target is inside.
    body = make_element(
        "div", *paragraphs, *findings, make_element("div", *nodes, class_="tree"), id=f"m{cells['number']}"
    )
    return make_details(summary, body, class_="message")


class _NodeWriter:
    """Writes the nodes of one tree, at most NODES."""

    def __init__(self) -> None:
        self._left = NODES

    def write_nodes(self, nodes: Sequence[Field], depth: int, *, hidden: bool) -> Iterator[Html]:
        """Yields one element for each node, with the nodes below it folded."""
        most = len(nodes) if LIMITS.max_items is None else LIMITS.max_items
        for place, node in enumerate(nodes):
            if not self._left or place == most or depth == DEPTH:
                yield make_element("p", f"{len(nodes) - place:,} more are left out", class_="rest")
                return
            self._left -= 1
            line = _format_line(format_node(node, LIMITS, hidden))
            if node.children:
                below = self.write_nodes(node.children, depth + 1, hidden=hidden or has_hidden_parts(node))
                yield make_details(line, *below, open="" if depth < 2 else None)
            else:
                yield make_element("p", line)


def _format_line(line: Line) -> Html:
    return join_parts(make_element("span", text, class_=style or None) if style else text for style, text in line)
