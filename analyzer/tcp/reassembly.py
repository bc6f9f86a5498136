"""Puts the bytes of one direction of a TCP connection in order.

Theory (RFC 9293, section 3.4). Sequence numbers count modulo 2^32. A half-stream counts bytes from 0, the first byte
after the SYN, without wrapping. A segment at the expected offset is returned at once. A segment at an earlier offset is
a retransmission: the first bytes are kept, and differing bytes are reported as a conflict. A segment at a later offset
leaves a gap, and waits. Either the missing bytes come later, or the capture has lost them: the receiver acknowledged
bytes beyond the gap and some time has passed, too much data waits after it, or the connection is reset or ends. Then
the gap is returned, followed by the bytes after it.

Without a SYN the first offset is unknown, and the first packets may be out of order in the capture. Such a half-stream
opens at the lowest sequence number of its first packets, when the other side acknowledges bytes, or after a few
packets.

The result depends only on the order of the packets of the connection, never on how the input was divided into blocks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

GAP = -1
"""Location of bytes that the capture has lost."""

SNAPPED = -2
"""Location of bytes that the snap length of the capture cut off."""

HALF = 1 << 31
WINDOW = 1 << 30
"""Largest receiver window (RFC 7323, section 2.3): a segment farther ahead is ignored."""

OPEN_AFTER_PACKETS = 8
GAP_AGE_NS = 1_000_000_000
GAP_AGE_PACKETS = 64
GAP_BYTES = 16 << 20
GAP_SEGMENTS = 4096
REMEMBERED = 16


class Piece(NamedTuple):
    """Holds `length` bytes at stream offset `offset`, which lie at location `at` of the Store (or GAP, SNAPPED)."""

    offset: int
    at: int
    length: int
    packet: int
    time: int

    @property
    def end(self) -> int:
        """Stream offset after the piece."""
        return self.offset + self.length

    @property
    def lost(self) -> bool:
        """Whether the capture lacks these bytes."""
        return self.at < 0

    def cut(self, begin: int, end: int) -> Piece:
        """Returns the part from stream offset `begin` to `end`."""
        at = self.at if self.at < 0 else self.at + begin - self.offset
        return Piece(begin, at, end - begin, self.packet, self.time)


class Retransmission(NamedTuple):
    """Holds retransmitted bytes: `new`, for `old` (None if the original is too old to compare)."""

    new: Piece
    old: Piece | None


_NUMBERS = len(Piece._fields)
_MOST_NUMBERS = REMEMBERED * _NUMBERS


@dataclass(slots=True)
class RecentPieces:
    """Holds the last REMEMBERED pieces as numbers, because a capture may have many connections."""

    numbers: array[int] = field(default_factory=partial(array, "q"))

    def __iter__(self) -> Iterator[Piece]:
        """Yields the pieces, the oldest first."""
        return map(Piece, *(self.numbers[place::_NUMBERS] for place in range(_NUMBERS)))

    def append(self, piece: Piece) -> None:
        """Adds a piece; removes the oldest one if there are too many."""
        self.numbers.extend(piece)
        del self.numbers[:-_MOST_NUMBERS]

    def extend(self, pieces: Iterable[Piece]) -> None:
        """Adds several pieces."""
        for piece in pieces:
            self.append(piece)

    def extend_by_numbers(self, numbers: bytes) -> None:
        """Adds several pieces, each given as its numbers (int64)."""
        self.numbers.frombytes(numbers)
        del self.numbers[:-_MOST_NUMBERS]

    def replace(self, move: Callable[[Piece], Piece]) -> None:
        """Replaces each piece."""
        self.numbers = array("q", (number for piece in self for number in move(piece)))

    def forget_before(self, packet: int) -> None:
        """Removes the oldest pieces, up to the first one that is not of a packet before `packet`."""
        old = next((place for place, piece in enumerate(self) if piece.packet >= packet), REMEMBERED)
        del self.numbers[: old * _NUMBERS]


@dataclass(slots=True)
class HalfStream:
    """Holds the state of one direction between two packets.

    `next` is the offset of the next expected byte, `base` the sequence number of offset 0.
    """

    base: int | None = None
    by_syn: bool = False
    next: int = 0
    waiting: list[Piece] = field(default_factory=list)
    waiting_bytes: int = 0
    gap_packets: int = 0
    gap_time: int = 0
    acknowledged: int = 0
    recent: RecentPieces = field(default_factory=RecentPieces)
    unopened: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    unopened_packets: int = 0
    retransmissions: list[Retransmission] = field(default_factory=list)
    gaps: list[Piece] = field(default_factory=list)

    @property
    def in_order(self) -> bool:
        """Whether the half-stream is open and no bytes wait after a gap."""
        return self.base is not None and not self.waiting

    @property
    def has_pending(self) -> bool:
        """Whether tick() has anything to do."""
        return bool(self.waiting or self.unopened)

    def open(self, seq: int) -> None:
        """Opens the half-stream with a SYN of sequence number `seq`: offset 0 is the byte after it."""
        self.base = seq + 1 & 0xFFFFFFFF
        self.by_syn = True

    def accept(self, seq: int, at: int, length: int, captured: int, packet: int, time: int) -> list[Piece]:
        """Adds the payload of one packet; returns the pieces that are in order now."""
        if self.base is None:
            self.unopened.append((seq, at, length, captured, packet, time))
            return []
        ahead = (seq - self.base - self.next + HALF & 0xFFFFFFFF) - HALF
        if ahead > WINDOW or (ahead == -1 and length == 1):
            return []  # noise, or a keep-alive (RFC 9293, section 3.8.4)
        offset = self.next + ahead
        piece = Piece(offset, at, captured, packet, time)
        rest = Piece(offset + captured, SNAPPED, length - captured, packet, time)
        ready = self._place(piece) if captured else []
        return ready + self._place(rest) if rest.length else ready

    def acknowledge(self, ack: int) -> list[Piece]:
        """Records that the other side has all bytes before sequence number `ack`.

        This may open a half-stream without SYN; returns the pieces that are in order then.
        """
        if self.base is None:
            return self._open_without_syn() if self.unopened else []
        ahead = (ack - self.base - self.next + HALF & 0xFFFFFFFF) - HALF
        if ahead <= WINDOW:
            self.acknowledged = max(self.acknowledged, self.next + ahead)
        return []

    def tick(self, time: int) -> list[Piece]:
        """Returns the pieces that have waited long enough. Called for each packet, in either direction."""
        if self.base is None:
            self.unopened_packets += bool(self.unopened)
            return self._open_without_syn() if self.unopened_packets > OPEN_AFTER_PACKETS else []
        if not self.waiting:
            return []
        self.gap_packets += 1
        overfull = self.waiting_bytes > GAP_BYTES or len(self.waiting) > GAP_SEGMENTS
        old = time - self.gap_time > GAP_AGE_NS or self.gap_packets > GAP_AGE_PACKETS
        if overfull or (old and self.acknowledged > self.next):
            return self._give_up()
        return []

    def end(self) -> list[Piece]:
        """Returns all waiting pieces, with their gaps, because no more packets will come."""
        ready = self._open_without_syn() if self.base is None and self.unopened else []
        while self.waiting:
            ready += self._give_up()
        return ready

    def lose(self, end: int, packet: int, time: int) -> list[Piece]:
        """Marks the missing bytes before offset `end` as lost; `packet` shows that they are.

        Returns the gaps and the pieces after them.
        """
        ready: list[Piece] = []
        while self.next < end:
            hidden = self.waiting and self.waiting[0].offset <= end
            ready += self._give_up() if hidden else self.lose_until(end, packet, time)
        return ready

    def lose_until(self, end: int, packet: int, time: int) -> list[Piece]:
        """Returns the gap before offset `end`, if there is one, when no piece waits; `packet` shows that it is lost."""
        gap = Piece(self.next, GAP, end - self.next, packet, time)
        if gap.length <= 0:
            return []
        self.next = end
        self.gaps.append(gap)
        return [gap]

    def _open_without_syn(self) -> list[Piece]:
        first = self.unopened[0][0]
        self.base = min((seq - first + HALF & 0xFFFFFFFF, seq) for seq, *_ in self.unopened)[1]
        taken, self.unopened = self.unopened, []
        return [piece for packet in taken for piece in self.accept(*packet)]

    def _place(self, piece: Piece) -> list[Piece]:
        if piece.offset == self.next and not self.waiting:
            self.next = piece.offset + piece.length
            self.recent.append(piece)
            return [piece]
        if piece.offset < self.next:
            self.note_retransmission(piece.cut(piece.offset, min(piece.end, self.next)), self.recent)
            if piece.end <= self.next:
                return []
            piece = piece.cut(self.next, piece.end)
        self._wait(piece)
        return self._drain()

    def _wait(self, piece: Piece) -> None:
        """Keeps the parts of `piece` that no waiting piece covers."""
        if not self.waiting:
            self.gap_packets, self.gap_time = 0, piece.time
        begin = piece.offset
        index = max(bisect_right(self.waiting, (begin,)) - 1, 0)
        while begin < piece.end:
            while index < len(self.waiting) and self.waiting[index].end <= begin:
                index += 1
            old = self.waiting[index] if index < len(self.waiting) else None
            if old is not None and old.offset <= begin:
                end = min(old.end, piece.end)
                self.note_retransmission(piece.cut(begin, end), (old,))
            else:
                end = piece.end if old is None else min(old.offset, piece.end)
                self.waiting.insert(index, piece.cut(begin, end))
                self.waiting_bytes += end - begin
            begin = end

    def _drain(self) -> list[Piece]:
        count = 0
        for piece in self.waiting:
            if piece.offset != self.next:
                break
            self.next = piece.end
            count += 1
        ready = self.waiting[:count]
        if ready:
            del self.waiting[:count]
            self.waiting_bytes -= sum(piece.length for piece in ready)
            self.recent.extend(ready)
            self.gap_packets, self.gap_time = 0, ready[-1].time
        return ready

    def _give_up(self) -> list[Piece]:
        first = self.waiting[0]
        gap = Piece(self.next, GAP, first.offset - self.next, first.packet, first.time)
        self.next = first.offset
        self.gaps.append(gap)
        return [gap, *self._drain()]

    def note_retransmission(self, new: Piece, known: Iterable[Piece]) -> None:
        """Records retransmitted bytes, each with the original bytes if they are among `known`."""
        begin = new.offset
        for old in known:
            end = min(new.end, old.end)
            if old.offset <= begin < end:
                self.retransmissions.append(Retransmission(new.cut(begin, end), old.cut(begin, end)))
                begin = end
        if begin < new.end:
            self.retransmissions.append(Retransmission(new.cut(begin, new.end), None))
