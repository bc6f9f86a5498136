"""Formats rows for people: a line of columns, wide enough for most values, with the info at the end.

The info shows names instead of ids that other messages bind (analyzer.decode.resolved_names). If the name of a protocol
is longer than its column, it takes space from the operation column, which is rarely full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Ints, list_distinct
from analyzer.columns.cells import Cells
from analyzer.columns.text import escape_line_breaks, safe_text
from analyzer.columns.values import PLAIN, CellColumn, CellStyle, IntegerColumn, TextColumn, TextTable
from analyzer.config.model import TimeFormat
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.rows import BODY_KEYS, ROLES, RowReader, make_error, make_findings
from analyzer.decode.template_decoder import BodyTexts
from analyzer.query.presets import TABLE_KEYS
from analyzer.render.clock import find_time_width, format_clock, make_clock_cells
from analyzer.render.durations import format_duration, make_duration_cells
from analyzer.render.forms import BodySlot, LineFrame
from analyzer.render.named import LineNamer
from dissectors.api import Body, Context, Dissector, Role
from dissectors.wire.fast_path import NULL

HEAD = ("No.", "Time", "Str", "Source", "Destination", "Protocol", "Operation", "V", "Length", "Latency", "Info")
WIDTHS = (6, 18, 3, 21, 21, 9, 31, 2, 7, 9, 0)
RIGHT = frozenset({0, 2, 7, 8, 9})
ARROWS = {"request": ">", "response": "<", "oneway": ">", "push": "<", "raw": " "}
NUMBERS = {"number": 0, "stream": 2, "version": 7, "length": 8}
TEXTS = {"source": 3, "destination": 4, "protocol": 5}
"""Keys that are text columns, and the index of each column."""

USEFUL_INFO = 28
"""Cells that the info needs before another column is left out."""

DISPENSABLE: Sequence[tuple[int, ...]] = ((3, 4), (5,), (8,), (2,))
"""Columns that are left out together in a narrow terminal: addresses, protocol, length, stream."""

OPERATIONS = (31, 24, 20)
"""Cells of the operation: if everything fits, if some columns are left out, and if all of these are."""

_INFO = "info"
_TIME, _PROTOCOL, _OPERATION, _LATENCY = 1, 5, 6, 9
_BLANK = CellStyle("blank", b"", str.encode)
_SPACE = 0x20


class TableForm:
    """Formats rows as lines for people. With `fields` the decoded body follows at the end of each line.

    time: the reader's format of `time`; the default is ISO 8601, of which the time of day is shown. width: cells of a
    line; less important columns become narrow or are left out, and the printer cuts lines that are too long.
    """

    needs_requests = True

    def __init__(
        self, keys: Sequence[str], limits: Limits, time: TimeFormat | None = None, width: int | None = None
    ) -> None:
        self._keys, self._json, self._time = keys, JsonWriter(limits), time
        self._widths = [*WIDTHS[:_TIME], find_time_width(time), *WIDTHS[_TIME + 1 :]]
        self._places: Sequence[int] = range(len(WIDTHS))
        if width is not None:
            self._widths[_OPERATION], self._places = _choose_layout(self._widths, width)
        self._is_narrow = self._widths[_OPERATION] < WIDTHS[_OPERATION]
        self._what: TextTable | None = None
        self._names = LineNamer()

    @property
    def edition(self) -> int:
        """A number that rises when new names make earlier texts outdated."""
        return self._names.edition

    def format_head(self) -> bytes:
        """Returns the line with the titles of the columns."""
        return self._format_row(HEAD).encode() + b"\n"

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        """Yields the lines of rows for people, each with its line break."""
        for found in reader.read_objects(self._keys, rows, self._names.bind_reader(reader).fill_in_names):
            yield self._format_line(list(found.values())).encode()

    def make_frame(self, reader: RowReader, rows: Ints) -> LineFrame | None:
        """Returns the parts of the lines; None if rows must be formatted one by one."""
        if list(self._keys) != list(TABLE_KEYS) or not self._names.bind_reader(reader).begin_rows(rows):
            return None
        column = {key: reader.read_column(key, rows) for key in TABLE_KEYS if key not in BODY_KEYS}
        time = self._make_times(reader, rows, column["time"])
        texts = {
            key: column[key].cells(_make_padded_style(WIDTHS[TEXTS[key]]))
            for key in ("source", "destination", "protocol")
        }
        numbers = {key: cells.align_right(column[key].cells(_BLANK), WIDTHS[NUMBERS[key]]) for key in NUMBERS}
        parts = [numbers["number"], time, numbers["stream"], texts["source"], texts["destination"], texts["protocol"]]
        operations = self._make_operations(reader, rows)
        if _PROTOCOL in self._places:
            operations = _trim_after_long(operations, column["protocol"], self._widths[_OPERATION])
        parts += [operations, numbers["version"], numbers["length"]]
        frame: list[bytes | Cells | BodySlot] = []
        for place, part in enumerate(parts):
            frame += [part, b" "] * (place in self._places)
        return [*frame[:-1], _make_latencies(column["latency_ns"]), BodySlot(_INFO)]

    def _make_operations(self, reader: RowReader, rows: Ints) -> Cells:
        """Returns the operation column with the arrow, as cells: a text for each operation and role."""
        if self._what is None:
            names = reader.session.engine.names
            self._what = TextTable(
                lambda number: _format_operation(
                    ROLES[number % 8], names.text(number // 8 - 1) if number >= 8 else None
                )
            )
        operation = reader.take_cells("operation", rows).astype(np.int64)
        numbers = np.where(operation == NULL, 0, operation + 1) * 8 + reader.take_cells("role", rows)
        width = self._widths[_OPERATION]
        return self._what.cells(numbers, _make_bounded_style(width) if self._is_narrow else _make_padded_style(width))

    def _make_times(self, reader: RowReader, rows: Ints, column: CellColumn) -> Cells:
        """Returns the column of times, as cells."""
        if self._time is None:
            return make_clock_cells(reader.take_cells("time", rows))
        return cells.align_right(column.cells(PLAIN), self._widths[_TIME])

    def format_slots(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        """Formats the summary line of a message, and its body if the user wants it."""
        info = escape_line_breaks(dissector.info(self._names.fill_in_names(body, dissector, context), context))
        orphan = context.role is Role.RESPONSE and context.code is None
        tail = _format_tail(make_error(body), "guessed" if orphan else "complete", info, make_findings(body), [])
        # Among rows that may be written together, all responses except orphans have a latency, and no other rows do.
        blank = "" if context.role is Role.RESPONSE and not orphan else " " * (1 + WIDTHS[_LATENCY])
        return {_INFO: f"{blank} {tail}" if tail else ""}

    def _format_line(self, row: list[Any]) -> str:
        number, time, stream, source, destination, protocol, role, operation, version, length = row[:10]
        latency, state, error, info, findings, *fields = row[10:]
        rest = [self._json.dumps(value).decode() for value in fields]
        cells_of_row = (
            *(number, format_clock(time) if self._time is None else time, stream, source, destination, protocol),
            *(_format_operation(role, operation), version, length, format_duration(latency)),
            _format_tail(error, state if role != "raw" else "complete", info, findings, rest),
        )
        return self._format_row(cells_of_row) + "\n"

    def _format_row(self, cells_of_row: Sequence[Any]) -> str:
        texts = ["" if cell is None else safe_text(str(cell)) for cell in cells_of_row]
        right = RIGHT if self._time in (None, "iso") else RIGHT | {_TIME}
        widths = list(self._widths)
        if self._is_narrow:
            texts[_OPERATION] = safe_text(texts[_OPERATION], widths[_OPERATION])
        if _PROTOCOL in self._places:
            widths[_OPERATION] -= max(len(texts[_PROTOCOL]) - widths[_PROTOCOL], 0)
        padded = [
            texts[place].rjust(widths[place]) if place in right else texts[place].ljust(widths[place])
            for place in self._places
        ]
        return " ".join(padded).rstrip()


def _choose_layout(widths: Sequence[int], width: int) -> tuple[int, Sequence[int]]:
    """Returns the width of the operation, and the columns that fit beside an info of useful width."""
    wide, usual, narrow = OPERATIONS
    left = list(range(len(widths)))
    ways = [(wide, ()), *((usual, each) for each in ((), *DISPENSABLE))]
    for operation, dropped in ways:
        left = [place for place in left if place not in dropped]
        others = sum(widths[place] + 1 for place in left if place != _OPERATION)
        if others + operation + 1 + USEFUL_INFO <= width:
            return operation, left
    return narrow, left


def _trim_after_long(operations: Cells, protocol: CellColumn, available: int) -> Cells:
    """Removes trailing spaces of operations whose space the name of a long protocol takes."""
    assert isinstance(protocol, TextColumn)
    found = operations
    for number in list_distinct(protocol.numbers).tolist():
        over = min(max(len(protocol.texts.value(number) or "") - WIDTHS[_PROTOCOL], 0), available)
        if over:
            found = operations.copy() if found is operations else found
            rows = np.flatnonzero(protocol.numbers == number)
            end = found[rows, available - over : available]
            found[rows, available - over : available] = np.where(end == _SPACE, 0, end)
    return found


def _make_latencies(column: CellColumn) -> Cells:
    """Returns the latency with a leading space, or nothing if there is none; the next slot supplies the padding."""
    assert isinstance(column, IntegerColumn)
    null = np.ones(len(column.numbers), bool) if column.null is None else column.null
    # Rows with a negative latency are written one by one.
    known = np.where(null, 0, np.maximum(column.numbers, 0))
    written = cells.join_cells([b" ", make_duration_cells(known, _make_padded_style(-WIDTHS[_LATENCY]))], len(known))
    return cells.replace_nulls(written, null, b"")


@cache
def _make_padded_style(width: int) -> CellStyle:
    """Returns a style that pads texts to a width, on the right; for a negative width, on the left."""
    if width < 0:
        return CellStyle(f"right {-width}", b" " * -width, lambda text: safe_text(text).rjust(-width).encode())
    return CellStyle(f"left {width}", b" " * width, lambda text: safe_text(text).ljust(width).encode())


@cache
def _make_bounded_style(width: int) -> CellStyle:
    """Returns a style that pads texts on the right, and cuts longer ones."""
    return CellStyle(f"bounded {width}", b" " * width, lambda text: safe_text(text, width).ljust(width).encode())


def _format_operation(role: str, operation: str | None) -> str:
    return f"{ARROWS[role]} {operation if operation is not None else role if role == 'raw' else '?'}"


def _format_tail(
    error: Mapping[str, Any] | None,
    state: str,
    info: str | None,
    findings: Sequence[Mapping[str, str]],
    rest: list[str],
) -> str:
    parts = [f"[{error['name']}]"] if error and error["name"] not in (info or "") else []
    parts += [state] if state != "complete" else []
    parts += [info] if info else []
    parts += [f"({finding['code']})" for finding in findings]
    return " ".join(parts + rest)
