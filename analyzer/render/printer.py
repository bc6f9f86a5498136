"""Prints rows as lines of bytes in one form, for `list`, for exports of lines and for copied rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analyzer.columns.arrays import Ints
from analyzer.columns.text import ELLIPSIS
from analyzer.config.model import Config, TimeFormat
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import ROW_KEYS, RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER_BYTES
from analyzer.processes import libc
from analyzer.query.column_names import ColumnKeys, find_number_keys, find_preset, resolve_keys
from analyzer.query.presets import TABLE_KEYS
from analyzer.render.clock import TimeClock
from analyzer.render.delimited import DELIMITERS, DelimitedForm
from analyzer.render.forms import RowForm, RowWriter
from analyzer.render.ndjson import NdjsonForm, UniformForm
from analyzer.render.objects import JsonArray, Out
from analyzer.render.shapes import JoinedCell, ListedCell
from analyzer.render.table import TableForm

if TYPE_CHECKING:
    from analyzer.query.path_columns import CellFormat
    from analyzer.render.aligned import AlignedForm

TOGETHER = 24_576
"""Number of rows whose text is made at a time: enough to be similar, few enough for some tens of megabytes of text."""

MOST_TOGETHER, TEXT_BYTES = 49_152, 12 << 20
"""Later there are more rows at a time, if their text takes so few bytes: of more rows, more are similar."""

RETAINED_BYTES = 1 << 30
"""More than the texts of one round of rows take."""


class RowPrinter:
    """Prints rows in one form to `out`, by default stdout. Raises UserError for a key that does not exist.

    chosen, sets: keys, and sets of them, as after -e and --columns. config: called if the configuration matters.
    uniform: for JSON, each key has one type in all rows; see UniformForm. `for_people`: prints a table; its lines have
    at most `width` cells, if that is given; mark: the end of a text that was cut.
    """

    def __init__(
        self,
        chosen: Sequence[str],
        form: str,
        with_fields: bool,
        limits: Limits,
        *,
        sets: Sequence[str] = (),
        time: TimeFormat | None = None,
        config: Callable[[], Config] = Config,
        out: Out | None = None,
        width: int | None = None,
        mark: str = ELLIPSIS,
        uniform: bool = False,
    ) -> None:
        keys = _choose_keys(_split_options(chosen), _split_options(sets), form, with_fields, config)
        self.for_people = form == "table" and (bool(sets) or not chosen)
        if self.for_people and time is None:
            time = config().time_format
        self.form = form
        self._is_standard, self._is_array = out is None, form == "json"
        self._array: JsonArray | None = None
        self._cut = (width, mark) if self.for_people and width is not None else None
        self.out: Out = self._wrap_out(sys.stdout.buffer if out is None else out)
        is_json = form in ("ndjson", "json")
        self.limits, self._paths = limits, keys.paths
        self._cell_format: CellFormat = ListedCell() if is_json else JoinedCell(limits, labels=self.for_people)
        self._clock = None if time in (None, "iso") else TimeClock(time)
        self._form: RowForm
        self._unfit: AlignedForm | None = None
        if is_json:
            self._form = (UniformForm if uniform else NdjsonForm)(keys.names, limits)
        elif not self.for_people:
            self._form = DelimitedForm(keys.titles, keys.names, DELIMITERS.get(form, "\t"), limits)
        elif tuple(keys.names[: len(TABLE_KEYS)]) == TABLE_KEYS and set(keys.names) <= {*TABLE_KEYS, "fields"}:
            self._form = TableForm(keys.names, limits, time, width)
        else:
            from analyzer.render.aligned import NUMBERS, AlignedForm  # not needed for the default table

            self._form = self._unfit = AlignedForm(
                keys.names, keys.titles, limits, NUMBERS | find_number_keys(keys), time
            )
        self._lines: RowWriter | None = None
        self._together = TOGETHER
        self._base: RowReader | None = None
        self._extended_reader: RowReader | None = None

    def _wrap_out(self, out: Out) -> Out:
        if self._is_array:
            out = self._array = JsonArray(out, begun=self._array is not None)
        if self._cut is not None:
            from analyzer.render.fitting import LineCutter  # not needed for pipes

            out = LineCutter(out, *self._cut)
        return out

    @property
    def divisible(self) -> bool:
        """Whether several processes may print rows: no row depends on the one before."""
        return self._clock is None or not self._clock.is_delta

    @property
    def out_is_standard(self) -> bool:
        """Whether output goes to standard output, which other processes may write to as well."""
        try:
            return self._is_standard and sys.stdout.fileno() == 1
        except (OSError, ValueError):
            return False

    def redirect(self, out: Out) -> None:
        """Sends all further output to another destination; earlier output is not repeated."""
        self.out = self._wrap_out(out)

    def print_head(self) -> None:
        """Prints the titles, if the form has any; if widths depend on rows, it prints them later."""
        if self._unfit is None:
            self.out.write(self._form.format_head())

    def print_rows(self, reader: RowReader, rows: range | Ints) -> None:
        """Prints the rows with these numbers, in this order."""
        if not len(rows):
            return
        extended = self._extend_reader(reader)
        if len(rows) > 1:
            libc.keep_free(RETAINED_BYTES)
        while len(rows):
            part = next(split_rows(reader.session, rows[: self._together], self._together, TOGETHER_BYTES))
            rows = rows[len(part) :]
            if self._clock is not None:
                self._clock.set_next_rows(extended, part)
            self._fit(extended, part)
            if self._lines is None or self._lines.reader is not extended:
                self._lines = RowWriter(self._form, extended)
            written = 0
            for piece in self._lines.write_rows(part):
                self.out.write(piece)
                written += len(piece)
            self._together = min(max(TEXT_BYTES * len(part) // max(written, 1), TOGETHER), MOST_TOGETHER)

    def end(self) -> None:
        """Ends the output: no more rows will come."""
        if self._array is not None:
            self._array.end()
        if self._unfit is not None:
            self.out.write(self._form.format_head())

    def _fit(self, reader: RowReader, rows: Ints) -> None:
        if self._unfit is not None:
            self._unfit.fit(reader, rows)
            self._unfit = None
            self.out.write(self._form.format_head())

    def _extend_reader(self, reader: RowReader) -> RowReader:
        """Returns a reader that also reads columns beyond the keys of rows, if there are any."""
        if not (self._paths or self._clock or self.for_people):
            return reader
        if self._extended_reader is None or self._base is not reader:
            from analyzer.render.extended_rows import ExtendedRowReader  # not needed without fields

            self._base = reader
            self._extended_reader = ExtendedRowReader(
                reader, self._paths, self._cell_format, self._clock, with_names=self.for_people
            )
        return self._extended_reader


def _split_options(texts: Sequence[str]) -> list[str]:
    """Splits values that were given several times, or with commas."""
    return [part for text in texts for part in text.split(",") if part]


def _choose_keys(
    chosen: Sequence[str], sets: Sequence[str], form: str, with_fields: bool, config: Callable[[], Config]
) -> ColumnKeys:
    """Returns the chosen keys, or the form's own. Raises UserError for one that does not exist."""
    if sets:
        named = [key for name in sets for key in find_preset(name, config().columns)]
        found = resolve_keys(dict.fromkeys([*named, *chosen]), f"--columns {','.join(sets)}")
    else:
        found = resolve_keys(chosen or (TABLE_KEYS if form == "table" else ROW_KEYS), "-e")
    return found.add_fields() if with_fields else found
