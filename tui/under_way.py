"""Work that threads have been asked for and that is not done: whoever takes rows away waits for it.

Theory. Work is about rows that were there when it was wished for, and live the oldest rows leave. So all wishes of the
program are counted, from then on until they are done or forgotten, and rows go when nobody is left who began before
they were said to leave. New work never delays that, for it is about rows that stay.
"""

from __future__ import annotations

import threading


class UnderWay:
    """Wishes that are neither done nor forgotten, by numbers that rise. Of any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self._open: set[int] = set()

    @property
    def now(self) -> int:
        """The number that the next wish gets."""
        return self._next

    def begin(self) -> int:
        """A wish; its number."""
        with self._lock:
            number = self._next
            self._next += 1
            self._open.add(number)
            return number

    def end(self, number: int) -> None:
        """It is done or forgotten."""
        with self._lock:
            self._open.discard(number)

    def all_since(self, number: int) -> bool:
        """Whether no wish is left from before `number` was the next one."""
        with self._lock:
            return min(self._open, default=number) >= number


UNDER_WAY = UnderWay()
"""Of all threads of the program: a page's as well as the main screen's."""
