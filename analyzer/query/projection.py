"""Reads similar messages by their layout together: each field is passed in all of them before the next one.

Theory. To read one field of many messages, each would have to be decoded. A plan (dissectors.wire.plan) says which
fields precede a field in a layout. So the plan is followed once for all messages of one kind. A column holds the
current position in each message: passing adjacent fields of fixed width is one addition, and reading a length is one
gather. The elements of arrays are passed one after the other, each time in the messages that have so many. A
LeafVisitor gets the positions of the fields that it wants. Messages with anything unusual (an implausible length,
remaining bytes, long arrays that only a few messages have) drop out, and the dissector's own decoder reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count as counting
from typing import NamedTuple, Protocol

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, rank_in_runs
from analyzer.columns.cells import Cells
from dissectors.wire.dialect import Rest, ScannedValue, SizedBytes
from dissectors.wire.fast_path import HeaderLayout
from dissectors.wire.plan import Array as Many
from dissectors.wire.plan import KeyedMembers, Leaf, Step, Struct, Tags, When, leaves_of
from dissectors.wire.primitive import FixedWidth, Length

FEW, USUAL = 8, 4
"""With fewer than FEW messages, array elements after the first USUAL ones are left to the plain decoder."""

INTEGERS = frozenset("bhiqBHI")
"""Codes of numbers that fit into 64 signed bits."""

MOST_TAGS = 16
_VARINT = 5


class GatherSource(Protocol):
    """The methods of analyzer.capture.store.Store that a projection needs."""

    def gather(self, locations: Ints, width: int) -> Cells:
        """Returns `width` bytes at each of n positions (uint8, n x width)."""


class LeafVisitor(Protocol):
    """Gets the positions of some fields of messages."""

    def is_wanted(self, leaf: Leaf) -> bool:
        """Returns whether the visitor wants to see this field."""

    def visit_leaf(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> Ints | None:
        """Handles a field at `at` in messages `rows`; a message occurs once for each value of the field.

        size: bytes of a field without fixed width, below zero for null. Returns the messages that drop out, or None. A
        position may be past a message's end; such a message drops out without help.
        """


def walk_layout(layout: HeaderLayout, source: GatherSource, at: Ints, length: Ints, visitor: LeafVisitor) -> Bools:
    """Returns which of n messages at these positions of `source` fit the layout from begin to end."""
    steps = (*layout.head, *layout.steps)
    if any(isinstance(leaf.primitive, ScannedValue) for leaf in leaves_of(steps)):
        return np.zeros(len(at), bool)
    walk = _Walk(source, at, length, visitor)
    if layout.length is not None:
        walk.pass_length_prefix(layout.length)
        walk.at -= layout.length.size
    walk.at += layout.start
    walk.follow(steps, walk.keep_rows(np.arange(len(at))))
    return walk.good & (walk.at == walk.end) if layout.whole else walk.good & (walk.at <= walk.end)


class _WantedLeaf(NamedTuple):
    """A field in a run, and its offset there."""

    inside: int
    leaf: Leaf


class _Run:
    """Adjacent fields of fixed width that are not passed yet: their total width, and which of them are wanted."""

    def __init__(self) -> None:
        self.width = 0
        self.wanted: list[_WantedLeaf] = []

    def add(self, leaf: Leaf, visitor: LeafVisitor) -> None:
        if visitor.is_wanted(leaf):
            self.wanted.append(_WantedLeaf(self.width, leaf))
        self.width += leaf.primitive.size


class _Walk:
    """Messages during the walk: `at`, the next position in each; `end`; `good`, those that have not dropped out.

    Rows are numbers of messages. Each method takes the rows that have a field and returns those that continue.
    """

    def __init__(self, source: GatherSource, at: Ints, length: Ints, visitor: LeafVisitor) -> None:
        self._source, self._visitor = source, visitor
        self.at, self.end = at.astype(np.int64), at + length
        self.good = np.ones(len(at), bool)

    def pass_length_prefix(self, prefix: FixedWidth) -> None:
        """Passes the length prefix, which must equal the length of the message."""
        there = self._source.gather(self.at, prefix.size)
        self.good = decode_number(there, prefix.code) == self.end - self.at - prefix.size
        self.at += prefix.size

    def keep_rows(self, rows: Ints) -> Ints:
        """Returns those of `rows` that have not dropped out and are within their bytes."""
        over = self.at[rows] > self.end[rows]
        self.good[rows[over]] = False
        return rows[self.good[rows]]

    def follow(self, steps: Sequence[Step], rows: Ints) -> Ints:
        """Passes the members of a struct."""
        run = _Run()
        needed = {step.member for step in steps if isinstance(step, When)}
        numbers: dict[str, Ints] = {}
        for step in steps:
            if isinstance(step, Leaf) and isinstance(step.primitive, FixedWidth):
                if needed:
                    self._keep_numbers(step, needed, numbers, self.at[rows] + run.width, rows)
                run.add(step, self._visitor)
            elif isinstance(step, Struct) and step.presence is None and step.length is None:
                rows = self.follow(step.steps, self._pass_run(run, rows))
                run = _Run()
            elif isinstance(step, When):
                rows = self._pass_run(run, rows)
                run = _Run()
                if step.needs_remaining_bytes:
                    there = self.at[rows] < self.end[rows]
                else:
                    there = np.array([step.holds(value) for value in numbers[step.member][rows].tolist()], bool)
                self.follow((step.step,), rows[there])
                rows = self.keep_rows(rows)
            elif len(rows):
                rows = self._pass_variable(step, run, rows)
                run = _Run()
        return self._pass_run(run, rows)

    def _keep_numbers(self, leaf: Leaf, needed: set[str], numbers: dict[str, Ints], at: Ints, rows: Ints) -> None:
        """Keeps the numbers, by row, that decide whether other members are present."""
        for name, bits in ((leaf.spec.name, None), *((each.spec.name, each) for each in leaf.bits)):
            if name in needed and isinstance(leaf.primitive, FixedWidth):
                there = decode_number(self._source.gather(at, leaf.primitive.size), leaf.primitive.code)
                numbers[name] = np.zeros(len(self.at), np.int64)
                numbers[name][rows] = there if bits is None else (there & bits.mask) >> bits.shift

    def _pass_variable(self, step: Step, run: _Run, rows: Ints) -> Ints:
        """Passes a member whose width differs between messages, and the run before it."""
        if isinstance(step, Tags):
            return self._pass_tags(step, run, rows)
        if isinstance(step, KeyedMembers):
            self._pass_until_end(tuple(step.steps.values()), tuple(step.steps), self._pass_run(run, rows))
        elif isinstance(step, Many):
            self._pass_array(step, run, rows)
        elif isinstance(step, Struct):
            self._pass_struct(step, run, rows)
        else:
            assert isinstance(step, Leaf)
            self._pass_leaf(step, run, rows)
        return self.keep_rows(rows)

    def _pass_leaf(self, leaf: Leaf, run: _Run, rows: Ints) -> None:
        """Passes a value of variable width, and the run before it."""
        primitive = leaf.primitive
        if isinstance(primitive, SizedBytes):
            rows, size = self._read_size(primitive.length, run, rows, -1 if primitive.nullable else 0)
            self._show_leaf(leaf, rows, self.at[rows], size)
            self.at[rows] += np.maximum(size, 0)
            return
        rows = self._pass_run(run, rows)
        begin = self.at[rows]
        if isinstance(primitive, Rest):
            self.at[rows] = self.end[rows]
        else:
            going, _ = self._read_varint(self._source.gather(begin, 1)[:, 0], rows)
            begin, rows = begin[self.good[rows]], going
        self._show_leaf(leaf, rows, begin, self.at[rows] - begin)

    def _pass_array(self, array: Many, run: _Run, rows: Ints) -> None:
        if array.count is None:
            self._pass_until_end((array.element,), None, self._pass_run(run, rows))
        else:
            rows, count = self._read_size(array.count, run, rows, -1 if array.nullable else 0)
            self._pass_elements(array.element, rows, np.maximum(count, 0))

    def _pass_struct(self, struct: Struct, run: _Run, rows: Ints) -> None:
        """Passes a struct that may be null, or that has a length, which its members must fill exactly."""
        if struct.length is None:
            assert struct.presence is not None
            rows, there = self._read_size(struct.presence, run, rows, -1)
            self.follow(struct.steps, rows[there >= 0])
            return
        rows, size = self._read_size(struct.length, run, rows, 0)
        outer = self.end.copy()
        self.end[rows] = self.at[rows] + size
        self.follow(struct.steps, rows)
        self.good[rows] &= self.at[rows] == self.end[rows]
        self.end = outer

    def _pass_until_end(self, steps: Sequence[Step], keys: Sequence[int] | None, rows: Ints) -> None:
        """Passes elements, or members after their keys, up to the end of the enclosing structure."""
        for index in counting():
            rows = self.keep_rows(rows)
            rows = rows[self.at[rows] < self.end[rows]]
            if not len(rows):
                return
            if index >= USUAL and len(rows) < FEW:
                self.good[rows] = False
                return
            begin = self.at[rows]
            if keys is None:
                self.follow(steps, rows)
            else:
                rows, key = self._read_varint(self._source.gather(begin, 1)[:, 0], rows)
                self.good[rows[~np.isin(key, keys)]] = False
                for number_, step in zip(keys, steps, strict=True):
                    self.follow((step,), rows[key == number_])
                continue
            self.good[rows[self.at[rows] == begin]] = False  # an element without bytes would never end

    def _pass_run(self, run: _Run, rows: Ints) -> Ints:
        """Passes a run, and shows the visitor the fields that it wants."""
        if not run.width or not len(rows):
            return rows
        for inside, leaf in run.wanted:
            self._show_leaf(leaf, rows, self.at[rows] + inside, None)
        self.at[rows] += run.width
        return self.keep_rows(rows)

    def _show_leaf(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> None:
        if size is not None and not self._visitor.is_wanted(leaf):
            return
        dropped = self._visitor.visit_leaf(leaf, rows, at, size)
        if dropped is not None:
            self.good[dropped] = False

    def _read_size(self, length: Length, run: _Run, rows: Ints, least: int) -> tuple[Ints, Ints]:
        """Passes a run and the length, count or presence after it; returns the rows with a valid one, and these."""
        rows = self._pass_run(run, rows)
        there = self._source.gather(self.at[rows], length.size)
        if length.code is None:
            rows, found = self._read_varint(there[:, 0], rows)
        else:
            found = decode_number(there, length.code)
            self.at[rows] += length.size
        found = found - length.bias
        sound = (found >= least) & (found <= self.end[rows] - self.at[rows])
        self.good[rows[~sound]] = False
        return rows[sound], found[sound]

    def _read_varint(self, first: Array, rows: Ints) -> tuple[Ints, Ints]:
        """Passes an unsigned varint whose first byte is already read."""
        found = first.astype(np.int64)
        self.at[rows] += 1
        longer = np.flatnonzero(first >= 0x80)
        if len(longer):
            those = rows[longer]
            there = self._source.gather(self.at[those] - 1, _VARINT).astype(np.int64)
            ended = there < 0x80
            count = ended.argmax(axis=1) + 1
            self.good[those[~ended.any(axis=1)]] = False
            mine = np.arange(_VARINT) < count[:, None]
            found[longer] = ((there & 0x7F) * mine << np.arange(0, 7 * _VARINT, 7)).sum(axis=1) & 0xFFFF_FFFF
            self.at[those] += count - 1
        going = self.good[rows]
        return rows[going], found[going]

    def _pass_elements(self, element: Leaf | Struct, rows: Ints, count: Ints) -> None:
        """Passes the elements of an array. count: the number for each of `rows`, at most its remaining bytes."""
        run = _make_fixed_run(element, self._visitor)
        if run is None:
            self._pass_one_by_one(element, rows, count)
            return
        begin = self.at[rows]
        self.at[rows] += count * run.width
        if run.wanted:
            inside = self.at[rows] <= self.end[rows]
            rows, begin, count = rows[inside], begin[inside], count[inside]
            at, rows = np.repeat(begin, count) + rank_in_runs(count) * run.width, np.repeat(rows, count)
            for inside_run, leaf in run.wanted:
                self._show_leaf(leaf, rows, at + inside_run, None)

    def _pass_one_by_one(self, element: Leaf | Struct, rows: Ints, count: Ints) -> None:
        for index in range(int(count.max(initial=0))):
            more = count > index
            rows, count = rows[more], count[more]
            if index >= USUAL and len(rows) < FEW:
                self.good[rows] = False
                return
            self.follow((element,), rows)
            going = self.good[rows]
            rows, count = rows[going], count[going]

    def _pass_tags(self, tags: Tags, run: _Run, rows: Ints) -> Ints:
        """Passes a tagged section by the sizes in it; if it could contain a wanted field, it must be empty."""
        rows = self._pass_run(run, rows)
        rows, count = self._read_varint(self._source.gather(self.at[rows], 1)[:, 0], rows)
        needed = any(map(self._visitor.is_wanted, leaves_of(tuple(tags.steps.values()))))
        most = 0 if needed else MOST_TAGS
        self.good[rows[count > most]] = False
        for index in range(min(int(count.max(initial=0)), most)):
            those = self.keep_rows(rows[(count > index) & (count <= most)])
            for last in (False, True):
                there = self._source.gather(self.at[those], 1)[:, 0]
                those, found = self._read_varint(there, those)
                if last:
                    self.at[those] += found
        return self.keep_rows(rows)


def _make_fixed_run(element: Leaf | Struct, visitor: LeafVisitor) -> _Run | None:
    """Returns the run that each element of an array is; None if elements differ in width."""
    run = _Run()
    for step in (element,) if isinstance(element, Leaf) or element.presence is not None else element.steps:
        if not (isinstance(step, Leaf) and isinstance(step.primitive, FixedWidth)):
            return None
        run.add(step, visitor)
    return run


def is_plain(leaf: Leaf) -> bool:
    """Returns whether a field is in a message as it is, as a number or a text, and is no secret."""
    primitive = leaf.primitive
    if leaf.spec.secret or leaf.secret_by is not None:
        return False
    if isinstance(primitive, SizedBytes):
        return primitive.convert is bytes.decode
    return isinstance(primitive, FixedWidth)


def is_integer(leaf: Leaf) -> bool:
    """Returns whether a field is a number that decode_number() reads."""
    primitive = leaf.primitive
    return isinstance(primitive, FixedWidth) and primitive.convert is None and primitive.code in INTEGERS


def decode_number(there: Array, code: str) -> Ints:
    """Decodes big-endian integers (n) from bytes (n, width); `code` is that of struct."""
    kind = f">{'u' if code.isupper() else 'i'}{there.shape[1]}"
    return np.ascontiguousarray(there).view(kind)[:, 0].astype(np.int64)
