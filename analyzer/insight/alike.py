"""Groups messages of one layout that have equal values in some fields, with their differences as columns.

Theory. A layout is walked once for all messages (analyzer.query.projection). The values of the wanted fields form a
line of numbers for each message: a number stands for itself, a text is its number in a table of texts. Messages with
equal lines are alike. The walk visits fields in the same order for messages of the same structure, so the line also
contains how many elements each array has. The protocol reads fields in records (FastPath.inner).

A message that does not fit its layout, or has anything that the walk does not read, is in no group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints, find_runs, list_distinct, rank_in_runs
from analyzer.query.projection import decode_number, is_integer, is_plain, walk_layout
from dissectors.correlator import QuietTest
from dissectors.message import Path
from dissectors.wire.fast_path import FastPath, HeaderLayout, InnerReader
from dissectors.wire.plan import Array as Many
from dissectors.wire.plan import Leaf, Step, follow_path, leaves_of
from dissectors.wire.primitive import FixedWidth

LONGEST = 1024
"""Largest number of numbers in the line of a message; a message with more is in no group."""

_FACTORS = np.random.default_rng(27).integers(1, 1 << 63, LONGEST, np.int64) | 1
"""Multipliers of a hash. Their values do not matter, because lines with equal hashes are compared."""

_NONE = np.zeros(0, np.int64)


Quiet = tuple[Path, int | QuietTest | None]
"""A field, and the number that it must have, or a test for it; None is null."""


class FieldSelection(NamedTuple):
    """Fields that must be equal in messages (same), fields that may differ (numbers), fields with a test (quiet)."""

    same: frozenset[Path]
    numbers: frozenset[Path]
    quiet: frozenset[Quiet]


class _Inside(NamedTuple):
    """Fields in the bytes of a leaf: the names that must be equal, and the paths of numbers by name.

    quiet: by name, what numbers must be.
    """

    reader: InnerReader
    same: list[str]
    numbers: dict[str, Path]
    quiet: dict[str, list[Quiet]]


class AlikePlan(NamedTuple):
    """Says how a layout is walked, and for each leaf, by its id, what it is used for."""

    layout: HeaderLayout
    same: frozenset[int]
    numbers: Mapping[int, Path]
    quiet: Mapping[int, Sequence[Quiet]]
    inside: Mapping[int, _Inside]


def plan_alike(fast_path: FastPath, layout: HeaderLayout, wanted: FieldSelection) -> AlikePlan | None:
    """Plans the walk to fields; None if one of them cannot be read this way."""
    same: set[int] = set()
    numbers: dict[int, Path] = {}
    quiet: dict[int, list[Quiet]] = {}
    must = [path for path, _ in wanted.quiet]
    inner: dict[int, _Inside] = {}
    for path in {*wanted.same, *wanted.numbers, *must}:
        is_number = path in wanted.numbers
        for leaf, rest in _find_leaves(layout.steps, path):
            if rest or not is_plain(leaf):
                reader = fast_path.inner(leaf)
                if reader is None or len(rest) != 1:
                    return None
                if rest[0] in reader.ignored:
                    continue
                mine = inner.setdefault(id(leaf), _Inside(reader, [], {}, {}))
                if is_number:
                    mine.numbers[rest[0]] = path
                if path in wanted.same:
                    mine.same.append(rest[0])
                if path in must:
                    mine.quiet[rest[0]] = [each for each in wanted.quiet if each[0] == path]
                continue
            if is_number and not is_integer(leaf):
                return None
            if is_number:
                numbers[id(leaf)] = path
            if path in must:
                quiet[id(leaf)] = [each for each in wanted.quiet if each[0] == path]
            if path in wanted.same:
                same.add(id(leaf))
    return AlikePlan(layout, frozenset(same), numbers, quiet, inner)


def _find_leaves(steps: Sequence[Step], path: Path) -> Iterator[tuple[Leaf, Path]]:
    """Yields the leaves on a path or at its end, each with the remaining names; of a struct, all leaves in it."""
    for step, rest in follow_path(steps, path):
        element = step.element if isinstance(step, Many) else step
        yield from ((leaf, rest) for leaf in leaves_of((element,)))


class _Numbers(NamedTuple):
    """Holds numbers of a field: the message of each (ascending), and the number."""

    rows: Ints
    values: Ints


class _Field(NamedTuple):
    """Holds numbers of a field, and for each message where its own begin and how many it has."""

    values: Ints
    begin: Ints
    places: Ints


class Alike:
    """Groups n messages. group (int64): equal for messages that are alike, -1 for a message in no group.

    loud: by field and value, the messages (bool) with another value.
    """

    def __init__(
        self, plan: AlikePlan, source: Any, at: Ints, length: Ints, times: Ints, texts: dict[bytes, int]
    ) -> None:
        """Walks messages at positions of a source. texts: numbers of texts, shared by several walks."""
        collector = _Collector(plan, source, times, texts)
        good = walk_layout(plan.layout, source, at, length, collector)
        good &= (collector.count <= LONGEST) & ~collector.odd
        self.group = _number_lines(collector.make_lines(), collector.count, good)
        self.loud = collector.loud
        self._numbers = {path: _join(parts, len(at)) for path, parts in collector.numbers.items()}

    def read_numbers(self, path: Path, rows: Ints) -> Ints:
        """Returns the numbers of a field in m alike messages (at least one): int64, (numbers in a message, m)."""
        found = self._numbers.get(path)
        if found is None:
            return np.zeros((0, len(rows)), np.int64)
        places = found.begin[rows] + np.arange(found.places[rows[0]])[:, None]
        return found.values[places]


def _join(parts: Sequence[_Numbers], messages: int) -> _Field:
    rows = np.concatenate([_NONE, *(part.rows for part in parts)])
    values = np.concatenate([_NONE, *(part.values for part in parts)])
    if len(parts) > 1:
        values = values[np.argsort(rows, kind="stable")]
    count = np.bincount(rows, minlength=messages)
    return _Field(values, np.cumsum(count) - count, count)


class _Collector:
    """A LeafVisitor that collects lines and numbers. count: numbers in the line of each message."""

    def __init__(self, plan: AlikePlan, source: Any, times: Ints, texts: dict[bytes, int]) -> None:
        self._plan, self._source, self._times, self._texts = plan, source, times, texts
        messages = len(times)
        self._leaves: dict[int, int] = {}
        self._parts: list[tuple[Ints, Ints, Ints, int]] = []
        self.count = np.zeros(messages, np.int64)
        self.odd = np.zeros(messages, bool)
        inner = (quiet for each in plan.inside.values() for quiet in each.quiet.values())
        self.loud: dict[Quiet, Bools] = {
            each: np.zeros(messages, bool) for quiet in (*plan.quiet.values(), *inner) for each in quiet
        }
        self.numbers: dict[Path, list[_Numbers]] = {}

    def is_wanted(self, leaf: Leaf) -> bool:
        """Returns whether the plan wants a field for anything."""
        key, plan = id(leaf), self._plan
        return key in plan.same or key in plan.numbers or key in plan.quiet or key in plan.inside

    def visit_leaf(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> None:
        """Adds a field to the lines of messages, keeps its numbers and tests its values, according to the plan."""
        key, plan = id(leaf), self._plan
        if key in plan.inside:
            assert size is not None
            self._look_inside(leaf, plan.inside[key], rows, at, size)
            return
        if size is None:
            values = self._read_fixed(leaf, at)
        else:
            values = [self._read_texts(rows, at, size)]
        if key in plan.numbers:
            self.numbers.setdefault(plan.numbers[key], []).append(_Numbers(rows, values[0]))
        for quiet in plan.quiet.get(key, ()):
            self._test(quiet, rows, values[0])
        if key in plan.same:
            for each in values:
                self._add(self._number_leaf(key), rows, each)

    def _read_fixed(self, leaf: Leaf, at: Ints) -> list[Ints]:
        """Returns a field of fixed width as numbers: one for each eight bytes."""
        there = self._source.gather(at, leaf.primitive.size)
        primitive = leaf.primitive
        if isinstance(primitive, FixedWidth) and is_integer(leaf):
            return [decode_number(there, primitive.code)]
        padded = np.zeros((len(at), -(-there.shape[1] // 8) * 8), np.uint8)
        padded[:, : there.shape[1]] = there
        return list(padded.view(np.int64).T)

    def _read_texts(self, rows: Ints, at: Ints, size: Ints) -> Ints:
        """Returns the numbers of texts; _NULL for null."""
        known = self._texts
        found = self._source.read_many(at, np.maximum(size, 0))
        numbers = [known.get(each) for each in found]
        if None in numbers:
            numbers = [_number_text(known, each) for each in found]
        values = np.array(numbers, np.int64)
        values[size < 0] = _NULL
        self.odd[rows[values == _INVALID]] = True
        return values

    def _look_inside(self, leaf: Leaf, wanted: _Inside, rows: Ints, at: Ints, size: Ints) -> None:
        found = wanted.reader.read(self._source, at, size)
        self.odd[rows[found.odd]] = True
        self._add(self._number_leaf(id(leaf)), rows, np.where(size < 0, -1, found.counts))
        mine = np.repeat(rows, found.counts)
        for name in wanted.same:
            self._add(self._number_leaf((id(leaf), name)), mine, found.columns[name])
        for name, quiet in wanted.quiet.items():
            for each in quiet:
                self._test(each, mine, found.columns[name])
        for name, path in wanted.numbers.items():
            self.numbers.setdefault(path, []).append(_Numbers(mine, found.columns[name]))

    def _test(self, quiet: Quiet, rows: Ints, numbers: Ints) -> None:
        must = quiet[1]
        passed = must(numbers, self._times[rows]) if callable(must) else numbers == (_NULL if must is None else must)
        self.loud[quiet][rows[~passed]] = True

    def _number_leaf(self, key: Any) -> int:
        return self._leaves.setdefault(key, len(self._leaves))

    def _add(self, leaf: int, rows: Ints, values: Ints) -> None:
        """Adds numbers to the lines of messages; those of one message are adjacent."""
        place = self.count[rows]
        if len(rows) > 1 and bool((rows[1:] == rows[:-1]).any()):
            begin, end = find_runs(rows)
            place += rank_in_runs(end - begin)
            self.count[rows[begin]] += end - begin
        else:
            self.count[rows] += 1
        self._parts.append((rows, place, values, leaf))

    def make_lines(self) -> tuple[Ints, Ints, Ints]:
        """Returns where the line of each message begins, and all lines: their numbers, and the fields of these."""
        begin = np.cumsum(self.count) - self.count
        total = int(self.count.sum())
        values, leaves = np.zeros(total, np.int64), np.zeros(total, np.int64)
        for rows, place, there, leaf in self._parts:
            to = begin[rows] + place
            values[to] = there
            leaves[to] = leaf
        return begin, values, leaves


_NULL, _INVALID = -1, -2
"""Stand for null, and for text that is not UTF-8, among the numbers of texts."""


def _number_text(known: dict[bytes, int], text: bytes) -> int:
    """Returns the number of a text in a table, and adds it if needed; _INVALID for text that is not UTF-8."""
    found = known.get(text)
    if found is None:
        try:
            text.decode()
        except UnicodeDecodeError:
            found = known[text] = _INVALID
        else:
            found = known[text] = len(known)
    return found


def _number_lines(lines: tuple[Ints, Ints, Ints], count: Ints, good: Bools) -> Ints:
    """Returns a group number for each message, equal for equal lines; -1 for messages that are not good."""
    begin, values, leaves = lines
    group = np.full(len(count), -1, np.int64)
    groups = 0
    for length in list_distinct(count[good]).tolist():
        rows = np.flatnonzero(good & (count == length))
        places = begin[rows][:, None] + np.arange(length)
        numbers, fields = values[places], leaves[places]
        hashes = ((numbers ^ fields << 48) * _FACTORS[:length]).sum(axis=1)
        _, first, mine = np.unique(hashes, return_index=True, return_inverse=True)
        equal = ((numbers == numbers[first[mine]]) & (fields == fields[first[mine]])).all(axis=1)
        group[rows[equal]] = mine[equal] + groups
        groups += len(first)
    return group
