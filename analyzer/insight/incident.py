"""Data of an incident page: metrics over time and by operation, problems, reports.

Theory. Statistics, diagnosis and reports exist already. Here each is computed once, and limited to what a page can
show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.insight.counts import count_streams
from analyzer.insight.diagnosis import diagnose
from analyzer.insight.percentiles import ROUND
from analyzer.insight.problems import Problem
from analyzer.insight.reports import ReportReading, ReportTable, list_reports
from analyzer.insight.root_causes import find_problems
from analyzer.insight.statistics import GroupStatistics, Statistics, Study
from analyzer.insight.timeline import Timeline, build_timeline
from analyzer.session import Session
from dissectors.finding import Finding

INTERVALS = 120
"""Number of bars of a chart over time."""

EXAMPLES = 4
"""Number of findings of a problem that are shown in full."""


class Incident(NamedTuple):
    """The data of one capture for an incident page.

    reports: by name, those with rows. defects: findings about reports that failed.
    """

    streams: int
    over_time: Statistics
    operations: Sequence[GroupStatistics]
    latencies: Sequence[int]
    problems: Sequence[Problem]
    reports: Mapping[str, ReportTable]
    defects: Sequence[Finding]


def gather_incident(session: Session, looked: Callable[[str, int], None] = lambda what, rows: None) -> Incident:
    """Computes the Incident of a loaded session. looked: called with the number of rows examined so far."""
    study = Study(RowReader(session), looked=lambda done, total: looked("messages examined", done))
    grouped = study.group_rows(("protocol", "operation"))
    histogram: Ints = study.latencies(grouped, ROUND).sum(axis=0)
    found = diagnose(session, lambda rows: looked("messages checked", rows))
    problems = find_problems(session, found, EXAMPLES)
    known, _ = list_reports(session)
    reading = ReportReading(session, list(known.values()))
    tables = reading.run(lambda rows: looked("messages reported", rows))
    timeline = build_timeline(session, problems=problems, tables=tables)
    named = zip((Timeline.name, *known), (timeline, *tables), strict=True)
    return Incident(
        count_streams(session),
        study.in_intervals(INTERVALS).measure_by("time"),
        study.measure_by("protocol", "operation").groups,
        histogram.tolist(),
        problems,
        {name: table for name, table in named if table.entries},
        reading.problems,
    )
