"""The checks of all protocols over a capture: who wants which rows, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.insight.endings import endings, still_open
from analyzer.insight.events import Dispatch, Events, Place, last_answers
from analyzer.insight.expert_info_scan import About
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Context, Dissector
from dissectors.check import Check
from dissectors.correlator import ConnectionEnd
from dissectors.finding import Finding
from dissectors.message import Path

NEAR = 4096
"""Rows whose places are read together."""

_SHOWN: Collection[Path] = frozenset({("",)})
"""Of a message that is wanted for no field: it has none of that name."""


class CheckReading:
    """Shows rows to checks, in their order, and gives what they find. losses: of all rows, see analyzer.insight.events.

    A protocol's checks are made when the first of its rows comes. begin: the first row that they get; by default the
    first that there is.
    """

    def __init__(self, session: Analysis, begin: int = 0) -> None:
        self._session = session
        self._rows = range(max(session.rows.first, begin), len(session.rows))
        self._events = Events(session, self._rows, last_answers(session, self._rows))
        self.losses = self._events.losses
        self._dispatches: dict[str, Dispatch[Check]] = {}
        self._found: list[Finding] = []
        self._begin, self._near = self._rows.start, list[Place]()

    def paths(self, dissector: Dissector, context: Context) -> Collection[Path]:
        """Returns the fields that checks look at in such a message; none where nobody gets it."""
        wanting = self._dispatch(dissector).wanting((dissector.name, context.code, context.role))
        return wanting.paths or _SHOWN if wanting.handlers else ()

    def begin_protocols(self, rows: Ints) -> None:
        """Makes the checks of all protocols that some rows are of."""
        for protocol in np.unique(self._session.rows.column("protocol")[rows]).tolist():
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
        """What the checks of a connection's protocol find when all rows have come."""
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
        return found

    def _fail(self, dissector: Dissector, _: Check, error: Exception) -> bool:
        """A check that fails costs no other, and goes on."""
        self._found.append(defects.make_defect_finding(dissector, error))
        return False

    def _take(self) -> list[Finding]:
        found = list(self._found)
        self._found.clear()
        return found

    def _place(self, row: int) -> Place:
        """What the index knows of a row; of some behind it that is read, too."""
        at = row - self._begin
        if not 0 <= at < len(self._near):
            self._begin, at = row, 0
            self._near = list(self._events.places(np.arange(row, min(row + NEAR, self._rows.stop))))
        return self._near[at]
