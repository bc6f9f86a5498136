"""The report of watches: who set each, what fired it, and how long the news took.

Facts. watch_table.py explains what sets and fires a watch, causes.py which write caused an event. A client that comes
back sets its watches again; others are lost with its connection. exists and getData on one node set one watch for the
server; here it is named after the request that set it first.

The time of delivery is from the client's request for the write to the event, by capture times. If only the quorum's
traffic has the write, it counts from the PROPOSAL or INFORM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.correlator import ConnectionEnd, MessageEvent, for_request, subscribe
from dissectors.message import Role
from dissectors.report import Report, ReportRow
from dissectors.values import number
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import session as session_name
from dissectors.zookeeper.reports import watch_table
from dissectors.zookeeper.reports.causes import Cause, Causes
from dissectors.zookeeper.reports.fields import (
    CLIENTS,
    EVENT,
    NONODE,
    WRITES,
    Write,
    done,
    list_items,
    on_answers,
    on_quorum,
    on_requests,
    read_packet_data,
    session_of,
    writes,
)
from dissectors.zookeeper.reports.watch_table import ONCE, SET_AGAIN, WatchRow, WatchTable

SETTERS = {
    "getData": watch_table.DATA,
    "exists": watch_table.DATA,
    "getChildren": watch_table.CHILD,
    "getChildren2": watch_table.CHILD,
}
"""Reads, and the watches that they set if they are asked to."""

AGAIN = ("setWatches", "setWatches2")
CLOSE = "closeSession"


class Call(NamedTuple):
    """A request that waits. sets, removes: kinds of watches and their paths; cause, written: of a write."""

    sets: tuple[tuple[str, str], ...] = ()
    removes: tuple[int, str] | None = None
    cause: Cause | None = None
    written: tuple[Write | None, ...] = ()


class Watches(Report[WatchRow]):
    """The watches report: one row per watch. A watch that fires once ends when it fires."""

    name = "watches"
    about = "each watch: who set it, what fired it, how long it stood, how long the news took"
    needs = CLIENTS
    row = WatchRow
    worst = ("delivery_ns",)

    def _begin(self) -> None:
        self.watch_table = WatchTable()
        self.causes = Causes()
        self.sessions: dict[int, str] = {}
        """By connection whose watches stand on it."""
        self.streams: dict[str, int] = {}
        """The other way round; a session is on one."""

    def end(self, watch: WatchRow, state: str, time: int | None = None) -> None:
        """Ends a watch and emits its row."""
        watch.end(state, time)
        self.close(watch)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Ends the watches of a connection that ends, because watches belong to connections."""
        session = self.sessions.pop(end.stream, None)
        if session is not None and self.streams.get(session) == end.stream:
            del self.streams[session]
            self.watch_table.lose(session)

    def finish(self) -> None:
        """Emits the rows of the watches that still stand."""
        for watch in self.watch_table.close_all():
            self.end(watch, watch_table.LOST if watch.broken else watch_table.STANDS)

    def receive_request(self, event: MessageEvent) -> None:
        """Handles a request that may set or remove watches."""
        call = find_requested_watches(event.operation or "", event.values)
        if call is not None:
            self.await_answer(event, call)

    def receive_write(self, event: MessageEvent) -> None:
        """Notes a request that writes."""
        written = tuple(writes(event.operation, event.values))
        cause = Cause(event.row, event.time)
        call = session_of(event), event.correlation or 0
        self.causes.ask(call, cause, [write for write in written if write is not None])
        self.await_answer(event, Call(cause=cause, written=written))

    def receive_answer(self, call: Call, event: MessageEvent) -> None:
        """Completes a request by its answer."""
        session, error = session_of(event), event.values.get("err")
        if call.cause is not None:
            self.causes.answer(call.cause, number(event.values, "zxid", -1), failed=bool(error))
            for write in done(event.operation, list(call.written), event.values):
                self.causes.name(call.cause, write)
            if event.operation == CLOSE and not error:
                for watch in self.watch_table.close(session):
                    self.end(watch, watch_table.CLOSED, event.time)
        elif call.removes is not None and not error:
            for watch in self.watch_table.remove(session, *call.removes):
                watch.note("removed", event)
                self.end(watch, watch_table.REMOVED, event.time)
        elif event.partner is not None:
            for kind, path in watches_set(event.operation, call.sets, error):
                self.watch_table.set(session, kind, path, event.partner, event.time)
                self.sessions[event.stream] = session
                self.streams[session] = event.stream

    def receive_event(self, event: MessageEvent) -> None:
        """Notes a watch event, and ends watches that fire once."""
        kind, path, zxid = (event.values.get(name) for name in ("type", "path", "zxid"))
        if not isinstance(kind, str) or not isinstance(path, str) or not path:
            return
        session = session_of(event)
        cause = self.causes.find(kind, path, zxid if isinstance(zxid, int) else -1)
        fired = self.watch_table.fire(session, kind, path)
        for watch in fired or [WatchRow(event.time, event.time, path=path, session=session)]:
            _fire(watch, kind, event, cause)
            if watch.kind is None or watch.kind in ONCE:
                self.end(watch, watch_table.FIRED)

    def receive_proposal(self, event: MessageEvent) -> None:
        """Handles a PROPOSAL: servers send each other a transaction."""
        header = read_packet_data(event).get("header")
        if isinstance(header, dict) and isinstance(header.get("zxid"), int):
            call = session_name(number(header, "clientId")), number(header, "cxid")
            self.causes.propose(call, header["zxid"], event.row, event.time)

    on = (
        on_requests(SETTERS, receive_request, "path", "watch")
        | on_requests(["addWatch"], receive_request, "path", "mode")
        | on_requests(["removeWatches"], receive_request, "path", "type")
        | on_requests(AGAIN, receive_request, *SET_AGAIN)
        | on_requests(WRITES, receive_write, "path", "flags", "operations")
        | on_answers((*SETTERS, "addWatch", "removeWatches", *AGAIN), for_request(receive_answer), "err")
        | on_answers(WRITES, for_request(receive_answer), "err", "zxid", "path", "operations")
        | subscribe([(CLIENTS, EVENT, Role.PUSH)], receive_event, {("zxid",), ("type",), ("path",)})
        | on_quorum("PROPOSAL INFORM", receive_proposal, "data")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns false for reads that set no watch, and for answers except those that remove watches."""
        name = operation or ""
        if role is Role.RESPONSE:
            return name == "removeWatches"
        return (name not in SETTERS and name not in AGAIN) or bool(sets_of(name, values))

    @classmethod
    def phrase(cls, word: str, cells: Mapping[str, Any], entry: ReportRow) -> str:
        """Formats one event of a row for people."""
        kind, path = cells["kind"] or "data or child", cells["path"]
        if word == "set":
            if cells["fired"] is None:
                return f"sets the {kind} watch on {path}: {cells['state']}"
            return f"sets the {kind} watch on {path} that message {cells['fired'] + 1} fires"
        if word not in ("fired", "write"):
            return f"{_FORMATTERS.get(word, word)} the {kind} watch on {path}"
        verb = "fires" if word == "fired" else "is the write behind the event that fires"
        stood = cells["stood_ns"] if word == "fired" and cells["events"] == 1 else None
        since = "" if stood is None else f" {lasting(stood)} before"
        by = "was set before the capture" if cells["set"] is None else f"message {cells['set'] + 1} set{since}"
        news = "the news" if cells["events"] == 1 else f"the slowest of its {cells['events']:,} events"
        took = "" if cells["delivery_ns"] is None else f"; {news} took {lasting(cells['delivery_ns'])}"
        return f"{verb} the {kind} watch on {path} that {by}{took}"


_FORMATTERS = {"again": "sets again", "removed": "removes"}


def find_requested_watches(name: str, values: Mapping[str, Any]) -> Call | None:
    """Returns which watches a read request sets or removes; None if none."""
    sets, path = sets_of(name, values), values.get("path")
    if sets:
        return Call(sets)
    if name == "removeWatches" and isinstance(path, str):
        return Call(removes=(number(values, "type"), path))
    return None


def sets_of(name: str, values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the kinds and paths of the watches that a request sets, if its answer is right."""
    if name in AGAIN:
        return tuple(
            (kind, path)
            for key, kind in SET_AGAIN.items()
            for path in list_items(values.get(key))
            if isinstance(path, str)
        )
    path = values.get("path")
    if not isinstance(path, str):
        return ()
    if name == "addWatch":
        kind = watch_table.mode(values)
        return () if kind is None else ((kind, path),)
    return ((SETTERS[name], path),) if name in SETTERS and values.get("watch") is True else ()


def watches_set(name: str | None, sets: Iterable[tuple[str, str]], error: object) -> Iterator[tuple[str, str]]:
    """Returns the watches that a request has set, by its answer."""
    for kind, path in sets:
        if not error:
            yield kind, path
        elif name == "exists" and error == NONODE:
            yield watch_table.EXIST, path


def _fire(watch: WatchRow, kind: str, event: MessageEvent, cause: Cause | None) -> None:
    """Notes an event, and the write behind it if that came before."""
    watch.events += 1
    watch.event, watch.fired, watch.at = kind, event.row, event.time
    watch.note("fired", event)
    watch.write = None
    if cause is not None:
        watch.write = cause.row
        watch.add("write", cause.row)
        watch.delivery_ns = max(watch.delivery_ns or 0, event.time - cause.time)
