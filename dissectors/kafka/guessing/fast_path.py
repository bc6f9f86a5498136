"""Guesses the layouts of many answers without requests at once: the fast path of guess.candidates.

Theory. The tree of layouts is descended once for all messages that still fit, so a step takes a few columns instead of
a call for each message. A message takes the same steps in the same order as alone, so it gets the same prices from the
same budget. When few messages are left, they continue one by one. Messages with the same body are weighed once.

Most answers of an operation have the same length and differ in few bytes, such as offsets. What such messages have in
common is weighed once (CommonScales), and columns are needed only where they differ.

Reference: guess.guess; tests/dissectors/kafka/guessing/test_fast_path.py compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from dissectors.kafka.guessing.guess import (
    BODY,
    HOPELESS,
    UNFIT,
    Candidate,
    Guess,
    Node,
    choose_believed,
    count_bits,
    count_values,
    decide,
    descend,
    guess,
    has_secrets,
    is_whole,
    root,
)
from dissectors.kafka.guessing.shared_bytes import CommonScales, Differ
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
from dissectors.wire.fast_path import Column

FEW = 96
"""Messages below which each goes on alone."""

ALIKE, MANY, MOST_KINDS = 256, 2048, 8
"""Messages of one length from which on their common bytes are weighed once. MANY of them are divided by the first byte
in which they differ, if it has at most MOST_KINDS values.
"""

LONGEST = 1 << 16
"""Bytes of a message beyond which it goes alone from the beginning."""

TOGETHER_BYTES = 4 << 20
"""Bytes of messages that are weighed at one time."""

_PADDING = 64
_VARINT = 5
_SINGLE = ("error", "bool", "uuid", "port", "float64")
"""Kinds that have a price of their own for each value."""

_PRICES = np.array(NUMBERS)
_ODD = bytes(byte not in PRINTABLE for byte in range(256))
_HIGH = bytes(byte >> 7 for byte in range(256))

Taken = tuple[Column, Column, Column]
"""Which of some messages (places, rising) have a piece, what it costs in bits, and the offset behind it."""


def guess_many(messages: Sequence[bytes]) -> list[Guess | None]:
    """Guesses what each of n answers may be whose requests nobody saw, as guess() does; None where that gives None."""
    numbers: dict[bytes, int] = {}
    whose = [numbers.setdefault(message[BODY:], len(numbers)) if is_whole(message) else -1 for message in messages]
    firsts: list[bytes] = [b""] * len(numbers)
    for number, message in zip(reversed(whose), reversed(messages), strict=True):
        if number >= 0:
            firsts[number] = message
    found = [each for part in _split_messages(firsts) for each in _guess_together(part)]
    return [None if number < 0 else found[number] for number in whose]


def _split_messages(messages: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Yields runs of messages that are not too many bytes; a long one stands alone."""
    part: list[bytes] = []
    size = 0
    for message in messages:
        if part and (size + len(message) > TOGETHER_BYTES or len(message) > LONGEST or len(part[-1]) > LONGEST):
            yield part
            part, size = [], 0
        part.append(message)
        size += len(message)
    if part:
        yield part


def _guess_together(messages: Sequence[bytes]) -> list[Guess | None]:
    if len(messages) < FEW:
        return [guess(message) for message in messages]
    found = ColumnScales(messages).list_candidates()
    known: dict[tuple[int, int], Guess | None] = {}
    return [_decide_with(known, each, fits) for each, fits in zip(messages, found, strict=True)]


def _decide_with(known: dict[tuple[int, int], Guess | None], message: bytes, fits: Sequence[Candidate]) -> Guess | None:
    """Decides; `known` keeps what does not depend on the message: the guess of a lone layout that holds no secrets."""
    if len(fits) != 1:
        return decide(message, choose_believed(fits))
    key = fits[0].key, fits[0].version
    if key in known:
        return known[key]
    found = decide(message, choose_believed(fits))
    if not has_secrets(*key):
        known[key] = found
    return found


