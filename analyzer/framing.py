"""One half-stream's bytes in order, cut into messages.

Theory. While we are in step, a message says itself how long it is, and the next one begins behind it; a gap inside a message
does no harm, for its end is known. We fall out of step when a length makes no sense or when a gap swallowed one: then we hunt
for the next place where a message plausibly begins, and what was passed over is a raw run. A place counts when the dissector
finds it plausible and what follows confirms it: another plausible beginning behind the message, or an end where a segment
ends. Segments are tried before the bytes inside them, since senders begin a message with a write.

The bulk twin of the way in step is analyzer.bulk.cut; tests/analyzer/test_engine.py holds them equal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from analyzer.reassembly import Piece
from dissectors.api import PREFIX, Dissector

HUNT_BYTES = 64 * 1024
"""How far into an unbroken run every byte is tried; beyond, only the beginnings of segments are."""

UNCONFIRMED_BYTES = 1 << 20
"""A message found by hunting may not claim more than this before something confirms it."""


class Reader(Protocol):
    """Where bytes are read from: the capture room's Store."""

    def read(self, location: int, length: int) -> bytes: ...


class Frame(NamedTuple):
    """One message or raw run: `pieces` cover it (gaps included); `raw` without framing, `cut` when its end is missing."""

    offset: int
    length: int
    pieces: tuple[Piece, ...]
    raw: bool = False
    cut: bool = False


@dataclass(slots=True)
class Framer:
    """Carried from block to block: the pieces that no message has claimed yet. `dissector` None: all is raw."""

    from_client: bool
    synced: bool = False
    pieces: list[Piece] = field(default_factory=list)
    gaps: int = 0
    wanted: int = 0
    tried: int = 0

    @property
    def position(self) -> int:
        """Stream offset of the first unclaimed byte; meaningless while there is none."""
        return self.pieces[0].offset

    @property
    def end(self) -> int:
        return self.pieces[-1].end

    def feed(self, piece: Piece, dissector: Dissector | None, reader: Reader) -> Iterator[Frame]:
        """Takes the next bytes or gap of the half-stream; yields what is complete now."""
        if not self.pieces:
            self.wanted = self.tried = piece.offset
        self.pieces.append(piece)
        self.gaps += piece.lost
        if piece.end < self.wanted and self.synced:
            return
        while self.pieces and dissector is not None:
            frame = self._in_step(dissector, reader) if self.synced else self._hunt(dissector, reader)
            if frame is None:
                break
            if frame.length:
                yield frame
        if dissector is None and piece.lost:
            yield from self.flush()

    def flush(self) -> Iterator[Frame]:
        """The half-stream ends here, or nobody will frame it: what is left, one frame for each unbroken run."""
        if self.synced and self.pieces and not self.pieces[0].lost:
            yield self._claim(self.end, cut=True)
        while self.pieces:
            if self.pieces[0].lost:
                self._claim(self.pieces[0].end)
            else:
                yield self._until_gap() or self._claim(self.end, raw=True)

    def _in_step(self, dissector: Dissector, reader: Reader) -> Frame | None:
        """The next message, an empty frame when only the state changed, or None when more bytes are needed."""
        framing = dissector.framing
        if self.pieces[0].lost:
            return self._fall_out()
        head = self._peek(self.position, framing.width, reader)
        if len(head) < framing.width:
            return self._until_gap(raw=False)
        size = int.from_bytes(head, "big")
        if not framing.minimum <= size <= framing.maximum:
            return self._fall_out()
        self.wanted = self.position + framing.width + size
        return self._claim(self.wanted) if self.end >= self.wanted else None

    def _fall_out(self) -> Frame:
        """Out of step from here on; a gap at the front is passed over."""
        self.synced = False
        empty = Frame(self.position, 0, ())
        while self.pieces and self.pieces[0].lost:
            self._claim(self.pieces[0].end)
        self.tried = self.position if self.pieces else 0
        return empty

    def _hunt(self, dissector: Dissector, reader: Reader) -> Frame | None:
        if self.pieces[0].lost:
            return self._fall_out()
        begin = self.position
        for place in self._places(reader):
            confirmed = self._confirm(place, dissector, reader)
            if confirmed is None:
                self.tried = place
                return self._until_gap()
            if confirmed:
                self.synced = True
                self.wanted = place
                return self._claim(place, raw=True) if place > begin else Frame(begin, 0, ())
        self.tried = max(self.tried, self.end - dissector.framing.width + 1)
        return self._until_gap()

    def _until_gap(self, raw: bool = True) -> Frame | None:
        """What a gap has ended can't grow any more: a raw run, or a message of which not even the length is there."""
        if not self.gaps:
            return None
        lost = next(piece for piece in self.pieces if piece.lost)
        return self._claim(lost.offset, raw=raw, cut=not raw)

    def _index(self, offset: int) -> int:
        """Which unclaimed piece holds a stream offset."""
        return max(bisect_right(self.pieces, (offset + 1,)) - 1, 0)

    def _places(self, reader: Reader) -> Iterator[int]:
        """Where a message might begin, from `tried` to the next gap, in order."""
        for index in range(self._index(self.tried), len(self.pieces)):
            piece = self.pieces[index]
            if piece.lost:
                return
            if piece.offset >= self.tried:
                yield piece.offset
            first = max(piece.offset + 1, self.tried)
            last = min(piece.end, self.position + HUNT_BYTES)
            if first >= last:
                continue
            data = reader.read(piece.at + first - piece.offset, last - first)
            found = data.find(0)
            while found >= 0:
                yield first + found
                found = data.find(0, found + 1)

    def _confirm(self, place: int, dissector: Dissector, reader: Reader) -> bool | None:
        """Whether a message begins at `place`; None: more bytes will tell."""
        framing = dissector.framing
        prefix = self._peek(place, PREFIX, reader)
        if len(prefix) < framing.width:
            return None
        end = place + framing.width + int.from_bytes(prefix[: framing.width], "big")
        if not framing.minimum <= end - place - framing.width <= framing.maximum:
            return False
        if not dissector.plausible(prefix[: end - place], self.from_client):
            return False
        if end > self.end:
            return None if end - self.end <= UNCONFIRMED_BYTES else False
        following = self._peek(end, PREFIX, reader)
        if len(following) >= framing.width:
            return dissector.plausible(following, self.from_client)
        last = self.pieces[self._index(end - 1)]
        if last.lost:
            return self.pieces[self._index(place)].offset == place
        return True if last.end == end else None

    def _peek(self, offset: int, length: int, reader: Reader) -> bytes:
        """Up to `length` bytes from a stream offset on, ending at the first gap."""
        parts: list[bytes] = []
        for index in range(self._index(offset), len(self.pieces)):
            piece = self.pieces[index]
            if piece.lost or length <= 0 or piece.end <= offset:
                break
            begin = offset - piece.offset
            part = reader.read(piece.at + begin, min(length, piece.length - begin))
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return b"".join(parts)

    def _claim(self, end: int, raw: bool = False, cut: bool = False) -> Frame:
        """Takes the bytes up to stream offset `end` out of the unclaimed ones."""
        begin = self.position
        count = self._index(end - 1) + 1
        taken = self.pieces[:count]
        del self.pieces[:count]
        if taken and taken[-1].end > end:
            self.pieces.insert(0, taken[-1].cut(end, taken[-1].end))
            taken[-1] = taken[-1].cut(taken[-1].offset, end)
        if self.gaps:
            self.gaps = sum(piece.lost for piece in self.pieces)
        return Frame(begin, end - begin, tuple(taken), raw, cut)
