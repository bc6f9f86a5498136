"""Checks conditions on many messages at once, those on numbers of one width together.

Theory. Nearly every condition compares a number with a constant, so all conditions on one number form an interval.
Numbers of one width in one segment become one matrix, which is compared with two rows of bounds. This takes three NumPy
calls; one condition at a time would take three calls each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.columns.cells import Cells
from dissectors.symbolic_values import (
    DECIMAL,
    FLOWING,
    OPPOSITES,
    RUN,
    UVARINT,
    ZIGZAG,
    Condition,
    DerivedInteger,
    Term,
)

LEAST, MOST = -(1 << 63), (1 << 63) - 1
_UNLIKE = (UVARINT, ZIGZAG, FLOWING, RUN, DECIMAL)
"""Codes of numbers that NumPy cannot view as integers."""

_INTERVALS: dict[str, Callable[[int], tuple[int, int]]] = {
    "lt": lambda other: (LEAST, other - 1),
    "le": lambda other: (LEAST, other),
    "gt": lambda other: (other + 1, MOST),
    "ge": lambda other: (other, MOST),
    "eq": lambda other: (other, other),
}


class BoundsBlock(NamedTuple):
    """Holds bounds for k numbers of one width in a segment: `columns` of their bytes (k * width), least and most."""

    segment: int
    columns: Ints
    kind: str
    least: Ints
    most: Ints

    def find_matches(self, segment: Cells) -> Bools:
        """Returns which rows of the segment are within all bounds (bool, n)."""
        numbers: Array = segment.take(self.columns, axis=1).view(self.kind)
        within: Bools = (numbers >= self.least) & (numbers <= self.most)
        found: Bools = np.logical_and.reduce(within, axis=1)
        return found


class IntegerBlock(NamedTuple):
    """Holds k numbers of one width in a segment: `columns` of their bytes (k * width)."""

    segment: int
    columns: Ints
    kind: str
    terms: Sequence[Term]

    def read_numbers(self, segment: Cells) -> Ints:
        """Returns the numbers in all rows of the segment (k, n)."""
        return np.ascontiguousarray(segment.take(self.columns, axis=1).view(self.kind).T, np.int64)


def find_blocks(
    terms: Iterable[Term | DerivedInteger], place: Callable[[int], tuple[int, int]]
) -> Sequence[IntegerBlock]:
    """Returns blocks for those numbers that NumPy can view as integers. place: Template.locate."""
    alike: dict[tuple[int, str], dict[Term, int]] = {}
    for term in terms:
        if isinstance(term, Term) and not term.negated and term.code not in (*_UNLIKE, "Q"):
            segment, inside = place(term.at)
            kind = f">{'u' if term.code.isupper() else 'i'}{term.size}"
            alike.setdefault((segment, kind), {})[term] = inside
    return [
        IntegerBlock(segment, _list_columns(list(found.values()), int(kind[2:])), kind, list(found))
        for (segment, kind), found in alike.items()
    ]


def _list_columns(inside: Sequence[int] | Ints, size: int) -> Ints:
    """Returns the columns of all bytes of numbers, by their first bytes."""
    found: Ints = (np.asarray(inside)[:, None] + np.arange(size)).reshape(-1)
    return found


def split_conditions(
    conditions: Iterable[Condition], place: Callable[[int], tuple[int, int]]
) -> tuple[Sequence[BoundsBlock], Sequence[Condition]]:
    """Returns blocks for the conditions on one signed number each, and all other conditions. place: Template.locate."""
    intervals: dict[Term, tuple[int, int]] = {}
    others: list[Condition] = []
    for condition in conditions:
        term, interval = condition.terms[0], _find_interval(condition)
        if interval is None or not isinstance(term, Term):
            others.append(condition)
        else:
            least, most = intervals.get(term, (LEAST, MOST))
            intervals[term] = max(least, interval[0]), min(most, interval[1])
    alike: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for term, bounds in intervals.items():
        segment, inside = place(term.at)
        alike.setdefault((segment, term.size), []).append((inside, *bounds))
    return [_make_block(segment, size, found) for (segment, size), found in alike.items()], others


def _find_interval(condition: Condition) -> tuple[int, int] | None:
    """Returns the numbers (least, most) that meet a condition; None if they are no interval of one signed number."""
    (term, *more), constant, name, other, outcome = condition
    if more or not isinstance(term, Term) or term.negated or term.code in _UNLIKE or term.code.isupper():
        return None
    make = _INTERVALS.get(name if outcome else OPPOSITES[name])
    least, most = (1, 0) if make is None else make(other - constant)
    return (least, most) if LEAST <= least <= most <= MOST else None


def _make_block(segment: int, size: int, found: Sequence[tuple[int, int, int]]) -> BoundsBlock:
    inside, least, most = (np.array(column, np.int64) for column in zip(*found, strict=True))
    return BoundsBlock(segment, _list_columns(inside, size), f">i{size}", least, most)
