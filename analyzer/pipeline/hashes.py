"""Hashes of many keys at once, each different key hashed once.

Theory. A hash costs more than all else of a record, and keys repeat. Keys of one length are a matrix of bytes, of which
Arrow makes a dictionary, and finds in it what was hashed before.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.capture.sources import gather_rows
from analyzer.columns.arrays import Ints, iterate_groups
from analyzer.pipeline.record_rows import key_hash
from dissectors.wire.fast_path import distinct

MOST, LONGEST = 1 << 16, 64
"""Keys of one length, and bytes of a key, beyond which hashes are not remembered."""

_MANY = 256
"""Different lengths of keys beyond which it pays no more to take those of each length together."""


class Hashes:
    """Hashes of keys, as record_rows.key_hash makes them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[pa.Array, pa.Array]] = {}
        """By length, the keys that are remembered, and their hashes."""

    def of(self, data: bytes, at: Ints, length: Ints) -> pa.Array:
        """Of the bytes at each place; null where the length is negative."""
        hashes: list[pa.Array] = [pa.array([], pa.string())]
        numbers, count = np.full(len(at), -1, np.int64), 0
        there = np.flatnonzero(length >= 0)
        lengths, keys = distinct(length[there])
        if len(lengths) > _MANY:
            places = zip(at[there].tolist(), length[there].tolist(), strict=True)
            hashes.append(pa.array([key_hash(data[begin : begin + size]) for begin, size in places], pa.string()))
            numbers[there] = np.arange(len(there))
        else:
            for key, places_of in iterate_groups(keys):
                mine, size = there[places_of], int(lengths[key])
                encoded = _keys(data, at[mine], size).dictionary_encode()
                numbers[mine] = encoded.indices.to_numpy() + count
                hashes.append(self._of(encoded.dictionary, size))
                count += len(encoded.dictionary)
        return pa.concat_arrays(hashes).take(pa.array(numbers, mask=numbers < 0))

    def _of(self, keys: pa.Array, size: int) -> pa.Array:
        """The hashes of different keys of one length."""
        known, hashes = self._known.get(size, (keys[:0], pa.array([], pa.string())))
        places = pc.index_in(keys, value_set=known)
        if places.null_count:
            new = keys.filter(pc.is_null(places))
            made = pa.array(list(map(key_hash, new.to_pylist())), pa.string())
            known, hashes = pa.concat_arrays([known, new]), pa.concat_arrays([hashes, made])
            places = pc.index_in(keys, value_set=known)
            if size <= LONGEST and len(known) <= MOST:
                self._known[size] = known, hashes
        return hashes.take(places)


def _keys(data: bytes, at: Ints, size: int) -> pa.Array:
    """Keys of one length."""
    buffer = pa.py_buffer(gather_rows(data, at, size)) if size else pa.py_buffer(b"")
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(at), [None, buffer])
