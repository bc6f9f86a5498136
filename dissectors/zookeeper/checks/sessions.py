"""Checks that need several messages, for the client, the election and the quorum port.

Facts (ClientCnxn). A client that has nothing to say sends a ping after a third of the session's timeout, and gives the
connection up if two thirds of it bring no answer; the server closes the session where it hears nothing for all of it.
Who is done says closeSession; a connection that ends without is lost, and its session stays until it expires or comes
back, maybe on another server: then the old connection is closed on purpose.

Facts (QuorumCnxManager). Two servers keep one connection, that of the one with the larger number. Where the other one
connects, the server with the larger number closes that connection when it has read the first message, and connects
itself. It looks like a fault and is none.

Facts. A follower sends its ACK when the transaction is on its disk, so a late one is most often a slow fsync; a
server's own log warns of one from a second on (fsync.warningthresholdms). The leader commits when a majority has
acknowledged.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, Moment, for_request, subscribe
from dissectors.message import Role
from dissectors.slotted import make_slotted
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import load_names, load_numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.quorum.header import code_of
from dissectors.zookeeper.reports.fields import CLIENTS, ELECTION, QUORUM
from dissectors.zookeeper.reports.members import EnsembleMembers

MOST_CONNECTIONS = 100_000
"""Connections, and sessions, that are remembered."""

_MS = 1_000_000
_CLOSE, _PING = (load_numbers("operation")[name] for name in ("closeSession", "ping"))


@make_slotted(frozen=False, eq=False)
class _Connection:
    """heard: when its client last said something. timeout (ns) and session: as negotiated; closing: it says goodbye."""

    heard: Moment
    timeout: int = 0
    session: int = 0
    closing: bool = False


class ClientCheck(Check):
    """Finds clients that nearly lose their session, and connections that end without a close."""

    def _begin(self) -> None:
        self.connections: BoundedTable[int, _Connection] = BoundedTable(MOST_CONNECTIONS)
        self.given: BoundedTable[int, tuple[int, int, str]] = BoundedTable(MOST_CONNECTIONS)
        """By session when it was last given, on which connection, by which server."""

    def receive_request(self, event: MessageEvent) -> None:
        """A silence that was long ends, perhaps."""
        known = self.connections.get(event.stream)
        if known is None:
            known = self.connections[event.stream] = _Connection(event.moment)
        silent = known.heard.measure_until(
            event
        )  # what the client said meanwhile may be among the bytes that are missing
        if silent is not None and known.timeout and 3 * silent > 2 * known.timeout:
            expires = f"its session expires after {lasting(known.timeout)}"
            self.warn("late-ping", f"the client was silent for {lasting(silent)}, and {expires}")
        known.heard = event.moment
        known.closing |= event.context.code == _CLOSE
        if event.context.code in (None, _PING):
            self.await_answer(event, event.time)

    def receive_pong(self, asked: int, event: MessageEvent) -> None:
        """A ping was answered late, perhaps."""
        known, took = self.connections.get(event.stream), event.time - asked
        if known is not None and known.timeout and 3 * took > known.timeout:
            expires = f"the session expires after {lasting(known.timeout)}"
            self.warn("late-ping", f"the ping was answered after {lasting(took)}; {expires}")

    def receive_connected(self, _: int, event: MessageEvent) -> None:
        """Notes the session that a server gives, or that it gives none."""
        known = self.connections.get(event.stream)
        timeout, session = event.values.get("timeOut"), event.values.get("sessionId")
        if known is not None and isinstance(timeout, int) and isinstance(session, int):
            known.timeout, known.session = timeout * _MS, session
            if session:
                self.given[session] = event.time, event.stream, event.server

    def end_connection(self, end: ConnectionEnd) -> None:
        """A session that was not closed."""
        known = self.connections.pop(end.stream)
        if known is None or known.closing or not known.session:
            return
        name = session_name(known.session)
        by = f"{end.client}, its client," if end.by_client else f"the server, {end.server},"
        since = f"{lasting(end.time - known.heard.time)} after the client's last message"
        said = f"session {name}: {by} ended the connection without closeSession, {since}"
        given, stream, server = self.given.get(known.session) or (0, end.stream, "")
        if stream == end.stream:
            self.warn("connection-lost", said)
        elif given > end.time:
            self.warn("connection-lost", f"{said}; {server} took it on {lasting(given - end.time)} later")
        else:
            self.note("connection-lost", f"{said}; {server} had taken it on before")

    on = (
        subscribe([(CLIENTS, code, Role.REQUEST) for code in (None, *load_names("operation"))], receive_request)
        | subscribe([(CLIENTS, _PING, Role.RESPONSE)], for_request(receive_pong))
        | subscribe([(CLIENTS, None, Role.RESPONSE)], for_request(receive_connected), {("timeOut",), ("sessionId",)})
    )


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
