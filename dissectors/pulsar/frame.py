"""One Pulsar frame to values, plain or symbolic (wire.sections): frames as brokers and clients write them.

Facts (Pulsar binary protocol specification, "Framing"). Behind the command of a SEND or MESSAGE stand, each if it is
there: 0x0e02 and the broker's own metadata behind their size; 0x0e01 and a CRC32C of all that follows; the size of the
metadata, metadata, and the payload up to the frame's end. Only the number of messages in its metadata makes a payload a
batch, even if it is 1. Compression is of the whole batch and encryption of what was compressed, so an encrypted payload
stays as it is; so does a chunk, which is compressed before it is cut.

Whatever is out of the ordinary raises one of emit.FAILURES, and frame_fields.py, which makes nodes of the same bytes,
tells what it is.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Any

from dissectors.fragment import Fragment
from dissectors.pulsar.commands import MESSAGE, SEND, commands, library, markers
from dissectors.pulsar.header import COMMAND_AT, SIZES, find_command
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf_values import decode
from dissectors.wire.sections import FIELD, Read, Sections
from dissectors.wire.varint import Unfit, uvarint

CHECKSUM = 0x0E01
BROKER_METADATA = 0x0E02

CODECS = {"LZ4": "lz4-block", "ZLIB": "zlib", "ZSTD": "zstd", "SNAPPY": "snappy-block"}
"""The names by which wire.codecs knows Pulsar's compressions."""

TYPE_AT = COMMAND_AT + 1
_MAGIC = Struct(">H")
_UINT32 = Struct(">I")
_HALF, _WORD = _MAGIC.size, _UINT32.size


def decode_frame(sections: Sections) -> dict[str, Any]:
    """The values of a frame. Raises one of emit.FAILURES where it is out of the ordinary."""
    found, end = decode_command(sections)
    if end < sections.end:
        if sections.data[sections.begin + TYPE_AT] not in (SEND, MESSAGE):
            raise Unfit
        _decode_payload_part(sections, end, found)
    return found


def decode_command(sections: Sections) -> tuple[dict[str, Any], int]:
    """The values of its command, and where that ends. Raises the same."""
    begin = sections.begin + COMMAND_AT
    command = commands().get(sections.data[sections.begin + TYPE_AT])
    if command is None or not sections.data.startswith(command.begin, begin):
        raise Unfit
    total, size = SIZES.unpack_from(sections.data, sections.begin)
    length_at, end = begin + len(command.begin), begin + size
    length, at = uvarint(sections.data, length_at)
    if sections.begin + _WORD + total != sections.end or at + length != end or end > sections.end:
        raise Unfit
    return sections.inner(begin, length_at, end, command.message), end


def find_parts(d: bytes, p: int) -> tuple[tuple[int, int] | None, int | None, tuple[int, int]]:
    """Where the broker's metadata, the checksum and the metadata are in what stands behind a command, at p.

    Of metadata the beginning behind its size, and the end, which may lie behind the frame's. Raises struct.error.
    """
    broker = checksum = None
    (magic,) = _MAGIC.unpack_from(d, p)
    if magic == BROKER_METADATA:
        broker = _read_size(d, p + _HALF)
        p = broker[1]
        (magic,) = _MAGIC.unpack_from(d, p)
    if magic == CHECKSUM:
        checksum = p + _HALF
        p = checksum + _WORD
    return broker, checksum, _read_size(d, p)


def _read_size(d: bytes, p: int) -> tuple[int, int]:
    """Where what says its size at p begins, and where it ends."""
    size: int = _UINT32.unpack_from(d, p)[0]
    return p + _WORD, p + _WORD + size


def _decode_payload_part(sections: Sections, at: int, found: dict[str, Any]) -> None:
    """What stands behind the command, up to the end."""
    broker, checksum, place = find_parts(sections.data, at)
    if broker is not None:
        found["broker_entry_metadata"] = sections.section(*broker, library().message("BrokerEntryMetadata"))
    if checksum is not None:
        found["checksum"] = sections.checksum(checksum)
    metadata = found["metadata"] = sections.section(*place, library().message("MessageMetadata"))
    found.update(describe_wrapping(metadata))
    found["payload"] = decode_payload(sections, place[1], metadata)


