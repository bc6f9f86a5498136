"""The protocols' reports as views: a table for each report that the capture fills, the worst lines first.

Theory. The lines are those of `report`, over all rows that there are by now, whatever a filter keeps, because half of
an exchange reports nothing. The tables come one after the other: each needs a pass of its own. A line leads to all
messages of what it is about: a report names the filter fields of its columns (Report.selects). Where several lines have
the same filter, the times of the line limit it. Messages that the line names are always among them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from analyzer.insight.reports import ReportReading, ReportTable, list_reports, reports_by_name
from analyzer.insight.timeline import Timeline, build_timeline
from analyzer.render.reports_text import describe_worst, format_cell, format_messages, make_title
from analyzer.session import Analysis
from dissectors.report import ReportColumn, ReportRow, ReportType
from tui.model.leads import (
    FilterLead,
    Lead,
    MessageLead,
    ViewLead,
    write_address,
    write_literal,
    write_rows,
    write_time_range,
)
from tui.model.row_sets import PageScope
from tui.model.table import SortableTable, TableColumn
from tui.model.views import TableView, TextView, View, ViewWork, format_clocks, make_name_column

OVERVIEW = "Overview"
NOT_YET = "being read ..."
NOTHING = "no report has a line: nothing in this capture is what a report is about"
MOST_LINES = 20_000
"""The lines of a report at most."""

_ALWAYS = 5
"""The number of first columns that are never left out."""

_MILLISECONDS = 3

_HEX = re.compile(r"0x[0-9a-f]+")
"""Texts that stand for numbers of a field; fields of texts take them as well."""


def list_report_names(session: Analysis) -> Sequence[str]:
    """Returns the names of the overview and of the reports that the messages by now may fill."""
    filled, _ = list_reports(session)
    return [OVERVIEW, *([Timeline.name] if filled else []), *filled]


def make_report_views(
    session: Analysis, order: Sequence[str], scope: PageScope, work: ViewWork
) -> Iterator[Sequence[View]]:
    """Yields the views in an order, more of them each time; a report without lines has no view.

    The timeline is made last, for it takes long. Raises Cancellation if the work is not wanted any more.
    """
    known = reports_by_name(session.engine.known.dissectors)
    names = [name for name in order if name != OVERVIEW]
    found: dict[str, View] = {name: TextView(name, NOT_YET) for name in names}
    tables: dict[str, ReportTable] = {}
    for name in sorted(names, key=lambda each: each == Timeline.name):
        work.subject = name
        if name == Timeline.name:
            table, note = build_timeline(session, lambda row: work.report_progress(row, scope.rows)), ""
        else:
            reading = ReportReading(session, [known[name]], range(scope.first, scope.rows))
            (table,) = reading.run(lambda row: work.report_progress(row, scope.rows))
            note = "; ".join(finding.text for finding in reading.problems)
        if table.entries:
            tables[name], found[name] = table, _make_view(name, table, note)
        elif note:
            found[name] = TextView(name, note)
        else:
            del found[name]
        work.raise_if_cancelled()
        yield [_make_overview(tables, len(found) - len(tables)), *found.values()]


def _make_overview(tables: dict[str, ReportTable], left: int) -> View:
    """Makes the table of reports: how many lines each has, and what stands out; `left`: reports without a table yet."""
    if not tables:
        return TextView(OVERVIEW, NOT_YET if left else NOTHING)
    names, made = list(tables), list(tables.values())
    columns = [
        make_name_column(names, "report"),
        TableColumn("lines", [len(table.entries) + table.more for table in made], "{:,}".format),
        TableColumn(
            "stands out",
            [describe_worst(table.report, table.entries) for table in made],
            str,
            is_name=True,
            style="warning",
        ),
        TableColumn("about", [table.report.about for table in made], str, is_name=True, rank=1, style="dim"),
    ]
    note = NOT_YET if left else ""
    found = TableView(OVERVIEW, SortableTable(columns), names, lambda row: ViewLead(names[row]), note)
    found.enter = "open"
    return found


def _make_view(name: str, table: ReportTable, problem: str) -> TableView:
    report = table.report
    entries = sorted(table.entries, key=report.measure_badness, reverse=True)[:MOST_LINES]
    firsts, worst = [entry.first for entry in entries], report.list_worst()
    times = dict(zip(firsts, format_clocks(firsts, _MILLISECONDS), strict=True))
    columns = [TableColumn("first", firsts, times.__getitem__)]
    for place, column in enumerate(report.columns):
        values = [entry.values[place] for entry in entries]
        if any(format_cell(column, value) not in ("", "0") for value in values):
            stays = len(columns) < _ALWAYS or column.name in worst
            columns.append(_make_column(column, values, 0 if stays else place))
    columns.append(TableColumn("messages", [format_messages(entry) for entry in entries], str, is_name=True, rank=1))
    more = len(table.entries) - len(entries) + table.more
    note = problem or (f"{more:,} more are not shown" if more else report.about)
    conditions = [write_condition(report, entry) for entry in entries]
    alike = Counter(conditions)

    def find_lead(row: int) -> Lead | None:
        condition = conditions[row]
        return _find_lead(entries[row], condition, is_alone=alike[condition] == 1)

    return TableView(name, SortableTable(columns), range(len(entries)), find_lead, note)


def _make_column(column: ReportColumn, values: Sequence[object], rank: int) -> TableColumn:
    """Makes the column of a report; lists are sorted as texts."""
    if column.kind in ("text", "texts", "sentence"):
        texts = [None if value is None else format_cell(column, value) for value in values]
        return TableColumn(
            make_title(column),
            texts,
            str,
            is_name=True,
            rank=rank,
            style="warning" if column.name in ("error", "errors") else "",
        )
    return TableColumn(make_title(column), values, lambda value: format_cell(column, value), rank=rank)


def write_condition(report: ReportType, entry: ReportRow) -> str:
    """Writes the filter of all messages of what a line is about; empty if the report has none."""
    cells = report.cells(entry)
    parts = []
    for column, field in report.selects:
        value = cells[column]
        if value in (None, "", []):
            continue
        if field == "address":
            parts.append(write_address([value] if isinstance(value, str) else value))
        else:
            is_plain = not isinstance(value, str) or _HEX.fullmatch(value)
            parts.append(f"{field} == {value if is_plain else write_literal(value)}")
    return " and ".join(filter(None, parts))


def _find_lead(entry: ReportRow, condition: str, *, is_alone: bool) -> Lead | None:
    """Returns the lead to the messages of a line; other lines with the same filter are told apart by the times."""
    rows = tuple(row for _, row in entry.rows)
    if condition:
        return FilterLead(
            condition if is_alone else f"{condition} and {write_time_range(entry.first, entry.last + 1)}", rows
        )
    if len(set(rows)) <= 1:
        return MessageLead(rows[0]) if rows else None
    return FilterLead(write_rows(rows))
