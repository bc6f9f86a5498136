"""Decoded values as Arrow arrays of a body's type, column by column.

Theory. A structure is made member by member and a list item by item, so no Python object stands for a row. Values that
are columns already stay columns: records of a batch (RowTable), and symbolic values of a template, which stand for the
values of all messages that match (analyzer.decode.templates). Secrets, and values that do not fit the type, are null. A
structure in the place of bytes or text is its JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.templates import TemplateMatch
from analyzer.tables.arrow_columns import convert_sequence, slice_texts
from analyzer.tables.body_types import BYTES, NUMBER, TEXT
from analyzer.tables.table_schemas import TIME
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import BEGIN, Bytes, Integer, NestedValue, SymbolicValue, Text
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.flat import FlatColumns, IntegerColumn, NestedColumn, RowTable, Slices
from dissectors.wire.secret import Secret
from dissectors.wire.varint import Unfit

MOST_MS = ((1 << 63) - 1) // 10**6
_BOUNDS = {NUMBER: (-(1 << 63), (1 << 63) - 1), pa.uint64(): (0, (1 << 64) - 1), TIME: (-MOST_MS, MOST_MS)}
"""The numbers that a type has; of times, milliseconds."""


class ValueConverter:
    """Makes arrays of decoded values."""

    def __init__(self, json: JsonWriter) -> None:
        self._json = json
        self._records: dict[tuple[int, pa.DataType], tuple[FlatColumns, pa.Array]] = {}

    def convert(self, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        """Returns an array of n values."""
        if pa.types.is_struct(kind):
            return self._convert_structs(values, kind)
        if pa.types.is_list(kind):
            return self._convert_lists(values, kind)
        return convert_sequence(list(map(self._find_leaf_converter(kind), values)), kind)

    def forget(self) -> None:
        """Lets go of the records that convert() was given."""
        self._records.clear()

    def _find_leaf_converter(self, kind: pa.DataType) -> Callable[[Any], Any]:
        if kind == TEXT:
            return lambda value: make_text(value, self._json)
        if kind == BYTES:
            return lambda value: self._json.dumps(value) if isinstance(value, dict | list) else find_bytes(value)
        return _SCALARS[kind]

    def _convert_structs(self, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        plain = [value.value if isinstance(value, EmbeddedValue) else value for value in values]
        there = [isinstance(value, dict) for value in plain]
        members = [value if is_there else {} for value, is_there in zip(plain, there, strict=True)]
        columns = [self.convert([each.get(field.name) for each in members], field.type) for field in kind]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=pa.array(np.logical_not(there)))

    def _convert_lists(self, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        if values and all(type(value) is RowTable for value in values):
            return self._convert_tables(values, kind)
        lists = [
            value if isinstance(value, list | tuple | RowTable) else () if _is_null(value) else (value,)
            for value in values
        ]
        items = self.convert(list(chain.from_iterable(lists)), kind.value_type)
        return make_lists(kind, np.array(list(map(len, lists)), np.int64), items, np.array(list(map(_is_null, values))))

    def _convert_tables(self, tables: Sequence[RowTable], kind: pa.DataType) -> pa.Array:
        """Lists of records, of which many are rows of the same columns."""
        parts: list[pa.Array] = []
        begin = 0
        while begin < len(tables):
            columns, end = tables[begin].columns, begin + 1
            while end < len(tables) and tables[end].columns is columns and tables[end].start == tables[end - 1].stop:
                end += 1
            parts.append(self._convert_records(columns, kind.value_type)[tables[begin].start : tables[end - 1].stop])
            begin = end
        return make_lists(kind, np.array(list(map(len, tables)), np.int64), pa.concat_arrays(parts))

    def _convert_records(self, columns: FlatColumns, kind: pa.DataType) -> pa.Array:
        """All records of some columns, which stay in memory with them."""
        key = id(columns), kind
        if key not in self._records:
            self._records[key] = columns, self._convert_columns(columns, kind)
        return self._records[key][1]

    def _convert_columns(self, columns: FlatColumns, kind: pa.DataType) -> pa.Array:
        if not pa.types.is_struct(kind):
            raise Unfit
        there = {column.name: column for column in columns.columns}
        found = []
        for field in kind:
            column = there.get(field.name)
            if column is None:
                found.append(pa.nulls(columns.rows, field.type))
            elif isinstance(column, IntegerColumn):
                found.append(self.convert_integers(np.asarray(column.values), field.type))
            elif isinstance(column, NestedColumn):
                items = self._convert_columns(column.rows, field.type.value_type)
                found.append(make_lists(field.type, np.diff(np.asarray(column.ends)), items))
            else:
                found.append(self._convert_slices(columns.data, column, field.type))
        return pa.StructArray.from_arrays(found, fields=list(kind)) if found else pa.nulls(columns.rows, kind)

    def _convert_slices(self, data: bytes, column: Slices, kind: pa.DataType) -> pa.Array:
        at, length = np.asarray(column.at), np.asarray(column.length)
        slices = map(slice, at.tolist(), (at + length).tolist())
        found = [None if size < 0 else data[each] for each, size in zip(slices, length.tolist(), strict=True)]
        if column.text and kind == TEXT:
            return pa.array(found, BYTES).cast(TEXT)
        if kind == BYTES:
            return pa.array(found, BYTES)
        return self.convert([each if each is None or not column.text else each.decode() for each in found], kind)

    def convert_integers(self, numbers: Ints, kind: pa.DataType) -> pa.Array:
        """Returns an array of integers (int64 or uint64, n)."""
        if kind not in _BOUNDS:
            return self.convert(numbers.tolist(), kind)
        range_of = np.iinfo(numbers.dtype)
        low, high = (min(max(bound, range_of.min), range_of.max) for bound in _BOUNDS[kind])
        wrong = (numbers < low) | (numbers > high)
        if kind == TIME:
            return pa.array(np.where(wrong, 0, numbers).astype(np.int64) * 10**6, NUMBER, mask=wrong).cast(TIME)
        return pa.array(np.where(wrong, 0, numbers).astype(np.int64 if kind == NUMBER else np.uint64), kind, mask=wrong)


class GroupConverter:
    """Makes arrays of the values of all messages that match a template (n), from its symbolic values."""

    def __init__(self, match: TemplateMatch, values: ValueConverter) -> None:
        self._match, self._values, self._count = match, values, len(match.rows)

    def convert(self, value: Any, kind: pa.DataType) -> pa.Array:
        """Returns an array for a value of the template's body. Raises Unfit if it must be made of each message's."""
        if not is_symbolic(value):
            constant = self._values.convert([value], kind)
            if not pa.types.is_nested(kind):
                return pa.repeat(constant[0], self._count)
            return constant.take(pa.array(np.zeros(self._count, np.int64)))
        if type(value) is EmbeddedValue and pa.types.is_struct(kind):
            return self.convert(value.value, kind)
        if type(value) is dict and pa.types.is_struct(kind):
            columns = [self.convert(value.get(field.name), field.type) for field in kind]
            return pa.StructArray.from_arrays(columns, fields=list(kind))
        if type(value) in (list, tuple) and pa.types.is_list(kind):
            return self._convert_items(value, kind)
        if type(value) in (Integer, Text, Bytes, NestedValue):
            return self._convert_symbolic(value, kind)
        raise Unfit

    def _convert_items(self, items: Sequence[Any], kind: pa.DataType) -> pa.Array:
        """Lists that have the same number of items in each message."""
        columns = pa.concat_arrays([self.convert(item, kind.value_type) for item in items])
        if len(items) > 1:
            order = np.arange(len(columns)).reshape(len(items), self._count).T.ravel()
            columns = columns.take(pa.array(order))
        return make_lists(kind, np.full(self._count, len(items)), columns)

    def _convert_symbolic(self, value: Integer | Text | Bytes | NestedValue, kind: pa.DataType) -> pa.Array:
        if pa.types.is_list(kind) and type(value) is not NestedValue:
            return self._convert_items([value], kind)
        if type(value) is Integer and kind in _BOUNDS:
            return self._values.convert_integers(self._match.read_integer(value), kind)
        if type(value) is Text and kind == TEXT:
            found = self._match.list_contents(value)
            return slice_texts(b"".join(found), np.array(list(map(len, found)), np.int64))
        return self._values.convert(self._match.list_values(value), kind)


def make_lists(kind: pa.DataType, sizes: Ints, items: pa.Array, null: Bools | None = None) -> pa.Array:
    """Makes lists (n) of items that follow one another; sizes: items of each."""
    ends = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=ends[1:])
    mask = None if null is None or not null.any() else pa.array(null)
    return pa.ListArray.from_arrays(pa.array(ends), items, type=kind, mask=mask)


def mark_texts(value: Any) -> None:
    """Marks the symbolic texts in a template's body; only then may TemplateMatch.list_values() read them."""
    kind = type(value)
    if kind is Text or kind is PiecewiseText:
        str(value)
    elif kind is EmbeddedValue:
        mark_texts(value.value)
    elif kind is dict:
        mark_texts(list(value.values()))
    elif kind in (list, tuple):
        for each in value:
            mark_texts(each)


