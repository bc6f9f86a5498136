"""Finds the comments on packets that belong to messages.

Theory. The comments of a row are those on the packets that contain its bytes, in order of the bytes. Retransmissions do
not count, so a row has the same comments when it is read from a pipe, where it closes before any retransmission.
Columns alone show which rows have comments; a text is read from the capture on demand. A user can write one comment on
each packet, which comes behind those of the capture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from analyzer.capture.packet_comments import PacketComments
from analyzer.columns.arrays import Bools, Ints, rank_in_runs
from analyzer.messages.index import MessageTable, PieceTable


class MessageComments:
    """Finds comments by row and by packet. `packets`: None if comments are unknown (a partition in Spark)."""

    def __init__(self, packets: PacketComments | None, rows: MessageTable, pieces: PieceTable) -> None:
        self._packets, self._rows, self._pieces = packets, rows, pieces
        self._written: dict[int, str] = {}
        self._unsaved: set[int] = set()

    @property
    def has_comments(self) -> bool:
        """Whether there are comments, as far as the input has been read."""
        return bool(self._written) or (self._packets is not None and len(self._packets) > 0)

    @property
    def written(self) -> Mapping[int, str]:
        """The comments that the user has written, by packet number."""
        return self._written

    @property
    def unsaved(self) -> int:
        """The number of the user's comments that no file has."""
        return len(self._unsaved)

    def write(self, packet: int, text: str) -> None:
        """Writes the user's comment on a packet; an empty text removes it."""
        if text == self._written.get(packet, ""):
            return
        if text:
            self._written[packet] = text
            self._unsaved.add(packet)
        else:
            del self._written[packet]
            self._unsaved.discard(packet)

    def mark_saved(self, packets: Iterable[int]) -> None:
        """Notes that a file has the user's comments on these packets."""
        self._unsaved.difference_update(packets)

    def copy_from(self, other: MessageComments) -> None:
        """Takes the user's comments over from another session of the same packets."""
        self._written, self._unsaved = dict(other._written), set(other._unsaved)

    def mask(self, rows: Ints) -> Bools:
        """Returns which of `rows` have comments, without reading any text."""
        found = np.zeros(len(rows), bool)
        if self._packets is not None and len(self._packets) and len(rows):
            found[self._find_commented(rows)[0]] = True
        for packet in self._written:
            found[self._find_brought(rows, packet)] = True
        return found

    def read_rows(self, rows: Ints) -> tuple[Ints, list[str]]:
        """Returns the comments on several rows, and for each its (ascending) index into `rows`."""
        places, comments = self._find_comments(rows)
        texts = [] if self._packets is None else self._packets.read_texts(comments)
        for packet, text in self._written.items():
            mine = self._find_brought(rows, packet)
            places, texts = np.concatenate((places, mine)), [*texts, *[text] * len(mine)]
        order = np.argsort(places, kind="stable")
        return places[order], [texts[place] for place in order.tolist()]

    def read_row(self, row: int) -> list[str]:
        """Returns the comments of one row."""
        return self.read_rows(np.array([row]))[1]

    def read_message(self, packets: Sequence[Mapping[str, int | str | bool]]) -> list[tuple[int, str]]:
        """Returns (packet, comment) for all packets of a message (analyzer.decode.packets).

        They include packets with retransmissions.
        """
        numbers = dict.fromkeys(int(packet["number"]) for packet in packets) if self.has_comments else ()
        return [(number, text) for number in numbers for text in self.read_packet(number)]

    def read_first(self, most: int) -> list[tuple[int, str]]:
        """Returns (packet, comment) for the first comments in the input."""
        if self._packets is None:
            return []
        numbers = self._packets.column("packet")[:most].tolist()
        return list(zip(numbers, self._packets.read_texts(np.arange(len(numbers))), strict=True))

    def read_packet(self, number: int) -> list[str]:
        """Returns the comments on one packet, by its number in the timeline."""
        written = [self._written[number]] if number in self._written else []
        if self._packets is None:
            return written
        first, last = np.searchsorted(self._packets.column("packet"), [number, number + 1]).tolist()
        return [*self._packets.read_texts(np.arange(first, last)), *written]

    def _find_brought(self, rows: Ints, packet: int) -> Ints:
        """Returns the places in `rows` of those that a packet has brought bytes of."""
        pieces = np.flatnonzero((self._pieces.column("packet") == packet) & (self._pieces.column("at") >= 0))
        first = self._rows.column("pieces")[rows].astype(np.int64)
        count = self._rows.column("count")[rows]
        found: Ints = np.flatnonzero(np.searchsorted(pieces, first + count) > np.searchsorted(pieces, first))
        return found

    def _find_comments(self, rows: Ints) -> tuple[Ints, Ints]:
        """Returns an index into `rows` and a comment's number, for each comment of a row."""
        nothing = np.empty(0, np.int64)
        if self._packets is None or not len(self._packets) or not len(rows):
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
        """Returns an index into `rows` and a packet, for each piece from a packet with comments; at least one row."""
        count = self._rows.column("count")[rows].astype(np.int64)
        first = self._rows.column("pieces")[rows].astype(np.int64)
        if bool((count == 1).all()):
            place, piece = np.arange(len(rows)), first
        else:
            place, piece = np.repeat(np.arange(len(rows)), count), np.repeat(first, count) + rank_in_runs(count)
        packet = self._pieces.column("packet")[piece].astype(np.int64)
        least = int(packet.min())
        is_known = self._flags(least, int(packet.max()))[packet - least] & (self._pieces.column("at")[piece] >= 0)
        return place[is_known], packet[is_known]

    def _flags(self, first: int, last: int) -> Bools:
        """Returns whether packets from `first` to `last` have comments; this is ten times as fast as a search."""
        assert self._packets is not None
        flags = np.zeros(last + 1 - first, bool)
        commented = self._packets.column("packet")
        mine = slice(*np.searchsorted(commented, [first, last + 1]).tolist())
        flags[commented[mine] - first] = True
        return flags
