"""The rows of all reports as a table: the columns that every report has, and those of its own as JSON.

Theory. A report reads all messages of a capture in their order, and its rows are closed when the capture ends. So one
process makes this table, for exports. Tables of the pipeline are made by many that each see a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader
from analyzer.insight.reports import ReportReading, ReportTable, list_reports
from analyzer.render.reports_text import format_cell, make_entry_object
from analyzer.session import Session
from analyzer.tables.arrow_columns import BATCH_ROWS, TableBatch, build_batch, count_days
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import REPORTS
from dissectors.report import ReportRow

_SHARED = ("first", "last", "messages")
"""Keys of a row's object that are columns."""


def build_report_rows(session: Session, capture: str, rows: Ints | None, options: Options) -> Iterator[TableBatch]:
    """Yields the rows of each report of a session that was read to its end; rows: only those that name one of these."""
    known, _ = list_reports(session)
    chosen = None
    if rows is not None and len(rows) < len(session.rows):
        chosen = np.zeros(len(session.rows), bool)
        chosen[rows] = True
    for table in ReportReading(session, list(known.values())).run():
        entries = [entry for entry in table.entries if chosen is None or any(chosen[row] for _, row in entry.rows)]
        for begin in range(0, len(entries), BATCH_ROWS):
            yield _build_batch(session, capture, table, entries[begin : begin + BATCH_ROWS], options)


def _build_batch(
    session: Session, capture: str, table: ReportTable, entries: Sequence[ReportRow], options: Options
) -> TableBatch:
    report, writer = table.report, JsonWriter(options.limits)
    numbers = [row for entry in entries for _, row in entry.rows]
    ids = iter(RowReader(session).read_column("id", np.array(numbers, np.int64)).values())
    objects = [make_entry_object(report, entry) for entry in entries]
    own = [{key: value for key, value in each.items() if key not in _SHARED} for each in objects]
    columns = {
        "capture": capture,
        "report": report.name,
        "subject": [format_cell(report.columns[0], entry.values[0]) or None for entry in entries],
        "first_time_ns": [entry.first for entry in entries],
        "last_time_ns": [entry.last for entry in entries],
        "messages": [[{"part": word, "id": next(ids)} for word, _ in entry.rows] for entry in entries],
        "values": [writer.format_line(each).decode().rstrip("\n") for each in own],
        "protocol": report.needs,
        "date": count_days(np.array([entry.first for entry in entries], np.int64)),
    }
    return TableBatch(REPORTS, build_batch(REPORTS, columns, options))
