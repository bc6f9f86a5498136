"""The story of sessions: who had one, on which servers, how long, what it did, and how it ended.

Facts (ClientCnxn, SessionTrackerImpl). A session outlives its connections: a client connects again, to any server, and
names it. It ends by closeSession, or where nothing was heard of the client for the negotiated timeout: then the leader
closes it with a transaction that nobody asked for (xid 0), and who names it later is answered by session 0. A client
sends a ping where it has nothing to say for a third of the timeout.

An ephemeral node lives as long as the session that created it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, ConnectionEnd, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import names, numbers
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports.asked import Asked, session_of
from dissectors.zookeeper.reports.messages import (
    AUTHFAILED,
    CLIENTS,
    CONNECT,
    DATA,
    EVENT,
    QUORUM,
    WRITES,
    Write,
    content,
    done,
    inside,
    number,
    of_clients,
    of_quorum,
    writes,
)
from dissectors.zookeeper.reports.standing import SET_AGAIN, Standing
from dissectors.zookeeper.reports.tenure import CLOSED, EXPIRED, LOST, MOST_NAMED, OPEN, REFUSED, Tenure, add
from dissectors.zookeeper.reports.watches import AGAIN, CLOSE, SETTERS, sets_of, watches_set

MOST = 65_536
"""Sessions that are remembered."""

MOST_NODES = 100_000
"""Ephemeral nodes that are remembered."""

_MS = 1_000_000
PING = "ping"
_READERS = (*SETTERS, "addWatch", "removeWatches", *AGAIN)
_CREATES = tuple(name for name in WRITES if name.startswith("create"))
_CLOSE_TYPE = numbers("operation")[CLOSE]


class Sessions(OldReport):
    """See the module."""

    name = "sessions"
    about = "each client's session: its connections, its timeout, what it did, how it ended"
    needs = CLIENTS
    columns = (
        Column("session", "text", "its id; a connection whose session is unknown stands for itself"),
        Column("state", "text", "closed, expired, lost (its connection ended), refused, open (at the capture's end)"),
        Column("by", "text", "who ended it, or its last connection: client, server or leader"),
        Column("clients", "texts", "addresses that it came from"),
        Column("servers", "texts", "servers that it was on, in order"),
        Column("connections", "number", "how often it connected"),
        Column("timeout_ns", "duration", "after so long a silence it expires, as negotiated"),
        Column("asked_ns", "duration", "what the client had asked for"),
        Column("opened", "time", "when it was given; nothing where that is not in the capture"),
        Column("ended", "time", "when that was"),
        Column("requests", "number", "requests, without pings"),
        Column("errors", "number", "answers with an error"),
        Column("pings", "number", "pings"),
        Column("events", "number", "notifications of watches"),
        Column("watches_set", "number", "watches that were set"),
        Column("watches_fired", "number", "of these, and of those before the capture, how many fired"),
        Column("watches_open", "number", "watches that stand"),
        Column("ephemerals_created", "number", "ephemeral nodes that it created"),
        Column("ephemerals", "texts", "those that are still there"),
        Column("silence_ns", "duration", "the longest time without a word of the client on one connection"),
    )
    wants: ClassVar = {
        **{(CLIENTS, code, Role.REQUEST): frozenset() for code in names("operation")},
        **{(CLIENTS, code, Role.RESPONSE): frozenset({("err",)}) for code in names("operation")},
        (CLIENTS, None, Role.REQUEST): frozenset({("timeOut",), ("sessionId",)}),
        (CLIENTS, None, Role.RESPONSE): frozenset({("timeOut",), ("sessionId",), ("err",)}),
        **of_clients((PING,), Role.RESPONSE),
        **of_clients(SETTERS, Role.REQUEST, "path", "watch"),
        **of_clients(("addWatch",), Role.REQUEST, "path", "mode"),
        **of_clients(("removeWatches",), Role.REQUEST, "path", "type"),
        **of_clients(AGAIN, Role.REQUEST, *SET_AGAIN),
        **of_clients(WRITES, Role.REQUEST, "path", "flags", "operations"),
        **of_clients(WRITES, Role.RESPONSE, "err", "path", "operations"),
        (CLIENTS, EVENT, Role.PUSH): frozenset({("type",), ("path",)}),
        **of_quorum(("PROPOSAL", "INFORM"), DATA),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._sessions: OrderedDict[str, Tenure] = OrderedDict()
        self._on: dict[int, str] = {}
        """By connection the session that is on it."""
        self._reads: Asked[tuple[tuple[str, str], ...]] = Asked()
        self._removes: Asked[tuple[int, str]] = Asked()
        self._writes: Asked[list[Write | None]] = Asked()
        self._asked: Asked[object] = Asked()
        """Of a connect the session that it asks for."""
        self._standing = Standing()
        self._owners: dict[str, Tenure] = {}
        """By path who created an ephemeral node."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """Nothing is over before the end: a session may come back."""
        if told.protocol == QUORUM:
            self._proposed(told)
            return ()
        if told.operation == CONNECT:
            return self._connect(told)
        if told.context.code is None:
            return ()
        known, forgotten = self._session(session_of(told), told)
        if told.context.role is Role.REQUEST:
            self._request(known, told)
        elif told.context.role is Role.PUSH:
            self._event(known, told)
        else:
            self._answer(known, told)
        return forgotten

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """Without a session on it, or with one that is over or elsewhere, a connection's end says nothing."""
        name = self._on.pop(ending.stream, None)
        known = None if name is None else self._sessions.get(name)
        if known is None or known.stream != ending.stream:
            return ()
        known.stream = known.heard = None
        known.last = max(known.last, ending.time)
        self._standing.lose(known.name)
        if known.state == OPEN:
            by = "client" if ending.by_client else "server"
            known.end(REFUSED if known.refused else LOST, ending.time, by)
        return ()

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        for known in self._sessions.values():
            yield self._entry(known)

    def _session(self, name: str, told: MessageEvent) -> tuple[Tenure, list[ReportRow]]:
        """A session that a message is of, and what is forgotten for it."""
        known = self._sessions.get(name)
        forgotten: list[ReportRow] = []
        if known is None:
            known = self._sessions[name] = Tenure(name, told.time, told.time)
            if len(self._sessions) > MOST:
                forgotten.append(self._entry(self._sessions.popitem(last=False)[1]))
        known.last = max(known.last, told.time)
        if told.context.role is Role.REQUEST and self._on.get(told.stream) != name:
            known.stream, known.heard = told.stream, None
            known.connections += 1
            self._standing.lose(name)
            client, server = self.ends(told.stream)
            add(known.clients, client)
            if not known.servers or known.servers[-1] != server:
                known.servers = [*known.servers[: MOST_NAMED - 1], server]
            self._on[told.stream] = name
        return known, forgotten

    def _connect(self, told: MessageEvent) -> Iterable[ReportRow]:
        known, forgotten = self._session(session_of(told), told)
        given, timeout = number(told.values, "sessionId"), number(told.values, "timeOut")
        if told.context.role is Role.REQUEST:
            known.note("connect", told.row)
            known.asked, known.heard, known.refused = timeout, told.time, True
            if known.state == LOST:
                known.end(OPEN, None)
            self._asked.keep(told, given)
            return forgotten
        known.refused = not given
        if given:
            known.timeout = timeout
            known.opened = told.time if self._asked.answered(told) == 0 else known.opened
        else:
            known.note("refused", told.row)
            if known.state != CLOSED:
                known.end(REFUSED if told.values.get("err") else EXPIRED, told.time, "server")
                self._leave(known)
        return forgotten

    def _request(self, known: Tenure, told: MessageEvent) -> None:
        if known.stream == told.stream:
            known.silence = max(known.silence, told.time - (known.heard or told.time))
            known.heard = told.time
        name, values = told.operation or "", told.values
        if name == PING:
            known.pings += 1
            return
        known.requests += 1
        sets = sets_of(name, values)
        if sets:
            self._reads.keep(told, sets)
        elif name == "removeWatches" and isinstance(values.get("path"), str):
            self._removes.keep(told, (number(values, "type"), values["path"]))
        elif name == CLOSE:
            known.note("close", told.row)
        elif name in WRITES:
            written = list(writes(name, values))
            if any(write is not None and (write.ephemeral or write.path in self._owners) for write in written):
                self._writes.keep(told, written)

    def _answer(self, known: Tenure, told: MessageEvent) -> None:
        error = told.values.get("err")
        known.errors += bool(error)
        name = told.operation
        if name == CLOSE and not error:
            known.end(CLOSED, told.time, "client")
            self._leave(known)
        elif error == AUTHFAILED:
            known.refused = True
        elif (sets := self._reads.answered(told)) is not None and told.partner is not None:
            for kind, path in watches_set(name, sets, error):
                known.set += self._standing.set(known.name, kind, path, told.partner, told.time)
        elif (removed := self._removes.answered(told)) is not None and not error:
            self._standing.remove(known.name, *removed)
        elif (written := self._writes.answered(told)) is not None:
            self._written(known, done(name, written, told.values))

    def _written(self, known: Tenure, written: Iterable[Write]) -> None:
        """Ephemeral nodes come, and any session takes them away."""
        for write in written:
            if write.verb == "deleted":
                owner = self._owners.pop(write.path, None)
                if owner is not None:
                    owner.nodes.pop(write.path, None)
            elif write.ephemeral:
                known.created += 1
                if len(self._owners) < MOST_NODES:
                    known.nodes[write.path] = None
                    self._owners[write.path] = known

    def _event(self, known: Tenure, told: MessageEvent) -> None:
        event, path = told.values.get("type"), told.values.get("path")
        known.events += 1
        if isinstance(event, str) and isinstance(path, str):
            known.fired += len(self._standing.fired(known.name, event, path)) or 1

    def _proposed(self, told: MessageEvent) -> None:
        """The leader closes a session that it has not heard of."""
        held = content(told)
        if not _is_expiry(held):
            return
        known = self._sessions.get(session_name(number(held["header"], "clientId")))
        if known is not None and known.state not in (CLOSED, EXPIRED):
            known.note("expired", told.row)
            known.end(EXPIRED, told.time, "leader")
            self._leave(known)

    def _leave(self, known: Tenure) -> None:
        """With a session go its ephemeral nodes and its watches."""
        for path in known.nodes:
            self._owners.pop(path, None)
        known.nodes.clear()
        self._standing.close(known.name)

    def _entry(self, known: Tenure) -> ReportRow:
        standing = sum(not watch.broken for watch in self._standing.of(known.name))
        nodes = list(known.nodes)[:MOST_NAMED]
        values = (
            known.name,
            known.state,
            known.by,
            known.clients,
            known.servers,
            known.connections,
            _ns(known.timeout),
            _ns(known.asked),
            known.opened,
            known.over,
            known.requests,
            known.errors,
            known.pings,
            known.events,
            known.set,
            known.fired,
            standing,
            known.created,
            nodes,
            known.silence or None,
        )
        return ReportRow(values, tuple(known.rows), known.first, known.last)

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Lines name connects, and what ends a session; see OldReport."""
        return operation in (CONNECT, CLOSE) or _is_expiry(inside(values.get("data")))

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        lasted = f" {lasting(said['ended'] - entry.first)} after it was first seen" if said["ended"] else ""
        by = f" by the {said['by']}" if said["by"] else ""
        many = f", {said['connections']} connections" if said["connections"] > 1 else ""
        return f"{_VERBS[word]} session {said['session']}: {said['state']}{by}{lasted}{many}"


_VERBS = {"connect": "connects", "refused": "refuses", "close": "closes", "expired": "expires"}


def _is_expiry(held: Mapping[str, Any]) -> bool:
    """Whether a transaction closes a session that nobody asked to close."""
    header = held.get("header")
    return isinstance(header, dict) and header.get("type") == _CLOSE_TYPE and not header.get("cxid")


def _ns(milliseconds: object) -> int | None:
    return milliseconds * _MS if isinstance(milliseconds, int) else None
