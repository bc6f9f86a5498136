"""Groups messages: by keys of rows, by fields, by subject, by time.

Theory. The value that rows are grouped by becomes a small number for each row, with a list of the values. A key of the
index is such a column already. A field of bodies is read for the rows that have one; a message with several topics is
in the group of each. A message without a value is in the group None, so no message is lost. If rows are grouped by two
keys, each is in every pair of its groups.

Theory. Aligned intervals stand for the same times in every capture, so two captures can be compared. Their length is a
usual unit of time, the shortest with which they fit into a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, list_distinct, make_group_keys, rank_in_runs
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES
from analyzer.errors import UserError
from analyzer.processes.jobs import divide, map_in_order
from analyzer.query.fields import FieldKind, FieldPath, FieldReader, UnknownField, find_field
from analyzer.query.fields.dense import ChoiceColumn, Dense
from analyzer.query.response_errors import ErrorColumn, Looked
from dissectors import registry
from dissectors.slotted import make_slotted
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.fast_path import distinct
from dissectors.wire.secret import Secret

TIME, ERROR = "time", "error"
SECRET = "(secret)"


class RowGroups(NamedTuple):
    """Entries: the index of a row (ascending), and the number of its group; `labels` are the values of the numbers.

    places: None if each row is in one group, in order.
    """

    places: Ints | None
    keys: Ints
    labels: list[Any]

    def take(self, column: Array) -> Array:
        """Returns the value of a column of rows for each entry."""
        return column if self.places is None else column[self.places]


class Grouping:
    """Groups the same rows by any name."""

    def __init__(
        self, reader: RowReader, rows: Ints, reported: ErrorColumn | None, intervals: Intervals | None, looked: Looked
    ) -> None:
        self._reader, self._rows, self._looked = reader, rows, looked
        self._reported, self._intervals = reported, intervals

    def in_intervals(self, intervals: Intervals) -> Grouping:
        """Returns this grouping with other intervals of time."""
        return Grouping(self._reader, self._rows, self._reported, intervals, self._looked)

    def group_by(self, names: Sequence[str]) -> RowGroups:
        """Groups the rows by each combination of names; labels are tuples. Raises UserError for an unknown name."""
        groups = [self._single(name) for name in names]
        first, *rest = groups
        found = RowGroups(first.places, first.keys, [(label,) for label in first.labels])
        for other in rest:
            found = _cross_columns(found, other, len(self._rows))
        return found

    def _single(self, name: str) -> RowGroups:
        if name == TIME and self._intervals is not None:
            keys, labels = self._intervals.number_times(self._reader.take_cells("time", self._rows))
            return RowGroups(None, keys, labels)
        if name == ERROR and self._reported is not None:
            keys = np.zeros(len(self._rows), np.int64)
            keys[self._reported.places] = self._reported.numbers + 1
            return RowGroups(None, keys, [None, *(name for _, name in self._reported.kinds)])
        field = field_of(name)
        if field.is_cheap:
            columns = FieldReader(self._reader, [field]).read_columns(field, self._rows)
            if columns is not None:
                return _join_columns([_of_column(column) for column in columns])
        return self._of_values(field)

    def _of_values(self, field: FieldPath) -> RowGroups:
        """Groups rows by the values of a field; a value counts once in a row."""
        jobs, known = self._reader.session.jobs, _Labels()
        places, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        reading, parts = FieldReader(self._reader, [field]), divide(len(self._rows), jobs, TOGETHER)
        for part, found in zip(parts, map_in_order(partial(self._read_part, reading, field), parts, jobs), strict=True):
            assert found.places is not None
            places.append(found.places + part.start)
            numbers.append(known.numbers(found.labels)[found.keys])
            self._looked(part.stop, len(self._rows))
        return _with_nothing(np.concatenate(places), np.concatenate(numbers), known, len(self._rows))

    def _read_part(self, reading: FieldReader, field: FieldPath, part: range) -> RowGroups:
        """Returns the values of a field in some of the rows; of equal values, the first one is the label."""
        places, numbers, known = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], _Labels()
        begin = 0
        for rows in split_rows(self._reader.session, self._rows[part.start : part.stop], TOGETHER, TOGETHER_BYTES):
            found = reading.read_values(field, rows)
            places.append(found.places + begin)
            numbers.append(known.numbers(found.values))
            reading.forget()
            begin += len(rows)
        return RowGroups(np.concatenate(places), np.concatenate(numbers), known.labels)


class _Labels:
    """Numbers values in order of first use, from 1; 0 stands for None."""

    def __init__(self) -> None:
        self.labels: list[Any] = [None]
        self._numbers: dict[Any, int] = {}

    def numbers(self, values: Sequence[Any]) -> Ints:
        """Returns the number of each value; 0 for one that is no plain value."""
        return np.fromiter(map(self._number, values), np.int64, len(values))

    def _number(self, value: Any) -> int:
        if isinstance(value, EmbeddedValue):
            value = value.data
        if isinstance(value, Secret):
            value = SECRET
        if value is None or isinstance(value, (list, dict)):
            return 0
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.labels)
            self.labels.append(value)
        return found


def field_of(name: str) -> FieldPath:
    """Returns the field by which messages are grouped. Raises UserError."""
    try:
        field = find_field(name)
    except UnknownField as error:
        raise UserError(f"--by {name}: {error}") from None
    if field.kind is FieldKind.STRUCT:
        raise UserError(
            f"--by {name}: This is a structure. Give one of its fields; wireanalyze fields {name} lists them."
        )
    if field.kind is FieldKind.PRESENCE and name in registry.names():
        raise UserError(f"--by {name}: This is a protocol. Give one of its fields, or use --by protocol.")
    return field


def _of_column(column: Dense) -> RowGroups:
    if isinstance(column, ChoiceColumn):
        numbers, keys = distinct(np.maximum(column.numbers, -1))  # all negative numbers are no value
        known = _Labels()  # several numbers may stand for the same value, such as an endpoint in several streams
        again = known.numbers([column.choices.value(each) if each >= 0 else None for each in numbers.tolist()])
        return RowGroups(None, again[keys], known.labels)
    null = np.zeros(len(column.numbers), bool) if column.null is None else column.null
    if not null.any():
        numbers, keys = distinct(column.numbers)
        return RowGroups(None, keys, numbers.tolist())
    numbers, keys = distinct(column.numbers[~null])
    found = np.zeros(len(null), np.int64)
    found[~null] = keys + 1
    return RowGroups(None, found, [None, *numbers.tolist()])


def _join_columns(columns: Sequence[RowGroups]) -> RowGroups:
    """Puts rows into a group of each column, such as an address of either side."""
    first, *rest = columns
    if not rest:
        return first
    known, count = _Labels(), len(first.keys)
    numbers = [known.numbers(column.labels)[column.keys] for column in columns]
    return _with_nothing(np.tile(np.arange(count), len(columns)), np.concatenate(numbers), known, count)


def _with_nothing(places: Ints, numbers: Ints, known: _Labels, count: int) -> RowGroups:
    """Returns entries in the order of rows, without duplicates; a row without a group is in the group None."""
    missing: Bools = np.ones(count, bool)
    missing[places[numbers > 0]] = False
    places = np.concatenate((places[numbers > 0], np.flatnonzero(missing)))
    numbers = np.concatenate((numbers[numbers > 0], np.zeros(int(missing.sum()), np.int64)))
    width = len(known.labels)
    both = list_distinct(places * width + numbers)
    return RowGroups(both // width, both % width, known.labels)


def _cross_columns(one: RowGroups, other: RowGroups, count: int) -> RowGroups:
    """Puts each of `count` rows into every pair of its groups."""
    places, columns = None, [one.keys, other.keys]
    if one.places is not None or other.places is not None:
        mine, theirs = (np.arange(count) if each.places is None else each.places for each in (one, other))
        many = np.bincount(theirs, minlength=count)
        repeated = many[mine]
        places = np.repeat(mine, repeated)
        partner = np.repeat((np.cumsum(many) - many)[mine], repeated) + rank_in_runs(repeated)
        columns = [np.repeat(one.keys, repeated), other.keys[partner]]
    (first, second), keys = make_group_keys(columns)
    labels = [(*one.labels[a], other.labels[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return RowGroups(places, keys, labels)


SECOND = 10**9
MOST = 60
"""Number of intervals that fit into a line of a screen."""

LIMIT = 10_000
"""Number of intervals above which those without a message are left out."""

_SMALL = [step * 10**power for power in range(9) for step in (1, 2, 5)]
_LARGE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400]
LENGTHS = (*_SMALL, *(seconds * SECOND for seconds in _LARGE))


@make_slotted
class Intervals:
    """Consecutive intervals of time, each `length` ns long."""

    length: int

    @classmethod
    def fitting(cls, first: int, last: int, most: int = MOST) -> Intervals:
        """Chooses the shortest usual length with which `most` intervals span the time between two times (ns)."""
        for length in LENGTHS:
            if last // length - first // length < most:
                return cls(length)
        day = LENGTHS[-1]
        return cls(day * -(-(last // day - first // day + 1) // (most - 1)))

    def number_times(self, times: Ints) -> tuple[Ints, list[int]]:
        """Returns the interval of each time, numbered from 0, and the beginning of each interval (ns)."""
        if not len(times):
            return np.zeros(0, np.int64), []
        numbers = times // self.length
        first, last = int(numbers.min()), int(numbers.max())
        if last - first < LIMIT:
            return numbers - first, [number * self.length for number in range(first, last + 1)]
        there, keys = np.unique(numbers, return_inverse=True)
        return keys, (there * self.length).tolist()
