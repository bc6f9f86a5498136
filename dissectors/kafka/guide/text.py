"""Layouts as lines for people: all versions in one table, or one version as the protocol guide writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dissectors.kafka.guide.entries import GuideLayout
from dissectors.kafka.tables import table
from dissectors.wire.guide.entry import Entry
from dissectors.wire.guide.text import INDENT, columns, enum_text, notes, overview

_SAID = {
    "error": "error code",
    "api": "API key",
    "timestamp": "milliseconds since 1970",
    "milliseconds": "milliseconds",
}


def overview_lines(layout: GuideLayout) -> list[str]:
    """All versions of a layout: field, type, versions, notes."""
    return overview(layout.entries, _enum)


def guide_lines(title: str, layout: GuideLayout) -> list[str]:
    """One version of a layout, as the protocol guide writes it: each name with what it consists of."""
    head = f"{title} => {_right(layout.entries, layout.is_flexible)}".rstrip()
    return [head, *columns(_productions(layout.entries, 1, layout.is_flexible), "")]


def _productions(entries: Sequence[Entry], depth: int, flexible: bool) -> Iterator[tuple[str, str]]:
    for entry in entries:
        name = entry.name if entry.tag is None else f"{entry.name}<tag: {entry.tag}>"
        right = entry.type.upper() if entry.fields is None else _right(entry.fields, flexible)
        yield f"{INDENT * depth}{name} => {right}".rstrip(), notes(entry, _enum)
        yield from _productions(entry.fields or (), depth + 1, flexible)


def _right(entries: Sequence[Entry], flexible: bool) -> str:
    names = [f"[{entry.name}]" if entry.array is not None else entry.name for entry in entries if entry.tag is None]
    return " ".join([*names, "_tagged_fields"] if flexible else names)


def _enum(name: str) -> str:
    return enum_text(name, _SAID, table("enums").get(name, {}))
