"""Limits the time for guesses of responses without requests, while packets come live.

Theory. A capture of one direction has only such responses. Their guesses may take longer than the time in which they
come, and then rows would fall behind for ever. So guesses get a share of the time. What arrives beyond it is not
guessed, and its rows say so. Files have no such limit: their rows depend on the bytes alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from analyzer.columns.arrays import Ints
from dissectors.guess_hints import SKIPPED

SHARE, BURST = 0.25, 1.0
"""The share of the time that guesses may take, and the seconds that may be used at once."""

TOGETHER = 512
"""Responses that are guessed between two looks at the clock."""

Guesses = Callable[[Sequence[bytes]], Sequence[Mapping[str, str]]]


class GuessBudget:
    """The time that guesses may take. skipped: number of responses that were not guessed."""

    def __init__(self) -> None:
        self.skipped = 0
        self._last, self._left, self._counted = time.monotonic(), BURST, -1

    def guess(self, guesses: Guesses, rows: Ints, messages: Sequence[bytes]) -> list[Mapping[str, str]]:
        """Returns the extra contexts of n responses; SKIPPED for those that no time is left for.

        rows: their numbers, ascending.
        """
        now = time.monotonic()
        self._left, self._last = min(self._left + SHARE * (now - self._last), BURST), now
        found: list[Mapping[str, str]] = []
        while len(found) < len(messages) and self._left > 0:
            began = time.thread_time()
            part = messages[len(found) : len(found) + TOGETHER]
            found += guesses(part) or [{}] * len(part)
            self._left -= time.thread_time() - began
        self.skip(rows[len(found) :])
        return found + [SKIPPED] * (len(messages) - len(found))

    def skip(self, rows: Ints) -> None:
        """Counts rows that are not guessed; those that are read again are counted once."""
        self.skipped += int(np.count_nonzero(rows > self._counted))
        self._counted = max(self._counted, int(rows.max(initial=-1)))
