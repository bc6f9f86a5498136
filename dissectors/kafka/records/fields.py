"""Record data to nodes that keep where every value lies: the reference implementation of values.py.

Theory. The tree shows absolute offsets and timestamps, on the bytes of their deltas. An entry has a length of its own,
so damage in one is contained in it, and the next is read. Decompressed bytes are a source of their own, below the leaf
with the compressed bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

from dissectors.errors import MalformedField, TooLarge
from dissectors.field import Field, FieldSpec
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.records.batches import RECORD_MINIMUM
from dissectors.kafka.records.values import (
    CHECKED_FROM,
    DEPTH,
    ENTRY,
    MAGIC_AT,
    MESSAGE_CHECKED_FROM,
    MESSAGE_MINIMUM,
    TIMESTAMP_TYPES,
    codec_name,
)
from dissectors.wire.codecs import decompress
from dissectors.wire.parts import text_of
from dissectors.wire.primitive import INT8, INT16, INT32, INT64, UINT32, FixedWidth, Length
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, Many, element
from dissectors.wire.times import timestamp
from dissectors.wire.varint import zigzag

_BATCH: tuple[tuple[FieldSpec, FixedWidth], ...] = tuple(
    (FieldSpec(name, kind.type, timestamp if name.endswith("Timestamp") else None), kind)
    for name, kind in (
        ("lastOffsetDelta", INT32),
        ("baseTimestamp", INT64),
        ("maxTimestamp", INT64),
        ("producerId", INT64),
        ("producerEpoch", INT16),
        ("baseSequence", INT32),
        ("count", INT32),
    )
)
_CONTENT = Length("int32", "i")
_OFFSET = FieldSpec("offset", "int64")
_BASE_OFFSET = FieldSpec("baseOffset", "int64")
_LENGTH = FieldSpec("length", "int32")
_SIZE = LayoutSpec("length", "int32")
_EPOCH = FieldSpec("partitionLeaderEpoch", "int32")
_MAGIC = FieldSpec("magic", "int8")
_CRC = FieldSpec("crc", "uint32")
_CRC_VALID = FieldSpec("crcValid", "bool")
_ATTRIBUTES = FieldSpec("attributes", "int16")
_MESSAGE_ATTRIBUTES = LayoutSpec("attributes", "int8")
_COMPRESSION = FieldSpec("compression", "string")
_TIMESTAMP_TYPE = FieldSpec("timestampType", "string")
_TIMESTAMP = FieldSpec("timestamp", "int64", timestamp)
_FLAGS = tuple(
    (FieldSpec(name, "bool"), mask) for name, mask in (("transactional", 16), ("control", 32), ("deleteHorizon", 64))
)
_RECORDS = Many("records", "array")
_MESSAGES = Many("messages", "array")
_KEY = FieldSpec("key", "bytes")
_VALUE = FieldSpec("value", "bytes")
_RECORD_LENGTH = LayoutSpec("length", "varint")
_RECORD_ATTRIBUTES = LayoutSpec("attributes", "int8")
_RECORD_TIME = FieldSpec("timestamp", "varlong", timestamp)
_RECORD_OFFSET = FieldSpec("offset", "varint")
_HEADERS = Many("headers", "array")
_HEADER_COUNT = LayoutSpec("count", "varint")
_HEADER_KEY = FieldSpec("key", "string")

BATCH_SPECS = (
    *(_BASE_OFFSET, _LENGTH, _EPOCH, _MAGIC, _CRC, _CRC_VALID, _ATTRIBUTES, _COMPRESSION, _TIMESTAMP_TYPE),
    *(spec for spec, _ in (*_FLAGS, *_BATCH)),
    _RECORDS,
)
"""What the values of a batch are called, in their order; the same of a record, its header, a message before batches."""

RECORD_SPECS = (_RECORD_OFFSET, _RECORD_TIME, _KEY, _VALUE, _HEADERS)
HEADER_SPECS = (_HEADER_KEY, _VALUE)
MESSAGE_SPECS = (_OFFSET, _MAGIC, _CRC, _CRC_VALID, _COMPRESSION, _TIMESTAMP_TYPE, _TIMESTAMP, _KEY, _VALUE, _MESSAGES)


def unfold_records(reader: Reader, stop: int) -> None:
    """Reads the entries of a records field, up to `stop`, into the node that is open."""
    _entries(reader, stop, 1)


def _entries(reader: Reader, stop: int, depth: int) -> None:
    index = 0
    while reader.at < stop:
        at = reader.at
        if stop - at <= MAGIC_AT:
            _partial(reader, index, stop)
            return
        length = ENTRY.unpack_from(reader.data, at)[1]
        if length < MESSAGE_MINIMUM[0]:
            raise MalformedField(
                reader.path(f"[{index}]"), at, f"has length {length}, the least is {MESSAGE_MINIMUM[0]}"
            )
        end = at + ENTRY.size + length
        if end > stop:
            _partial(reader, index, stop)
            return
        magic = reader.data[at + MAGIC_AT]
        reader.enter(element(index, "struct"))
        read: Callable[[Reader], None] = _batch if magic == 2 and depth == 1 else partial(_message, depth=depth)
        reader.guard(read, end)
        reader.leave()
        index += 1


def _partial(reader: Reader, index: int, stop: int) -> None:
    """What is left of an entry that was cut: normal at the end of a Fetch."""
    reader.leaf(element(index, "partial"), {"partial": True, "length": stop - reader.at}, stop)


def _crc(reader: Reader, start: int, checksum: Callable[[bytes], int]) -> None:
    """The checksum, held against the bytes from `start` to the end of the entry."""
    stored = reader.take(_CRC, UINT32)
    computed = checksum(reader.data[start : reader.end])
    reader.bits(_CRC_VALID, stored == computed, 0xFFFF_FFFF)
    if stored != computed:
        text = f"{reader.path('crc')} is {stored:#010x}, the bytes have {computed:#010x}"
        reader.warn("crc-mismatch", text, reader.at - UINT32.size, reader.at)


def _codec_bits(reader: Reader, attributes: int) -> None:
    """Compression and kind of timestamp, as every format has them in its attributes."""
    number = attributes & 7
    reader.bits(_COMPRESSION, CODECS[number] if number < len(CODECS) else f"unknown-{number}", 7)


def _batch(reader: Reader) -> None:
    from dissectors.wire.checksum import crc32c

    start = reader.at
    base = reader.take(_BASE_OFFSET, INT64)
    reader.take(_LENGTH, INT32)
    reader.take(_EPOCH, INT32)
    reader.take(_MAGIC, INT8)
    _crc(reader, start + CHECKED_FROM, crc32c)
    attributes = reader.take(_ATTRIBUTES, INT16)
    _codec_bits(reader, attributes)
    reader.bits(_TIMESTAMP_TYPE, TIMESTAMP_TYPES[attributes >> 3 & 1], 8)
    for spec, mask in _FLAGS:
        reader.bits(spec, attributes & mask != 0, mask)
    header = {spec.name: reader.take(spec, layout) for spec, layout in _BATCH}
    count: int = header["count"]
    if count < 0:
        raise MalformedField(reader.path("count"), reader.at - 4, f"is {count}")
    append_time = header["maxTimestamp"] if attributes & 8 else None
    read = partial(_records, count=count, base=base, first_time=header["baseTimestamp"], append_time=append_time)
    if not attributes & 7 or (count == 0 and reader.at == reader.end):
        reader.enter(_RECORDS)
        read(reader)
        reader.leave()
        return
    _inflate(reader, _codec(reader, attributes, 2), read)


def _codec(reader: Reader, attributes: int, magic: int) -> str:
    """The codec of an entry; raises Malformed for a number that is none in its format."""
    number = attributes & 7
    if number >= len(CODECS) or (magic < 2 and CODECS[number] == "zstd"):
        raise MalformedField(reader.path("attributes"), reader.at, f"names compression {number}, which is none here")
    return codec_name(attributes, magic)


def _wrap_int64(value: int) -> int:
    """A sum as an int64 holds it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _inflate(reader: Reader, name: str, read: Callable[[Reader], None]) -> None:
    """The rest of a batch as a leaf of compressed bytes, and what was in them as a source of its own below it."""
    at, what = reader.at, reader.path(_RECORDS.name)
    content = decompress(name, reader.data[at : reader.end], reader.budget, what, at)
    node = reader.leaf(_RECORDS, None, reader.end)
    inner = reader.read_decoded(node, f"{what}, {name}", content)
    inner.guard(read, len(content))
    if not node.children:
        node.value = []


