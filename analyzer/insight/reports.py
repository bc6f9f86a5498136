"""Runs the reports of all protocols over a capture: dispatches rows to them, and collects their tables.

Theory. Rows of one kind (protocol, role, code) go to the same reports, for the same fields. So one projection for all
of them reads just these fields, and rows without a needed field are not read at all. Ends of connections are reported
after their last row, as soon as a row is later than the end; this depends only on the capture, not on how it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct, make_group_keys
from analyzer.decode.bodies import decode_body
from analyzer.decode.content import find_dissector, make_context, read_context, read_messages
from analyzer.decode.many_values import ManyValues, ReadBody
from analyzer.decode.rows import split_rows
from analyzer.decode.template_decoder import TOGETHER_BYTES
from analyzer.insight.checks import End, endings
from analyzer.insight.delay_report import DelayReport, explain_delay, list_delays
from analyzer.insight.events import Dispatch, Events, Wanting
from analyzer.insight.merging import KIND, Delivery, KindPlan, Merger, plan_kind
from analyzer.messages import defects
from analyzer.processes.jobs import map_in_order
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Pick
from dissectors.correlator import MessageEvent
from dissectors.finding import Finding
from dissectors.report import REPORTED, Kind, Report, ReportRow, ReportType

FRAGMENT = 32_768
"""Number of rows that are read at a time."""

MOST = 1_000_000
"""Number of rows of a report that are kept; further rows are counted."""

AROUND = 20_000
"""Number of rows on each side of a message that are read for its part in a report."""

_TEXT, _NUMBER = (str, NoneType), (int, NoneType)
_VALUE_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "text": _TEXT,
    "texts": (list, NoneType),
    "sentence": _TEXT,
    "number": _NUMBER,
    "time": _NUMBER,
    "duration": _NUMBER,
    "message": _NUMBER,
}


def reports_by_name(dissectors: Iterable[Dissector]) -> dict[str, ReportType]:
    """Returns all reports by name; if two have the same name, the later one is called PROTOCOL.NAME."""
    every: dict[ReportType, str] = {}
    for dissector in dissectors:
        for report in defects.collect_or_nothing(dissector.reports):
            every.setdefault(report, dissector.name)
    every.setdefault(DelayReport, "")
    names: dict[ReportType, str] = {}
    for report in sorted(every, key=lambda each: each.shares_name):
        taken = report.name in names.values()
        names[report] = f"{every[report]}.{report.name}" if taken else report.name
    return {names[report]: report for report in every}


def full_names(known: Mapping[str, ReportType]) -> dict[str, str]:
    """Maps PROTOCOL.NAME, which means the same report in every capture, to the names of reports_by_name()."""
    return {f"{report.needs}.{report.name}".removeprefix("."): name for name, report in known.items()}


def list_reports(session: Analysis) -> tuple[dict[str, ReportType], dict[str, ReportType]]:
    """Returns all reports of a session by name: those that its messages may fill, and the others."""
    known = reports_by_name(session.engine.known.dissectors)
    protocols = _list_protocols(session, range(session.rows.first, len(session.rows)))
    filled = {
        name: report for name, report in known.items() if report.needs in protocols or (protocols and not report.needs)
    }
    return filled, {name: report for name, report in known.items() if name not in filled}


def choose_report(session: Analysis, name: str) -> str:
    """Returns the report that a name stands for: the only one of that name that the messages may fill."""
    filled, _ = list_reports(session)
    alike = [each for each in filled if each.rpartition(".")[2] == name]
    return alike[0] if len(alike) == 1 else name


def _list_protocols(session: Analysis, rows: range) -> set[str]:
    """Returns the protocols of rows."""
    numbers = list_distinct(session.rows.column("protocol")[rows.start : rows.stop]).tolist()
    protocols = map(session.engine.dissector, numbers)
    return {dissector.name for dissector in protocols if dissector is not None}


class ReportTable:
    """The rows of one report, in the order of their first times. more: the number of rows beyond MOST."""

    def __init__(self, report: ReportType) -> None:
        self.report = report
        self._types = [_VALUE_TYPES[column.kind] for column in report.columns]
        self.entries: list[ReportRow] = []
        self.more = 0

    def add(self, entry: ReportRow) -> None:
        """Adds a row, in any order. Raises TypeError, or ValueError, if its values do not fit the report's columns."""
        if len(entry.values) != len(self._types):
            raise ValueError(f"{len(entry.values)} values of {len(self._types)} columns")
        if not all(map(isinstance, entry.values, self._types)):
            wrong = zip(self.report.columns, map(isinstance, entry.values, self._types), strict=True)
            raise TypeError(next(column.name for column, is_right in wrong if not is_right))
        if len(self.entries) < MOST:
            self.entries.append(entry)
        else:
            self.more += 1

    def has_fault(self) -> bool:
        """Returns whether a row is a fault."""
        report = self.report
        may_be = getattr(report.is_fault, "__func__", None) is not getattr(Report.is_fault, "__func__", None)
        return may_be and any(report.is_fault(report.cells(entry)) for entry in self.entries)

    def sort(self) -> None:
        """Sorts the rows by the report's rank."""
        self.entries.sort(key=self.report.rank)


