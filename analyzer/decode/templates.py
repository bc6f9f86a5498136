"""Matches a template with many messages, and reads the values of those that match.

Theory. A message of a template consists of segments of constant width between stretches of variable length (texts,
bytes). For many messages each segment is a matrix of bytes: it begins where the stretch before it ends, and it contains
the length of the next stretch. Messages that do not match are dropped on the way, most of them in the first segment.
Numbers and texts of the others are read column by column.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Bools, Ints, list_distinct
from analyzer.columns.cells import Cells
from analyzer.columns.values import Values
from analyzer.decode.bounds import IntegerBlock, find_blocks, split_conditions
from analyzer.decode.byte_source import ByteSource
from dissectors.message import Body
from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_text import DIGITS, RUNNING
from dissectors.symbolic_values import (
    COMPARISONS,
    DECIMAL,
    FLOWING,
    OPPOSITES,
    RUN,
    UVARINT,
    WIDEST,
    ZIGZAG,
    Bytes,
    Condition,
    DerivedInteger,
    Hex,
    Integer,
    MadeText,
    Marked,
    NestedValue,
    Stretch,
    Term,
    Text,
    WrittenValue,
)
from dissectors.wire.checksum import crc32c

LONGEST_TEXT = 512
"""Number of bytes shown of a text or of bytes above which the message is decoded alone."""

_PADDING, _LITTLE = 4, 64
"""A text may be _PADDING times the mean length of its column plus _LITTLE bytes, because all cells have equal width."""

_LIKELY = 4
"""Number of matching rows that must be expected before a template is tried."""

_SMALL = 4096
"""Length in bytes of a message whose template takes little memory."""


def _count_groups(number: int) -> int:
    """Returns the number of groups of four digits."""
    return -(-len(str(number)) // 4)


SPLICE = 1
"""A control character, which no text contains."""

_HEX = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
_READABLE = np.isin(np.arange(256), sorted(RUNNING))
_READABLE_OR_END = np.isin(np.arange(256), sorted({0, *RUNNING}))
_DIGIT = np.isin(np.arange(256), list(b"0123456789"))
_POWERS = 10 ** np.arange(DIGITS)
_NUMERIC = np.isin(np.arange(256), list(b"-0123456789"))

_LOOKS = (16, 64, LONGEST_TEXT + 1)
"""Numbers of bytes in which the end of a run is searched, one after the other: most runs are short."""


def _are_short_enough(size: Ints) -> Bools:
    """Returns which texts of a column are short enough for its cells."""
    most = int(size.max(initial=0))
    found: Bools = size <= (most if most <= _LITTLE else min(LONGEST_TEXT, _PADDING * int(size.mean()) + _LITTLE))
    return found


Parts = Sequence[bytes | Marked]
"""A text, split at its marks."""


class TemplateBreak(NamedTuple):
    """Holds a part of variable width, and its position in the template's message."""

    begin: int
    end: int
    variable: Stretch | Term


