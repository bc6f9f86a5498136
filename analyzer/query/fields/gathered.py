"""Collects values of several fields, in columns of row numbers and values instead of an object for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Ints


class FieldValues(NamedTuple):
    """Holds values of a field: value n belongs to row `rows[n]` (ascending); an array if all are integers."""

    rows: Ints
    values: Array | list[Any]


NO_VALUES = FieldValues(np.zeros(0, np.int64), [])


class FieldCollector:
    """Collects values of several fields."""

    def __init__(self, fields: int) -> None:
        self._parts: list[list[FieldValues]] = [[] for _ in range(fields)]
        self._rows: list[list[int]] = [[] for _ in range(fields)]
        self._values: list[list[Any]] = [[] for _ in range(fields)]

    def add(self, field: int, found: FieldValues) -> None:
        """Adds values of rows; a row occurs once for each of its values."""
        self._parts[field].append(found)

    def add_row(self, row: int, found: Sequence[Sequence[Any]]) -> None:
        """Adds the values of each field in one row."""
        for field, values in enumerate(found):
            if values:
                self._rows[field] += [row] * len(values)
                self._values[field] += values

    def collect_field(self, field: int) -> FieldValues:
        """Returns the values of a field, ordered by row."""
        return join_values(
            [*self._parts[field], FieldValues(np.array(self._rows[field], np.int64), self._values[field])]
        )


class FieldCache:
    """Caches values of fields, with the rows that they belong to."""

    def __init__(self, fields: int) -> None:
        self._rows: Ints = np.zeros(0, np.int64)
        self._fields = [NO_VALUES] * fields

    def find_missing(self, rows: Ints) -> Ints:
        """Returns those of `rows` (ascending) that have not been read."""
        if not len(self._rows):
            return rows
        place = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        missing: Ints = rows[self._rows[place] != rows]
        return missing

    def add(self, rows: Ints, new: FieldCollector) -> None:
        """Adds the values that were read from these rows."""
        first = not len(self._rows)
        self._rows = rows if first else np.sort(np.concatenate((self._rows, rows)))
        for field, known in enumerate(self._fields):
            self._fields[field] = new.collect_field(field) if first else join_values([known, new.collect_field(field)])

    def read_field(self, field: int, rows: Ints) -> FieldValues:
        """Returns the values of a field in `rows` (ascending, all read), by index in `rows`."""
        found = self._fields[field]
        if not len(rows) or not len(found.rows):
            return NO_VALUES
        place = np.minimum(np.searchsorted(rows, found.rows), len(rows) - 1)
        mine = rows[place] == found.rows
        here = FieldValues(place, found.values)
        return here if mine.all() else pick_values(here, np.flatnonzero(mine))


def join_values(parts: Sequence[FieldValues]) -> FieldValues:
    """Merges several columns into one, by row; the values of one row keep their order."""
    parts = [part for part in parts if len(part.rows)]
    if not parts:
        return NO_VALUES
    values: Array | list[Any]
    rows = np.concatenate([part.rows for part in parts])
    if len(parts) == 1:
        values = parts[0].values
    elif all(isinstance(part.values, np.ndarray) for part in parts):
        values = np.concatenate([part.values for part in parts])
    else:
        values = [value for part in parts for value in make_list(part.values)]
    if (rows[1:] >= rows[:-1]).all():
        return FieldValues(rows, values)
    return pick_values(FieldValues(rows, values), np.argsort(rows, kind="stable"))


def pick_values(found: FieldValues, places: Ints) -> FieldValues:
    """Returns some of the values, in the order of `places`."""
    if isinstance(found.values, list):
        return FieldValues(found.rows[places], [found.values[place] for place in places.tolist()])
    return FieldValues(found.rows[places], found.values[places])


def make_list(values: Array | list[Any]) -> list[Any]:
    """Returns values as Python objects."""
    return values if isinstance(values, list) else values.tolist()
