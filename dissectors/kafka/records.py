"""Record data to plain values: batches (magic 2) and the message sets before them (magic 0 and 1).

Facts (protocol guide, "Record Batch", "Message Sets"). A records field is a run of entries without a count. Each begins
with int64 offset and int32 length, and the byte at offset 16 is its magic, so formats may mix. The last one in a Fetch
may be cut. A batch has a CRC32C from its attributes to its end; behind its header stand records of varints, relative to
the batch's offset and timestamp, compressed as a whole. A message of magic 0 or 1 has a CRC32 from its magic on; a
compressed one holds a message set in its value, whose offsets are relative in magic 1, unless the wrapper's own offset
is 0, as some clients write it.

This is the fast half: anything out of the ordinary raises one of emit.FAILURES, and record_fields.py, which makes nodes
of the same bytes, tells what it is.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import Any

from crc32c import crc32c

from dissectors.kafka.structures import control
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.embedded import embedded
from dissectors.wire.flat import FlatRows
from dissectors.wire.varint import Unfit, uvarint, uvarlong, zigzag

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""Compression by the lowest three bits of the attributes."""

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

ENTRY = Struct(">qi")
"""What every entry begins with: offset, and the length of what follows."""

MAGIC_AT = 16
BATCH = Struct(">qiibIhiqqqhii")
"""A batch up to its records: offset, length, leader epoch, magic, crc, attributes, last offset delta, first and last
timestamp, producer id, producer epoch, base sequence, count."""

CHECKED_FROM = 21
"""Where in a batch the bytes begin that its checksum covers; in a message, see MESSAGE_CHECKED_FROM."""

MESSAGE_CHECKED_FROM = 16
RECORD_MINIMUM = 7
MESSAGE_MINIMUM = {0: 14, 1: 22}
DEPTH = 2
"""A message set within a wrapper is legal, one within that is not."""

_FAR = 1 << 62
_MESSAGE = (Struct(">qiIbb"), Struct(">qiIbbq"))
_INT32 = Struct(">i")


def codec_name(attributes: int, magic: int) -> str:
    """The name by which wire.codecs knows this compression; the attributes must name one."""
    name = CODECS[attributes & 7]
    return "lz4-legacy" if name == "lz4" and magic == 0 else name


def record_values(data: bytes, budget: Budget) -> list[dict[str, Any]]:
    """The entries of a records field. Raises one of emit.FAILURES where they are broken in any way."""
    return _entries(data, budget, 1)


