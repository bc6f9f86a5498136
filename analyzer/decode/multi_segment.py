"""Reads messages that arrived in several segments as if each were contiguous, without copying them.

Theory. Only a few bytes of a long answer are needed. All pieces of all messages are mapped one after the other into one
address space; a location there is a piece and an offset in it. Only a value that crosses the boundary of two pieces is
assembled, byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.capture.store import Store
from analyzer.columns.arrays import Ints, rank_in_runs
from analyzer.columns.cells import Cells
from analyzer.session import Analysis


class MultiSegmentReader:
    """Reads n complete messages that are in several segments. `at`: where each begins, for gather()."""

    def __init__(self, session: Analysis, rows: Ints) -> None:
        count = session.rows.column("count")[rows].astype(np.int64)
        piece = np.repeat(session.rows.column("pieces")[rows].astype(np.int64), count) + rank_in_runs(count)
        pieces = session.engine.pieces
        self._store = session.source.store
        self._places, length = pieces.column("at")[piece], pieces.column("length")[piece].astype(np.int64)
        self._ends = np.cumsum(length)
        self._begins = self._ends - length
        self.at: Ints = self._begins[np.cumsum(count) - count]

    def gather(self, locations: Ints, width: int) -> Cells:
        """Returns `width` bytes at n positions (uint8, n x width); bytes after the last message are undefined."""
        piece = np.minimum(np.searchsorted(self._ends, locations, "right"), len(self._ends) - 1)
        found = self._store.gather(self._places[piece] + locations - self._begins[piece], width)
        across = np.flatnonzero(locations + width > self._ends[piece]) if width > 1 else ()
        if len(across):
            for place in range(1, width):
                found[across, place] = self.gather(locations[across] + place, 1)[:, 0]
        return found

    def read_many(self, locations: Ints, lengths: Ints) -> list[bytes]:
        """Returns the bytes at many places."""
        piece = np.minimum(np.searchsorted(self._ends, locations, "right"), len(self._ends) - 1)
        at = self._places[piece] + locations - self._begins[piece]
        across = locations + lengths > self._ends[piece]
        found = self._store.read_many(np.where(across, self._places[piece], at), np.where(across, 0, lengths))
        for place in np.flatnonzero(across).tolist():
            found[place] = self.gather(locations[place : place + 1], int(lengths[place])).tobytes()
        return found


def locate_messages(
    session: Analysis, rows: Ints, least: int
) -> Iterator[tuple[Ints, Store | MultiSegmentReader, Ints]]:
    """Locates the bytes of complete messages, separately for messages in one piece and in several.

    Yields the indexes in `rows`, the reader of their bytes and where each message begins; of each kind only if it has
    `least` messages.
    """
    several = session.rows.column("count")[rows] > 1
    places = np.flatnonzero(~several)
    if len(places) >= least:
        first = session.rows.column("pieces")[rows[places]]
        yield places, session.source.store, session.engine.pieces.column("at")[first]
    places = np.flatnonzero(several)
    if len(places) >= least:
        scattered = MultiSegmentReader(session, rows[places])
        yield places, scattered, scattered.at
