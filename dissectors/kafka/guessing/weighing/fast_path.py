"""Weighs bytes of many messages piece by piece, in columns: the fast path of Scales.

A message takes the same steps in the same order as alone, so it gets the same prices from the same budget. When few
messages are left, they continue one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from dissectors.kafka.guessing.guess import UNFIT, count_bits, count_values
from dissectors.kafka.guessing.weighing import (
    ABSURD,
    BYTE,
    CHARACTER,
    DAY,
    ENTRIES,
    LAYOUTS,
    LIST,
    LOOKED_AT,
    NO_RECORDS,
    NOW,
    NUMBERS,
    OPTIONAL,
    OTHER_CHARACTER,
    PRINTABLE,
    RECORDS,
    TAG_UNKNOWN,
    TAGS,
    TEXT,
    YEARS,
    Piece,
    Pieces,
    Scales,
    price_of_fixed,
    price_of_text,
)
from dissectors.kafka.records.layout import LENGTH_AT, MAGIC_AT
from dissectors.wire.fast_path import Column

_PADDING = 64
_VARINT = 5
_SINGLE = ("error", "bool", "uuid", "port", "float64")
"""Kinds that have a price of their own for each value."""

_PRICES = np.array(NUMBERS)
_ODD = bytes(byte not in PRINTABLE for byte in range(256))
_HIGH = bytes(byte >> 7 for byte in range(256))

Taken = tuple[Column, Column, Column]
"""Which of some messages (places, rising) have a piece, what it costs in bits, and the offset behind it."""


class ColumnScales:
    """Computes the cost of n messages piece by piece, each step for many messages at once. Reference: Scales.

    Offsets (int64) are places in all messages together; `rows` are numbers of messages.

    few: messages below which each goes on alone. begin, end: offsets of each message. left, limit: see Scales.
    """

    few: ClassVar[int] = 96

    def __init__(self, messages: Sequence[bytes]) -> None:
        self.messages = messages
        length = np.array([len(each) for each in messages], np.int64)
        self.end = np.cumsum(length)
        self.begin = self.end - length
        self.left = np.array([count_values(len(each)) for each in messages], np.int64)
        self.limit = np.array([count_bits(len(each)) for each in messages])
        self._joined = b"".join([*messages, bytes(_PADDING)])
        self._bytes = np.frombuffer(self._joined, np.uint8)
        self._odd, self._high = (
            count_before(np.frombuffer(self._joined.translate(kind), np.uint8)) for kind in (_ODD, _HIGH)
        )

    def read_bodies(self, rows: Column, begin: int, width: int) -> Column:
        """Returns `width` bytes of each message (n, width) from place `begin` in it on."""
        count = len(self._joined) - width + 1
        view: Column = np.ndarray((count, width), np.uint8, self._joined, strides=(1, 1))
        found: Column = view[self.begin[rows] + begin]
        return found

    def open_scales(self, row: int) -> Scales:
        """Returns what weighs one message alone, with what is left of its budget."""
        return Scales(self.messages[row], int(self.left[row]), float(self.limit[row]))

    def take(self, piece: Piece, rows: Column, at: Column) -> Taken:
        """Weighs what messages have from `at` on as a single piece; see Scales.one."""
        if len(rows) < self.few:
            return self._take_alone(rows, at, lambda scales, place: scales.one(piece, place))
        self.left[rows] -= 1
        some = np.flatnonzero(self.left[rows] >= 0)
        if len(some) < len(rows):
            rows, at = rows[some], at[some]
        kind, detail = piece
        if type(detail) is str:
            taken = self.take_fixed(kind, detail, rows, at)
        elif kind == LIST:
            taken = self._take_list(detail, rows, at)
        elif kind == TAGS:
            taken = self._take_tags(piece, rows, at)
        elif kind == OPTIONAL:
            taken = self._take_optional(detail, rows, at)
        else:
            taken = self._take_sized(kind, detail, rows, at)
        return some[taken[0]], taken[1], taken[2]

    def _weigh(self, wanted: Pieces, rows: Column, at: Column) -> Taken:
        """See Scales.weigh."""
        fitting, total = np.arange(len(rows)), np.zeros(len(rows))
        for piece in wanted:
            some, price, at = self.take(piece, rows[fitting], at)
            fitting, total = fitting[some], total[some] + price
            if not len(fitting):
                break
        return fitting, total, at

    def _take_alone(self, rows: Column, at: Column, take: Callable[[Scales, int], tuple[float, int]]) -> Taken:
        fitting, prices, stops = [], [], []
        for place, (row, begin, offset) in enumerate(
            zip(rows.tolist(), self.begin[rows].tolist(), at.tolist(), strict=True)
        ):
            scales = self.open_scales(row)
            try:
                price, stop = take(scales, offset - begin)
            except UNFIT:
                continue
            finally:
                self.left[row] = scales.left
            fitting.append(place)
            prices.append(price)
            stops.append(stop + begin)
        return np.array(fitting, np.int64), np.array(prices, np.float64), np.array(stops, np.int64)

    def _read_fixed(self, code: str, at: Column) -> Column:
        """Returns the numbers that stand at offsets, as they are packed by this code of struct."""
        size = LAYOUTS[code].size
        kind = np.dtype(f">{'i' if code in 'bhiq' else 'u'}{size}")
        count = len(self._joined) - size + 1
        view: Column = np.ndarray(count, kind, self._joined, strides=(1,))
        return view[at].astype(np.int64)

    def take_fixed(self, kind: str, code: str, rows: Column, at: Column) -> Taken:
        """Weighs a number, by its kind and its code of struct."""
        layout = LAYOUTS[code]
        some = np.flatnonzero(at + layout.size <= self.end[rows])
        at = at[some]
        if code in ("16s", "d"):
            values = [layout.unpack_from(self._joined, place)[0] for place in at.tolist()]
            price = np.array([price_of_fixed(kind, value, layout.size) for value in values], np.float64)
        else:
            price = _price_numbers(kind, self._read_fixed(code, at), layout.size)
            if kind == "bool":
                price[self._bytes[at] > 1] = ABSURD
        return some, price, at + layout.size

    def _read_length(self, form: tuple[str, int], rows: Column, at: Column) -> Taken:
        """Reads lengths, which stand in the place of prices; see Scales._length."""
        code, bias = form
        end = self.end[rows]
        if code:
            stop = at + LAYOUTS[code].size
            some = np.flatnonzero(stop <= end)
            return some, self._read_fixed(code, at[some]) - bias, stop[some]
        value = self._bytes[at].astype(np.int64)
        if (value < 0x80).all():
            some = np.flatnonzero(at < end)
            return some, value[some] - bias, at[some] + 1
        parts = self._bytes[at[:, None] + np.arange(_VARINT)]
        last = parts < 0x80
        taken = last.argmax(axis=1) + 1
        mine = np.arange(_VARINT) < taken[:, None]
        value = ((parts & 0x7F).astype(np.int64) * mine << 7 * np.arange(_VARINT)).sum(axis=1) & 0xFFFF_FFFF
        some = np.flatnonzero(last.any(axis=1) & (at + taken <= end))
        return some, value[some] - bias, at[some] + taken[some]

    def _take_sized(self, kind: str, detail: tuple[tuple[str, int], bool], rows: Column, at: Column) -> Taken:
        form, nullable = detail
        some, size, at = self._read_length(form, rows, at)
        stop = at + np.maximum(size, 0)
        good = np.flatnonzero((size >= -nullable) & (stop <= self.end[rows[some]]))
        some, size, at, stop = some[good], size[good], at[good], stop[good]
        if kind == ENTRIES:
            count = self._read_fixed("i", at + LENGTH_AT)
            known = (size > MAGIC_AT + 1) & (count > 0)
            known &= self._bytes[np.minimum(at + MAGIC_AT, len(self._bytes) - 1)] <= 2
            price = np.where(size == 0, 1.0, size * np.where(known, RECORDS, NO_RECORDS))
        else:
            price = _PRICES[_count_bits(size)] + (CHARACTER if kind == TEXT else BYTE) * size
        if kind == TEXT:
            head = np.minimum(stop, at + LOOKED_AT)
            odd = self._odd[head] - self._odd[at]
            price += odd * (2 * OTHER_CHARACTER)  # ASCII that is not printable
            for place in np.flatnonzero(self._high[head] > self._high[at]).tolist():
                length = int(size[place])
                text = price_of_text(self._joined[int(at[place]) : int(head[place])], length)
                price[place] = NUMBERS[length.bit_length()] + text
        price[size < 0] = 2.0
        return some, price, stop

    def _take_list(self, detail: tuple[tuple[str, int], bool, Pieces, int], rows: Column, at: Column) -> Taken:
        form, nullable, element, least = detail
        some, count, at = self._read_length(form, rows, at)
        good = np.flatnonzero((count >= -nullable) & (count * least <= self.end[rows[some]] - at))
        some, count, at = some[good], count[good], at[good]
        rows, price = rows[some], np.where(count < 0, 2.0, _PRICES[_count_bits(count)])
        fits, done = np.ones(len(some), bool), 0
        going = np.flatnonzero(count > 0)
        while len(going) >= self.few:
            fitting, more, stop = self._weigh(element, rows[going], at[going])
            if len(fitting) < len(going):
                fits[np.delete(going, fitting)] = False
            going = going[fitting]
            price[going] += more
            at[going] = stop
            done += 1
            going = going[count[going] > done]
        for place in going.tolist():
            rest = partial(_weigh_rest, element, int(count[place]) - done, float(price[place]))
            fitting, more, stop = self._take_alone(rows[[place]], at[[place]], rest)
            fits[place] = len(fitting) > 0
            price[place : place + len(fitting)], at[place : place + len(fitting)] = more, stop
        fitting = np.flatnonzero(fits)
        return some[fitting], price[fitting], at[fitting]

    def _take_optional(self, detail: tuple[tuple[str, int] | None, Pieces], rows: Column, at: Column) -> Taken:
        form, inside = detail
        if form is None:
            return self._weigh(inside, rows, at)
        some, present, at = self._read_length(form, rows, at)
        price = np.full(len(some), 2.0)
        fits = present < 0
        there = np.flatnonzero(~fits)
        fitting, more, stop = self._weigh(inside, rows[some[there]], at[there])
        there = there[fitting]
        fits[there], at[there] = True, stop
        price[there] = more + _PRICES[_count_bits(present[there])]
        fitting = np.flatnonzero(fits)
        return some[fitting], price[fitting], at[fitting]

    def _take_tags(self, piece: Piece, rows: Column, at: Column) -> Taken:
        """Of messages with a tag that the layout knows each goes on alone; they are few."""
        begin, end = at, self.end[rows]
        some, count, at = self._read_length(("", 0), rows, at)
        good = np.flatnonzero((count == 0) | (2 * count <= end[some] - at))
        some, count, at = some[good], count[good], at[good]
        price = np.where(count == 0, 0.2, 0.0)
        fits, alone, done = np.ones(len(some), bool), np.zeros(len(some), bool), 0
        members = [tag for tag, _ in piece[1]]
        going = np.flatnonzero(count > 0)
        while len(going) >= self.few:
            fitting, tag, offset = self._read_length(("", 0), rows[some[going]], at[going])
            fits[going] = False
            going = going[fitting]
            known = np.isin(tag, members)
            alone[going[known]] = True
            fitting, size, offset = self._read_length(("", 0), rows[some[going[~known]]], offset[~known])
            inside = size <= end[some[going[~known][fitting]]] - offset
            going = going[~known][fitting][inside]
            size, offset = size[inside], offset[inside]
            fits[going] = True
            price[going] = price[going] + TAG_UNKNOWN + BYTE * size
            at[going] = offset + size
            done += 1
            going = going[count[going] > done]
        alone[going] = True
        fits |= alone
        left = np.flatnonzero(alone)
        self.left[rows[some[left]]] += 1  # take() has counted this piece, and so does Scales.one
        fitting, more, stop = self._take_alone(
            rows[some[left]], begin[some[left]], lambda scales, place: scales.one(piece, place)
        )
        fits[left] = False
        fits[left[fitting]] = True
        price[left[fitting]], at[left[fitting]] = more, stop
        fitting = np.flatnonzero(fits)
        return some[fitting], price[fitting], at[fitting]


def _weigh_rest(element: Pieces, count: int, price: float, scales: Scales, at: int) -> tuple[float, int]:
    """Weighs the last `count` elements of a list whose others cost `price`."""
    for _ in range(count):
        more, at = scales.weigh(element, at)
        price += more
    return price, at


def count_before(marks: Column) -> Column:
    """Returns for each place, and for the end, the sum of the marks before it."""
    found: Column = np.zeros(len(marks) + 1, np.int32)
    np.cumsum(marks, out=found[1:])
    return found


def _count_bits(numbers: Column) -> Column:
    """Returns how many bits numbers (int64) have, as int.bit_length does; of negative ones 0."""
    high = numbers >> 32
    bits = np.frexp(np.where(high > 0, high, np.maximum(numbers, 0)).astype(np.float64))[1]
    found: Column = bits + np.where(high > 0, 32, 0)
    return found


def _price_numbers(kind: str, values: Column, size: int) -> Column:
    """See price_of_fixed."""
    if size <= 2 or kind in _SINGLE:
        known, back = np.unique(values, return_inverse=True)
        return np.array([price_of_fixed(kind, value, size) for value in known.tolist()], np.float64)[back]
    price: Column = np.where(values == -1, 2.0, 8.0 * size + 6)
    positive = values >= 0
    price[positive] = np.minimum(_PRICES[_count_bits(values[positive])], 8.0 * size + 2)
    if kind == "milliseconds":
        price += np.where((values >= -1) & (values < DAY), 0, ABSURD / 2)
    if kind == "timestamp":
        price += np.where(values < 1, 0, ABSURD / 2)
        price[(values > YEARS[0]) & (values < YEARS[1])] = NOW
    return price