def _records(reader: Reader, count: int, base: int, first_time: int, append_time: int | None) -> None:
    """The records of a batch, in all that is left."""
    reader.need(count * RECORD_MINIMUM, reader.at, f"records ({count})")
    end = reader.end
    for index in range(count):
        at = reader.at
        unsigned, content = reader.uvarint(at, f"[{index}]")
        size = zigzag(unsigned)
        if size < 0:
            raise MalformedField(reader.path(f"[{index}]"), at, f"has length {size}")
        reader.need(size, content, f"[{index}]")
        reader.end = content + size
        reader.enter(element(index, "struct"))
        reader.leaf(_RECORD_LENGTH, size, content)
        reader.take(_RECORD_ATTRIBUTES, INT8)
        unsigned, stop = reader.uvarlong(reader.at, "timestamp")
        reader.leaf(
            _RECORD_TIME, _wrap_int64(first_time + zigzag(unsigned)) if append_time is None else append_time, stop
        )
        unsigned, stop = reader.uvarint(reader.at, "offset")
        reader.leaf(_RECORD_OFFSET, _wrap_int64(base + zigzag(unsigned)), stop)
        _varint_bytes(reader, _KEY)
        _varint_bytes(reader, _VALUE)
        _headers(reader)
        if reader.at != reader.end:
            raise MalformedField(reader.path(), at, f"ends {reader.end - reader.at} bytes before its length")
        reader.leave()
        reader.end = end
    if reader.at != end:
        raise MalformedField(reader.path("records"), reader.at, f"are followed by {end - reader.at} bytes more")


