"""The slow path: turns the packets of one TCP connection into rows, packet by packet.

Theory. This is the reference implementation of the engine's work for one connection: two half-streams put packets in
order, and assembler.py makes rows of the result. analyzer.messages.fast_path does the same for many connections at once
while nothing unusual happens, and leaves the same state.

A capture may swap packets of the two directions. A side that acknowledges a byte has read it. So a piece whose packet
acknowledges bytes that have not come is early: it waits for them, as long as it would wait for its own direction. If a
capture has one direction only, nothing waits for the other one after the first time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analyzer.messages.assembler import MessageAssembler
from analyzer.messages.connection import AT_END, NO_FIN, Connection, ConnectionPacket, EarlyPiece, PendingRow
from analyzer.tcp.reassembly import GAP, GAP_AGE_NS, GAP_AGE_PACKETS, HALF, WINDOW, Piece
from analyzer.tcp.streams import ACK, FIN, RST, SYN
from dissectors.registry import Ports

if TYPE_CHECKING:
    from analyzer.messages.tls_layer import TlsStore
    from analyzer.tls.keys import Secrets


class SlowPath:
    """Processes connections packet by packet. `serial` numbers the messages of the whole input as they are cut.

    secrets: of TLS; None: nothing is decrypted.
    """

    def __init__(
        self, store: TlsStore, known: Ports, serial: Callable[[], int], secrets: Secrets | None = None
    ) -> None:
        self._maker = MessageAssembler(store, known, serial, secrets)

    def use_secrets(self, secrets: Secrets) -> None:
        """Sets the secrets that decrypt connections that are not recognised yet."""
        self._maker.secrets = secrets

    def process_packet(self, connection: Connection, packet: ConnectionPacket) -> list[PendingRow]:
        """Takes the next packet of a connection; returns the rows that it closes."""
        rows: list[PendingRow] = []
        if connection.fin != NO_FIN and connection.is_finished:
            return rows  # the engine drops it at the end of the block; rows must not depend on where that is
        side, other, seq = packet.side, 1 - packet.side, packet.seq
        half = connection.halves[side]
        if not connection.has_sent[side]:
            connection.has_sent[side], connection.alone = True, False
        if packet.flags & SYN:
            self._open(connection, packet)
            seq = seq + 1 & 0xFFFFFFFF
        if packet.flags & ACK and connection.halves[other].base is None:
            self._open_by_ack(connection, packet)
        if packet.flags & ACK and (ready := connection.halves[other].acknowledge(packet.ack)):
            rows += self._hand_on(connection, other, ready, packet)
        if packet.length:
            self._note_need(connection, packet)
            ready = half.accept(seq, packet.at, packet.length, packet.captured, packet.number, packet.time)
            rows += self._hand_on(connection, side, ready, packet)
        for each, waiting in enumerate(connection.halves):
            if waiting.has_pending and (ready := waiting.tick(packet.time)):
                rows += self._hand_on(connection, each, ready, packet)
        if packet.flags & FIN and half.base is not None:
            ahead = (seq + packet.length - half.base - half.next + HALF & 0xFFFFFFFF) - HALF
            if 0 <= ahead <= WINDOW:
                connection.fin[side], connection.fin_seen[side] = half.next + ahead, (packet.number, packet.time)
        if connection.needs or connection.early[0] or connection.early[1]:
            rows += self._release(connection, packet)
        if packet.flags & RST:
            rows += self.end(connection, packet.number)
        elif connection.fin != NO_FIN:
            rows += self._finish_sides(connection, packet.number)
        return rows

    def _open(self, connection: Connection, packet: ConnectionPacket) -> None:
        """Opens a side by its SYN."""
        half = connection.halves[packet.side]
        if half.base is None:
            half.open(packet.seq)
        if connection.framers is not None and connection.dissector is not None:
            # the other side's SYN had enough data to recognise the protocol
            for framer, each in zip(connection.framers, connection.halves, strict=True):
                if each.by_syn and not each.next and not framer.synced:
                    framer.begin(connection.dissector)
        if connection.client < 0:
            connection.client = 1 - packet.side if packet.flags & ACK else packet.side

    def _note_need(self, connection: Connection, packet: ConnectionPacket) -> None:
        """Records what a packet with payload acknowledges, if that has not come yet."""
        other = connection.halves[1 - packet.side]
        if packet.flags & ACK and other.base is not None and not connection.alone:
            ahead = (packet.ack - other.base - other.next + HALF & 0xFFFFFFFF) - HALF
            needed = other.next + ahead
            is_unconfirmed = connection.early[1 - packet.side] or connection.is_hunting_before(1 - packet.side, needed)
            if 0 < ahead <= WINDOW or is_unconfirmed:
                connection.needs[packet.number] = needed

    def _open_by_ack(self, connection: Connection, packet: ConnectionPacket) -> None:
        """Opens the other side with the number that a side acknowledges between its SYN and its first byte."""
        half, other = connection.halves[packet.side], connection.halves[1 - packet.side]
        if half.by_syn and not half.next and not half.waiting and not other.unopened:
            other.open(packet.ack - 1 & 0xFFFFFFFF)

    def _hand_on(
        self, connection: Connection, side: int, ready: list[Piece], packet: ConnectionPacket
    ) -> list[PendingRow]:
        """Hands on pieces up to the first one that is early."""
        early = connection.early[side]
        if not early and not connection.needs:
            return self._maker.add_pieces(connection, side, ready, packet.number)
        for count, piece in enumerate(ready):
            needed = _take_need(connection, piece)
            if early or not connection.has_reached(1 - side, needed):
                early.append(EarlyPiece(needed, piece, packet.time, connection.ticks))
                early += [
                    EarlyPiece(_take_need(connection, each), each, packet.time, connection.ticks)
                    for each in ready[count + 1 :]
                ]
                return self._maker.add_pieces(connection, side, ready[:count], packet.number)
        return self._maker.add_pieces(connection, side, ready, packet.number)

    def _release(self, connection: Connection, packet: ConnectionPacket) -> list[PendingRow]:
        """Hands on pieces that are not early any more, or have waited long enough.

        A piece that has waited long enough is passed on alone, and only if no other can be, because the other side may
        wait for it. The rest of a message that it acknowledged is lost then.
        """
        rows: list[PendingRow] = []
        connection.ticks += 1
        while (side := self._next_early(connection, packet)) is not None:
            if lost := _lose_rest(connection, 1 - side, connection.early[side][0]):
                rows += self._hand_on(connection, 1 - side, lost, packet)
                continue
            rows += self._maker.add_pieces(connection, side, [connection.early[side].pop(0).piece], packet.number)
        if not (
            connection.early[0] or connection.early[1] or connection.halves[0].waiting or connection.halves[1].waiting
        ):
            connection.needs.clear()  # the rest belongs to packets without new bytes
        return rows

    def _next_early(self, connection: Connection, packet: ConnectionPacket) -> int | None:
        """Returns the side whose first early piece is passed on now, or None if all must wait."""
        impatient = None
        for side in (0, 1):
            early = connection.early[side]
            if not early:
                continue
            needed, _, time, tick = early[0]
            if connection.alone or connection.has_reached(1 - side, needed):
                return side
            if packet.time - time > GAP_AGE_NS or connection.ticks - tick > GAP_AGE_PACKETS:
                impatient = side if impatient is None else impatient
                connection.alone = not connection.has_sent[1 - side]
        if impatient is None and self._is_deadlocked(connection):
            return connection.client
        return impatient

    def _is_deadlocked(self, connection: Connection) -> bool:
        """Returns whether both sides wait for each other, since a retransmission may acknowledge more.

        Then requests go first.
        """
        first, second = connection.early
        if not first or not second or connection.client < 0:
            return False
        return all(connection.halves[1 - side].next >= early[0].needed for side, early in enumerate(connection.early))

    def end(self, connection: Connection, closed: int = AT_END) -> list[PendingRow]:
        """Returns rows of everything that is held back. Called at RST or at the end of the capture."""
        rows: list[PendingRow] = []
        left = [_list_arrivals(connection, side) for side in (0, 1)]
        while left[0] or left[1]:
            side = _choose_next_side(connection, left)
            if not left[1 - side]:
                lost = _lose_rest(connection, 1 - side, left[side][0])
                rows += self._maker.add_pieces(connection, 1 - side, lost, closed)
                if connection.is_hunting_before(1 - side, left[side][0].needed):
                    rows += self._maker.flush(connection, 1 - side, closed)
            rows += self._maker.add_pieces(connection, side, [left[side].popleft().piece], closed)
        connection.needs.clear()
        rows += self._maker.decide(connection, closed, final=True)
        for side in (0, 1):
            rows += self._maker.flush(connection, side, closed)
        return rows

    def _finish_sides(self, connection: Connection, closed: int) -> list[PendingRow]:
        rows: list[PendingRow] = []
        for side in (0, 1):
            if connection.has_finished(side):
                if connection.framers is None and all(end is not None for end in connection.fin):
                    rows += self._maker.decide(connection, closed, final=True)
                rows += self._maker.flush(connection, side, closed)
        return rows


class _Arrival(NamedTuple):
    """Holds a piece that is left at the end. Packet `latest` completed it and all pieces before it."""

    latest: int
    needed: int
    piece: Piece


def _choose_next_side(connection: Connection, left: Sequence[deque[_Arrival]]) -> int:
    """Returns the side that continues at the end: that of the earlier packet, unless it waits for the other side."""
    first, second = left
    if not first or not second:
        return 0 if first else 1
    side = 0 if first[0].latest <= second[0].latest else 1
    own, other = left[side][0], left[1 - side][0]
    waits = other.piece.offset < own.needed or connection.is_hunting_before(1 - side, own.needed)
    return 1 - side if waits and own.piece.offset >= other.needed else side


def _lose_rest(connection: Connection, side: int, answer: EarlyPiece | _Arrival) -> list[Piece]:
    """Gives up the rest of a message that `answer` acknowledges; returns the gap and the pieces after it."""
    if connection.early[side] or not _holds_part(connection, side):
        return []
    fin = connection.fin[side]  # an acknowledged FIN is not a byte
    end = answer.needed if fin is None else min(answer.needed, fin)
    return connection.halves[side].lose(end, answer.piece.packet, answer.piece.time)


def _holds_part(connection: Connection, side: int) -> bool:
    """Returns whether a message, or a TLS record, of a side is incomplete."""
    if connection.tls is not None:
        return connection.tls.holds_part(side)
    if connection.framers is None or connection.dissector is None:
        return False
    framer = connection.framers[side]
    return framer.synced and bool(framer.pieces)


def _take_need(connection: Connection, piece: Piece) -> int:
    """Returns the offset up to which a piece's packet acknowledged missing bytes, only once; 0 for a gap."""
    return 0 if piece.at == GAP else connection.needs.pop(piece.packet, 0)


def _list_arrivals(connection: Connection, side: int) -> deque[_Arrival]:
    """Returns what one side still holds, in order, with its gaps."""
    half, early, fin = connection.halves[side], connection.early[side], connection.fin[side]
    pieces = [(each.piece, each.needed) for each in early]
    pieces += [(piece, _take_need(connection, piece)) for piece in half.end()]
    if fin is not None:
        pieces += [(piece, 0) for piece in half.lose_until(fin, *connection.fin_seen[side])]
    early.clear()
    latest = 0
    found: deque[_Arrival] = deque()
    for piece, needed in pieces:
        latest = max(latest, piece.packet)
        found.append(_Arrival(latest, needed, piece))
    return found
