"""The state of one TCP connection between two packets, and its input and output: packets and rows.

The engine carries it from block to block, and to other processes. It is plain data, except for the dissector, which
pickles as a reference to its class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from analyzer.columns.arrays import Ints
from analyzer.messages.decode_as import ConnectionRule
from analyzer.messages.framing import FramedBytes, StreamFramer
from analyzer.messages.index import RowMark
from analyzer.messages.recognise import ProtocolDecision
from analyzer.tcp.reassembly import HalfStream, Piece
from dissectors.api import Conversation, Dissector, Outcome

if TYPE_CHECKING:
    from analyzer.messages.tls_layer import TlsLayer
    from analyzer.tls.facts import TlsFacts

AT_END = 1 << 62
"""Closing packet of rows that only the end of the capture closes."""

NO_FIN = [None, None]


class ConnectionPacket(NamedTuple):
    """Holds one packet of the connection, in columns of PacketBlock."""

    number: int
    time: int
    side: int
    seq: int
    ack: int
    flags: int
    at: int
    length: int
    captured: int


class PendingRow(NamedTuple):
    """Holds one message before it is in the index.

    `closed` is the packet that closed it; `partner` a serial or None.
    """

    serial: int
    side: int
    frame: FramedBytes
    outcome: Outcome
    ours: bool
    marks: RowMark
    last: int
    time: int
    closed: int


class EarlyPiece(NamedTuple):
    """Holds a piece whose packet acknowledged the other side up to `needed`, with the time and tick of its arrival."""

    needed: int
    piece: Piece
    time: int
    tick: int


@dataclass(slots=True)
class Connection:
    """Holds the state of a connection.

    rule: the user's rule for this connection. has_sent: the sides that have sent packets. alone: whether the capture
    has one direction only, so that nothing waits for bytes that it acknowledges. tls: set while keys may decrypt the
    connection. tls_facts: facts of a TLS connection that was given up and is not tried again. unanswered: requests that
    the conversation does not have yet (see fast_pairing.settle_requests).
    """

    number: int
    ports: tuple[int, int]
    client: int
    halves: tuple[HalfStream, HalfStream] = field(default_factory=lambda: (HalfStream(), HalfStream()))
    framers: tuple[StreamFramer, StreamFramer] | None = None
    dissector: Dissector | None = None
    rule: ConnectionRule | None = None
    decision: ProtocolDecision | None = None
    conversation: Conversation | None = None
    undecided: list[tuple[int, Piece]] = field(default_factory=list)
    fin: list[int | None] = field(default_factory=lambda: [None, None])
    fin_seen: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (0, 0)])
    latest: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (0, 0)])
    early: tuple[list[EarlyPiece], list[EarlyPiece]] = field(default_factory=lambda: ([], []))
    needs: dict[int, int] = field(default_factory=dict)
    ticks: int = 0
    has_sent: list[bool] = field(default_factory=lambda: [False, False])
    alone: bool = False
    tls: TlsLayer | None = None
    tls_facts: TlsFacts | None = None
    unanswered: Ints | None = None

    @property
    def is_steady(self) -> bool:
        """Whether both directions are open, in order, in step and not at their end.

        Then the fast path may take over. A direction without any packet counts, too, once nothing waits for it.
        """
        return (
            self.fin == NO_FIN
            and (self.tls is None or self.tls.is_steady)
            and not self.early[0]
            and not self.early[1]
            and self.framers is not None
            and self.dissector is not None
            and (self._in_step(0, self.framers[0]) or self.is_deaf_to(0))
            and (self._in_step(1, self.framers[1]) or self.is_deaf_to(1))
            and (self.tls is None or all(self._is_ascending(self.tls, side) for side in (0, 1)))
        )

    def _is_ascending(self, layer: TlsLayer, side: int) -> bool:
        """Returns whether the bytes of an incomplete record came after those of all messages before it."""
        spans = layer.session.halves[side].reader.spans
        if not spans or self.framers is None:
            return True
        latest = max((piece.packet for piece in self.framers[side].pieces), default=0)
        return spans[0].packet >= max(latest, self.latest[side][0])

    def _in_step(self, side: int, framer: StreamFramer) -> bool:
        return self.halves[side].in_order and framer.settled

    def is_deaf_to(self, side: int) -> bool:
        """Returns whether this side has sent no packet, and nothing waits for what it may have sent."""
        return not self.has_sent[side] and (self.alone or self.halves[side].base is None)

    @property
    def is_finished(self) -> bool:
        """Whether both sides have sent their FIN, and all bytes before were passed on."""
        return self.has_finished(0) and self.has_finished(1)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is unfinished, so that the end of the capture would add no row."""
        return (
            not self.undecided
            and (self.tls is None or not any(map(self.tls.holds_part, (0, 1))))
            and not any(half.has_pending for half in self.halves)
            and not any(self.early)
            and not any(framer.pieces for framer in self.framers or ())
            and all(fin is None or self.halves[side].next >= fin for side, fin in enumerate(self.fin))
        )

    def has_finished(self, side: int) -> bool:
        """Returns whether this side has sent its FIN, and all bytes before were passed on."""
        fin = self.fin[side]
        return fin is not None and self.halves[side].next >= fin and not self.early[side]

    def has_reached(self, side: int, needed: int) -> bool:
        """Returns whether all bytes of a side before offset `needed` were passed on and framed; a FIN counts as one."""
        early = self.early[side]
        came = (early[0].piece.offset if early else self.halves[side].next) >= needed
        return (came and not self.is_hunting_before(side, needed)) or self.has_finished(side)

    def is_hunting_before(self, side: int, needed: int) -> bool:
        """Returns whether a side's framer looks for the next message and has not passed offset `needed`.

        Offsets of plaintext are not those that the other side acknowledges, so nothing waits for a decrypted side.
        """
        framer = None if self.framers is None or self.dissector is None or self.tls is not None else self.framers[side]
        return framer is not None and not framer.synced and bool(framer.pieces) and framer.position < needed
