"""Many records in one value: what keeps Spark's rows few.

Theory. Spark's Java takes about as long for a row, whatever is in it: it is copied, hashed, sorted and copied again.
So a row is a bundle: how many records it has (u4, little endian), these, and then the payload that follows them, in
their order. A bundle is written and read by arithmetic on where its records are, not one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.capture.sources import gather_rows
from analyzer.columns.arrays import Ints, rank_in_runs

COUNT = np.dtype("<u4")


def bundled(records: npt.NDArray[Any], count: Ints) -> pa.Array:
    """Records (n, structured) as bundles (binary) of which each has so many of them; the counts add up to n."""
    width = records.dtype.itemsize
    offsets = np.zeros(len(count) + 1, np.int64)
    np.cumsum(COUNT.itemsize + count * width, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    _put(data, offsets[:-1], count.astype(COUNT))
    _put(data, _places(offsets[:-1], count, width), records)
    return _binary(offsets, data)


def followed(bundles: pa.Array, payloads: pa.Array, count: Ints) -> pa.Array:
    """The same with payload behind their records: each bundle has the next `count` of the payloads."""
    last = np.concatenate(([0], np.cumsum(count)))
    offsets = offsets_of(payloads)[last]
    return pc.binary_join_element_wise(bundles, _binary(offsets, payloads.buffers()[2]), b"")


@dataclass(frozen=True, slots=True)
class Unbundled:
    """Records of n bundles: as bytes (one row each), how many each bundle has, and where in `data` its payload begins.

    `data`: the bytes of the bundles, none of those before or behind them.
    """

    records: npt.NDArray[np.uint8]
    count: Ints
    begin: Ints
    data: memoryview


def unbundled(column: pa.Array, width: int) -> Unbundled:
    """What was bundled, of records that have so many bytes."""
    offsets = offsets_of(column)
    first, last = offsets[[0, -1]].tolist()
    data = memoryview(column.buffers()[2])[first:last]
    count = counts(column)
    records = gather_rows(data, _places(offsets[:-1] - first, count, width), width)
    return Unbundled(records, count, offsets[:-1] - first + COUNT.itemsize + count * width, data)


def counts(column: pa.Array) -> Ints:
    """How many records each bundle has."""
    data = memoryview(column.buffers()[2])
    return gather_rows(data, offsets_of(column)[:-1], COUNT.itemsize).view(COUNT)[:, 0].astype(np.int64)


def offsets_of(column: pa.Array) -> Ints:
    """Where in its data each value of a binary column begins, and where the last one ends."""
    return np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1].astype(np.int64)


def _places(begin: Ints, count: Ints, width: int) -> Ints:
    """Where the records of bundles are that begin there."""
    return np.repeat(begin + COUNT.itemsize, count) + rank_in_runs(count) * width


def _put(data: npt.NDArray[np.uint8], places: Ints, rows: npt.NDArray[Any]) -> None:
    """Rows to places that need not be aligned: see gather_rows."""
    width = rows.dtype.itemsize
    np.ndarray((len(data) - width + 1,), f"V{width}", data.data, 0, (1,))[places] = rows.view(f"V{width}")


def _binary(offsets: Ints, data: npt.NDArray[np.uint8] | pa.Buffer) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
