"""The fast path: cuts clean packets of many steady connections into messages, all at once.

Theory. Most packets of most captures are the next bytes of an open connection. For them, one cumulative sum for each
half-stream checks sequence numbers. Then message_spans.py cuts messages. Bytes are never copied; a message is a run of
pieces, some of which the snap length may have cut off. The offsets of all half-streams form one line, one half-stream
after the other, so one searchsorted serves all of them.

The reference implementation is analyzer.messages.slow_path; tests/analyzer/messages/test_engine.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from analyzer.capture.packets import PacketBlock
from analyzer.columns.arrays import Array, Bools, Ints, argsort_stable, find_runs, rank_in_runs
from analyzer.messages.connection import Connection
from analyzer.messages.framing import StreamFramer
from analyzer.messages.message_spans import MessageSpans, Segments
from analyzer.tcp.reassembly import REMEMBERED, SNAPPED, WINDOW, Piece
from analyzer.tcp.streams import ACK, FIN, RST, SYN
from dissectors.api import Conversation
from dissectors.slotted import make_slotted

if TYPE_CHECKING:
    from analyzer.messages.tls_fast_path import DecryptedRun

MASK = 0xFFFFFFFF
NOTHING = -(1 << 62)

FEWEST_PACKETS = 64
"""Number of packets of a TLS connection that are decrypted at once after a run that ended early."""


@make_slotted(frozen=False)
class ConnectionWork:
    """Holds the packets of one connection in this block: `packets[at:]` are left, `patience` of them for the slow path.

    unlooked: packets for the slow path before the fast path is considered again. repeats: the clean packets that only
    contain retransmissions. reach: packets that are decrypted at once. decrypted: the plaintext of the next packets.
    """

    connection: Connection
    packets: Ints
    at: int = 0
    patience: int = 0
    unlooked: int = 16
    repeats: Ints | None = None
    reach: int = 1 << 20
    decrypted: DecryptedRun | None = None

    @property
    def left(self) -> int:
        """Number of packets that are left."""
        return len(self.packets) - self.at

    def start_run(self, run: DecryptedRun | None, tried: int) -> None:
        """Takes the plaintext of the next packets; None if not even one was decrypted. tried: number of packets."""
        self.decrypted = run
        if run is None:
            self.reach = max(self.reach >> 4, FEWEST_PACKETS)
            return
        self.reach = FEWEST_PACKETS if run.packets < tried else 4 * self.reach
        if self.repeats is not None:
            self.repeats = self.repeats[np.isin(self.repeats, self.packets[self.at :][: run.packets])]


def count_clean_packets(block: PacketBlock, works: Sequence[ConnectionWork]) -> list[int]:
    """Returns for each work how many of its next packets are clean: in order, without SYN, FIN or RST.

    Snapped packets are clean unless the conversation depends on lost bytes (Conversation.note_loss). A packet with
    payload may not acknowledge bytes of the other side that have not come. Retransmissions are clean, too, and are put
    into the work's `repeats`.
    """
    counts = np.array([work.left for work in works], np.int64)
    start = np.cumsum(counts) - counts
    packets = np.concatenate([work.packets[work.at :] for work in works])
    length, flags = block.length[packets], block.flags[packets]
    second = block.direction[packets] != 0
    # 32-bit integers wrap as sequence numbers do.
    size = length.astype(np.uint32)
    came = []
    for each, sent in enumerate((size * ~second, size * second)):
        before = np.cumsum(sent, dtype=np.uint32) - sent
        expected = np.array([_next_seq(work.connection, each) for work in works], np.uint32)
        came.append(before + np.repeat(expected - before[start], counts))
    own, other = np.where(second, came[1], came[0]), np.where(second, came[0], came[1])
    ahead = block.ack[packets] - other
    bad = block.seq[packets] != own
    bad |= (block.captured[packets] < length) & np.repeat([_minds_loss(work) for work in works], counts)
    bad |= (flags & ACK != 0) & (ahead > 0) & (ahead <= WINDOW) & ~np.repeat(_find_deaf(works).any(axis=1), counts)
    bad &= length > 0
    bad |= flags & (SYN | FIN | RST) != 0
    bad |= np.where(second, *(np.repeat(deaf, counts) for deaf in _find_deaf(works).T[::-1]))
    places = np.append(np.flatnonzero(bad), len(packets))
    first_bad = places[np.searchsorted(places, start)]
    clean: list[int] = np.minimum(first_bad - start, counts).tolist()
    for index, (work, count) in enumerate(zip(works, clean, strict=True)):
        work.repeats = None
        if count < work.left:
            at = int(start[index]) + count
            behind = int(block.seq[packets[at]]) - int(own[at]) & MASK
            if behind > WINDOW and length[at]:
                clean[index], work.repeats = _count_with_repeats(block, work)
    return clean


def _minds_loss(work: ConnectionWork) -> bool:
    """Returns whether lost bytes change how the conversation of a connection pairs."""
    conversation = work.connection.conversation
    if work.connection.tls is not None:
        return True
    return conversation is None or type(conversation).note_loss is not Conversation.note_loss


def _find_deaf(works: Sequence[ConnectionWork]) -> Bools:
    """Returns for each work and side (n, 2) whether no packet of it is expected, so that any packet is unusual."""
    return np.array([[work.connection.is_deaf_to(side) for side in (0, 1)] for work in works], bool).reshape(-1, 2)


def _count_with_repeats(block: PacketBlock, work: ConnectionWork) -> tuple[int, Ints]:
    """Returns how many packets of a work are clean, and which of them only contain retransmissions."""
    packets = work.packets[work.at :]
    length = block.length[packets].astype(np.int64)
    bad = block.flags[packets] & (SYN | FIN | RST) != 0
    snapped = block.captured[packets] < length
    if _minds_loss(work):
        bad |= snapped
    (deaf,) = _find_deaf([work])
    bad |= deaf[block.direction[packets].astype(np.int64)]
    again = np.zeros(len(packets), bool)
    came = np.zeros((2, len(packets) + 1), np.int64)
    for side in (0, 1):
        sent = np.flatnonzero((block.direction[packets] == side) & (length > 0))
        offset = _unwrap_sequence(block.seq[packets[sent]], _next_seq(work.connection, side))
        end = np.maximum.accumulate(np.append(0, offset + length[sent]))
        again[sent] = offset + length[sent] <= end[:-1]
        bad[sent] |= (offset != end[:-1]) & ~again[sent]
        bad[sent] |= snapped[sent] & again[sent]
        came[side] = end[np.searchsorted(sent, np.arange(len(packets) + 1))]
    other = (block.direction[packets] == 0).astype(np.int64)
    expected = np.array([_next_seq(work.connection, side) for side in (0, 1)], np.int64)[other]
    ahead = block.ack[packets] - ((expected + came[other, np.arange(len(packets))]) & MASK).astype(np.uint32)
    if not deaf.any():
        bad |= (length > 0) & (block.flags[packets] & ACK != 0) & (ahead > 0) & (ahead <= WINDOW)
    count = int(bad.argmax()) if bad.any() else len(packets)
    return count, packets[:count][again[:count]]


def _unwrap_sequence(seq: Array, expected: int) -> Ints:
    """Returns sequence numbers as offsets from the expected one; neighbours must be less than 2^31 apart."""
    steps: Ints = np.diff(seq, prepend=np.uint32(expected)).view(np.int32).astype(np.int64)
    return np.cumsum(steps)


def _next_seq(connection: Connection, side: int) -> int:
    """Returns the sequence number that is expected next."""
    half = connection.halves[side]
    return (half.base or 0) + half.next & MASK


def collect_segments(block: PacketBlock, taken: Sequence[tuple[ConnectionWork, int]]) -> Segments:
    """Returns the payload of the next packets of each work, after the unclaimed pieces of its framers."""
    counts = [count if work.decrypted is None else 0 for work, count in taken]
    packets = np.concatenate([work.packets[work.at :][:count] for (work, _), count in zip(taken, counts, strict=True)])
    owner = np.repeat(np.arange(len(taken)), counts)
    filled = block.length[packets] > 0
    if repeats := [work.repeats for work, _ in taken if work.repeats is not None]:
        filled &= ~np.isin(packets, np.concatenate(repeats))
    packets, owner = packets[filled], owner[filled]
    old = _list_early_segments(taken)
    half = owner * 2 + block.direction[packets]
    columns: list[Array] = [block.at, block.length, block.number, block.time, block.number]
    if early := old.shape[1]:
        half = np.concatenate((old[0], half))
        packets = np.concatenate((np.arange(early), packets + early))
        columns = [np.concatenate((before, column)) for before, column in zip(old[1:], columns, strict=True)]
    by_half = argsort_stable(half)
    half, chosen = half[by_half], packets[by_half]
    at, length, packet, time, closed = (column[chosen] for column in columns)
    length = length.astype(np.int64)
    captured = length.copy()
    came = chosen >= early
    captured[came] = block.captured[chosen[came] - early]
    if (captured < length).any():
        at, length, half, packet, time, closed = _split_snapped(captured, at, length, half, packet, time, closed)
    line = np.cumsum(length) - length
    begin, end = find_runs(half)
    origin = np.array([_origin(work.connection, side) for work, _ in taken for side in (0, 1)], np.int64)
    offset = line - np.repeat(line[begin], end - begin) + origin[half]
    return Segments(half, line, offset, at, length, packet, time, closed)


def _list_early_segments(taken: Sequence[tuple[ConnectionWork, int]]) -> Array:
    """Returns the unclaimed pieces of framers, and the plaintext of TLS connections after them.

    Shape (6, n): half-stream, location, length, packet, time, and the packet with which a segment was readable.
    """
    framed = [
        (2 * index + side, *piece[1:], piece.packet)
        for index, (work, _) in enumerate(taken)
        for side in (0, 1)
        for piece in _framer(work.connection, side).pieces
    ]
    parts = [np.array(framed, np.int64).reshape(-1, 6).T]
    for index, (work, _) in enumerate(taken):
        for side, found in enumerate(work.decrypted.sides if work.decrypted is not None else ()):
            parts.append(np.array((np.full(len(found.plain.at), 2 * index + side), *found.plain)))
    return np.concatenate(parts, axis=1)


def _split_snapped(captured: Ints, at: Ints, length: Ints, *others: Ints) -> Iterator[Ints]:
    """Yields the columns of segments; bytes that the snap length cut off become segments of their own."""
    parts = 1 + (captured < length)
    index = np.repeat(np.arange(len(at)), parts)
    rest = rank_in_runs(parts) > 0
    sizes = np.where(rest, (length - captured)[index], captured[index])
    is_nonempty = sizes > 0
    yield np.where(rest, SNAPPED, at[index])[is_nonempty]
    yield sizes[is_nonempty]
    yield from (column[index[is_nonempty]] for column in others)


def _framer(connection: Connection, side: int) -> StreamFramer:
    assert connection.framers is not None
    return connection.framers[side]


def _origin(connection: Connection, side: int) -> int:
    """Returns the stream offset of the first unclaimed byte."""
    framer = _framer(connection, side)
    if framer.pieces:
        return framer.position
    return connection.halves[side].next if connection.tls is None else connection.tls.offsets[side]


def update_connections(
    block: PacketBlock, taken: Sequence[tuple[ConnectionWork, int]], parts: Segments, cutting: MessageSpans
) -> None:
    """Updates each connection as the slow path would: the next expected byte, and the unclaimed pieces."""
    acknowledged = _find_acknowledged(block, taken)
    halves = np.arange(2 * len(taken))
    begin = np.searchsorted(parts.half, halves).tolist()
    end = np.searchsorted(parts.half, halves, "right").tolist()
    line_end = parts.line_end
    claimed, closing = _find_claimed(parts, cutting, begin)
    latest = [np.append(column, 0)[closing].tolist() for column in (parts.packet, parts.time)]
    rest = np.minimum(np.searchsorted(line_end, claimed, "right"), end).tolist()
    stop = np.append(parts.offset + parts.length, 0)[np.array(end) - 1].tolist()
    newest = _list_newest(parts, taken, begin, end)
    left = _pieces(parts, rest, end)
    for half, (new, pieces) in enumerate(zip(newest, left, strict=True)):
        work, side = taken[half // 2][0], half % 2
        connection = work.connection
        stream = connection.halves[side]
        most = REMEMBERED if work.repeats is None else None
        came = None if work.decrypted is None else work.decrypted.list_pieces(side, stream.next, most)
        if work.repeats is not None:
            if came is None:
                all_new = np.array([column[begin[half] : end[half]] for column in _piece_columns(parts)], np.int64)
            else:
                all_new = np.array(came, np.int64).reshape(-1, len(Piece._fields)).T
            _remember_repeats(block, work, side, all_new)
        is_filled = begin[half] < end[half]
        if came:
            stream.recent.extend(piece for piece in came[-REMEMBERED:] if piece.offset >= stream.next)
            stream.next = came[-1].end
        elif came is None and is_filled:
            stream.recent.extend_by_numbers(new)
            stream.next = stop[half]
        if is_filled:
            if closing[half] >= 0:
                connection.latest[side] = max(connection.latest[side], (latest[0][half], latest[1][half]))
            framer = _framer(connection, side)
            framer.pieces = pieces
            if pieces:
                framer.gaps = sum(piece.lost for piece in pieces)
                inside = max(int(claimed[half]) - int(parts.line[rest[half]]), 0)
                framer.pieces[0] = pieces[0].cut(pieces[0].offset + inside, pieces[0].end)
                framer.wanted = framer.position
        stream.acknowledged = max(stream.acknowledged, acknowledged[half])
        if side and work.decrypted is not None and connection.tls is not None:
            work.decrypted.commit(connection.tls)


def _remember_repeats(block: PacketBlock, work: ConnectionWork, side: int, new: Array) -> None:
    """Records the retransmissions of one direction; `new`: all pieces that came in this round, as columns of Piece."""
    assert work.repeats is not None
    stream = work.connection.halves[side]
    expected, fresh = _next_seq(work.connection, side), new[:, new[0] >= stream.next]
    repeats = work.repeats[block.direction[work.repeats] == side]
    numbers = block.number[repeats]
    for index, number, taken in zip(
        repeats.tolist(), numbers.tolist(), np.searchsorted(fresh[3], numbers).tolist(), strict=True
    ):
        length = int(block.length[index])
        latest = [Piece(*fields) for fields in fresh[:, max(taken - REMEMBERED, 0) : taken].T.tolist()]
        come = latest[-1].end if taken else stream.next
        offset = come - (expected + come - stream.next - int(block.seq[index]) & MASK)
        if offset == come - 1 and length == 1:
            continue  # a keep-alive, as in HalfStream.accept
        known = [*stream.recent, *latest][-REMEMBERED:]
        stream.note_retransmission(Piece(offset, int(block.at[index]), length, number, int(block.time[index])), known)


def _find_claimed(parts: Segments, cutting: MessageSpans, begin: list[int]) -> tuple[Ints, Ints]:
    """Returns for each half-stream where its last message ends on the line, and in which segment.

    Without a message these are the beginning of the half-stream and -1.
    """
    claimed = np.append(parts.line, 0)[begin] if len(parts.line) else np.zeros(len(begin), np.int64)
    closing = np.full(len(begin), -1, np.int64)
    if len(cutting.line):
        message_half = parts.half[cutting.first]
        _, stop = find_runs(message_half)
        last, halves = stop - 1, message_half[stop - 1]
        claimed[halves] = cutting.line[last] + cutting.length[last]
        closing[halves] = cutting.last[last]
    return claimed, closing


def _find_acknowledged(block: PacketBlock, taken: Sequence[tuple[ConnectionWork, int]]) -> list[int]:
    """Returns for each half-stream the highest offset that its other side acknowledged, -1 for none.

    Call it before connections are updated.
    """
    packets = np.concatenate([work.packets[work.at : work.at + count] for work, count in taken])
    counts = np.array([count for _, count in taken], np.int64)
    first = np.cumsum(counts) - counts
    acks, direction = block.ack[packets], block.direction[packets]
    sent = block.flags[packets] & ACK != 0
    found = []
    for side in (0, 1):
        expected = np.array([_next_seq(work.connection, side) for work, _ in taken], np.uint32)
        here = np.array([work.connection.halves[side].next for work, _ in taken], np.int64)
        ahead = (acks - np.repeat(expected, counts)).view(
            np.int32
        )  # both wrap, so the difference is between -2^31 and 2^31
        highest = np.maximum.reduceat(np.where(sent & (direction != side), ahead, np.int64(NOTHING)), first)
        opened = np.array([work.connection.halves[side].base is not None for work, _ in taken], bool)
        found.append(np.where((highest == NOTHING) | ~opened, -1, here + highest))
    both: list[int] = np.column_stack(found).reshape(-1).tolist()
    return both


def _list_newest(
    parts: Segments, taken: Sequence[tuple[ConnectionWork, int]], begin: Sequence[int], end: Sequence[int]
) -> Iterator[bytes]:
    """Yields the numbers of each half-stream's last new pieces; older segments are skipped.

    Call it before connections are updated.
    """
    known = np.array([half.next for work, _ in taken for half in work.connection.halves], np.int64)
    old = np.bincount(parts.half[parts.offset < known[parts.half]], minlength=len(known))
    last = np.asarray(end, np.int64)
    first = np.minimum(np.maximum(np.asarray(begin, np.int64) + old, last - REMEMBERED), last)
    count = last - first
    places = np.repeat(first, count) + rank_in_runs(count)
    numbers = np.column_stack([column[places].astype(np.int64, copy=False) for column in _piece_columns(parts)])
    data, edges = numbers.tobytes(), (np.append(0, np.cumsum(count)) * numbers.strides[0]).tolist()
    return (data[edge:following] for edge, following in pairwise(edges))


def _piece_columns(parts: Segments) -> tuple[Ints, ...]:
    """Returns the columns of segments that are the fields of Piece."""
    return parts.offset, parts.at, parts.length, parts.packet, parts.time


def _pieces(parts: Segments, begin: Sequence[int] | Ints, end: Sequence[int] | Ints) -> Iterator[list[Piece]]:
    """Yields the segments of several runs, each from `begin` to before `end`."""
    first = np.asarray(begin, np.int64)
    count = np.asarray(end, np.int64) - first
    places = np.repeat(first, count) + rank_in_runs(count)
    found = map(Piece, *(column[places].tolist() for column in _piece_columns(parts)))
    return (list(islice(found, each)) for each in count.tolist())


def list_pieces(parts: Segments, cutting: MessageSpans) -> tuple[Ints, ...]:
    """Returns the number of pieces of each message, and the columns of PieceTable for all pieces in order."""
    count = cutting.last - cutting.first + 1
    segment = np.repeat(cutting.first, count) + rank_in_runs(count)
    begin = np.maximum(parts.line[segment], np.repeat(cutting.line, count))
    end = np.minimum(parts.line_end[segment], np.repeat(cutting.line + cutting.length, count))
    at = parts.at[segment]
    return (
        count,
        np.where(at < 0, at, at + begin - parts.line[segment]),
        end - begin,
        parts.packet[segment],
        parts.time[segment],
    )
