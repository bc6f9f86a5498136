"""Writes the rows of a RowTable as JSON text, many at once.

Theory. Each row is a line of a matrix of bytes (json_lines.py). The items of a nested list have lines of their own
below the line of their row: a row's line ends with the opening bracket of the list, and the line of the next row begins
by closing it. So a list costs as much as its items, and the lines in order are the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analyzer.decode.json_lines import Bytes, Ints, JsonLineMatrix, Unwritable
from dissectors.wire.flat import FlatColumns, NestedColumn, RowTable, Slices

_MATRIX = 1 << 20
"""Largest size of a matrix in bytes, so that it stays in the processor's cache."""

_ROWS = 4096
_ROWS_LEAST = 8
"""Number of rows below which no matrix is made: such rows are so long that a matrix saves no time."""

_FEW = 128
"""Limit of bytes values up to which the size estimate takes the limit itself and does not look at the lengths."""

_ROW = 256
"""Approximate bytes of a line without its values."""


class JsonTableWriter:
    """Writes RowTables. The text of the last window of rows is kept, because the tables of a batch share their columns.

    limit: number of bytes shown of each bytes value; None for all.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._window: _Window | None = None
        self._unwritable_of: FlatColumns | None = None
        self._unwritable_until = 0

    def format_table(self, table: RowTable) -> bytes:
        """Returns the JSON text of a list of rows. Raises Unwritable if the general writer must write it."""
        columns, at = table.columns, table.start
        closing = _find_closing(columns)
        parts: list[bytes | memoryview] = []  # views: a batch can have megabytes of text
        while at < table.stop:
            window = self._window
            if window is None or window.columns is not columns or not window.start <= at < window.stop:
                window = self._window = self._open_window(columns, at, table.stop)
            stop = min(table.stop, window.stop)
            parts.append(window.slice_text(at, stop))
            at = stop
        if parts:
            parts[0] = parts[0][len(closing) + 1 :]  # the first row closes none
            parts.append(closing)
        return b"".join((b"[", *parts, b"]"))

    def find_ready_text(self, table: RowTable, most: int) -> bytes | None:
        """Returns the text of a list if it was made before.

        Returns None if there is none, if it is not safe for terminals, or if the list has more than `most` rows. Lists
        in similar messages are many and short, so this lookup must be cheaper than writing them.
        """
        window = self._window
        if window is None or window.columns is not table.columns or not window.plain:
            return None
        first, last = table.start - window.start, table.stop - window.start
        if first < 0 or last >= len(window.begins) or last - first > most:
            return None
        return _format_list(window.rows, window.begins[first], window.begins[last], window.columns)

    def _open_window(self, columns: FlatColumns, at: int, stop: int) -> _Window:
        """Returns a window that begins at a row. If some of its rows cannot be written, it ends with the list."""
        if self._unwritable_of is not columns:
            self._unwritable_of, self._unwritable_until = columns, 0
        if at >= self._unwritable_until:
            most = min(at + _ROWS, columns.rows)
            try:
                return _write_window(columns, at, most, self._limit)
            except Unwritable:
                self._unwritable_until = most
        return _write_window(columns, at, min(stop, at + _ROWS), self._limit)

    def forget(self) -> None:
        """Drops the last columns and their text."""
        self._window = self._unwritable_of = None


class _Window(NamedTuple):
    """Holds the text of the rows of `columns` from `start` up to `stop`; `begins` has the offset of each row.

    plain: the text is printable ASCII, so it cannot control a terminal.
    """

    columns: FlatColumns
    start: int
    stop: int
    rows: bytes
    begins: list[int]
    plain: bool

    def slice_text(self, start: int, stop: int) -> memoryview:
        """Returns the text of some rows. Each begins with the bracket that closes the row before it."""
        return memoryview(self.rows)[self.begins[start - self.start] : self.begins[stop - self.start]]


def _make_window(columns: FlatColumns, start: int, stop: int, lines: Bytes, first: Ints) -> _Window:
    """Returns a window from lines; `first` has the first line of each row."""
    ends = np.zeros(len(lines) + 1, np.int64)
    written = lines != 0
    np.cumsum(np.add.reduce(written.view(np.uint8), axis=1, dtype=np.uint32), out=ends[1:])
    text = lines[written].tobytes()
    plain = text.isascii() and b"\x7f" not in text
    return _Window(columns, start, stop, text, ends[first].tolist(), plain)


def _format_list(rows: bytes, begin: int, end: int, columns: FlatColumns) -> bytes:
    """Returns the rows from `begin` to `end` as a list, without the bracket before the first one."""
    closing = _find_closing(columns)
    return b"[%b%b]" % (rows[begin + len(closing) + 1 : end], closing) if begin < end else b"[]"


def _find_closing(columns: FlatColumns) -> bytes:
    return b"]}" if isinstance(columns.columns[-1], NestedColumn) else b"}"


def _write_window(columns: FlatColumns, start: int, stop: int, limit: int | None) -> _Window:
    """Writes rows up to `stop`, or as many of them as fit into a matrix. Raises Unwritable."""
    while (size := _estimate_size(columns, start, stop, limit)) > _MATRIX:
        stop = start + (stop - start) * _MATRIX // (size + _MATRIX)
        if stop - start < _ROWS_LEAST:
            raise Unwritable
    rows = stop - start
    outer = JsonLineMatrix(rows)
    outer.add_text(_find_closing(columns) + b",")
    outer.add_columns(columns, start, stop, limit)
    nested = columns.columns[-1]
    if not isinstance(nested, NestedColumn):
        return _make_window(
            columns, start, stop, outer.write_into(np.empty((rows, outer.width), np.uint8)), np.arange(rows + 1)
        )
    ends = np.asarray(nested.ends[start : stop + 1])
    behind = ends - ends[0]
    items, first = int(behind[-1]), np.arange(rows + 1) + behind
    if not items:
        return _make_window(columns, start, stop, outer.write_into(np.empty((rows, outer.width), np.uint8)), first)
    inner = JsonLineMatrix(items)
    inner.add_text(b",")
    inner.add_columns(nested.rows, int(ends[0]), int(ends[-1]), limit)
    inner.add_text(b"}")
    width = max(outer.width, inner.width)
    stack = np.zeros((rows + items, width), np.uint8)
    outer.write_into(stack[:rows])
    inner.write_into(stack[rows:])[behind[:-1][behind[1:] > behind[:-1]], 0] = 0  # no comma before the first of a list
    order = np.empty(rows + items, np.int64)
    within = np.ones(rows + items, bool)
    within[first[:-1]] = False
    order[first[:-1]] = np.arange(rows)
    order[within] = np.arange(rows, rows + items)
    return _make_window(columns, start, stop, stack[order], first)


def _estimate_size(columns: FlatColumns, start: int, stop: int, limit: int | None) -> int:
    """Returns the approximate bytes of a matrix of these rows."""
    rows, width, inner = stop - start, _ROW, 0
    for column in columns.columns:
        if isinstance(column, Slices):
            if column.text or limit is None or limit > _FEW:
                longest = int(np.maximum.reduce(np.asarray(column.length[start:stop]), initial=0))
                width += 2 * (longest if column.text or limit is None else min(longest, limit))
            else:
                width += 2 * limit
        elif isinstance(column, NestedColumn):
            first, last = np.asarray(column.ends[start : stop + 1])[[0, -1]].tolist()
            inner = _estimate_size(column.rows, first, last, limit)
    return max(rows * width, inner)
