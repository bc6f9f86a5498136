"""Finds the values at a path in a decoded body.

Theory. A path is a list of names from the body inwards. A list on the path, or at its end, stands for each of its
elements. Bytes have the members that JSON shows (`hex`, `length`); bytes that contain a structure also have `as` and
`value`. Null is no value. An empty list at the end of a path is returned as it is, so that a test for presence finds
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dissectors.message import Path
from dissectors.symbolic_values import NestedValue
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.flat import RowTable
from dissectors.wire.secret import Secret

Leaves = Callable[[Any], list[Any]]

_OF_BYTES: dict[str, Callable[[Any], Any]] = {"length": len, "hex": bytes.hex}


class NestedLeaves(NamedTuple):
    """Stands for the values at `path` within a list that each message of a template has for itself."""

    nested: NestedValue
    path: Path


def find_leaves(value: Any, path: Path) -> list[Any]:
    """Returns the values at the end of a path, in the order of the message."""
    found: list[Any] = []
    _collect(value, path, 0, found)
    return found


def _collect(value: Any, path: Path, at: int, found: list[Any]) -> None:
    while at < len(path):
        if type(value) is dict:
            value = value.get(path[at])
        elif type(value) is NestedValue:
            found.append(NestedLeaves(value, path[at:]))
            return
        elif isinstance(value, list | tuple | RowTable):
            for each in value:
                _collect(each, path, at, found)
            return
        else:
            value = _find_member(value, path[at])
        if value is None:
            return
        at += 1
    if type(value) is NestedValue:
        found.append(NestedLeaves(value, ()))
    elif isinstance(value, list | tuple | RowTable):
        if len(value):
            for each in value:
                _collect(each, path, at, found)
        else:
            found.append([])
    elif value is not None:
        found.append(value)


def _find_member(value: Any, name: str) -> Any:
    """Returns the member of bytes, of a structure in bytes, or of a secret."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, EmbeddedValue):
        if name in ("value", "as"):
            return value.value if name == "value" else value.name
        value = value.data
    if isinstance(value, bytes) and name in _OF_BYTES:
        return _OF_BYTES[name](value)
    return len(value) if isinstance(value, Secret) and name == "length" else None


def list_texts(value: Any) -> Iterator[str]:
    """Yields the texts of a decoded value: texts, numbers, and bytes that are text, but no secrets."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from list_texts(each)
    elif isinstance(value, list | tuple | RowTable):
        for each in value:
            yield from list_texts(each)
    elif isinstance(value, EmbeddedValue):
        yield from list_texts(value.value)
        yield from list_texts(value.data)
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
