"""A worker thread for work that takes longer than the time between two keys, such as decoding long messages.

Theory. Only the newest task of each kind counts: if you scroll over ten long messages, you want to see the last one.
So the worker has one slot for each kind, and a new task replaces one that has not begun.

A task is about rows that existed when it was submitted, and in a live capture the oldest rows are evicted. So all tasks
of the program are numbered and counted until they are done or dropped. Rows are evicted when no task is left that was
submitted before the eviction was announced; later tasks do not delay it, because they are about rows that stay.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

_Result = TypeVar("_Result")

Call = Callable[[], object]


class BackgroundWorker(threading.Thread):
    """Runs tasks in a daemon thread, and posts their results to the thread that changes widgets.

    post: calls a function there, such as `call_later` of a screen.
    """

    def __init__(self, post: Callable[[Call], object]) -> None:
        super().__init__(name="background", daemon=True)
        self._post = post
        self._tasks: dict[str, tuple[int, Callable[[], Call]]] = {}
        self._changed = threading.Condition()
        self._over = False

    def submit(self, kind: str, work: Callable[[], _Result], then: Callable[[_Result], object]) -> None:
        """Submits a task, which replaces a task of the same kind that has not begun.

        `then` gets the result in the thread that changes widgets; an error of the task is raised there.
        """
        with self._changed:
            self._drop(kind)
            if not self._over:
                self._tasks[kind] = PENDING_TASKS.begin_task(), lambda: partial(then, work())
                self._changed.notify()

    def post(self, call: Call) -> None:
        """Calls a function in the thread that changes widgets; for a task that is running."""
        with contextlib.suppress(RuntimeError):  # the program has ended since
            self._post(call)

    def cancel(self, kind: str) -> None:
        """Drops the task of a kind that has not begun."""
        with self._changed:
            self._drop(kind)

    def _drop(self, kind: str) -> None:
        wish = self._tasks.pop(kind, None)
        if wish is not None:
            PENDING_TASKS.end_task(wish[0])

    def stop(self) -> None:
        """Drops all tasks and ends the thread after the running task; does not wait for it."""
        with self._changed:
            self._over = True
            for kind in list(self._tasks):
                self._drop(kind)
            self._changed.notify()

    def run(self) -> None:
        """Runs tasks until stop() is called."""
        while True:
            with self._changed:
                while not self._tasks and not self._over:
                    self._changed.wait()
                if self._over:
                    return
                number, work = self._tasks.pop(next(iter(self._tasks)))
            try:
                call = work()
            except Exception as error:  # raised again where defects are reported
                call = partial(_raise_error, error)
            try:
                self.post(call)
            finally:
                PENDING_TASKS.end_task(number)  # or rows that are due would never leave


def _raise_error(error: Exception) -> None:
    raise error


class PendingTasks:
    """Counts tasks that are neither done nor dropped, by rising numbers. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self._open: set[int] = set()

    @property
    def next_number(self) -> int:
        """The number that the next task gets."""
        return self._next

    def begin_task(self) -> int:
        """Adds a task and returns its number."""
        with self._lock:
            number = self._next
            self._next += 1
            self._open.add(number)
            return number

    def end_task(self, number: int) -> None:
        """Removes a task that is done or dropped."""
        with self._lock:
            self._open.discard(number)

    def is_done_before(self, number: int) -> bool:
        """Returns whether all tasks with smaller numbers are done or dropped."""
        with self._lock:
            return min(self._open, default=number) >= number


PENDING_TASKS = PendingTasks()
"""The pending tasks of all workers: those of pages as well as those of the main screen."""
