"""A checked filter over many rows: which of them it keeps.

Theory. A filter becomes functions from row numbers to yes or no. What the index tells is compared a column at a time.
Of parts that are joined the cheap ones are asked first, and a part is asked only of the rows that the ones before it
left open: so messages are read only where columns do not decide, and of each only what is asked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, find_runs
from analyzer.query.fields.dense import Dense, Numbers, Verdicts
from analyzer.query.fields.gathered import Values, chosen, listed
from analyzer.query.fields.path import BodyField, FieldPath, Key
from analyzer.query.fields.reading import Error, Reading
from analyzer.query.filter.checked import Both, Checked, Step, Test
from analyzer.query.filter.nodes import Cut
from analyzer.query.filter.operators import OPERATORS, Against, applied, is_comparable

Mask: TypeAlias = Callable[[Ints], Bools]
Judge: TypeAlias = Callable[[Any], bool]


def fields_of(checked: Checked) -> list[FieldPath]:
    """All fields that a filter asks for."""
    if isinstance(checked, Test):
        return [checked.field]
    return [field for part in checked.parts for field in fields_of(part)]


def cost(checked: Checked) -> int:
    """What a part costs beside others: 0 columns, 1 some fields of messages, 2 what may be whole messages."""
    if isinstance(checked, Both):
        return max(map(cost, checked.parts))
    if checked.field.is_cheap:
        return 0
    return 2 if checked.field.is_large else 1


def bound(checked: Checked, reading: Reading) -> Mask:
    """The function of a filter for the rows of one reading."""
    if isinstance(checked, Test):
        return _Bound(checked, reading).mask
    parts = sorted(checked.parts, key=cost)
    cheap = [bound(part, reading) for part in parts if cost(part) == 0]
    dear = [bound(part, reading) for part in parts if cost(part) > 0]
    if checked.word == "not":
        (only,) = cheap or dear
        return lambda rows: ~only(rows)
    if checked.word == "xor":
        return lambda rows: _folded(np.logical_xor, (*cheap, *dear), rows)
    return lambda rows: _in_turn(cheap, dear, rows, until=checked.word == "or")


def _in_turn(cheap: Sequence[Mask], dear: Sequence[Mask], rows: Ints, until: bool) -> Bools:
    """Asks cheap parts of all rows, dear ones of those not decided: decided is who got `until` from one of them."""
    join = np.logical_or if until else np.logical_and
    found = _folded(join, cheap, rows) if cheap else np.full(len(rows), not until)
    for part in dear:
        left = np.flatnonzero(found != until)
        if not len(left):
            break
        found[left] = part(rows[left])
    return found


def _folded(join: np.ufunc, parts: Sequence[Mask], rows: Ints) -> Bools:
    """All parts together, two columns in memory however many there are."""
    found = parts[0](rows).copy()
    for part in parts[1:]:
        join(found, part(rows), out=found)
    return found


class _Bound:
    """One comparison, for one reading. Keeps its verdicts on what the index has few of."""

    def __init__(self, test: Test, reading: Reading) -> None:
        self._test, self._reading = test, reading
        self._judge = _judge(test)
        self._verdicts: dict[int, Verdicts] = {}
        self._known: dict[type, _Known] = {}

    def mask(self, rows: Ints) -> Bools:
        """Which of `rows` fulfil it."""
        test, reading = self._test, self._reading
        if isinstance(test.field.origin, BodyField) and not test.field.origin.path:
            return reading.may_have(test.field, rows)
        if test.field.is_cheap and not test.steps:
            columns = reading.columns(test.field, rows)
            if columns is not None:
                said = self._over(columns)
                return said if isinstance(test.field.origin, Key) else said & reading.may_have(test.field, rows)
        return self._by_value(rows)

    def _over(self, columns: Sequence[Dense]) -> Bools:
        """A row has one value in each column."""
        said = [self._of_column(place, column) for place, column in enumerate(columns)]
        if len(said) == 1:
            return said[0]
        found: Bools = (np.logical_and if self._test.every else np.logical_or).reduce(said)
        return found

    def _of_column(self, place: int, column: Dense) -> Bools:
        if isinstance(column, Numbers):
            numbers, null = column
            said = _compared(self._test, numbers)
            return said if null is None else said & ~null
        verdicts = self._verdicts.get(place)
        if verdicts is None or verdicts.source is not column.choices.source:
            verdicts = self._verdicts[place] = column.choices.verdicts(self._judge)
        return verdicts.of(column.numbers)

    def _by_value(self, rows: Ints) -> Bools:
        test = self._test
        found = self._reading.found(test.field, rows)
        said = np.zeros(len(rows), bool)
        if test.operator is None and not test.steps:
            said[found.rows] = True
            return said
        found = _without_empty(found)
        if test.steps:
            found = _stepped(test.steps, found)
        if isinstance(found.values, list):
            verdicts = self._judged(found.values)
        else:
            verdicts = _compared(test, found.values)
        # Whoever has a value without a yes is out where every value must have one.
        said[found.rows[verdicts]] = True
        if test.every:
            said[found.rows[~verdicts]] = False
        return said

    def _judged(self, values: list[Any]) -> Bools:
        kinds = set(map(type, values))
        if kinds in ({str}, {int}):
            known = self._known.setdefault(next(iter(kinds)), _Known(self._judge))
            return np.fromiter(map(known.__getitem__, values), bool, len(values))
        return np.fromiter(map(self._judge, values), bool, len(values))


_MOST_KNOWN = 100_000


class _Known(dict[Any, bool]):
    """A judge's verdicts on values of one type, each asked for once: most come again and again."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self._judge = judge

    def __missing__(self, value: Any) -> bool:
        said = self._judge(value)
        if len(self) < _MOST_KNOWN:
            self[value] = said
        return said


