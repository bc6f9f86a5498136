"""Values of several fields as they are read: in columns of row numbers and values, not as an object for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Ints


class Values(NamedTuple):
    """Values of a field: of message `rows[n]` (rising) the value n; an array where all are integers."""

    rows: Ints
    values: Array | list[Any]


NO_VALUES = Values(np.zeros(0, np.int64), [])


class Gathering:
    """Values as they come, of several fields."""

    def __init__(self, fields: int) -> None:
        self._parts: list[list[Values]] = [[] for _ in range(fields)]
        self._rows: list[list[int]] = [[] for _ in range(fields)]
        self._values: list[list[Any]] = [[] for _ in range(fields)]

    def add(self, field: int, found: Values) -> None:
        """Values of rows; a row as often as it has some."""
        self._parts[field].append(found)

    def note(self, row: int, found: Sequence[Sequence[Any]]) -> None:
        """The values of each field in one row."""
        for field, values in enumerate(found):
            if values:
                self._rows[field] += [row] * len(values)
                self._values[field] += values

    def of(self, field: int) -> Values:
        """The values of a field, by row."""
        return joined([*self._parts[field], Values(np.array(self._rows[field], np.int64), self._values[field])])


class Gathered:
    """Values that have been read, and of which rows."""

    def __init__(self, fields: int) -> None:
        self._rows: Ints = np.zeros(0, np.int64)
        self._fields = [NO_VALUES] * fields

    def missing(self, rows: Ints) -> Ints:
        """Those of `rows` (rising) that have not been read."""
        if not len(self._rows):
            return rows
        place = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        missing: Ints = rows[self._rows[place] != rows]
        return missing

    def add(self, rows: Ints, new: Gathering) -> None:
        """Takes what was read of these rows."""
        first = not len(self._rows)
        self._rows = rows if first else np.sort(np.concatenate((self._rows, rows)))
        for field, known in enumerate(self._fields):
            self._fields[field] = new.of(field) if first else joined([known, new.of(field)])

    def of(self, field: int, rows: Ints) -> Values:
        """The values of a field in `rows` (rising, all read), by place among them."""
        found = self._fields[field]
        if not len(rows) or not len(found.rows):
            return NO_VALUES
        place = np.minimum(np.searchsorted(rows, found.rows), len(rows) - 1)
        mine = rows[place] == found.rows
        here = Values(place, found.values)
        return here if mine.all() else chosen(here, np.flatnonzero(mine))


def joined(parts: Sequence[Values]) -> Values:
    """Several columns as one, by row; values of one row stay in their order."""
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
        values = [value for part in parts for value in listed(part.values)]
    if (rows[1:] >= rows[:-1]).all():
        return Values(rows, values)
    return chosen(Values(rows, values), np.argsort(rows, kind="stable"))


def chosen(found: Values, places: Ints) -> Values:
    """Some of the values, in an order of their own."""
    if isinstance(found.values, list):
        return Values(found.rows[places], [found.values[place] for place in places.tolist()])
    return Values(found.rows[places], found.values[places])


def listed(values: Array | list[Any]) -> list[Any]:
    """Values as Python has them."""
    return values if isinstance(values, list) else values.tolist()
