"""Layouts as JSON: what is so is there, what is not so is left out."""

from __future__ import annotations

from typing import Any

from dissectors.kafka.guide.entries import GuideLayout, format_versions
from dissectors.wire.guide.entry import entry_data


def layout_data(layout: GuideLayout) -> dict[str, Any]:
    """A layout with its versions and fields."""
    version = {} if layout.version is None else {"version": layout.version}
    return {
        "name": layout.name,
        **version,
        "versions": format_versions(layout.versions),
        "flexible": format_versions(layout.flexible) if layout.version is None else layout.is_flexible,
        "fields": [entry_data(entry) for entry in layout.entries],
    }
