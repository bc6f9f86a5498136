"""The story of watches: who set each, what fired it, and how long the news took.

Facts. What sets and fires a watch is in standing.py, which write is behind an event in causes.py. A client that comes
back sets its watches again; what it does not set again is lost with its connection. exists and getData on one node set
one watch for the server; here it is called by what set it first.

The time of delivery is from the client's request for the write to the event, as they were captured. Where only the
quorum's traffic tells of the write it is from its PROPOSAL or INFORM on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from dissectors.api import Role
from dissectors.old_report import Column, ConnectionEnd, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports import standing
from dissectors.zookeeper.reports.asked import Asked, session_of
from dissectors.zookeeper.reports.causes import Cause, Causes
from dissectors.zookeeper.reports.messages import (
    CLIENTS,
    DATA,
    EVENT,
    NONODE,
    QUORUM,
    WRITES,
    Write,
    content,
    done,
    listed,
    number,
    of_clients,
    of_quorum,
    writes,
)
from dissectors.zookeeper.reports.standing import ONCE, SET_AGAIN, Standing, Watch

SETTERS = {
    "getData": standing.DATA,
    "exists": standing.DATA,
    "getChildren": standing.CHILD,
    "getChildren2": standing.CHILD,
}
"""Reads, and the watches that they set if they are asked to."""

AGAIN = ("setWatches", "setWatches2")
CLOSE = "closeSession"


class _Call(NamedTuple):
    """A request that waits. sets, removes: kinds of watches and their paths; cause, written: of a write."""

    sets: tuple[tuple[str, str], ...] = ()
    removes: tuple[int, str] | None = None
    cause: Cause | None = None
    written: tuple[Write | None, ...] = ()


_FIRED, _STANDS, _REMOVED, _CLOSED, _LOST = "fired", "stands", "removed", "session closed", "lost"


class Watches(OldReport):
    """See the module."""

    name = "watches"
    about = "each watch: who set it, what fired it, how long it stood, how long the news took"
    needs = CLIENTS
    columns = (
        Column("path", "text", "the node"),
        Column("kind", "text", "data, exist, child, persistent or recursive; nothing where nobody saw it being set"),
        Column("state", "text", "fired, stands, removed, session closed, or lost: its connection ended"),
        Column("event", "text", "what fired it, of several the last"),
        Column("session", "text", "whose watch it is"),
        Column("set", "message", "the request that set it; nothing where that is not in the capture"),
        Column("fired", "message", "the event"),
        Column("events", "number", "how often it fired"),
        Column("stood_ns", "duration", "from the answer that it was set by to the event, or to its end"),
        Column("write", "message", "the request of the write behind the event"),
        Column("delivery_ns", "duration", "from that to the event, of several events the longest"),
    )
    wants: ClassVar = {
        **of_clients(SETTERS, Role.REQUEST, "path", "watch"),
        **of_clients(("addWatch",), Role.REQUEST, "path", "mode"),
        **of_clients(("removeWatches",), Role.REQUEST, "path", "type"),
        **of_clients(AGAIN, Role.REQUEST, *SET_AGAIN),
        **of_clients(WRITES, Role.REQUEST, "path", "flags", "operations"),
        **of_clients((*SETTERS, "addWatch", "removeWatches", *AGAIN), Role.RESPONSE, "err"),
        **of_clients(WRITES, Role.RESPONSE, "err", "zxid", "path", "operations"),
        (CLIENTS, EVENT, Role.PUSH): frozenset({("zxid",), ("type",), ("path",)}),
        **of_quorum(("PROPOSAL", "INFORM"), DATA),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._asked: Asked[_Call] = Asked()
        self._standing = Standing()
        self._causes = Causes()
        self._sessions: dict[int, str] = {}
        """By connection whose watches stand on it."""
        self._streams: dict[str, int] = {}
        """The other way round; a session is on one."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """What fires once is over when it fires."""
        if told.protocol == QUORUM:
            self._proposed(told)
        elif told.context.role is Role.REQUEST:
            self._request(told)
        elif told.context.role is Role.PUSH:
            return self._event(told)
        else:
            return self._answer(told)
        return ()

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """Watches stand on a connection."""
        session = self._sessions.pop(ending.stream, None)
        if session is not None and self._streams.get(session) == ending.stream:
            del self._streams[session]
            self._standing.lose(session)
        return ()

    def finish(self) -> Iterator[ReportRow]:
        """What stands."""
        for watch in self._standing.end():
            yield _entry(watch, _LOST if watch.broken else _STANDS)

    def _request(self, told: MessageEvent) -> None:
        values, name = told.values, told.operation or ""
        sets = sets_of(name, values)
        if sets:
            self._asked.keep(told, _Call(sets))
        elif name == "removeWatches" and isinstance(values.get("path"), str):
            self._asked.keep(told, _Call(removes=(number(values, "type"), values["path"])))
        elif name in WRITES:
            written = tuple(writes(name, values))
            cause = Cause(told.row, told.time)
            call = session_of(told), told.correlation or 0
            self._causes.asked(call, cause, [write for write in written if write is not None])
            self._asked.keep(told, _Call(cause=cause, written=written))

    def _answer(self, told: MessageEvent) -> Iterator[ReportRow]:
        call = self._asked.answered(told)
        if call is None:
            return
        session, error = session_of(told), told.values.get("err")
        if call.cause is not None:
            self._causes.answered(call.cause, number(told.values, "zxid", -1), failed=bool(error))
            for write in done(told.operation, list(call.written), told.values):
                self._causes.named(call.cause, write)
            if told.operation == CLOSE and not error:
                for watch in self._standing.close(session):
                    yield _entry(watch, _CLOSED, told.time)
        elif call.removes is not None and not error:
            for watch in self._standing.remove(session, *call.removes):
                watch.note("removed", told.row)
                yield _entry(watch, _REMOVED, told.time)
        elif told.partner is not None:
            for kind, path in watches_set(told.operation, call.sets, error):
                self._standing.set(session, kind, path, told.partner, told.time)
                self._sessions[told.stream] = session
                self._streams[session] = told.stream

    def _event(self, told: MessageEvent) -> Iterator[ReportRow]:
        event, path, zxid = (told.values.get(name) for name in ("type", "path", "zxid"))
        if not isinstance(event, str) or not isinstance(path, str) or not path:
            return
        session = session_of(told)
        cause = self._causes.of(event, path, zxid if isinstance(zxid, int) else -1)
        fired = self._standing.fired(session, event, path)
        for watch in fired or [Watch(session, path, None, None, None)]:
            _fire(watch, event, told, cause)
            if watch.kind is None or watch.kind in ONCE:
                yield _entry(watch, _FIRED)

    def _proposed(self, told: MessageEvent) -> None:
        header = content(told).get("header")
        if isinstance(header, dict) and isinstance(header.get("zxid"), int):
            call = session_name(number(header, "clientId")), number(header, "cxid")
            self._causes.proposed(call, header["zxid"], told.row, told.time)

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Reads that set no watch, and answers but those that take watches away, are named by no line."""
        name = operation or ""
        if role is Role.RESPONSE:
            return name == "removeWatches"
        return (name not in SETTERS and name not in AGAIN) or bool(sets_of(name, values))

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        kind, path = said["kind"] or "data or child", said["path"]
        if word == "set":
            if said["fired"] is None:
                return f"sets the {kind} watch on {path}: {said['state']}"
            return f"sets the {kind} watch on {path} that message {said['fired'] + 1} fires"
        if word in ("fired", "write"):
            verb = "fires" if word == "fired" else "is the write behind the event that fires"
            stood = said["stood_ns"] if word == "fired" and said["events"] == 1 else None
            since = "" if stood is None else f" {lasting(stood)} before"
            by = "was set before the capture" if said["set"] is None else f"message {said['set'] + 1} set{since}"
            took = (
                "" if said["delivery_ns"] is None else f"; {_news(said['events'])} took {lasting(said['delivery_ns'])}"
            )
            return f"{verb} the {kind} watch on {path} that {by}{took}"
        return f"{_VERBS.get(word, word)} the {kind} watch on {path}"


