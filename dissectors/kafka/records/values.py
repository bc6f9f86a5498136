"""Record data to plain values: batches (magic 2) and the message sets before them (magic 0 and 1).

Facts (protocol guide, "Record Batch", "Message Sets"). A records field is a run of entries without a count. Each begins
with int64 offset and int32 length, and the byte at offset 16 is its magic, so formats may mix. The last one in a Fetch
may be cut. A batch has a CRC32C from its attributes to its end; behind its header are records of varints, relative to
the batch's offset and timestamp, compressed as a whole. A message of magic 0 or 1 has a CRC32 from its magic on; a
compressed one holds a message set in its value, whose offsets are relative in magic 1, unless the wrapper's own offset
is 0, as some clients write it.

This is the fast decoder: anything unusual raises one of emit.FAILURES, and fields.py, which makes nodes of the same
bytes, reports the problem.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import Struct
from typing import Any, TypeAlias

from dissectors.kafka.codecs import CODECS
from dissectors.kafka.nested.structures import detect_control
from dissectors.kafka.records.batches import FAR, Batch, Head, read_batches
from dissectors.wire.budget import Budget
from dissectors.wire.checksum import crc32c
from dissectors.wire.codecs import decompress
from dissectors.wire.embedded import embed
from dissectors.wire.varint import Unfit

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
MESSAGE_MINIMUM = {0: 14, 1: 22}
_GLANCE, _GLANCES = 23, 64
"""Bytes of an entry, and entries, that are looked at to see whether any is compressed."""

DEPTH = 2
"""A message set within a wrapper is legal, one within that is not."""

_MESSAGE = (Struct(">qiIbb"), Struct(">qiIbbq"))
_INT32 = Struct(">i")
_UINT32 = Struct(">I")


def codec_name(attributes: int, magic: int) -> str:
    """Returns the name of a compression for wire.codecs; the attributes must have a known one."""
    name = CODECS[attributes & 7]
    return "lz4-legacy" if name == "lz4" and magic == 0 else name


def record_values(data: bytes, budget: Budget) -> list[dict[str, Any]]:
    """Returns the entries of a records field. Raises one of emit.FAILURES where they are broken in any way.

    Where the budget says so, the records of batches are left for `fill`.
    """
    found: list[_Found] = [] if budget.later is None else budget.later
    entries = _entries(data, budget, 1, found)
    if budget.later is None:
        fill(found)
    return entries


def fill(found: Sequence[_Found]) -> None:
    """Reads the records of batches into their entries. Raises one of emit.FAILURES where any are broken."""
    for (entry, _), records in zip(found, read_batches([batch for _, batch in found]), strict=True):
        entry["records"] = [_controlling(record) for record in records] if entry["control"] else records


_Found: TypeAlias = tuple[dict[str, Any], Batch]
"""The entry of a batch, whose records are not read yet, and where these are: all are read together."""


def _entries(data: bytes, budget: Budget, depth: int, found: list[_Found]) -> list[dict[str, Any]]:
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
            found.append(_batch(data, at, stop, budget))
            entries.append(found[-1][0])
        elif magic < 2:
            entries.append(_message(data, at, stop, magic, budget, depth, found))
        else:
            raise Unfit
        at = stop
    return entries


def may_inflate(data: bytes, at: int, size: int) -> bool:
    """Returns whether any of these entries may be compressed."""
    stop = at + size
    for _ in range(_GLANCES):
        if at + _GLANCE > stop:
            return at + MAGIC_AT < stop
        if data[at + (22 if data[at + MAGIC_AT] == 2 else 17)] & 7:  # the byte of the attributes that names a codec
            return True
        at += ENTRY.size + _UINT32.unpack_from(data, at + 8)[0]
    return True


def describe_batch(
    attributes: int, last: int, first_time: int, last_time: int, producer: int, epoch: int, sequence: int, count: int
) -> dict[str, Any]:
    """Returns the values of a batch's header after its checksum. Raises IndexError for an unknown codec."""
    return {
        "attributes": attributes,
        "compression": CODECS[attributes & 7],
        "timestampType": TIMESTAMP_TYPES[attributes >> 3 & 1],
        "transactional": attributes & 0x10 != 0,
        "control": attributes & 0x20 != 0,
        "deleteHorizon": attributes & 0x40 != 0,
        "lastOffsetDelta": last,
        "baseTimestamp": first_time,
        "maxTimestamp": last_time,
        "producerId": producer,
        "producerEpoch": epoch,
        "baseSequence": sequence,
        "count": count,
    }


def _batch(data: bytes, at: int, stop: int, budget: Budget) -> _Found:
    (
        base,
        length,
        epoch,
        magic,
        crc,
        attributes,
        last,
        first_time,
        last_time,
        producer,
        producer_epoch,
        sequence,
        count,
    ) = BATCH.unpack_from(data, at)
    if crc32c(data[at + CHECKED_FROM : stop]) != crc or count < 0 or not (-FAR < base < FAR > first_time > -FAR):
        raise Unfit
    body, end = data, stop
    at += BATCH.size
    if attributes & 7 and (count or at < stop):
        body = decompress(CODECS[attributes & 7], data[at:stop], budget, "records", at)
        at, end = 0, len(body)
    if not budget.take(count):
        raise Unfit  # the annotated way shows as many as a tree may have
    entry = {
        "baseOffset": base,
        "length": length,
        "partitionLeaderEpoch": epoch,
        "magic": magic,
        "crc": crc,
        "crcValid": True,
        **describe_batch(attributes, last, first_time, last_time, producer, producer_epoch, sequence, count),
        "records": None,
    }
    return entry, Batch(body, at, end, Head(count, base, first_time, last_time if attributes & 8 else None))


def _controlling(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a control batch, with what its key and value hold."""
    pair = zip(("key", "value"), detect_control(record["key"], record["value"]), strict=True)
    found = {name: embed(record[name], fit.values, fit.decoder.name) for name, fit in pair if fit is not None}
    return record | found


def _message(
    data: bytes, at: int, stop: int, magic: int, budget: Budget, depth: int, found: list[_Found]
) -> dict[str, Any]:
    if stop - at < ENTRY.size + MESSAGE_MINIMUM[magic]:
        raise Unfit
    layout = _MESSAGE[magic]
    offset, _, crc, _, attributes, *times = layout.unpack_from(data, at)
    if zlib.crc32(data[at + MESSAGE_CHECKED_FROM : stop]) != crc or not -FAR < offset < FAR:
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
        message["messages"] = _entries(content, budget, depth + 1, found)
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