class ReportReading:
    """Reads rows once and fills some reports. rows: from the first to the last one to read.

    problems: findings about reports that failed; their rows are missing.
    """

    def __init__(self, session: Analysis, reports: Sequence[ReportType], rows: range | None = None) -> None:
        self._session = session
        every = range(session.rows.first, len(session.rows))
        self._rows = every if rows is None else range(max(rows.start, every.start), min(rows.stop, every.stop))
        self.tables = [ReportTable(report) for report in reports]
        self.problems: list[Finding] = []
        self._plans: dict[tuple[tuple[int, ...], int], _Plan | None] = {}
        self._kinds: dict[tuple[int, ...], KindPlan | None] = {}
        self._events = Events(session, self._rows)
        self._dispatch = Dispatch[Report[Any]](list(self._begin()), self._fail)
        self._many = ManyValues(
            session,
            lambda dissector, context: self._dispatch.wanting((dissector.name, context.code, context.role)).paths,
        )

    def _begin(self) -> Iterator[Report[Any]]:
        protocols = _list_protocols(self._session, self._rows)
        for table in self.tables:
            if table.report is DelayReport:
                for entry in list_delays(self._session, self._rows):
                    table.add(entry)
            elif table.report.needs in protocols:
                try:
                    yield table.report(self._events.ends, table.add)
                except Exception as error:  # a dissector's defect must not affect other reports
                    self._fail(table.report, error)

    def run(self, looked: Callable[[int], None] = lambda rows: None) -> list[ReportTable]:
        """Reads all rows. looked: called from time to time with the number of the row reached."""
        dispatch = self._dispatch
        ended = endings(self._session, self._rows) if dispatch.correlators else []
        merger = Merger(self._session, self._events, dispatch.correlators, [end.at for end in ended], self._read_events)
        ends = iter(ended)
        end = next(ends, None)
        starts = range(self._rows.start, self._rows.stop, FRAGMENT) if dispatch.correlators else ()
        parts = [np.arange(first, min(first + FRAGMENT, self._rows.stop)) for first in starts]
        for part, bodies in zip(parts, self._read_ahead(parts), strict=True):
            for row, deliver in self._select_rows(part, merger, bodies):
                while end is not None and end.at <= row:
                    self._end(end)
                    end = next(ends, None)
                deliver()
            dispatch.settle()
            looked(int(part[-1]) + 1)
        while end is not None:
            self._end(end)
            end = next(ends, None)
        dispatch.call(lambda report: report.finish())
        for table in self.tables:
            table.sort()
        return self.tables

    def _end(self, end: End) -> None:
        ending = self._events.end(end.ending, end.last)
        self._dispatch.call(lambda report: report.end_connection(ending))

    def _fail(self, report: Report[Any] | ReportType, error: Exception) -> bool:
        """Records a report that failed, and excludes it."""
        dissector = next(each for each in self._session.engine.known.dissectors if each.name == report.needs)
        self.problems.append(defects.make_defect_finding(dissector, error))
        return True

    def _read_ahead(self, parts: Sequence[Ints]) -> Iterator[Iterator[ReadBody] | None]:
        """What other processes read of parts, by _read_part; None for a part where this process reads for itself."""
        table, jobs = self._session.rows, self._session.jobs
        kinds, _ = make_group_keys([table.column(name)[self._rows.start : self._rows.stop] for name in KIND])
        every = list(zip(*(column.tolist() for column in kinds), strict=True))
        if jobs == 1 or not parts or not any(map(self._is_read_ahead, every)):
            return repeat(None, len(parts))
        return map(iter, map_in_order(self._read_part, parts, jobs))

    def _is_read_ahead(self, kind: tuple[int, ...]) -> bool:
        """Whether fields of a kind of messages are read, and it is known that no report takes them merged."""
        merged, plan = self._find_kind(kind), self._plan(kind, 0)
        return plan is not None and plan.reads and (merged is None or not merged.takers)

    def _read_part(self, part: Ints) -> list[ReadBody]:
        """What is wanted of the rows of a part whose kinds are read ahead, in their order."""
        table = self._session.rows
        tables, keys = make_group_keys([table.column(name)[part] for name in KIND])
        kinds = list(zip(*(each.tolist() for each in tables), strict=True))
        ahead = np.array([self._is_read_ahead(kind) for kind in kinds], bool)
        found: list[ReadBody] = []
        chosen = part[ahead[keys]]
        for rows in split_rows(self._session, chosen, FRAGMENT, TOGETHER_BYTES) if len(chosen) else ():
            found += self._read_bodies(rows, [self._plan(kinds[key], 0) for key in keys[rows - part[0]].tolist()])
        return found

    def _read_bodies(self, rows: Ints, plans: Sequence[_Plan | None]) -> Iterator[ReadBody]:
        """Yields what is wanted of each row; those that are like others have been read with them."""
        similar = np.flatnonzero([plan is not None and plan.is_of_fields for plan in plans])
        known = dict(zip(similar.tolist(), self._many.read_rows(rows[similar]), strict=True))
        alone = [place for place in range(len(rows)) if known.get(place) is None]
        messages = iter(read_messages(self._session, rows[alone]))
        for place, plan in enumerate(plans):
            assert plan is not None
            yield known.get(place) or plan.read_message(next(messages))

    def _select_rows(
        self, part: Ints, merger: Merger, bodies: Iterator[ReadBody] | None
    ) -> Iterator[tuple[int, Callable[[], None]]]:
        """Yields the rows that reports get, in order, each with a function that delivers it.

        bodies: of rows whose kinds are read ahead, in their order.
        """
        table, session, dispatch = self._session.rows, self._session, self._dispatch
        tables, keys = make_group_keys([table.column(name)[part] for name in KIND])
        kinds = list(zip(*(each.tolist() for each in tables), strict=True))
        taken, deliveries = merger.merge(part, keys, [self._find_kind(kind) for kind in kinds])
        (numbers, without), selections = make_group_keys([keys, taken])
        chosen = zip(numbers.tolist(), without.tolist(), strict=True)
        plans = [self._plan(kinds[number], bits) for number, bits in chosen]
        wanted = np.array([plan is not None for plan in plans], bool)
        ahead = [bodies is not None and self._is_read_ahead(kinds[number]) for number in numbers.tolist()]
        merged = iter(deliveries)
        delivery = next(merged, None)
        for rows in split_rows(session, part[wanted[selections]], FRAGMENT, TOGETHER_BYTES):
            mine = selections[rows - part[0]]
            own = np.array([plan is not None and plan.reads for plan in plans], bool) & ~np.array(ahead, bool)
            read = self._read_bodies(rows[own[mine]], [plans[key] for key in mine[own[mine]].tolist()])
            for row, key, place in zip(rows.tolist(), mine.tolist(), self._events.places(rows), strict=True):
                plan = plans[key]
                assert plan is not None
                while delivery is not None and delivery.row < row:
                    yield delivery.row, partial(self._deliver, delivery)
                    delivery = next(merged, None)
                if ahead[key]:
                    assert bodies is not None
                    values, error = next(bodies)
                else:
                    values, error = next(read) if plan.reads else _UNREAD
                event = self._events.event(row, place, plan.dissector.name, plan.context, values, error)
                yield row, partial(dispatch.receive, plan.wanting, event)
        while delivery is not None:
            yield delivery.row, partial(self._deliver, delivery)
            delivery = next(merged, None)

    def _deliver(self, delivery: Delivery) -> None:
        correlator = self._dispatch.correlators[delivery.correlator]
        self._dispatch.deliver(correlator, partial(delivery.handle, correlator, delivery.merged))

    def _find_kind(self, kind: tuple[int, ...]) -> KindPlan | None:
        if kind not in self._kinds:
            protocol, *rest = kind
            dissector = self._session.engine.dissector(protocol)
            self._kinds[kind] = (
                None
                if dissector is None
                else plan_kind(dissector, make_context(self._session, *rest), self._dispatch.correlators)
            )
        return self._kinds[kind]

    def _read_events(self, rows: Ints, alike: Ints | None) -> list[MessageEvent]:
        """Returns the events of rows, with the values of similar rows, or without values."""
        table, found = self._session.rows, []
        kinds = zip(*(table.column(name)[rows].tolist() for name in KIND), strict=True)
        each, which = np.unique(rows if alike is None else alike, return_inverse=True)
        messages = [b""] * len(rows) if alike is None else read_messages(self._session, each)
        known: dict[int, ReadBody] = {}
        for row, kind, place, number in zip(
            rows.tolist(), kinds, self._events.places(rows), which.tolist(), strict=True
        ):
            plan = self._plan(kind, 0)
            assert plan is not None
            if number not in known:
                known[number] = _UNREAD if alike is None else plan.read_message(messages[number])
            found.append(self._events.event(row, place, plan.dissector.name, plan.context, *known[number]))
        return found

    def _plan(self, kind: tuple[int, ...], without: int) -> _Plan | None:
        if (kind, without) not in self._plans:
            self._plans[kind, without] = self._make_plan(*kind, without=without)
        return self._plans[kind, without]

    def _make_plan(
        self, protocol: int, role: int, code: int, version: int, extra: int, *, without: int
    ) -> _Plan | None:
        dissector = self._session.engine.dissector(protocol)
        if dissector is None:
            return None
        context = make_context(self._session, role, code, version, extra)
        wanting = self._dispatch.wanting((dissector.name, context.code, context.role), without)
        pick = defects.make_projection(dissector, context, wanting.paths) if wanting.paths else None
        is_of_fields = not any(path[-1].startswith("(") for path in wanting.paths - {REPORTED})
        plan = _Plan(dissector, context, wanting, bool(wanting.paths), pick, is_of_fields)
        return plan if wanting.handlers else None


