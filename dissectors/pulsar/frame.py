"""One Pulsar frame to values, plain or symbolic (wire.sections): frames as brokers and clients write them.

Facts (Pulsar binary protocol specification, "Framing"). Sections may follow the command of a SEND or MESSAGE
(payload_sections). The payload comes last and extends to the end of the frame. A payload is a batch if its metadata
counts the messages, even if it counts one. Brokers and clients compress the whole batch and encrypt the compressed
bytes, so an encrypted payload stays as it is; so does a chunk, which is compressed before it is cut.

Both readers of a frame follow payload_sections() and classify_payload(). This one raises one of emit.FAILURES for
anything unusual; frame_fields.py then makes nodes of the same bytes and reports the problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from dissectors.fragment import Fragment
from dissectors.pulsar.commands import MESSAGE, SEND, commands, library, markers
from dissectors.pulsar.header import COMMAND_AT, SIZES, find_command
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.emit import FAILURES
from dissectors.wire.message_template import ReadContent
from dissectors.wire.protobuf import MessageType
from dissectors.wire.protobuf_values import decode
from dissectors.wire.sections import FIELD, SectionLayout, Sections, find_sections
from dissectors.wire.varint import Unfit, uvarint

CODECS = {"LZ4": "lz4-block", "ZLIB": "zlib", "ZSTD": "zstd", "SNAPPY": "snappy-block"}
"""The names by which wire.codecs knows Pulsar's compressions."""

TYPE_AT = COMMAND_AT + 1
_UINT32 = Struct(">I")
_WORD = _UINT32.size


def decode_frame(sections: Sections) -> dict[str, Any]:
    """Returns the values of a frame. Raises one of emit.FAILURES where it is out of the ordinary."""
    found, end = decode_command(sections)
    if end < sections.end:
        if sections.data[sections.begin + TYPE_AT] not in (SEND, MESSAGE):
            raise Unfit
        _decode_payload_part(sections, end, found)
    return found


def decode_command(sections: Sections) -> tuple[dict[str, Any], int]:
    """Returns the values of its command, and where that ends. Raises the same."""
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


@cache
def payload_sections() -> tuple[SectionLayout, ...]:
    """Returns the sections between the command of a SEND or MESSAGE and its payload, in order."""
    return (
        SectionLayout("broker_entry_metadata", library().message("BrokerEntryMetadata"), 0x0E02),
        SectionLayout("checksum", None, 0x0E01),
        SectionLayout("metadata", library().message("MessageMetadata"), None),
    )


def _decode_payload_part(sections: Sections, at: int, found: dict[str, Any]) -> None:
    """What stands behind the command, up to the end."""
    for layout, begin, end in find_sections(sections.data, at, payload_sections()):
        found[layout.name] = (
            sections.checksum(begin) if layout.message is None else sections.section(begin, end, layout.message)
        )
        at = end
    metadata = found["metadata"]
    found.update(describe_wrapping(metadata))
    found["payload"] = decode_payload(sections, at, metadata)


def find_metadata(d: bytes) -> tuple[int, int]:
    """Returns where the metadata of a SEND or MESSAGE begins and ends. Raises struct.error if it is cut."""
    at = _WORD + _WORD + _UINT32.unpack_from(d, _WORD)[0]
    *_, (_, begin, end) = find_sections(d, at, payload_sections())
    return begin, end


def is_opaque(metadata: dict[str, Any]) -> bool:
    """Returns whether a payload can't be read by itself: it is encrypted, or one chunk of several."""
    return "encryption_keys" in metadata or "chunk_id" in metadata


def describe_wrapping(metadata: dict[str, Any]) -> dict[str, Any]:
    """Describes from the metadata why a payload cannot be decoded by itself."""
    found: dict[str, Any] = {}
    if "encryption_keys" in metadata:
        found["encrypted"] = True
    if "chunk_id" in metadata:
        names = (("uuid", "uuid"), ("id", "chunk_id"), ("total", "num_chunks_from_msg"))
        found["chunk"] = {name: metadata[key] for name, key in names if key in metadata}
    return found


class PayloadForm(NamedTuple):
    """The form of a payload, from its metadata.

    codec: the name of its compression, NONE for none; size: its bytes when it is uncompressed. messages: how many a
    batch has, None for a single message. marker: what the payload of a marker holds.
    """

    codec: str | int
    size: int
    messages: int | None
    marker: MessageType | None


def classify_payload(metadata: Mapping[str, Any]) -> PayloadForm:
    """Returns the form of a payload that is neither encrypted nor a chunk; its metadata may be symbolic."""
    count = metadata.get("num_messages_in_batch")
    marker = markers().get(metadata.get("marker_type", 0)) if count is None else None
    return PayloadForm(metadata.get("compression", "NONE"), metadata.get("uncompressed_size", 0), count, marker)


def decode_payload(sections: Sections, at: int, metadata: dict[str, Any]) -> Any:
    """Decodes a payload up to the end, decompressed if possible: bytes, a batch, or a marker's content."""
    if is_opaque(metadata):
        return sections.rest(at)
    codec, size, count, marker = classify_payload(metadata)
    if codec == "NONE" and count is None:
        return sections.rest(at) if marker is None else sections.embed(at, marker)
    if marker is not None or (codec != "NONE" and codec not in CODECS):
        raise Unfit
    sizes = () if codec == "NONE" else (size,)
    if count is None:
        return sections.content(at, _make_decompressor(codec), sizes)
    return {"messages": sections.content(at, _make_batch_decoder(codec), (*sizes, count))}


@cache
def _make_decompressor(codec: str) -> ReadContent:
    def decompress_content(content: bytes, sizes: tuple[int, ...], budget: Budget) -> bytes:
        return decompress(CODECS[codec], content, budget, "payload", 0, sizes[0])

    return decompress_content


@cache
def _make_batch_decoder(codec: str) -> ReadContent:
    def decode_content(content: bytes, sizes: tuple[int, ...], budget: Budget) -> list[dict[str, Any]]:
        if codec != "NONE":
            content = _make_decompressor(codec)(content, sizes, budget)
        return _decode_batch(content, sizes[-1], budget)

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
    """Returns whether the metadata, which would say that a frame carries a chunk, goes on behind the prefix."""
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
