"""Layouts as lines for people: columns that stand below each other, notes last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dissectors.kafka.describe.entries import Entry, Layout
from dissectors.kafka.tables import table

_INDENT = "  "
_FEW = 6
"""Values of an enum that are all named; of one with more its name is."""

_WIDEST = 60
"""What is longer than this does not move the next column; it only stands too far left."""

_SAID = {
    "error": "error code",
    "api": "API key",
    "timestamp": "milliseconds since 1970",
    "milliseconds": "milliseconds",
}


def columns(rows: Iterable[Sequence[str]], indent: str = _INDENT) -> list[str]:
    """Rows of cells as aligned lines."""
    found = [tuple(row) for row in rows]
    count = max(map(len, found), default=0)
    widths = [max((len(row[at]) for row in found if at < len(row) and len(row[at]) <= _WIDEST), default=0)
              for at in range(count)]  # fmt: skip
    lines = []
    for row in found:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append((indent + _INDENT.join(cells)).rstrip())
    return lines


def overview_lines(layout: Layout) -> list[str]:
    """All versions of a layout: field, type, versions, notes."""
    rows = [("field", "type", "versions", "")]
    rows += [(_INDENT * depth + entry.name, entry.type, entry.versions or "", _notes(entry))
             for depth, entry in _every(layout.entries, 0)]  # fmt: skip
    return columns(rows) if len(rows) > 1 else [_INDENT + "nothing"]


def guide_lines(title: str, layout: Layout) -> list[str]:
    """One version of a layout, as the protocol guide writes it: each name with what it consists of."""
    head = f"{title} => {_right(layout.entries, layout.is_flexible)}".rstrip()
    return [head, *columns(_productions(layout.entries, 1, layout.is_flexible), "")]


def _productions(entries: Sequence[Entry], depth: int, flexible: bool) -> Iterator[tuple[str, str]]:
    for entry in entries:
        name = entry.name if entry.tag is None else f"{entry.name}<tag: {entry.tag}>"
        right = entry.type.upper() if entry.fields is None else _right(entry.fields, flexible)
        yield f"{_INDENT * depth}{name} => {right}".rstrip(), _notes(entry)
        yield from _productions(entry.fields or (), depth + 1, flexible)


def _right(entries: Sequence[Entry], flexible: bool) -> str:
    names = [f"[{entry.name}]" if entry.array is not None else entry.name for entry in entries if entry.tag is None]
    return " ".join([*names, "_tagged_fields"] if flexible else names)


def _every(entries: Sequence[Entry], depth: int) -> Iterator[tuple[int, Entry]]:
    for entry in entries:
        yield depth, entry
        yield from _every(entry.fields or (), depth + 1)


def _notes(entry: Entry) -> str:
    """All else that is known, in one order."""
    found = [entry.array.replace("_", " ")] if entry.array is not None else []
    if entry.nullable is not None and not (entry.array or "").count("nullable"):
        found.append(f"nullable {entry.nullable}".rstrip())
    if entry.tag is not None and entry.versions is not None:
        found.append(f"tag {entry.tag}")
    if entry.key:
        found.append("key")
    if entry.entity is not None:
        found.append(re.sub(r"([A-Z])", lambda found: f" {found[1].lower()}", entry.entity))
    if entry.enum is not None:
        found.append(_enum(entry.enum))
    if entry.secret:
        found.append("masked")
    if entry.default is not None:
        found.append(f"default {entry.default or 'empty'}")
    if entry.about is not None:
        found.append(entry.about)
    return "; ".join(found)


def _enum(name: str) -> str:
    if name in _SAID:
        return _SAID[name]
    values = table("enums").get(name, {})
    if not 0 < len(values) <= _FEW:
        return name
    return ", ".join(f"{number} {label}" for number, label in values.items())
