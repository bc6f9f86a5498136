"""Payload cut out of captures, many packets at once and none of them in Python.

Theory. Between two payloads lies what is no payload. So the part of a capture that has them all is an Arrow column as
it stands, in which every other value is wanted; Arrow copies these.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analyzer.capture.store import SHIFT, Store
from analyzer.columns import Ints


def cut_out(at: Ints, length: Ints, store: Store) -> pa.Array:
    """The bytes at locations `at` (n, at least one), as many as `length` says; they do not overlap."""
    parts, source = [], at >> SHIFT
    for each in np.unique(source).tolist():
        rows = np.flatnonzero(source == each)
        rows = rows[np.argsort(at[rows], kind="stable")]
        parts.append((rows, _rising(at[rows], length[rows], store)))
    if len(parts) == 1 and bool((parts[0][0][:-1] < parts[0][0][1:]).all()):
        return parts[0][1]
    order = np.empty(len(at), np.int64)
    order[np.concatenate([rows for rows, _ in parts])] = np.arange(len(at))
    return pa.concat_arrays([found for _, found in parts]).take(pa.array(order))


def _rising(at: Ints, length: Ints, store: Store) -> pa.Array:
    """The same where all lie in one source, one behind the other."""
    first = int(at[0])
    edges = np.stack((at, at + length), axis=1).ravel() - first
    edges = np.maximum.accumulate(edges)
    data = store.window(first, int(edges[-1]))
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data)]
    every = pa.Array.from_buffers(pa.large_binary(), len(edges) - 1, buffers)
    return every.take(pa.array(np.arange(0, len(edges) - 1, 2))).cast(pa.binary())