class ColumnScales:
    """Computes the cost of n messages piece by piece, each step for many messages at once. Reference: Scales.

    Offsets (int64) are places in all messages together; `rows` are numbers of messages.
    """

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._messages = messages
        length = np.array([len(each) for each in messages], np.int64)
        self._end = np.cumsum(length)
        self._begin = self._end - length
        self._left = np.array([count_values(len(each)) for each in messages], np.int64)
        self._limit = np.array([count_bits(len(each)) for each in messages])
        self._joined = b"".join([*messages, bytes(_PADDING)])
        self._bytes = np.frombuffer(self._joined, np.uint8)
        self._odd, self._high = (
            _count_before(np.frombuffer(self._joined.translate(kind), np.uint8)) for kind in (_ODD, _HIGH)
        )
        self._found: list[list[Candidate]] = [[] for _ in messages]

    def list_candidates(self) -> list[list[Candidate]]:
        """Returns for each message the layouts that take it to its end."""
        others = np.ones(len(self._messages), bool)
        for rows in _split_by(self._end - self._begin, np.arange(len(self._messages))):
            there = self._bytes[self._begin[rows][:, None] + np.arange(BODY, self._end[rows[0]] - self._begin[rows[0]])]
            for mine, differing in _split_alike(there, np.arange(len(rows))):
                alike = rows[mine]
                others[alike] = False
                before = [*[0] * BODY, *_count_before(differing).tolist()]
                common = CommonScales(self._messages[alike[0]], before)
                self._descend_alike(root(), common, alike, np.zeros(len(alike)), BODY)
        rows = np.flatnonzero(others)
        self._descend(root(), rows, np.zeros(len(rows)), self._begin[rows] + BODY)
        return self._found

    def _descend_alike(self, node: Node, common: CommonScales, rows: Column, bits: Column, at: int) -> None:
        """The same for messages of one length that have all been read up to `at`."""
        size, begin = len(common.data), self._begin
        if len(rows) < FEW:
            self._descend_alone(node, rows, bits, begin[rows] + at)
            return
        if node.ends:
            self._add_ended(node, rows, bits, begin[rows] + at)

        def price_many(kind: str, code: str, place: int) -> Column:
            return self._take_fixed(kind, code, rows, begin[rows] + place)[1]

        spent, room = 0, int(self._left[rows].min())
        for piece, behind, (least, most) in node.edges:
            if not least <= size - at <= most:
                continue
            common.left, stops, those = room - spent, None, rows
            common.price_many = price_many
            try:
                price, stop = common.one(piece, at)
            except (Differ, *UNFIT) as reason:
                if common.left >= 0 and not isinstance(reason, Differ):
                    spent = room - common.left
                    continue
                self._left[rows] -= spent
                some, prices, stops = self.take(piece, rows, begin[rows] + at)
                spent, room = 0, int(self._left[rows].min())
                if not len(some):
                    continue
                those, total = rows[some], bits[some] + prices
                stop = int(stops[0] - begin[those[0]])
            else:
                spent, total = room - common.left, bits + price
            good = total + behind.rare < self._limit[those]
            rest = size - stop if stops is None else self._end[those] - stops
            good &= (rest >= behind.room.least) & (rest <= behind.room.most)
            if not good.any():
                continue
            self._left[rows] -= spent
            if stops is None or (stops - begin[those] == stop).all():
                self._descend_alike(behind, common, those[good], total[good], stop)
            else:
                self._descend(behind, those[good], total[good], stops[good])
            spent, room = 0, int(self._left[rows].min())
        self._left[rows] -= spent

    def _descend(self, node: Node, rows: Column, bits: Column, at: Column) -> None:
        """See guess.descend."""
        if len(rows) < FEW:
            self._descend_alone(node, rows, bits, at)
            return
        if node.ends:
            self._add_ended(node, rows, bits, at)
        left = self._end[rows] - at
        for piece, behind, room in node.edges:
            fitting = np.flatnonzero((left >= room.least) & (left <= room.most))
            if not len(fitting):
                continue
            some, price, stop = self.take(piece, rows[fitting], at[fitting])
            some = fitting[some]
            price += bits[some]
            rest = self._end[rows[some]] - stop
            believed = price + behind.rare < self._limit[rows[some]]
            good = np.flatnonzero(believed & (rest >= behind.room.least) & (rest <= behind.room.most))
            if len(good):
                self._descend(behind, rows[some[good]], price[good], stop[good])

    def _add_ended(self, node: Node, rows: Column, bits: Column, at: Column) -> None:
        ended = np.flatnonzero(at == self._end[rows])
        for row, price in zip(rows[ended].tolist(), bits[ended].tolist(), strict=True):
            limit = self._limit[row]
            for key, version, rare in node.ends:
                if price + rare < limit:
                    self._found[row].append(Candidate(price + rare, key, version))
                    limit = min(limit, price + rare + HOPELESS)
            self._limit[row] = limit

    def _descend_alone(self, node: Node, rows: Column, bits: Column, at: Column) -> None:
        for row, price, place in zip(rows.tolist(), bits.tolist(), at.tolist(), strict=True):
            scales = self._open_scales(row)
            descend(node, scales, price, place - int(self._begin[row]), self._found[row])
            self._left[row], self._limit[row] = scales.left, scales.limit

    def _open_scales(self, row: int) -> Scales:
        return Scales(self._messages[row], int(self._left[row]), float(self._limit[row]))

    def take(self, piece: Piece, rows: Column, at: Column) -> Taken:
        """Weighs what messages have from `at` on as a single piece; see Scales.one."""
        if len(rows) < FEW:
            return self._take_alone(rows, at, lambda scales, place: scales.one(piece, place))
        self._left[rows] -= 1
        some = np.flatnonzero(self._left[rows] >= 0)
        if len(some) < len(rows):
            rows, at = rows[some], at[some]
        kind, detail = piece
        if type(detail) is str:
            taken = self._take_fixed(kind, detail, rows, at)
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
            zip(rows.tolist(), self._begin[rows].tolist(), at.tolist(), strict=True)
        ):
            scales = self._open_scales(row)
            try:
                price, stop = take(scales, offset - begin)
            except UNFIT:
                continue
            finally:
                self._left[row] = scales.left
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

    def _take_fixed(self, kind: str, code: str, rows: Column, at: Column) -> Taken:
        layout = LAYOUTS[code]
        some = np.flatnonzero(at + layout.size <= self._end[rows])
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
        end = self._end[rows]
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
        good = np.flatnonzero((size >= -nullable) & (stop <= self._end[rows[some]]))
        some, size, at, stop = some[good], size[good], at[good], stop[good]
        if kind == ENTRIES:
            count = self._read_fixed("i", at + 8)
            known = (size > 17) & (self._bytes[np.minimum(at + 16, len(self._bytes) - 1)] <= 2) & (count > 0)
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
        good = np.flatnonzero((count >= -nullable) & (count * least <= self._end[rows[some]] - at))
        some, count, at = some[good], count[good], at[good]
        rows, price = rows[some], np.where(count < 0, 2.0, _PRICES[_count_bits(count)])
        fits, done = np.ones(len(some), bool), 0
        going = np.flatnonzero(count > 0)
        while len(going) >= FEW:
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
        begin, end = at, self._end[rows]
        some, count, at = self._read_length(("", 0), rows, at)
        good = np.flatnonzero((count == 0) | (2 * count <= end[some] - at))
        some, count, at = some[good], count[good], at[good]
        price = np.where(count == 0, 0.2, 0.0)
        fits, alone, done = np.ones(len(some), bool), np.zeros(len(some), bool), 0
        members = [tag for tag, _ in piece[1]]
        going = np.flatnonzero(count > 0)
        while len(going) >= FEW:
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
        self._left[rows[some[left]]] += 1  # take() has counted this piece, and so does Scales.one
        fitting, more, stop = self._take_alone(
            rows[some[left]], begin[some[left]], lambda scales, place: scales.one(piece, place)
        )
        fits[left] = False
        fits[left[fitting]] = True
        price[left[fitting]], at[left[fitting]] = more, stop
        fitting = np.flatnonzero(fits)
        return some[fitting], price[fitting], at[fitting]


def _split_by(values: Column, rows: Column) -> Iterator[Column]:
    """Yields the rows of each value that many rows have."""
    order = rows[np.argsort(values[rows], kind="stable")]
    for alike in np.split(order, np.flatnonzero(np.diff(values[order])) + 1):
        if len(alike) >= ALIKE:
            yield alike


def _split_alike(there: Column, rows: Column) -> Iterator[tuple[Column, Column]]:
    """Yields rows of `there` (n, width) that are alike in their first bytes, with the columns in which they differ."""
    differing = (there[rows] != there[rows[0]]).any(axis=0)
    first = there[:, int(differing.argmax())]
    if len(rows) < MANY or not differing.any() or len(np.unique(first[rows])) > MOST_KINDS:
        yield rows, differing
        return
    for alike in _split_by(first, rows):
        yield from _split_alike(there, alike)


def _weigh_rest(element: Pieces, count: int, price: float, scales: Scales, at: int) -> tuple[float, int]:
    """Weighs the last `count` elements of a list whose others cost `price`."""
    for _ in range(count):
        more, at = scales.weigh(element, at)
        price += more
    return price, at


def _count_before(marks: Column) -> Column:
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