def is_symbolic(value: Any) -> bool:
    """Returns whether a value differs between the messages of a template; symbolic values claim other types."""
    kind = type(value)
    if kind is dict:
        return any(map(is_symbolic, value.values()))
    if kind in (list, tuple):
        return any(map(is_symbolic, value))
    if kind is EmbeddedValue:
        return is_symbolic(value.value) or type(value.data) not in (bytes, Secret)
    return (kind is str and BEGIN in value) or issubclass(kind, SymbolicValue)


def _is_null(value: Any) -> bool:
    """Whether there is no list."""
    return value is None or isinstance(value, Secret)


def find_bytes(value: Any) -> bytes | None:
    """Returns the bytes of a value, also of a text and of what holds a structure; None for a secret."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    return value if isinstance(value, bytes) else None


def make_text(value: Any, json: JsonWriter) -> str | None:
    """Returns a value as text: JSON for a structure, and None for a secret."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Secret) or (isinstance(value, EmbeddedValue) and isinstance(value.data, Secret)):
        return None
    if isinstance(value, tuple):  # an error that a message reports
        return str(value[-1])
    return str(value) if type(value) is int else json.dumps(value).decode()


def _make_float(value: Any) -> float | None:
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def _make_bounded(low: int, high: int, factor: int = 1) -> Callable[[Any], int | None]:
    return lambda value: value * factor if type(value) is int and low <= value <= high else None


_SCALARS: dict[pa.DataType, Callable[[Any], Any]] = {
    **{kind: _make_bounded(*bounds, 10**6 if kind == TIME else 1) for kind, bounds in _BOUNDS.items()},
    pa.float64(): _make_float,
    pa.bool_(): lambda value: value if isinstance(value, bool) else None,
}
