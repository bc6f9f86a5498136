"""Packet types and headers of a quorum connection.

Facts (zookeeper.jute, package quorum). A QuorumPacket is int type, long zxid, buffer data and vector<Id> authinfo.
Learners connect to the leader. A leader's PING and a learner's REVALIDATE are answered by packets of the same type; so
the sender tells whether one is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from struct import Struct

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.zookeeper import sasl
from dissectors.zookeeper.tables import table

HEAD = Struct(">iqi")
"""Type, zxid and the length of the data."""

MAXIMUM = 256 << 20
"""Of data: a multi may be as long as jute.maxbuffer, and more with all that belongs to it."""

MOST_TYPES = 256
MOST_IDS = 1024
SNAPSHOT = MessageHeader(Role.ONEWAY, "SNAPSHOT")


def header(prefix: bytes, from_client: bool) -> MessageHeader:
    """Returns the header of a SASL packet or a QuorumPacket; an ACK says nothing of what it acknowledges."""
    if sasl.is_packet(prefix):
        return sasl.header()
    if len(prefix) < 4:
        return HEADLESS
    code = int.from_bytes(prefix[:4], signed=True)
    packet = packets().get(code)
    if packet is None:
        return MessageHeader(Role.ONEWAY, None, code, state=State.UNDECODED)
    return MessageHeader(role_of(code, from_client), packet.name, code)


def role_of(code: int, from_client: bool) -> Role:
    """Returns whether a packet asks, answers, or neither."""
    if code == code_of("PROPOSAL"):
        return Role.REQUEST
    if code == code_of("PING"):
        return Role.RESPONSE if from_client else Role.REQUEST
    if code == code_of("REVALIDATE"):
        return Role.REQUEST if from_client else Role.RESPONSE
    return Role.ONEWAY


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet type. `data` are the parts of its data in order, `answer` those of the packet that answers it.

    record: the name of the record that the data is, for data that goes by one.
    """

    code: int
    name: str
    data: tuple[str, ...]
    answer: tuple[str, ...]
    record: str | None
    versions: None = None

    def parts(self, response: bool) -> tuple[str, ...]:
        """Returns the names of the parts that the data of this packet or of its answer holds."""
        return self.answer if response else self.data


@cache
def packets() -> Mapping[int, Packet]:
    """Returns all packet types by number."""
    return {
        row["code"]: Packet(
            row["code"],
            row["name"],
            tuple(row.get("data", ())),
            tuple(row.get("answer", row.get("data", ()))),
            row["data"][0] if row.get("as", False) else None,
        )
        for row in table("packets")["packets"]
    }


@cache
def code_of(name: str) -> int:
    """Returns the number of a packet type; the names are ours, so the cache is bounded."""
    return next(code for code, packet in packets().items() if packet.name == name)
