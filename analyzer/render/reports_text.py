"""Formats rows of reports: as objects for programs, as cells and tables for people.

Rows are shown as message numbers, as `list` prints them. Programs get durations in ns and times as ISO 8601, people
three digits and a time of day. A table leaves out empty columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.columns.values import format_iso_time
from analyzer.render.clock import format_clock
from analyzer.render.columns_text import format_columns as fitted_columns
from analyzer.render.durations import format_duration
from dissectors.correlator import SECOND
from dissectors.report import ReportColumn, ReportRow, ReportType

LONGEST = 40
"""Length of a cell in a table, in characters."""

LEAST = 18
"""Characters of a text that remain in a narrow terminal, enough for an id."""

SHOWN = 6
"""Number of messages of a row that a table names."""

_SECONDS = 8
"""Length of a time of day without its fraction, in characters."""

Show = Callable[[Any], str]


def _format_time(time: int) -> str:
    """Formats a time (ns since 1970) as a time of day to the millisecond."""
    seconds, rest = divmod(time, SECOND)
    return f"{_format_seconds(seconds)}.{rest // 1_000_000:03}"


@lru_cache(maxsize=1024)
def _format_seconds(seconds: int) -> str:
    return format_clock(format_iso_time(seconds * SECOND))[:_SECONDS]


_SHOWN: Mapping[str, Show] = {
    "text": str,
    "texts": ", ".join,
    "sentence": str,
    "number": str,
    "time": _format_time,
    "duration": format_duration,
    "message": lambda row: str(row + 1),
}
_CONVERTED: Mapping[str, Callable[[Any], Any]] = {"time": format_iso_time, "message": lambda row: row + 1}
_LEFT = frozenset({"text", "texts", "sentence"})
_FIRST, _MESSAGES = "first", "messages"
_EMPTY = frozenset({"", "0"})
"""Cells without information."""


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


def format_messages(entry: ReportRow) -> str:
    """Formats the numbers of the first messages of a row."""
    numbers = [str(row + 1) for _, row in entry.rows[:SHOWN]]
    return ", ".join([*numbers, *["..."] * (len(entry.rows) > SHOWN)])


def make_entry_object(report: ReportType, entry: ReportRow) -> dict[str, Any]:
    """Makes the JSON object of a row: columns by name, first and last time, messages with their parts."""
    return {
        **{
            column.name: value if value is None else _CONVERTED.get(column.kind, lambda value: value)(value)
            for column, value in zip(report.columns, entry.values, strict=True)
        },
        _FIRST: format_iso_time(entry.first),
        "last": format_iso_time(entry.last),
        _MESSAGES: [{"as": word, "number": row + 1} for word, row in entry.rows],
    }


def list_entry_keys(report: ReportType) -> list[str]:
    """Returns the keys of the objects of make_entry_object()."""
    return [*(column.name for column in report.columns), _FIRST, "last", _MESSAGES]


def _cut_middle(text: str) -> str:
    """Cuts a text to LONGEST characters in its middle, because topics and paths often begin alike."""
    if len(text) <= LONGEST and text.isascii() and text.isprintable():
        return text
    half = (LONGEST - 1) // 2
    safe = safe_text(text if len(text) <= 2 * LONGEST else text[:LONGEST] + text[-LONGEST:])
    return safe if len(safe) <= LONGEST else safe[: LONGEST - 1 - half] + ELLIPSIS + safe[-half:]


def _format_column(column: ReportColumn, values: Sequence[Any]) -> list[str]:
    """Formats the cells of a column in a table; a text that occurs in many rows is formatted once."""
    show = _SHOWN[column.kind]
    if column.kind not in _LEFT:
        cells = ["" if value is None else show(value) for value in values]
        return cells if max(map(len, cells), default=0) <= LONGEST else list(map(_cut_middle, cells))
    cut = safe_text if column.kind == "sentence" else _cut_middle
    if column.kind == "texts":
        return [cut(show(value)) if value else "" for value in values]
    known = {value: "" if value is None else cut(value) for value in set(values)}
    return [known[value] for value in values]


def format_table(report: ReportType, entries: Sequence[ReportRow], width: int | None = None) -> Iterator[str]:
    """Yields a title line, and a line for each row of a report.

    width: cells of a line. If there is not enough room, texts become narrower, then columns are left out: first lists,
    then others from the right. The first column and the messages always remain.
    """
    rows = [entry.values for entry in entries]
    cells = [_format_column(column, [row[place] for row in rows]) for place, column in enumerate(report.columns)]
    places = [place for place, texts in enumerate(cells) if not place or not _EMPTY.issuperset(texts)]
    columns = [report.columns[place] for place in places]
    first, messages = [_format_time(entry.first) for entry in entries], map(format_messages, entries)
    lines = [
        (_FIRST, *map(make_title, columns), _MESSAGES),
        *zip(first, *(cells[place] for place in places), messages, strict=True),
    ]
    left = {place + 1 for place, column in enumerate(columns) if column.kind in _LEFT}
    last = len(columns) + 1
    lists = {place + 1 for place, column in enumerate(columns) if column.kind == "texts"}
    dropped = sorted(range(2, last), key=lambda place: (place not in lists, -place))
    least = dict.fromkeys((*left, last), LEAST)
    return fitted_columns(lines, frozenset({0, last} | left), width, least, dropped, frozenset(lists | {last}))
