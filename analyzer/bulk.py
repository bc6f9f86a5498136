"""Many steady connections at once: the fast road from clean packets to rows.

Theory. Most packets of most captures are dull: the next bytes of an open connection, all there. For them sequence
numbers are checked with one cumulative sum for each half-stream, and messages are cut by a guess: a segment that
begins with be32(start) == length - 4 is one message, tested for all segments at once; only half-streams where the
guess fails somewhere are walked, a step for each message. Bytes are never joined; a message is a run of pieces.
Offsets of all half-streams lie on one line here (`line`), one half-stream after the other, so that one searchsorted
serves all of them.

The plain twin is analyzer.walker; tests/analyzer/test_engine.py holds the two equal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from analyzer.capture.packets import PacketBlock
from analyzer.columns import Array, Bools, Ints, ranks, runs
from analyzer.connection import Connection
from analyzer.framing import Framer, Reader
from analyzer.reassembly import HALF, REMEMBERED, WINDOW, Piece
from analyzer.streams import ACK, FIN, RST, SYN
from dissectors.api import LengthPrefixed

MASK = 0xFFFFFFFF


class Bytes(Reader, Protocol):
    """The capture room's Store, as far as it is needed here."""

    def gather(self, locations: Ints, width: int) -> Array:
        """Rows of `width` bytes at many places."""


@dataclass(slots=True)
class Work:
    """Packets of one connection in this block: `packets[at:]` are still to do, `patience` of them one by one."""

    connection: Connection
    packets: Ints
    at: int = 0
    patience: int = 0

    @property
    def left(self) -> int:
        """Packets still to do."""
        return len(self.packets) - self.at


class Segments(NamedTuple):
    """n segments, sorted by half-stream (`half` = 2 * work + side) and in order within; `line` is each one's begin."""

    half: Ints
    line: Ints
    offset: Ints
    at: Ints
    length: Ints
    packet: Ints
    time: Ints

    @property
    def line_end(self) -> Ints:
        """Where each segment ends on the line."""
        return self.line + self.length


class Messages(NamedTuple):
    """m messages in order of half-stream and offset: where on the line, and which segments hold them (inclusive)."""

    line: Ints
    length: Ints
    first: Ints
    last: Ints


def clean_runs(block: PacketBlock, works: Sequence[Work]) -> list[int]:
    """For each work how many packets from its `at` on are dull: in order, complete, without SYN, FIN or RST."""
    counts = np.array([work.left for work in works], np.int64)
    packets = np.concatenate([work.packets[work.at :] for work in works])
    owner = np.repeat(np.arange(len(works)), counts)
    half = owner * 2 + block.direction[packets]
    by_half = np.argsort(half, kind="stable")
    chosen = packets[by_half]
    length = block.length[chosen].astype(np.int64)
    begin, end = runs(half[by_half])
    total = np.cumsum(length) - length
    expected = np.array([_next_seq(work.connection, side) for work in works for side in (0, 1)], np.int64)
    expected = expected[half[by_half]] + total - np.repeat(total[begin], end - begin)
    wrong = (length > 0) & ((block.seq[chosen] != expected & MASK) | (block.captured[chosen] < length))
    wrong |= block.flags[chosen] & (SYN | FIN | RST) != 0
    bad = np.empty(len(packets), bool)
    bad[by_half] = wrong
    bad |= _early(block, works, packets, owner, counts)
    places = np.append(np.flatnonzero(bad), len(packets))
    start = np.cumsum(counts) - counts
    first_bad = places[np.searchsorted(places, start)]
    clean: list[int] = np.minimum(first_bad - start, counts).tolist()
    return clean


def _early(block: PacketBlock, works: Sequence[Work], packets: Ints, owner: Ints, counts: Ints) -> Bools:
    """Packets with payload that acknowledge more of the other side than has come, if all before them is clean."""
    side, length = block.direction[packets], block.length[packets].astype(np.int64)
    first = np.cumsum(counts) - counts
    came = []
    for each in (0, 1):
        own = np.where(side == each, length, 0)
        before = np.cumsum(own) - own
        came.append(before - np.repeat(before[first], counts))
    expected = np.array([_next_seq(work.connection, each) for work in works for each in (0, 1)], np.int64)
    other = expected[2 * owner + 1 - side] + np.where(side == 0, came[1], came[0])
    ahead = block.ack[packets].astype(np.int64) - other & MASK
    early: Bools = (length > 0) & (block.flags[packets] & ACK != 0) & (ahead > 0) & (ahead <= WINDOW)
    return early


def _next_seq(connection: Connection, side: int) -> int:
    half = connection.halves[side]
    assert half.base is not None
    return half.base + half.next & MASK


