"""Locations: one int64 says in which source a byte lies and where.

Theory. Columns hold millions of positions in several files; one integer for both keeps a row at eight bytes, sorts by
file and position, and travels to another process as a number. Bytes that lie nowhere in one piece (reassembled
fragments) are put into the annex, so that every payload has a location.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.sources import Mapped, Source, Spool

SHIFT = 48
POSITION = (1 << SHIFT) - 1
"""A location is source id << SHIFT | position; 32,768 sources of 256 TiB."""


class Store:
    """The sources of one analysis, each with its id, and the annex."""

    def __init__(self) -> None:
        self._sources: list[Source] = []
        self._annex: Spool | None = None
        self._annex_id = 0

    def add(self, source: Source) -> int:
        """Takes `source` over (close() closes it) and returns its id. Raises OverflowError at the 32,769th."""
        if len(self._sources) > np.iinfo(np.int16).max:
            raise OverflowError("more than 32,768 capture files in one analysis")
        self._sources.append(source)
        return len(self._sources) - 1

    def append(self, data: bytes) -> int:
        """Puts `data` into the annex and returns its location. Raises CaptureError when the disk is full."""
        if self._annex is None:
            self._annex = Spool()
            self._annex_id = self.add(self._annex)
        return self._annex_id << SHIFT | self._annex.append(data)

    def read(self, location: int, length: int) -> bytes:
        """`length` bytes at `location`; those behind the end of the source are 0."""
        return bytes(self._sources[location >> SHIFT].window(location & POSITION, length)).ljust(length, b"\0")

    def window(self, location: int, length: int) -> memoryview:
        """`length` bytes at `location`, where they are if the source is mapped; those behind its end are 0."""
        found = self._sources[location >> SHIFT].window(location & POSITION, length)
        return found if len(found) == length else memoryview(bytes(found).ljust(length, b"\0"))

    def read_many(self, locations: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[bytes]:
        """What read() gives, for many places at once; cheap where all lie in one mapped file."""
        view = self._common(locations, lengths)
        if view is not None:
            return list(map(bytes, _pieces(view, locations, lengths)))
        return [self.read(at, length) for at, length in zip(locations.tolist(), lengths.tolist(), strict=True)]

    def joined(self, locations: NDArray[np.int64], lengths: NDArray[np.int64], behind: bytes = b"") -> bytes:
        """The same, one behind the other, and something behind the last."""
        view = self._common(locations, lengths)
        if view is None:
            return b"".join((*self.read_many(locations, lengths), behind))
        return b"".join((*_pieces(view, locations, lengths), behind))

    def _common(self, locations: NDArray[np.int64], lengths: NDArray[np.int64]) -> memoryview | None:
        """The one mapped file in which all of these places lie; None where they do not."""
        ids = locations >> SHIFT
        if not len(ids) or not bool((ids == ids[0]).all()):
            return None
        source = self._sources[int(ids[0])]
        if not isinstance(source, Mapped):
            return None
        view = source.window(0, source.size())
        return view if int(((locations & POSITION) + lengths).max()) <= len(view) else None

    def gather(self, locations: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Rows of `width` bytes at `locations`, shape (n, width); bytes behind the end of a source are 0."""
        if not len(locations):
            return np.zeros((0, width), np.uint8)
        ids = locations >> SHIFT
        first = int(ids[0])
        if len(self._sources) == 1 or bool((ids == first).all()):
            return self._sources[first].gather(locations & POSITION, width)
        rows = np.empty((len(locations), width), np.uint8)
        for source in np.unique(ids).tolist():
            those = np.flatnonzero(ids == source)
            rows[those] = self._sources[source].gather(locations[those] & POSITION, width)
        return rows

    def close(self) -> None:
        """Closes every source; the annex and spools vanish."""
        for source in self._sources:
            source.close()


def _pieces(view: memoryview, locations: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[memoryview]:
    """The bytes at each place; by map, for there are hundreds of thousands."""
    begin = locations & POSITION
    return map(view.__getitem__, map(slice, begin.tolist(), (begin + lengths).tolist()))
