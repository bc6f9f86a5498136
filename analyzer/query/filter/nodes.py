"""Nodes of a compiled filter, and errors with their place."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from analyzer.errors import UserError
from dissectors.slotted import make_slotted

SHOWN = 40
"""Characters of a filter that an error repeats."""


class Span(NamedTuple):
    """Characters `start` up to `stop` of a filter's text, from 0."""

    start: int
    stop: int


class FilterError(UserError):
    """A mistake in a filter. `why` says what is wrong at `span` of `text`; str() shows the place, too."""

    def __init__(self, text: str, span: Span, why: str) -> None:
        self.text, self.span, self.why = text, span, why
        cut = text[span.start : span.stop]
        shown = f" at {cut[:SHOWN]}{'...' if len(cut) > SHOWN else ''}" if cut else " at its end"
        super().__init__(f"Filter, character {span.start + 1}{shown}: {why}{'' if why.endswith(('.', '?')) else '.'}")


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
