"""Comments that somebody wrote onto packets, as those of messages.

Theory. A row's comments are those on the packets that brought its bytes, in the order of its bytes. What came again
does not count: then the same row says the same from a pipe, which closes it before anything can come again. Which rows
have comments follows from columns alone; a text is read from the capture when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from analyzer.capture.packet_comments import PacketComments
from analyzer.columns.arrays import Bools, Ints, rank_in_runs
from analyzer.messages.index import MessageTable, PieceTable


class MessageComments:
    """Comments by row and by packet. `packets`: None where nobody knows of any (a partition of Spark's)."""

    def __init__(self, packets: PacketComments | None, rows: MessageTable, pieces: PieceTable) -> None:
        self._packets, self._rows, self._pieces = packets, rows, pieces

    @property
    def has_comments(self) -> bool:
        """Whether there are comments, as far as the input has been read."""
        return self._packets is not None and len(self._packets) > 0

    def mask(self, rows: Ints) -> Bools:
        """Which of `rows` have comments; looks at columns alone."""
        found = np.zeros(len(rows), bool)
        if self.has_comments and len(rows):
            found[self._find_commented(rows)[0]] = True
        return found

    def read_rows(self, rows: Ints) -> tuple[Ints, list[str]]:
        """Where comments are: rising indexes into `rows`, one for each comment; and the comments."""
        places, comments = self._find_comments(rows)
        return places, [] if self._packets is None else self._packets.read_texts(comments)

    def read_row(self, row: int) -> list[str]:
        """The comments of one row."""
        return self.read_rows(np.array([row]))[1]

    def read_message(self, packets: Sequence[Mapping[str, int | str | bool]]) -> list[tuple[int, str]]:
        """(packet, comment) of all that brought a message, also what came again (analyzer.decode.packets)."""
        numbers = dict.fromkeys(int(packet["number"]) for packet in packets) if self.has_comments else ()
        return [(number, text) for number in numbers for text in self.read_packet(number)]

    def read_first(self, most: int) -> list[tuple[int, str]]:
        """(packet, comment) of the first comments in the input."""
        if self._packets is None:
            return []
        numbers = self._packets.column("packet")[:most].tolist()
        return list(zip(numbers, self._packets.read_texts(np.arange(len(numbers))), strict=True))

    def read_packet(self, number: int) -> list[str]:
        """The comments on one packet, by its number in the timeline."""
        if self._packets is None:
            return []
        first, last = np.searchsorted(self._packets.column("packet"), [number, number + 1]).tolist()
        return self._packets.read_texts(np.arange(first, last))

    def _find_comments(self, rows: Ints) -> tuple[Ints, Ints]:
        """(index into `rows`, number of a comment) for each comment of a row; each comment once for a row."""
        nothing = np.empty(0, np.int64)
        if self._packets is None or not self.has_comments or not len(rows):
            return nothing, nothing
        place, packet = self._find_commented(rows)
        _, once = np.unique(place * (int(packet.max(initial=0)) + 1) + packet, return_index=True)
        once.sort()
        place, packet = place[once], packet[once]
        commented = self._packets.column("packet")
        first = np.searchsorted(commented, packet)
        several = np.searchsorted(commented, packet, "right") - first
        return np.repeat(place, several), np.repeat(first, several) + rank_in_runs(several)

    def _find_commented(self, rows: Ints) -> tuple[Ints, Ints]:
        """(index into `rows`, packet) of each piece that a packet with comments brought; at least one row."""
        count = self._rows.column("count")[rows].astype(np.int64)
        first = self._rows.column("pieces")[rows].astype(np.int64)
        if bool((count == 1).all()):
            place, piece = np.arange(len(rows)), first
        else:
            place, piece = np.repeat(np.arange(len(rows)), count), np.repeat(first, count) + rank_in_runs(count)
        packet = self._pieces.column("packet")[piece].astype(np.int64)
        least = int(packet.min())
        kept = self._flags(least, int(packet.max()))[packet - least] & (self._pieces.column("at")[piece] >= 0)
        return place[kept], packet[kept]

    def _flags(self, first: int, last: int) -> Bools:
        """Whether packets from `first` to `last` have comments: looking there is ten times as fast as searching."""
        assert self._packets is not None
        flags = np.zeros(last + 1 - first, bool)
        commented = self._packets.column("packet")
        mine = slice(*np.searchsorted(commented, [first, last + 1]).tolist())
        flags[commented[mine] - first] = True
        return flags