class Template:
    """The text of one message (body) with symbolic values, ready to be filled in for many messages."""

    def __init__(self, builder: TemplateBuilder, texts: Mapping[str, Parts], body: Body) -> None:
        self.builder, self.texts, self.body = builder, texts, body
        self.hits = self.tried = 0
        flowing = (
            TemplateBreak(term.at, term.at + term.size, term) for term in builder.flowing if not builder.fixed[term.at]
        )
        settled = {each.extent.begin for each in builder.stretches if each.settled}
        # Bytes that are read in two ways are one break, or none if one of the readings has a constant length.
        stretches = {
            each.extent.begin: TemplateBreak(each.extent.begin, each.extent.end, each)
            for each in builder.stretches
            if each.extent.begin not in settled and not builder.fixed[each.extent.begin]
        }
        self.breaks = sorted((*flowing, *stretches.values()), key=itemgetter(0))
        self.begins = [0, *(each.end for each in self.breaks)]
        self.ends = [*(each.begin for each in self.breaks), len(builder.data)]
        fixed, data = np.frombuffer(builder.fixed, np.uint8), np.frombuffer(builder.data, np.uint8)
        self.fixed = [np.flatnonzero(fixed[begin:end]) for begin, end in zip(self.begins, self.ends, strict=True)]
        self.wanted = [data[begin + places] for begin, places in zip(self.begins, self.fixed, strict=True)]
        self.varints: list[list[tuple[int, int]]] = [[] for _ in self.begins]
        for term in builder.varints:
            segment, inside = self.locate(term.at)
            self.varints[segment].append((inside, term.size))
        self.decimals = [term for term in dict.fromkeys(builder.decimals) if not builder.fixed[term.at]]
        self.bounds, self.conditions = split_conditions(builder.conditions, self.locate)
        places = [(*self.locate(each.begin), *self.locate(each.end), each.bias) for each in builder.extents]
        self.extent_places = np.array(places, np.int64).reshape(-1, 5).T
        self.size_blocks = find_blocks((term for each in builder.extents for term in each.terms), self.locate)
        self.integers = list({id(mark): mark for mark in builder.marks if type(mark) is Integer}.values())
        self.integer_blocks = find_blocks((term for mark in self.integers for term in mark.terms), self.locate)

    @property
    def cost(self) -> int:
        """Returns the memory that it takes, as a number of small templates."""
        return 1 + len(self.builder.data) // _SMALL

    def is_likely(self, rows: int) -> bool:
        """Returns whether enough of `rows` rows are likely to match, judging by earlier matches."""
        return self.hits * rows >= _LIKELY * self.tried

    def locate(self, at: int) -> tuple[int, int]:
        """Returns the segment that contains a position of the template's message, and the offset in that segment."""
        segment = bisect_left(self.ends, at)
        # A stretch ends where the next segment begins; that segment may be empty.
        if at < self.begins[segment]:
            segment -= 1
        return segment, at - self.begins[segment]


