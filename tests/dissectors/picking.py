"""What tests of pickers share: the paths that a body has, and that a pick is what decoding gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.query.fields.getting import find_leaves
from dissectors.api import Context, Dissector
from dissectors.message import Path
from dissectors.wire.embedded import EmbeddedValue


def paths_in(value: Any, around: Path = ()) -> Iterator[Path]:
    """All paths of a decoded body, those within bytes too."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*around, name)
            yield from paths_in(inner, (*around, name))
    elif isinstance(value, list):
        for each in value:
            yield from paths_in(each, around)
    elif isinstance(value, EmbeddedValue):
        yield from paths_in(value.value, (*around, "value"))
    elif isinstance(value, bytes):
        yield (*around, "length")


def picked_alike(dissector: Dissector, data: bytes, context: Context, paths: frozenset[Path]) -> bool:
    """Whether it was picked; if so, it is what values() has."""
    pick = dissector.projection(context, paths)
    picked = None if pick is None else pick(data)
    if picked is None:
        return False
    values = dissector.values(data, context).values
    for path in paths:
        assert repr(find_leaves(picked, path)) == repr(find_leaves(values, path)), path
    return True
