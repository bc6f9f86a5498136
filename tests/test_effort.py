"""That the bounds of other tests would fail: too much work, and work without end, whatever catches exceptions."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import count

import pytest

from tests.effort import steps, within, within_steps


def each(items: int) -> int:
    total = 0
    for number in range(items):
        total += number
    return total


def each_with_each(items: int) -> None:
    for _ in range(items):
        each(items)


def endless() -> None:
    for _ in count():
        pass


def deaf() -> None:
    """A reader of damaged bytes that takes any exception for damage."""
    for _ in count():
        try:
            each(100)
        except Exception:
            continue


@pytest.mark.parametrize("work", [endless, deaf])
@pytest.mark.parametrize("bound", [lambda: within(0.05, "it all"), lambda: within_steps(1000, "it all")])
def test_work_without_end_fails(bound: Callable[[], AbstractContextManager[None]], work: Callable[[], None]) -> None:
    with pytest.raises(pytest.fail.Exception, match="it all takes more than"), bound():
        work()
    assert gc.isenabled()


def test_work_that_is_one_call_of_c_fails_behind_it() -> None:
    with pytest.raises(pytest.fail.Exception, match="more than"), within(0.001):
        sum(range(10_000_000))


def test_steps_tell_quadratic_from_linear() -> None:
    few, many = (steps(partial(each, items)) for items in (100, 400))
    assert many / few == pytest.approx(4, rel=0.1)
    few, many = (steps(partial(each_with_each, items)) for items in (10, 40))
    assert many / few > 10
    with within_steps(2 * few):
        each_with_each(10)
