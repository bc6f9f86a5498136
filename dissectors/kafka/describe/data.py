"""Layouts as JSON: what is so is there, what is not so is left out."""

from __future__ import annotations

from typing import Any

from dissectors.kafka.describe.entries import Entry, Layout, listed


def layout_data(layout: Layout) -> dict[str, Any]:
    """A layout with its versions and fields."""
    version = {} if layout.version is None else {"version": layout.version}
    return {
        "name": layout.name,
        **version,
        "versions": listed(layout.versions),
        "flexible": listed(layout.flexible) if layout.version is None else layout.is_flexible,
        "fields": [_entry(entry) for entry in layout.entries],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"name": entry.name, "type": entry.type}
    for name in ("versions", "array", "tag", "enum", "entity", "default", "about"):
        value = getattr(entry, name)
        if value is not None:
            found[name] = value
    if entry.nullable is not None:
        found["nullable"] = entry.nullable or True
    for name in ("key", "secret"):
        if getattr(entry, name):
            found[name] = True
    if entry.fields is not None:
        found["fields"] = [_entry(each) for each in entry.fields]
    return found