_VERBS = {"again": "sets again", "removed": "removes"}


def _news(events: int) -> str:
    """Of what the time of delivery is."""
    return "the news" if events == 1 else f"the slowest of its {events:,} events"


def sets_of(name: str, values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The kinds and paths of the watches that a request sets, if its answer is right."""
    if name in AGAIN:
        return tuple(
            (kind, path) for key, kind in SET_AGAIN.items() for path in listed(values.get(key)) if isinstance(path, str)
        )
    path = values.get("path")
    if not isinstance(path, str):
        return ()
    if name == "addWatch":
        kind = standing.mode(values)
        return () if kind is None else ((kind, path),)
    return ((SETTERS[name], path),) if name in SETTERS and values.get("watch") is True else ()


def watches_set(name: str | None, sets: Iterable[tuple[str, str]], error: object) -> Iterator[tuple[str, str]]:
    """Those that were set, by the answer."""
    for kind, path in sets:
        if not error:
            yield kind, path
        elif name == "exists" and error == NONODE:
            yield standing.EXIST, path


def _fire(watch: Watch, event: str, told: MessageEvent, cause: Cause | None) -> None:
    """Notes an event, and the write behind it if that came before."""
    watch.events += 1
    watch.event, watch.fired, watch.at = event, told.row, told.time
    watch.note("fired", told.row)
    watch.write = None
    if cause is not None:
        watch.write = cause.row
        watch.note("write", cause.row)
        watch.delivery = max(watch.delivery or 0, told.time - cause.time)


def _entry(watch: Watch, state: str, end: int | None = None) -> ReportRow:
    until = watch.at if state == _FIRED else end
    stood = None if watch.since is None or until is None else until - watch.since
    first = next(time for time in (watch.since, watch.at, end, 0) if time is not None)
    last = max(time for time in (watch.since, watch.at, end, first) if time is not None)
    return ReportRow(
        (
            watch.path,
            watch.kind,
            state,
            watch.event,
            watch.session,
            watch.row,
            watch.fired,
            watch.events,
            stood,
            watch.write,
            watch.delivery,
        ),
        tuple(watch.rows),
        first,
        last,
    )
