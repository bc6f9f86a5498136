"""New numbers in recorded Pulsar frames: producer, consumer, sequence and entry ids.

Theory. A frame is its length, the length of the command, the command, and maybe a payload whose checksum does not
cover the command. A command is a Protocol Buffers message, BaseCommand, with its type and one field that holds the
command proper, of the same number. Ids are varints, so new ones change lengths, and all are written anew.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dissectors.wire.varint import uvarlong

VARINT, BYTES = 0, 2
_FIXED = {1: 8, 5: 4}

Layout = Mapping[int, "str | Layout"]
"""Which field of a message holds which of Numbers; of a message in it, its layout."""

_MESSAGE_ID: Layout = {2: "entry"}
METADATA: Layout = {2: "sequence", 3: "time", 9: "size", 11: "count", 24: "highest"}
SINGLE: Layout = {3: "size", 8: "sequence"}
BROKER_METADATA: Layout = {1: "time", 2: "entry"}
LAYOUTS: Mapping[int, Layout] = {
    4: {4: "consumer"},  # SUBSCRIBE
    5: {2: "producer"},  # PRODUCER
    6: {1: "producer", 2: "sequence", 3: "count", 6: "highest"},  # SEND
    7: {1: "producer", 2: "sequence", 3: _MESSAGE_ID},  # SEND_RECEIPT
    9: {1: "consumer", 2: _MESSAGE_ID},  # MESSAGE
    10: {1: "consumer", 3: _MESSAGE_ID},  # ACK
    11: {1: "consumer"},  # FLOW
}


@dataclass(slots=True)
class Numbers:
    """The ids of one connection, as they stand; `count` and `size` are those of the payload at hand. time: in ms."""

    producer: int
    consumer: int
    sequence: int = 0
    entry: int = 0
    time: int = 0
    count: int = 1
    size: int = 0

    @property
    def highest(self) -> int:
        """The sequence id of the last message of a batch."""
        return self.sequence + self.count - 1


def renumbered(frame: bytes, numbers: Numbers) -> bytes:
    """The frame with these numbers in its command."""
    end = 8 + int.from_bytes(frame[4:8])
    code = next(value for number, _, value in fields(frame[8:end]) if number == 1)
    assert isinstance(code, int)
    command = written(frame[8:end], {code: LAYOUTS.get(code, {})}, numbers)
    return struct.pack(">II", 4 + len(command) + len(frame) - end, len(command)) + command + frame[end:]


def varint(value: int) -> bytes:
    """An unsigned number, the lowest seven bits first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def written(message: bytes, layout: Layout, numbers: Numbers) -> bytes:
    """The message with these numbers in it."""
    out = bytearray()
    for number, kind, value in fields(message):
        out += varint(number << 3 | kind)
        place = layout.get(number)
        if isinstance(value, int):
            out += varint(getattr(numbers, place) if isinstance(place, str) else value)
        elif kind == BYTES:
            part = value if place is None or isinstance(place, str) else written(value, place, numbers)
            out += varint(len(part)) + part
        else:
            out += value
    return bytes(out)


def fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field; of sound messages alone, which recorded ones are."""
    at = 0
    while at < len(message):
        tag, at = uvarlong(message, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = uvarlong(message, at)
            yield tag >> 3, kind, value
            continue
        length, at = uvarlong(message, at) if kind == BYTES else (_FIXED[kind], at)
        yield tag >> 3, kind, message[at : at + length]
        at += length
