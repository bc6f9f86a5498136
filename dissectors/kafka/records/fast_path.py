"""Records fields of many messages at once: the fast path of values.py and payloads.py, for tables of records.

Theory. A field is a run of entries, each with its length, so the entries of all fields are found in step, and the
headers of all batches are columns. Compressed records are decompressed batch by batch, within the budget of their
message, and joined with the others; then batches/fast_path.py reads the records of all batches.

An unusual message is left to its own decoder, and so is one that may hold more than a decoder shows (_check_bounds). A
wrong checksum of a short message changes nothing: its records are read anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dissectors.api import Context, Role
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.nested.rules import RECORDS, TOPIC_ID, TOPIC_NAMES, list_modules, list_modules_by_id
from dissectors.kafka.records.batches import FAR
from dissectors.kafka.records.batches.fast_path import BEHIND, Heads, columns_of
from dissectors.kafka.records.values import BATCH, CHECKED_FROM, ENTRY, MAGIC_AT, MESSAGE_MINIMUM
from dissectors.kafka.sensitive import SENSITIVE_MODULES, is_sensitive_message
from dissectors.kafka.types import uuid_text
from dissectors.wire.budget import Budget
from dissectors.wire.checksum import crc32c
from dissectors.wire.codecs import decompress
from dissectors.wire.emit import FAILURES
from dissectors.wire.fast_path import HeaderLayout, LogFields, LogRecords, Logs, be
from dissectors.wire.flat import FlatColumns, IntegerColumn, Slices
from dissectors.wire.plan import Array, Leaf, Step, Struct
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.projection import LONGEST
from dissectors.wire.varint import Unfit

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

TOGETHER = 4 << 20
"""Decompressed bytes that are read in one go, with what else their last message has."""

_LANES = 32
"""Fields below which their entries are found one by one."""

_PARTITION = ("partitionIndex", "index", "partition")
_BATCH_MINIMUM = BATCH.size - ENTRY.size
_CODEC, _APPEND_TIME = 7, 8


def logs(context: Context, layout: HeaderLayout) -> Logs | None:
    """Returns how to find the records fields of many messages; None if the layout has none."""
    if context.code is None:
        return None
    response = context.role is Role.RESPONSE
    site = RECORDS.get((context.code, response))
    if site is None or is_sensitive_message(context.code, response):
        return None
    topics = _members(layout.steps, site.topics)
    partitions = _members(topics, site.partitions)
    topic = _leaf(topics, (*TOPIC_NAMES, TOPIC_ID))
    partition, records = _leaf(partitions, _PARTITION), _leaf(partitions, (site.field,))
    if topic is None or partition is None or records is None:
        return None
    explained = isinstance(topic.primitive, FixedWidth)
    return Logs(layout, topic, partition, records, _topic_of_id if explained else _topic_of_name, explained)


def _members(steps: Sequence[Step], name: str) -> Sequence[Step]:
    """The steps of the structs in an array; none where there is no such array."""
    found = next((step for step in steps if isinstance(step, Array) and step.spec.name == name), None)
    return found.element.steps if found is not None and isinstance(found.element, Struct) else ()


def _leaf(steps: Sequence[Step], names: tuple[str, ...]) -> Leaf | None:
    leaves = {step.spec.name: step for step in steps if isinstance(step, Leaf)}
    return next((leaves[name] for name in names if name in leaves), None)


def _topic_of_name(data: bytes) -> str | None:
    """None for no text, and for a topic whose records may be secrets."""
    try:
        name = data.decode()
    except UnicodeDecodeError:
        return None
    return None if list_modules().get(name) in SENSITIVE_MODULES else name


def _topic_of_id(data: bytes) -> str | None:
    number = uuid_text(data)
    return None if list_modules_by_id().get(number) in SENSITIVE_MODULES else number


class _Batches(NamedTuple):
    """n batches, in order: of which field and message, where they begin, where their records lie, what they say."""

    field: Ints
    message: Ints
    at: Ints
    begin: Ints
    stop: Ints
    attributes: Ints
    heads: Heads

    def select(self, chosen: Ints | Bools | slice) -> _Batches:
        """Returns the batches that an index array, a mask or a slice selects."""
        field, message, at, begin, stop, attributes, heads = self
        total, base, first_time, settled, append_time = heads
        return _Batches(
            field[chosen],
            message[chosen],
            at[chosen],
            begin[chosen],
            stop[chosen],
            attributes[chosen],
            Heads(total[chosen], base[chosen], first_time[chosen], settled[chosen], append_time[chosen]),
        )


def iterate_record_columns(fields: LogFields) -> Iterator[LogRecords]:
    """Yields the records of many messages, in runs that decompress to about TOGETHER bytes."""
    found, odd = _entries(fields)
    batches, odd_batches = _headers(fields, *found)
    left = np.zeros(len(fields.length), bool)
    left[fields.message[odd]] = left[batches.message[odd_batches]] = True
    batches = batches.select(~left[batches.message])
    packed = (batches.attributes & _CODEC != 0) & ((batches.heads.total > 0) | (batches.begin < batches.stop))
    _check_bounds(fields, batches, packed, left)
    for run, bodies in _split_into_runs(fields, batches, packed, left):
        yield _read_run(fields.data, batches, bodies, run, left)


def _entries(fields: LogFields) -> tuple[tuple[Ints, Ints, Ints], Bools]:
    """Batches by the field that they are in, their begin and their end; and the fields that have anything else.

    What is left of an entry that was cut is nothing else.
    """
    odd = np.zeros(len(fields.at), bool)
    cursor, end = fields.at.copy(), fields.at + fields.size
    parts: list[tuple[Ints, Ints, Ints]] = []
    alive = np.flatnonzero(end - cursor > MAGIC_AT)
    while len(alive) >= _LANES:
        at = cursor[alive]
        head = _gather(fields.data, at, MAGIC_AT + 1)
        length = be(head, 8, "i4").astype(np.int64)
        stop = at + ENTRY.size + length
        inside = stop <= end[alive]
        batch = (head[:, MAGIC_AT] == 2) & (length >= _BATCH_MINIMUM)
        odd[alive] = (length < MESSAGE_MINIMUM[0]) | (inside & ~batch)
        going = inside & batch
        alive, at, stop = alive[going], at[going], stop[going]
        parts.append((alive, at, stop))
        cursor[alive] = stop
        alive = alive[end[alive] - stop > MAGIC_AT]
    parts.append(_one_by_one(fields.data, alive, cursor, end, odd))
    field, at, stop = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    return (field[order], at[order], stop[order]), odd


def _one_by_one(data: bytes, alive: Ints, cursor: Ints, end: Ints, odd: Bools) -> tuple[Ints, Ints, Ints]:
    """The same of few fields, from where each has been read to."""
    found: list[tuple[int, int, int]] = []
    for field, at, last in zip(alive.tolist(), cursor[alive].tolist(), end[alive].tolist(), strict=True):
        while last - at > MAGIC_AT:
            length = ENTRY.unpack_from(data, at)[1]
            stop = at + ENTRY.size + length
            if length < MESSAGE_MINIMUM[0] or (stop <= last and (data[at + MAGIC_AT] != 2 or length < _BATCH_MINIMUM)):
                odd[field] = True
                break
            if stop > last:
                break
            found.append((field, at, stop))
            at = stop
    columns = np.array(found, np.int64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _headers(fields: LogFields, field: Ints, at: Ints, stop: Ints) -> tuple[_Batches, Bools]:
    """What the headers of batches say, and which of them values.py does not take, or not without a closer look."""
    head = _gather(fields.data, at, BATCH.size)
    base, first_time = be(head, 0, "i8"), be(head, 27, "i8")
    total = be(head, 57, "i4").astype(np.int64)
    attributes = be(head, 21, "i2").astype(np.int64)
    odd = (total < 0) | (attributes & _CODEC >= len(CODECS))
    for number in (base, first_time):
        odd |= (number <= -FAR) | (number >= FAR)
    heads = Heads(total, base, first_time, attributes & _APPEND_TIME != 0, be(head, 35, "i8"))
    return _Batches(field, fields.message[field], at, at + BATCH.size, stop, attributes, heads), odd


def _check_bounds(fields: LogFields, batches: _Batches, packed: Bools, left: Bools) -> None:
    """Leaves messages that a decoder may not show to their end: long ones that are to be read as a tree, or too many.

    FieldAlias ones have fewer nodes than a tree may (wire.pick), so for them no checksum needs to be asked.
    """
    long = fields.length > LONGEST
    long[batches.message[packed]] = True
    if not long.any():
        return
    batch_bytes = np.zeros(len(left), np.int64)
    np.add.at(batch_bytes, fields.message, fields.size)
    items = fields.length - batch_bytes
    np.add.at(items, batches.message, batches.heads.total)
    left |= long & (items > Budget().items)
    mine = long[batches.message]
    view = memoryview(fields.data)
    columns = (column[mine].tolist() for column in (batches.message, batches.at, batches.stop))
    for message, at, stop in zip(*columns, strict=True):
        if crc32c(view[at + CHECKED_FROM : stop]) != int.from_bytes(view[at + 17 : at + 21]):
            left[message] = True


_Bodies: TypeAlias = dict[int, bytes]
"""The records of batches by the batch's number, decompressed."""