class ReportPart(NamedTuple):
    """A sentence of a report's row about one of its messages."""

    name: str
    report: ReportType
    entry: ReportRow
    text: str


def parts_of(session: Analysis, row: int, around: int = AROUND) -> list[ReportPart]:
    """Returns the rows of reports that mention a message; reads `around` rows on each side of it."""
    dissector, context = find_dissector(session, row), read_context(session, row)
    if dissector is None:
        return []
    what = dissector.name, context.code, context.role
    own = set(reports_by_name([dissector]).values())
    known = reports_by_name(session.engine.known.dissectors)
    wanting = {name: report for name, report in known.items() if report in own and what in report.on}
    if wanting:
        arguments = (
            session.engine.names.text(session.rows.cell("operation", row)),
            context.role,
            decode_body(session, row).values,
        )
        wanting = {
            name: report
            for name, report in wanting.items()
            if defects.call_or_default(partial(report.concerns, *arguments), False)
        }
    rows = range(max(row - around, session.rows.first), min(row + around + 1, len(session.rows)))
    tables = ReportReading(session, list(wanting.values()), rows).run() if wanting else []
    is_part = len(rows) < len(session.rows) - session.rows.first
    known_from = f" (by the {around:,} messages on each side)" if is_part else ""
    parts = [
        ReportPart(name, table.report, entry, text + known_from)
        for name, table in zip(wanting, tables, strict=True)
        for entry in table.entries
        if any(each == row for _, each in entry.rows)
        if (text := defects.call_or_default(partial(table.report.describe, entry, row), None)) is not None
    ]
    delay = explain_delay(session, row, around)
    if delay is not None:
        parts.append(ReportPart(DelayReport.name, DelayReport, delay, DelayReport.describe(delay, row)))
    return parts


_UNREAD: tuple[dict[str, Any], None] = {}, None


class _Plan(NamedTuple):
    """Says how rows of one kind are read, and which reports get them.

    is_of_fields: whether all that is wanted is fields. What a projection makes beside fields has a name in brackets.
    """

    dissector: Dissector
    context: Context
    wanting: Wanting[Report[Any]]
    reads: bool
    pick: Pick | None
    is_of_fields: bool

    def read_message(self, message: bytes) -> ReadBody:
        """Returns at least the wanted values of a message, and its error."""
        body = defects.project_body(self.dissector, self.pick, message, self.context)
        return body.values, body.values.get(REPORTED[0], body.error)
