"""One TCP connection, packet by packet: the plain road from packets to rows.

Theory. This is the definition of what the engine does: packets of one connection in order; two half-streams put them in
order; until the protocol is known, bytes are kept; then two framers cut messages, and the conversation pairs them.
analyzer.bulk does the same for many connections at once while nothing unusual happens, and leaves this state as this
code would have.

A capture may swap packets of the two directions. Whoever acknowledges a byte has read it; so what acknowledges bytes
that the capture has not shown yet is early, and waits for them as it would wait for its own direction, and no longer.

A row closes with the packet that completes its message. What is unfinished closes with FIN, RST or the end of the
capture.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from analyzer.framing import Frame, Framer, Reader
from analyzer.messages import Mark, marks_of
from analyzer.reassembly import HALF, HOLE_AGE_NS, HOLE_AGE_PACKETS, WINDOW, HalfStream, Piece
from analyzer.recognise import Decision, recognise
from analyzer.streams import ACK, FIN, RST, SYN
from dissectors.api import PREFIX, Conversation, Dissector, MessageHeader, Outcome, Role, State
from dissectors.registry import Ports

AT_END = 1 << 62
"""Closing packet of what only the end of the capture closes."""

NO_FIN = [None, None]
RAW = Outcome(MessageHeader(Role.RAW, state=State.UNDECODED))


class Packet(NamedTuple):
    """One packet of the connection; columns of PacketBlock."""

    number: int
    time: int
    side: int
    seq: int
    ack: int
    flags: int
    at: int
    length: int
    captured: int


class Row(NamedTuple):
    """One message on its way into the index. `closed` is the packet that closed it; `partner` a serial or None."""

    serial: int
    side: int
    frame: Frame
    outcome: Outcome
    ours: bool
    marks: Mark
    last: int
    time: int
    closed: int


class Early(NamedTuple):
    """A piece whose packet acknowledged the other side up to `needed`; ready at `time`, which was tick `tick`."""

    needed: int
    piece: Piece
    time: int
    tick: int


@dataclass(slots=True)
class Connection:
    """Carried from block to block; plain data, except `dissector`, which pickles as a reference to its class."""

    number: int
    ports: tuple[int, int]
    client: int
    halves: tuple[HalfStream, HalfStream] = field(default_factory=lambda: (HalfStream(), HalfStream()))
    framers: tuple[Framer, Framer] | None = None
    dissector: Dissector | None = None
    decision: Decision | None = None
    conversation: Conversation | None = None
    undecided: list[tuple[int, Piece]] = field(default_factory=list)
    fin: list[int | None] = field(default_factory=lambda: [None, None])
    fin_seen: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (0, 0)])
    latest: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (0, 0)])
    early: tuple[deque[Early], deque[Early]] = field(default_factory=lambda: (deque(), deque()))
    needs: dict[int, int] = field(default_factory=dict)
    ticks: int = 0

    @property
    def steady(self) -> bool:
        """Both directions open, in order, in step and not at their end: the bulk road may take over."""
        return (
            self.fin == NO_FIN
            and not self.early[0]
            and not self.early[1]
            and self.framers is not None
            and self.dissector is not None
            and self.halves[0].in_order
            and self.halves[1].in_order
            and self.framers[0].synced
            and self.framers[1].synced
            and not self.framers[0].gaps
            and not self.framers[1].gaps
        )

    @property
    def over(self) -> bool:
        """Both sides have sent their FIN and all before it was handed on."""
        return self.finished(0) and self.finished(1)

    def finished(self, side: int) -> bool:
        """This side has sent its FIN, and all before it was handed on."""
        fin = self.fin[side]
        return fin is not None and self.halves[side].next >= fin and not self.early[side]

    def reached(self, side: int, needed: int) -> bool:
        """Whether all bytes of a side before offset `needed` were handed on; its FIN counts as one."""
        early = self.early[side]
        return (early[0].piece.offset if early else self.halves[side].next) >= needed or self.finished(side)

    def hunting_before(self, side: int, needed: int) -> bool:
        """Whether a side's framer looks for the next message and has not passed offset `needed`."""
        framer = None if self.framers is None or self.dissector is None else self.framers[side]
        return framer is not None and not framer.synced and bool(framer.pieces) and framer.position < needed


