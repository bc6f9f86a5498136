"""Checks of clients: silences, and connections that end without a goodbye.

Facts (ClientCnxn). An idle client sends a ping after a third of the session's timeout, and gives the connection up if
it gets no answer for two thirds of it; kazoo does so sooner. The server closes the session if it receives nothing for
all of it. A client that is done sends closeSession. A connection that ends without it is lost, and its session stays
until it expires or continues, maybe on another server; then the old connection is closed on purpose.

Facts (ZooKeeperServer.reopenSession). A server that does not know the session, and one that gets a wrong password,
send the same answer: no session. The earlier requests of the session tell the two apart. A server that is asked for a
session over a new connection closes the old one.
"""

from __future__ import annotations

from typing import NamedTuple

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, Moment, for_request, subscribe
from dissectors.finding import Finding, Severity
from dissectors.message import Role
from dissectors.slotted import make_slotted
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import load_names, load_numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.fields import CLIENTS

MOST_CONNECTIONS = 100_000
"""Connections, and sessions, that are remembered."""

_MS = 1_000_000
_PATIENCE = 4
"""A client that closes its connection after this part of the timeout without an answer to a ping does so for that."""

_CLOSE, _PING = (load_numbers("operation")[name] for name in ("closeSession", "ping"))


@make_slotted(frozen=False, eq=False)
class _Connection:
    """last_seen: when its client last sent something. silent: for how many ns it was silent, at most.

    is_unsure: whether bytes are missing, so that it may have been silent for longer.
    pinged: when it sent a ping that has no answer, ns since 1970. timeout (ns), session: as negotiated. closing: it
    closes it.
    """

    last_seen: Moment
    silent: int = 0
    is_unsure: bool = False
    pinged: int | None = None
    timeout: int = 0
    session: int = 0
    closing: bool = False


class _SessionGrant(NamedTuple):
    """The grant of a session: when it was asked for and given (ns since 1970), on which connection, by which server."""

    requested: int
    time: int
    stream: int
    server: str


_SERVER = "Look for pauses of the server (garbage collection, a slow disk, a stopped process), and at the network."
_PASSWORD = "Look for two clients that use one session id, or for a client that has saved an old password."


