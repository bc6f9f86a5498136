"""The streams that the list knows of, and the place of each: live, those go of which no row is left.

Theory. A machine that makes a hundred connections a second has made nine million in a day, and each would cost its
bytes here and its share of every sum over streams. So when rows leave, only streams that still have some keep a place;
until then all have one, and the place is the number. A stream that had none by then, for it had said nothing, gets one
when its first row comes.
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints


class Slots:
    """`streams` are announced, and some of them have one of `len` places, in the order of their numbers."""

    def __init__(self) -> None:
        self.streams = 0
        self._numbers: Ints | None = None
        """Of streams by place; None as long as all have one."""

    def __len__(self) -> int:
        return self.streams if self._numbers is None else len(self._numbers)

    def grow(self, streams: int) -> None:
        """There are so many streams by now: new ones have a place, behind all others."""
        if self._numbers is not None:
            self._numbers = np.concatenate((self._numbers, np.arange(self.streams, streams)))
        self.streams = streams

    def keep(self, places: Ints) -> None:
        """Only the streams at these places, which rise, keep one."""
        if len(places) < len(self):
            self._numbers = self.numbers(places)

    def numbers(self, places: Ints) -> Ints:
        """The streams at some places."""
        return places if self._numbers is None else self._numbers[places]

    def number(self, place: int) -> int:
        """The same of one."""
        return place if self._numbers is None else int(self._numbers[place])

    def places(self, streams: Ints) -> Ints:
        """The places of streams that have one."""
        return streams if self._numbers is None else np.searchsorted(self._numbers, streams)

    def place(self, stream: int) -> int | None:
        """The same of one that may have none."""
        near = self.near(stream)
        return near if near < len(self) and self.number(near) == stream else None

    def near(self, stream: int) -> int:
        """The place of a stream, or of the next one that has one; `len` behind the last."""
        return min(stream, len(self)) if self._numbers is None else int(np.searchsorted(self._numbers, stream))

    def take_in(self, streams: Ints) -> Ints:
        """These streams have rows. Gives the places before which others, so far without one, were put among them."""
        if self._numbers is None:
            return np.zeros(0, np.int64)
        missing = np.setdiff1d(streams, self._numbers)
        places: Ints = np.searchsorted(self._numbers, missing)
        if len(places):
            self._numbers = np.insert(self._numbers, places, missing)
        return places
