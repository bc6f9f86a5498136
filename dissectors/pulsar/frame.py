"""One Pulsar frame to plain values: the fast way, for frames as brokers and clients write them.

Facts (Pulsar binary protocol specification, "Framing"). Behind the command of a SEND or MESSAGE stand, each if it is
there: 0x0e02 and the broker's own metadata behind their size; 0x0e01 and a CRC32C of all that follows; the size of the
metadata, metadata, and the payload up to the frame's end. Only the number of messages in its metadata makes a payload a
batch, even if it is 1. Compression is of the whole batch and encryption of what was compressed, so an encrypted payload
stays as it is; so does a chunk, which is compressed before it is cut.

Whatever is out of the ordinary raises one of emit.FAILURES, and frame_fields.py, which makes nodes of the same bytes,
tells what it is.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from dissectors.pulsar.commands import MESSAGE, SEND, commands, library, markers
from dissectors.pulsar.header import COMMAND_AT
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.embedded import Embedded
from dissectors.wire.protobuf import DEPTH, MessageType
from dissectors.wire.protobuf_values import decode
from dissectors.wire.varint import Unfit, uvarint

SIZES = Struct(">II")
"""What a frame begins with: its size, and the command's."""

CHECKSUM = 0x0E01
BROKER_METADATA = 0x0E02

CODECS = {"LZ4": "lz4-block", "ZLIB": "zlib", "ZSTD": "zstd", "SNAPPY": "snappy-block"}
"""The names by which wire.codecs knows Pulsar's compressions."""

FREE = 1 << 20
"""Bytes of Protocol Buffers up to which nobody counts what may be in them."""

_FIELD = 2
"""Bytes of the shortest field, whose value takes a hundred times as much."""

_MAGIC = Struct(">H")
_UINT32 = Struct(">I")
_HALF, _WORD = _MAGIC.size, _UINT32.size


def values(message: bytes) -> dict[str, Any]:
    """The values of a frame. Raises one of emit.FAILURES where the frame is out of the ordinary."""
    found, end = command_values(message)
    if end < len(message):
        if message[9] not in (SEND, MESSAGE):
            raise Unfit
        _payload_part(message, end, found)
    return found


def command_values(message: bytes) -> tuple[dict[str, Any], int]:
    """The values of its command, and where that ends. Raises the same."""
    total, size = SIZES.unpack_from(message)
    command = commands().get(message[9])
    if command is None or not message.startswith(command.begin, COMMAND_AT) or total + 4 != len(message):
        raise Unfit
    length, at = uvarint(message, COMMAND_AT + len(command.begin))
    end = at + length
    if end != COMMAND_AT + size or end > len(message):
        raise Unfit
    return part(message, at, end, command.message, DEPTH - 1), end


def part(d: bytes, p: int, end: int, message: MessageType, depth: int = DEPTH) -> dict[str, Any]:
    """The values of a message in a frame; one with too many fields is out of the ordinary, too."""
    if end - p > FREE and not Budget().take((end - p) // _FIELD):
        raise Unfit
    return decode(d, p, end, message, depth)


def parts_at(d: bytes, p: int) -> tuple[tuple[int, int] | None, int | None, tuple[int, int]]:
    """Where the broker's metadata, the checksum and the metadata are in what stands behind a command, at p.

    Of metadata the beginning behind its size, and the end, which may lie behind the frame's. Raises struct.error.
    """
    broker = checksum = None
    (magic,) = _MAGIC.unpack_from(d, p)
    if magic == BROKER_METADATA:
        broker = _sized(d, p + _HALF)
        p = broker[1]
        (magic,) = _MAGIC.unpack_from(d, p)
    if magic == CHECKSUM:
        checksum = p + _HALF
        p = checksum + _WORD
    return broker, checksum, _sized(d, p)


def _sized(d: bytes, p: int) -> tuple[int, int]:
    """Where what says its size at p begins, and where it ends."""
    size: int = _UINT32.unpack_from(d, p)[0]
    return p + _WORD, p + _WORD + size


def _payload_part(d: bytes, p: int, found: dict[str, Any]) -> None:
    """What stands behind the command, up to the end."""
    broker, checksum, (begin, end) = parts_at(d, p)
    if broker is not None:
        found["broker_entry_metadata"] = part(d, *broker, library().message("BrokerEntryMetadata"))
    if checksum is not None:
        from dissectors.wire.checksum import crc32c  # few frames have one

        (stored,) = _UINT32.unpack_from(d, checksum)
        if crc32c(memoryview(d)[checksum + _WORD :]) != stored:
            raise Unfit
        found["checksum"] = {"value": stored, "valid": True}
    if end > len(d):
        raise Unfit
    metadata = found["metadata"] = part(d, begin, end, library().message("MessageMetadata"))
    found.update(wrapping(metadata))
    found["payload"] = d[end:] if is_opaque(metadata) else unwrapped(d, end, metadata)


def metadata_at(d: bytes) -> tuple[int, int]:
    """Where the metadata of a SEND or MESSAGE begins and ends, if all that is there. Raises struct.error."""
    return parts_at(d, _sized(d, _WORD)[1])[2]


def is_opaque(metadata: dict[str, Any]) -> bool:
    """Whether a payload can't be read by itself: it is encrypted, or one chunk of several."""
    return "encryption_keys" in metadata or "chunk_id" in metadata


def wrapping(metadata: dict[str, Any]) -> dict[str, Any]:
    """What the metadata says of a payload that can't be read by itself."""
    found: dict[str, Any] = {}
    if "encryption_keys" in metadata:
        found["encrypted"] = True
    if "chunk_id" in metadata:
        names = (("uuid", "uuid"), ("id", "chunk_id"), ("total", "num_chunks_from_msg"))
        found["chunk"] = {name: metadata[key] for name, key in names if key in metadata}
    return found


def unwrapped(d: bytes, p: int, metadata: dict[str, Any]) -> Any:
    """A payload from p to the end, decompressed: bytes, a batch, or what a marker says."""
    end = len(d)
    compression = metadata.get("compression", "NONE")
    if compression != "NONE":
        if compression not in CODECS:
            raise Unfit
        size = metadata.get("uncompressed_size", 0)
        d = decompress(CODECS[compression], d[p:], Budget(), "payload", p, size)
        p, end = 0, len(d)
    if "num_messages_in_batch" in metadata:
        return {"messages": batch(d, p, end, metadata["num_messages_in_batch"], Budget())}
    marker = markers().get(metadata.get("marker_type", 0))
    data = d[p:]
    return data if marker is None else Embedded(data, part(d, p, end, marker), marker.name)


def batch(d: bytes, p: int, end: int, count: int, budget: Budget) -> list[dict[str, Any]]:
    """The messages of a batch, from p to the end. Raises the same."""
    if not 0 <= count <= budget.items:
        raise Unfit
    single = library().message("SingleMessageMetadata")
    found: list[dict[str, Any]] = []
    for _ in range(count):
        size = _UINT32.unpack_from(d, p)[0]
        p += 4
        if not budget.take(1 + size // _FIELD):
            raise Unfit
        metadata = decode(d, p, p + size, single)
        p += size
        stop = p + metadata["payload_size"]
        if not p <= stop <= end:
            raise Unfit
        found.append({"metadata": metadata, "payload": d[p:stop]})
        p = stop
    if p != end:
        raise Unfit
    return found
