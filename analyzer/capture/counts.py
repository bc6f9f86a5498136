"""What became of packets, one by one and counted."""

from __future__ import annotations

from enum import IntEnum

from dissectors.slotted import slotted


@slotted(frozen=False)
class PacketCounts:
    """Packets by what they are. A packet that is only a piece of a datagram is neither tcp, not_tcp nor unreadable.

    `fragments`: pieces of IP datagrams; `reassembled` and `incomplete`: datagrams. `cut`: packets of which the
    capture has fewer bytes than the wire had. `bytes`: on the wire.
    """

    packets: int = 0
    tcp: int = 0
    not_tcp: int = 0
    unreadable: int = 0
    fragments: int = 0
    reassembled: int = 0
    incomplete: int = 0
    cut: int = 0
    bytes: int = 0


class PacketFate(IntEnum):
    """What became of a packet."""

    NOT_TCP = 0
    SEGMENT = 1
    PIECE = 2
    UNREADABLE = 3
