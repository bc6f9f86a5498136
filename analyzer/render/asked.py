"""Rows with what was asked beyond their own keys: fields by path, the time in another form, names of hosts.

Theory. A form of output asks a reader for columns by name and need not know where they come from. So what is asked
beyond the keys of a row is one more reader, which knows more names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analyzer.columns.arrays import Ints
from analyzer.columns.values import CellColumn, Values
from analyzer.decode.rows import BODY_KEYS, Named, Rows
from analyzer.render.clock import Clock

if TYPE_CHECKING:
    from analyzer.query.fields import FieldPath
    from analyzer.query.path_columns import Paths, Shape

ENDPOINTS = {"source": True, "destination": False}
"""Keys that people read with names in the place of addresses, and whether they are the sender."""


class AskedRows(Rows):
    """What a reader reads, and also the keys of `paths`, and `time` by `clock`. See Rows.

    with_names: who sends and receives is said by the names that captures have for addresses.
    """

    def __init__(
        self,
        reader: Rows,
        paths: Mapping[str, FieldPath],
        shape: Shape,
        clock: Clock | None = None,
        *,
        with_names: bool = False,
    ) -> None:
        super().__init__(reader.session, streaming=reader.streaming, hindsight=reader.hindsight)
        self._clock, self._with_names = clock, with_names
        self._paths: Paths | None = None
        if paths:
            from analyzer.query.path_columns import Paths  # rows as they are do without fields

            self._paths = Paths(self, paths, shape)

    def column(self, key: str, rows: Ints) -> CellColumn:
        """See Rows."""
        if self._clock is not None and key == "time":
            return self._clock.column(self, rows)
        if self._paths is not None and key in self._paths.keys:
            return self._paths.column(key, rows)
        if self._with_names and key in ENDPOINTS and self.session.hosts.has_names:
            return self.session.hosts.endpoint_column(rows, ENDPOINTS[key])
        return super().column(key, rows)

    def columns(self, keys: Sequence[str], rows: Ints) -> list[Values]:
        """See Rows."""
        if not BODY_KEYS.isdisjoint(keys):
            return super().columns(keys, rows)
        return [self.column(key, rows).values() for key in keys]

    def objects(self, keys: Sequence[str], rows: Ints, named: Named | None = None) -> Iterator[dict[str, Any]]:
        """See Rows; what is asked of a body by its path is read for all rows at once."""
        special = [key for key in keys if self._is_special(key)]
        if not special:
            return super().objects(keys, rows, named)
        columns = zip(*(self.column(key, rows).values() for key in special), strict=True)
        found = super().objects(keys, rows, named)
        return (row | dict(zip(special, values, strict=True)) for row, values in zip(found, columns, strict=True))

    def _is_special(self, key: str) -> bool:
        return (
            (key == "time" and self._clock is not None)
            or (self._paths is not None and key in self._paths.keys)
            or (self._with_names and key in ENDPOINTS)
        )
