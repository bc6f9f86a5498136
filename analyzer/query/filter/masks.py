"""Evaluates a checked filter over many rows.

Theory. A filter becomes functions from row numbers to booleans. Values in the index are compared column by column. In
an `and` or `or`, the cheap parts are evaluated first, and each further part only for the rows that are still undecided.
So messages are read only where columns do not decide, and only the fields that are needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, find_runs
from analyzer.decode.rows import split_rows
from analyzer.query.fields.dense import Dense, NumberColumn, VerdictCache
from analyzer.query.fields.gathered import FieldValues, make_list, pick_values
from analyzer.query.fields.path import BodyField, FieldPath, RowKey
from analyzer.query.fields.reading import FieldReader, ReportedError
from analyzer.query.filter.checked import Checked, Combination, FieldTest, ValueStep
from analyzer.query.filter.nodes import SliceRange
from analyzer.query.filter.operators import OPERATORS, Operand, apply_function, is_comparable
from analyzer.query.text_scan import ScanPlan, TextScan, plan_scan

FindMask: TypeAlias = Callable[[Ints], Bools]
Judge: TypeAlias = Callable[[Any], bool]


def list_fields(checked: Checked) -> list[FieldPath]:
    """Returns all fields that a part of a filter reads."""
    if isinstance(checked, FieldTest):
        return [checked.field]
    return [field for part in checked.parts for field in list_fields(part)]


def estimate_cost(checked: Checked) -> int:
    """Returns the cost of a part: 0 columns, 1 some fields of messages, 2 perhaps whole messages."""
    if isinstance(checked, Combination):
        return max(map(estimate_cost, checked.parts))
    if checked.field.is_cheap:
        return 0
    return 2 if checked.field.is_large else 1


def bind(checked: Checked, reading: FieldReader) -> FindMask:
    """Binds a filter to the rows of one reader; returns a function that evaluates it."""
    if isinstance(checked, FieldTest):
        return _Bound(checked, reading).find_mask
    parts = sorted(checked.parts, key=estimate_cost)
    cheap = [bind(part, reading) for part in parts if estimate_cost(part) == 0]
    dear = [bind(part, reading) for part in parts if estimate_cost(part) > 0]
    if checked.word == "not":
        (only,) = cheap or dear
        return lambda rows: ~only(rows)
    if checked.word == "xor":
        return lambda rows: _fold_masks(np.logical_xor, (*cheap, *dear), rows)
    return lambda rows: _ask_in_turn(cheap, dear, rows, until=checked.word == "or")


def _ask_in_turn(cheap: Sequence[FindMask], dear: Sequence[FindMask], rows: Ints, until: bool) -> Bools:
    """Evaluates cheap parts for all rows, and others for undecided rows only. `until`: the result that decides."""
    join = np.logical_or if until else np.logical_and
    found = _fold_masks(join, cheap, rows) if cheap else np.full(len(rows), not until)
    for part in dear:
        left = np.flatnonzero(found != until)
        if not len(left):
            break
        found[left] = part(rows[left])
    return found


def _fold_masks(join: np.ufunc, parts: Sequence[FindMask], rows: Ints) -> Bools:
    """Combines all parts, with two columns in memory at a time."""
    found = parts[0](rows).copy()
    for part in parts[1:]:
        join(found, part(rows), out=found)
    return found


class _Bound:
    """One comparison, bound to a reader. Caches verdicts on values of which the index has few."""

    def __init__(self, test: FieldTest, reading: FieldReader) -> None:
        self._test, self._reading = test, reading
        self._judge = _make_judge(test)
        self._verdicts: dict[int, VerdictCache] = {}
        self._known: dict[type, _Known] = {}
        planned = _plan_scan(test)
        self._scan = None if planned is None else TextScan(planned, reading.reader)

    def find_mask(self, rows: Ints) -> Bools:
        """Returns which of `rows` match."""
        test, reading = self._test, self._reading
        if isinstance(test.field.origin, BodyField) and not test.field.origin.path:
            return reading.find_candidates(test.field, rows)
        if test.field.is_cheap and not test.steps:
            columns = reading.read_columns(test.field, rows)
            if columns is not None:
                matches = self._judge_columns(columns)
                return (
                    matches
                    if isinstance(test.field.origin, RowKey)
                    else matches & reading.find_candidates(test.field, rows)
                )
        if self._scan is None:
            return self._judge_rows(rows)
        found, possible = self._scan.find_matches(rows)
        left, judged = np.flatnonzero(possible), 0
        for part in split_rows(self._reading.reader.session, rows[left]):
            found[left[judged : judged + len(part)]] = self._judge_rows(part)
            judged += len(part)
            if judged < len(left):
                self._reading.forget()
        return found

    def _judge_columns(self, columns: Sequence[Dense]) -> Bools:
        """Judges columns; a row has one value in each column."""
        matches = [self._judge_column(place, column) for place, column in enumerate(columns)]
        if len(matches) == 1:
            return matches[0]
        found: Bools = (np.logical_and if self._test.every else np.logical_or).reduce(matches)
        return found

    def _judge_column(self, place: int, column: Dense) -> Bools:
        if isinstance(column, NumberColumn):
            numbers, null = column
            matches = _compare_numbers(self._test, numbers)
            return matches if null is None else matches & ~null
        verdicts = self._verdicts.get(place)
        if verdicts is None or verdicts.source is not column.choices.source:
            verdicts = self._verdicts[place] = column.choices.judge_choices(self._judge)
        return verdicts.judge_numbers(column.numbers)

    def _judge_rows(self, rows: Ints) -> Bools:
        test = self._test
        found = self._reading.read_occurrences(test.field, rows)
        matches = np.zeros(len(rows), bool)
        if test.operator is None and not test.steps:
            matches[found.rows] = True
            return matches
        found = _drop_empty(found)
        if test.steps:
            found = _apply_steps(test.steps, found)
        if isinstance(found.values, list):
            verdicts = self._judge_values(found.values)
        else:
            verdicts = _compare_numbers(test, found.values)
        # If every value must match, one value that does not match excludes the row.
        matches[found.rows[verdicts]] = True
        if test.every:
            matches[found.rows[~verdicts]] = False
        return matches

    def _judge_values(self, values: list[Any]) -> Bools:
        kinds = set(map(type, values))
        if kinds in ({str}, {int}):
            known = self._known.setdefault(next(iter(kinds)), _Known(self._judge))
            return np.fromiter(map(known.__getitem__, values), bool, len(values))
        return np.fromiter(map(self._judge, values), bool, len(values))


def can_scan(checked: Checked) -> bool:
    """Returns whether a part of a filter reads whole messages only for texts that a scan can find."""
    if isinstance(checked, FieldTest):
        return not checked.field.is_large or _plan_scan(checked) is not None
    return all(map(can_scan, checked.parts))


def _plan_scan(test: FieldTest) -> ScanPlan | None:
    """Plans a scan for a test whether the field `text` contains a text; None for any other test."""
    origin, functions = test.field.origin, [step.function for step in test.steps]
    if not isinstance(origin, RowKey) or origin.name != "text" or test.every or functions not in ([], ["lower"]):
        return None
    if test.operator != "contains" or not isinstance(test.wanted[0], Operand):
        return None
    planned = plan_scan(test.wanted[0].text)
    return planned if planned is None or functions else planned._replace(is_whole=False)


_MOST_KNOWN = 100_000


class _Known(dict[Any, bool]):
    """Caches a judge's verdicts on values of one type, because most values repeat."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self._judge = judge

    def __missing__(self, value: Any) -> bool:
        matches = self._judge(value)
        if len(self) < _MOST_KNOWN:
            self[value] = matches
        return matches


