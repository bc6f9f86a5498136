"""Record batches as producers make them, by kafka-python's encoder, and the numbers in them that each use changes.

Theory. A batch that is sent has its own producer, sequence, times and offsets. They stand in its header, so one encoded
batch serves many times: `Batch.at` writes them anew, with the checksum that they change (the base offset is outside
it). Values are JSON as applications write it, of lengths that scatter around 120 bytes; keys are short, long or null.
"""

from __future__ import annotations

import gzip
import json
import random
import struct
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cramjam
import lz4.frame
import zstandard
from crc32c import crc32c

with warnings.catch_warnings():  # what the package uses of the standard library is not ours to mend
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatchBuilder

BATCH_BYTES = 16_384
"""batch.size of a producer that nobody has set."""

START_MS = 1_795_000_000_000
_HEADER = 61
_CHECKED = 21
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
_CODECS: dict[int, Callable[[bytes], bytes]] = {
    GZIP: lambda data: gzip.compress(data, mtime=0),
    SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    LZ4: lz4.frame.compress,
    ZSTD: zstandard.compress,
}
_WORDS = (
    *("created", "paid", "shipped", "returned", "pending", "blue", "green", "red", "small", "large"),
    *("eu-west-1", "us-east-2", "web", "mobile", "partner"),
)


@dataclass(frozen=True, slots=True)
class Batch:
    """An encoded batch (magic 2) with base offset 0, and how many records it has."""

    data: bytes
    count: int

    def at(self, offset: int, producer: int, sequence: int, time: int) -> bytes:
        """It with these numbers; time in ms since 1970."""
        data = bytearray(self.data)
        struct.pack_into(">q", data, 0, offset)
        struct.pack_into(">qqqhi", data, 27, time, time + self.count, producer, 0, sequence)
        struct.pack_into(">I", data, 17, crc32c(memoryview(data)[_CHECKED:]))
        return bytes(data)


def batch(chance: random.Random, most: int, codec: int = 0) -> Batch:
    """`most` records, or as many as BATCH_BYTES hold; every fourth with a header."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, BATCH_BYTES)
    count = 0
    while count < most:
        headers = [("trace", chance.randbytes(8))] if count % 4 == 0 else []
        if builder.append(count, START_MS + count, _key(chance), _value(chance), headers) is None:
            break
        count += 1
    data = bytes(builder.build())
    if codec:
        records = _CODECS[codec](data[_HEADER:])
        size = struct.pack(">i", _HEADER - 12 + len(records))
        data = data[:8] + size + data[12:21] + struct.pack(">h", codec) + data[23:_HEADER] + records
    return Batch(data, count)


def batches(number: int, most: int, codecs: Sequence[int]) -> list[Batch]:
    """`number` batches of 1 to `most` records, the same each time, compressed by these codecs in turn; 0 is none."""
    chance = random.Random(f"{number} {most}")
    return [batch(chance, chance.randint(1, most), codecs[each % len(codecs)]) for each in range(number)]


def _key(chance: random.Random) -> bytes | None:
    kind = chance.random()
    if kind < 0.2:
        return None
    return f"customer-{chance.randrange(100_000)}".encode() if kind < 0.7 else chance.randbytes(16).hex().encode()


def _value(chance: random.Random) -> bytes:
    value = {"id": chance.randrange(10**9), "state": chance.choice(_WORDS), "note": ""}
    wanted = int(chance.expovariate(1 / 70))
    words: list[str] = []
    while sum(map(len, words)) + len(words) < wanted:
        words.append(chance.choice(_WORDS) if chance.random() < 0.5 else chance.randbytes(4).hex())
    value["note"] = " ".join(words)
    return json.dumps(value).encode()
