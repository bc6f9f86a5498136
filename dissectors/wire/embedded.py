"""A bytes field that holds a structure: its encoding, and its content.

Theory. Protocols put messages into the bytes fields of others: a transaction into a proposal, a marker into a payload.
Callers want both the bytes and their content, so the value is an Embedded. If the content holds a secret, the bytes
hold it too and are a secret themselves.

Theory. A message may be too large for memory. Its reader then makes values of the first items of a list, and skips and
counts the others. Such a list looks like a shorter one; length_of() returns its true length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

from dissectors.field import FieldSpec
from dissectors.slotted import make_slotted
from dissectors.wire.secret import Secret


@make_slotted
class EmbeddedValue:
    """`data` as on the wire, `value` what it decodes to, `name` that of its schema if the protocol has one."""

    data: bytes | Secret
    value: Any
    name: str | None = None


@make_slotted
class Holder(FieldSpec):
    """A node of bytes whose children are the decoded content; `holds` names the schema."""

    holds: str | None = None


def embed(data: bytes | Secret, value: Any, name: str | None = None) -> EmbeddedValue:
    """Returns bytes with their content; secret where something in it is."""
    if not isinstance(data, Secret) and holds_secret(value):
        data = Secret(data)
    return EmbeddedValue(data, value, name)


def holds_secret(value: Any) -> bool:
    """Returns whether a decoded value contains a secret, or an undecoded part of it may."""
    if isinstance(value, dict):
        return any(map(holds_secret, value.values()))
    if isinstance(value, list):
        return (isinstance(value, CutList) and value.hides) or any(map(holds_secret, value))
    return isinstance(value, Secret) or (isinstance(value, EmbeddedValue) and isinstance(value.data, Secret))


class CutList(list[Any]):
    """The first items of a list of `length` items. hides: whether one of those that were not made may be a secret."""

    __slots__ = ("hides", "length")

    def __init__(self, items: Iterable[Any] = (), length: int = 0, *, hides: bool = False) -> None:
        super().__init__(items)
        self.length, self.hides = length, hides


def length_of(items: Sized) -> int:
    """Returns the number of items of a list, also of those that were not decoded."""
    return items.length if isinstance(items, CutList) else len(items)
