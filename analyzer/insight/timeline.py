"""The report `timeline`: the events of a capture, of all protocols, on one time axis.

Theory. A review of an incident begins with the order of events: a server refuses connections, a leader is elected, a
group rebalances, clients are refused. The diagnosis finds problems, reports find events; here both become rows of one
table. An event that a problem shows is not repeated by a report, and errors that follow from a problem are part of its
row. So this module uses both diagnosis and reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from analyzer.insight.delay_report import DelayReport
from analyzer.insight.delays import find_habits
from analyzer.insight.diagnosis import ERROR_ANSWER, diagnose
from analyzer.insight.problems import Problem, as_sentence
from analyzer.insight.reports import ReportReading, ReportTable, list_reports
from analyzer.insight.root_causes import find_problems
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.correlator import Subscriptions
from dissectors.finding import Severity
from dissectors.report import OpenRow, Report, ReportRow, column
from dissectors.slotted import make_slotted
from dissectors.wire.times import lasting

STALL_NS = 1_000_000_000
"""Duration of an exchange from which on it is an event."""

EXAMPLES = 16
"""Number of findings of a problem that are events of their own if their texts differ."""

MOST_STALLS = 100
"""Number of slow exchanges that are events; the slowest count."""

HAPPENINGS = frozenset(
    {
        *("broker-close", "closed-window", "connection-refused", "connection-reset", "controller-changed"),
        *("far-behind", "leader-changed", "master-changed", "no-handshake", "retransmissions", "session-closed"),
        *("session-moved", "gap", "one-direction"),
    }
)
"""Codes of notes that are events: actions of a server, a connection or the capture."""


@make_slotted(frozen=False, eq=False)
class TimelineRow(OpenRow):
    """An event: a problem, a row of a report, or a slow exchange."""

    event: str = column("text", "the code or error of a problem, or the report that has this event as a row", "")
    severity: str | None = column("text", "of a problem: error, warning, note; nothing for an ordinary event")
    protocol: str | None = column("text", "the protocol; nothing for what concerns several")
    lasted_ns: int | None = column("duration", "from the first to the last message that shows it")
    count: int = column("number", "messages or connections that show it", 1)
    what: str = column("sentence", "what happened", "")


class Timeline(Report[TimelineRow]):
    """Describes the columns of the timeline; build_timeline() fills it."""

    name = "timeline"
    about = "what happened, of all protocols in the order of time: elections, failovers, refusals, stalls, problems"
    needs = ""
    row = TimelineRow
    on: ClassVar[Subscriptions] = {}

    @classmethod
    def describe(cls, entry: ReportRow, row: int) -> str:
        """Returns the sentence of an event, the same for each of its messages."""
        return str(cls.cells(entry)["what"])


def build_timeline(
    session: Analysis,
    looked: Callable[[int], None] = lambda rows: None,
    problems: Sequence[Problem] | None = None,
    tables: Sequence[ReportTable] | None = None,
) -> ReportTable:
    """Returns the events of a loaded session as the rows of a report.

    looked: called from time to time with the number of messages examined. problems, tables: those of the session, if
    they are known already.
    """
    timeline = ReportTable(Timeline)
    if problems is None:
        problems = find_problems(session, diagnose(session, looked), EXAMPLES)
    if tables is None:
        reports = [each for each in list_reports(session)[0].values() if each.has_events or each is DelayReport]
        tables = ReportReading(session, reports).run(looked) if reports else []
    shown = {each.first for problem in problems for each in (problem, *problem.effects)}
    for entry in (*_list_problems(session, problems), *_list_events(session, tables, shown)):
        timeline.add(entry)
    timeline.sort()
    return timeline


def _list_problems(session: Analysis, problems: Sequence[Problem]) -> Iterator[ReportRow]:
    """Yields events of problems, except notes about single messages."""
    for problem in problems:
        if problem.severity == Severity.NOTE and problem.code not in HAPPENINGS:
            continue
        span, text = _find_span(session, problem), problem.text
        if span is None:
            continue
        if problem.effects:
            effects = sum(each.count for each in problem.effects)
            text += f" It explains {effects:,} more {'message' if effects == 1 else 'messages'} or connections."
        single = {each.row: as_sentence(each.finding.text) for each in problem.examples if each.row is not None}
        if problem.code == ERROR_ANSWER or not 1 < problem.count == len(single):
            yield _make_problem_event(problem, span, problem.rows[: OpenRow.most_rows], text)
            continue
        for row, sentence in single.items():
            time = int(session.rows.cell("time", row))
            yield _make_problem_event(problem, (time, time), [row], text if row == problem.first else sentence)


def _make_problem_event(problem: Problem, span: tuple[int, int], rows: Sequence[int], text: str) -> ReportRow:
    made = TimelineRow(*span)
    made.event = problem.error if problem.code == ERROR_ANSWER else problem.code
    made.severity, made.protocol = problem.severity.name.lower(), problem.protocol or None
    made.lasted_ns, made.what = (span[1] - span[0]) or None, text
    made.count = len(rows) if len(rows) == 1 else problem.count
    for row in rows:
        made.add("shows", row)
    return Timeline.read_row(made)


def _find_span(session: Analysis, problem: Problem) -> tuple[int, int] | None:
    """Returns when a problem showed first and last, ns since 1970; None for a problem of a file."""
    if problem.first is not None and problem.last is not None:
        return session.rows.cell("time", problem.first), session.rows.cell("time", problem.last)
    if not problem.streams:
        return None
    begins = session.engine.streams.column("begin")[np.array(sorted(problem.streams), np.int64)]
    return int(begins.min()), int(begins.max())


def _list_events(session: Analysis, tables: Sequence[ReportTable], shown: set[int | None]) -> Iterator[ReportRow]:
    """Yields events of reports, and the slowest exchanges. shown: the first rows of problems, which are skipped."""
    for table in tables:
        for entry in table.entries:
            for time, row, text in defects.collect_or_nothing(partial(table.report.list_events, entry)):
                if row is None or row not in shown:
                    yield _make_event(table, entry, time, as_sentence(text))
        if table.report is DelayReport:
            slow = [each for each in table.entries if DelayReport.cells(each)["total_ns"] >= STALL_NS]
            for entry in slow[:MOST_STALLS]:
                cells = DelayReport.cells(entry)
                _, may_wait = find_habits(session, np.array([entry.rows[0][1]], np.int64))
                if may_wait[0] and cells["server_ns"]:  # the server waited for news, which is normal
                    continue
                wait = f"{cells['asker']} waited {lasting(cells['total_ns'])} for {cells['operation']}"
                text = f"{wait} of {cells['answerer']}: {cells['told']}"
                yield _make_event(table, entry, entry.first, as_sentence(text))


def _make_event(table: ReportTable, entry: ReportRow, time: int, text: str) -> ReportRow:
    made = TimelineRow(time, max(entry.last, time), list(entry.rows))
    made.event, made.protocol, made.what = table.report.name, table.report.needs or None, text
    return Timeline.read_row(made)
