"""Produces and fetches of one topic, made of encoded batches: the log that a connection writes and reads."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from benchmarks.batches import START_MS, Batch
from benchmarks.recorded import Exchange

PRODUCE, PRODUCE_VERSION = 0, 7
FETCH, FETCH_VERSION = 1, 11
TOPICS = (
    *("orders", "payments.transactions.v2", "t", "clickstream-web-frontend-eu-west-1", "audit_log"),
    *("warehouse.public.inventory_items", "__connect-offsets", "metrics"),
)


class Log:
    """The partitions of one connection's topic: where each stands, and batches to go on with."""

    def __init__(self, chance: random.Random, pool: Sequence[Batch], number: int) -> None:
        self.chance, self.pool, self.producer = chance, pool, 1000 + number
        self.topic = text(TOPICS[number % len(TOPICS)].encode())
        self.offsets, self.sequences = [chance.randrange(10**6), chance.randrange(10**9)], [0, 0]
        self.time = START_MS

    def written(self, partition: int) -> bytes:
        """A batch as a producer sends it: offsets from 0."""
        chosen = self.chance.choice(self.pool)
        self.time += 3
        self.sequences[partition] += chosen.count
        return chosen.at(0, self.producer, self.sequences[partition] - chosen.count, self.time)

    def read(self, partition: int) -> bytes:
        """One batch or two as a broker has them."""
        found = b""
        for chosen in self.chance.choices(self.pool, k=1 + self.chance.getrandbits(1)):
            found += chosen.at(self.offsets[partition], self.producer + 7, 0, self.time)
            self.offsets[partition] += chosen.count
        return found

    def produce(self, *, silent: bool = False) -> Exchange:
        """A batch for one partition or for two; silent: with acks=0, to which there is no answer."""
        chosen = range(1 + self.chance.getrandbits(1))
        parts = [struct.pack(">ii", index, len(data)) + data for index in chosen for data in [self.written(index)]]
        body = (
            struct.pack(">hhii", -1, 0 if silent else -1, 30_000, 1)
            + self.topic
            + struct.pack(">i", len(parts))
            + b"".join(parts)
        )
        answers = b"".join(struct.pack(">ihqqq", index, 0, self.offsets[index], -1, 0) for index in chosen)
        answer = struct.pack(">ii", 0, 1) + self.topic + struct.pack(">i", len(parts)) + answers + bytes(4)
        request = _request(PRODUCE, PRODUCE_VERSION, body)
        return Exchange("Produce", True, (request,) if silent else (request, framed(answer)))

    def fetch(self, *, empty: bool = False) -> Exchange:
        """What two partitions have; empty: nothing came while the broker waited for records."""
        asked = b"".join(struct.pack(">iiqqi", index, 5, self.offsets[index], 0, 1 << 20) for index in range(2))
        topic = self.topic + struct.pack(">i", 2) + asked
        body = struct.pack(">iiiibiii", -1, 500, 1, 50 << 20, 0, 0, -1, 1) + topic + struct.pack(">i", 0) + text(b"")
        records = (b"", b"") if empty else (self.read(0), self.read(1))
        return Exchange("Fetch", True, (_request(FETCH, FETCH_VERSION, body), self.fetched(*records)))

    def fetched(self, *records: bytes) -> bytes:
        """The answer to a fetch, with the records of partitions 0, 1, ..."""
        parts = []
        for index, data in enumerate(records):
            end = self.offsets[index]
            parts.append(struct.pack(">ihqqqiii", index, 0, end, end, 0, -1, -1, len(data)) + data)
        head = struct.pack(">iihii", 0, 0, 0, 0, 1) + self.topic + struct.pack(">i", len(parts))
        return framed(head + b"".join(parts))


def framed(body: bytes) -> bytes:
    """A message behind its length."""
    return struct.pack(">i", len(body)) + body


def _request(key: int, version: int, body: bytes) -> bytes:
    return framed(struct.pack(">hhih", key, version, 0, -1) + body)


def text(value: bytes) -> bytes:
    """A string."""
    return struct.pack(">h", len(value)) + value
