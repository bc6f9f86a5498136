"""The bodies of chosen operations with types of their own, in place of JSON in the column `fields`.

Theory. The column is a struct with a member for each operation, and role if it has one layout for requests and one for
responses; a body stands in the member of its message, and the others are null. So the type follows from the names, and
all files of a table have the same one. Types are those of body_types.py, but for what Spark and Delta Lake do not read:
times are in microseconds, and unsigned numbers are decimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import TemplateGroup
from analyzer.errors import UserError
from analyzer.query.fields.layouts import format_prefix
from analyzer.tables.body_types import TEXT, find_body_type
from analyzer.tables.body_values import GroupConverter, ValueConverter
from analyzer.tables.table_schemas import TABLE_TIME, TIME
from dissectors import registry
from dissectors.api import Role
from dissectors.wire.varint import Unfit

_TABLE_TYPES = {TIME: TABLE_TIME, pa.uint64(): pa.decimal128(20, 0)}


OTHER = "other"
"""The member for bodies that no layout describes, as JSON."""


def parse_bodies(names: Iterable[str], fields: bool | None = None) -> pa.DataType | None:
    """Returns the type of `fields` for operations by name: kafka.Produce.request, or kafka.Produce for both roles; None
    without names. Their order does not matter.

    fields: what was said of all bodies, None if nothing. Raises UserError for an unknown name, and if both were given.
    """
    if not (names := list(names)):
        return None
    if fields is not None:
        raise UserError("The options for all bodies (fields) and for some (fields-of) exclude each other. Give one.")
    known = dict(_list_operations())
    found: dict[str, pa.DataType] = {}
    for given in names:
        chosen = [name for name in known if given in (name, name.rpartition(".")[0])]
        if not chosen:
            near = get_close_matches(given, known, 3)
            raise UserError(
                f"There is no operation {given!r}. "
                + (f"Did you mean {' or '.join(near)}?" if near else "Give PROTOCOL.OPERATION, such as kafka.Produce.")
            )
        for name in chosen:
            _, kind = find_body_type(*known[name]) or (OTHER, TEXT)
            found[name] = _find_table_type(kind)
    return pa.struct(sorted(found.items()))


def _list_operations() -> Iterator[tuple[str, tuple[str, str, Role]]]:
    """Yields the name of each body that has a layout, and its protocol, operation and role."""
    for protocol in registry.names():
        catalog = registry.by_name(protocol).catalog
        for layout in () if catalog is None else catalog.layouts():
            yield format_prefix(protocol, layout), (protocol, layout.operation, layout.role or Role.REQUEST)


def _find_table_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _find_table_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_find_table_type(kind.value_type))
    return _TABLE_TYPES.get(kind, kind)


class TypedBodyColumn:
    """Makes the column of some rows, part by part. kind: its type, a struct with a member for each operation."""

    def __init__(self, reader: RowReader, kind: pa.DataType, json: JsonWriter) -> None:
        self._reader, self._kind, self._values = reader, kind, ValueConverter(json)
        self._members: dict[tuple[str, str, str], tuple[str, pa.DataType] | None] = {}
        self._pieces: dict[str, list[tuple[Ints, pa.Array]]] = {}

    def add_group(self, group: TemplateGroup, rows: Ints, places: Ints) -> None:
        """Adds rows that match a template (n); places: where they stand in the column."""
        (member,) = self._find_members(rows[:1])
        if member is None:
            return
        try:
            values = GroupConverter(group.match, self._values).convert(group.match.template.body.values, member[1])
        except Unfit:
            parts = split_rows(self._reader.session, rows)
            bodies = [each["fields"] for part in parts for each in self._reader.read_objects(["fields"], part)]
            values = self._values.convert(bodies, member[1])
        self._pieces.setdefault(member[0], []).append((places, values))

    def add_bodies(self, rows: Ints, bodies: Sequence[Any], places: Ints) -> None:
        """Adds rows with these decoded bodies (n)."""
        members = self._find_members(rows)
        for member in dict.fromkeys(each for each in members if each is not None):
            mine = [number for number, each in enumerate(members) if each == member]
            values = self._values.convert([bodies[number] for number in mine], member[1])
            self._pieces.setdefault(member[0], []).append((places[mine], values))

    def build(self, count: int) -> pa.StructArray:
        """Returns the column of `count` rows, null where none was added, and begins another."""
        missing = np.ones(count, bool)
        for places, _ in chain.from_iterable(self._pieces.values()):
            missing[places] = False
        columns = [_place_values(self._pieces.pop(field.name, ()), count, field.type) for field in self._kind]
        self._values.forget()
        return pa.StructArray.from_arrays(columns, fields=list(self._kind), mask=pa.array(missing))

    def _find_members(self, rows: Ints) -> list[tuple[str, pa.DataType] | None]:
        """Returns the name and the type of each row's body; None for one that is not asked for."""
        keys = (self._reader.read_column(key, rows).values() for key in ("protocol", "operation", "role"))
        return [self._find_member(*key) for key in zip(*keys, strict=True)]

    def _find_member(self, protocol: str, operation: str, role: str) -> tuple[str, pa.DataType] | None:
        key = protocol, operation, role
        if key not in self._members:
            found = find_body_type(protocol, operation, Role[role.upper()]) or (OTHER, TEXT)
            self._members[key] = found if found[0] in self._kind.names else None
        return self._members[key]


def _place_values(pieces: Sequence[tuple[Ints, pa.Array]], count: int, kind: pa.DataType) -> pa.Array:
    """Values at their places among `count` rows, and null elsewhere."""
    if not pieces:
        return pa.nulls(count, kind)
    numbers, missing = np.zeros(count, np.int64), np.ones(count, bool)
    places = np.concatenate([each for each, _ in pieces])
    numbers[places], missing[places] = np.arange(len(places)), False
    values = pa.concat_arrays([values for _, values in pieces]).cast(kind, safe=False)
    return values.take(pa.array(numbers, mask=missing))
