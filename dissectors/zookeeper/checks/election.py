"""Connections of an election that were dropped as they should be.

Facts (QuorumCnxManager). Two servers keep one connection, that of the one with the larger number. Where the other one
connects, the server with the larger number closes that connection when it has read the first message, and connects
itself. It looks like a fault and is none.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import ConnectionEnd, MessageEvent, subscribe
from dissectors.message import Role
from dissectors.zookeeper.reports.fields import ELECTION
from dissectors.zookeeper.reports.members import EnsembleMembers


class Election(Check):
    """See the module."""

    def _begin(self) -> None:
        self.members = EnsembleMembers(self.ends)
        self.voted: set[int] = set()
        """Connections on which votes came."""

    def receive_notification(self, event: MessageEvent) -> None:
        """Notes who is who."""
        sid, leader = event.values.get("sid"), event.values.get("leader")
        if isinstance(sid, int):
            self.members.connect(event.stream, sid, event.values.get("addr"))
        elif isinstance(leader, int):
            self.voted.add(event.stream)
            self.members.configure(event.values.get("config"))

    def end_connection(self, end: ConnectionEnd) -> None:
        """A connection on which nothing was said but who opened it."""
        sid = self.members.opener(end.stream)
        if sid is None or end.by_client or end.stream in self.voted:
            return
        other = self.members.find_side(end.stream, from_client=False)
        if other is not None and other > sid:
            text = f"server {other} dropped the connection of server {sid}, whose number is smaller: it connects itself"
            self.note("smaller-sid", text)

    on = subscribe(
        [(ELECTION, None, Role.ONEWAY)], receive_notification, {("sid",), ("addr",), ("leader",), ("config",)}
    )


def list_election_checks() -> tuple[type[Election], ...]:
    """What is checked here."""
    return (Election,)
