"""Conversations of Kafka: recorded exchanges of several clients and brokers, among produces and fetches made here.

A connection has a client id and a topic of its own, correlation ids that count up, offsets that go on, and now and then
two or three requests in flight. The recordings are of clients and brokers whose API versions tshark 4.0 knows, and so
are the versions of what is made, so that both sides have everything to decode.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, islice

from benchmarks.batches import GZIP, LZ4, SNAPPY, ZSTD, Batch, batches
from benchmarks.captures import Conversations, Kind, Turn
from benchmarks.kafka_log import Log, framed, text
from benchmarks.recorded import Exchange, exchanges

SMALL = ("k4_py_aio", "k010_py_old", "k4_go_segment", "zk39_ibp_1.1", "zk39_ibp_2.4")
THIRD = (LZ4, 0, 0, SNAPPY, 0, 0)
"""A third of the batches is compressed, as it may be where producers are not alike."""

PLAIN, PACKED = (0,), (GZIP, SNAPPY, LZ4, ZSTD)
MADE = 0.4
"""Share of produces and fetches that are made, in the capture of small messages; the recordings have more of them."""

LONGEST = 4096
"""Bytes of a small message; a few have more than a segment holds."""

KNOWN = (8, 11, 5, 9, 4, 2, 6, -1, 8, 7, 3, 7, 4, 4, 5, 5, 3, 1, 3, 5, 4, 1, 3, 3, 1, 1, 1, 0, 3, 2)
"""The newest version of API 0, 1, 2, ... that tshark 4.0 says it knows; what came later is left out.

So is API 7, ControlledShutdown, whose version 0 has a header without client id.
"""

CLIENTS = (
    *("producer-1", "rdkafka", "sarama", "consumer-orders-group-12", "kafka-python-producer-1", "a"),
    *("connector-consumer-warehouse-sink-0", "app-8f14e45f-ceea-467f-9575-6a1d0c5b2b1c-StreamThread-1-producer"),
)


def _small(chance: random.Random, number: int) -> Iterator[Turn]:
    return _talk(chance, number, _pool(600, 4, PLAIN), exchanges("kafka", SMALL[number % len(SMALL)]), LONGEST)


def _large(chance: random.Random, number: int) -> Iterator[Turn]:
    return _talk(chance, number, _pool(240, 1000, THIRD), (), 1 << 30)


def _of_codecs(codecs: Sequence[int]) -> Conversations:
    return lambda chance, number: _talk(chance, number, _pool(240, 1000, codecs), (), 1 << 30)


@cache
def _pool(number: int, most: int, codecs: Sequence[int]) -> Sequence[Batch]:
    return batches(number, most, codecs)


def _talk(
    chance: random.Random, number: int, pool: Sequence[Batch], recorded: Sequence[Exchange], most: int
) -> Iterator[Turn]:
    """Turns of one to three requests; no message is longer than `most`."""
    recorded = [each for each in recorded if len(each.messages) == 2 and _known(each.request)]
    log, correlation = Log(chance, pool, number), count(1)
    client = f"{CLIENTS[number % len(CLIENTS)]}{'-' + str(number) if number >= len(CLIENTS) else ''}".encode()
    while True:
        turn: Turn = []
        for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
            if recorded and chance.random() >= MADE:
                exchange = chance.choice(recorded)
            else:
                exchange = log.produce() if chance.random() < 0.5 else log.fetch()
            if max(map(len, exchange.messages)) <= most:
                half = len(turn) // 2
                request, response = _numbered(exchange, next(correlation), client)
                turn = [*turn[:half], (True, request), *turn[half:], (False, response)]
        if turn:
            yield turn


def _known(request: bytes) -> bool:
    key, version = int.from_bytes(request[4:6]), int.from_bytes(request[6:8])
    return key < len(KNOWN) and version <= KNOWN[key]


def _numbered(exchange: Exchange, correlation: int, client: bytes) -> tuple[bytes, bytes]:
    """Both messages with this correlation id, and the request with this client id."""
    request, response = exchange.messages
    named = max(struct.unpack_from(">h", request, 12)[0], 0)
    head = request[4:8] + struct.pack(">i", correlation) + text(client)
    return framed(head + request[14 + named :]), response[:4] + struct.pack(">i", correlation) + response[8:]


def one_fetch(size: int) -> Kind:
    """A capture of one fetch whose answer has about `size` bytes of records in one partition."""

    def conversations(chance: random.Random, number: int) -> Iterator[Turn]:
        return islice(_long_fetches(chance, number, size), 1)

    return Kind(f"fetch-{size >> 20}M", 9092, conversations, connections=1, acks=0.6)


def _long_fetches(chance: random.Random, number: int, size: int) -> Iterator[Turn]:
    """Fetches without end whose answers have about `size` bytes of records in one partition."""
    log = Log(chance, _pool(60, 1000, PLAIN), number)
    for correlation in count(1):
        exchange, records = log.fetch(), bytearray()
        while len(records) < size:
            records += log.read(0)
        messages = exchange.request, log.fetched(bytes(records))
        yield [*zip((True, False), _numbered(Exchange("Fetch", True, messages), correlation, b"one"), strict=True)]


def _one_record_each(chance: random.Random, number: int) -> Iterator[Turn]:
    return _talk(chance, number, _pool(60, 1, PLAIN), (), LONGEST)


ONE_CONNECTION = {
    "long": Kind("one-long", 9092, lambda *of: _long_fetches(*of, 1 << 20), connections=1, acks=0.60),
    "short": Kind("one-short", 9092, _one_record_each, connections=1, acks=0.60),
}
"""Captures of one connection: with answers of a MiB, and with messages of a record or two (340 bytes on average)."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("small", 9092, _small, connections=40, acks=0.60),
        Kind("large", 9092, _large, connections=20, acks=0.60),
        Kind("plain", 9092, _of_codecs(PLAIN), connections=20, acks=0.60),
        Kind("packed", 9092, _of_codecs(PACKED), connections=20, acks=0.60),
    )
}
