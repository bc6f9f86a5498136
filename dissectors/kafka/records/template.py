"""Record batches as templates: the third reader of records, beside values.py and fields.py.

Theory. The fields of a batch's header may differ, and so may its records: they are one value within the message, and
those of thousands of batches are read together. A field with compressed or control records, an older format, a cut
batch or many batches is one value as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from dissectors.kafka.records import layout
from dissectors.kafka.records.batches import read_batches
from dissectors.kafka.records.values import Found, fill, record_values
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import Extent, NestedValue, Term, plain
from dissectors.wire.budget import USUAL, Budget
from dissectors.wire.emit import FAILURES
from dissectors.wire.message_template import LARGE
from dissectors.wire.template import Cursor, template_members

MOST_BATCHES = 8
"""Batches of a field beyond which it is one value."""

MOST_FIELDS = USUAL // LARGE
"""Such fields of a message, so that together they stay within that bound."""

TOGETHER = 1 << 20
"""Bytes of records that are read in one go: where one is broken, so many are read twice."""

_Item = TypeVar("_Item")

_ATTRIBUTES_AT, _ = layout.BATCH_AT["attributes"]
_WHOLE = layout.COMPRESSION | layout.CONTROL
"""Attributes of batches that are not divided."""


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
    places: list[tuple[int, int]] = []
    for at, stop, magic in layout.iterate_entries(data, extent.begin, extent.end):
        if magic != 2 or stop - at < layout.BATCH_SIZE or data[at + _ATTRIBUTES_AT + 1] & _WHOLE:
            return None
        if len(places) == MOST_BATCHES:
            return None
        places.append((at, stop))
    return places


def read_many(contents: Sequence[bytes], numbers: Sequence[tuple[int, ...]]) -> list[Any]:
    """Returns the entries of many records fields; None for one that is broken, or where all take too much.

    Read together.
    """
    shared = Budget()
    found = (_entries(content, shared) for content in contents)
    return [entries for some in _split_into_runs(found, _size) for entries in _fill_entries(some)]


_Entries: TypeAlias = tuple[Any, list[Found]]
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
    return sum(len(body) for _, body, _ in entries[1])


def _fill_entries(found: Sequence[_Entries]) -> list[Any]:
    """The entries with the records of their batches; None for those that are broken."""
    try:
        fill([each for _, later in found for each in later])
    except FAILURES:
        return [None] if len(found) == 1 else [entries for each in found for entries in _fill_entries([each])]
    return [entries for entries, _ in found]


def read_records(contents: Sequence[bytes], heads: Sequence[tuple[int, ...]]) -> list[Any]:
    """Returns the records of many batches; None for those that are broken. heads: count, base offset, first time."""
    batches = ((content, (*head, None)) for content, head in zip(contents, heads, strict=True))
    return [records for some in _split_into_runs(batches, lambda each: len(each[0])) for records in _read_or_none(some)]


def _read_or_none(batches: Sequence[tuple[bytes, Any]]) -> list[Any]:
    try:
        return list(read_batches(*zip(*batches, strict=True)))
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
    cursor = Cursor(builder, at, stop)
    batch = template_members(cursor, layout.BATCH)
    if layout.Head.from_values(batch).append_time is not None:
        raise NotTemplatable
    count, base, first_time = (batch[name] for name in ("count", "baseOffset", "baseTimestamp"))
    size = Term(at + layout.LENGTH_AT, 4, "i")
    batch["length"], batch["magic"] = builder.encloses(size, 0, at + layout.ENTRY.size, stop), plain(batch["magic"])
    if not count.value:
        batch["records"], batch["count"] = [], count.specialise()
        if cursor.at != stop:
            raise NotTemplatable
        return batch
    head = layout.Head(count.value, base.value, first_time.value, None)
    (value,) = read_batches([builder.data[cursor.at : stop]], [head])
    extent = Extent(size, layout.BATCH_SIZE - layout.ENTRY.size, cursor.at, stop)
    batch["records"] = builder.add_nested(extent, read_records, value, (count, base, first_time))
    return batch
