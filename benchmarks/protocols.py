"""Conversations of ZooKeeper, RocketMQ and Pulsar as on a loaded cluster, of recorded messages with new numbers.

A connection opens as its protocol wants it, then operations follow with the weights of the tables below. What tells
messages apart is written anew as it would be: xids and zxids, opaques, sequence and entry ids, session ids. So no two
messages are the same bytes, and everything is paired.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from benchmarks.captures import Kind, Message, Turn
from benchmarks.packets import START_NS
from benchmarks.pulsar import Numbers, renumbered
from benchmarks.pulsar_payload import renewed
from benchmarks.quorum import quorum
from benchmarks.recorded import Exchange, by_operation, exchanges
from benchmarks.traffic import REAL

ZOOKEEPER = ("cl_java395_basic", "cl_java395_watch", "en3414_clients", "en395_txns_follower")
ZOOKEEPER_MIX = {
    "getData": 34,
    "exists": 20,
    "getChildren": 8,
    "getChildren2": 6,
    "setData": 12,
    "create": 5,
    "create2": 2,
    "delete": 3,
    "multi": 3,
    "ping": 4,
    "sync": 1,
    "notification": 2,
}

ROCKETMQ = (
    *("m326_send", "m430_bin_send", "go_550_send", "m550_json_batch", "m550_json_tx_lab_tx"),
    *("m550_bin_compress_lab_base", "m550_json_bcq_lab_bcq", "m494_acl_signed"),
)
ROCKETMQ_MIX = {
    "SEND_MESSAGE": 40,
    "SEND_MESSAGE_V2": 40,
    "SEND_BATCH_MESSAGE": 5,
    "PULL_MESSAGE": 50,
    "HEART_BEAT": 3,
    "QUERY_CONSUMER_OFFSET": 3,
    "UPDATE_CONSUMER_OFFSET": 8,
    "GET_ROUTEINFO_BY_TOPIC": 3,
    "END_TRANSACTION": 5,
}

PULSAR = ("cpp28_basic", "cpp4_codecs", "java4_schemas")
PULSAR_OPENING = ("CONNECT", "PRODUCER", "SUBSCRIBE")
PULSAR_MIX = {"SEND": 40, "MESSAGE": 40, "ACK": 14, "FLOW": 4, "PING": 2}

_OPAQUE = re.compile(rb'("opaque"\s*:\s*)-?\d+')
_OPAQUE_AT = 13  # of a binary header: behind two lengths, code, language and version


def mixed(chance: random.Random, pool: Sequence[Exchange], mix: Mapping[str, int]) -> Iterator[Exchange]:
    """Exchanges without end, operations as the mix weighs those that the pool has."""
    found = by_operation(pool)
    names = [name for name in mix if name in found]
    weights = [mix[name] for name in names]
    while True:
        for name in chance.choices(names, weights, k=256):
            yield chance.choice(found[name])


def zookeeper(chance: random.Random, number: int) -> Iterator[Turn]:
    """A session of its own, then xids that count up; at times a second request before the first answer."""
    pool = [each for name in ZOOKEEPER for each in exchanges("zookeeper", name)]
    opening = chance.choice([each for each in by_operation(pool)["connect"] if each.request[20:28] == bytes(8)])
    session = struct.pack(">q", 0x1000_0000_0000_0000 + number)
    yield [(True, opening.request), (False, opening.response[:12] + session + opening.response[20:])]
    xid, zxid = count(1), 0x1_0000_0000
    turn: Turn = []
    for exchange in mixed(chance, pool, ZOOKEEPER_MIX):
        zxid += 1 + chance.getrandbits(2)
        given = struct.unpack_from(">i", exchange.request, 4)[0]
        mark = struct.pack(">i", next(xid) if given > 0 else given)
        if len(exchange.messages) == 1:
            yield [(exchange.from_client, exchange.request[:4] + mark + exchange.request[8:])]
            continue
        answer = exchange.response[:4] + mark + struct.pack(">q", zxid) + exchange.response[16:]
        # Answers come in the order of requests, so all requests of a turn stand before its answers.
        half = len(turn) // 2
        turn = [*turn[:half], (True, exchange.request[:4] + mark + exchange.request[8:]), *turn[half:], (False, answer)]
        if chance.random() < 0.8:
            yield turn
            turn = []


def rocketmq(chance: random.Random, number: int) -> Iterator[Turn]:
    """What one recorded client did, and so of one language, version and way to write headers; opaques count up."""
    pool = exchanges("rocketmq", ROCKETMQ[number % len(ROCKETMQ)])
    for opaque, exchange in zip(count(1), mixed(chance, pool, ROCKETMQ_MIX), strict=False):
        first = exchange.from_client
        sides = (first, not first)
        yield [(side, with_opaque(data, opaque)) for side, data in zip(sides, exchange.messages, strict=False)]


def with_opaque(frame: bytes, opaque: int) -> bytes:
    """A RocketMQ frame with another opaque, in a header of text or a binary one."""
    kind, length = frame[4], int.from_bytes(frame[5:8])
    header, body = frame[8 : 8 + length], frame[8 + length :]
    if kind:
        return frame[:_OPAQUE_AT] + struct.pack(">i", opaque) + frame[_OPAQUE_AT + 4 :]
    header = _OPAQUE.sub(rb"\g<1>%d" % opaque, header, count=1)
    return struct.pack(">iI", 4 + len(header) + len(body), len(header)) + header + body


def pulsar(chance: random.Random, number: int) -> Iterator[Turn]:
    """A client with one producer and one consumer: what it sends is confirmed, what it is sent it acknowledges."""
    pool = exchanges("pulsar", PULSAR[number % len(PULSAR)])
    found = by_operation(pool)
    numbers = Numbers(producer=number % 4, consumer=number % 3, time=START_NS // 10**6)
    for name in PULSAR_OPENING:
        yield _sides(chance.choice(found[name]), numbers)
    waiting: Turn = []
    for exchange in mixed(chance, pool, PULSAR_MIX):
        numbers.sequence += numbers.count
        numbers.entry += 1
        numbers.time += chance.randrange(3)
        if exchange.operation in ("SEND", "MESSAGE"):
            first = renewed(exchange.request, numbers, chance)
            exchange = exchange._replace(messages=(first, *exchange.messages[1:]))
        turn = _sides(exchange, numbers)
        if exchange.operation == "SEND" and chance.random() < 0.5:
            # A producer does not wait for the receipt of one message to send the next.
            waiting = [*waiting[: len(waiting) // 2], turn[0], *waiting[len(waiting) // 2 :], turn[1]]
            continue
        yield waiting + turn
        waiting = []


def _sides(exchange: Exchange, numbers: Numbers) -> list[Message]:
    sides = (exchange.from_client, not exchange.from_client)
    return [(side, renumbered(data, numbers)) for side, data in zip(sides, exchange.messages, strict=False)]


TAME = (
    Kind("zookeeper", 2181, zookeeper, connections=40, acks=0.24, together=0.1),
    Kind("quorum", 2888, quorum, connections=30, acks=0.42, together=0.1),
    Kind("pulsar", 6650, pulsar, connections=30, acks=0.28, together=0.25),
    Kind("rocketmq", 10911, rocketmq, connections=40, acks=0.63),
)
KINDS = {kind.name: kind for kind in (*TAME, *(replace(kind, name=f"real-{kind.name}", traffic=REAL) for kind in TAME))}
