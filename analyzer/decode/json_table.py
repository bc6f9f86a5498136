"""The rows of a Table as JSON text, many at once.

Theory. Each row is a line of a matrix of bytes (json_lines.py). Lists within rows are lines of their own below the line
of their row: a row's line ends with the open bracket, and the line of the next row begins by closing it. So a list of
any length costs what its items cost, and the lines in their order are the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analyzer.decode.json_lines import Bytes, Ints, JsonLineMatrix, Unwritable
from dissectors.wire.flat import FlatColumns, NestedColumn, RowTable, Slices

_MATRIX = 1 << 20
"""Bytes of a matrix at most: what stays in the processor's cache."""

_ROWS = 4096
_ROWS_LEAST = 8
"""Rows below which a matrix is not made: they are so long that it saves nothing."""

_FEW = 128
"""Bytes of a value that are taken to be shown before it is looked how many there are."""

_ROW = 256
"""Bytes of a line besides what is shown of its values, roughly."""


class JsonTableWriter:
    """Writes Tables. What was made for one is kept while the next ones lie in the same columns, as batches do.

    limit: of each bytes value so many bytes are shown; None for all.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._window: _Window | None = None
        self._unwritable_of: FlatColumns | None = None
        self._unwritable_until = 0

    def format_table(self, table: RowTable) -> bytes:
        """Returns the JSON text of a list of rows. Raises Unwritable where it is to be written as any list is."""
        columns, at = table.columns, table.start
        parts = []
        while at < table.stop:
            window = self._window
            if window is None or window.columns is not columns or not window.start <= at < window.stop:
                window = self._window = self._open_window(columns, at, table.stop)
            stop = min(table.stop, window.stop)
            parts.append(window.slice_text(at, stop))
            at = stop
        text = b"".join(parts)
        return _format_list(text, 0, len(text), columns)

    def find_ready_text(self, table: RowTable, most: int) -> bytes | None:
        """Returns the text of a list that was made before.

        None if there is none, if it is not safe for terminals, or if the list has more than `most` rows.

        Lists of alike messages are many and short: to look them up may not cost more than to write them.
        """
        window = self._window
        if window is None or window.columns is not table.columns or not window.plain:
            return None
        first, last = table.start - window.start, table.stop - window.start
        if first < 0 or last >= len(window.begins) or last - first > most:
            return None
        return _format_list(window.rows, window.begins[first], window.begins[last], window.columns)

    def _open_window(self, columns: FlatColumns, at: int, stop: int) -> _Window:
        """A window that begins at a row. Where a row in it can't be written, the others do not go with it."""
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
        """Lets go of the last columns."""
        self._window = self._unwritable_of = None


class _Window(NamedTuple):
    """The text of the rows of `columns` from `start` up to `stop`; that of each begins at its place in `begins`.

    plain: nothing in it could act on a terminal.
    """

    columns: FlatColumns
    start: int
    stop: int
    rows: bytes
    begins: list[int]
    plain: bool

    def slice_text(self, start: int, stop: int) -> bytes:
        """The text of some of them: each row behind what closes the one before it."""
        return self.rows[self.begins[start - self.start] : self.begins[stop - self.start]]


def _make_window(columns: FlatColumns, start: int, stop: int, lines: Bytes, first: Ints) -> _Window:
    """The text of rows in `lines`; those of a row begin at its place in `first`."""
    ends = np.zeros(len(lines) + 1, np.int64)
    written = lines != 0
    np.cumsum(np.add.reduce(written.view(np.uint8), axis=1, dtype=np.uint32), out=ends[1:])
    text = lines[written].tobytes()
    plain = text.isascii() and b"\x7f" not in text
    return _Window(columns, start, stop, text, ends[first].tolist(), plain)


def _format_list(rows: bytes, begin: int, end: int, columns: FlatColumns) -> bytes:
    """The rows from `begin` to `end` as a list: the first has none before it to close, and nothing closes the last."""
    closing = _find_closing(columns)
    return b"[%b%b]" % (rows[begin + len(closing) + 1 : end], closing) if begin < end else b"[]"


def _find_closing(columns: FlatColumns) -> bytes:
    return b"]}" if isinstance(columns.columns[-1], NestedColumn) else b"}"


def _write_window(columns: FlatColumns, start: int, stop: int, limit: int | None) -> _Window:
    """The text of rows up to `stop`, or of as many of them as make a matrix of a good size. Raises Unwritable."""
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
    """About how many bytes a matrix of these rows takes."""
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
