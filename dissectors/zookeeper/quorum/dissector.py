"""ZooKeeper's quorum protocol, as the DISSECTOR interface asks for it.

Theory. Packets stand back to back, with no length in front (measure.py); behind a SNAP stands the leader's whole tree
(snapshot.py). A learner answers proposals and pings, a leader answers for sessions (conversation.py). What a packet
carries is a record of the client's protocol or a transaction (body.py, txn.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dissectors.api import WEAK, Body, Context, Conversation, Dissector, Measure, MessageHeader, Stencil, Window
from dissectors.field import Tree
from dissectors.zookeeper.quorum.body import decode, read, skim
from dissectors.zookeeper.quorum.header import header
from dissectors.zookeeper.quorum.info import info_line
from dissectors.zookeeper.quorum.measure import Packets
from dissectors.zookeeper.quorum.probe import evidence

if TYPE_CHECKING:
    from dissectors.catalog import Catalog
    from dissectors.check import Check
    from dissectors.payload import Asked, Payload
    from dissectors.report import ReportType


class ZooKeeperQuorum(Dissector):
    """ZooKeeper 3.3 to 3.9, the quorum port: packets, transactions, snapshots, SASL."""

    name = "zookeeper-quorum"
    ports = (2888,)
    framing = None
    bulk = "dissectors.zookeeper.quorum.bulk"

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """A packet that is whole must be read to its end."""
        if from_client is None:
            return max(evidence(prefix, True), evidence(prefix, False))
        return evidence(prefix, from_client)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """The same of a packet behind a gap."""
        return evidence(prefix, from_client) >= WEAK

    def measure(self, from_client: bool, opening: bool) -> Measure:
        """Packet by packet; a leader may send a snapshot."""
        return Packets(not from_client)

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """The type of a packet."""
        return header(prefix, from_client)

    def conversation(self) -> Conversation:
        """Proposals, pings and questions for sessions that wait."""
        from dissectors.zookeeper.quorum.conversation import QuorumConversation  # decoding one message needs none

        return QuorumConversation()

    def values(self, message: bytes, context: Context) -> Body:
        """A packet's fields, and what its data holds."""
        return decode(message, context)

    def skim(self, message: Window, context: Context) -> Body | None:
        """A snapshot, piece by piece."""
        return skim(message, context)

    def stencil(self, message: bytes, context: Context, request: tuple[bytes, Context] | None = None) -> Stencil | None:
        """Transactions, requests for them, and what has no data."""
        from dissectors.zookeeper.quorum.stencil import stencil  # decoding one message has no use for it

        return stencil(message, context)

    def tree(self, message: bytes, context: Context) -> Tree:
        """The same with their places."""
        return read(message, context)

    def info(self, body: Body, context: Context) -> str:
        """Operation, path, zxid."""
        return info_line(body, context)

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """Data of nodes, in transactions and snapshots."""
        from dissectors.zookeeper.payloads import payloads  # for exports alone

        return payloads(values, asked)

    def checks(self) -> Sequence[type[Check]]:
        """Transactions that are confirmed late."""
        from dissectors.zookeeper.checks.quorum import Quorum  # for checkups alone

        return (Quorum,)

    def reports(self) -> Sequence[ReportType]:
        """Those of clients, to which its messages belong, too."""
        from dissectors.zookeeper.reports import reports  # for who asks what happened

        return reports()

    def catalog(self) -> Catalog:
        """All fields by name."""
        from dissectors.zookeeper.catalog.quorum import QuorumCatalog  # for who asks by name

        return QuorumCatalog()
