"""What stands behind the command of a recorded Pulsar frame, written anew: other contents, batches, checksums.

Theory. What clients write under load is mostly batches: those of Java, C++ and Go make them unless told otherwise, of
what is produced within a millisecond or ten, and write a batch of one where nothing else came in that time; Python's
sends each message for itself unless told otherwise, and so does whoever waits for each receipt. So half of the frames
become batches of BATCHES messages, compressed by CODECS; the others keep what was recorded, with another payload. The
metadata is the recorded one, field by field in the client's own order, with new numbers.
"""

from __future__ import annotations

import random
import string
import zlib
from collections.abc import Callable, Mapping

from crc32c import crc32c

from benchmarks.pulsar import BROKER_METADATA, METADATA, SINGLE, Numbers, fields, varint, written

BATCHED = 0.5
BATCHES = (1, 1, 1, 1, 2, 2, 3, 4, 6, 10)
CODECS: Mapping[int, int] = {0: 70, 1: 15, 2: 3, 3: 10, 4: 2}
"""Shares of none, LZ4, ZLIB, ZSTD and Snappy, by their numbers in the proto."""

KEYED = 0.4
"""The share of messages in batches that have a key."""

_BROKER, _CHECKSUM = b"\x0e\x02", b"\x0e\x01"
_COMPRESSION, _COUNT, _OF_BATCHES = 8, 11, frozenset((1, 2, 3))
_NAME, _KEY, _PAYLOAD_SIZE, _SEQUENCE = 1, 2, 3, 8


def renewed(frame: bytes, numbers: Numbers, chance: random.Random) -> bytes:
    """A SEND or MESSAGE with another payload; sets the numbers' count and size."""
    at = 8 + int.from_bytes(frame[4:8])
    head, broker = frame[8:at], b""
    if frame.startswith(_BROKER, at):
        size = int.from_bytes(frame[at + 2 : at + 6])
        broker = _BROKER + _sized(written(frame[at + 6 : at + 6 + size], BROKER_METADATA, numbers))
        at += 6 + size
    if frame.startswith(_CHECKSUM, at):
        at += 6
    size = int.from_bytes(frame[at : at + 4])
    part = _payload_part(frame[at + 4 : at + 4 + size], numbers, chance)
    rest = broker + _CHECKSUM + crc32c(part).to_bytes(4) + part
    return _sized(_sized(head) + rest)


def _payload_part(recorded: bytes, numbers: Numbers, chance: random.Random) -> bytes:
    """Metadata behind its size, and the payload."""
    given = {number: value for number, _, value in fields(recorded)}
    batched = _COUNT in given or chance.random() < BATCHED
    numbers.count = chance.choice(BATCHES) if batched else 1
    codec = given.get(_COMPRESSION, 0)
    metadata = recorded
    if batched:
        (codec,) = chance.choices(list(CODECS), list(CODECS.values()))
        metadata = _of_batch(recorded, codec)
    payload = _batch(numbers, chance) if batched else _content(chance)
    numbers.size = len(payload)
    assert isinstance(codec, int)
    return _sized(written(metadata, METADATA, numbers)) + _COMPRESS[codec](payload)


def _of_batch(recorded: bytes, codec: int) -> bytes:
    """What a batch says of itself: the fields that every message has, then these."""
    out = bytearray()
    for number, kind, value in fields(recorded):
        if number in _OF_BATCHES:
            out += varint(number << 3 | kind)
            out += varint(value) if isinstance(value, int) else _counted(value)
    if codec:
        out += bytes((_COMPRESSION << 3, codec, 9 << 3, 1))
    return bytes(out + bytes((_COUNT << 3, 1)))


def _batch(numbers: Numbers, chance: random.Random) -> bytes:
    out = bytearray()
    first = numbers.sequence
    for place in range(numbers.count):
        content = _content(chance)
        key = b"" if chance.random() >= KEYED else b"\x12" + _counted(b"key-%d" % chance.randrange(2000))
        single = Numbers(0, 0, first + place, size=len(content))
        layout = key + bytes((_PAYLOAD_SIZE << 3, 0, _SEQUENCE << 3, 0))
        out += _sized(written(layout, SINGLE, single)) + content
    return bytes(out)


def _content(chance: random.Random) -> bytes:
    """An event as applications write them: a few dozen bytes to a kilobyte."""
    text = "".join(chance.choices(string.ascii_lowercase, k=int(2 ** chance.uniform(3, 9))))
    number, amount = chance.getrandbits(40), chance.randrange(100_000)
    return b'{"id":%d,"state":"shipped","amount":%d,"text":"%s"}' % (number, amount, text.encode())


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def _counted(data: bytes) -> bytes:
    return varint(len(data)) + data


def _lz4(data: bytes) -> bytes:
    from lz4.block import compress

    return bytes(compress(data, store_size=False))


def _zstd(data: bytes) -> bytes:
    from zstandard import ZstdCompressor

    return bytes(ZstdCompressor().compress(data))


def _snappy(data: bytes) -> bytes:
    from cramjam import snappy

    return bytes(snappy.compress_raw(data))


_COMPRESS: Mapping[int, Callable[[bytes], bytes]] = {0: bytes, 1: _lz4, 2: zlib.compress, 3: _zstd, 4: _snappy}
