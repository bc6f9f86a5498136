"""The layouts of record data, of tables/record_formats.json: batches (magic 2), messages before them, and records.

Facts (protocol guide, "Record Batch", "Message Sets", "Record"). A records field is a run of entries without a count.
Each begins with int64 offset and int32 length, and the byte at offset 16 is its magic, so formats may mix. The last one
in a Fetch may be cut. A batch has a CRC32C from its attributes to its end; behind its header are records of varints,
relative to the batch's offset and timestamp, compressed as a whole. A message of magic 0 or 1 has a CRC32 from its
magic on; a compressed one holds a message set in its value, whose offsets are relative in magic 1, unless the wrapper's
own offset is 0, as some clients write it.

A record is a varint with its length, attributes that have no meaning yet, and varints: timestamp and offset relative to
the batch's, key and value behind their lengths, a count of headers, and in each header a key and a value. A length of
-1 is null, which a header's key must not be.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from dissectors.field import FieldSpec
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.labels import labels
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.wire.checksum import crc32c
from dissectors.wire.plan import Bits, Leaf, Plan, RestChecksum, find_places, leaves_of
from dissectors.wire.primitive import INT32
from dissectors.wire.specs import LayoutSpec, Many
from dissectors.wire.times import timestamp
from dissectors.wire.varint import Unfit

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
_NAMES = {"compression": CODECS, "timestampType": TIMESTAMP_TYPES}
_CHECKSUMS = {"crc32c": crc32c, "crc32": zlib.crc32}
_VALID = FieldSpec("crcValid", "bool")


def _make_plan(row: Mapping[str, Any]) -> Plan:
    return Plan(row["name"], int(row["versions"]), tuple(map(_make_leaf, row["fields"])))


def _make_leaf(row: Mapping[str, Any]) -> Leaf:
    """The leaf of a field; of records their count, which ends the header of a batch."""
    if "fields" in row:
        return Leaf(FieldSpec("count", INT32.type), INT32)
    label = labels(row["enum"]) if "enum" in row else None
    spec = (LayoutSpec if "part" in row else FieldSpec)(row.get("shown", row["name"]), row["type"], label)
    bits = tuple(
        Bits(FieldSpec(name, "string" if name in _NAMES else "bool"), int(mask, 0), _NAMES.get(name, ()))
        for name, mask in row.get("bits", {}).items()
    )
    checks = (RestChecksum(_VALID, _CHECKSUMS[row["checksum"]]),) if "checksum" in row else ()
    return Leaf(spec, KAFKA.primitive(row["type"], False, "nullable" in row), bits=bits, derived=checks)


BATCH, *_MESSAGES = map(_make_plan, table("record_formats")["formats"])
"""A batch up to its records."""

BATCH_SIZE = sum(step.minimum for step in BATCH.steps)
BATCH_AT = find_places(BATCH.steps)
BATCH_BITS = {bits.spec.name: bits.mask for leaf in leaves_of(BATCH.steps) for bits in leaf.bits}
"""What the attributes of a batch say; those of a message say the first one or two."""

COMPRESSION, APPEND_TIME, CONTROL = (BATCH_BITS[name] for name in ("compression", "timestampType", "control"))
MESSAGES = {plan.version: plan for plan in _MESSAGES}
"""A message of formats before batches, by its magic."""

ENTRY = Struct(">qi")
"""What every entry begins with: offset, and the length of what follows."""

LENGTH_AT, MAGIC_AT = (BATCH_AT[name][0] for name in ("length", "magic"))
"""Where length and magic stand, in a batch and in a message."""

CHECKED_FROM = BATCH_AT["attributes"][0]
"""Where in a batch the bytes begin that its checksum covers."""

MESSAGE_MINIMUM = {magic: sum(step.minimum for step in plan.steps) - ENTRY.size for magic, plan in MESSAGES.items()}
"""The least that the length of a message may be."""

RECORDS, MESSAGE_SET, HEADERS = (Many(name, "array") for name in ("records", "messages", "headers"))
KEY, VALUE = FieldSpec("key", "bytes"), FieldSpec("value", "bytes")
OFFSET = FieldSpec("offset", "varint")
TIMESTAMP = FieldSpec("timestamp", "varlong", timestamp)
HEADER_KEY = FieldSpec("key", "string")
RECORD_SPECS = (OFFSET, TIMESTAMP, KEY, VALUE)
"""What the values of a record are called, in their order, before its headers."""

RECORD_MINIMUM = 7
"""The fewest bytes of a record."""

FAR = 1 << 62
"""Beyond this, sums could leave 64 bits, and wrap around; nobody's offsets or times do."""


class Head(NamedTuple):
    """The fields of a batch's header that its records need. append_time: their time, if the log set it."""

    total: int
    base: int
    first_time: int
    append_time: int | None

    @classmethod
    def from_values(cls, batch: Mapping[str, Any]) -> Head:
        """Picks them from the values of a header. Raises Unfit for a negative count and for numbers beyond FAR."""
        total, base, first_time = batch["count"], batch["baseOffset"], batch["baseTimestamp"]
        if total < 0 or not (-FAR < base < FAR and -FAR < first_time < FAR):
            raise Unfit
        is_settled = batch["timestampType"] == TIMESTAMP_TYPES[1]
        return cls(total, base, first_time, batch["maxTimestamp"] if is_settled else None)


HeadValues: TypeAlias = tuple[int, int, int, int | None]
"""A Head, also as a plain tuple, for it takes a while to make thousands of them."""

CUT = -1
"""In place of a magic: what is left of an entry that was cut."""


def iterate_entries(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yields begin, end and magic (or CUT) of the entries of a records field. Raises Unfit for one too short."""
    while end - at > MAGIC_AT:
        length = ENTRY.unpack_from(data, at)[1]
        if length < MESSAGE_MINIMUM[0]:
            raise Unfit
        stop = at + ENTRY.size + length
        if stop > end:
            break
        yield at, stop, data[at + MAGIC_AT]
        at = stop
    if at < end:
        yield at, end, CUT
