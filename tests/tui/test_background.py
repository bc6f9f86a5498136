"""Wishes are counted until they are done, replaced, forgotten, or their thread has no more to do."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tui.background import PENDING_TASKS, BackgroundWorker, Call, PendingTasks

PATIENCE = 60.0


def test_only_what_began_before_is_waited_for() -> None:
    under_way = PendingTasks()
    assert under_way.is_done_before(0)
    first, second = under_way.begin_task(), under_way.begin_task()
    now = under_way.next_number
    third = under_way.begin_task()
    assert [under_way.is_done_before(number) for number in (first, second, now)] == [True, False, False]
    under_way.end_task(first)
    assert not under_way.is_done_before(now)
    under_way.end_task(second)
    assert under_way.is_done_before(now)
    under_way.end_task(third)
    under_way.end_task(third)
    assert under_way.is_done_before(under_way.next_number)


def replaced(worker: BackgroundWorker) -> None:
    worker.submit("kind", bool, str)


def forgotten(worker: BackgroundWorker) -> None:
    worker.cancel("kind")


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
    worker.submit("kind", fails if end is done else bool, str)
    now = PENDING_TASKS.next_number
    assert not PENDING_TASKS.is_done_before(now)
    end(worker)
    if end is done:
        assert posted.wait(PATIENCE)
        worker.stop()
        worker.join(PATIENCE)
    assert PENDING_TASKS.is_done_before(now)
    worker.stop()
    worker.submit("kind", bool, str)  # nobody does it any more
    assert PENDING_TASKS.is_done_before(PENDING_TASKS.next_number)


def fails() -> bool:
    raise ValueError("a defect")
