"""The column `fields`: a struct with a member for each operation that the rows have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import BodyTexts, TemplateDecoder
from analyzer.tables.body_types import TEXT, find_body_type
from analyzer.tables.body_values import mark_texts
from analyzer.tables.typed_bodies import OTHER, TypedBodyColumn
from dissectors.api import Body, Context, Dissector, Role


class BodyColumn:
    """Builds the column for some of `rows` at a time. A body stands in the member of its operation, and role if it has
    one layout for requests and one for responses: `kafka.Fetch.request`, `zookeeper.create`; the others are null.
    """

    def __init__(self, reader: RowReader, rows: Ints, json: JsonWriter) -> None:
        self._reader = reader
        self._decoder = TemplateDecoder(reader, _mark_body, needs_requests=False)
        self._column = TypedBodyColumn(reader, _find_type(reader, rows), json)

    def build(self, rows: Ints) -> pa.StructArray:
        """Returns the column for rows (n)."""
        left = np.ones(len(rows), bool)
        groups = self._decoder.find_groups(rows)[::-1]
        while groups:  # what was read of a group goes with it
            group = groups.pop()
            self._column.add_group(group, rows[group.places], group.places)
            left[group.places] = False
        rest = np.flatnonzero(left)
        begin = 0
        for part in split_rows(self._reader.session, rows[rest]):
            bodies = [each["fields"] for each in self._reader.read_objects(["fields"], part)]
            self._column.add_bodies(part, bodies, rest[begin : begin + len(part)])
            begin += len(part)
        return self._column.build(len(rows))


def _mark_body(body: Body, dissector: Dissector, context: Context) -> BodyTexts:
    """Marks what the column shows of a template; it has no text."""
    mark_texts(body.values)
    return {}


def _find_type(reader: RowReader, rows: Ints) -> pa.DataType:
    """The type of the column for all operations that these rows have."""
    cells = [reader.take_cells(name, rows).astype(np.int64) for name in ("protocol", "operation", "role")]
    kinds, first = np.unique(np.stack(cells, axis=1), axis=0, return_index=True)
    protocols, operations = (reader.read_column(key, rows[first]).values() for key in ("protocol", "operation"))
    names = zip(protocols, operations, map(Role, kinds[:, 2].tolist()), strict=True)
    found = [find_body_type(*name) or (OTHER, TEXT) for name in names]
    return pa.struct(list(dict(found or [(OTHER, TEXT)]).items()))