def _split_into_runs(
    fields: LogFields, batches: _Batches, packed: Bools, left: Bools
) -> Iterator[tuple[range, _Bodies]]:
    """Runs of messages, and what their compressed batches hold; messages that hold too much, or nothing, are left."""
    first, total, last = 0, 0, -1
    bodies: _Bodies = {}
    budget = Budget()
    numbers = np.flatnonzero(packed)
    columns = (column[numbers].tolist() for column in (batches.message, batches.begin, batches.stop))
    codecs = (batches.attributes[numbers] & _CODEC).tolist()
    for number, message, at, stop, codec in zip(numbers.tolist(), *columns, codecs, strict=True):
        if message != last:
            if total > TOGETHER:
                yield range(first, message), bodies
                first, total, bodies = message, 0, {}
            last, budget = message, Budget()
        if left[message]:
            continue
        try:
            body = decompress(CODECS[codec], fields.data[at:stop], budget, "records", at)
        except FAILURES:
            left[message] = True
            continue
        bodies[number] = body
        total += len(body)
    yield range(first, len(fields.length)), bodies


def _read_run(data: bytes, batches: _Batches, bodies: _Bodies, run: range, left: Bools) -> LogRecords:
    """The records of the messages in a run; `bodies` are what their compressed batches hold, by number.

    One of which neither key nor value is there carries nothing.
    """
    numbers = np.arange(*np.searchsorted(batches.message, (run.start, run.stop)).tolist())
    numbers = numbers[~left[batches.message[numbers]]]
    mine = batches.select(numbers)
    if bodies:
        packed, parts = np.fromiter(bodies, np.int64, len(bodies)), list(bodies.values())
        ends = np.cumsum([len(data), *map(len, parts)], dtype=np.int64)
        in_run = np.isin(packed, numbers)
        places = np.searchsorted(numbers, packed[in_run])
        mine.begin[places], mine.stop[places] = ends[:-1][in_run], ends[1:][in_run]
        data = b"".join((data, *parts, BEHIND))
    read = _read_or_skip(data, mine, left)
    columns = [(np.repeat(some.field, some.heads.total), *_cells(found)) for some, found in read]
    joined = [np.concatenate(each) for each in zip(*columns, strict=True)] or [np.zeros(0, np.int64)] * 6
    carries = (joined[4] >= 0) | (joined[5] >= 0)
    if not carries.all():
        joined = [column[carries] for column in joined]
    return LogRecords(run.start, run.stop, left[run.start : run.stop], data, *joined)


