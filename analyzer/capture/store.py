"""Locations: one int64 says in which source a byte lies, and where.

Theory. Columns hold millions of positions in several files. One integer for both keeps a row at eight bytes, sorts by
file and position, and can be sent to another process. Bytes that do not lie in one place (reassembled fragments) go to
the annex, so that every payload has a location.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analyzer.capture.sources import Annex, ByteSource, MappedFile
from analyzer.columns.arrays import argsort_stable, find_runs, list_distinct

SHIFT = 48
POSITION = (1 << SHIFT) - 1
"""Mask of the position. A location is source id << SHIFT | position: 32,768 sources of 256 TiB."""

MOST = 1 << 15

NEAR = 1 << 20
SPARSE = 4
"""Places are read in one call if they span at most NEAR bytes, or SPARSE times their own bytes."""


FEW = 64
"""Places in a source that take gather() as long as the call for the source."""


class RemovedSource:
    """Stands for a source that is gone: all its bytes are 0."""

    def size(self) -> int:
        """Returns the size of a removed source in bytes: always 0."""
        return 0

    def window(self, position: int, length: int) -> memoryview:
        """Returns an empty view, because the bytes of the source are gone."""
        return memoryview(b"")

    def gather(self, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns zeros (uint8, n x width) in place of the bytes at n positions."""
        return np.zeros((len(positions), width), np.uint8)

    def duplicate(self) -> int:
        """Raises FileNotFoundError, because a removed source has no descriptor."""
        raise FileNotFoundError

    def close(self) -> None:
        """Does nothing, because a removed source has no descriptor to close."""


REMOVED = RemovedSource()


class Store:
    """Holds the sources of one analysis, each with its id, and the annex."""

    def __init__(self) -> None:
        self._sources: list[ByteSource] = []
        self._removed = deque[int]()
        self._annex: Annex | None = None
        self._annex_id = 0

    def add(self, source: ByteSource) -> int:
        """Takes over `source`, which close() closes, and returns its id.

        Ids of removed sources are used again when there are no others. Raises OverflowError for more than 32,768
        sources.
        """
        if len(self._sources) < MOST:
            self._sources.append(source)
            return len(self._sources) - 1
        if not self._removed:
            raise OverflowError("more than 32,768 capture files in one analysis")
        number = self._removed.popleft()
        self._sources[number] = source
        return number

    def remove(self, number: int) -> None:
        """Closes a source; its bytes then read as 0."""
        removed, self._sources[number] = self._sources[number], REMOVED
        removed.close()
        self._removed.append(number)

    @property
    def appended(self) -> int:
        """Bytes that append() was given."""
        return 0 if self._annex is None else self._annex.size()

    def release(self, appended: int) -> None:
        """Gives back the space of the first `appended` bytes of the annex, which then read as 0."""
        if self._annex is not None:
            self._annex.release(appended)

    def append(self, data: bytes) -> int:
        """Puts `data` into the annex and returns its location. Raises CaptureError if the disk is full."""
        if self._annex is None:
            self._annex = Annex()
            self._annex_id = self.add(self._annex)
        return self._annex_id << SHIFT | self._annex.append(data)

    def read_bytes(self, location: int, length: int) -> bytes:
        """Returns `length` bytes at `location`; bytes behind the end of the source are 0."""
        return bytes(self._sources[location >> SHIFT].window(location & POSITION, length)).ljust(length, b"\0")

    def window(self, location: int, length: int) -> memoryview:
        """Returns a view of `length` bytes at `location`, without a copy of a mapped source.

        Bytes behind its end are 0.
        """
        found = self._sources[location >> SHIFT].window(location & POSITION, length)
        return found if len(found) == length else memoryview(bytes(found).ljust(length, b"\0"))

    def read_many(self, locations: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[bytes]:
        """Returns the bytes at n locations; this is cheap if they lie in one file and near each other."""
        found = self._common(locations, lengths)
        if found is not None:
            return list(map(bytes, _pieces(found[0], locations - found[1], lengths)))
        return [self.read_bytes(at, length) for at, length in zip(locations.tolist(), lengths.tolist(), strict=True)]

    def read_joined(
        self, locations: NDArray[np.int64], lengths: NDArray[np.int64], behind: bytes = b"", *, before: bytes = b""
    ) -> bytes:
        """Returns the bytes at n locations as one bytes object, between `before` and `behind`."""
        found = self._common(locations, lengths)
        if found is None:
            return b"".join((before, *self.read_many(locations, lengths), behind))
        return b"".join((before, *_pieces(found[0], locations - found[1], lengths), behind))

    def _common(self, locations: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[memoryview, int] | None:
        """Returns bytes of the one file in which all of these places lie, and their location; None if there is none.

        A file that is not mapped is read if that is not much more than the bytes that are wanted.
        """
        some = lengths > 0
        if not bool(some.any()):
            return None
        begin, end = int(locations[some].min()), int((locations + lengths)[some].max())
        if begin >> SHIFT != (end - 1) >> SHIFT:
            return None
        source = self._sources[begin >> SHIFT]
        if not isinstance(source, MappedFile) and end - begin > max(NEAR, SPARSE * int(lengths.sum())):
            return None
        view = source.window(begin & POSITION, end - begin)
        return (view, begin) if len(view) == end - begin else None

    def gather(self, locations: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """Returns rows of `width` bytes at n locations, shape (n, width); bytes behind the end of a source are 0."""
        if not len(locations):
            return np.zeros((0, width), np.uint8)
        ids = locations >> SHIFT
        first = int(ids[0])
        if len(self._sources) == 1 or bool((ids == first).all()):
            return self._sources[first].gather(locations & POSITION, width)
        rows = np.empty((len(locations), width), np.uint8)
        order = argsort_stable(ids)
        for begin, end in zip(*find_runs(ids[order]), strict=True):
            those = order[begin:end]
            rows[those] = self._sources[ids[those[0]]].gather(locations[those] & POSITION, width)
        return rows

    def is_scattered(self, locations: NDArray[np.int64]) -> bool:
        """Returns whether few of these places lie in the same source, so that gather() takes long."""
        used = 1 if len(self._sources) == 1 else len(list_distinct(locations >> SHIFT))
        return used > 1 and used * FEW > len(locations)

    def close(self) -> None:
        """Closes all sources; the annex and spools vanish."""
        for source in self._sources:
            source.close()


def _pieces(view: memoryview, places: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[memoryview]:
    """Yields the bytes at each place; map() is the fastest loop for hundreds of thousands of them."""
    return map(view.__getitem__, map(slice, places.tolist(), (places + lengths).tolist()))
