"""Values within values, each with its type in front: lists, maps, and attributes around a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dissectors.errors import TooLarge
from dissectors.field import Field, FieldSpec
from dissectors.wire.reader import Reader
from dissectors.wire.specs import COUNT, Many, Wrapping

MOST_DEEP = 32


class Head(NamedTuple):
    """How a value begins, up to `stop`, where a plain one ends. head: bytes of it in front of the value.

    items: of a container, whose spec is Many for a list, a FieldSpec for a map, and Wrapping for a map of attributes,
    which stands in front of the value that they are about.
    """

    spec: FieldSpec
    stop: int
    value: object = None
    head: int = 0
    items: int | None = None


def read_value(reader: Reader, name: str, read_head: Callable[[Reader, str], Head], depth: int = 0) -> Field:
    """Reads a value with its attributes, and returns its node; texts that are keys of a map name what is in it."""
    if depth > MOST_DEEP:
        raise TooLarge(reader.path(name), reader.at, f"is nested more than {MOST_DEEP} deep")
    head = read_head(reader, name)
    if head.items is None:
        return reader.leaf(head.spec, head.value, head.stop, head.head)
    reader.enter(head.spec)
    node = reader.open[-1]
    reader.leaf(COUNT["int"], head.items, head.stop)
    for index in range(head.items):
        member: object = None
        if not isinstance(head.spec, Many):
            key = read_value(reader, "key", read_head, depth + 1)
            key.spec, member = Wrapping("key", key.spec.type), key.value
        read_value(reader, member if isinstance(member, str) else f"[{index}]", read_head, depth + 1)
    reader.leave()
    return read_value(reader, name, read_head, depth + 1) if isinstance(head.spec, Wrapping) else node
