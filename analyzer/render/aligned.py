"""Formats rows for people in the columns that they chose: aligned, numbers to the right, the info column uncut.

Theory. Rows are printed as they arrive, so the width of a column must be known before its longest text is. The width is
what the kind of column or the first rows need, within bounds. A longer text pushes the rest of its line aside. A far
longer text is cut, unless it is the last column or the info column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Ints
from analyzer.columns.cells import Cells
from analyzer.columns.text import escape_line_breaks, safe_text
from analyzer.columns.values import PLAIN, CellStyle, ConcatenatedColumn, FlagColumn, IntegerColumn, ScopedColumn
from analyzer.config.model import TimeFormat
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.rows import BODY_KEYS, RowReader, make_error, make_findings
from analyzer.decode.template_decoder import BodyTexts
from analyzer.render.clock import find_time_width, format_clock, make_clock_cells
from analyzer.render.durations import format_duration, make_duration_cells
from analyzer.render.forms import BodySlot, LineFrame
from analyzer.render.named import LineNamer
from dissectors.api import Body, Context, Dissector
from dissectors.slotted import make_slotted
from dissectors.symbolic_values import BEGIN

SCREENFUL = 48
"""Number of rows that determine the widths."""

MOST = 40
"""Length in characters at which a cell is cut, except in columns that are never cut."""

TITLES: Mapping[str, str] = {"number": "No.", "stream": "Str", "version": "V", "latency": "Latency"}
"""Titles of columns that are not just their key."""

NUMBERS = frozenset(
    {"number", "stream", "code", "version", "correlation", "length", "offset", "first_packet", "last_packet"}
    | {"partner", "latency_ns"}
)
"""Keys that are aligned to the right."""

_LEAST: Mapping[str, int] = {
    "number": 6,
    "stream": 3,
    "source": 21,
    "destination": 21,
    "role": 8,
    "operation": 16,
    "length": 7,
    "latency_ns": 9,
    "partner": 6,
    "correlation": 6,
}
_UNCUT = frozenset({"info", "fields"})
_TIME, _LATENCY = "time", "latency_ns"
_BLANK = CellStyle("blank", b"", str.encode)


@make_slotted
class _AlignedColumn:
    """A column: the reader's key, the title, the alignment; bound: characters of a text at most."""

    key: str
    title: str
    right: bool
    bound: int | None
    width: int = 0

    def pad(self, text: str) -> str:
        """Pads a safe text to the width."""
        return text.rjust(self.width) if self.right else text.ljust(self.width)

    def format_text(self, text: str) -> str:
        """Pads any text to the width, after escaping it."""
        return self.pad(safe_text(text, self.bound))

    @property
    def style(self) -> CellStyle:
        """Returns the style that writes the same text for a whole column of values."""
        name = f"aligned {self.width} {self.right} {self.bound}"
        return CellStyle(name, b" " * self.width, lambda text: self.format_text(text).encode())


