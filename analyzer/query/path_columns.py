"""Reads values of fields in many rows, by path, as columns for every output format.

Theory. A path can have several values in a row. The output format decides what a cell makes of them (CellFormat): a
list for JSON, one text for a table. Messages are decoded once for all paths of a chunk and then dropped, because
decoded values can be far larger than the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Ints
from analyzer.columns.cells import Cells
from analyzer.columns.values import CellColumn, CellStyle, IntegerColumn, Values
from analyzer.decode.rows import RowReader, split_rows
from analyzer.query.fields import FieldPath, FieldReader
from analyzer.query.fields.dense import NumberColumn
from dissectors.slotted import make_slotted

READ, READ_BYTES = 1 << 16, 8 << 20
"""Rows, and bytes of their messages, whose fields are read at a time: larger batches have more similar rows."""


class CellFormat(Protocol):
    """Formats the values of a path in one row as a cell. `is_text`: cells are text or None, so they are cached."""

    is_text: bool

    def __call__(self, path: FieldPath, values: Sequence[Any]) -> Any:
        """Returns a printable value, None for null; `values` may be empty."""


@make_slotted
class _PathColumn:
    """Holds the values of a path in each row."""

    paths: PathReader
    key: str
    rows: Ints

    def values(self) -> Values:
        """See CellColumn."""
        return self.paths.read_values(self.key, self.rows)

    def cells(self, style: CellStyle) -> Cells:
        """See CellColumn."""
        return cells.make_cells(self.paths.read_texts(self.key, self.rows, style))


class PathReader:
    """Reads paths of rows. The first request reads all paths; texts are kept until other rows are requested."""

    def __init__(self, reader: RowReader, paths: Mapping[str, FieldPath], shape: CellFormat) -> None:
        self.keys = paths
        self._session, self._shape = reader.session, shape
        self._reading = FieldReader(reader, list(paths.values()))
        self._rows: Ints | None = None
        self._style: CellStyle | None = None
        self._found: Mapping[str, list[Any]] = {}

    def read_column(self, key: str, rows: Ints) -> CellColumn:
        """Reads the column of one path for rows (n)."""
        path = self.keys[key]
        if path.is_cheap and not path.repeated:
            dense = self._reading.read_columns(path, rows)
            if dense is not None and isinstance(dense[0], NumberColumn):
                return IntegerColumn(dense[0].numbers, dense[0].null)
        return _PathColumn(self, key, rows)

    def read_values(self, key: str, rows: Ints) -> Values:
        """Returns the cells of rows, as CellFormat makes them."""
        places = self._find_places(rows) if self._shape.is_text else None
        if places is None:
            return self._read_cells(rows, None)[key]
        found = self._found[key]
        return [found[place] for place in places.tolist()]

    def read_texts(self, key: str, rows: Ints, style: CellStyle) -> list[bytes]:
        """Returns the cells of rows as texts, with a style."""
        if not self._shape.is_text:
            return self._read_cells(rows, style)[key]
        known: dict[Any, bytes] = {}
        return [_format_text(value, style, known) for value in self._read_cells(rows, None)[key]]

    def _find_places(self, rows: Ints) -> Ints | None:
        """Returns the indexes of rows among those that were read last; None if one is missing."""
        if self._rows is None or not len(self._rows) or rows is self._rows:
            return None
        order = np.argsort(self._rows, kind="stable")
        places = order[np.minimum(np.searchsorted(self._rows, rows, sorter=order), len(order) - 1)]
        return places if np.array_equal(self._rows[places], rows) else None

    def _read_cells(self, rows: Ints, style: CellStyle | None) -> Mapping[str, list[Any]]:
        """Returns the cells of all paths, or their texts in a style."""
        if rows is not self._rows or style is not self._style:
            found: dict[str, list[Any]] = {key: [] for key in self.keys}
            known: dict[Any, bytes] = {}
            for part in split_rows(self._session, rows, READ, READ_BYTES):
                for key, path in self.keys.items():
                    values = [self._shape(path, each) for each in self._reading.read_by_row(path, part)]
                    found[key] += values if style is None else [_format_text(value, style, known) for value in values]
                self._reading.forget()
            self._rows, self._style, self._found = rows, style, found
        return self._found


def _format_text(value: Any, style: CellStyle, known: dict[Any, bytes]) -> bytes:
    """Returns a cell in a style; `known` caches those of texts, because many are equal."""
    if value is None:
        return style.null
    several = type(value) is list
    if not all(type(each) is str for each in (value if several else (value,))):
        return style.text(value)
    same = tuple(value) if several else value
    found = known.get(same)
    if found is None:
        found = known[same] = style.text(value)
    return found
