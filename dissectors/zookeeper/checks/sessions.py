"""Checks of clients: silences, and connections that end without a goodbye.

Facts (ClientCnxn). A client that has nothing to say sends a ping after a third of the session's timeout, and gives the
connection up if two thirds of it bring no answer; the server closes the session where it hears nothing for all of it.
Who is done says closeSession; a connection that ends without is lost, and its session stays until it expires or comes
back, maybe on another server: then the old connection is closed on purpose.
"""

from __future__ import annotations

from dissectors.check import Check
from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent, Moment, for_request, subscribe
from dissectors.message import Role
from dissectors.slotted import make_slotted
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import load_names, load_numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.fields import CLIENTS

MOST_CONNECTIONS = 100_000
"""Connections, and sessions, that are remembered."""

_MS = 1_000_000
_CLOSE, _PING = (load_numbers("operation")[name] for name in ("closeSession", "ping"))


@make_slotted(frozen=False, eq=False)
class _Connection:
    """last_seen: when its client last sent something. timeout (ns), session: as negotiated. closing: it closes it."""

    last_seen: Moment
    timeout: int = 0
    session: int = 0
    closing: bool = False


class ClientCheck(Check):
    """Finds clients that nearly lose their session, and connections that end without a close."""

    def _begin(self) -> None:
        self.connections: BoundedTable[int, _Connection] = BoundedTable(MOST_CONNECTIONS)
        self.issued: BoundedTable[int, tuple[int, int, str]] = BoundedTable(MOST_CONNECTIONS)
        """By session when it was last given, on which connection, by which server."""

    def receive_request(self, event: MessageEvent) -> None:
        """Finds a long silence of the client, which a request ends."""
        known = self.connections.get(event.stream)
        if known is None:
            known = self.connections[event.stream] = _Connection(event.moment)
        silent = known.last_seen.measure_until(
            event
        )  # what the client said meanwhile may be among the bytes that are missing
        if silent is not None and known.timeout and 3 * silent > 2 * known.timeout:
            expires = f"its session expires after {lasting(known.timeout)}"
            self.warn("late-ping", f"the client was silent for {lasting(silent)}, and {expires}")
        known.last_seen = event.moment
        known.closing |= event.context.code == _CLOSE
        if event.context.code in (None, _PING):
            self.await_answer(event, event.time)

    def receive_pong(self, sent: int, event: MessageEvent) -> None:
        """Finds a ping with a late answer."""
        known, took = self.connections.get(event.stream), event.time - sent
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
                self.issued[session] = event.time, event.stream, event.server

    def end_connection(self, end: ConnectionEnd) -> None:
        """Finds a session that the client did not close."""
        known = self.connections.pop(end.stream)
        if known is None or known.closing or not known.session:
            return
        name = session_name(known.session)
        by = f"{end.client}, its client," if end.by_client else f"the server, {end.server},"
        since = f"{lasting(end.time - known.last_seen.time)} after the client's last message"
        sentence = f"session {name}: {by} ended the connection without closeSession, {since}"
        issued_at, stream, server = self.issued.get(known.session) or (0, end.stream, "")
        if stream == end.stream:
            self.warn("connection-lost", sentence)
        elif issued_at > end.time:
            self.warn("connection-lost", f"{sentence}; {server} took it on {lasting(issued_at - end.time)} later")
        else:
            self.note("connection-lost", f"{sentence}; {server} had taken it on before")

    on = (
        subscribe([(CLIENTS, code, Role.REQUEST) for code in (None, *load_names("operation"))], receive_request)
        | subscribe([(CLIENTS, _PING, Role.RESPONSE)], for_request(receive_pong))
        | subscribe([(CLIENTS, None, Role.RESPONSE)], for_request(receive_connected), {("timeOut",), ("sessionId",)})
    )