def segments(block: PacketBlock, taken: Sequence[tuple[Work, int]]) -> Segments:
    """The payload of the next packets of each work, behind what its framers have not claimed yet."""
    packets = np.concatenate([work.packets[work.at : work.at + count] for work, count in taken])
    owner = np.repeat(np.arange(len(taken)), [count for _, count in taken])
    filled = block.length[packets] > 0
    packets, owner = packets[filled], owner[filled]
    held = [
        (2 * index + side, *piece)
        for index, (work, _) in enumerate(taken)
        for side in (0, 1)
        for piece in _framer(work.connection, side).pieces
    ]
    old = np.array(held, np.int64).reshape(len(held), 6).T
    half = np.concatenate((old[0], owner * 2 + block.direction[packets]))
    by_half = np.argsort(half, kind="stable")
    columns = (
        half,
        np.concatenate((old[2], block.at[packets])),
        np.concatenate((old[3], block.length[packets])),
        np.concatenate((old[4], block.number[packets])),
        np.concatenate((old[5], block.time[packets])),
    )
    half, at, length, packet, time = (column[by_half] for column in columns)
    line = np.cumsum(length) - length
    begin, end = runs(half)
    origin = np.array([_origin(work.connection, side) for work, _ in taken for side in (0, 1)], np.int64)
    offset = line - np.repeat(line[begin], end - begin) + origin[half]
    return Segments(half, line, offset, at, length, packet, time)


def _framer(connection: Connection, side: int) -> Framer:
    assert connection.framers is not None
    return connection.framers[side]


def _origin(connection: Connection, side: int) -> int:
    """Stream offset of the first byte that no message has claimed."""
    framer = _framer(connection, side)
    return framer.position if framer.pieces else connection.halves[side].next


def cut(parts: Segments, framing: LengthPrefixed, store: Bytes) -> tuple[Messages, set[int]]:
    """Cuts all half-streams into messages; returns also the half-streams where a length made no sense."""
    begin, end = runs(parts.half)
    word = store.gather(parts.at, framing.width).astype(np.int64) @ (1 << 8 * np.arange(framing.width)[::-1])
    word[parts.length < framing.width] = -1
    alone = (word + framing.width == parts.length) & (word >= framing.minimum) & (word <= framing.maximum)
    dull = np.logical_and.reduceat(alone, begin) if len(begin) else np.empty(0, bool)
    whole = np.repeat(dull, end - begin)
    lines, lengths = [parts.line[whole]], [parts.length[whole]]
    refused: set[int] = set()
    walker = _LineWalker(parts, framing, store, word, alone)
    for index in np.flatnonzero(~dull).tolist():
        found = walker.walk(int(begin[index]), int(end[index]))
        if found is None:
            refused.add(int(parts.half[begin[index]]))
        else:
            lines.append(found[0])
            lengths.append(found[1])
    line, length = np.concatenate(lines), np.concatenate(lengths)
    order = np.argsort(line, kind="stable")
    line, length = line[order], length[order]
    first = np.searchsorted(parts.line, line, "right") - 1
    last = np.searchsorted(parts.line, line + length - 1, "right") - 1
    return Messages(line, length, first, last), refused


class _LineWalker:
    """Cuts one half-stream message by message, but passes over runs of segments that are one message each."""

    def __init__(self, parts: Segments, framing: LengthPrefixed, store: Bytes, word: Ints, alone: Bools) -> None:
        self._parts, self._framing, self._store = parts, framing, store
        self._word = word
        self._line = parts.line.tolist()
        self._at = parts.at
        self._odd = np.flatnonzero(~alone)

    def walk(self, first: int, last: int) -> tuple[Ints, Ints] | None:
        """Begins and lengths of the messages in segments `first` to `last` (exclusive); None: out of step."""
        parts, width = self._parts, self._framing.width
        stop = int(parts.line[last - 1] + parts.length[last - 1])
        pieces: list[tuple[Ints, Ints]] = []
        lines: list[int] = []
        lengths: list[int] = []
        index, here = first, self._line[first]
        while here + width <= stop:
            if here == self._line[index]:
                next_odd = np.searchsorted(self._odd, index)
                run_end = min(int(self._odd[next_odd]) if next_odd < len(self._odd) else last, last)
                if run_end > index:
                    pieces.append((np.array(lines, np.int64), np.array(lengths, np.int64)))
                    pieces.append((parts.line[index:run_end], parts.length[index:run_end]))
                    lines, lengths, index = [], [], run_end
                    if run_end == last:
                        break
                    here = self._line[index]
                    continue
            size = self._size(index, here)
            if not self._framing.minimum <= size <= self._framing.maximum:
                return None
            following = here + width + size
            if following > stop:
                break
            lines.append(here)
            lengths.append(width + size)
            here = following
            index = min(bisect_right(self._line, here, index, last) - 1, last - 1)
        pieces.append((np.array(lines, np.int64), np.array(lengths, np.int64)))
        return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])

    def _size(self, index: int, here: int) -> int:
        """The length that stands at `here`, in segment `index` or across several."""
        parts, width = self._parts, self._framing.width
        inside = here - self._line[index]
        if inside == 0 and self._word[index] >= 0:
            return int(self._word[index])
        found = b""
        while len(found) < width:
            part = min(int(parts.length[index]) - inside, width - len(found))
            found += self._store.read(int(parts.at[index]) + inside, part)
            index, inside = index + 1, 0
        return int.from_bytes(found, "big")


