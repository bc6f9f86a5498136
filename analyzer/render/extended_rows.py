"""Reads rows with more than their own keys: fields by path, other formats of time, names of hosts.

Theory. An output format reads columns by name from a reader and need not know where they come from. So additional
columns come from another reader, which knows more names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analyzer.columns.arrays import Ints
from analyzer.columns.values import CellColumn, Values
from analyzer.decode.rows import BODY_KEYS, FillInNames, RowReader
from analyzer.render.clock import TimeClock

if TYPE_CHECKING:
    from analyzer.query.fields import FieldPath
    from analyzer.query.path_columns import CellFormat, PathReader

ENDPOINTS = {"source": True, "destination": False}
"""Keys that show names instead of addresses to people, and whether they are the sender."""


class ExtendedRowReader(RowReader):
    """Reads the keys of a RowReader, the fields of `paths`, and `time` in the format of `clock`.

    with_names: sender and receiver are the names that captures give to addresses.
    """

    def __init__(
        self,
        reader: RowReader,
        paths: Mapping[str, FieldPath],
        shape: CellFormat,
        clock: TimeClock | None = None,
        *,
        with_names: bool = False,
    ) -> None:
        super().__init__(reader.session, streaming=reader.streaming, hindsight=reader.hindsight)
        self._clock, self._with_names = clock, with_names
        self._paths: PathReader | None = None
        if paths:
            from analyzer.query.path_columns import PathReader  # not needed without fields

            self._paths = PathReader(self, paths, shape)

    def read_column(self, key: str, rows: Ints) -> CellColumn:
        """Reads a column for rows (n): a path in the body, a time, a host name, or an index column."""
        if self._clock is not None and key == "time":
            return self._clock.read_column(self, rows)
        if self._paths is not None and key in self._paths.keys:
            return self._paths.read_column(key, rows)
        if self._with_names and key in ENDPOINTS and self.session.hosts.has_names:
            return self.session.hosts.endpoint_column(rows, ENDPOINTS[key])
        return super().read_column(key, rows)

    def read_columns(self, keys: Sequence[str], rows: Ints) -> list[Values]:
        """Reads several columns, a list of n values for each key."""
        if not BODY_KEYS.isdisjoint(keys):
            return super().read_columns(keys, rows)
        return [self.read_column(key, rows).values() for key in keys]

    def read_objects(
        self, keys: Sequence[str], rows: Ints, named: FillInNames | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yields an object for each row; paths in bodies are read for all rows at once."""
        special = [key for key in keys if self._is_special(key)]
        if not special:
            return super().read_objects(keys, rows, named)
        columns = zip(*(self.read_column(key, rows).values() for key in special), strict=True)
        found = super().read_objects(keys, rows, named)
        return (row | dict(zip(special, values, strict=True)) for row, values in zip(found, columns, strict=True))

    def _is_special(self, key: str) -> bool:
        return (
            (key == "time" and self._clock is not None)
            or (self._paths is not None and key in self._paths.keys)
            or (self._with_names and key in ENDPOINTS)
        )