def _entries(data: bytes, budget: Budget, depth: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    at, end = 0, len(data)
    while at < end:
        if end - at <= MAGIC_AT:
            entries.append({"partial": True, "length": end - at})
            break
        length = ENTRY.unpack_from(data, at)[1]
        stop = at + ENTRY.size + length
        if length < MESSAGE_MINIMUM[0]:
            raise Unfit
        if stop > end:
            entries.append({"partial": True, "length": end - at})
            break
        magic = data[at + MAGIC_AT]
        if magic == 2 and depth == 1:
            entries.append(_batch(data, at, stop, budget))
        elif magic < 2:
            entries.append(_message(data, at, stop, magic, budget, depth))
        else:
            raise Unfit
        at = stop
    return entries


def _batch(data: bytes, at: int, stop: int, budget: Budget) -> dict[str, Any]:
    base, length, epoch, magic, crc, attributes, last, first_time, last_time, *producer, count = BATCH.unpack_from(
        data, at
    )
    if crc32c(data[at + CHECKED_FROM : stop]) != crc or count < 0 or not (-_FAR < base < _FAR > first_time > -_FAR):
        raise Unfit
    body, end = data, stop
    at += BATCH.size
    compression = CODECS[attributes & 7]
    if attributes & 7 and (count or at < stop):
        body = decompress(compression, data[at:stop], budget, "records", at)
        at, end = 0, len(body)
    append_time = last_time if attributes & 8 else None
    records: list[dict[str, Any]] = _records(body, at, end, count, base, first_time, append_time)
    if attributes & 0x20:
        records = [_controlling(record) for record in records]
    return {
        "baseOffset": base,
        "length": length,
        "partitionLeaderEpoch": epoch,
        "magic": magic,
        "crc": crc,
        "crcValid": True,
        "attributes": attributes,
        "compression": compression,
        "timestampType": TIMESTAMP_TYPES[attributes >> 3 & 1],
        "transactional": attributes & 0x10 != 0,
        "control": attributes & 0x20 != 0,
        "deleteHorizon": attributes & 0x40 != 0,
        "lastOffsetDelta": last,
        "baseTimestamp": first_time,
        "maxTimestamp": last_time,
        "producerId": producer[0],
        "producerEpoch": producer[1],
        "baseSequence": producer[2],
        "count": count,
        "records": records,
    }


def _controlling(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a control batch, with what its key and value hold."""
    pair = zip(("key", "value"), control(record["key"], record["value"]), strict=True)
    found = {name: embedded(record[name], fit.values, fit.structure.name) for name, fit in pair if fit is not None}
    return record | found


def _records(  # noqa: C901
    d: bytes, p: int, end: int, count: int, base: int, first_time: int, append_time: int | None
) -> list[dict[str, Any]]:
    """The records of a batch, in d from p to end.

    Long and flat on purpose: varints of one and two bytes, nearly all of them, are read in line, since a call for each
    would take three times as long.
    """
    if count * RECORD_MINIMUM > end - p:
        raise Unfit
    records = FlatRows()
    for _ in range(count):
        n = d[p]
        p += 1
        if n > 127:
            m = d[p]
            p += 1
            if m < 128:
                n += (m << 7) - 128
            else:
                n, p = uvarint(d, p - 2)
        stop = p + (n >> 1)
        if n & 1:
            raise Unfit
        p += 1
        n = d[p]
        p += 1
        if n > 127:
            n, p = uvarlong(d, p - 1)
            if n > _FAR:
                raise Unfit
        time = first_time + ((n >> 1) ^ -(n & 1)) if append_time is None else append_time
        n = d[p]
        p += 1
        if n > 127:
            m = d[p]
            p += 1
            if m < 128:
                n += (m << 7) - 128
            else:
                n, p = uvarint(d, p - 2)
        offset = base + ((n >> 1) ^ -(n & 1))
        n = d[p]
        p += 1
        if n == 1:
            key = None
        else:
            if n > 127:
                n, p = uvarint(d, p - 1)
            if n & 1:
                raise Unfit
            q = p + (n >> 1)
            key = d[p:q]
            p = q
        n = d[p]
        p += 1
        if n == 1:
            value = None
        else:
            if n > 127:
                m = d[p]
                p += 1
                if m < 128:
                    n += (m << 7) - 128
                else:
                    n, p = uvarint(d, p - 2)
            if n & 1:
                raise Unfit
            q = p + (n >> 1)
            value = d[p:q]
            p = q
        if d[p]:
            headers, p = _short_headers(d, p, stop) or _headers(d, p, stop)
        else:
            headers = []
            p += 1
        if p != stop or p > end:
            raise Unfit
        records.append({"offset": offset, "timestamp": time, "key": key, "value": value, "headers": headers})
    if p != end:
        raise Unfit
    return records


def _short_headers(d: bytes, p: int, stop: int) -> tuple[list[dict[str, Any]], int] | None:
    """Headers of which each number fits into one byte and no value is null, as nearly all are; None for others."""
    n = d[p]
    if n > 127 or n & 1 or n > stop - p:
        return None
    headers = []
    for _ in range(n >> 1):
        n = d[p + 1]
        p += 2
        q = p + (n >> 1)
        m = d[q]
        end = q + (m >> 1)
        if n > 127 or m > 127 or n & 1 or m & 1 or end >= stop:
            return None
        headers.append({"key": d[p:q].decode(), "value": d[q + 1 : end + 1]})
        p = end
    return headers, p + 1


def _headers(data: bytes, at: int, stop: int) -> tuple[list[dict[str, Any]], int]:
    headers: list[dict[str, Any]] = []
    unsigned, at = uvarint(data, at)
    count = zigzag(unsigned)
    if not 0 <= count * 2 <= stop - at:
        raise Unfit
    for _ in range(count):
        unsigned, at = uvarint(data, at)
        if unsigned & 1:
            raise Unfit
        end = at + (unsigned >> 1)
        key = data[at:end].decode()
        unsigned, at = uvarint(data, end)
        size = zigzag(unsigned)
        if size < -1:
            raise Unfit
        end = at + max(size, 0)
        headers.append({"key": key, "value": None if size < 0 else data[at:end]})
        at = end
    return headers, at


def _message(data: bytes, at: int, stop: int, magic: int, budget: Budget, depth: int) -> dict[str, Any]:
    if stop - at < ENTRY.size + MESSAGE_MINIMUM[magic]:
        raise Unfit
    layout = _MESSAGE[magic]
    offset, _, crc, _, attributes, *times = layout.unpack_from(data, at)
    if zlib.crc32(data[at + MESSAGE_CHECKED_FROM : stop]) != crc or not -_FAR < offset < _FAR:
        raise Unfit
    message = {"offset": offset, "magic": magic, "crc": crc, "crcValid": True, "compression": CODECS[attributes & 7]}
    if magic == 1:
        message["timestampType"] = TIMESTAMP_TYPES[attributes >> 3 & 1]
        message["timestamp"] = times[0]
    message["key"], at = _bytes(data, at + layout.size, stop)
    value, at = _bytes(data, at, stop)
    message["value"] = value
    if at != stop:
        raise Unfit
    if attributes & 7:
        if depth == DEPTH or value is None or attributes & 7 == 4:
            raise Unfit
        content = decompress(codec_name(attributes, magic), value, budget, "value", at)
        message["messages"] = _entries(content, budget, depth + 1)
        _settle(message)
    return message


def _settle(wrapper: dict[str, Any]) -> None:
    """Gives messages in a wrapper of magic 1 their absolute offsets, and the wrapper's time where the log set it."""
    messages = [message for message in wrapper["messages"] if "magic" in message]
    if wrapper["magic"] != 1 or not messages:
        return
    base = wrapper["offset"] - messages[-1]["offset"] if wrapper["offset"] else 0
    for message in messages:
        message["offset"] += base
        if wrapper["timestampType"] == TIMESTAMP_TYPES[1] and message["magic"] == 1:
            message["timestampType"] = TIMESTAMP_TYPES[1]
            message["timestamp"] = wrapper["timestamp"]


def _bytes(data: bytes, at: int, stop: int) -> tuple[bytes | None, int]:
    size = _INT32.unpack_from(data, at)[0]
    at += 4
    if size == -1:
        return None, at
    if not 0 <= size <= stop - at:
        raise Unfit
    return data[at : at + size], at + size
