"""Produce and Fetch exchanges with batches of up to the usual size (batch.size 16,384), by kafka-python's encoder."""

from __future__ import annotations

import random
import struct

from kafka.record.default_records import DefaultRecordBatchBuilder

from benchmarks.captures import Exchange

PRODUCE, PRODUCE_VERSION = 0, 7
FETCH, FETCH_VERSION = 1, 11
BATCH_BYTES = 16_384
VALUE_BYTES = 120
CLIENT = b"bench-client"


def batch(chance: random.Random, base: int, most: int) -> bytes:
    """One uncompressed batch of at most `most` records with key and value, every fourth with a header."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, BATCH_BYTES)
    for offset in range(most):
        value = chance.randbytes(VALUE_BYTES // 2).hex().encode()
        key = f"customer-{chance.randrange(100_000)}".encode()
        headers = [("trace", chance.randbytes(8))] if offset % 4 == 0 else []
        if builder.append(offset, 1_795_000_000_000 + offset, key, value, headers) is None:
            break
    data = bytearray(builder.build())
    data[:8] = struct.pack(">q", base)
    return bytes(data)


def framed(body: bytes) -> bytes:
    """A message behind its length."""
    return struct.pack(">i", len(body)) + body


def request(key: int, version: int, body: bytes) -> bytes:
    """A request with header version 1."""
    return framed(struct.pack(">hhih", key, version, 0, len(CLIENT)) + CLIENT + body)


def text(value: bytes) -> bytes:
    """A string."""
    return struct.pack(">h", len(value)) + value


def produce(chance: random.Random, most: int) -> Exchange:
    """Two partitions of one topic, a batch each."""
    parts = [struct.pack(">ii", index, len(data)) + data for index in range(2) if (data := batch(chance, 0, most))]
    topic = text(b"orders") + struct.pack(">i", len(parts)) + b"".join(parts)
    body = struct.pack(">hhii", -1, -1, 30_000, 1) + topic
    answers = b"".join(struct.pack(">ihqqq", index, 0, chance.randrange(10**9), -1, 0) for index in range(2))
    answer = struct.pack(">ii", 0, 1) + text(b"orders") + struct.pack(">i", 2) + answers + struct.pack(">i", 0)
    return request(PRODUCE, PRODUCE_VERSION, body), framed(answer)


def fetch(chance: random.Random, most: int) -> Exchange:
    """Two partitions of one topic, two batches each."""
    asked = b"".join(struct.pack(">iiqqi", index, 5, 1000, 0, 1 << 20) for index in range(2))
    topic = text(b"orders") + struct.pack(">i", 2) + asked
    body = struct.pack(">iiiibiii", -1, 500, 1, 50 << 20, 0, 0, -1, 1) + topic + struct.pack(">i", 0) + text(b"")
    parts = []
    for index in range(2):
        records = batch(chance, 1000, most) + batch(chance, 2000, most)
        parts.append(struct.pack(">ihqqqiii", index, 0, 5000, 5000, 0, -1, -1, len(records)) + records)
    answer = struct.pack(">iihii", 0, 0, 0, 0, 1) + text(b"orders") + struct.pack(">i", 2) + b"".join(parts)
    return request(FETCH, FETCH_VERSION, body), framed(answer)


def batch_exchanges(count: int, most: int) -> list[Exchange]:
    """`count` exchanges, half of them produces, with 1 to `most` records in a batch; the same each time."""
    chance = random.Random(2)
    return [(produce, fetch)[number % 2](chance, chance.randint(1, most)) for number in range(count)]
