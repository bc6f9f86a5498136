"""Runs the checks of all protocols over a capture: passes each check its rows, and collects its findings.

Theory. An end is reported after the connection's last row, as soon as a row is later than the end. This depends only on
the capture, not on how it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct, make_group_keys
from analyzer.decode.content import make_context, read_contents
from analyzer.decode.rows import split_rows
from analyzer.insight.events import Dispatch, Events, Place, last_answers
from analyzer.insight.expert_info_scan import About
from analyzer.insight.merging import KIND, KindPlan, Merger, plan_kind
from analyzer.messages import defects
from analyzer.session import Analysis
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.api import Context, Dissector, Pick, Role, Window
from dissectors.check import Check
from dissectors.correlator import ConnectionEnd, MessageEvent
from dissectors.finding import Finding
from dissectors.message import Path

NEAR = 4096
"""Number of rows whose places are read together."""

_SHOWN: Collection[Path] = frozenset({("",)})
"""Stands for messages without wanted fields: no field has this name."""


_What = tuple[str, int | None, int | None, Role]
"""Protocol, code, version and role of a message."""


def _read_none(rows: Ints, alike: Ints | None) -> list[MessageEvent]:
    """Never called. Checks do not handle merged messages, because a finding belongs to one message."""
    raise AssertionError


class CheckReading:
    """Passes rows to checks, in order, and returns their findings. losses: of all rows, see analyzer.insight.events.

    A protocol's checks are created for the first of its rows. begin: the first row for checks; by default the first row
    in memory.
    """

    def __init__(self, session: Analysis, begin: int = 0) -> None:
        self._session = session
        self._rows = range(max(session.rows.first, begin), len(session.rows))
        self._events = Events(session, self._rows, last_answers(session, self._rows))
        self.losses = self._events.losses
        self._dispatches: dict[str, Dispatch[Check]] = {}
        self._mergers: dict[str, Merger] = {}
        self._kinds: dict[_What, KindPlan] = {}
        self._picks: dict[_What, Pick | None] = {}
        self._found: list[Finding] = []
        self._begin, self._near = self._rows.start, list[Place]()

    def paths(self, dissector: Dissector, context: Context) -> Collection[Path]:
        """Returns the fields that checks need in each such message; none if no check gets all of them."""
        wanting = self._dispatch(dissector).wanting((dissector.name, context.code, context.role))
        return wanting.paths or _SHOWN if wanting.handlers and not self._kind(dissector, context).is_merged else ()

    def _kind(self, dissector: Dissector, context: Context) -> KindPlan:
        what = dissector.name, context.code, context.version, context.role
        if what not in self._kinds:
            self._kinds[what] = plan_kind(dissector, context, self._dispatch(dissector).correlators)
        return self._kinds[what]

    def add_others(self, rows: Ints, scanned: Iterable[About]) -> Iterator[About]:
        """Yields scanned rows and all other rows that checks need, in the order of rows."""
        others = iter(self._select_others(rows))
        other = next(others, None)
        for about in scanned:
            while other is not None and other.row < about.row:
                yield other
                other = next(others, None)
            if other is not None and other.row == about.row:
                yield about._replace(seen=other.seen)
                other = next(others, None)
            else:
                yield about
        while other is not None:
            yield other
            other = next(others, None)

    def _select_others(self, rows: Ints) -> Iterator[About]:
        """Yields rows of kinds of which checks need only some, without those that they ignore."""
        table, session = self._session.rows, self._session
        tables, keys = make_group_keys([table.column(name)[rows] for name in KIND])
        kinds = []
        for protocol, *rest in zip(*(each.tolist() for each in tables), strict=True):
            dissector, context = session.engine.dissector(protocol), make_context(session, *rest)
            kinds.append((dissector, context, None if dissector is None else self._kind(dissector, context)))
        left = np.zeros(len(rows), bool)
        for name, merger in self._mergers.items():
            plans = [
                plan if plan is not None and dissector is not None and dissector.name == name else None
                for dissector, _, plan in kinds
            ]
            if any(plan is not None and plan.is_merged for plan in plans):
                taken = merger.merge(rows, keys, plans).taken
                wanted = np.array([0 if plan is None or not plan.is_merged else plan.wanted for plan in plans])[keys]
                left |= wanted & ~taken != 0
        for part in split_rows(session, rows[left]):
            for row, message in zip(part.tolist(), read_contents(session, part), strict=True):
                dissector, context, _ = kinds[keys[row - rows[0]]]
                assert dissector is not None
                yield About(row, dissector, context, None, (), self._read_values(dissector, context, message))

    def _read_values(self, dissector: Dissector, context: Context, message: bytes | Window) -> Mapping[str, Any]:
        what = dissector.name, context.code, context.version, context.role
        if what not in self._picks:
            paths = self._dispatch(dissector).wanting((dissector.name, context.code, context.role)).paths
            self._picks[what] = defects.make_projection(dissector, context, paths)
        return defects.project_values(dissector, self._picks[what], message, context)

    def begin_protocols(self, rows: Ints) -> None:
        """Creates the checks of all protocols of some rows."""
        for protocol in list_distinct(self._session.rows.column("protocol")[rows]).tolist():
            dissector = self._session.engine.dissector(protocol)
            if dissector is not None:
                self._dispatch(dissector)

    def findings(self, about: About) -> list[Finding]:
        """Returns the findings of the checks at a row."""
        dissector, context, row = about.dissector, about.context, about.row
        if dissector is None or about.seen is None:
            return []
        dispatch = self._dispatch(dissector)
        wanting = dispatch.wanting((dissector.name, context.code, context.role))
        if wanting.handlers:
            event = self._events.event(row, self._place(row), dissector.name, context, about.seen, about.error)
            dispatch.receive(wanting, event)
        return self._take()

    def end_findings(self) -> Iterator[tuple[int, Finding]]:
        """Yields the findings at the ends of connections, each with the last row of its connection.

        Call it after all rows. Connections that are open when the capture ends come last, if it has ended.
        """
        for end in endings(self._session, self._rows) if self._dispatches else ():
            ending = self._events.end(end.ending, end.last)
            yield from self._of_stream(end.last, ending, lambda check, ending=ending: check.end_connection(ending))  # type: ignore[misc]
        time = int(self._session.engine.streams.column("end").max(initial=0))
        for stream, row in still_open(self._session) if self._dispatches and self._session.ended else ():
            if row < self._rows.start:
                continue
            left = self._events.end(ConnectionEnd(stream, time, by_client=False), row)
            yield from self._of_stream(row, left, lambda check, left=left: check.leave_open(left))  # type: ignore[misc]

    def _of_stream(self, row: int, end: ConnectionEnd, ask: Callable[[Check], None]) -> Iterator[tuple[int, Finding]]:
        """Yields the findings of the checks of a connection's protocol after all rows."""
        engine = self._session.engine
        dissector = engine.dissector(int(engine.streams.column("protocol")[end.stream]))
        dispatch = None if dissector is None else self._dispatches.get(dissector.name)
        if dispatch is not None:
            dispatch.call(ask)
            yield from ((row, finding) for finding in self._take())

    def _dispatch(self, dissector: Dissector) -> Dispatch[Check]:
        found = self._dispatches.get(dissector.name)
        if found is None:
            checks = [check(self._events.ends, self._found.append) for check in dissector.checks()]
            found = self._dispatches[dissector.name] = Dispatch(checks, partial(self._fail, dissector))
            self._mergers[dissector.name] = Merger(self._session, self._events, checks, (), _read_none)
        return found

    def _fail(self, dissector: Dissector, _: Check, error: Exception) -> bool:
        """Reports a check that failed. The check continues, and the others are not affected."""
        self._found.append(defects.make_defect_finding(dissector, error))
        return False

    def _take(self) -> list[Finding]:
        found = list(self._found)
        self._found.clear()
        return found

    def _place(self, row: int) -> Place:
        """Returns the index cells of a row, and reads some of the next rows ahead."""
        at = row - self._begin
        if not 0 <= at < len(self._near):
            self._begin, at = row, 0
            self._near = list(self._events.places(np.arange(row, min(row + NEAR, self._rows.stop))))
        return self._near[at]


