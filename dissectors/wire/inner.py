"""Walks decoded values of any kind, and the bytes of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dissectors.payload import Place
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.secret import Secret


def content(value: object) -> bytes | Secret | None:
    """Returns the bytes of a decoded value; None where it has none."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes | Secret) else None


def dicts(value: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yields every dict in a decoded value with its place, outer ones first, also in decoded bytes."""
    waiting: list[tuple[Place, Any]] = [(place, value)]
    while waiting:
        here, one = waiting.pop()
        if isinstance(one, EmbeddedValue):
            one = one.value
        if isinstance(one, dict):
            yield here, one
            waiting.extend(((*here, name), each) for name, each in reversed(one.items()) if not is_plain(each))
        elif not is_plain(one):
            waiting.extend(((*here, number), one[number]) for number in reversed(range(len(one))))


def is_plain(value: Any) -> bool:
    """Returns whether a value has no members."""
    return value is None or isinstance(value, str | bytes | int | float | Secret)


def find_within(values: Any, place: Place) -> Any:
    """Returns the value at a place inside another; None if there is none."""
    for step in place:
        if isinstance(values, EmbeddedValue):
            values = values.value
        if isinstance(step, str):
            values = values.get(step) if isinstance(values, dict) else None
        elif isinstance(values, dict) or is_plain(values) or not step < len(values):
            return None
        else:
            values = values[step]
    return values
