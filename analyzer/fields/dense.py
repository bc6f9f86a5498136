"""Values of rows as columns of numbers: one value or none in each row, and no Python object for any of them.

Theory. What the index tells is compared a column at a time. A text, a flag or an address is one of few: it is judged
once, and the rows take its verdict by number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from analyzer.columns import Array, Bools, Ints


class Numbers(NamedTuple):
    """An integer in each row that `null` does not mark."""

    numbers: Array
    null: Bools | None = None


class Choices:
    """What each of a few small numbers stands for; None is no value. Of equal `source` they stand for the same."""

    def __init__(self, value: Callable[[int], Any], source: object = None) -> None:
        self.value, self.source = value, source

    def verdicts(self, judge: Callable[[Any], bool]) -> Verdicts:
        """What a judge says of each of them."""
        return Verdicts(lambda number: _judged(self.value(number), judge), self.source)


class Chosen(NamedTuple):
    """One of few values in each row, by number."""

    choices: Choices
    numbers: Ints

    def values(self) -> list[Any]:
        """The values of all rows."""
        known = {number: self.choices.value(number) for number in distinct(self.numbers)}
        return [known[number] for number in self.numbers.tolist()]


Dense: TypeAlias = Numbers | Chosen

_NEW, _NO, _YES = 0, 1, 2


class Verdicts:
    """Yes or no for each of a few small numbers, each asked for once."""

    def __init__(self, ask: Callable[[int], bool], source: object) -> None:
        self._ask, self.source = ask, source
        self._known = np.zeros(0, np.int8)

    def of(self, numbers: Ints) -> Bools:
        """The verdict on each of many."""
        most = int(numbers.max(initial=-1)) + 1
        if most > len(self._known):
            self._known = np.concatenate((self._known, np.zeros(most, np.int8)))
        found = self._known[numbers]
        if not found.all():
            for number in distinct(numbers[found == _NEW]):
                self._known[number] = _YES if self._ask(number) else _NO
            found = self._known[numbers]
        said: Bools = found == _YES
        return said


def distinct(numbers: Ints) -> list[int]:
    """Each of several small numbers once, in order."""
    found: list[int] = np.flatnonzero(np.bincount(numbers)).tolist() if len(numbers) else []
    return found


def _judged(value: Any, judge: Callable[[Any], bool]) -> bool:
    return value is not None and judge(value)
