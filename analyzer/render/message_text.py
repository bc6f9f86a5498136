"""One message for people: title, findings, tree, and a dump of each of its sources."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.render.hexdump import hexdump_lines
from analyzer.render.jsonable import Limits
from analyzer.render.lines import Line
from analyzer.render.masking import secret_spans
from analyzer.render.tree_json import Message
from analyzer.render.tree_text import finding_line, title, tree_lines
from dissectors.field import Tree

DUMPED = 4096
"""Bytes of a source that are dumped unless all are asked for."""

EMPTY: Line = (("", ""),)


def message_lines(message: Message, tree: Tree, limits: Limits) -> Iterator[Line]:
    """The lines of one message; offsets in the dumps are those of the tree."""
    yield title(message, tree.sources[0].length)
    for finding in (*message.findings, *tree.findings):
        yield finding_line(finding)
    yield from tree_lines(tree, limits)
    spans = {} if limits.show_secrets else secret_spans(tree)
    for source in tree.sources:
        yield EMPTY
        if source.id:
            yield (("title", f"source {source.id}: {source.name}, {len(source.data)} bytes"),)
        most = None if limits.bytes_limit is None else DUMPED
        yield from hexdump_lines(source.data, spans.get(source.id, ()), limit=most)