def _read_or_skip(data: bytes, batches: _Batches, left: Bools) -> list[tuple[_Batches, FlatColumns]]:
    """The records of batches, without those of messages that are broken or odd; these are left."""
    message = batches.message
    if not len(message):
        return []
    try:
        return [(batches, columns_of(data, batches.begin, batches.stop, batches.heads))]
    except (Unfit, IndexError, UnicodeDecodeError):
        if message[0] == message[-1]:
            left[message[0]] = True
            return []
    middle = message[len(message) // 2]
    edge = int(np.searchsorted(message, middle, "left" if middle > message[0] else "right"))
    return _read_or_skip(data, batches.select(slice(0, edge)), left) + _read_or_skip(
        data, batches.select(slice(edge, None)), left
    )


def _cells(found: FlatColumns) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Offset, time, place and length of the key, length of the value."""
    offset, time, key, value, _ = found.columns
    assert isinstance(offset, IntegerColumn)
    assert isinstance(time, IntegerColumn)
    assert isinstance(key, Slices)
    assert isinstance(value, Slices)
    columns = (offset.values, time.values, key.at, key.length, value.length)
    return tuple(np.asarray(column) for column in columns)  # type: ignore[return-value]


def _gather(data: bytes, at: Ints, width: int) -> npt.NDArray[np.uint8]:
    """Rows of `width` bytes at these places, all within the data."""
    windows = np.ndarray((max(len(data) - width + 1, 0),), f"V{width}", data, 0, (1,))
    return windows[at].view(np.uint8).reshape(-1, width)
