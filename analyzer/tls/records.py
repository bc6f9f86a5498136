"""The record layer of one direction (RFC 8446, section 5.1): splits bytes into records, across lost bytes.

Lost bytes are zeros in the buffer, and spans mark them as lost. A record whose body lacks bytes is lost, and the next
one begins where it ends. If a header is lost, the start of the next record is unknown. Then the reader hunts for a
header, and the caller reports whether the record can be decrypted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from operator import lt
from typing import NamedTuple

CHANGE_CIPHER, ALERT, HANDSHAKE, APPLICATION_DATA, HEARTBEAT = 20, 21, 22, 23, 24
HEADER = 5
MOST_BODY = (1 << 14) + 2048
"""Maximum bytes of a body: 16 KiB, and the bytes that compression and protection may add in TLS 1.2."""

_MOST_LOST = MOST_BODY + HEADER
"""Maximum number of zeros for one loss: the size of the longest record."""


class Span(NamedTuple):
    """Names the packet that carried some bytes. lost: number of bytes missing here; 0 if they are there."""

    length: int
    packet: int
    time: int
    lost: int = 0


class Record(NamedTuple):
    """One record. `spans` cover header and body. lost: the body lacks bytes."""

    kind: int
    version: int
    body: bytes
    spans: tuple[Span, ...]
    lost: bool = False


@dataclass(slots=True)
class RecordReader:
    """Splits bytes into records.

    missing: bytes since the last known end of a record, while it hunts. judged: number of spans of the next record that
    were checked for long losses, and their bytes.
    """

    buffer: bytearray = field(default_factory=bytearray)
    spans: deque[Span] = field(default_factory=deque)
    losses: int = 0
    hunting: bool = False
    missing: int = 0
    tried: int = 0
    at: int = 0
    judged: tuple[int, int] = (0, 0)

    @property
    def buffered(self) -> int:
        """Number of unread bytes, including lost ones."""
        return len(self.buffer) - self.at

    @property
    def kind(self) -> int:
        """The content type of the next record, -1 if it is unknown."""
        return self.buffer[self.at] if self.buffered and not self.hunting and not self.spans[0].lost else -1

    @property
    def rest(self) -> bytes:
        """The bytes of the incomplete record."""
        return bytes(self.buffer[self.at :])

    @property
    def is_steady(self) -> bool:
        """Whether the start of the next record is known, and all unread bytes are there and came in order."""
        packets = [span.packet for span in self.spans]
        return not self.hunting and not self.losses and all(map(lt, packets, packets[1:]))

    def replace(self, rest: bytes, spans: list[Span]) -> None:
        """Replaces the unread bytes, because records were read elsewhere."""
        self.buffer, self.spans, self.at, self.judged = bytearray(rest), deque(spans), 0, (0, 0)

    def feed(self, data: bytes, packet: int, time: int) -> None:
        """Adds the next bytes of the direction, which a packet carried at a time (ns since 1970)."""
        if not data:
            return
        if self.at:
            del self.buffer[: self.at]
            self.at = 0
        self.buffer += data
        self.spans.append(Span(len(data), packet, time))

    def lose(self, length: int, packet: int, time: int) -> None:
        """Marks the next bytes as lost."""
        if length > 0:
            self.feed(bytes(min(length, _MOST_LOST)), packet, time)
            self.spans[-1] = self.spans[-1]._replace(lost=length)
            self.losses += 1

    def next_record(self) -> Record | None:
        """Returns the next record, or None if more bytes are needed or the reader hunts."""
        if self.hunting or self.buffered < HEADER:
            return None
        if self.losses and self._is_lost(HEADER):
            self._fall_out()
            return None
        header = self._header(self.at)
        if header is None:
            self._fall_out()
            return None
        kind, version, size = header
        if self.losses and self._is_long_loss(size):
            self._fall_out()
            return None
        if self.buffered < size:
            return None
        begin, losses = self.at + HEADER, self.losses  # before the record removes some of them
        body = bytes(self.buffer[begin : self.at + size])
        spans = self._take(size)
        return Record(kind, version, body, spans, bool(losses) and any(span.lost for span in spans))

    def hunt(self, opens: Callable[[Record, int], bool]) -> bool:
        """Looks for a record that can be decrypted; returns whether the next call of next_record() returns it.

        opens: called with a record, and the number of bytes between it and the last known end of a record.
        """
        while self.hunting and self.buffered:
            end = self._front_end()
            place = self._find_candidate(end)
            if place < 0:
                if end == len(self.buffer):
                    return False
                self._pass_over(end - self.at)  # up to a loss, and over it
                while self.spans and self.spans[0].lost:
                    self._pass_over(self.spans[0].length)
                continue
            header = self._header(place)
            assert header is not None
            kind, version, size = header
            if place + size > end:
                if end == len(self.buffer):
                    return False  # needs more bytes
            elif opens(
                Record(kind, version, bytes(self.buffer[place + HEADER : place + size]), ()),
                self.missing + place - self.at,
            ):
                self._pass_over(place - self.at)
                self.hunting, self.missing, self.tried = False, 0, 0
                return True
            self.tried = place - self.at + 1
        return False

    def _header(self, at: int) -> tuple[int, int, int] | None:
        return read_header(self.buffer, at)

    def _find_candidate(self, end: int) -> int:
        """Returns the next offset before `end` that looks like a header and was not tried, or -1."""
        last = end - HEADER + 2
        version = self.buffer.find(3, self.at + self.tried + 1, last)
        while version >= 0:
            if self._header(version - 1) is not None:
                return version - 1
            version = self.buffer.find(3, version + 1, last)
        self.tried = max(self.tried, end - HEADER + 1 - self.at)
        return -1

    def _front_end(self) -> int:
        """Returns the offset up to which the buffer has no loss."""
        end = self.at
        for span in self.spans:
            if span.lost:
                return end
            end += span.length
        return end

    def _is_lost(self, size: int) -> bool:
        """Returns whether one of the next `size` bytes is lost."""
        for span in self.spans:
            if span.lost:
                return True
            size -= span.length
            if size <= 0:
                break
        return False

    def _is_long_loss(self, size: int) -> bool:
        """Returns whether a loss begins within the next `size` bytes and extends beyond them.

        Checks each span once for each record.
        """
        spans = self.spans
        seen, covered = self.judged
        new = reversed(list(islice(reversed(spans), len(spans) - seen))) if seen else iter(spans)
        for span in new:
            if covered >= size:
                break
            if span.lost > size - covered:
                return True
            seen, covered = seen + 1, covered + span.length
        self.judged = seen, covered
        return False

    def _fall_out(self) -> None:
        """Begins to hunt; after the loss, if a loss is the cause."""
        self.hunting, self.tried = True, 0
        if self.losses:
            while not self.spans[0].lost:
                self._pass_over(self.spans[0].length)
            while self.spans and self.spans[0].lost:
                self._pass_over(self.spans[0].length)

    def _pass_over(self, size: int) -> None:
        if size:
            self.missing += sum(span.lost or span.length for span in self._take(size))
            self.tried = 0

    def _take(self, size: int) -> tuple[Span, ...]:
        """Removes the next `size` bytes; returns their spans."""
        self.at += size
        self.judged = 0, 0
        first = self.spans[0]
        if first.length == size and not first.lost:
            self.spans.popleft()
            return (first,)
        if first.length > size and not first.lost:
            self.spans[0] = Span(first.length - size, first.packet, first.time)
            return (Span(size, first.packet, first.time),)
        if first.length > size:
            self.spans[0] = first._replace(length=first.length - size, lost=max(first.lost - size, 0))
            return (first._replace(length=size, lost=min(first.lost, size)),)
        taken = []
        while size:
            span = self.spans.popleft()
            if span.length > size:
                self.spans.appendleft(span._replace(length=span.length - size, lost=max(span.lost - size, 0)))
                span = span._replace(length=size, lost=min(span.lost, size))
            elif span.lost:
                self.losses -= 1
            taken.append(span)
            size -= span.length
        return tuple(taken)


def read_header(data: bytes | bytearray, at: int) -> tuple[int, int, int] | None:
    """Reads the five bytes of a record's header at `at` (RFC 8446, 5.1).

    Returns content type, version, and size including the header; None if this cannot be a record.
    """
    kind, version, length = data[at], data[at + 1] << 8 | data[at + 2], data[at + 3] << 8 | data[at + 4]
    if not CHANGE_CIPHER <= kind <= HEARTBEAT or version >> 8 != 3 or version > 0x0304 or length > MOST_BODY:
        return None
    return kind, version, HEADER + length


def find_first_record(data: bytes) -> int:
    """Returns the offset of the first record in bytes of one direction, or -1 if there is none.

    From there on, each record ends where the next one begins. The last one may be incomplete.
    """
    at = data.find(3)
    while at >= 0:
        if at and _holds_records(data, at - 1):
            return at - 1
        at = data.find(3, at + 1)
    return -1


def _holds_records(data: bytes, at: int) -> bool:
    if at + HEADER > len(data):
        return False
    while at + HEADER <= len(data):
        header = read_header(data, at)
        if header is None:
            return False
        at += header[2]
    return True
