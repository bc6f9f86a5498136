"""What the makers of tables give: columns, and batches of a table's schema made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.columns.values import CellColumn, ConcatenatedColumn, FlagColumn, IntegerColumn, ScopedColumn, TextColumn
from analyzer.query.fields.keys import parse_address, parse_port
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import (
    EVERY_TABLE,
    PORT,
    TABLE_DURATION,
    TABLE_TIME,
    TableColumn,
    build_schema,
)
from dissectors.wire.fast_path import distinct

NOTES = "notes"
"""The table of what is said about files (`note`: JSON); it is not written."""

DAY = 86_400 * 10**9
LATEST_MS = 253_402_300_800_000
"""The end of the year 9999: records may name any number as their time."""

BATCH_ROWS = 1 << 14
"""Rows in one batch of a table of which not every row is a message."""

ColumnValues = dict[str, Any]
"""By name: a NumPy or Arrow array, or a list; a text or a null that stands for as many of it as there are rows."""


class TableBatch(NamedTuple):
    """Rows of one table of the pipeline, as an Arrow batch."""

    table: str
    batch: pa.RecordBatch


def build_batch(table: str, columns: Mapping[str, Any], options: Options) -> pa.RecordBatch:
    """Returns columns in their order and types. `date` has a value for each row."""
    wanted = build_schema(table, fields=options.fields, bodies=options.bodies)
    count = len(columns["date"])
    found: dict[str, pa.Array] = {}
    for column in EVERY_TABLE[table]:
        if column.source is not None:
            found[column.name] = convert_type(found[column.source], column)
        elif column.name in wanted.names:
            found[column.name] = _convert_values(columns[column.name], wanted.field(column.name).type, count)
    return pa.record_batch([found[name] for name in wanted.names], schema=wanted)


def convert_type(values: pa.Array, column: TableColumn) -> pa.Array:
    """Returns the values of a column's source with the column's type; null where the type does not have them."""
    if column.type in (TABLE_TIME, TABLE_DURATION):
        unit = "ms" if column.source == "timestamp_ms" else "ns"
        if unit == "ms":
            values = pc.if_else(pc.and_(pc.greater_equal(values, 0), pc.less(values, LATEST_MS)), values, None)
        exact = pa.timestamp(unit) if column.type == TABLE_TIME else pa.duration(unit)
        return values.cast(exact).cast(column.type, safe=False)
    texts = values.dictionary_encode()
    parse: Callable[[str], Any] = parse_port if column.type == PORT else parse_address
    parsed = [None if text is None else parse(text) for text in texts.dictionary.to_pylist()]
    return pa.array(parsed, column.type).take(texts.indices)


def _convert_values(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    if values is None or isinstance(values, str):
        return pa.repeat(pa.scalar(escape_surrogates(values), kind), count)
    return convert_sequence(values, kind)


def convert_sequence(values: Any, kind: pa.DataType) -> pa.Array:
    """Makes an Arrow array from a sequence; surrogates in texts are escaped."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(escape_surrogates(values), kind)


def escape_surrogates(value: Any) -> Any:
    """Text that is no Unicode (lone surrogates, file names in another encoding) as escapes, as JSON has it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: escape_surrogates(item) for key, item in value.items()}
    return [escape_surrogates(item) for item in value] if isinstance(value, list) else value


def count_days(time: Ints) -> Ints:
    """Returns the number of days since 1970 of a time in ns."""
    return (time // DAY).astype(np.int32)


def build_array(column: CellColumn) -> pa.Array:
    """Returns the values of a column: numbers of its own width, flags, or texts."""
    match column:
        case TextColumn(texts, numbers):
            used, places = distinct(numbers)
            return convert_sequence(texts.values(used), pa.string()).take(pa.array(places))
        case IntegerColumn(numbers, null):
            return pa.array(numbers, mask=null)
        case FlagColumn(flags):
            return pa.array(flags)
        case ConcatenatedColumn(parts, null):
            return mask_values(concatenate_texts([build_array(part) for part in parts]), null)
        case ScopedColumn():
            return _build_scoped_array(column)
        case _:
            return convert_sequence(column.values(), pa.string())


def _build_scoped_array(column: ScopedColumn) -> pa.Array:
    texts = concatenate_texts([build_array(column.scope), build_array(column.unsigned)])
    return pc.if_else(pa.array(column.scoped), texts, build_array(column.signed).cast(pa.string()))


def concatenate_texts(parts: Sequence[pa.Array | pa.Scalar]) -> pa.Array:
    """Concatenates columns of texts or numbers row by row; null where one of them is null."""
    return pc.binary_join_element_wise(*(part.cast(pa.string()) for part in parts), "")


def take_texts(texts: Sequence[str | None], numbers: Array) -> pa.Array:
    """Returns the text of each number, of few."""
    return pa.array(texts, pa.string()).take(pa.array(numbers))


def mask_values(values: pa.Array, null: Bools) -> pa.Array:
    """Returns a column with nulls where the mask is true; no mask changes nothing."""
    return pc.if_else(pa.array(null), None, values) if null.any() else values


def slice_texts(text: bytes, sizes: Ints) -> pa.Array:
    """Makes a column of texts that lie one after the other. sizes: bytes of each (n). Raises UnicodeDecodeError."""
    if not text.isascii():
        text.decode()
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.StringArray.from_buffers(len(sizes), pa.py_buffer(offsets), pa.py_buffer(text))


def measure_texts(texts: pa.Array) -> Ints:
    """Returns the number of bytes of each text of a column without nulls (int64, n)."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    return np.diff(offsets).astype(np.int64)
