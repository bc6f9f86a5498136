"""Holds values of rows as columns of numbers: at most one value in each row, without Python objects.

Theory. Values in the index are compared column by column. A text, a flag or an address is one of few choices: each
choice is judged once, and the rows look up the verdict by its number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from analyzer.columns.arrays import Array, Bools


class NumberColumn(NamedTuple):
    """Holds an integer for each row; `null` marks rows without a value."""

    numbers: Array
    null: Bools | None = None

    def list_values(self) -> list[Any]:
        """Returns the values of all rows."""
        numbers: list[Any] = self.numbers.tolist()
        if self.null is None:
            return numbers
        return [None if null else number for number, null in zip(numbers, self.null.tolist(), strict=True)]


class ChoiceTable:
    """Gives the meaning of each of a few small numbers; None: no value. Tables of equal `source` are equal."""

    def __init__(self, value: Callable[[int], Any], source: object = None) -> None:
        self.value, self.source = value, source

    def judge_choices(self, judge: Callable[[Any], bool]) -> VerdictCache:
        """Returns the verdict of a judge for each choice."""
        return VerdictCache(lambda number: (value := self.value(number)) is not None and judge(value), self.source)


class ChoiceColumn(NamedTuple):
    """Holds the number of a choice for each row; a negative number means no value."""

    choices: ChoiceTable
    numbers: Array

    def list_values(self) -> list[Any]:
        """Returns the values of all rows."""
        numbers = self.numbers.tolist()
        known = {number: self.choices.value(number) if number >= 0 else None for number in set(numbers)}
        return [known[number] for number in numbers]


Dense: TypeAlias = NumberColumn | ChoiceColumn

_FEW = 3
"""Number of choices up to which comparing is faster than a lookup."""


class VerdictCache:
    """Holds yes or no for each of a few small numbers, and computes each only once."""

    def __init__(self, ask: Callable[[int], bool], source: object) -> None:
        self._ask, self.source = ask, source
        self._known = np.zeros(0, bool)
        self._yes: list[int] = []

    def judge_numbers(self, numbers: Array) -> Bools:
        """Returns the verdict for each number; false for negative ones."""
        most = int(numbers.max(initial=-1)) + 1
        if most > len(self._known):
            new = range(len(self._known), most)
            answers = np.fromiter(map(self._ask, new), bool, len(new))
            self._known = np.concatenate((self._known, answers))
            self._yes = np.flatnonzero(self._known).tolist()
        found: Bools
        if len(self._yes) <= _FEW:
            found = np.zeros(len(numbers), bool)
            for number in self._yes:
                found |= numbers == number
            return found
        if int(numbers.min(initial=0)) >= 0:
            return self._known.take(numbers)
        found = self._known.take(np.maximum(numbers, 0))
        return found & (numbers >= 0)
