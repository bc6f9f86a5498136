"""Entries as lines for people: columns that stand below each other, notes last."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from dissectors.wire.guide.entry import LayoutEntry

INDENT = "  "
_FEW = 6
"""Values of an enum that are all named; of one with more its name is."""

_WIDEST = 60
"""What is longer than this does not move the next column; it only stands too far left."""

_CLOSE, _MEANT = 0.6, 3

EnumText: TypeAlias = Callable[[str], str]
"""What is said of an enum by its name: a protocol knows the values."""


def columns(rows: Iterable[Sequence[str]], indent: str = INDENT) -> list[str]:
    """Returns rows of cells as aligned lines."""
    found = [tuple(row) for row in rows]
    count = max(map(len, found), default=0)
    widths = [max((len(row[at]) for row in found if at < len(row) and len(row[at]) <= _WIDEST), default=0)
              for at in range(count)]  # fmt: skip
    lines = []
    for row in found:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append((indent + INDENT.join(cells)).rstrip())
    return lines


def overview(entries: Sequence[LayoutEntry], enum: EnumText, versions: bool = True) -> list[str]:
    """Returns fields below each other: name, type, versions where there are any, notes."""
    middle = ("versions",) if versions else ()
    rows: list[tuple[str, ...]] = [("field", "type", *middle, "")]
    for depth, entry in _walk_entries(entries, 0):
        since = (entry.versions or "",) if versions else ()
        rows.append((INDENT * depth + entry.name, entry.type, *since, notes(entry, enum)))
    return columns(rows) if len(rows) > 1 else [INDENT + "nothing"]


def _walk_entries(entries: Sequence[LayoutEntry], depth: int) -> Iterator[tuple[int, LayoutEntry]]:
    for entry in entries:
        yield depth, entry
        yield from _walk_entries(entry.fields or (), depth + 1)


def notes(entry: LayoutEntry, enum: EnumText) -> str:
    """Returns the remaining notes about a field, in a fixed order."""
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
        found.append(enum(entry.enum))
    if entry.secret:
        found.append("masked")
    if entry.default is not None:
        found.append(f"default {entry.default or 'empty'}")
    if entry.about is not None:
        found.append(entry.about)
    return "; ".join(found)


def enum_text(name: str, phrases: Mapping[str, str], values: Mapping[str, str], few: int = _FEW) -> str:
    """Formats a few values with their names, or else the name of the enum."""
    if name in phrases:
        return phrases[name]
    if not 0 < len(values) <= few:
        return name
    return ", ".join(f"{number} {label}" for number, label in values.items())


def suggest_names(name: str, names: Sequence[str]) -> str:
    """Returns the names that are nearly this one, or have it in them, as the end of a sentence."""
    lower = {each.lower(): each for each in names}
    close = [lower[each] for each in get_close_matches(name, lower, _MEANT, _CLOSE)]
    if len(name) > _MEANT:
        close += [each for known, each in lower.items() if name in known and each not in close]
    return f". Did you mean {' or '.join(close[:_MEANT])}?" if close else ""