def _judge(test: Test) -> Judge:
    if test.operator is None:
        return lambda value: True
    if test.operator == "in":
        return _in_set(test)
    judge = OPERATORS[test.operator].judge
    (against,) = test.wanted
    assert isinstance(against, Against)
    return lambda value: judge(value, against)


def _in_set(test: Test) -> Judge:
    """A text is looked up, however many there are in the set; other values are compared one by one."""
    plain = [each for each in test.wanted if isinstance(each, Against) and each.network is None]
    texts = frozenset(text for each in plain for text in (each.text, *each.labels))
    others = [each for each in test.wanted if not isinstance(each, Against) or each.network is not None]

    def judge(value: Any) -> bool:
        found = value in texts or _is_in(value, others) if type(value) is str else _is_in(value, test.wanted)
        return is_comparable(value) and found is not test.negated

    return judge


def _is_in(value: Any, wanted: Sequence[Against | tuple[Against, Against]]) -> bool:
    equal, least, most = (OPERATORS[name].judge for name in ("eq", "ge", "le"))
    return any(
        equal(value, each) if isinstance(each, Against) else least(value, each[0]) and most(value, each[1])
        for each in wanted
    )


def _without_empty(found: Values) -> Values:
    """An empty list is there, and has no value."""
    if not isinstance(found.values, list) or [] not in found.values:
        return found
    return chosen(found, np.flatnonzero([value != [] for value in found.values]))


def _stepped(steps: Sequence[Step], found: Values) -> Values:
    """What functions and slices make of the values of each row."""
    rows: list[int] = []
    made: list[Any] = []
    values = [value.name if isinstance(value, Error) else value for value in listed(found.values)]
    for begin, end in zip(*(edge.tolist() for edge in find_runs(found.rows)), strict=True):
        some = values[begin:end]
        for step in steps:
            some = _step(step, some)
        rows += [int(found.rows[begin])] * len(some)
        made += some
    return Values(np.array(rows, np.int64), made)


def _step(step: Step, values: list[Any]) -> list[Any]:
    if step.function is not None:
        return applied(step.function, values)
    return [part for value in values if (part := _cut(value, step.cuts)) is not None]


def _cut(value: Any, cuts: Sequence[Cut]) -> Any:
    """The parts of a text or of bytes; None where one of them is not wholly there."""
    value = getattr(value, "data", value)  # an Embedded is its bytes
    if not isinstance(value, str | bytes):
        return None
    parts = []
    for cut in cuts:
        begin = cut.start if cut.start >= 0 else len(value) + cut.start
        stop = len(value) if cut.length is None else begin + cut.length
        if begin < 0 or stop > len(value) or begin > len(value):
            return None
        parts.append(value[begin:stop])
    return value[:0].join(parts)  # type: ignore[arg-type]


# ---- columns of numbers


def _compared(test: Test, numbers: Array) -> Bools:
    """The same verdicts for a column of integers."""
    if test.operator is None:
        return np.ones(len(numbers), bool)
    if test.field.label is not None or test.operator not in _BY_COLUMN:
        return _each_once(_judge(test), numbers)
    if test.operator == "in":
        said = np.zeros(len(numbers), bool)
        for each in test.wanted:
            said |= (
                _beside("eq", numbers, each)
                if isinstance(each, Against)
                else _beside("ge", numbers, each[0]) & _beside("le", numbers, each[1])
            )
        return ~said if test.negated else said
    (against,) = test.wanted
    assert isinstance(against, Against)
    name = OPERATORS[test.operator].compares
    assert name is not None
    return _beside(name, numbers, against)


_BY_COLUMN = frozenset({"in", *(name for name, each in OPERATORS.items() if each.compares is not None)})
"""Operators that compare a column of numbers at once, where numbers have no names."""


def _each_once(judge: Judge, numbers: Array) -> Bools:
    each, back = np.unique(numbers, return_inverse=True)
    said: Bools = np.fromiter(map(judge, each.tolist()), bool, len(each))[back]
    return said


_ROUNDED = {"lt": ceil, "ge": ceil, "le": floor, "gt": floor}


def _beside(name: str, numbers: Array, against: Against) -> Bools:
    """Integers beside an exact number: no integer lies between it and what it is rounded to."""
    wanted = against.number
    if wanted is None or (wanted.denominator != 1 and name in ("eq", "ne")):
        return np.full(len(numbers), name == "ne")
    number = int(wanted) if wanted.denominator == 1 else _ROUNDED[name](wanted)
    bounds = np.iinfo(numbers.dtype)
    if not bounds.min <= number <= bounds.max:
        return np.full(len(numbers), getattr(operator, name)(0, number))
    said: Bools = getattr(operator, name)(numbers, number)
    return said
