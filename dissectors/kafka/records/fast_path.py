"""Records fields of many messages at once: the fast path of headers.py, values.py and payloads.py.

Theory. A field is a run of entries, each with its length, so the entries of all fields are found in step, and the
headers of all batches are columns. Compressed records are decompressed batch by batch, within the budget of their
message, and joined with the others; then batches/fast_path.py reads the records of all batches.

An unusual message is left to its own decoder, and so is one that may hold more than a decoder shows (_check_bounds). A
wrong checksum of a short message changes nothing: its records are read anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dissectors.api import Context, Role
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.nested.rules import (
    PARTITION_NAMES,
    RECORDS,
    TOPIC_ID,
    TOPIC_NAMES,
    list_modules,
    list_modules_by_id,
)
from dissectors.kafka.records.batches.fast_path import BEHIND, Heads, columns_of, gather
from dissectors.kafka.records.headers import CONTENT, HEADER_FIELDS, MOST_RECORDS
from dissectors.kafka.records.layout import (
    APPEND_TIME,
    BATCH_AT,
    BATCH_BITS,
    BATCH_SIZE,
    CHECKED_FROM,
    COMPRESSION,
    CUT,
    ENTRY,
    FAR,
    MAGIC_AT,
    MESSAGE_MINIMUM,
    iterate_entries,
)
from dissectors.kafka.sensitive import SENSITIVE_MODULES, is_sensitive_message
from dissectors.kafka.types import uuid_text
from dissectors.wire.budget import Budget
from dissectors.wire.checksum import crc32c
from dissectors.wire.codecs import decompress
from dissectors.wire.emit import FAILURES
from dissectors.wire.fast_path import (
    Column,
    Gathering,
    HeaderLayout,
    InnerColumns,
    InnerReader,
    LogFields,
    LogRecords,
    Logs,
    be,
)
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

_NEEDED = ("attributes", "count", "baseOffset", "baseTimestamp", "maxTimestamp")
"""What the records of a batch need of its header."""


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
    partition, records = _leaf(partitions, PARTITION_NAMES), _leaf(partitions, (site.field,))
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
        heads = Heads._make(column[chosen] for column in self.heads)
        return _Batches._make([*(column[chosen] for column in self[:-1]), heads])


def iterate_record_columns(fields: LogFields) -> Iterator[LogRecords]:
    """Yields the records of many messages, in runs that decompress to about TOGETHER bytes."""
    finder = _BatchFinder(partial(gather, fields.data), fields.at, fields.size)
    finder.find(_LANES)
    finder.find_one_by_one(fields.data)
    batches, odd_batches = _headers(fields, finder.places())
    left = np.zeros(len(fields.length), bool)
    left[fields.message[finder.odd]] = left[batches.message[odd_batches]] = True
    batches = batches.select(~left[batches.message])
    packed = (batches.attributes & COMPRESSION != 0) & ((batches.heads.total > 0) | (batches.begin < batches.stop))
    _check_bounds(fields, batches, packed, left)
    for run, bodies in _split_into_runs(fields, batches, packed, left):
        yield _read_run(fields.data, batches, bodies, run, left)


class _BatchPlaces(NamedTuple):
    """Batches by the field that they are in, their begin and their end."""

    field: Ints
    at: Ints
    stop: Ints


class _BatchFinder:
    """Finds the batches in n fields, the next one of each field at a time. gather: as Gathering has it.

    odd: fields that have anything else. cursor: up to where each was read; what is behind it in others is a cut entry.
    """

    def __init__(self, gather: Callable[[Column, int], Column], at: Ints, size: Ints) -> None:
        self.gather = gather
        self.cursor, self.end = at.astype(np.int64), at + np.maximum(size, 0)
        self.odd = np.zeros(len(at), bool)
        self.alive = np.flatnonzero(self.end - self.cursor > MAGIC_AT)
        self.found = [_BatchPlaces(*np.zeros((3, 0), np.int64))]

    def find(self, lanes: int) -> None:
        """Goes on while there are so many fields that have more."""
        while len(self.alive) >= lanes:
            alive, at = self.alive, self.cursor[self.alive]
            head = self.gather(at, MAGIC_AT + 1)
            length = be(head, *BATCH_AT["length"]).astype(np.int64)
            stop = at + ENTRY.size + length
            inside = stop <= self.end[alive]
            batch = (head[:, MAGIC_AT] == 2) & (stop - at >= BATCH_SIZE)
            self.odd[alive] = (length < MESSAGE_MINIMUM[0]) | (inside & ~batch)
            going = inside & batch
            alive, at, stop = alive[going], at[going], stop[going]
            self.found.append(_BatchPlaces(alive, at, stop))
            self.cursor[alive] = stop
            self.alive = alive[self.end[alive] - stop > MAGIC_AT]

    def find_one_by_one(self, data: bytes) -> None:
        """Finds the rest, of few fields. data: what `gather` reads."""
        found: list[tuple[int, int, int]] = []
        places = (column[self.alive].tolist() for column in (self.cursor, self.end))
        for field, begin, last in zip(self.alive.tolist(), *places, strict=True):
            try:
                for at, stop, magic in iterate_entries(data, begin, last):
                    if magic == 2 and stop - at >= BATCH_SIZE:
                        found.append((field, at, stop))
                    elif magic != CUT:
                        raise Unfit
            except Unfit:
                self.odd[field] = True
        self.found.append(_BatchPlaces(*np.array(found, np.int64).reshape(-1, 3).T))

    def places(self) -> _BatchPlaces:
        """Returns the batches of all fields, in the order of the fields and of their places there."""
        field, at, stop = (np.concatenate(columns) for columns in zip(*self.found, strict=True))
        order = np.lexsort((at, field))
        return _BatchPlaces(field[order], at[order], stop[order])


def read_header_columns(source: Gathering, at: Column, size: Column) -> InnerColumns:
    """Reads the headers of all batches in n fields: their numbers, and what the attributes say as numbers.

    Fields in which read_batch_headers, the reference implementation, finds anything but whole batches are left to it;
    tests/dissectors/kafka/records/test_headers.py compares the two.
    """
    finder = _BatchFinder(source.gather, at, size)
    finder.find(1)
    places = finder.places()
    head = source.gather(places.at, BATCH_SIZE)
    columns = {name: be(head, *place).astype(np.int64) for name, place in BATCH_AT.items() if name in HEADER_FIELDS}
    columns |= {name: columns["attributes"] & mask for name, mask in BATCH_BITS.items()}
    odd = finder.cursor < finder.end
    odd[places.field[_find_odd(columns)]] = True
    records = np.bincount(places.field, np.maximum(columns["count"], 0), len(odd))
    odd |= records > MOST_RECORDS
    good = ~odd[places.field]
    counts = np.bincount(places.field[good], minlength=len(odd))
    return InnerColumns(counts, odd, {name: column[good] for name, column in columns.items()})


HEADER_READER = InnerReader(read_header_columns, frozenset({CONTENT}))


def _find_odd(columns: Mapping[str, Column]) -> Bools:
    """Which headers of batches values.py does not take, or not without a closer look."""
    odd: Bools = (columns["count"] < 0) | (columns["attributes"] & COMPRESSION >= len(CODECS))
    for name in ("baseOffset", "baseTimestamp"):
        odd |= (columns[name] <= -FAR) | (columns[name] >= FAR)
    return odd


def _headers(fields: LogFields, places: _BatchPlaces) -> tuple[_Batches, Bools]:
    """What the headers of batches say, and which of them are odd."""
    head = gather(fields.data, places.at, BATCH_SIZE)
    columns = {name: be(head, *BATCH_AT[name]).astype(np.int64) for name in _NEEDED}
    attributes, total, base, first_time, last_time = columns.values()
    heads = Heads(total, base, first_time, attributes & APPEND_TIME != 0, last_time)
    message, begin = fields.message[places.field], places.at + BATCH_SIZE
    return _Batches(places.field, message, places.at, begin, places.stop, attributes, heads), _find_odd(columns)


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
        if crc32c(view[at + CHECKED_FROM : stop]) != int.from_bytes(view[at + CHECKED_FROM - 4 : at + CHECKED_FROM]):
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
    codecs = (batches.attributes[numbers] & COMPRESSION).tolist()
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