class AlignedForm:
    """Formats rows as a table of chosen columns.

    keys: keys of the reader; titles: their column titles; right: keys that are numbers. time: the reader's format of
    `time`; the default is ISO 8601, of which the time of day is shown. The title line is known after fit() has seen the
    first rows.
    """

    def __init__(
        self,
        keys: Sequence[str],
        titles: Sequence[str],
        limits: Limits,
        right: frozenset[str] = NUMBERS,
        time: TimeFormat | None = None,
    ) -> None:
        self._keys, self._time, self._json = keys, time, JsonWriter(limits)
        self.needs_requests = "info" in keys
        self._names = LineNamer()
        last = len(keys) - 1
        self._pillars = [
            _AlignedColumn(key, _make_title(title), key in right, None if key in _UNCUT or place == last else MOST)
            for place, (key, title) in enumerate(zip(keys, titles, strict=True))
        ]
        self._widen([])

    @property
    def edition(self) -> int:
        """A number that rises when names become known that earlier texts lack."""
        return self._names.edition

    def fit(self, reader: RowReader, rows: Ints) -> None:
        """Chooses the widths from the first of these rows."""
        self._widen(list(self._read_texts(reader, rows[:SCREENFUL])))

    def _widen(self, rows: Sequence[Sequence[str]]) -> None:
        least = {**_LEAST, _TIME: find_time_width(self._time)}
        columns = zip([each.title for each in self._pillars], *rows, strict=True)
        longest = [min(MOST, max(len(safe_text(text, MOST)) for text in column)) for column in columns]
        fitted = [
            replace(each, width=max(least.get(each.key, 0), width))
            for each, width in zip(self._pillars, longest, strict=True)
        ]
        # Text after the last column needs no alignment.
        self._pillars = [*fitted[:-1], replace(fitted[-1], width=fitted[-1].width if fitted[-1].right else 0)]

    def format_head(self) -> bytes:
        """Returns the names of the columns."""
        return _make_line([each.format_text(each.title) for each in self._pillars])

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        """Yields the lines of rows with aligned columns, each with its line break."""
        for texts in self._read_texts(reader, rows):
            yield _make_line([each.format_text(text) for each, text in zip(self._pillars, texts, strict=True)])

    def _read_texts(self, reader: RowReader, rows: Ints) -> Iterator[list[str]]:
        """Yields the texts of rows, not safe for terminals."""
        for found in reader.read_objects(self._keys, rows, self._names.bind_reader(reader).fill_in_names):
            yield [self._format_text(key, found[key]) for key in self._keys]

    def _format_text(self, key: str, value: Any) -> str:
        if value is None:
            return ""
        if key in BODY_KEYS:
            return value if key == "info" else self._format_body_key(key, value)
        if key == _TIME and self._time is None:
            return format_clock(value)
        if key == _LATENCY:
            return format_duration(value)
        return ("true" if value else "false") if isinstance(value, bool) else str(value)

    def _format_body_key(self, key: str, value: Any) -> str:
        """Formats a value of the body, except the info."""
        if key == "fields":
            return self._json.dumps(value).decode()
        if key == "error":
            return "" if value is None else str(value["name"] or value["code"])
        return ",".join(finding["code"] for finding in value)

    def make_frame(self, reader: RowReader, rows: Ints) -> LineFrame | None:
        """Returns the parts of the same lines; None if they must be written one by one."""
        if "fields" in self._keys or not self._names.bind_reader(reader).begin_rows(rows):
            return None
        parts: list[bytes | Cells | BodySlot] = []
        for pillar in self._pillars:
            part = BodySlot(pillar.key) if pillar.key in BODY_KEYS else self._make_cells(pillar, reader, rows)
            if part is None:
                return None
            parts += [b" ", part]
        return parts[1:]

    def _make_cells(self, pillar: _AlignedColumn, reader: RowReader, rows: Ints) -> Cells | None:
        """Returns a column as cells; None if its rows must be written one by one."""
        if pillar.key == _TIME and self._time is None:
            return make_clock_cells(reader.take_cells(_TIME, rows))
        column = reader.read_column(pillar.key, rows)
        if pillar.key == _LATENCY and isinstance(column, IntegerColumn):
            return _make_latencies(column, pillar.style)
        if pillar.key == _TIME or (pillar.right and isinstance(column, IntegerColumn)):
            style = PLAIN if pillar.key == _TIME else _BLANK
            return cells.align_right(column.cells(style), pillar.width)
        if isinstance(column, FlagColumn | ConcatenatedColumn | ScopedColumn | IntegerColumn):
            return self._format_one_by_one(pillar, column.values())
        return column.cells(pillar.style)

    def _format_one_by_one(self, pillar: _AlignedColumn, values: Sequence[Any]) -> Cells:
        known: dict[Any, bytes] = {}
        for value in values:
            if value not in known:
                known[value] = pillar.format_text(self._format_text(pillar.key, value)).encode()
        return cells.make_cells([known[value] for value in values])

    def format_slots(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        """Returns the texts of a body's columns.

        Raises ValueError for a text that differs between similar rows and is followed by other columns.
        """
        found = {
            "error": self._format_text("error", make_error(body)),
            "findings": self._format_text("findings", make_findings(body)),
        }
        if "info" in self._keys:
            found["info"] = escape_line_breaks(
                dissector.info(self._names.fill_in_names(body, dissector, context), context)
            )
        return {each.key: _place_text(each, found[each.key]) for each in self._pillars if each.key in found}


def _make_title(name: str) -> str:
    """Returns the title of a column; for a path, the path itself."""
    return TITLES.get(name, name if "." in name else name[:1].upper() + name[1:])


def _make_line(texts: Sequence[str]) -> bytes:
    return (" ".join(texts) + "\n").encode()


def _make_latencies(column: IntegerColumn, style: CellStyle) -> Cells | None:
    """Returns durations as cells; None if some are negative."""
    null = np.zeros(len(column.numbers), bool) if column.null is None else column.null
    if (column.numbers[~null] < 0).any():
        return None
    return cells.replace_nulls(make_duration_cells(np.where(null, 0, column.numbers), style), null, style.null)


def _place_text(pillar: _AlignedColumn, text: str) -> str:
    """Pads a text. It may contain marks, and then its length is unknown."""
    if BEGIN not in text:
        return pillar.format_text(text)
    if pillar.width or pillar.bound is not None:
        raise ValueError(f"{pillar.key} is not the same in alike rows")
    return text