def settle(block: PacketBlock, taken: Sequence[tuple[Work, int]], parts: Segments, cutting: Messages) -> None:
    """Leaves each connection as the plain road would have: what is expected next, what no message has claimed yet."""
    acknowledged = _acknowledged(block, taken)
    halves = np.arange(2 * len(taken))
    begin = np.searchsorted(parts.half, halves).tolist()
    end = np.searchsorted(parts.half, halves, "right").tolist()
    line_end = parts.line_end
    claimed = _claimed(parts, cutting, begin, end)
    rest = np.searchsorted(line_end, claimed, "right").tolist()
    for half in halves.tolist():
        connection, side = taken[half // 2][0].connection, half % 2
        stream, first, last = connection.halves[side], begin[half], end[half]
        if first < last:
            newest = _pieces(parts, max(first, last - REMEMBERED), last)
            stream.recent.extend(piece for piece in newest if piece.offset >= stream.next)
            stream.next = newest[-1].end
            connection.latest[side] = max(connection.latest[side], (newest[-1].packet, newest[-1].time))
            framer = _framer(connection, side)
            framer.pieces = _pieces(parts, min(rest[half], last), last)
            if framer.pieces:
                head = framer.pieces[0]
                inside = max(int(claimed[half]) - int(parts.line[rest[half]]), 0)
                framer.pieces[0] = head.cut(head.offset + inside, head.end)
                framer.wanted = framer.position
        stream.acknowledged = max(stream.acknowledged, acknowledged[half])


def _claimed(parts: Segments, cutting: Messages, begin: list[int], end: list[int]) -> Ints:
    """For each half-stream the place on the line where its last message ends, or its begin without any."""
    claimed = np.append(parts.line, 0)[begin] if len(parts.line) else np.zeros(len(begin), np.int64)
    if len(cutting.line):
        message_half = parts.half[cutting.first]
        _, last = runs(message_half)
        claimed[message_half[last - 1]] = cutting.line[last - 1] + cutting.length[last - 1]
    return claimed


def _acknowledged(block: PacketBlock, taken: Sequence[tuple[Work, int]]) -> list[int]:
    """For each half-stream the highest offset that its other side acknowledged, -1 for none. Before it is settled."""
    packets = np.concatenate([work.packets[work.at : work.at + count] for work, count in taken])
    owner = np.repeat(np.arange(len(taken)), [count for _, count in taken])
    half = owner * 2 + 1 - block.direction[packets]
    sent = block.flags[packets] & ACK != 0
    here = [work.connection.halves[side].next for work, _ in taken for side in (0, 1)]
    expected = np.array([_next_seq(work.connection, side) for work, _ in taken for side in (0, 1)], np.int64)
    ahead = (block.ack[packets[sent]] - expected[half[sent]] + HALF & MASK) - HALF
    found = np.full(2 * len(taken), -1, np.int64)
    np.maximum.at(found, half[sent], np.array(here, np.int64)[half[sent]] + ahead)
    highest: list[int] = found.tolist()
    return highest


def _pieces(parts: Segments, first: int, last: int) -> list[Piece]:
    columns = (parts.offset, parts.at, parts.length, parts.packet, parts.time)
    return [Piece(*row) for row in zip(*(column[first:last].tolist() for column in columns), strict=True)]


def pieces_of(parts: Segments, cutting: Messages) -> tuple[Ints, ...]:
    """The pieces of all messages in order: count for each message, then the columns of Pieces."""
    count = cutting.last - cutting.first + 1
    segment = np.repeat(cutting.first, count) + ranks(count)
    begin = np.maximum(parts.line[segment], np.repeat(cutting.line, count))
    end = np.minimum(parts.line_end[segment], np.repeat(cutting.line + cutting.length, count))
    return (
        count,
        parts.at[segment] + begin - parts.line[segment],
        end - begin,
        parts.packet[segment],
        parts.time[segment],
    )
