"""Checks of the ensemble: slow servers, and servers whose data is cut or replaced.

Facts. A follower sends its ACK when the transaction is on its disk, so a late one usually means a slow fsync; a
server's own log warns from one second on (fsync.warningthresholdms). The leader commits when a majority has
acknowledged.

Facts (Learner, LearnerHandler). A follower that is a little behind gets a DIFF, the transactions that it lacks. One
that has transactions which the ensemble does not have gets a TRUNC, and deletes them. One that is too far behind, or
has lost its log, gets a SNAP, the whole tree.
"""

from __future__ import annotations

from dataclasses import replace

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, for_request, subscribe
from dissectors.finding import Finding, Severity
from dissectors.message import Role
from dissectors.report import REPORTED
from dissectors.values import shorten, text
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.quorum.header import code_of
from dissectors.zookeeper.reports.fields import CLIENTS, QUORUM, on_quorum, read_packet_data

_COUNTER = (1 << 32) - 1
"""The bits of a zxid that count within an epoch."""

_RECONFIG = load_numbers("operation")["reconfig"]
_CHANGES = ("joining", "joiningServers"), ("leaving", "leavingServers"), ("from now on", "newMembers")
_LONGEST = 100
"""Characters of a list of servers."""

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
        """Notes a COMMIT; the first follower to get it may get it late."""
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

    def _begin(self) -> None:
        self.servers: BoundedTable[int, str] = BoundedTable()
        """By connection the server that follows."""
        self.latest: BoundedTable[int, int] = BoundedTable()
        """By connection the last transaction that this server has."""
        self.replaced: BoundedTable[int, tuple[int, Finding]] = BoundedTable()
        """By connection when a server's data was cut or replaced, and what is found then."""

    def receive_learner(self, event: MessageEvent) -> None:
        """Notes which server follows on a connection (FOLLOWERINFO or OBSERVERINFO)."""
        sid = read_packet_data(event).get("serverid")
        if isinstance(sid, int):
            self.servers[event.stream] = f"server {sid}"

    def receive_latest(self, event: MessageEvent) -> None:
        """Notes the last transaction of a server that is about to follow (ACKEPOCH)."""
        zxid = event.values.get("zxid")
        if isinstance(zxid, int):
            self.latest[event.stream] = zxid

    def receive_truncation(self, event: MessageEvent) -> None:
        """Reports that the leader makes a server delete transactions."""
        zxid = event.values.get("zxid")
        behind = f" behind {zxid:#x}" if isinstance(zxid, int) else ""
        text = f"the leader has {{server}} delete its transactions{behind}: the ensemble does not have them"
        self.replace(event, Severity.WARNING, text)

    def receive_snapshot(self, event: MessageEvent) -> None:
        """Reports that the leader sends a server all data, except at the beginning of an epoch, when that is normal."""
        zxid = event.values.get("zxid")
        if isinstance(zxid, int) and not zxid & _COUNTER:
            return
        latest = self.latest.get(event.stream)
        why = "it was too far behind or had lost its own"
        if latest is not None:
            why = f"it was too far behind: its last transaction was {latest:#x}" if latest else "it had none of its own"
        self.replace(event, Severity.NOTE, f"{{server}} gets all data again, because {why}")

    def replace(self, event: MessageEvent, severity: Severity, text: str) -> None:
        """Notes that a server's data is cut or replaced."""
        server = self.servers.get(event.stream) or "a server"
        text = text.format(server=f"{server} ({event.client})")
        self.replaced[event.stream] = event.time, Finding(severity, "far-behind", text, subject=server)

    def receive_readiness(self, event: MessageEvent) -> None:
        """Finds how long it took until the server serves clients (UPTODATE)."""
        found = self.replaced.pop(event.stream)
        if found is not None:
            since, finding = found
            self.emit(replace(finding, text=f"{finding.text}; it is ready {lasting(event.time - since)} later"))

    def end_connection(self, end: ConnectionEnd) -> None:
        """Finds a server that lost its leader before it had all data."""
        found = self.replaced.pop(end.stream)
        if found is not None:
            self.emit(replace(found[1], text=f"{found[1].text}; the connection ended before it was ready"))

    def leave_open(self, end: ConnectionEnd) -> None:
        """Finds a server that does not have all data when the capture ends."""
        found = self.replaced.pop(end.stream)
        if found is not None:
            self.emit(replace(found[1], text=f"{found[1].text}; it is not ready when the capture ends"))

    on = (
        on_quorum("FOLLOWERINFO OBSERVERINFO", receive_learner, "data")
        | on_quorum("ACKEPOCH", receive_latest, "zxid")
        | on_quorum("TRUNC", receive_truncation, "zxid")
        | on_quorum("SNAP", receive_snapshot, "zxid")
        | on_quorum("UPTODATE", receive_readiness)
    )


class Reconfigurations(Check):
    """Finds changes of the ensemble's servers, after which servers close connections because their role changes."""

    def receive_request(self, event: MessageEvent) -> None:
        """Notes which servers a reconfig adds and removes."""
        changes = [(name, text(event.values, field)) for name, field in _CHANGES]
        self.await_answer(event, "; ".join(f"{name} {shorten(value, _LONGEST)}" for name, value in changes if value))

    def receive_answer(self, what: str, event: MessageEvent) -> None:
        """Reports a reconfig that the ensemble accepted."""
        if event.error is None:
            self.note("reconfigured", f"a client changed the servers of the ensemble: {what or 'nothing new'}")

    on = subscribe(
        [(CLIENTS, _RECONFIG, Role.REQUEST)], receive_request, {(field,) for _, field in _CHANGES}
    ) | subscribe([(CLIENTS, _RECONFIG, Role.RESPONSE)], for_request(receive_answer, str), {REPORTED})
