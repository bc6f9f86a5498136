"""Conversations of Kafka: recorded exchanges of several clients and brokers, among produces and fetches made here.

A connection has a client id and a topic of its own, correlation ids that count up, offsets that go on, and now and then
two or three requests in flight. The recordings are of clients and brokers whose API versions tshark 4.0 knows, and so
are the versions of what is made, so that both sides have everything to decode; `today` has those of current releases.
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
from benchmarks.traffic import DISTURBANCES, ONE_WAY, REAL, SHORT, SNAPPED, disturb

SMALL = ("k4_py_aio", "k010_py_old", "k4_go_segment", "zk39_ibp_1.1", "zk39_ibp_2.4")
TODAY = (
    "k4_java_produce",
    "k4_java_classic",
    "k4_java_kip848",
    "k4_java_txn",
    "k4_go_franz",
    "k4_py_kp",
    "k4_java_share",
)
"""Recordings of current clients and brokers, whose versions tshark 4.0 does not know."""

THIRD = (LZ4, 0, 0, SNAPPY, 0, 0)
"""A third of the batches is compressed, as it may be where producers are not alike."""

PLAIN, PACKED = (0,), (GZIP, SNAPPY, LZ4, ZSTD)
MADE = 0.4
"""Share of produces and fetches that are made, in the capture of small messages; the recordings have more of them."""

SILENT, EMPTY = 0.03, 0.4
"""Of the made ones in real traffic: produces that want no answer (acks=0), fetches that wait for records in vain."""

LOOPBACK = 65_483
"""Bytes of a segment on loopback, whose MTU is 65,536."""

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
    return _talk(chance, number, _pool(600, 4, PLAIN), _recorded(SMALL, number), LONGEST)


def _real(chance: random.Random, number: int) -> Iterator[Turn]:
    return _talk(chance, number, _pool(600, 4, THIRD), _recorded(SMALL, number), LONGEST, SILENT, EMPTY)


def _today(chance: random.Random, number: int) -> Iterator[Turn]:
    return _talk(chance, number, _pool(600, 4, THIRD), exchanges("kafka", TODAY[number % len(TODAY)]), LONGEST)


def _recorded(names: Sequence[str], number: int) -> Sequence[Exchange]:
    """The exchanges of a recording that tshark knows."""
    return [each for each in exchanges("kafka", names[number % len(names)]) if _known(each.request)]


def _large(chance: random.Random, number: int) -> Iterator[Turn]:
    return _talk(chance, number, _pool(240, 1000, THIRD), (), 1 << 30)


def _of_codecs(codecs: Sequence[int]) -> Conversations:
    return lambda chance, number: _talk(chance, number, _pool(240, 1000, codecs), (), 1 << 30)


@cache
def _pool(number: int, most: int, codecs: Sequence[int]) -> Sequence[Batch]:
    return batches(number, most, codecs)


def _talk(
    chance: random.Random,
    number: int,
    pool: Sequence[Batch],
    recorded: Sequence[Exchange],
    most: int,
    silent: float = 0.0,
    empty: float = 0.0,
) -> Iterator[Turn]:
    """Turns of one to three requests; no message is longer than `most`. silent, empty: see SILENT and EMPTY."""
    recorded = [each for each in recorded if len(each.messages) == 2]
    log, correlation = Log(chance, pool, number), count(1)
    client = f"{CLIENTS[number % len(CLIENTS)]}{'-' + str(number) if number >= len(CLIENTS) else ''}".encode()
    while True:
        requests: Turn = []
        answers: Turn = []
        for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
            if recorded and chance.random() >= MADE:
                exchange = chance.choice(recorded)
            elif chance.random() < 0.5:
                exchange = log.produce(silent=chance.random() < silent)
            else:
                exchange = log.fetch(empty=chance.random() < empty)
            if max(map(len, exchange.messages)) <= most:
                request, *answer = _numbered(exchange, next(correlation), client)
                requests.append((True, request))
                answers += [(False, data) for data in answer]
        if requests:
            yield requests + answers


def _known(request: bytes) -> bool:
    key, version = int.from_bytes(request[4:6]), int.from_bytes(request[6:8])
    return key < len(KNOWN) and version <= KNOWN[key]


def _numbered(exchange: Exchange, correlation: int, client: bytes) -> tuple[bytes, ...]:
    """Its messages with this correlation id, and the request with this client id."""
    request, *answers = exchange.messages
    named = max(struct.unpack_from(">h", request, 12)[0], 0)
    head = request[4:8] + struct.pack(">i", correlation) + text(client)
    numbered = (data[:4] + struct.pack(">i", correlation) + data[8:] for data in answers)
    return framed(head + request[14 + named :]), *numbered


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
        Kind("real", 9092, _real, connections=40, acks=0.60, together=0.07, segment=LOOPBACK, traffic=REAL),
        Kind("real-large", 9092, _large, connections=20, acks=0.60, together=0.07, traffic=REAL),
        Kind("today", 9092, _today, connections=40, acks=0.60, together=0.07, traffic=REAL),
        Kind("short", 9092, _real, connections=200, acks=0.60, traffic=SHORT),
        Kind("one-way", 9092, _real, connections=40, acks=0.60, traffic=ONE_WAY),
        Kind("snapped", 9092, _real, connections=40, acks=0.60, traffic=SNAPPED),
        *(
            Kind(f"disturbed-{share:.2%}", 9092, _real, connections=40, acks=0.60, traffic=disturb(share))
            for share in DISTURBANCES
        ),
    )
}
