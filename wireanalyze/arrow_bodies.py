"""The column `fields`: a struct with a member for each operation that the rows have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import BodyTexts, TemplateDecoder, TemplateGroup
from analyzer.tables.body_types import TEXT, find_body_type
from analyzer.tables.body_values import GroupConverter, ValueConverter, mark_texts
from dissectors.api import Body, Context, Dissector, Role
from dissectors.wire.varint import Unfit

OTHER = "other"
"""The member for bodies that no layout describes, as JSON."""

Kinds = np.ndarray[tuple[int, int], np.dtype[np.int64]]
_Pieces = list[tuple[Ints, pa.Array]]
"""Values of a member: their places among the rows, and themselves."""


class BodyColumn:
    """Builds the column for some of `rows` at a time. A body stands in the member of its operation, and role if it has
    one layout for requests and one for responses: `kafka.Fetch.request`, `zookeeper.create`; the others are null.
    """

    def __init__(self, reader: RowReader, rows: Ints, json: JsonWriter) -> None:
        self._reader, self._values = reader, ValueConverter(json)
        self._decoder = TemplateDecoder(reader, _mark_body, needs_requests=False)
        self._kinds, first = np.unique(self._read_kinds(rows), axis=0, return_index=True)
        names = zip(*(reader.read_column(key, rows[first]).values() for key in ("protocol", "operation")), strict=True)
        self._types: dict[str, pa.DataType] = {}
        self._members: list[str] = []
        for (protocol, operation), role in zip(names, self._kinds[:, 2].tolist(), strict=True):
            found = find_body_type(protocol, operation, Role(role))
            name, kind = (OTHER, TEXT) if found is None else found
            self._members.append(name)
            self._types[name] = kind
        if not self._types:
            self._types[OTHER] = TEXT

    def build(self, rows: Ints) -> pa.StructArray:
        """Returns the column for rows (n)."""
        members = self._find_members(rows)
        found: dict[str, _Pieces] = {name: [] for name in self._types}
        left = np.ones(len(rows), bool)
        groups = self._decoder.find_groups(rows)[::-1]
        while groups:  # what was read of a group goes with it
            group = groups.pop()
            name = self._members[members[group.places[0]]]
            if (values := self._convert_group(group, self._types[name])) is not None:
                found[name].append((group.places, values))
                left[group.places] = False
        self._convert_rest(rows, np.flatnonzero(left), members, found)
        self._values.forget()
        arrays = [_place_values(found[name], len(rows), kind) for name, kind in self._types.items()]
        return pa.StructArray.from_arrays(arrays, list(self._types))

    def _convert_group(self, group: TemplateGroup, kind: pa.DataType) -> pa.Array | None:
        try:
            return GroupConverter(group.match, self._values).convert(group.match.template.body.values, kind)
        except Unfit:
            return None

    def _convert_rest(self, rows: Ints, rest: Ints, members: Ints, found: dict[str, _Pieces]) -> None:
        """Decodes the rows at some places one by one."""
        begin = 0
        for part in split_rows(self._reader.session, rows[rest]):
            places = rest[begin : begin + len(part)]
            begin += len(part)
            bodies = [each["fields"] for each in self._reader.read_objects(["fields"], part)]
            names = [self._members[member] for member in members[places].tolist()]
            for name in dict.fromkeys(names):
                mine = [place for place, each in enumerate(names) if each == name]
                values = self._values.convert([bodies[place] for place in mine], self._types[name])
                found[name].append((places[mine], values))

    def _find_members(self, rows: Ints) -> Ints:
        """Returns the member of each row, by number."""
        found = np.zeros(len(rows), np.int64)
        kinds = self._read_kinds(rows)
        for number, kind in enumerate(self._kinds):
            found[(kinds == kind).all(axis=1)] = number
        return found

    def _read_kinds(self, rows: Ints) -> Kinds:
        cells = [self._reader.take_cells(name, rows).astype(np.int64) for name in ("protocol", "operation", "role")]
        return np.stack(cells, axis=1)


def _mark_body(body: Body, dissector: Dissector, context: Context) -> BodyTexts:
    """Marks what the column shows of a template; it has no text."""
    mark_texts(body.values)
    return {}


def _place_values(pieces: _Pieces, count: int, kind: pa.DataType) -> pa.Array:
    """The values at their places among `count` rows, and null elsewhere."""
    if not pieces:
        return pa.nulls(count, kind)
    numbers, missing = np.zeros(count, np.int64), np.ones(count, bool)
    places = np.concatenate([each for each, _ in pieces])
    numbers[places], missing[places] = np.arange(len(places)), False
    return pa.concat_arrays([values for _, values in pieces]).take(pa.array(numbers, mask=missing))
