"""Record batches as templates: the third reader of records, beside values.py and fields.py.

Theory. The fields of a batch's header may differ, and so may its records: they are one value within the message, and
those of thousands of batches are read together. A field with compressed or control records, an older format, a cut
batch or many batches is one value as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from dissectors.kafka.codecs import CODECS
from dissectors.kafka.records.batches import FAR, Batch, Head, read_batches
from dissectors.kafka.records.values import (
    BATCH,
    CHECKED_FROM,
    ENTRY,
    MAGIC_AT,
    TIMESTAMP_TYPES,
    fill,
    record_values,
)
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import Checksum, Extent, NestedValue, Term
from dissectors.wire.budget import USUAL, Budget
from dissectors.wire.emit import FAILURES

MOST_BATCHES = 8
"""Batches of a field beyond which it is one value."""

LARGE = 4 << 20
"""Bytes that a field's records may be decompressed to before its message is decoded for itself, with its own bound."""

MOST_FIELDS = USUAL // LARGE
"""Such fields of a message, so that together they stay within that bound."""

TOGETHER = 1 << 20
"""Bytes of records that are read in one go: where one is broken, so many are read twice."""

_Item = TypeVar("_Item")

_COMPRESSED, _APPEND_TIME, _TRANSACTIONAL, _CONTROL, _HORIZON = 7, 8, 0x10, 0x20, 0x40


def template_records(builder: TemplateBuilder, extent: Extent) -> Any:
    """Returns the entries of a records field. Raises NotTemplatable, or what record_values raises."""
    if extent.begin == extent.end:
        return []
    places = _places(builder.data, extent) if builder.divides else None
    if places is None:
        if sum(type(each) is NestedValue for each in builder.stretches) >= MOST_FIELDS:
            raise NotTemplatable
        content = builder.data[extent.begin : extent.end]
        return builder.add_nested(extent, read_many, record_values(content, Budget(LARGE)))
    builder.encloses(*extent)
    return [_batch(builder, at, stop) for at, stop in places]


def _places(data: bytes, extent: Extent) -> list[tuple[int, int]] | None:
    """Where batches begin and end; None where they are not few, plain and whole."""
    at = extent.begin
    places: list[tuple[int, int]] = []
    while at < extent.end:
        if extent.end - at < BATCH.size or data[at + MAGIC_AT] != 2 or len(places) == MOST_BATCHES:
            return None
        head = BATCH.unpack_from(data, at)
        stop = at + ENTRY.size + head[1]
        if head[5] & (_COMPRESSED | _CONTROL) or not at + BATCH.size <= stop <= extent.end:
            return None
        places.append((at, stop))
        at = stop
    return places


def read_many(contents: Sequence[bytes], numbers: Sequence[tuple[int, ...]]) -> list[Any]:
    """Returns the entries of many records fields; None for one that is broken, or where all take too much.

    Read together.
    """
    shared = Budget()
    found = (_entries(content, shared) for content in contents)
    return [entries for some in _split_into_runs(found, _size) for entries in _fill_entries(some)]


_Entries: TypeAlias = tuple[Any, list[tuple[Any, Batch]]]
"""The entries of a records field, and those of them whose batches are not read yet."""


def _entries(content: bytes, shared: Budget) -> _Entries:
    budget = Budget(min(LARGE, shared.left), [])
    before = budget.left
    try:
        return record_values(content, budget), budget.later or []
    except FAILURES:
        return None, []
    finally:
        shared.left -= before - budget.left


def _size(entries: _Entries) -> int:
    return sum(batch.end - batch.at for _, batch in entries[1])


def _fill_entries(found: Sequence[_Entries]) -> list[Any]:
    """The entries with the records of their batches; None for those that are broken."""
    try:
        fill([each for _, later in found for each in later])
    except FAILURES:
        return [None] if len(found) == 1 else [entries for each in found for entries in _fill_entries([each])]
    return [entries for entries, _ in found]


def read_records(contents: Sequence[bytes], heads: Sequence[tuple[int, ...]]) -> list[Any]:
    """Returns the records of many batches; None for those that are broken. heads: count, base offset, first time."""
    batches = (
        Batch(content, 0, len(content), Head(count, base, time, None))
        for content, (count, base, time) in zip(contents, heads, strict=True)
    )
    return [records for some in _split_into_runs(batches, lambda batch: batch.end) for records in _read_or_none(some)]


def _read_or_none(batches: Sequence[Batch]) -> list[Any]:
    try:
        return list(read_batches(batches))
    except FAILURES:
        return [None] if len(batches) == 1 else [records for batch in batches for records in _read_or_none([batch])]


def _split_into_runs(items: Iterable[_Item], size: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Items in runs of about TOGETHER bytes, taken as they are asked for."""
    some: list[_Item] = []
    total = 0
    for item in items:
        some.append(item)
        total += size(item)
        if total >= TOGETHER:
            yield some
            some, total = [], 0
    if some:
        yield some


def _batch(builder: TemplateBuilder, at: int, stop: int) -> dict[str, Any]:
    base, _, epoch, magic, crc, attributes, last, first_time, last_time, *producer, count = BATCH.unpack_from(
        builder.data, at
    )
    if count < 0 or attributes & _APPEND_TIME:
        raise NotTemplatable
    base_offset = builder.integer(Term(at, 8, "q"), base)
    first = builder.integer(Term(at + 27, 8, "q"), first_time)
    highest = builder.integer(Term(at + 35, 8, "q"), last_time)
    if not (-FAR < base_offset < FAR and -FAR < first < FAR):
        raise NotTemplatable
    batch = {
        "baseOffset": base_offset,
        "length": builder.encloses(Term(at + 8, 4, "i"), 0, at + ENTRY.size, stop),
        "partitionLeaderEpoch": builder.integer(Term(at + 12, 4, "i"), epoch),
        "magic": magic,
        "crc": builder.integer(Term(at + 17, 4, "I"), crc),
        "crcValid": True,
        "attributes": attributes,
        "compression": CODECS[0],
        "timestampType": TIMESTAMP_TYPES[attributes >> 3 & 1],
        "transactional": attributes & _TRANSACTIONAL != 0,
        "control": False,
        "deleteHorizon": attributes & _HORIZON != 0,
        "lastOffsetDelta": builder.integer(Term(at + 23, 4, "i"), last),
        "baseTimestamp": first,
        "maxTimestamp": highest,
        "producerId": builder.integer(Term(at + 43, 8, "q"), producer[0]),
        "producerEpoch": builder.integer(Term(at + 51, 2, "h"), producer[1]),
        "baseSequence": builder.integer(Term(at + 53, 4, "i"), producer[2]),
        "count": builder.integer(Term(at + 57, 4, "i"), count),
    }
    builder.checksums.append(Checksum(at + 17, at + CHECKED_FROM, stop))
    records = at + BATCH.size
    if not count:
        batch["records"], batch["count"] = [], batch["count"].specialise()
        if records != stop:
            raise NotTemplatable
        return batch
    (value,) = read_batches([Batch(builder.data, records, stop, Head(count, base, first_time, None))])
    extent = Extent(Term(at + 8, 4, "i"), BATCH.size - ENTRY.size, records, stop)
    batch["records"] = builder.add_nested(extent, read_records, value, (batch["count"], base_offset, first))
    return batch
