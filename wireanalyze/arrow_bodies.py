"""The column `fields`: a struct with a member for each operation that the rows have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader
from dissectors.api import Role
from wireanalyze.body_types import TEXT, convert_bodies, find_body_type

OTHER = "other"
"""The member for bodies that no layout describes, as JSON."""

Kinds = np.ndarray[Any, np.dtype[np.int64]]


class BodyColumn:
    """Builds the column for some of `rows` at a time. A body stands in the member of its operation, and role if it has
    one layout for requests and one for responses: `kafka.Fetch.request`, `zookeeper.create`; the others are null.
    """

    def __init__(self, reader: RowReader, rows: Ints, json: JsonWriter) -> None:
        self._reader, self._json = reader, json
        self._kinds, first = np.unique(self._read_kinds(rows), axis=0, return_index=True)
        names = zip(*(reader.read_column(key, rows[first]).values() for key in ("protocol", "operation")), strict=True)
        self._types: dict[str, pa.DataType] = {}
        self._members = []
        for (protocol, operation), role in zip(names, self._kinds[:, 2].tolist(), strict=True):
            found = find_body_type(protocol, operation, Role(role))
            name, kind = (OTHER, TEXT) if found is None else found
            self._members.append(name)
            self._types[name] = kind
        if not self._types:
            self._types[OTHER] = TEXT

    def build(self, rows: Ints, bodies: Sequence[Any]) -> pa.StructArray:
        """Returns the column for rows (n) with these decoded bodies (n)."""
        places: dict[str, list[int]] = {}
        kinds = self._read_kinds(rows)
        for kind, member in zip(self._kinds, self._members, strict=True):
            places.setdefault(member, []).extend(np.flatnonzero((kinds == kind).all(axis=1)).tolist())
        found = [self._build_member(kind, places.get(name, []), bodies) for name, kind in self._types.items()]
        return pa.StructArray.from_arrays(found, list(self._types))

    def _read_kinds(self, rows: Ints) -> Kinds:
        cells = [self._reader.take_cells(name, rows).astype(np.int64) for name in ("protocol", "operation", "role")]
        return np.stack(cells, axis=1)

    def _build_member(self, kind: pa.DataType, places: list[int], bodies: Sequence[Any]) -> pa.Array:
        """The bodies at some places, and null elsewhere."""
        if not places:
            return pa.nulls(len(bodies), kind)
        numbers, missing = np.zeros(len(bodies), np.int64), np.ones(len(bodies), bool)
        numbers[places], missing[places] = np.arange(len(places)), False
        values = convert_bodies([bodies[place] for place in places], kind, self._json)
        return values.take(pa.array(numbers, mask=missing))
