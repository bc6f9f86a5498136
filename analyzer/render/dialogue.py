"""Formats one conversation as a dialogue: the messages of both sides in order.

One line for each message: an arrow to the right for the client's messages, the number and time since the first message,
the operation, the latency of a response, and the info. Optionally the fields or bytes follow below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.text import safe_text
from analyzer.decode.jsonable import Limits
from analyzer.decode.masking import find_secret_spans
from analyzer.render.durations import format_duration
from analyzer.render.hexdump import format_hexdump
from analyzer.render.lines import Line
from analyzer.render.message_text import DUMPED, LONGEST_COMMENT, MOST_COMMENTS
from analyzer.render.tree_text import format_tree
from dissectors.field import Tree

KEYS = (
    *("number", "from_client", "role", "protocol", "operation", "version", "length", "latency_ns", "partner"),
    *("error", "state", "info", "findings"),
)
"""The keys of a row that a line shows."""

_INDENT: Line = (("", " " * 23),)
_SECOND = 10**9


def format_message_line(cells: Mapping[str, Any], since: int) -> Line:
    """Returns the line of a row (its KEYS), `since` ns after the conversation's first."""
    arrow, style = (">", "name") if cells["from_client"] else ("<", "text")
    version = "" if cells["version"] is None else f" v{cells['version']}"
    what = cells["operation"] or (cells["protocol"] if cells["role"] == "raw" else "?")
    after = (
        f", {format_duration(cells['latency_ns'])} after {cells['partner']}" if cells["latency_ns"] is not None else ""
    )
    line = [
        ("place", f"{cells['number']:>6} {_format_seconds(since):>12}  "),
        (style, f"{arrow} {safe_text(what)}{version}"),
        ("place", f"  {cells['length']:,} bytes{after}"),
    ]
    if cells["state"] != "complete" and cells["role"] != "raw":
        line.append(("warning", f"  {cells['state']}"))
    if cells["error"] and cells["error"]["name"] not in (cells["info"] or ""):
        line.append(("error", f"  {safe_text(cells['error']['name'])}"))
    if cells["info"]:
        line.append(("", f"  {safe_text(cells['info'])}"))
    line += [("warning", f"  ({safe_text(finding['code'])})") for finding in cells["findings"]]
    return tuple(line)


def format_comment_notes(comments: Sequence[str]) -> Iterator[Line]:
    """Formats the comments on a message's packets, indented."""
    for comment in comments[:MOST_COMMENTS]:
        yield (*_INDENT, ("note", f"comment: {safe_text(comment, LONGEST_COMMENT)}"))
    if len(comments) > MOST_COMMENTS:
        yield (*_INDENT, ("note", f"and {len(comments) - MOST_COMMENTS:,} more comments"))


def format_field_lines(tree: Tree, limits: Limits) -> Iterator[Line]:
    """Formats the fields of a message as indented lines, one for each node of its tree."""
    return (_INDENT + line for line in format_tree(tree, limits))


def format_dump_lines(tree: Tree, limits: Limits) -> Iterator[Line]:
    """Formats a message's bytes as they were sent, with secrets masked, indented."""
    spans = () if limits.show_secrets else find_secret_spans(tree).get(0, ())
    most = None if limits.bytes_limit is None else DUMPED
    return (_INDENT + line for line in format_hexdump(tree.sources[0].data, spans, limit=most))


def _format_seconds(nanoseconds: int) -> str:
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(nanoseconds), _SECOND)
    return f"{sign}{whole}.{rest // 1000:06}"
