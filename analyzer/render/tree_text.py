"""Formats a tree as lines for people: offset, name, value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from analyzer.columns.text import read_text, safe_text
from analyzer.decode.limits import Limits
from analyzer.decode.masking import has_hidden_parts, has_hidden_value, is_secret
from analyzer.messages.defects import format_label
from analyzer.render.lines import Line
from analyzer.render.tree_json import PrintedMessage, mask_value
from dissectors.field import Field, Tree
from dissectors.finding import Finding
from dissectors.wire.secret import Secret
from dissectors.wire.specs import More

LONGEST_TEXT = 400
_PLACE = 12


def format_title(message: PrintedMessage, length: int) -> Line:
    """Formats the title of a message: protocol, operation, and values of the header."""
    header = message.header
    name = header.operation or (f"operation {header.code}" if header.code is not None else "unknown operation")
    parts = [_format_bytes(length)]
    if header.correlation is not None:
        parts.append(f"correlation {header.key}")
    if header.client:
        parts.append(f"client {safe_text(header.client, LONGEST_TEXT)}")
    if header.state.name != "COMPLETE":
        parts.append(header.state.name.lower())
    version = "" if header.version is None else f" v{header.version}"
    head = f"{message.protocol} {safe_text(name, LONGEST_TEXT)}{version} {header.role.name.lower()}"
    return (("title", head), ("place", f"  {', '.join(parts)}"))


def _format_bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def format_tree(tree: Tree, limits: Limits) -> Iterator[Line]:
    """Yields one line for each node, in order; elements of a list above the limit are counted."""
    return _format_nodes(tree.fields, limits, depth=0, hidden=False)


def format_finding(finding: Finding) -> Line:
    """Formats a finding: severity, code, sentence and place."""
    place = "" if finding.offset is None else f" (offset {finding.offset}{_format_source(finding.source)})"
    severity = finding.severity.name.lower()
    return ((severity, f"{severity} {finding.code}"), ("", f": {safe_text(finding.text, 4 * LONGEST_TEXT)}{place}"))


def _format_source(source: int) -> str:
    return f" of source {source}" if source else ""


def _format_nodes(nodes: list[Field], limits: Limits, depth: int, hidden: bool) -> Iterator[Line]:
    most = len(nodes) if limits.max_items is None else limits.max_items
    for node in nodes[:most]:
        yield _format_line(node, limits, depth, hidden)
        yield from _format_nodes(node.children, limits, depth + 1, hidden or has_hidden_parts(node))
    if len(nodes) > most:
        left = sum(node.value if isinstance(node.spec, More) else 1 for node in nodes[most:])
        yield (("place", " " * (_PLACE + 2 * depth)), ("note", f"and {left:,} more of {most + left:,}"))


def _format_line(node: Field, limits: Limits, depth: int, hidden: bool) -> Line:
    place = f"{node.source}:" if node.source else ""
    place += f"{node.offset}+{node.length}"
    (_, name), *rest = format_node(node, limits, hidden)
    return (("place", f"{place:<{_PLACE}}"), ("name", "  " * depth + name), *rest)


def format_node(node: Field, limits: Limits, hidden: bool) -> Line:
    """Formats a node: name, value, text and type; `hidden`: it is below a secret."""
    line = [("name", safe_text(node.spec.name, LONGEST_TEXT))]
    secret = hidden or is_secret(node)
    value = mask_value(node) if secret or has_hidden_value(node) else node.value
    shown = _format_value(value, limits, structured=bool(node.children))
    if shown:
        style = "masked" if isinstance(value, Secret) and not limits.show_secrets else "value"
        line += [("", ": "), (style, shown)]
    text, failed = (None, False) if secret else format_label(node)
    if failed:
        return (line[0], ("error", f": {text}"))
    if text is not None:
        line.append(("text", f" ({safe_text(text, LONGEST_TEXT)})"))
    line.append(("type", f"  {safe_text(node.spec.type, LONGEST_TEXT)}"))
    return tuple(line)


def _format_value(value: Any, limits: Limits, structured: bool) -> str:
    if isinstance(value, Secret):
        if not limits.show_secrets:
            return f"redacted, {len(value)} long"
        value = value.reveal()
    if isinstance(value, str):
        return f'"{safe_text(value, LONGEST_TEXT)}"'
    if isinstance(value, bytes):
        head = value[: limits.bytes_limit]
        more = "..." if len(head) < len(value) else ""
        text = read_text(head, cut=bool(more))
        shown = head.hex() if text is None else f'"{safe_text(text, LONGEST_TEXT)}"'
        return f"{shown}{more} ({_format_bytes(len(value))})" if value else '""'
    if structured and (value is None or isinstance(value, dict | list)):
        return ""  # its children show it
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return safe_text(str(value), LONGEST_TEXT)