class ClientCheck(Check):
    """Finds clients that nearly lose their session, and connections that end without a close."""

    def _begin(self) -> None:
        self.connections: BoundedTable[int, _Connection] = BoundedTable(MOST_CONNECTIONS)
        self.issued: BoundedTable[int, _SessionGrant] = BoundedTable(MOST_CONNECTIONS)
        """By session where it was last issued."""

    def receive_request(self, event: MessageEvent) -> None:
        """Finds a long silence of the client, which a request ends."""
        known = self.connections.get(event.stream)
        if known is None:
            known = self.connections[event.stream] = _Connection(event.moment)
        # What the client said meanwhile may be among the bytes that are missing.
        silent = known.last_seen.measure_until(event)
        if silent is not None and known.timeout and 3 * silent > 2 * known.timeout:
            expires = f"its session expires after {lasting(known.timeout)}"
            self.warn("late-ping", f"the client was silent for {lasting(silent)}, and {expires}")
        known.silent = max(known.silent, silent or 0)
        known.is_unsure |= silent is None
        known.last_seen = event.moment
        known.closing |= event.context.code == _CLOSE
        if event.context.code == _PING:
            known.pinged = known.pinged or event.time
            self.await_answer(event, event.time)
        elif event.context.code is None:
            self.await_answer(event, (event.values.get("sessionId"), event.time))

    def receive_pong(self, sent: int, event: MessageEvent) -> None:
        """Finds a ping with a late answer."""
        known, took = self.connections.get(event.stream), event.time - sent
        if known is not None:
            known.pinged = None
        if known is not None and known.timeout and 3 * took > known.timeout:
            expires = f"the session expires after {lasting(known.timeout)}"
            self.warn("late-ping", f"the ping was answered after {lasting(took)}; {expires}")

    def receive_connected(self, event: MessageEvent) -> None:
        """Notes the session that a server gives, or that it gives none."""
        request = self.take_request(event)
        wanted, since = request if isinstance(request, tuple) else (0, event.time)
        known = self.connections.get(event.stream)
        timeout, session = event.values.get("timeOut"), event.values.get("sessionId")
        if not isinstance(timeout, int) or not isinstance(session, int):
            return
        if not session or not timeout:
            self.refuse(wanted if isinstance(wanted, int) else 0, event)
        elif known is not None:
            known.timeout, known.session, known.last_seen = timeout * _MS, session, event.moment
            self.issued[session] = _SessionGrant(since, event.time, event.stream, event.server)

    def refuse(self, session: int, event: MessageEvent) -> None:
        """Finds why a server does not give a client the session that it asks for."""
        if not session:
            self.warn("session-expired", f"{event.server} gives no session to a client that asks for a new one")
            return
        issued = self.issued.get(session)
        before = None if issued is None else self.connections.get(issued.stream)
        subject = f"session {session_name(session)}"
        what = f"{event.server} does not give {subject} to its client: "
        since = 0 if before is None else event.time - before.last_seen.time
        silent = since if before is None else max(before.silent, since)
        if before is None or (before.is_unsure and not before.closing and silent < before.timeout):
            self.warn("session-expired", f"{what}it has expired, or its password is wrong", subject)
        elif before.closing:
            text = f"{what}the client itself had closed it {lasting(since)} before"
            self.note("session-closed", text, subject)
        elif silent < before.timeout:
            alive = f"the session was heard of {lasting(since)} before and lives for {lasting(before.timeout)}"
            text = f"{what}{alive}, so the password is not its own"
            self.emit(Finding(Severity.ERROR, "access-refused", text, subject=subject, advice=_PASSWORD))
        else:
            why = f"it expired, for the client was silent for {lasting(silent)}"
            advice = ""
            if before.pinged is not None and before.silent < before.timeout:
                advice = _SERVER
                pinged = lasting(event.time - before.pinged)
                why = f"it expired while the server gave no answer to a ping of {pinged} before"
            text = f"{what}{why}, and the session lives for {lasting(before.timeout)}; its ephemeral nodes are gone"
            self.emit(Finding(Severity.WARNING, "session-expired", text, subject=subject, advice=advice))

    def end_connection(self, end: ConnectionEnd) -> None:
        """Finds a session that the client did not close."""
        known = self.connections.pop(end.stream)
        if known is None or known.closing or not known.session:
            return
        name = session_name(known.session)
        by = f"{end.client}, its client," if end.by_client else f"the server, {end.server},"
        since = f"{lasting(end.time - known.last_seen.time)} after the client's last message"
        sentence = f"session {name}: {by} ended the connection without closeSession, {since}"
        if known.pinged is not None and end.by_client and _PATIENCE * (end.time - known.pinged) >= known.timeout:
            sentence += f", for its ping had no answer for {lasting(end.time - known.pinged)}"
        issued = self.issued.get(known.session)
        if issued is None or issued.stream == end.stream:
            self.warn("connection-lost", sentence)
        elif issued.time > end.time and (end.by_client or issued.requested > end.time):
            self.warn(
                "connection-lost", f"{sentence}; {issued.server} took it on {lasting(issued.time - end.time)} later"
            )
        elif known.last_seen.time > issued.time:
            old = f"{end.client} went on to use it at {end.server}, which ended that connection without an answer"
            text = f"session {name} has moved to {issued.server}, and {old}"
            self.warn("session-moved", text, f"session {name}")
        else:
            text = f"session {name} has moved to {issued.server}; its old connection to {end.server} has ended"
            if issued.server == end.server:
                text = f"session {name} goes on over a new connection to {end.server}, which has ended the old one"
            self.note("session-moved", text, f"session {name}")

    on = (
        subscribe([(CLIENTS, None, Role.REQUEST)], receive_request, {("sessionId",)})
        | subscribe([(CLIENTS, code, Role.REQUEST) for code in load_names("operation")], receive_request)
        | subscribe([(CLIENTS, _PING, Role.RESPONSE)], for_request(receive_pong, int))
        | subscribe([(CLIENTS, None, Role.RESPONSE)], receive_connected, {("timeOut",), ("sessionId",)})
    )