def _headers(reader: Reader) -> None:
    unsigned, at = reader.uvarint(reader.at, "headers")
    count = zigzag(unsigned)
    if count < 0:
        raise MalformedField(reader.path("headers"), reader.at, f"has count {count}")
    if count == 0:
        reader.leaf(_HEADERS, [], at, at - reader.at)
        return
    reader.need(count * 2, at, f"headers ({count})")
    reader.enter(_HEADERS)
    reader.leaf(_HEADER_COUNT, count, at)
    for index in range(count):
        reader.enter(element(index, "struct"))
        if _varint_bytes(reader, _HEADER_KEY) is None:
            raise MalformedField(reader.path("key"), reader.at, "is null where none may be")
        _varint_bytes(reader, _VALUE)
        reader.leave()
    reader.leave()


def _varint_bytes(reader: Reader, spec: FieldSpec) -> bytes | str | None:
    """Bytes, or text for a spec that says so, behind a varint length; -1 is null."""
    unsigned, at = reader.uvarint(reader.at, spec.name)
    size = zigzag(unsigned)
    if size < -1:
        raise MalformedField(reader.path(spec.name), reader.at, f"has length {size}")
    if size < 0:
        reader.leaf(spec, None, at, at - reader.at)
        return None
    reader.need(size, at, spec.name)
    content = reader.data[at : at + size]
    value = text_of(content) if spec.type == "string" else content
    reader.leaf(spec, value, at + size, at - reader.at)
    return value


def _message(reader: Reader, depth: int) -> None:
    start = reader.at
    offset = reader.take(_OFFSET, INT64)
    size = reader.take(_SIZE, INT32)
    magic = reader.data[start + MAGIC_AT]
    least = MESSAGE_MINIMUM.get(magic)
    if least is None:
        raise MalformedField(reader.path("magic"), start + MAGIC_AT, f"is {magic}, which is none here")
    if size < least:
        raise MalformedField(reader.path(), start, f"has length {size}, the least is {least}")
    _crc(reader, start + MESSAGE_CHECKED_FROM, zlib.crc32)
    reader.take(_MAGIC, INT8)
    attributes = reader.take(_MESSAGE_ATTRIBUTES, INT8)
    _codec_bits(reader, attributes)
    if magic == 1:
        reader.bits(_TIMESTAMP_TYPE, TIMESTAMP_TYPES[attributes >> 3 & 1], 8)
        reader.take(_TIMESTAMP, INT64)
    reader.content(_KEY, _CONTENT)
    content = reader.content(_VALUE, _CONTENT)
    if reader.at != reader.end:
        raise MalformedField(reader.path(), start, f"ends {reader.end - reader.at} bytes before its length")
    if not attributes & 7:
        return
    name = _codec(reader, attributes, magic)
    if content is None:
        raise MalformedField(reader.path("value"), reader.at, "is null, but compressed")
    if depth == DEPTH:
        raise TooLarge(reader.path("value"), start, f"nests message sets more than {DEPTH} deep")
    what = reader.path("value")
    plain = decompress(name, content, reader.budget, what, reader.at - len(content))
    inner = reader.read_decoded(reader.into[-1], f"{what}, {name}", plain)
    inner.enter(_MESSAGES)
    inner.guard(lambda nested: _entries(nested, len(plain), depth + 1), len(plain))
    inner.leave()
    if magic == 1:
        _settle(reader.into, inner.into[-1].children, offset, attributes)


def _settle(wrapper: list[Field], entries: list[Field], offset: int, attributes: int) -> None:
    """Gives the messages in a wrapper their absolute offsets, and the wrapper's time where the log set it."""
    messages = [{node.spec.name: node for node in entry.children} for entry in entries if entry.children]
    messages = [message for message in messages if "offset" in message]
    if not messages:
        return
    base = offset - messages[-1]["offset"].value if offset else 0
    time = next(node.value for node in wrapper if node.spec is _TIMESTAMP)
    for message in messages:
        message["offset"].value = _wrap_int64(message["offset"].value + base)
        if attributes & 8 and "timestamp" in message:
            message["timestamp"].value = time
            for bit in message["attributes"].children:
                if bit.spec is _TIMESTAMP_TYPE:
                    bit.value = TIMESTAMP_TYPES[1]