def _make_judge(test: FieldTest) -> Judge:
    if test.operator is None:
        return lambda value: True
    if test.operator == "in":
        return _make_set_judge(test)
    judge = OPERATORS[test.operator].judge
    (against,) = test.wanted
    assert isinstance(against, Operand)
    return lambda value: judge(value, against)


def _make_set_judge(test: FieldTest) -> Judge:
    """Returns a judge that looks texts up, however large the set is, and compares other values one by one."""
    plain = [each for each in test.wanted if isinstance(each, Operand) and each.network is None]
    texts = frozenset(text for each in plain for text in (each.text, *each.labels))
    others = [each for each in test.wanted if not isinstance(each, Operand) or each.network is not None]

    def judge(value: Any) -> bool:
        found = value in texts or _is_in(value, others) if type(value) is str else _is_in(value, test.wanted)
        return is_comparable(value) and found is not test.negated

    return judge


def _is_in(value: Any, wanted: Sequence[Operand | tuple[Operand, Operand]]) -> bool:
    equal, least, most = (OPERATORS[name].judge for name in ("eq", "ge", "le"))
    return any(
        equal(value, each) if isinstance(each, Operand) else least(value, each[0]) and most(value, each[1])
        for each in wanted
    )


def _drop_empty(found: FieldValues) -> FieldValues:
    """Removes empty lists, which are present but have no value."""
    if not isinstance(found.values, list) or [] not in found.values:
        return found
    return pick_values(found, np.flatnonzero([value != [] for value in found.values]))


