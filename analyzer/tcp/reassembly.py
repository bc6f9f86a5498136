"""One direction of a TCP connection: packets in any order in, bytes in order out.

Theory (RFC 9293, section 3.4). Sequence numbers count modulo 2^32; inside a half-stream we count bytes from 0 (the
first after the SYN) without wrapping. A segment that begins where we stand is handed on at once. One behind us is a
retransmission: the bytes that came first stay, and differing bytes are a conflict worth telling. One ahead of us
leaves a hole and waits. A hole is either filled, or the capture has lost it: the receiver acknowledged bytes beyond
it and a while has passed, too much waits behind it, or the connection is reset or ends. Then the hole is handed on as
a Gap, and the bytes behind it follow.

Without a SYN nobody knows where the half-stream begins, and the capture may have swapped its first packets. So a
half-stream without SYN opens when the other side acknowledges something, or after a few packets, at the lowest number
seen.

Everything here depends on the packets of one connection in their order, never on how they were cut into blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

GAP = -1
"""Stands for a location where the capture has lost bytes."""

SNAPPED = -2
"""The same where the capture kept only the beginning of a packet."""

HALF = 1 << 31
WINDOW = 1 << 30
"""No receiver window is larger (RFC 7323, section 2.3): a segment farther ahead is noise, not data."""

OPEN_AFTER_PACKETS = 8
HOLE_AGE_NS = 1_000_000_000
HOLE_AGE_PACKETS = 64
HOLE_BYTES = 16 << 20
HOLE_SEGMENTS = 4096
REMEMBERED = 16


class Piece(NamedTuple):
    """Bytes of a half-stream: `length` bytes at `offset`, in the Store at location `at` (or GAP, SNAPPED)."""

    offset: int
    at: int
    length: int
    packet: int
    time: int

    @property
    def end(self) -> int:
        """Stream offset behind it."""
        return self.offset + self.length

    @property
    def lost(self) -> bool:
        """Whether the capture has not got these bytes."""
        return self.at < 0

    def cut(self, begin: int, end: int) -> Piece:
        """The part from stream offset `begin` to `end`."""
        at = self.at if self.at < 0 else self.at + begin - self.offset
        return Piece(begin, at, end - begin, self.packet, self.time)


class Retransmission(NamedTuple):
    """Bytes that had been seen before: `new` arrived again in place of `old` (None when too long ago to compare)."""

    new: Piece
    old: Piece | None


@dataclass(slots=True)
class HalfStream:
    """Carried from block to block. `next` is the offset of the byte that is expected next, `base` the origin."""

    base: int | None = None
    by_syn: bool = False
    next: int = 0
    waiting: list[Piece] = field(default_factory=list)
    waiting_bytes: int = 0
    hole_packets: int = 0
    hole_time: int = 0
    acknowledged: int = 0
    recent: deque[Piece] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    unopened: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    unopened_packets: int = 0
    retransmissions: list[Retransmission] = field(default_factory=list)
    gaps: list[Piece] = field(default_factory=list)

    @property
    def in_order(self) -> bool:
        """Open, and nothing waits behind a hole."""
        return self.base is not None and not self.waiting

    @property
    def has_pending(self) -> bool:
        """Whether tick() has anything to do."""
        return bool(self.waiting or self.unopened)

    def open(self, seq: int) -> None:
        """A SYN with this sequence number: offset 0 is the byte after it."""
        self.base = seq + 1 & 0xFFFFFFFF
        self.by_syn = True

    def accept(self, seq: int, at: int, length: int, captured: int, packet: int, time: int) -> list[Piece]:
        """Takes the payload of one packet; returns what can be handed on now, in order."""
        if self.base is None:
            self.unopened.append((seq, at, length, captured, packet, time))
            return []
        ahead = (seq - self.base - self.next + HALF & 0xFFFFFFFF) - HALF
        if ahead > WINDOW or (ahead == -1 and length == 1):
            return []  # noise, or a keep-alive, whose one byte is no data (RFC 9293, section 3.8.4)
        offset = self.next + ahead
        piece = Piece(offset, at, captured, packet, time)
        rest = Piece(offset + captured, SNAPPED, length - captured, packet, time)
        ready = self._place(piece) if captured else []
        return ready + self._place(rest) if rest.length else ready

    def acknowledge(self, ack: int) -> list[Piece]:
        """The other side has everything before sequence number `ack`; may open a half-stream without SYN."""
        if self.base is None:
            return self._open_without_syn() if self.unopened else []
        ahead = (ack - self.base - self.next + HALF & 0xFFFFFFFF) - HALF
        if ahead <= WINDOW:
            self.acknowledged = max(self.acknowledged, self.next + ahead)
        return []

    def tick(self, time: int) -> list[Piece]:
        """Called for each packet of the connection, in either direction: what waited long enough is handed on."""
        if self.base is None:
            self.unopened_packets += bool(self.unopened)
            return self._open_without_syn() if self.unopened_packets > OPEN_AFTER_PACKETS else []
        if not self.waiting:
            return []
        self.hole_packets += 1
        overfull = self.waiting_bytes > HOLE_BYTES or len(self.waiting) > HOLE_SEGMENTS
        old = time - self.hole_time > HOLE_AGE_NS or self.hole_packets > HOLE_AGE_PACKETS
        if overfull or (old and self.acknowledged > self.next):
            return self._give_up()
        return []

    def end(self) -> list[Piece]:
        """No more packets will come (RST, end of the capture): everything that waits, with its gaps."""
        ready = self._open_without_syn() if self.base is None and self.unopened else []
        while self.waiting:
            ready += self._give_up()
        return ready

    def lose(self, end: int, packet: int, time: int) -> list[Piece]:
        """All before offset `end` that has not come is lost, as `packet` says; what waits behind it follows."""
        ready: list[Piece] = []
        while self.next < end:
            hidden = self.waiting and self.waiting[0].offset <= end
            ready += self._give_up() if hidden else self.lose_until(end, packet, time)
        return ready

    def lose_until(self, end: int, packet: int, time: int) -> list[Piece]:
        """The gap before offset `end`, which `packet` tells of, if there is one; nothing waits."""
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
        """Keeps the parts of `piece` that no waiting piece covers yet."""
        if not self.waiting:
            self.hole_packets, self.hole_time = 0, piece.time
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
            self.hole_packets, self.hole_time = 0, ready[-1].time
        return ready

    def _give_up(self) -> list[Piece]:
        first = self.waiting[0]
        gap = Piece(self.next, GAP, first.offset - self.next, first.packet, first.time)
        self.next = first.offset
        self.gaps.append(gap)
        return [gap, *self._drain()]

    def note_retransmission(self, new: Piece, known: deque[Piece] | tuple[Piece, ...]) -> None:
        """Notes bytes that came again, beside those of `known` that came first."""
        begin = new.offset
        for old in known:
            end = min(new.end, old.end)
            if old.offset <= begin < end:
                self.retransmissions.append(Retransmission(new.cut(begin, end), old.cut(begin, end)))
                begin = end
        if begin < new.end:
            self.retransmissions.append(Retransmission(new.cut(begin, new.end), None))
