"""The report of sessions: who had one, on which servers, how long, what it did, and how it ended.

Facts (ClientCnxn, SessionTrackerImpl). A session outlives its connections: a client connects again, to any server, and
names it. It ends by closeSession, or if the client is silent for the negotiated timeout: then the leader closes it with
a transaction without a request (xid 0), and a client that names it later gets session 0. An idle client sends a ping
after a third of the timeout.

An ephemeral node lives as long as the session that created it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from dissectors.correlator import ConnectionEnd, MessageEvent, subscribe
from dissectors.message import Role
from dissectors.report import OpenRow, Report, ReportRow, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import number
from dissectors.wire.row_sentence import RowSentence
from dissectors.zookeeper.labels import load_names, load_numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.fields import (
    AUTHFAILED,
    CLIENTS,
    CONNECT,
    EVENT,
    WRITES,
    Write,
    done,
    inside,
    on_answers,
    on_quorum,
    on_requests,
    read_packet_data,
    session_of,
    writes,
)
from dissectors.zookeeper.reports.watch_table import SET_AGAIN, WatchTable
from dissectors.zookeeper.reports.watches import AGAIN, CLOSE, SETTERS, Call, find_requested_watches, watches_set

MOST_NAMED = 32
"""Servers, addresses and ephemeral nodes that a row names."""

MOST_NODES = 100_000
"""Ephemeral nodes that are remembered."""

CLOSED, EXPIRED, LOST, REFUSED, OPEN = "closed", "expired", "lost", "refused", "open"

_MS = 1_000_000
PING = "ping"
_CODES = tuple(load_names("operation"))
_CLOSE_TYPE = load_numbers("operation")[CLOSE]


@make_slotted(frozen=False, eq=False)
class SessionRow(OpenRow):
    """One row of the sessions report.

    stream: the latest connection; last_seen: when its client last sent something there. refused: the server refused the
    session or the authentication. nodes: its ephemeral nodes.
    """

    session: str = column("text", "its id; a connection whose session is unknown stands for itself", "")
    state: str = column(
        "text", "closed, expired, lost (its connection ended), refused, open (at the capture's end)", OPEN
    )
    by: str | None = column("text", "who ended it, or its last connection: client, server or leader")
    clients: dict[str, None] = column("texts", "addresses that it came from", default_factory=dict)
    servers: list[str] = column("texts", "servers that it was on, in order", default_factory=list)
    connections: int = column("number", "how often it connected", 0)
    timeout_ns: int | None = column("duration", "after so long a silence it expires, as negotiated")
    asked_ns: int | None = column("duration", "what the client had asked for")
    opened: int | None = column("time", "when it was given; nothing where that is not in the capture")
    ended: int | None = column("time", "when that was")
    requests: int = column("number", "requests, without pings", 0)
    errors: int = column("number", "answers with an error", 0)
    pings: int = column("number", "pings", 0)
    events: int = column("number", "notifications of watches", 0)
    watches_set: int = column("number", "watches that were set", 0)
    watches_fired: int = column("number", "of these, and of those before the capture, how many fired", 0)
    watches_open: int = column("number", "watches that stand", 0)
    ephemerals_created: int = column("number", "ephemeral nodes that it created", 0)
    ephemerals: list[str] = column("texts", "those that are still there", of=lambda row: list(row.nodes)[:MOST_NAMED])
    silence_ns: int | None = column("duration", "the longest time without a word of the client on one connection")
    stream: int | None = None
    last_seen: int | None = None
    refused: bool = False
    nodes: dict[str, None] = field(default_factory=dict)

    most_rows = 32

    def end(self, state: str, time: int | None, by: str | None = None) -> None:
        """Ends the session, or marks its seeming end."""
        self.state, self.ended, self.by = state, time, by


class SessionReport(Report[SessionRow]):
    """The sessions report: one row per session. Rows end with the capture, as a session may come back."""

    name = "sessions"
    has_events = True
    about = "each client's session: its connections, its timeout, what it did, how it ended"
    needs = CLIENTS
    row = SessionRow
    sentence = RowSentence(
        "{word} session {session=}: {state}( by the {by})({?ended: ( {lasted_ns%lasting} after it was first seen)})"
        "({?connections > 1: , {connections} connections})"
    )
    verbs: ClassVar[Mapping[str, str]] = {
        "connect": "connects",
        "refused": "refuses",
        "close": "closes",
        "expired": "expires",
    }
    worst = ("silence_ns",)
    selects = (("session", "zookeeper.session"),)
    key = ("session",)

    def _begin(self) -> None:
        self.on_stream: dict[int, str] = {}
        """By connection the session that is on it."""
        self.watch_table = WatchTable()
        self.owners: dict[str, SessionRow] = {}
        """By path who created an ephemeral node."""

    def close(self, row: SessionRow) -> None:
        """Ends the row of a session, and counts the watches that are still set."""
        row.watches_open = sum(not watch.broken for watch in self.watch_table.of_session(row.session))
        super().close(row)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Notes that a session lost its connection, unless the session is over or has another connection by now."""
        known = self.rows.get(self.on_stream.pop(end.stream, None))
        if known is None or known.stream != end.stream:
            return
        known.stream = known.last_seen = None
        known.last = max(known.last, end.time)
        self.watch_table.lose(known.session)
        if known.state == OPEN:
            known.end(REFUSED if known.refused else LOST, end.time, "client" if end.by_client else "server")

    def find_session(self, event: MessageEvent) -> SessionRow:
        """Returns the session that a message is of."""
        name = session_of(event)
        known = self.find(name, event)
        if event.context.role is Role.REQUEST and self.on_stream.get(event.stream) != name:
            known.stream, known.last_seen = event.stream, None
            known.connections += 1
            self.watch_table.lose(name)
            add_name(known.clients, event.client, MOST_NAMED)
            if not known.servers or known.servers[-1] != event.server:
                known.servers = [*known.servers[: MOST_NAMED - 1], event.server]
            self.on_stream[event.stream] = name
        return known

    def receive_connect(self, event: MessageEvent) -> None:
        """Handles a connect request or answer; four-letter words have no session."""
        if event.operation != CONNECT:
            return
        known = self.find_session(event)
        session, timeout = number(event.values, "sessionId"), event.values.get("timeOut")
        known.note("connect", event)
        known.asked_ns, known.last_seen, known.refused = _ns(timeout), event.time, True
        if known.state == LOST:
            known.end(OPEN, None)
        self.await_answer(event, session)

    def receive_connected(self, event: MessageEvent) -> None:
        """Notes the session in the answer to a connect."""
        if event.operation != CONNECT:
            return
        known = self.find_session(event)
        session, timeout = number(event.values, "sessionId"), event.values.get("timeOut")
        known.refused = not session
        if session:
            known.timeout_ns = _ns(timeout)
            known.opened = event.time if self.take_request(event) == 0 else known.opened
        else:
            known.note("refused", event)
            if known.state != CLOSED:
                known.end(REFUSED if event.values.get("err") else EXPIRED, event.time, "server")
                self.leave(known)

    def receive_request(self, event: MessageEvent) -> None:
        """Notes any other request of a client."""
        known, name, values = self.find_session(event), event.operation or "", event.values
        if known.stream == event.stream:
            silence = max(known.silence_ns or 0, event.time - (known.last_seen or event.time))
            known.silence_ns, known.last_seen = silence or None, event.time
        if name == PING:
            known.pings += 1
            return
        known.requests += 1
        call = find_requested_watches(name, values)
        if call is not None:
            self.await_answer(event, call)
        elif name == CLOSE:
            known.note("close", event)
        elif name in WRITES:
            written = tuple(writes(name, values))
            if any(write is not None and (write.ephemeral or write.path in self.owners) for write in written):
                self.await_answer(event, Call(written=written))

    def receive_answer(self, event: MessageEvent) -> None:
        """Notes the answer to a request."""
        known, error, name = self.find_session(event), event.values.get("err"), event.operation
        known.errors += bool(error)
        if name == CLOSE and not error:
            known.end(CLOSED, event.time, "client")
            self.leave(known)
            return
        if error == AUTHFAILED:
            known.refused = True
            return
        call = self.take_request(event)
        if not isinstance(call, Call) or event.partner is None:
            return
        for kind, path in watches_set(name, call.sets, error):
            known.watches_set += self.watch_table.set(known.session, kind, path, event.partner, event.time)
        if call.removes is not None and not error:
            self.watch_table.remove(known.session, *call.removes)
        self.write(known, done(name, list(call.written), event.values))

    def write(self, known: SessionRow, written: Iterable[Write]) -> None:
        """Notes a change of an ephemeral node: the session that creates it owns it, and any session may delete it."""
        for write in written:
            if write.verb == "deleted":
                owner = self.owners.pop(write.path, None)
                if owner is not None:
                    owner.nodes.pop(write.path, None)
            elif write.ephemeral:
                known.ephemerals_created += 1
                if len(self.owners) < MOST_NODES:
                    known.nodes[write.path] = None
                    self.owners[write.path] = known

    def receive_event(self, event: MessageEvent) -> None:
        """Counts a watch event for its session, and the watches that it fires."""
        known, kind, path = self.find_session(event), event.values.get("type"), event.values.get("path")
        known.events += 1
        if isinstance(kind, str) and isinstance(path, str):
            known.watches_fired += len(self.watch_table.fire(known.session, kind, path)) or 1

    def receive_proposal(self, event: MessageEvent) -> None:
        """Notes a transaction by which the leader closes a session that has expired."""
        packet = read_packet_data(event)
        if not _is_expiry(packet):
            return
        known = self.rows.get(session_name(number(packet["header"], "clientId")))
        if known is not None and known.state not in (CLOSED, EXPIRED):
            known.add("expired", event.row)
            known.end(EXPIRED, event.time, "leader")
            self.leave(known)

    def leave(self, known: SessionRow) -> None:
        """Removes the ephemeral nodes and the watches of a session that ends."""
        for path in known.nodes:
            self.owners.pop(path, None)
        known.nodes.clear()
        self.watch_table.close(known.session)

    on = (
        subscribe([(CLIENTS, code, Role.REQUEST) for code in _CODES], receive_request)
        | subscribe([(CLIENTS, code, Role.RESPONSE) for code in _CODES], receive_answer, {("err",)})
        | subscribe([(CLIENTS, None, Role.REQUEST)], receive_connect, {("timeOut",), ("sessionId",)})
        | subscribe([(CLIENTS, None, Role.RESPONSE)], receive_connected, {("timeOut",), ("sessionId",), ("err",)})
        | on_answers([PING], receive_answer)
        | on_requests(SETTERS, receive_request, "path", "watch")
        | on_requests(["addWatch"], receive_request, "path", "mode")
        | on_requests(["removeWatches"], receive_request, "path", "type")
        | on_requests(AGAIN, receive_request, *SET_AGAIN)
        | on_requests(WRITES, receive_request, "path", "flags", "operations")
        | on_answers(WRITES, receive_answer, "err", "path", "operations")
        | subscribe([(CLIENTS, EVENT, Role.PUSH)], receive_event, {("type",), ("path",)})
        | on_quorum("PROPOSAL INFORM", receive_proposal, "data")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message is a connect or may end a session; rows mention no others."""
        return operation in (CONNECT, CLOSE) or _is_expiry(inside(values.get("data")))

    @classmethod
    def list_events(cls, entry: ReportRow) -> Iterator[tuple[int, int | None, str]]:
        """Yields the end of a session that its client did not close."""
        cells = cls.cells(entry)
        ended = _ENDED.get(cells["state"])
        if ended is not None:
            by = f" by the {cells['by']}" if cells["by"] else ""
            where = f" at {cells['servers'][-1]}" if cells["servers"] else ""
            row = entry.rows[-1][1] if entry.rows else None
            yield cells["ended"] or entry.last, row, f"session {cells['session']} {ended}{by}{where}"


_ENDED = {"expired": "expired", "refused": "was refused", "lost": "lost its connection, which was ended"}
"""By state of a session that its client did not close: what happened to it."""


def _is_expiry(packet: Mapping[str, Any]) -> bool:
    """Whether a transaction closes a session that nobody asked to close."""
    header = packet.get("header")
    return isinstance(header, dict) and header.get("type") == _CLOSE_TYPE and not header.get("cxid")


def _ns(milliseconds: object) -> int:
    return milliseconds * _MS if isinstance(milliseconds, int) else 0
