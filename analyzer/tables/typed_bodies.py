"""The bodies of chosen operations with types of their own, in place of JSON in the column `fields`.

Theory. The column is a struct with a member for each operation, and role if it has one layout for requests and one for
responses; a body stands in the member of its message, and the others are null. So the type follows from the names, and
all files of a table have the same one. Types are those of body_types.py, but for what Spark and Delta Lake do not read:
times are in microseconds, and unsigned numbers are decimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import TemplateGroup
from analyzer.errors import UserError
from analyzer.tables.body_types import find_body_type
from analyzer.tables.body_values import GroupConverter, ValueConverter
from analyzer.tables.table_schemas import TABLE_TIME, TIME
from dissectors import registry
from dissectors.api import Role
from dissectors.wire.varint import Unfit

_TABLE_TYPES = {TIME: TABLE_TIME, pa.uint64(): pa.decimal128(20, 0)}


def parse_bodies(names: Iterable[str]) -> pa.DataType | None:
    """Returns the type of `fields` for operations by name: kafka.Produce.request, or kafka.Produce for both roles; None
    without names. Raises UserError for an unknown one.
    """
    if not (names := list(names)):
        return None
    known = {name: kind for _, _, _, name, kind in _list_operations()}
    found: dict[str, pa.DataType] = {}
    for given in names:
        chosen = [name for name in known if given in (name, name.rpartition(".")[0])]
        if not chosen:
            near = get_close_matches(given, known, 3)
            raise UserError(
                f"There is no operation {given!r}. "
                + (f"Did you mean {' or '.join(near)}?" if near else "Give PROTOCOL.OPERATION, such as kafka.Produce.")
            )
        found |= {name: _find_table_type(known[name]) for name in chosen}
    return pa.struct(list(found.items()))


def _list_operations() -> Iterator[tuple[str, str, Role, str, pa.DataType]]:
    """Yields protocol, operation, role, name and type of all bodies that have a layout."""
    for protocol in registry.names():
        catalog = registry.by_name(protocol).catalog
        operations = dict.fromkeys(layout.operation for layout in ([] if catalog is None else catalog.layouts()))
        for operation in operations:
            for role in Role:
                if (found := find_body_type(protocol, operation, role)) is not None:
                    yield protocol, operation, role, *found


def _find_table_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _find_table_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_find_table_type(kind.value_type))
    return _TABLE_TYPES.get(kind, kind)


class TypedBodyReader:
    """Makes the column of rows; `kind`: its type, of parse_bodies()."""

    def __init__(self, reader: RowReader, kind: pa.DataType, json: JsonWriter) -> None:
        self._reader, self._kind, self._values = reader, kind, ValueConverter(json)
        self._members: dict[tuple[str, str, str], tuple[str, pa.DataType] | None] = {}

    def convert_group(self, group: TemplateGroup, rows: Ints) -> pa.Array:
        """Returns the column for the rows that match a template (n)."""
        (member,) = self._find_members(rows[:1])
        if member is None:
            return pa.nulls(len(rows), self._kind)
        try:
            values = GroupConverter(group.match, self._values).convert(group.match.template.body.values, member[1])
        except Unfit:
            parts = split_rows(self._reader.session, rows)
            bodies = [each["fields"] for part in parts for each in self._reader.read_objects(["fields"], part)]
            values = self._values.convert(bodies, member[1])
        self._values.forget()
        return self._place(member[0], values)

    def convert_rows(self, rows: Ints, bodies: Sequence[Any]) -> pa.Array:
        """Returns the column for rows (n) with these decoded bodies (n)."""
        members = self._find_members(rows)
        parts, places = [pa.nulls(1, self._kind)], np.zeros(len(rows), np.int64)
        count = 1
        for member in dict.fromkeys(each for each in members if each is not None):
            mine = [place for place, each in enumerate(members) if each == member]
            parts.append(self._place(member[0], self._values.convert([bodies[place] for place in mine], member[1])))
            places[mine] = count + np.arange(len(mine))
            count += len(mine)
        self._values.forget()
        return pa.concat_arrays(parts).take(pa.array(places))

    def _place(self, name: str, values: pa.Array) -> pa.Array:
        """Values in their member of the column."""
        columns = [
            values.cast(field.type, safe=False) if field.name == name else pa.nulls(len(values), field.type)
            for field in self._kind
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self._kind))

    def _find_members(self, rows: Ints) -> list[tuple[str, pa.DataType] | None]:
        """Returns the name and the type of each row's body; None for one that is not asked for."""
        keys = (self._reader.read_column(key, rows).values() for key in ("protocol", "operation", "role"))
        return [self._find_member(*key) for key in zip(*keys, strict=True)]

    def _find_member(self, protocol: str, operation: str, role: str) -> tuple[str, pa.DataType] | None:
        key = protocol, operation, role
        if key not in self._members:
            found = find_body_type(protocol, operation, Role[role.upper()])
            self._members[key] = found if found is not None and found[0] in self._kind.names else None
        return self._members[key]
