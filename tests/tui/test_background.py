"""Wishes are counted until they are done, replaced, forgotten, or their thread has no more to do."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tui.background import PENDING_TASKS, BackgroundWorker, Call, PendingTasks

PATIENCE = 30.0


def test_only_what_began_before_is_waited_for() -> None:
    under_way = PendingTasks()
    assert under_way.all_since(0)
    first, second = under_way.begin(), under_way.begin()
    now = under_way.now
    third = under_way.begin()
    assert [under_way.all_since(number) for number in (first, second, now)] == [True, False, False]
    under_way.end(first)
    assert not under_way.all_since(now)
    under_way.end(second)
    assert under_way.all_since(now)
    under_way.end(third)
    under_way.end(third)
    assert under_way.all_since(under_way.now)


def replaced(worker: BackgroundWorker) -> None:
    worker.ask("kind", bool, str)


def forgotten(worker: BackgroundWorker) -> None:
    worker.forget("kind")


def stopped(worker: BackgroundWorker) -> None:
    worker.stop()


def done(worker: BackgroundWorker) -> None:
    worker.start()


@pytest.mark.parametrize("end", [replaced, forgotten, stopped, done])
def test_a_wish_ends_in_any_way(end: Callable[[BackgroundWorker], None]) -> None:
    posted = threading.Event()

    def post(_: Call) -> None:
        posted.set()

    worker = BackgroundWorker(post)
    worker.ask("kind", fails if end is done else bool, str)
    now = PENDING_TASKS.now
    assert not PENDING_TASKS.all_since(now)
    end(worker)
    if end is done:
        assert posted.wait(PATIENCE)
        worker.stop()
        worker.join(PATIENCE)
    assert PENDING_TASKS.all_since(now)
    worker.stop()
    worker.ask("kind", bool, str)  # nobody does it any more
    assert PENDING_TASKS.all_since(PENDING_TASKS.now)


def fails() -> bool:
    raise ValueError("a defect")