def _apply_steps(steps: Sequence[ValueStep], found: FieldValues) -> FieldValues:
    """Applies functions and slices to the values of each row."""
    rows: list[int] = []
    made: list[Any] = []
    values = [value.name if isinstance(value, ReportedError) else value for value in make_list(found.values)]
    for begin, end in zip(*(edge.tolist() for edge in find_runs(found.rows)), strict=True):
        some = values[begin:end]
        for step in steps:
            some = _apply_step(step, some)
        rows += [int(found.rows[begin])] * len(some)
        made += some
    return FieldValues(np.array(rows, np.int64), made)


def _apply_step(step: ValueStep, values: list[Any]) -> list[Any]:
    if step.function is not None:
        return apply_function(step.function, values)
    return [part for value in values if (part := _cut_value(value, step.cuts)) is not None]


def _cut_value(value: Any, cuts: Sequence[SliceRange]) -> Any:
    """Returns the parts of a text or of bytes; None if one of them is not complete."""
    value = getattr(value, "data", value)  # an EmbeddedValue is compared by its bytes
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


def _compare_numbers(test: FieldTest, numbers: Array) -> Bools:
    """Returns the same verdicts for a column of integers."""
    if test.operator is None:
        return np.ones(len(numbers), bool)
    if test.field.label is not None or test.operator not in _BY_COLUMN:
        return _judge_each_once(_make_judge(test), numbers)
    if test.operator == "in":
        matches = np.zeros(len(numbers), bool)
        for each in test.wanted:
            matches |= (
                _compare_with("eq", numbers, each)
                if isinstance(each, Operand)
                else _compare_with("ge", numbers, each[0]) & _compare_with("le", numbers, each[1])
            )
        return ~matches if test.negated else matches
    (against,) = test.wanted
    assert isinstance(against, Operand)
    name = OPERATORS[test.operator].compares
    assert name is not None
    return _compare_with(name, numbers, against)


_BY_COLUMN = frozenset({"in", *(name for name, each in OPERATORS.items() if each.compares is not None)})
"""Operators that compare a whole column of numbers at once, unless the numbers have names."""


def _judge_each_once(judge: Judge, numbers: Array) -> Bools:
    each, back = np.unique(numbers, return_inverse=True)
    return np.fromiter(map(judge, each.tolist()), bool, len(each))[back]


_ROUNDED = {"lt": ceil, "ge": ceil, "le": floor, "gt": floor}


def _compare_with(name: str, numbers: Array, against: Operand) -> Bools:
    """Compares integers with an exact number: no integer lies between it and its rounded value."""
    wanted = against.number
    if wanted is None or (wanted.denominator != 1 and name in ("eq", "ne")):
        return np.full(len(numbers), name == "ne")
    number = int(wanted) if wanted.denominator == 1 else _ROUNDED[name](wanted)
    bounds = np.iinfo(numbers.dtype)
    if not bounds.min <= number <= bounds.max:
        return np.full(len(numbers), getattr(operator, name)(0, number))
    matches: Bools = getattr(operator, name)(numbers, number)
    return matches
