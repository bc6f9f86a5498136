"""A key for each partition of Spark, so that a row can be sent to all of them.

Theory. Spark sends a row to the partition that the hash of its column says: MurmurHash3 (32 bits, seed 42) of the
bytes, modulo the number of partitions. Tables with buckets on disks rely on that, so it does not change (Spark's
classes HashPartitioning and Murmur3_x86_32). Keys are tried until each partition has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyzer.pipeline.pointers import SECRETS_KEY, build_secrets_note, flag_secrets_notes, read_secrets_note

_SEED = 42


def repeat_notes(batch: pa.RecordBatch, partitions: int) -> pa.RecordBatch:
    """Returns a batch of a scan; if it says where key logs are, with a row for each partition."""
    if not flag_secrets_notes(batch.column(0)).any():
        return batch
    (note,) = batch.column(3).to_pylist()
    return build_secrets_note(read_secrets_note(note), find_partition_keys(partitions))


@lru_cache(maxsize=1)
def find_partition_keys(count: int) -> Sequence[int]:
    """Returns for each of `count` partitions a number whose SECRETS_KEY Spark sends there."""
    found: dict[int, int] = {}
    tried, step = 0, 16 * count
    while len(found) < count:
        keys = np.arange(tried, tried + step)
        partition = hash_keys([SECRETS_KEY.pack(0, key) for key in keys.tolist()]) % count
        for number, key in zip(partition.tolist(), keys.tolist(), strict=True):
            found.setdefault(number, key)
        tried += step
    return [found[number] for number in range(count)]


def hash_keys(keys: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Returns Spark's hash of each key; all have the same length, which is a multiple of four."""
    words = np.frombuffer(b"".join(keys), "<u4").reshape(len(keys), -1)
    found = np.full(len(keys), _SEED, np.uint32)
    for word in words.T:
        found = _rotate(found ^ _rotate(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593), 13)
        found = found * np.uint32(5) + np.uint32(0xE6546B64)
    found ^= np.uint32(words.shape[1] * 4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ found >> np.uint32(shift)) * np.uint32(factor)
    return (found ^ found >> np.uint32(16)).view(np.int32).astype(np.int64)


def _rotate(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return words << np.uint32(bits) | words >> np.uint32(32 - bits)