class TemplateMatch:
    """Holds the messages that match a template: `rows` are their indexes among the given messages.

    at: where each message begins; anchors: where each segment begins in its message; segments: their bytes (n, width).
    """

    def __init__(self, template: Template, store: ByteSource, at: Ints, length: Ints) -> None:
        self.template, self._store = template, store
        self.rows = np.arange(len(at))
        self.at, self._length = at, length
        self.anchors: list[Ints] = []
        self.segments: list[Cells] = []
        self.splices: list[tuple[WrittenValue, Values]] = []
        self._nested: dict[int, Values] = {}
        self._numbers: dict[Term, Ints] = {}
        self._flowing: dict[Term, Ints] = {}
        self._written: dict[int, bytes | Cells] = {}
        anchor = np.zeros(len(at), np.int64)
        for segment in range(len(template.begins)):
            anchor = self._read_segment(segment, anchor)
            if not len(self.rows):
                return
        self._keep_matching(anchor == self._length)
        self._check_messages()

    def _read_segment(self, segment: int, anchor: Ints) -> Ints:
        """Reads a segment of all messages; returns where the next one begins, or where the last one ends."""
        template = self.template
        width = template.ends[segment] - template.begins[segment]
        self.anchors.append(anchor)
        self._keep_matching(anchor + width <= self._length)
        matrix = self._store.gather(self.at + self.anchors[-1], width)
        self.segments.append(matrix)
        good = (matrix[:, template.fixed[segment]] == template.wanted[segment]).all(axis=1)
        for inside, size in template.varints[segment]:
            good &= matrix[:, inside + size - 1] < 0x80
            if size > 1:
                good &= (matrix[:, inside : inside + size - 1] >= 0x80).all(axis=1)
        self._keep_matching(good)
        following = self.anchors[-1] + width
        if segment == len(template.breaks):
            return following
        variable = template.breaks[segment].variable
        taken = (
            self._read_variable(variable, following) if isinstance(variable, Term) else self._measure_stretch(variable)
        )
        good = (taken > 0) & (taken <= self._length)
        following += taken
        self._keep_matching(good)
        return following[good]

    def _read_variable(self, term: Term, begin: Ints) -> Ints:
        """Reads a number of variable width; returns its bytes in each message, 0 where it is too long."""
        if term.code != FLOWING:
            return self._measure_run(_READABLE if term.code == RUN else _NUMERIC, self.at + begin)
        raw = self._store.gather(self.at + begin, WIDEST)
        last = raw < 0x80
        taken = np.where(last.any(axis=1), last.argmax(axis=1) + 1, 0)
        places = np.arange(int(taken.max(initial=0)))
        parts = (raw[:, : len(places)] & 0x7F).astype(np.int64) << 7 * places
        parts[places >= taken[:, None]] = 0
        self._flowing[term] = parts.sum(axis=1)
        return taken

    def _measure_run(self, those: Bools, at: Ints) -> Ints:
        """Returns the number of consecutive bytes of a class; 0 where they are too many for a cell."""
        taken = np.zeros(len(at), np.int64)
        left = np.arange(len(at))
        for width in _LOOKS:
            others = ~those[self._store.gather(at[left], width)]
            taken[left] = others.argmax(axis=1)
            left = left[~others.any(axis=1)]
            if not len(left):
                break
        return taken

    def _read_decimal(self, term: Term) -> tuple[Ints, Bools]:
        """Returns the number that the digits of each message give, and whether they are a canonical number."""
        begin = self.find_position(term.at)
        size = self.find_position(term.at + term.size) - begin
        raw = self._store.gather(self.at + begin, min(int(size.max(initial=1)), DIGITS + 1))
        minus = (raw[:, :1] == cells.MINUS).sum(axis=1)
        places = np.arange(raw.shape[1])
        mine = (places >= minus[:, None]) & (places < size[:, None])
        good = (_DIGIT[raw] | ~mine).all(axis=1) & (size - minus >= 1) & (size - minus <= DIGITS)
        first = raw[np.arange(len(raw)), np.minimum(minus, raw.shape[1] - 1)]
        good &= (first != cells.ZERO) | (size == 1)
        powers = _POWERS[np.clip(size[:, None] - 1 - places, 0, DIGITS - 1)]
        number = np.einsum("ij,ij->i", np.where(mine, raw - np.uint8(cells.ZERO), 0), powers)
        return np.where(minus, -number, number), good

    def _keep_matching(self, good: Bools) -> None:
        if np.count_nonzero(good) == len(good):
            return
        self._numbers.clear()
        self._flowing = {term: numbers[good] for term, numbers in self._flowing.items()}
        self.rows, self.at, self._length = self.rows[good], self.at[good], self._length[good]
        self.anchors = [anchor[good] for anchor in self.anchors]
        self.segments = [segment[good] for segment in self.segments]
        if self._nested:
            matching = good.tolist()
            self._nested = {key: list(compress(values, matching)) for key, values in self._nested.items()}

    def _check_messages(self) -> None:
        """Checks conditions, extents, printable texts and checksums; the most expensive checks last."""
        builder = self.template.builder
        if builder.extents:
            self._read_blocks(self.template.size_blocks)
            sizes = np.array([self._add_terms(extent.terms) for extent in builder.extents])
            anchors, (first, begin, last, end, bias) = np.array(self.anchors), self.template.extent_places
            self._keep_matching((sizes == anchors[last] - anchors[first] + (end - begin + bias)[:, None]).all(axis=0))
        for term in self.template.decimals:
            self._flowing[term], good = self._read_decimal(term)
            self._keep_matching(good)
        self._keep_matching(self._meet_conditions(nested=False))
        texts = {id(mark): mark for mark in builder.marks if type(mark) is Text}.values()
        for size in map(self._measure_stretch, texts):
            self._keep_matching(_are_short_enough(size))
        for shown in [mark for mark in builder.marks if type(mark) is Hex]:
            size = self._measure_stretch(shown.stretch)
            self._keep_matching(_are_short_enough(size if shown.limit is None else np.minimum(size, shown.limit)))
        for text in texts:
            content = self._read_content(text, None)
            size = np.count_nonzero(content, axis=1)
            good = _READABLE_OR_END[content].all(axis=1) & (size == self._measure_stretch(text))
            good &= content[np.arange(len(content)), np.maximum(size - 1, 0)] != cells.SPACE
            self._keep_matching(good)
        for checksum in builder.checksums:
            begin, end = self.find_position(checksum.begin), self.find_position(checksum.end)
            expected = self.read_number(Term(checksum.at, 4, "I")).tolist()
            parts = self._store.read_many(self.at + begin, end - begin)
            self._keep_matching(
                np.array([crc32c(part) == each for part, each in zip(parts, expected, strict=True)], bool)
            )

    def list_nested(self) -> Iterator[tuple[NestedValue, list[bytes], list[tuple[int, ...]]]]:
        """Yields each nested value, its bytes in each message, and the numbers that decoding needs."""
        for nested in self.template.builder.stretches:
            if type(nested) is NestedValue and not nested.settled:
                contents = self._store.read_many(
                    self.at + self.find_position(nested.extent.begin), self._measure_stretch(nested)
                )
                columns = [
                    (self._add_terms(number.terms) + number.constant).tolist() for number in nested.needed_numbers
                ]
                yield nested, contents, list(zip(*columns, strict=True)) if columns else [()] * len(contents)

    def list_nested_values(self) -> Iterator[tuple[NestedValue, Values]]:
        """Yields each nested value, and its value in each message."""
        for nested in self.template.builder.stretches:
            if type(nested) is NestedValue:
                yield nested, self._list_values(nested)

    def list_values(self, value: Integer | Text | Bytes | NestedValue) -> Values:
        """Returns a symbolic value of the template's message as it is in each message. A text must have a mark."""
        if type(value) is NestedValue:
            return self._list_values(value)
        if type(value) is Integer:
            return self.read_integer(value).tolist()  # type: ignore[no-any-return]
        assert type(value) is Text or type(value) is Bytes
        found = self.list_contents(value)
        return found if type(value) is Bytes else list(map(bytes.decode, found))

    def read_integer(self, value: Integer) -> Ints:
        """Returns a symbolic integer as it is in each message (int64 or uint64, n)."""
        found: Ints = self._add_terms(value.terms) + value.constant
        return found

    def list_contents(self, value: Text | Bytes) -> list[bytes]:
        """Returns the bytes of a symbolic value in each message."""
        return self._store.read_many(self.at + self.find_position(value.extent.begin), self._measure_stretch(value))

    def read_messages(self) -> list[bytes]:
        """Returns the bytes of each message, followed by those of the request with which it is decoded."""
        return self._store.read_many(self.at, self._length)

    def set_nested_values(self, values: Mapping[int, Values]) -> None:
        """Sets the decoded values by the id of each NestedValue; drops messages without a value."""
        self._nested = dict(values)
        good = np.ones(len(self.rows), bool)
        for found in values.values():
            good &= np.array([value is not None for value in found], bool)
        self._keep_matching(good)
        self._keep_matching(self._meet_conditions(nested=True))

    def _meet_conditions(self, nested: bool) -> Bools:
        """Returns which messages meet the conditions on nested values, or all other conditions."""
        good = np.ones(len(self.rows), bool)
        for block in () if nested else self.template.bounds:
            good &= block.find_matches(self.segments[block.segment])
        for condition in self.template.conditions:
            if nested == any(isinstance(term, DerivedInteger) and not term.nested.settled for term in condition.terms):
                good &= self._meet_condition(condition)
        return good

    def _meet_condition(self, condition: Condition) -> Bools:
        terms, constant, name, other, outcome = condition
        numbers = self._add_terms(terms)
        compare = COMPARISONS[name if outcome else OPPOSITES[name]]
        found: Bools = compare(numbers + constant if constant else numbers, other)
        return found

    def find_position(self, at: int) -> Ints:
        """Returns where a position of the template is in each message."""
        segment, inside = self.template.locate(at)
        return self.anchors[segment] + inside

    def read_number(self, term: Term | DerivedInteger) -> Ints:
        """Reads an integer of each message."""
        if isinstance(term, DerivedInteger):
            return np.array([term.function(value) for value in self._list_values(term.nested)], np.int64)
        found = self._numbers.get(term)
        if found is None:
            found = self._numbers[term] = self._read_number(term)
        return found

    def _read_blocks(self, blocks: Sequence[IntegerBlock]) -> None:
        for block in blocks:
            self._numbers.update(zip(block.terms, block.read_numbers(self.segments[block.segment]), strict=True))

    def _read_number(self, term: Term) -> Ints:
        if term.negated:
            return -self.read_number(term._replace(negated=False))
        if term in self._flowing:
            return self._flowing[term]
        if term.code == RUN:
            return self.find_position(term.at + term.size) - self.find_position(term.at)
        if term.code == DECIMAL:  # its bytes are the same in all messages
            return np.full(len(self.rows), int(self.template.builder.data[term.at : term.at + term.size]), np.int64)
        segment, inside = self.template.locate(term.at)
        raw = self.segments[segment][:, inside : inside + term.size]
        if term.code in (UVARINT, ZIGZAG, FLOWING):
            shifts = np.arange(0, 7 * term.size, 7)
            value: Ints = ((raw & 0x7F).astype(np.int64) << shifts).sum(axis=1)
            return (value >> 1) ^ -(value & 1) if term.code == ZIGZAG else value
        kind = f">{'u' if term.code.isupper() else 'i'}{term.size}"
        found = np.ascontiguousarray(raw).view(kind)[:, 0]
        return found.astype(np.uint64 if term.code == "Q" else np.int64)

    def _list_values(self, nested: NestedValue) -> Values:
        return [nested.value] * len(self.rows) if nested.settled else self._nested[id(nested)]

    def _add_terms(self, terms: Sequence[Term | DerivedInteger]) -> Ints:
        first, *rest = map(self.read_number, terms)
        for each in rest:
            first = first + each
        return first

    def _measure_stretch(self, stretch: Stretch) -> Ints:
        extent = stretch.extent
        if stretch.settled:
            return np.full(len(self.rows), extent.end - extent.begin)
        return self._add_terms(extent.terms) - extent.bias

    def _read_content(self, stretch: Text | Bytes, limit: int | None) -> Cells:
        """Returns the first bytes of a stretch, with zeros after its end."""
        begin = self.find_position(stretch.extent.begin)
        size = self._measure_stretch(stretch)
        width = int(size.max(initial=0))
        width = width if limit is None else min(width, limit)
        content = self._store.gather(self.at + begin, width)
        if not stretch.settled:
            content[np.arange(width) >= size[:, None]] = 0
        return content

    def make_parts(self, slot: str) -> list[bytes | Cells]:
        """Returns the text of a slot for each message; SPLICE marks the positions for `splices`."""
        if not self._written:
            self._write_integers()
        return [part if type(part) is bytes else self._make_cells(part) for part in self.template.texts[slot]]

    def _write_integers(self) -> None:
        """Makes the texts of all integers: one for a number that all messages share, else cells.

        Numbers of similar size are read and written together, because each call has a high fixed cost.
        """
        self._read_blocks(self.template.integer_blocks)
        columns: dict[int, Ints] = {}
        for mark in self.template.integers:
            numbers = self._add_terms(mark.terms)
            if mark.constant:
                numbers = numbers + mark.constant
            if numbers.dtype == np.int64:
                columns[id(mark)] = numbers
            else:
                self._written[id(mark)] = cells.format_integers(numbers)
        if not columns:
            return
        table = np.concatenate(list(columns.values())).reshape(len(columns), -1)
        similar: dict[tuple[bool, int], list[int]] = {}
        bounds = zip(table.min(axis=1).tolist(), table.max(axis=1).tolist(), strict=True)
        for place, (mark_id, (least, most)) in enumerate(zip(columns, bounds, strict=True)):
            if least == most:
                self._written[mark_id] = b"%d" % least
            else:
                similar.setdefault((least < 0, _count_groups(max(most, -least))), []).append(place)
        ids = list(columns)
        for places in similar.values():
            written = cells.format_integers(table[places].reshape(-1))
            for place, one in zip(places, written.reshape(len(places), len(self.rows), -1), strict=True):
                self._written[ids[place]] = one

    def list_made_texts(self, mark: MadeText) -> list[str]:
        """Returns the distinct texts that are made from a number in these messages."""
        return [mark.function(number) for number in list_distinct(self._compute_number(mark)).tolist()]

    def _compute_number(self, mark: MadeText) -> Ints:
        numbers: Ints = self._add_terms(mark.number.terms) + mark.number.constant
        return numbers

    def _make_cells(self, mark: bytes | Marked) -> bytes | Cells:
        if type(mark) is Integer:
            return self._written[id(mark)]
        if type(mark) is Text:
            return self._read_content(mark, None)
        if type(mark) is WrittenValue:
            self.splices.append((mark, self._list_values(mark.nested)))
            return np.full((len(self.rows), 1), SPLICE, np.uint8)
        if type(mark) is MadeText:
            made = self._compute_number(mark)
            if (made == made[0]).all():  # most limits and timeouts are equal
                return mark.function(int(made[0])).encode()
            numbers, back = np.unique(made, return_inverse=True)
            return cells.make_cells([mark.function(number).encode() for number in numbers.tolist()])[back]
        assert type(mark) is Hex
        content = self._read_content(mark.stretch, mark.limit)
        digits = _HEX[content].view(np.uint8)
        size = self._measure_stretch(mark.stretch)
        if not mark.stretch.settled:
            digits[np.arange(digits.shape[1]) >= 2 * size[:, None]] = 0
        return digits
