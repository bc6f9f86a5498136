"""The protocols' reports as views: a table for each report, whose lines lead to their messages.

Theory. The lines are those of `report`, over all rows that there are by now, whatever a filter keeps, because half of
an exchange reports nothing. The tables come one after the other: each needs a pass of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.insight.reports import ReportReading, ReportTable, list_reports, reports_by_name
from analyzer.insight.timeline import Timeline, build_timeline
from analyzer.render.reports_text import format_cell, format_messages, make_title
from analyzer.session import Analysis
from dissectors.report import ReportColumn
from tui.model.leads import FilterLead, Lead, MessageLead
from tui.model.row_sets import PageScope
from tui.model.table import SortableTable, TableColumn
from tui.model.views import TableView, TextView, View, ViewWork, format_clocks

NOT_YET = "being read ..."
NOTHING = "no election, failover, refusal, stall or problem is in the capture"
MOST_LINES = 20_000
"""The lines of a report at most."""

_ALWAYS = 5
"""The number of first columns that are never left out."""

_MILLISECONDS = 3


def list_report_names(session: Analysis) -> Sequence[str]:
    """Returns the names of reports, first those of protocols that have messages by now."""
    filled, others = list_reports(session)
    return [*([Timeline.name] if filled else []), *filled, *others]


def make_report_views(
    session: Analysis, order: Sequence[str], scope: PageScope, work: ViewWork
) -> Iterator[Sequence[View]]:
    """Yields all views in an order, more of them each time; that of the timeline is made last, for it takes long.

    Raises Cancellation if the work is not wanted any more.
    """
    known = reports_by_name(session.engine.known.dissectors)
    found: dict[str, View] = {name: TextView(name, NOT_YET) for name in order}
    for name in sorted(order, key=lambda each: each == Timeline.name):
        work.subject = name
        if name == Timeline.name:
            table = build_timeline(session, lambda row: work.report_progress(row, scope.rows))
            found[name] = _make_view(name, table, "") if table.entries else TextView(name, NOTHING)
            yield list(found.values())
            continue
        reading = ReportReading(session, [known[name]], range(scope.first, scope.rows))
        (table,) = reading.run(lambda row: work.report_progress(row, scope.rows))
        note = "; ".join(finding.text for finding in reading.problems)
        found[name] = (
            _make_view(name, table, note) if table.entries else TextView(name, note or _explain_nothing(name, table))
        )
        work.raise_if_cancelled()
        yield list(found.values())


def _explain_nothing(name: str, table: ReportTable) -> str:
    return f"the report {name} is empty: no message of {table.report.needs} has data for it"


def _make_view(name: str, table: ReportTable, problem: str) -> TableView:
    entries = table.entries[:MOST_LINES]
    firsts = [entry.first for entry in entries]
    times = dict(zip(firsts, format_clocks(firsts, _MILLISECONDS), strict=True))
    columns = [TableColumn("first", firsts, times.__getitem__)]
    for place, column in enumerate(table.report.columns):
        values = [entry.values[place] for entry in entries]
        if any(format_cell(column, value) not in ("", "0") for value in values):
            columns.append(_make_column(column, values, 0 if len(columns) < _ALWAYS else place))
    columns.append(TableColumn("messages", [format_messages(entry) for entry in entries], str, is_name=True, rank=1))
    more = len(table.entries) - len(entries) + table.more
    note = problem or (f"{more:,} more are not shown" if more else table.report.about)
    return TableView(
        name,
        SortableTable(columns),
        range(len(entries)),
        lambda row: _find_lead([at for _, at in entries[row].rows]),
        note,
    )


def _make_column(column: ReportColumn, values: Sequence[object], rank: int) -> TableColumn:
    """Makes the column of a report; lists are sorted as texts."""
    if column.kind in ("text", "texts", "sentence"):
        texts = [None if value is None else format_cell(column, value) for value in values]
        return TableColumn(make_title(column), texts, str, is_name=True, rank=rank, style="")
    return TableColumn(make_title(column), values, lambda value: format_cell(column, value), rank=rank)


def _find_lead(rows: Sequence[int]) -> Lead | None:
    """Returns the lead to the messages of a line."""
    if len(set(rows)) <= 1:
        return MessageLead(rows[0]) if rows else None
    return FilterLead(f"number in {{{', '.join(str(row + 1) for row in sorted(set(rows)))}}}")
