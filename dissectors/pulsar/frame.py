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
_CHECKSUM = Struct(">HI")


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


def _payload_part(d: bytes, p: int, found: dict[str, Any]) -> None:
    """What stands behind the command, up to the end."""
    (magic,) = _MAGIC.unpack_from(d, p)
    if magic == BROKER_METADATA:
        size = _UINT32.unpack_from(d, p + 2)[0]
        p += 6
        found["broker_entry_metadata"] = part(d, p, p + size, library().message("BrokerEntryMetadata"))
        p += size
        (magic,) = _MAGIC.unpack_from(d, p)
    if magic == CHECKSUM:
        from dissectors.wire.checksum import crc32c  # few frames have one

        _, stored = _CHECKSUM.unpack_from(d, p)
        p += 6
        if crc32c(memoryview(d)[p:]) != stored:
            raise Unfit
        found["checksum"] = {"value": stored, "valid": True}
    size = _UINT32.unpack_from(d, p)[0]
    p += 4
    metadata = part(d, p, p + size, library().message("MessageMetadata"))
    p += size
    if p > len(d):
        raise Unfit
    found["metadata"] = metadata
    found.update(wrapping(metadata))
    found["payload"] = d[p:] if is_opaque(metadata) else unwrapped(d, p, metadata)


def metadata_at(d: bytes) -> tuple[int, int]:
    """Where the metadata of a SEND or MESSAGE begins and ends, if all that is there. Raises struct.error."""
    p = COMMAND_AT + int(_UINT32.unpack_from(d, SIZES.size - _UINT32.size)[0])
    if _MAGIC.unpack_from(d, p)[0] == BROKER_METADATA:
        p += _MAGIC.size + _UINT32.size + int(_UINT32.unpack_from(d, p + _MAGIC.size)[0])
    if _MAGIC.unpack_from(d, p)[0] == CHECKSUM:
        p += _CHECKSUM.size
    begin = p + _UINT32.size
    return begin, begin + int(_UINT32.unpack_from(d, p)[0])


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