class Walker:
    """Drives connections packet by packet. `serial` numbers the messages of the whole input as they are cut out."""

    def __init__(self, reader: Reader, known: Ports, serial: Callable[[], int]) -> None:
        self._reader = reader
        self._known = known
        self._serial = serial

    def packet(self, connection: Connection, packet: Packet) -> list[Row]:
        """Takes the next packet; returns the rows that it closes."""
        rows: list[Row] = []
        if connection.fin != NO_FIN and connection.over:
            return rows  # the engine forgets it at the end of the block; the rows may not depend on where that is
        side, other, seq = packet.side, 1 - packet.side, packet.seq
        half = connection.halves[side]
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
            if waiting.held and (ready := waiting.tick(packet.time)):
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

    def _open(self, connection: Connection, packet: Packet) -> None:
        """A SYN opens its side."""
        half = connection.halves[packet.side]
        if half.base is None:
            half.open(packet.seq)
        if connection.framers is not None:  # the other side's SYN brought enough to know the protocol
            for framer, each in zip(connection.framers, connection.halves, strict=True):
                framer.synced |= each.by_syn and not each.next
        if connection.client < 0:
            connection.client = 1 - packet.side if packet.flags & ACK else packet.side

    def _note_need(self, connection: Connection, packet: Packet) -> None:
        """Remembers what a packet with payload acknowledges, if that is not there yet."""
        other = connection.halves[1 - packet.side]
        if packet.flags & ACK and other.base is not None:
            ahead = (packet.ack - other.base - other.next + HALF & 0xFFFFFFFF) - HALF
            if 0 < ahead <= WINDOW or connection.early[1 - packet.side]:
                connection.needs[packet.number] = other.next + ahead

    def _open_by_ack(self, connection: Connection, packet: Packet) -> None:
        """What a side acknowledges between its SYN and its first byte is the other side's SYN."""
        half, other = connection.halves[packet.side], connection.halves[1 - packet.side]
        if half.by_syn and not half.next and not half.waiting and not other.unopened:
            other.open(packet.ack - 1 & 0xFFFFFFFF)

    def _hand_on(self, connection: Connection, side: int, ready: list[Piece], packet: Packet) -> list[Row]:
        """Takes what is ready, up to the first piece that is early."""
        early = connection.early[side]
        if not early and not connection.needs:
            return self._take(connection, side, ready, packet.number)
        for count, piece in enumerate(ready):
            needed = connection.needs.pop(piece.packet, 0)
            if early or not connection.reached(1 - side, needed):
                early.append(Early(needed, piece, packet.time, connection.ticks))
                needs = connection.needs
                early += [
                    Early(needs.pop(each.packet, 0), each, packet.time, connection.ticks) for each in ready[count + 1 :]
                ]
                return self._take(connection, side, ready[:count], packet.number)
        return self._take(connection, side, ready, packet.number)

    def _release(self, connection: Connection, packet: Packet) -> list[Row]:
        """Takes what is early no longer, or has waited long enough."""
        rows: list[Row] = []
        connection.ticks += 1
        side = idle = 0
        while idle < 2:
            idle += 1
            early = connection.early[side]
            while early:
                needed, piece, time, tick = early[0]
                patient = packet.time - time <= HOLE_AGE_NS and connection.ticks - tick <= HOLE_AGE_PACKETS
                if patient and not connection.reached(1 - side, needed):
                    break
                early.popleft()
                rows += self._take(connection, side, [piece], packet.number)
                idle = 0
            if idle == 2 and self._deadlocked(connection):
                rows += self._take(
                    connection, connection.client, [connection.early[connection.client].popleft().piece], packet.number
                )
                idle = 0
            side = 1 - side
        if not (
            connection.early[0] or connection.early[1] or connection.halves[0].waiting or connection.halves[1].waiting
        ):
            connection.needs.clear()  # of packets that brought nothing new
        return rows

    def _deadlocked(self, connection: Connection) -> bool:
        """Both sides wait for each other, since a segment sent again may acknowledge more: then requests go first."""
        first, second = connection.early
        if not first or not second or connection.client < 0:
            return False
        return all(connection.halves[1 - side].next >= early[0].needed for side, early in enumerate(connection.early))

    def end(self, connection: Connection, closed: int = AT_END) -> list[Row]:
        """RST or the end of the capture: everything that is held back becomes rows."""
        rows: list[Row] = []
        left = [_arrivals(connection, side) for side in (0, 1)]
        while left[0] or left[1]:
            side = 0 if not left[1] or (left[0] and left[0][0].latest <= left[1][0].latest) else 1
            if left[1 - side] and connection.hunting_before(1 - side, left[side][0].needed):
                side = 1 - side
            rows += self._take(connection, side, [left[side].popleft().piece], closed)
        connection.needs.clear()
        rows += self._decide(connection, closed, final=True)
        for side in (0, 1):
            rows += self._flush(connection, side, closed)
        return rows

    def _finish_sides(self, connection: Connection, closed: int) -> list[Row]:
        rows: list[Row] = []
        for side in (0, 1):
            if connection.finished(side):
                if connection.framers is None and all(end is not None for end in connection.fin):
                    rows += self._decide(connection, closed, final=True)
                rows += self._flush(connection, side, closed)
        return rows

    def _flush(self, connection: Connection, side: int, closed: int) -> list[Row]:
        if connection.framers is None:
            return []
        frames = connection.framers[side].flush(connection.dissector, self._reader)
        return [self._row(connection, side, frame, closed) for frame in frames]

    def _take(self, connection: Connection, side: int, pieces: list[Piece], closed: int) -> list[Row]:
        rows: list[Row] = []
        for piece in pieces:
            if connection.framers is None:
                connection.undecided.append((side, piece))
                rows += self._decide(connection, closed, final=False)
            else:
                rows += self._frame(connection, side, piece, closed)
        return rows

    def _frame(self, connection: Connection, side: int, piece: Piece, closed: int) -> list[Row]:
        assert connection.framers is not None
        frames = connection.framers[side].feed(piece, connection.dissector, self._reader)
        return [self._row(connection, side, frame, closed) for frame in frames]

    def _decide(self, connection: Connection, closed: int, final: bool) -> list[Row]:
        if connection.framers is not None or not connection.undecided:
            return []
        prefixes = (self._prefix(connection, 0), self._prefix(connection, 1))
        segments = len(connection.undecided)
        decision = recognise(prefixes, segments, connection.ports, connection.client, self._known, final)
        if decision is None:
            return []
        connection.decision, connection.dissector = decision, decision.dissector
        connection.client = decision.client
        if decision.dissector is not None:
            connection.conversation = decision.dissector.conversation()
        connection.framers = (self._framer(connection, 0), self._framer(connection, 1))
        held, connection.undecided = connection.undecided, []
        return [row for side, piece in held for row in self._frame(connection, side, piece, closed)]

    def _framer(self, connection: Connection, side: int) -> Framer:
        """In step from the start only where the start was seen."""
        return Framer(from_client=side == connection.client, synced=connection.halves[side].by_syn)

    def _prefix(self, connection: Connection, side: int) -> bytes:
        """The first bytes of a direction, as far as they are unbroken."""
        parts: list[bytes] = []
        left = PREFIX
        for at, piece in connection.undecided:
            if at != side:
                continue
            if piece.lost or left <= 0:
                break
            parts.append(self._reader.read(piece.at, min(piece.length, left)))
            left -= len(parts[-1])
        return b"".join(parts)

    def _row(self, connection: Connection, side: int, frame: Frame, closed: int) -> Row:
        serial = self._serial()
        marks = marks_of(frame.pieces)
        latest = max(connection.latest[side], *((piece.packet, piece.time) for piece in frame.pieces))
        connection.latest[side] = latest
        outcome, ours = RAW, False
        if not frame.raw and connection.conversation is not None:
            from_client = side == connection.client
            outcome = connection.conversation.step(serial, self._head(frame), from_client)
            ours = outcome.header.role is not Role.RAW or outcome.header.state is State.COMPLETE
            if frame.cut or marks:
                outcome, ours = partial(outcome, from_client), True
        return Row(serial, side, frame, outcome, ours, marks, *latest, closed)

    def _head(self, frame: Frame) -> bytes:
        parts: list[bytes] = []
        left = PREFIX
        for piece in frame.pieces:
            if piece.lost or left <= 0:
                break
            parts.append(self._reader.read(piece.at, min(piece.length, left)))
            left -= len(parts[-1])
        return b"".join(parts)


def partial(outcome: Outcome, from_client: bool) -> Outcome:
    """A message of which bytes are missing; the header may be too short to tell the role."""
    header = outcome.header
    role = header.role
    if role is Role.RAW:
        role = Role.REQUEST if from_client else Role.RESPONSE
    return replace(outcome, header=replace(header, role=role, state=State.PARTIAL))


class _Arrival(NamedTuple):
    """A piece that is left at the end; by packet `latest` it and all before it had come."""

    latest: int
    needed: int
    piece: Piece


def _arrivals(connection: Connection, side: int) -> deque[_Arrival]:
    """What one side still holds, in order, with its gaps."""
    half, early, fin = connection.halves[side], connection.early[side], connection.fin[side]
    pieces = [(each.piece, each.needed) for each in early]
    pieces += [(piece, connection.needs.get(piece.packet, 0)) for piece in half.end()]
    if fin is not None:
        pieces += [(piece, 0) for piece in half.lost_before(fin, *connection.fin_seen[side])]
    early.clear()
    latest = 0
    found: deque[_Arrival] = deque()
    for piece, needed in pieces:
        latest = max(latest, piece.packet)
        found.append(_Arrival(latest, needed, piece))
    return found
