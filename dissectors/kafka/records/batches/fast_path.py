"""The records of batches, many at once: the fast path of read_rows, in NumPy.

Theory. A record tells its length, so a light loop finds where each one begins. From there all records are read in
step, with a cursor for each: a table gives the value of a varint for the one or two bytes at the cursor, and the few
longer ones are read one by one. The results are places, so nothing of a record is copied.

Everything that read_rows checks is checked here too. Records that do not fit, or are too unusual to pay off, are left
to read_rows, which raises Unfit if necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise, starmap
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dissectors.kafka.records.layout import FAR, RECORD_MINIMUM, HeadValues
from dissectors.wire.flat import FlatColumns, IntegerColumn, NestedColumn, RowTable, Slices
from dissectors.wire.varint import Unfit, uvarint

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_LONG = 3
BEHIND = bytes(64)
"""What stands behind the last record, for a cursor reads two bytes, and a writer as many as it shows of a value."""

_LANES = 128
"""Batches below which hopping from record to record in step does not pay."""

_PADDING = 4
"""How many times the bytes of all records the keys of their headers may take, all as long as the longest."""

_MANY_HEADERS = 16
"""Headers of one record above which reading them in step pays only if other records have as many."""


def _short_varints() -> Ints:
    """For each two bytes, the first one low: the signed number that begins with them times 4, and its length.

    A length of _LONG is that of a number which goes on behind them.
    """
    both = np.arange(1 << 16)
    first, second = both & 0xFF, both >> 8
    single = first < 0x80
    unsigned = np.where(single, first, first & 0x7F | (second & 0x7F) << 7)
    size = np.where(single, 1, np.where(second < 0x80, 2, _LONG))
    return ((unsigned >> 1) ^ -(unsigned & 1)) << 2 | size


_LOW = [2 + ((byte & 0x7F) >> 1) for byte in range(256)]
"""How far a record with a length of two bytes, the first of them this one, goes by what that byte says."""

_SHORT = _short_varints()
_SINGLE = _SHORT[:0x80] >> 2


class _Bytes:
    """Bytes with cursors into them. A cursor behind the end raises IndexError."""

    def __init__(self, data: bytes) -> None:
        self.single = np.frombuffer(data, np.uint8)
        self.double: npt.NDArray[np.uint16] = np.ndarray((len(data) - 1,), "<u2", data, 0, (1,))

    def varint(self, at: Ints, bits: int = 32) -> tuple[Ints, Ints]:
        """The signed varints at each cursor, and the cursors behind them."""
        first = self.single[at]
        if first.tobytes().isascii():
            return _SINGLE.take(first), at + 1
        found = _SHORT.take(self.double[at])
        size = found & 3
        found >>= 2
        if np.count_nonzero(size == _LONG):
            places = np.flatnonzero(size == _LONG)
            found[places], size[places] = self._long(at[places], bits)
        return found, at + size

    def read_sized(self, at: Ints, least: int) -> tuple[Ints, Ints, Ints]:
        """Bytes behind a varint length, which is `least` at the least: where they begin, length, where they end."""
        length, begin = self.varint(at)
        shortest = np.minimum.reduce(length, initial=0)
        if shortest < 0:
            if shortest < least:
                raise Unfit
            return begin, length, begin + np.maximum(length, 0)
        return begin, length, begin + length

    def _long(self, at: Ints, bits: int) -> tuple[Ints, Ints]:
        """Signed varints of any length, and that length."""
        value = np.zeros(len(at), np.uint64)
        size = np.zeros(len(at), np.int64)
        more = np.ones(len(at), bool)
        for place in range(-(-bits // 7)):
            byte = self.single[np.where(more, at + place, at)].astype(np.uint64)
            value |= np.where(more, (byte & np.uint64(0x7F)) << np.uint64(7 * place), np.uint64(0))
            size += more
            more &= byte > 0x7F
            if not more.any():
                break
        if more.any():
            raise Unfit
        value &= np.uint64((1 << bits) - 1)
        if value.max(initial=0) > FAR:
            raise Unfit
        signed = (value >> np.uint64(1)).astype(np.int64)
        return np.where(value & np.uint64(1) != 0, ~signed, signed), size


class Heads(NamedTuple):
    """The fields of n batch headers that their records need, in columns (int64).

    settled (bool): append_time is the time of all records of the batch.
    """

    total: Ints
    base: Ints
    first_time: Ints
    settled: Bools
    append_time: Ints

    @classmethod
    def from_rows(cls, heads: Sequence[HeadValues]) -> Self:
        """Makes columns of the heads of n batches, at least one."""
        *numbers, times = zip(*heads, strict=True)
        total, base, first_time = (np.array(column, np.int64) for column in numbers)
        settled = np.array([time is not None for time in times], bool)
        return cls(total, base, first_time, settled, np.array([time or 0 for time in times], np.int64))


def read_tables(bodies: Sequence[bytes | memoryview], heads: Sequence[HeadValues]) -> list[RowTable]:
    """Returns the records of each batch: `bodies` are their bytes, decompressed, `heads` what their headers say.

    Raises Unfit or IndexError where read_rows must read them. Reference: read_rows, one record at a time;
    tests/dissectors/kafka/records/batches/test_fast_path.py compares the two.
    """
    data = b"".join((*bodies, BEHIND))
    stops = np.cumsum(np.fromiter(map(len, bodies), np.int64, len(bodies)))
    begins = np.concatenate(([0], stops[:-1]))
    columns = columns_of(data, begins, stops, Heads.from_rows(heads))
    return list(starmap(partial(RowTable, columns), pairwise(accumulate((head[0] for head in heads), initial=0))))


def columns_of(data: bytes, begins: Ints, stops: Ints, heads: Heads) -> FlatColumns:
    """The records of all batches, which lie in `data` from `begins` to `stops` (int64); behind the last is BEHIND.

    Raises Unfit, IndexError or UnicodeDecodeError where read_rows must read them.
    """
    if np.count_nonzero(heads.total * RECORD_MINIMUM > stops - begins):
        raise Unfit
    hop = _hop if len(begins) < _LANES else _hop_in_step
    return _read_columns(data, hop(data, begins, stops, heads.total), heads)


def _hop(data: bytes, begins: Ints, stops: Ints, totals: Ints) -> Ints:
    """Where each record begins."""
    found: list[int] = []
    append, low = found.append, _LOW
    for p, end, total in zip(begins.tolist(), stops.tolist(), totals.tolist(), strict=True):
        for _ in range(total):
            append(p)
            n = data[p]
            if n < 128:
                p += 1 + (n >> 1)
            else:
                m = data[p + 1]
                if m < 128:
                    p += low[n] + (m << 6)
                else:
                    n, p = uvarint(data, p)
                    p += n >> 1
        if p != end:
            raise Unfit
    return np.fromiter(found, np.int64, len(found))


def _hop_in_step(data: bytes, begins: Ints, stops: Ints, totals: Ints) -> Ints:
    """The same for many batches: the next record of each of them, as long as many have one."""
    found = np.empty(int(totals.sum()), np.int64)
    there, place = _Bytes(data), np.cumsum(totals) - totals
    empty = totals == 0
    if np.count_nonzero(begins[empty] != stops[empty]):
        raise Unfit
    alive = np.flatnonzero(~empty)
    cursor, end, left, place = begins[alive], stops[alive], totals[alive], place[alive]
    while len(cursor) >= _LANES:
        for _ in range(int(left.min())):
            found[place] = cursor
            length, cursor = there.varint(cursor)
            if np.minimum.reduce(length, initial=0) < 0:
                raise Unfit
            cursor += length
            place += 1
            left -= 1
        going = left > 0
        if np.count_nonzero(cursor[~going] != end[~going]):
            raise Unfit
        cursor, end, left, place = cursor[going], end[going], left[going], place[going]
    rest = _hop(data, cursor, end, left)
    found[np.repeat(place - (np.cumsum(left) - left), left) + np.arange(len(rest))] = rest
    return found


def _read_columns(data: bytes, begin: Ints, heads: Heads) -> FlatColumns:
    """The columns of records that begin at these places."""
    there = _Bytes(data)
    content, _, stop = there.read_sized(begin, 0)
    time, at = there.varint(content + 1, 64)
    offset, at = there.varint(at)
    key, key_length, at = there.read_sized(at, -1)
    value, value_length, at = there.read_sized(at, -1)
    count, at = there.varint(at)
    headers, at = _headers(data, there, at, count, stop)
    if np.count_nonzero(at != stop):
        raise Unfit
    offset += np.repeat(heads.base, heads.total)
    time += np.repeat(heads.first_time, heads.total)
    if np.count_nonzero(heads.settled):
        time = np.where(np.repeat(heads.settled, heads.total), np.repeat(heads.append_time, heads.total), time)
    columns = (
        IntegerColumn("offset", offset),
        IntegerColumn("timestamp", time),
        Slices("key", key, key_length),
        Slices("value", value, value_length),
        headers,
    )
    return FlatColumns(data, columns, len(at), int(count.max(initial=0)))


def _headers(data: bytes, there: _Bytes, at: Ints, count: Ints, stop: Ints) -> tuple[NestedColumn, Ints]:
    """The headers at each cursor, `count` of them, in rounds: in each one the next header of all that have one."""
    if np.minimum.reduce(count, initial=0) < 0 or np.count_nonzero(stop - at < count * 2):
        raise Unfit
    ends = np.zeros(len(at) + 1, np.int64)
    np.add.accumulate(count, out=ends[1:])
    total, most = int(ends[-1]), int(np.maximum.reduce(count, initial=0))
    if most > _MANY_HEADERS and most * _MANY_HEADERS > total:
        raise Unfit
    columns = np.empty((4, total), np.int64)
    alive = np.arange(len(at))
    for turn in range(most):
        if turn or total < len(at) or not count.all():
            alive = alive[count[alive] > turn]
        place = ends[alive] + turn
        key, key_length, cursor = there.read_sized(at[alive], 0)
        value, value_length, cursor = there.read_sized(cursor, -1)
        columns[:, place] = key, key_length, value, value_length
        at[alive] = cursor
    key, key_length, value, value_length = columns
    _check_text(there.single, key, key_length)
    inner = (Slices("key", key, key_length, text=True), Slices("value", value, value_length))
    return NestedColumn("headers", ends, FlatColumns(data, inner, total)), at


def gather(data: bytes | npt.NDArray[np.uint8], at: Ints, width: int) -> npt.NDArray[np.uint8]:
    """Returns rows of `width` bytes at these places. Raises IndexError where one runs over the end."""
    windows = np.ndarray((max(len(data) - width + 1, 0),), f"V{width}", data, 0, (1,))
    return windows[at].view(np.uint8).reshape(-1, width)


def _check_text(data: npt.NDArray[np.uint8], at: Ints, length: Ints) -> None:
    """Raises UnicodeDecodeError where one of these is not UTF-8, and IndexError where one runs over the end."""
    if not len(at):
        return
    width = int(np.maximum.reduce(length))
    if width * len(at) > _PADDING * len(data):
        raise Unfit
    if not width:
        return
    letters = gather(data, at, width) * (np.arange(width) < length[:, None])
    if not letters.tobytes().isascii():
        for place in np.flatnonzero((letters > 0x7F).any(axis=1)).tolist():
            letters[place, : length[place]].tobytes().decode()
