"""Selects the packets of the timeline that contain chosen messages: one flag for each packet.

Theory. A row knows its pieces, and a piece its packet; retransmissions are in the records of their direction. The index
keeps nothing else about packets. The other fragments of a datagram, and the handshake and the end of a connection, are
found only in the packets, so the timeline is read again for these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from analyzer.capture.fragments import DatagramKey
from analyzer.capture.packet_decoder import FoundFragment
from analyzer.capture.packets import PacketBlock
from analyzer.columns.arrays import Bools, Ints, list_distinct, rank_in_runs
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from analyzer.tcp.reassembly import GAP
from analyzer.tcp.streams import ACK, FIN, RST, SYN, StreamAssigner, StreamTable
from dissectors.wire.fast_path import NULL


def with_partners(session: Session, rows: Ints) -> Ints:
    """Returns rows and the other halves of their exchanges, in ascending order."""
    partners = session.rows.column("partner")[rows].astype(np.int64)
    return list_distinct(np.concatenate((rows, partners[partners != NULL])))


def packets_of_streams(session: Session, rows: Ints) -> Bools:
    """Returns for each packet number (0 is unused) whether it belongs to a connection of `rows`."""
    wanted = np.zeros(session.packets.counts.packets + 1, bool)
    streams = np.zeros(len(session.engine.streams), bool)
    streams[session.rows.column("stream")[rows]] = True
    assigner = StreamAssigner(StreamTable())
    _add_packets(session, wanted, lambda block: block.number[streams[assigner.assign(block)[0]]])
    return wanted


def packets_of(session: Session, rows: Ints, *, handshakes: bool = False) -> Bools:
    """Returns for each packet number (0 is unused) whether `rows` need the packet.

    handshakes: also SYN, SYN-ACK and the ACK that follows, FIN and RST of the rows' streams, and the first message of
    either side, because the protocol cannot be recognised after a handshake and a gap.
    """
    wanted = np.zeros(session.packets.counts.packets + 1, bool)
    if handshakes:
        rows = np.union1d(rows, _first_rows(session, rows))
    wanted[_first_time(session, rows)] = True
    wanted[_reread_packets(session, rows)] = True
    if handshakes or session.packets.counts.fragments:
        streams = np.zeros(len(session.engine.streams), bool)
        streams[session.rows.column("stream")[rows]] = handshakes
        _add_packets(session, wanted, _Openings(streams).packets)
    return wanted


def _first_rows(session: Session, rows: Ints) -> Ints:
    """Returns the first row of each side of the streams of `rows`."""
    stream = session.rows.column("stream")
    used = np.zeros(len(session.engine.streams), bool)
    used[stream[rows]] = True
    theirs = np.flatnonzero(used[stream])
    direction = stream[theirs].astype(np.int64) * 2 + session.rows.column("side")[theirs]
    order = np.lexsort((session.rows.column("offset")[theirs], direction))
    _, first = np.unique(direction[order], return_index=True)
    found: Ints = theirs[order[first]]
    return found


def _first_time(session: Session, rows: Ints) -> Ints:
    count = session.rows.column("count")[rows].astype(np.int64)
    piece = np.repeat(session.rows.column("pieces")[rows].astype(np.int64), count) + rank_in_runs(count)
    # Bytes that the snap length cut off were in the packet; bytes that were never captured were in none.
    there = piece[session.engine.pieces.column("at")[piece] != GAP]
    packets: Ints = session.engine.pieces.column("packet")[there].astype(np.int64)
    return packets


def _reread_packets(session: Session, rows: Ints) -> Ints:
    """Returns packets with retransmitted bytes of rows.

    Rows of one direction do not overlap, so only the last row that begins before a retransmission's end can contain it.
    """
    repeats, index, streams = session.engine.repeats, session.rows, session.engine.streams
    if not len(repeats) or not len(rows):
        return np.zeros(0, np.int64)
    stream = index.column("stream")[rows].astype(np.int64)
    client = np.maximum(streams.column("client")[stream], 0)
    side = np.where(index.column("side")[rows] == FROM_CLIENT, client, 1 - client)
    begin = index.column("offset")[rows].astype(np.int64)
    ends = begin + index.column("length")[rows]
    offset = repeats.column("offset")
    direction = np.concatenate(
        (stream * 2 + side, repeats.column("stream").astype(np.int64) * 2 + repeats.column("side"))
    )
    place = np.concatenate((begin, offset + repeats.column("length")))
    is_row = np.arange(len(place)) < len(rows)
    order = np.lexsort((is_row, place, direction))
    latest = np.maximum.accumulate(np.where(is_row[order], np.arange(len(order)), -1))
    of_repeat = ~is_row[order] & (latest >= 0)
    repeat, row = order[of_repeat] - len(rows), order[latest[of_repeat]]
    touches = (direction[row] == direction[repeat + len(rows)]) & (ends[row] > offset[repeat])
    packets: Ints = repeats.column("packet")[repeat[touches]].astype(np.int64)
    return packets


def _add_packets(session: Session, wanted: Bools, pick: Callable[[PacketBlock], Ints]) -> None:
    """Adds the packets that `pick` selects of each block to `wanted`, and all fragments of selected datagrams."""
    trace: list[FoundFragment] = []
    for block in session.packets.reread_blocks(trace):
        wanted[pick(block)] = True
    # A reassembled datagram may contain a fragment of another one, which is complete later; so go backwards.
    for numbers in reversed(_datagrams(trace)):
        if wanted[numbers].any():
            wanted[numbers] = True


def _datagrams(trace: Iterable[FoundFragment]) -> list[list[int]]:
    """Returns the packet numbers of each complete datagram, in the order of completion."""
    unfinished: dict[DatagramKey, list[int]] = defaultdict(list)
    found = []
    for piece in trace:
        unfinished[piece.key].append(piece.number)
        if piece.whole:
            found.append(unfinished.pop(piece.key))
    return found


class _Openings:
    """Finds the packets that open and close connections, block by block."""

    def __init__(self, wanted: Bools) -> None:
        self._wanted = wanted
        self._assigner = StreamAssigner(StreamTable())
        self._opener = np.full(len(wanted), -1, np.int8)
        """The side of a stream's flow that sent a SYN and has not sent the ACK after it; -1: none."""

    def packets(self, block: PacketBlock) -> Ints:
        """Returns the numbers of these packets. Streams have the engine's numbers, because the packets are the same."""
        stream, _ = self._assigner.assign(block)
        mine = self._wanted[stream]
        marked = np.flatnonzero(mine & (block.flags & (SYN | FIN | RST) != 0))
        first = marked[block.flags[marked] & (SYN | ACK) == SYN]
        self._opener[stream[first]] = block.direction[first]
        plain = (block.flags & (SYN | ACK) == ACK) & (block.length == 0)
        answers = np.flatnonzero(mine & plain & (block.direction == self._opener[stream]))
        answered, where = np.unique(stream[answers], return_index=True)
        self._opener[answered] = -1
        return block.number[np.concatenate((marked, answers[where]))]
