"""Payload cut out of captures, many packets at once and none of them in Python.

Theory. Between two payloads lies what is no payload. So the part of a capture that has them all is an Arrow column as
it stands, in which every other value is wanted; Arrow copies these, in whatever order they are asked for.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analyzer.capture.store import SHIFT, Store
from analyzer.columns.arrays import Ints


def cut_out(at: Ints, length: Ints, store: Store) -> pa.Array:
    """The bytes at locations `at` (n, at least one), as many as `length` says; they do not overlap."""
    source = at >> SHIFT
    rows = [np.flatnonzero(source == each) for each in np.unique(source).tolist()]
    parts = [_of_one_source(at[mine], length[mine], store) for mine in rows]
    if len(parts) == 1:
        return parts[0]
    order = np.empty(len(at), np.int64)
    order[np.concatenate(rows)] = np.arange(len(at))
    return pa.concat_arrays(parts).take(pa.array(order))


def _of_one_source(at: Ints, length: Ints, store: Store) -> pa.Array:
    order = np.argsort(at, kind="stable")
    rising = at[order]
    first = int(rising[0])
    edges = np.stack((rising, rising + length[order]), axis=1).ravel() - first
    edges = np.maximum.accumulate(edges)
    data = store.window(first, int(edges[-1]))
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data)]
    every = pa.Array.from_buffers(pa.large_binary(), len(edges) - 1, buffers)
    places = np.empty(len(at), np.int64)
    places[order] = np.arange(0, len(edges) - 1, 2)
    return every.take(pa.array(places)).cast(pa.binary())
