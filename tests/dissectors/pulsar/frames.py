"""Pulsar frames written by hand: a small writer of Protocol Buffers, which knows no table, and frames made with it."""

from __future__ import annotations

from crc32c import crc32c

NO_ID = 2**64 - 1


def varint(value: int) -> bytes:
    found = bytearray()
    value %= 1 << 64
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | str | bytes) -> bytes:
    """One field: an int as varint, text and bytes behind their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def base(code: int, body: bytes) -> bytes:
    """A BaseCommand."""
    return field(1, code) + field(code, body)


def frame(code: int, *fields: bytes, rest: bytes = b"") -> bytes:
    """A command of this type with these fields, and what stands behind it."""
    return sized(sized(base(code, b"".join(fields))) + rest)


def payload_part(metadata: bytes, payload: bytes, *, broker: bytes | None = None, checksum: int | None = None) -> bytes:
    """What stands behind the command of a SEND or MESSAGE; `checksum` 0 for none, else the right one."""
    part = sized(metadata) + payload
    if checksum != 0:
        part = b"\x0e\x01" + (crc32c(part) if checksum is None else checksum).to_bytes(4) + part
    return part if broker is None else b"\x0e\x02" + sized(broker) + part


METADATA = field(1, "p") + field(2, 3) + field(3, 1_795_271_133_179)
METADATA_VALUES = {"producer_name": "p", "sequence_id": 3, "publish_time": 1_795_271_133_179}


def send(metadata: bytes = METADATA, payload: bytes = b"x", producer: int = 0, sequence: int = 3, **part: int) -> bytes:
    return frame(6, field(1, producer), field(2, sequence), rest=payload_part(metadata, payload, **part))


def receipt(producer: int, sequence: int, highest: int = 0) -> bytes:
    place = field(1, 13) + field(2, 1)
    return frame(7, field(1, producer), field(2, sequence), field(3, place), field(4, highest))


CONNECT = frame(2, field(1, "Pulsar-Test-v1"), field(4, 19), field(5, "none"))
CONNECTED = frame(3, field(1, "Pulsar Server"), field(2, 19))
CHALLENGE = frame(36, field(1, "Pulsar Server"), field(2, field(1, "token") + field(2, b"refresh")))
AUTH_RESPONSE = frame(37, field(1, "Pulsar-Test-v2"), field(2, field(1, "token") + field(2, b"hush")))
PING, PONG = frame(18), frame(19)


def lookup(request: int, topic: str = "t") -> bytes:
    return frame(23, field(1, topic), field(2, request))


def found(request: int) -> bytes:
    return frame(24, field(1, "pulsar://broker:6650"), field(3, 1), field(4, request))


def producer(request: int) -> bytes:
    return frame(5, field(1, "t"), field(2, 0), field(3, request))


def produced(request: int, ready: int | None = None) -> bytes:
    return frame(17, field(1, request), field(2, "p"), *([] if ready is None else [field(6, ready)]))


def error(request: int, code: int = 3) -> bytes:
    return frame(14, field(1, request), field(2, code), field(3, "no"))


def success(request: int) -> bytes:
    return frame(13, field(1, request))


def ack(count: int, request: int | None) -> bytes:
    ids = [field(3, field(1, 1_000_000 + index) + field(2, index)) for index in range(count)]
    return frame(10, field(1, 0), field(2, 0), *ids, *([] if request is None else [field(8, request)]))


def acked(request: int) -> bytes:
    return frame(38, field(1, 0), field(6, request))
