"""Checks of the ensemble: connections for elections that are dropped, slow servers, servers that had lost the thread.

Facts (QuorumCnxManager). Two servers keep one connection, that of the one with the larger number. Where the other one
connects, the server with the larger number closes that connection when it has read the first message, and connects
itself. It looks like a fault and is none.

Facts. A follower sends its ACK when the transaction is on its disk, so a late one is most often a slow fsync; a
server's own log warns of one from a second on (fsync.warningthresholdms). The leader commits when a majority has
acknowledged.

Facts (Learner, LearnerHandler). A follower that is a little behind gets a DIFF, the transactions that it lacks. One
that has transactions which the ensemble does not have gets a TRUNC, and deletes them. One that is too far behind, or
has lost its log, gets a SNAP, the whole tree.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, for_request, subscribe
from dissectors.message import Role
from dissectors.wire.times import lasting
from dissectors.zookeeper.quorum.header import code_of
from dissectors.zookeeper.reports.fields import ELECTION, QUORUM
from dissectors.zookeeper.reports.members import EnsembleMembers


class Election(Check):
    """Finds servers that drop the connection of a server with a smaller number."""

    def _begin(self) -> None:
        self.members = EnsembleMembers(self.ends)
        self.voted: set[int] = set()
        """Connections on which votes came."""

    def receive_notification(self, event: MessageEvent) -> None:
        """Notes the numbers of the servers at both ends."""
        sid, leader = event.values.get("sid"), event.values.get("leader")
        if isinstance(sid, int):
            self.members.connect(event.stream, sid, event.values.get("addr"))
        elif isinstance(leader, int):
            self.voted.add(event.stream)
            self.members.configure(event.values.get("config"))

    def end_connection(self, end: ConnectionEnd) -> None:
        """Finds an election connection on which nothing was sent but the id of its opener."""
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


_COUNTER = (1 << 32) - 1
"""The bits of a zxid that count within an epoch."""

SLOW = 1_000_000_000
"""Nanoseconds that are worth saying."""


class Quorum(Check):
    """Finds acknowledgements and commits that come late after a PROPOSAL."""

    def _begin(self) -> None:
        self.proposed: BoundedTable[tuple[str, int], int] = BoundedTable()
        """By leader and transaction when it was proposed first, until it is committed."""

    def propose(self, event: MessageEvent) -> None:
        """Notes when a leader sends a PROPOSAL."""
        zxid = event.values.get("zxid")
        if isinstance(zxid, int) and (event.server, zxid) not in self.proposed:
            self.proposed[event.server, zxid] = event.time
        self.await_answer(event, event.time)

    def acknowledge(self, since: int, event: MessageEvent) -> None:
        """Compares the time of an ACK with that of its PROPOSAL."""
        self.compare(since, f"{event.client} acknowledged", event)

    def commit(self, event: MessageEvent) -> None:
        """COMMIT, of which the first may come late."""
        zxid = event.values.get("zxid")
        since = self.proposed.pop((event.server, zxid)) if isinstance(zxid, int) else None
        self.compare(since, f"{event.server} committed", event)

    def compare(self, since: int | None, who: str, event: MessageEvent) -> None:
        """Reports an answer that took too long."""
        zxid = event.values.get("zxid")
        if since is not None and isinstance(zxid, int) and event.time - since > SLOW:
            took = lasting(event.time - since)
            self.warn("slow-quorum", f"{who} transaction {zxid:#x} {took} after it was proposed")

    on = (
        subscribe([(QUORUM, code_of("PROPOSAL"), Role.REQUEST)], propose, {("zxid",)})
        | subscribe([(QUORUM, code_of("ACK"), Role.RESPONSE)], for_request(acknowledge), {("zxid",)})
        | subscribe(
            [(QUORUM, code_of(name), Role.ONEWAY) for name in ("COMMIT", "COMMITANDACTIVATE")], commit, {("zxid",)}
        )
    )


class Synchronization(Check):
    """Finds servers whose log is cut, or whose data is replaced, when they follow a leader."""

    def receive_truncation(self, event: MessageEvent) -> None:
        """The leader has a server delete transactions."""
        zxid = event.values.get("zxid")
        behind = f" behind {zxid:#x}" if isinstance(zxid, int) else ""
        what = f"its transactions{behind}, which the ensemble does not have"
        self.warn("far-behind", f"the leader has the server at {event.client} delete {what}", f"server {event.client}")

    def receive_snapshot(self, event: MessageEvent) -> None:
        """The leader sends a server all data; at the begin of an epoch, when there is none, this is no news."""
        zxid = event.values.get("zxid")
        if isinstance(zxid, int) and not zxid & _COUNTER:
            return
        text = f"the server at {event.client} gets all data, for it was too far behind or had none"
        self.note("far-behind", text, f"server {event.client}")

    on = subscribe([(QUORUM, code_of("TRUNC"), Role.ONEWAY)], receive_truncation, {("zxid",)}) | subscribe(
        [(QUORUM, code_of("SNAP"), Role.ONEWAY)], receive_snapshot, {("zxid",)}
    )