class End(NamedTuple):
    """The end of a connection. at: the row before which reports get it; last: the connection's last row."""

    at: int
    last: int
    ending: ConnectionEnd


def endings(session: Analysis, rows: range) -> list[End]:
    """Returns the ends of the connections of some rows, in the order in which reports get them.

    A connection with later rows still counts as open, because those rows may end it.
    """
    table, streams = session.rows, session.engine.streams
    part = slice(rows.start, rows.stop)
    latest = np.maximum.accumulate(table.column("time")[part])
    last = np.full(len(streams), -1, np.int64)
    np.maximum.at(last, table.column("stream")[part], np.arange(rows.start, rows.stop))
    goes_on = np.zeros(len(streams), bool)
    goes_on[table.column("stream")[rows.stop :]] = True
    closer, client, end = (streams.column(name) for name in ("closer", "client", "end"))
    ended = np.flatnonzero((closer != UNKNOWN_SIDE) & (last >= 0) & ~goes_on)
    at = np.maximum(last[ended] + 1, rows.start + np.searchsorted(latest, end[ended], "right"))
    order = np.lexsort((ended, end[ended], at))
    columns = (each[order].tolist() for each in (at, last[ended], ended, end[ended], closer[ended], client[ended]))
    return [
        End(place, row, ConnectionEnd(stream, time, closed == max(opened, 0)))
        for place, row, stream, time, closed, opened in zip(*columns, strict=True)
    ]


def still_open(session: Analysis) -> list[tuple[int, int]]:
    """Returns the connections that have not ended, each with its last row, in the order of these rows."""
    streams = session.engine.streams
    last = np.full(len(streams), -1, np.int64)
    rows = np.arange(session.rows.first, len(session.rows))
    np.maximum.at(last, session.rows.column("stream")[session.rows.first :], rows)
    found = np.flatnonzero((streams.column("closer") == UNKNOWN_SIDE) & (last >= 0))
    return [(stream, int(last[stream])) for stream in found[np.argsort(last[found])].tolist()]
