"""Formats one message for people: title, findings, tree, and a dump of each of its sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.text import safe_text
from analyzer.decode.limits import Limits
from analyzer.decode.masking import find_secret_spans
from analyzer.render.hexdump import format_hexdump
from analyzer.render.lines import Line
from analyzer.render.tree_json import PrintedMessage
from analyzer.render.tree_text import format_finding, format_title, format_tree
from dissectors.field import Tree

DUMPED = 4096
"""Number of bytes of a source that are dumped, unless the user asks for all."""

EMPTY: Line = (("", ""),)
MOST_COMMENTS, LONGEST_COMMENT = 20, 1000
"""Number of comments that are shown, and length of one in characters."""


def format_message(message: PrintedMessage, tree: Tree, limits: Limits) -> Iterator[Line]:
    """Yields the lines of one message; offsets in dumps are those of the tree."""
    yield format_title(message, tree.sources[0].length)
    for finding in (*message.findings, *tree.findings):
        yield format_finding(finding)
    yield from format_tree(tree, limits)
    spans = {} if limits.show_secrets else find_secret_spans(tree)
    for source in tree.sources:
        yield EMPTY
        if source.id:
            yield (("title", f"source {source.id}: {source.name}, {len(source.data)} bytes"),)
        most = None if limits.bytes_limit is None else DUMPED
        yield from format_hexdump(source.data, spans.get(source.id, ()), limit=most)


def format_row_place(
    cells: Mapping[str, Any],
    packets: Sequence[Mapping[str, Any]],
    comments: Sequence[tuple[int, str]] = (),
    ends: tuple[str, str] | None = None,
) -> Iterator[Line]:
    """Formats the lines about a row (its ROW_KEYS): addresses, time, partner and packets.

    comments: of packets, with their numbers. ends: other names of source and destination.
    """
    # brings NumPy, which a message without a capture does not need
    from analyzer.render.durations import format_duration

    yield (("title", f"message {cells['number']}"), ("", f"  {cells['time']}  stream {cells['stream']}"))
    source, destination = (cells["source"], cells["destination"]) if ends is None else map(safe_text, ends)
    yield (("", f"{source} -> {destination}, {cells['length']} bytes at offset {cells['offset']}"),)
    if cells["partner"] is not None:
        what = "answers" if cells["role"] == "response" else "answered by"
        after = f", {format_duration(cells['latency_ns'])} later" if cells["latency_ns"] is not None else ""
        yield (("", f"{what} message {cells['partner']}{after}"),)
    if cells["info"]:
        yield (("text", safe_text(cells["info"])),)
    shown = ", ".join(
        f"{packet['number']}{' (retransmission)' if packet['retransmission'] else ''}" for packet in packets[:20]
    )
    more = f" and {len(packets) - 20} more" if len(packets) > 20 else ""
    yield (("place", f"packets {shown}{more}"),)
    yield from format_comments(comments)


def format_comments(comments: Sequence[tuple[int, str]]) -> Iterator[Line]:
    """Yields a line for each comment on a packet, and one with the number of comments left out."""
    for number, comment in comments[:MOST_COMMENTS]:
        yield (("note", f"comment on packet {number}: {safe_text(comment, LONGEST_COMMENT)}"),)
    if len(comments) > MOST_COMMENTS:
        yield (("note", f"and {len(comments) - MOST_COMMENTS:,} more comments"),)
