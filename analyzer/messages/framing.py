"""Cuts the bytes of one half-stream into messages.

Theory. In step, each message contains its length, and the next one begins after it. A gap inside a message does no
harm, because its end is known. The framer falls out of step when a length is invalid, or when a gap has swallowed a
length. Then it hunts for the next place where a message plausibly begins, and the bytes before it become a raw run.

A place counts if the dissector finds it plausible and something confirms it: plausible messages after it, or an end
where a segment ends. The number of messages that must follow depends on their evidence: two requests are enough, while
responses resemble many other things. A place whose message is longer than the bytes so far waits, and is a rival of
later places: after a rival a place needs a proof, and an end is not enough. The same holds for a response to no known
request, and for a client's first message with little evidence after other bytes. At a gap and at the end, places that
still wait are given up, and the first of the others is taken.

The length of a message comes from its length prefix, or from the dissector's Framer if a protocol has no prefix or
begins without one.

The vectorised implementation for framers in step is message_spans.cut_messages; tests/analyzer/messages/test_engine.py
compares the two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from analyzer.tcp.reassembly import Piece
from dissectors.api import PREFIX, SURE, Conversation, Dissector, Framer

HUNT_BYTES = 64 * 1024
"""Bytes of an unbroken run in which every position is tried; after them only beginnings of segments are."""

UNCONFIRMED_BYTES = 1 << 20
"""Largest length of a message, found by hunting, that may stay unconfirmed."""

JUDGED_BYTES = 16
"""Bytes that must be there before a place is refused, unless its message is shorter or a gap follows."""


PROOF = 100
"""Evidence (Dissector.probe) that messages in a row must add up to."""

LEAST_EVIDENCE = 10
"""Least evidence of a plausible message; it bounds the number of messages in a proof."""


class ByteReader(Protocol):
    """Reads bytes at locations; implemented by Store."""

    def read_bytes(self, location: int, length: int) -> bytes:
        """Returns `length` bytes at a location."""


class FramedBytes(NamedTuple):
    """Holds one message or raw run; `pieces` cover it, gaps included. `raw`: not framed, `cut`: its end is missing."""

    offset: int
    length: int
    pieces: tuple[Piece, ...]
    raw: bool = False
    cut: bool = False


@dataclass(slots=True)
class StreamFramer:
    """Frames one half-stream; carried from block to block. `pieces`: bytes that no message has claimed yet.

    preamble: bytes at the front that a proxy put before the conversation. framer: measures messages while in step;
    None: the dissector's framing does. conversation: knows the requests. During a hunt, `tried` is the next place to
    look at, `open` are the places that wait for more bytes, and `due` says up to which offset. opening: the half-stream
    is known from its first byte on, and no message came yet.
    """

    from_client: bool
    synced: bool = False
    framer: Framer | None = None
    preamble: int = 0
    conversation: Conversation | None = None
    pieces: list[Piece] = field(default_factory=list)
    gaps: int = 0
    wanted: int = 0
    opening: bool = False
    tried: int = 0
    open: list[int] = field(default_factory=list)
    due: list[tuple[int, int]] = field(default_factory=list)

    def begin(self, dissector: Dissector) -> None:
        """Starts in step, before the first byte of the half-stream."""
        self.synced, self.framer = True, dissector.make_framer(self.from_client, True)

    @property
    def settled(self) -> bool:
        """Whether the framer is in step and past all gaps, and the next message depends on nothing before it."""
        return self.synced and not self.gaps and (self.framer is None or self.framer.settled)

    @property
    def position(self) -> int:
        """Stream offset of the first unclaimed byte; undefined if there is none."""
        return self.pieces[0].offset

    @property
    def end(self) -> int:
        """Stream offset after the last unclaimed byte."""
        return self.pieces[-1].end

    def feed(self, piece: Piece, dissector: Dissector | None, reader: ByteReader) -> Iterator[FramedBytes]:
        """Takes the next bytes or gap of the half-stream; yields the messages that are complete now."""
        if not self.pieces:
            self._look_from(piece.offset)
            if self._is_message(piece, dissector, reader):
                self.wanted = piece.end
                yield FramedBytes(piece.offset, piece.length, (piece,))
                return
            self.wanted = piece.offset
        self.pieces.append(piece)
        self.gaps += piece.lost
        if piece.end < self.wanted and self.synced:
            return
        if dissector is not None:
            yield from self._frame_ready(dissector, reader)
        elif piece.lost:
            yield from self.flush(None, reader)

    def _is_message(self, piece: Piece, dissector: Dissector | None, reader: ByteReader) -> bool:
        """Returns whether a piece is exactly one message, as most are; this is a shortcut for _frame_ready()."""
        if not self.synced or self.framer is not None or self.preamble or piece.at < 0 or dissector is None:
            return False
        framing = dissector.framing
        if framing is None or piece.length < framing.width:
            return False
        return framing.size(reader.read_bytes(piece.at, framing.width)) == piece.length

    def _frame_ready(self, dissector: Dissector, reader: ByteReader) -> Iterator[FramedBytes]:
        """Yields the messages that are complete now."""
        while self.pieces:
            if self.preamble:
                frame = self._behind_preamble()
            else:
                frame = self._in_step(dissector, reader) if self.synced else self._hunt(dissector, reader)
            if frame is None:
                break
            if frame.length:
                yield frame

    def flush(self, dissector: Dissector | None, reader: ByteReader) -> Iterator[FramedBytes]:
        """Yields all remaining bytes, one run for each unbroken part.

        Called when the half-stream ends here, or has no dissector.
        """
        if dissector is not None and self.synced and self.framer is not None:
            yield from self._last_measured(dissector, reader)
        if dissector is not None and not self.synced:
            yield from self._last_hunt(dissector, reader)
        if dissector is not None and self.synced and self.pieces and not self.pieces[0].lost:
            yield self._claim(self.end, cut=True)
            self.synced = False  # later bytes would begin inside this message
        while self.pieces:
            if self.pieces[0].lost:
                self._claim(self.pieces[0].end)
            else:
                yield self._claim_until_gap() or self._claim(self.end, raw=True)

    def _in_step(self, dissector: Dissector, reader: ByteReader) -> FramedBytes | None:
        """Returns the next message, an empty one if only the state changed, or None if more bytes are needed."""
        if self.pieces[0].lost:
            return self._fall_out()
        size = self._measure_front(dissector, reader)
        if size < 0 and self.gaps:
            size = self._measure_across(dissector, reader)
            if not size:
                return self._claim_until_gap(raw=False)
        if size < 0:
            return None
        if size == 0:
            return self._fall_out()
        self.wanted = self.position + size
        return self._claim(self.wanted) if self.end >= self.wanted else None

    def _measure_front(self, dissector: Dissector, reader: ByteReader, ended: bool = False) -> int:
        """Returns the length of the message at the front: 0 if there can be none, negative if more bytes are needed."""
        if self.framer is not None:
            size = self.framer.length(UnclaimedBytes(self, self.position, reader), ended)
            if size is not None:
                return size
            self.framer = None
        framing = dissector.framing
        if framing is None:
            return 0
        head = self.peek(self.position, framing.width, reader)
        return framing.size(head) if len(head) == framing.width else -framing.width

    def _measure_across(self, dissector: Dissector, reader: ByteReader, ended: bool = False) -> int:
        """Returns the length of a message with a gap; 0 if it is unknown, or the bytes after it contradict it."""
        if self.framer is None:
            return 0
        gap = next(piece for piece in self.pieces if piece.lost)
        lost = range(gap.offset - self.position, gap.end - self.position)
        size = self.framer.measure_across_loss(ZeroFilledBytes(self, self.position, reader), lost, ended)
        behind = self.position + size
        if size > 0 and self.end >= behind + JUDGED_BYTES:
            prefix = self.peek(behind, PREFIX, reader)
            if len(prefix) >= JUDGED_BYTES and self._check_message(behind, prefix, dissector, reader) == -1:
                return 0
        return size

    def _behind_preamble(self) -> FramedBytes | None:
        """Returns the proxy's preamble as a raw run, or None while it is incomplete."""
        if self.gaps:
            self.preamble, self.synced = 0, False
            return self._fall_out() if self.pieces[0].lost else FramedBytes(self.position, 0, ())
        if self.end - self.position < self.preamble:
            return None
        size, self.preamble = self.preamble, 0
        return self._claim(self.position + size, raw=True)

    def _last_measured(self, dissector: Dissector, reader: ByteReader) -> Iterator[FramedBytes]:
        """Yields messages that the end of the half-stream completes."""
        while self.framer is not None and self.pieces and not self.pieces[0].lost and not self.preamble:
            size = self._measure_front(dissector, reader, ended=not self.gaps)
            if size < 0 and self.gaps:
                size = self._measure_across(dissector, reader, ended=True)
                if size <= 0 and (frame := self._claim_until_gap(raw=False)) is not None:
                    yield frame  # its end will never be known
                    self._fall_out()
                    yield from self._frame_ready(dissector, reader)
                    continue
            if size <= 0 or self.position + size > self.end:
                break
            yield self._claim(self.position + size)

    def _fall_out(self) -> FramedBytes:
        """Falls out of step, and skips a gap at the front."""
        self.opening = self.framer is not None and not self.position and not self.pieces[0].lost
        self.synced, self.framer = False, None
        empty = FramedBytes(self.position, 0, ())
        while self.pieces and self.pieces[0].lost:
            self._claim(self.pieces[0].end)
        self._look_from(self.position if self.pieces else 0)
        return empty

    def _look_from(self, place: int) -> None:
        self.tried = place
        self.open.clear()
        self.due.clear()

    def _hunt(self, dissector: Dissector, reader: ByteReader) -> FramedBytes | None:
        """Looks for a message; returns the raw run before it, an empty one, or None for more bytes."""
        if self.pieces[0].lost:
            return self._fall_out()
        ended = bool(self.gaps)
        for place in self._iterate_candidates(dissector, reader):
            needed = self._check_place(place, dissector, reader)
            if not needed:
                return self._sync(place, dissector, reader)
            if needed > 0 and not ended:
                insort(self.open, place)
                heappush(self.due, (needed, place))
        return self._give_up_waiting(dissector, reader) if ended else None

    def _iterate_candidates(self, dissector: Dissector, reader: ByteReader) -> Iterator[int]:
        """Yields places that were not tried yet, or that have the bytes they waited for."""
        ready = []
        while self.due and self.due[0][0] <= self.end:
            ready.append(heappop(self.due)[1])
        for place in sorted(ready):
            del self.open[bisect_left(self.open, place)]
            yield place
        yield from self._iterate_places(reader)
        last = next((piece.offset for piece in self.pieces if piece.lost), self.end) if self.gaps else self.end
        width = JUDGED_BYTES if dissector.framing is None else dissector.framing.width
        self.tried = max(self.tried, last - width + 1)

    def _give_up_waiting(self, dissector: Dissector, reader: ByteReader) -> FramedBytes | None:
        """Takes the first place that needs no more bytes, because none will come before the gap.

        If there is none, all bytes are a raw run.
        """
        waiting = sorted(place for _, place in self.due)
        self._look_from(self.tried)
        for proof in (PROOF, 0):
            for place in waiting:
                if self._check_place(place, dissector, reader, proof) == 0:
                    return self._sync(place, dissector, reader)
        return self._claim_until_gap()

    def _last_hunt(self, dissector: Dissector, reader: ByteReader) -> Iterator[FramedBytes]:
        """Yields what can be framed at the end of the half-stream."""
        while self.pieces and not self.pieces[0].lost and not self.synced:
            frame = self._give_up_waiting(dissector, reader)
            if frame is None:
                return
            if frame.length:
                yield frame
        while self.pieces and self.synced and (frame := self._in_step(dissector, reader)) is not None:
            if frame.length:
                yield frame

    def _sync(self, place: int, dissector: Dissector, reader: ByteReader) -> FramedBytes:
        begin, framing = self.position, dissector.framing
        self.synced = True
        measured = framing is None or not framing.size(self.peek(place, framing.width, reader))
        self.framer = dissector.make_framer(self.from_client, self.opening) if measured else None
        self.wanted = place
        self._look_from(place)
        return self._claim(place, raw=True) if place > begin else FramedBytes(begin, 0, ())

    def _claim_until_gap(self, raw: bool = True) -> FramedBytes | None:
        """Claims the bytes before a gap: a raw run, or a message of unknown length."""
        if not self.gaps:
            return None
        lost = next(piece for piece in self.pieces if piece.lost)
        return self._claim(lost.offset, raw=raw, cut=not raw)

    def _find_piece(self, offset: int) -> int:
        """Returns the index of the unclaimed piece that holds a stream offset."""
        return max(bisect_right(self.pieces, (offset + 1,)) - 1, 0)

    def _iterate_places(self, reader: ByteReader) -> Iterator[int]:
        """Yields the places where a message might begin, from `tried` to the next gap."""
        for index in range(self._find_piece(self.tried), len(self.pieces)):
            piece = self.pieces[index]
            if piece.lost:
                return
            if piece.offset >= self.tried:
                yield piece.offset
            first = max(piece.offset + 1, self.tried)
            last = min(piece.end, self.position + HUNT_BYTES)
            if first >= last:
                continue
            data = reader.read_bytes(piece.at + first - piece.offset, last - first)
            found = data.find(0)
            while found >= 0:
                yield first + found
                found = data.find(0, found + 1)

    def _check_place(self, place: int, dissector: Dissector, reader: ByteReader, proof: int = PROOF) -> int:
        """Returns whether a message begins at `place`: 0 yes, -1 no, else the offset up to which bytes must come."""
        rival = bool(self.open) and self.open[0] < place
        evidence, messages, at = 0, 0, place
        while True:
            prefix = self.peek(at, PREFIX, reader)
            size = self._check_message(at, prefix, dissector, reader)
            if size < 0:
                return at - size if size < -1 else -1
            evidence += max(dissector.probe(prefix[:size], self.from_client), LEAST_EVIDENCE)
            rival |= not messages and (self._is_unasked(prefix[:size]) or self._is_vague(evidence))
            if messages and evidence >= proof:
                return 0
            if at + size > self.end:
                return at + size if at + size - self.end <= UNCONFIRMED_BYTES else -1
            messages, at = messages + 1, at + size
            if at == self.end or self._at_gap(at):
                return self._check_at_end(place, at, rival)

    def _is_unasked(self, prefix: bytes) -> bool:
        return self.conversation is not None and self.conversation.is_unrequested(prefix, self.from_client)

    def _is_vague(self, evidence: int) -> bool:
        """Returns whether a client's first message has too little evidence to follow other bytes."""
        return self.opening and self.from_client and evidence < SURE

    def _check_at_end(self, place: int, end: int, rival: bool) -> int:
        """Returns the result of _check_place() if messages end with the bytes of a segment or before a gap."""
        last = self.pieces[self._find_piece(end - 1)]
        if last.lost:
            return 0 if self.pieces[self._find_piece(place)].offset == place else -1
        return end + 1 if rival or last.end != end else 0

    def _at_gap(self, offset: int) -> bool:
        return self.gaps > 0 and self.pieces[self._find_piece(offset)].lost

    def _check_message(self, at: int, prefix: bytes, dissector: Dissector, reader: ByteReader) -> int:
        """Returns the length of the message at `at`, or -1 if there can be none.

        If more bytes are needed, it returns minus their number (at least 2).
        """
        framing = dissector.framing
        if framing is None:
            return self._measure_message(at, prefix, dissector, reader)
        if len(prefix) >= framing.width:
            size = framing.size(prefix[: framing.width])
            if not size:
                return self._measure_message(at, prefix, dissector, reader)
            if dissector.plausible(prefix[:size], self.from_client):
                return size
            enough = min(size, JUDGED_BYTES)
        else:
            enough = framing.width
        return -enough if self._may_grow(at, enough) else -1

    def _measure_message(self, at: int, prefix: bytes, dissector: Dissector, reader: ByteReader) -> int:
        """Returns the result of _check_message() if only a Framer can measure the message."""
        framer = dissector.make_framer(self.from_client, self.opening)
        size = framer.length(UnclaimedBytes(self, at, reader), False) if framer is not None else None
        if not size:
            return -1
        if size > 0:
            return size if dissector.plausible(prefix[:size], self.from_client) else -1
        return min(size, -2) if self._may_grow(at, -size) else -1

    def _may_grow(self, place: int, length: int) -> bool:
        """Returns whether fewer than `length` bytes are known at `place`, and no gap cuts them off."""
        return self.end - place < length and not any(piece.lost for piece in self.pieces[self._find_piece(place) :])

    def unbroken(self, offset: int) -> int:
        """Returns the stream offset up to which bytes have come from `offset` on, without a gap."""
        if not self.gaps:
            return self.end
        return next((piece.offset for piece in self.pieces[self._find_piece(offset) :] if piece.lost), self.end)

    def peek(self, offset: int, length: int, reader: ByteReader, zeros: bool = False) -> bytes:
        """Returns up to `length` bytes from a stream offset on, ending at the first gap.

        With `zeros` a gap reads as zeros.
        """
        parts: list[bytes] = []
        for index in range(self._find_piece(offset), len(self.pieces)):
            piece = self.pieces[index]
            if (piece.lost and not zeros) or length <= 0 or piece.end <= offset:
                break
            begin = offset - piece.offset
            size = min(length, piece.length - begin)
            part = bytes(size) if piece.lost else reader.read_bytes(piece.at + begin, size)
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return b"".join(parts)

    def _claim(self, end: int, raw: bool = False, cut: bool = False) -> FramedBytes:
        """Removes the bytes up to stream offset `end` from the unclaimed ones and returns them."""
        begin = self.position
        count = self._find_piece(end - 1) + 1
        taken = self.pieces[:count]
        del self.pieces[:count]
        if taken and taken[-1].end > end:
            self.pieces.insert(0, taken[-1].cut(end, taken[-1].end))
            taken[-1] = taken[-1].cut(taken[-1].offset, end)
        if self.gaps:
            self.gaps = sum(piece.lost for piece in self.pieces)
        return FramedBytes(begin, end - begin, tuple(taken), raw, cut)


class UnclaimedBytes:
    """Reads unclaimed bytes, from stream offset `begin` to the next gap, like a paged message."""

    def __init__(self, framer: StreamFramer, begin: int, reader: ByteReader) -> None:
        self._framer, self._begin, self._reader = framer, begin, reader

    def __len__(self) -> int:
        return self._framer.unbroken(self._begin) - self._begin

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset` on; fewer if no more have come."""
        return self._framer.peek(self._begin + offset, length, self._reader)


class ZeroFilledBytes(UnclaimedBytes):
    """Reads all unclaimed bytes; lost ones read as zeros."""

    def __len__(self) -> int:
        return self._framer.end - self._begin

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset` on, with zeros for lost ones; fewer if no more have come."""
        return self._framer.peek(self._begin + offset, length, self._reader, zeros=True)
