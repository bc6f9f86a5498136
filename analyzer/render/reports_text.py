"""Formats rows of reports: as objects for programs, as cells and tables for people.

Rows are shown as message numbers, as `list` prints them. Programs get durations in ns and times as ISO 8601, people
three digits and a time of day. A table leaves out empty columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.columns.values import format_iso_time
from analyzer.render.clock import format_clock
from analyzer.render.columns_text import format_columns as fitted_columns
from analyzer.render.durations import format_duration
from dissectors.report import ReportColumn, ReportRow, ReportType

LONGEST = 40
"""Length of a cell in a table, in characters."""

LEAST = 18
"""Characters of a text that remain in a narrow terminal, enough for an id."""

SHOWN = 6
"""Number of messages of a row that a table names."""

_CLOCK = 12
"""Characters of a time of day in tables: to a millisecond."""

Show = Callable[[Any], str]

_SHOWN: Mapping[str, Show] = {
    "text": str,
    "texts": ", ".join,
    "sentence": str,
    "number": str,
    "time": lambda time: format_clock(format_iso_time(time))[:_CLOCK],
    "duration": format_duration,
    "message": lambda row: str(row + 1),
}
_CONVERTED: Mapping[str, Callable[[Any], Any]] = {"time": format_iso_time, "message": lambda row: row + 1}
_LEFT = frozenset({"text", "texts", "sentence"})
_FIRST, _MESSAGES = "first", "messages"


def format_cell(column: ReportColumn, value: Any) -> str:
    """Formats a cell for people; an empty text for None."""
    return "" if value in (None, []) else _SHOWN[column.kind](value)


def describe_worst(report: ReportType, entries: Sequence[ReportRow]) -> str:
    """Describes the worst rows of a report: how many show a fault, or the one that took longest; else an empty text."""
    cells = [report.cells(entry) for entry in entries]
    if faults := sum(map(report.is_fault, cells)):
        return f"{faults:,} of {len(entries):,} must not be"
    for column in report.columns:
        measured = column.kind == "duration" and "timeout" not in column.name
        times = [each[column.name] for each in cells if measured and each[column.name]]
        if times:
            longest = max(times)
            row = next(each for each in cells if each[column.name] == longest)
            return f"{make_title(column)} up to {format_duration(longest)}: {_name_row(report, row)}"
    return ""


def _name_row(report: ReportType, cells: Mapping[str, Any]) -> str:
    """Returns the first two texts of a row."""
    texts = [str(cells[column.name]) for column in report.columns if column.kind == "text" and cells[column.name]]
    return safe_text(", ".join(texts[:2]), LONGEST)


def make_title(column: ReportColumn) -> str:
    """Returns the title of a column in a table."""
    return column.name.removesuffix("_ns").replace("_", " ")


def format_messages(entry: ReportRow, most: int = SHOWN) -> str:
    """Formats the numbers of the first messages of a row."""
    numbers = [str(row + 1) for _, row in entry.rows[:most]]
    return ", ".join([*numbers, *["..."] * (len(entry.rows) > most)])


def make_entry_object(report: ReportType, entry: ReportRow) -> dict[str, Any]:
    """Makes the JSON object of a row: columns by name, first and last time, messages with their parts."""
    return {
        **{
            column.name: value if value is None else _CONVERTED.get(column.kind, _keep_value)(value)
            for column, value in zip(report.columns, entry.values, strict=True)
        },
        _FIRST: format_iso_time(entry.first),
        "last": format_iso_time(entry.last),
        _MESSAGES: [{"as": word, "number": row + 1} for word, row in entry.rows],
    }


def list_entry_keys(report: ReportType) -> list[str]:
    """Returns the keys of the objects of make_entry_object()."""
    return [*(column.name for column in report.columns), _FIRST, "last", _MESSAGES]


def _keep_value(value: Any) -> Any:
    return value


def _cut_middle(text: str) -> str:
    """Cuts a text to LONGEST characters in its middle, because topics and paths often begin alike."""
    if len(text) <= LONGEST and text.isascii() and text.isprintable():
        return text
    half = (LONGEST - 1) // 2
    safe = safe_text(text if len(text) <= 2 * LONGEST else text[:LONGEST] + text[-LONGEST:])
    return safe if len(safe) <= LONGEST else safe[: LONGEST - 1 - half] + ELLIPSIS + safe[-half:]


def format_table(report: ReportType, entries: Sequence[ReportRow], width: int | None = None) -> Iterator[str]:
    """Yields a title line, and a line for each row of a report.

    width: cells of a line. If there is not enough room, texts become narrower, then columns are left out: first lists,
    then others from the right. The first column and the messages always remain.
    """
    places = [
        place
        for place, column in enumerate(report.columns)
        if not place or any(format_cell(column, entry.values[place]) not in ("", "0") for entry in entries)
    ]
    columns = [report.columns[place] for place in places]
    rows = [[_FIRST, *map(make_title, columns), _MESSAGES]]
    for entry in entries:
        values = [entry.values[place] for place in places]
        cells = [
            safe_text(format_cell(column, value))
            if column.kind == "sentence"
            else _cut_middle(format_cell(column, value))
            for column, value in zip(columns, values, strict=True)
        ]
        rows.append([_SHOWN["time"](entry.first), *cells, format_messages(entry)])
    left = {place + 1 for place, column in enumerate(columns) if column.kind in _LEFT}
    last = len(columns) + 1
    lists = {place + 1 for place, column in enumerate(columns) if column.kind == "texts"}
    dropped = sorted(range(2, last), key=lambda place: (place not in lists, -place))
    least = dict.fromkeys((*left, last), LEAST)
    return fitted_columns(rows, frozenset({0, last} | left), width, least, dropped, frozenset(lists | {last}))
