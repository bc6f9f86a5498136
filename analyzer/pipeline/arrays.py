"""Columns of rows as Arrow arrays, without a Python object for any row.

Theory. What the index tells of rows is a column of numbers (analyzer.columns.values), some of which stand for texts.
Arrow takes the numbers as they are; of the few texts it makes an array and picks from it; texts that are put together
of others it puts together itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.columns.values import CellColumn, ConcatenatedColumn, FlagColumn, IntegerColumn, ScopedColumn, TextColumn
from analyzer.pipeline.found import array_of
from dissectors.wire.fast_path import distinct


def array(column: CellColumn) -> pa.Array:
    """The values of a column: numbers of its own width, flags, or texts."""
    match column:
        case TextColumn(texts, numbers):
            used, places = distinct(numbers)
            return array_of(texts.values(used), pa.string()).take(pa.array(places))
        case IntegerColumn(numbers, null):
            return pa.array(numbers, mask=null)
        case FlagColumn(flags):
            return pa.array(flags)
        case ConcatenatedColumn(parts, null):
            return nothing_where(joined([array(part) for part in parts]), null)
        case ScopedColumn():
            return _scoped(column)
        case _:
            return array_of(column.values(), pa.string())


def _scoped(column: ScopedColumn) -> pa.Array:
    texts = joined([array(column.scope), array(column.unsigned)])
    return pc.if_else(pa.array(column.scoped), texts, array(column.signed).cast(pa.string()))


def joined(parts: Sequence[pa.Array | pa.Scalar]) -> pa.Array:
    """Texts, or numbers, of each row put together; null where one of them is."""
    return pc.binary_join_element_wise(*(part.cast(pa.string()) for part in parts), "")


def picked(texts: Sequence[str | None], numbers: Array) -> pa.Array:
    """The text of each number, of few."""
    return pa.array(texts, pa.string()).take(pa.array(numbers))


def nothing_where(values: pa.Array, null: Bools) -> pa.Array:
    """The same, but null where it says so; no flags are none."""
    return pc.if_else(pa.array(null), None, values) if null.any() else values


def texts_of(text: bytes, sizes: Ints) -> pa.Array:
    """Texts that lie one behind the other, of so many bytes each. Raises UnicodeDecodeError."""
    if not text.isascii():
        text.decode()
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.StringArray.from_buffers(len(sizes), pa.py_buffer(offsets), pa.py_buffer(text))


def sizes_of(texts: pa.Array) -> Ints:
    """Bytes of each of a column of texts, none of which is null."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
    return np.diff(offsets).astype(np.int64)
