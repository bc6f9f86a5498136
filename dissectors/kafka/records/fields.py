"""Record data to nodes that keep where every value lies: the reference implementation of values.py.

Theory. The tree shows absolute offsets and timestamps, on the bytes of their deltas. An entry has a length of its own,
so damage in one is contained in it, and the next is read. Decompressed bytes are a source of their own, below the leaf
with the compressed bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dissectors.errors import MalformedField, TooLarge
from dissectors.field import Field, FieldSpec
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.records import layout
from dissectors.kafka.records.values import DEPTH, choose_decoder
from dissectors.wire.codecs import decompress
from dissectors.wire.fields import read_members
from dissectors.wire.parts import text_of
from dissectors.wire.primitive import INT8
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec, element
from dissectors.wire.varint import zigzag

_RECORD_LENGTH = LayoutSpec("length", "varint")
_RECORD_ATTRIBUTES = LayoutSpec("attributes", "int8")
_HEADER_COUNT = LayoutSpec("count", "varint")


def unfold_records(reader: Reader, stop: int) -> None:
    """Reads the entries of a records field, up to `stop`, into the node that is open."""
    _entries(reader, stop, 1)


def _entries(reader: Reader, stop: int, depth: int) -> None:
    index = 0
    while stop - reader.at > layout.MAGIC_AT:
        at = reader.at
        length = layout.ENTRY.unpack_from(reader.data, at)[1]
        if length < layout.MESSAGE_MINIMUM[0]:
            text = f"has length {length}, the least is {layout.MESSAGE_MINIMUM[0]}"
            raise MalformedField(reader.path(f"[{index}]"), at, text)
        end = at + layout.ENTRY.size + length
        if end > stop:
            break
        magic = reader.data[at + layout.MAGIC_AT]
        reader.enter(element(index, "struct"))
        read: Callable[[Reader], None] = _batch if magic == 2 and depth == 1 else partial(_message, depth=depth)
        reader.guard(read, end)
        reader.leave()
        index += 1
    if reader.at < stop:  # an entry that was cut: normal at the end of a Fetch
        reader.leaf(element(index, "partial"), {"partial": True, "length": stop - reader.at}, stop)


def _batch(reader: Reader) -> None:
    read_members(reader, layout.BATCH.steps)
    header = {node.spec.name: node.value for node in reader.into}
    count, attributes = header["count"], header["attributes"]
    if count < 0:
        raise MalformedField(reader.path("count"), reader.at - 4, f"is {count}")
    append_time = header["maxTimestamp"] if attributes & layout.APPEND_TIME else None
    read = partial(
        _records, count=count, base=header["baseOffset"], first_time=header["baseTimestamp"], append_time=append_time
    )
    if not attributes & layout.COMPRESSION or (count == 0 and reader.at == reader.end):
        reader.enter(layout.RECORDS)
        read(reader)
        reader.leave()
        return
    _inflate(reader, _codec(reader, attributes, 2), read)


def _codec(reader: Reader, attributes: int, magic: int) -> str:
    """The codec of an entry; raises Malformed for a number that is none in its format."""
    number = attributes & layout.COMPRESSION
    if number >= len(CODECS) or (magic < 2 and CODECS[number] == "zstd"):
        raise MalformedField(reader.path("attributes"), reader.at, f"names compression {number}, which is none here")
    return choose_decoder(CODECS[number], magic)


def _wrap_int64(value: int) -> int:
    """A sum as an int64 holds it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _inflate(reader: Reader, name: str, read: Callable[[Reader], None]) -> None:
    """The rest of a batch as a leaf of compressed bytes, and what was in them as a source of its own below it."""
    at, what = reader.at, reader.path(layout.RECORDS.name)
    content = decompress(name, reader.data[at : reader.end], reader.budget, what, at)
    node = reader.leaf(layout.RECORDS, None, reader.end)
    inner = reader.read_decoded(node, f"{what}, {name}", content)
    inner.guard(read, len(content))
    if not node.children:
        node.value = []


def _records(reader: Reader, count: int, base: int, first_time: int, append_time: int | None) -> None:
    """The records of a batch, in all that is left."""
    reader.need(count * layout.RECORD_MINIMUM, reader.at, f"records ({count})")
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
        time = _wrap_int64(first_time + zigzag(unsigned)) if append_time is None else append_time
        reader.leaf(layout.TIMESTAMP, time, stop)
        unsigned, stop = reader.uvarint(reader.at, "offset")
        reader.leaf(layout.OFFSET, _wrap_int64(base + zigzag(unsigned)), stop)
        _varint_bytes(reader, layout.KEY)
        _varint_bytes(reader, layout.VALUE)
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
        reader.leaf(layout.HEADERS, [], at, at - reader.at)
        return
    reader.need(count * 2, at, f"headers ({count})")
    reader.enter(layout.HEADERS)
    reader.leaf(_HEADER_COUNT, count, at)
    for index in range(count):
        reader.enter(element(index, "struct"))
        if _varint_bytes(reader, layout.HEADER_KEY) is None:
            raise MalformedField(reader.path("key"), reader.at, "is null where none may be")
        _varint_bytes(reader, layout.VALUE)
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
    magic = reader.data[start + layout.MAGIC_AT]
    steps = layout.MESSAGES[min(magic, 1)].steps
    read_members(reader, steps[:2])
    offset, size = (node.value for node in reader.into)
    least = layout.MESSAGE_MINIMUM.get(magic)
    if least is None:
        raise MalformedField(reader.path("magic"), start + layout.MAGIC_AT, f"is {magic}, which is none here")
    if size < least:
        raise MalformedField(reader.path(), start, f"has length {size}, the least is {least}")
    read_members(reader, steps[2:])
    if reader.at != reader.end:
        raise MalformedField(reader.path(), start, f"ends {reader.end - reader.at} bytes before its length")
    attributes, content = reader.node("attributes").value, reader.node("value").value
    if not attributes & layout.COMPRESSION:
        return
    name = _codec(reader, attributes, magic)
    if content is None:
        raise MalformedField(reader.path("value"), reader.at, "is null, but compressed")
    if depth == DEPTH:
        raise TooLarge(reader.path("value"), start, f"nests message sets more than {DEPTH} deep")
    what = reader.path("value")
    plain = decompress(name, content, reader.budget, what, reader.at - len(content))
    inner = reader.read_decoded(reader.into[-1], f"{what}, {name}", plain)
    inner.enter(layout.MESSAGE_SET)
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
    time = next(node.value for node in wrapper if node.spec.name == layout.TIMESTAMP.name)
    for message in messages:
        message["offset"].value = _wrap_int64(message["offset"].value + base)
        if attributes & layout.APPEND_TIME and "timestamp" in message:
            message["timestamp"].value = time
            for bit in message["attributes"].children:
                if bit.spec.name == "timestampType":
                    bit.value = layout.TIMESTAMP_TYPES[1]
