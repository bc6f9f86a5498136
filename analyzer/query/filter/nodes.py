"""A filter's tree before checking: its words and their positions."""

from __future__ import annotations

from typing import TypeAlias

from analyzer.query.filter.errors import Span
from dissectors.slotted import make_slotted


@make_slotted
class Literal:
    """A value in a filter. text: without quotes; data: the same as bytes; raw: as a pattern uses it."""

    text: str
    data: bytes
    raw: str
    quoted: bool
    span: Span


@make_slotted
class Range:
    """A range `low..high` in a set, both ends included."""

    low: Literal
    high: Literal


@make_slotted
class Name:
    """A field in a filter, by its name."""

    name: str
    span: Span


@make_slotted
class SliceRange:
    """One range of a slice: `length` bytes or characters from `start`; None: all; negative: from the end."""

    start: int
    length: int | None


@make_slotted
class Slice:
    """Ranges of a value, concatenated."""

    value: Value
    cuts: tuple[SliceRange, ...]
    span: Span


@make_slotted
class Call:
    """A call of a function with a value."""

    function: str
    value: Value
    span: Span


Value: TypeAlias = Name | Slice | Call


@make_slotted
class Comparison:
    """A value and what it is compared with; without an operator, it tests for presence.

    operator: its name in analyzer.query.filter.operators. every: whether all values must match; None: the operator's
    default.
    """

    value: Value
    operator: str | None
    operands: tuple[Literal | Range, ...]
    every: bool | None
    span: Span


@make_slotted
class Not:
    """Matches rows that another node does not match."""

    part: Node


@make_slotted
class Junction:
    """Several parts joined by `and`, `or` or `xor`."""

    word: str
    parts: tuple[Node, ...]


@make_slotted
class NamedFilter:
    """A reference to a named filter with its tree, its place, and the text to which the tree's spans refer."""

    name: str
    part: Node
    text: str
    span: Span


Node: TypeAlias = Comparison | Not | Junction | NamedFilter