def find_metadata(d: bytes) -> tuple[int, int]:
    """Where the metadata of a SEND or MESSAGE begins and ends, if all that is there. Raises struct.error."""
    return find_parts(d, _read_size(d, _WORD)[1])[2]


def is_opaque(metadata: dict[str, Any]) -> bool:
    """Whether a payload can't be read by itself: it is encrypted, or one chunk of several."""
    return "encryption_keys" in metadata or "chunk_id" in metadata


def describe_wrapping(metadata: dict[str, Any]) -> dict[str, Any]:
    """What the metadata says of a payload that can't be read by itself."""
    found: dict[str, Any] = {}
    if "encryption_keys" in metadata:
        found["encrypted"] = True
    if "chunk_id" in metadata:
        names = (("uuid", "uuid"), ("id", "chunk_id"), ("total", "num_chunks_from_msg"))
        found["chunk"] = {name: metadata[key] for name, key in names if key in metadata}
    return found


def decode_payload(sections: Sections, at: int, metadata: dict[str, Any]) -> Any:
    """A payload from a place to the end, decompressed if it can be: bytes, a batch, or what a marker says."""
    if is_opaque(metadata):
        return sections.rest(at)
    codec, count = metadata.get("compression", "NONE"), metadata.get("num_messages_in_batch")
    marker = markers().get(metadata.get("marker_type", 0)) if count is None else None
    if codec == "NONE" and count is None:
        return sections.rest(at) if marker is None else sections.embed(at, marker)
    if marker is not None or (codec != "NONE" and codec not in CODECS):
        raise Unfit
    sizes = () if codec == "NONE" else (metadata.get("uncompressed_size", 0),)
    if count is None:
        return sections.content(at, _make_decompressor(codec), sizes)
    return {"messages": sections.content(at, _make_batch_decoder(codec), (*sizes, count))}


@cache
def _make_decompressor(codec: str) -> Read:
    def decompress_content(content: bytes, asked: tuple[int, ...], budget: Budget) -> bytes:
        return decompress(CODECS[codec], content, budget, "payload", 0, asked[0])

    return decompress_content


@cache
def _make_batch_decoder(codec: str) -> Read:
    def decode_content(content: bytes, asked: tuple[int, ...], budget: Budget) -> list[dict[str, Any]]:
        if codec != "NONE":
            content = _make_decompressor(codec)(content, asked, budget)
        return _decode_batch(content, asked[-1], budget)

    return decode_content


def _decode_batch(d: bytes, count: int, budget: Budget) -> list[dict[str, Any]]:
    """The messages of a batch. Raises one of emit.FAILURES."""
    p, end = 0, len(d)
    if not 0 <= count <= budget.items:
        raise Unfit
    single = library().message("SingleMessageMetadata")
    found: list[dict[str, Any]] = []
    for _ in range(count):
        size = _UINT32.unpack_from(d, p)[0]
        p += 4
        if not budget.take(1 + size // FIELD):
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


FRAGMENTED = frozenset((SEND, MESSAGE))

_CHUNK_ID = (b"\xe8\x01", b"\xe8\x81")
"""What the field begins with that only chunks have; the second is a longer way to write the same."""

_COUNTED = {SEND: "producer_id", MESSAGE: "consumer_id"}


def is_cut(prefix: bytes) -> bool:
    """Whether the metadata, which would say that a frame carries a chunk, goes on behind the prefix."""
    try:
        return find_metadata(prefix)[1] > len(prefix)
    except FAILURES:
        return True


def find_fragment(prefix: bytes) -> Fragment | None:
    """Finds which chunk of a larger message a frame carries.

    None for no chunk, or if the prefix ends within the metadata.
    """
    try:
        at, stop = find_metadata(prefix)
        if not any(prefix.find(mark, at, stop) >= 0 for mark in _CHUNK_ID):
            return None
        metadata = decode(prefix, at, stop, library().message("MessageMetadata"))
        command, begin, end = find_command(prefix)
        if stop > len(prefix) or command is None:
            return None
        number = decode(prefix, begin, end, command.message)[_COUNTED[command.code]]
    except (*FAILURES, KeyError):
        return None
    place, uuid = metadata.get("chunk_id", -1), metadata.get("uuid")
    if uuid is None or place < 0:
        return None
    return Fragment((number, uuid), place, metadata.get("num_chunks_from_msg", 0))
