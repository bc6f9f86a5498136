"""Work for a page, done in portions by another thread: how far it has come, and whether anybody still wants it."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

OFTEN = 0.1
"""Seconds between two words about how far it has come."""


class Stopped(Exception):
    """Nobody wants the work any more."""


class Work:
    """What those who do it are told, and tell. say: how far it has come. what: what is being looked for."""

    def __init__(self, say: Callable[[str], None], what: str = "") -> None:
        self.what = what
        self._say, self._said = say, 0.0
        self._stopped = Event()

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still wants it."""
        return not self._stopped.is_set()

    def stop(self) -> None:
        """Nobody wants it any more."""
        self._stopped.set()

    def check(self) -> None:
        """Raises Stopped if nobody wants it any more."""
        if self._stopped.is_set():
            raise Stopped

    def looked(self, done: int, total: int) -> None:
        """Says that so many messages of `total` have been examined. Raises Stopped as check() does."""
        self.check()
        now = time.monotonic()
        if now > self._said + OFTEN:
            self._said = now
            self._say(f"{self.what}: {done:,} of {total:,} examined")
