"""Rows on standard output: the columns and the form that the user chose, for every command that prints rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from analyzer import heap
from analyzer.cli.options import limits_options
from analyzer.cli.settings import settings
from analyzer.columns import Ints
from analyzer.render.clock import Clock
from analyzer.render.delimited import DELIMITERS, DelimitedForm
from analyzer.render.forms import TOGETHER, TOGETHER_BYTES, Form, Lines
from analyzer.render.jsonable import Limits
from analyzer.render.keys import Keys, keys_of, numbers, preset_keys
from analyzer.render.ndjson import NdjsonForm
from analyzer.render.presets import PRESETS, TABLE_KEYS
from analyzer.render.shapes import Joined, Listed
from analyzer.render.table import TableForm
from analyzer.render.time_formats import TIME_FORMATS, TimeFormat
from analyzer.rows import ROW_KEYS, Rows, chunks
from analyzer.text import safe_text

if TYPE_CHECKING:
    from analyzer.render.aligned import AlignedForm
    from analyzer.render.paths import Shape

KEPT = 1 << 30
"""More than what the texts of one round of rows take."""

LISTED = "list"
"""The name of no set of columns: it prints those that there are."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def time_format_option(command: _Command) -> _Command:
    """Adds --time-format; the command gets `time`, None for what the form of output has by itself."""
    option = click.option(
        "--time-format",
        "time",
        type=click.Choice(TIME_FORMATS),
        help="iso; or seconds since the first packet (relative), the row printed before (delta), 1970 (epoch).",
    )
    return option(command)


def rows_options(command: _Command) -> Callable[..., Any]:
    """Adds -e, --columns, --format, --fields, --time-format and the limits; the command gets `printer`."""

    @click.option(
        "-e",
        "chosen",
        multiple=True,
        metavar="KEY",
        help="A key or field to print, such as latency or kafka.topic; repeat it, or separate by commas.",
    )
    @click.option(
        "--columns",
        "sets",
        multiple=True,
        metavar="NAME",
        help="A set of columns, such as kafka or latency, in front of those of -e; list: print which there are.",
    )
    @click.option("--format", "form", type=click.Choice(["table", "ndjson", "csv", "tsv"]), default="table")
    @click.option("--fields", "with_fields", is_flag=True, help="Add the decoded body to each row.")
    @time_format_option
    @limits_options
    @wraps(command)
    def with_printer(
        *args: Any,
        chosen: tuple[str, ...],
        sets: tuple[str, ...],
        form: str,
        with_fields: bool,
        time: TimeFormat | None,
        limits: Limits,
        **rest: Any,
    ) -> Any:
        if LISTED in sets:
            click.echo("\n".join(_known_sets()))
            raise click.exceptions.Exit(0)
        return command(*args, printer=Printer(chosen, form, with_fields, limits, sets=sets, time=time), **rest)

    return with_printer


def _known_sets() -> Iterator[str]:
    """The sets of columns, one a line."""
    known = {**PRESETS, **settings().columns}
    width = max(map(len, known))
    for name, keys in known.items():
        yield safe_text(f"{name:<{width}}  {','.join(keys)}")


class Out(Protocol):
    """Where rows are printed to."""

    def write(self, data: bytes, /) -> object:
        """One piece."""

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Several."""


class Printer:
    """Prints rows in one form, to `out`. `for_people`: in a table. Raises UserError for a key that does not exist."""

    def __init__(
        self,
        chosen: Sequence[str],
        form: str,
        with_fields: bool,
        limits: Limits,
        *,
        sets: Sequence[str] = (),
        time: TimeFormat | None = None,
    ) -> None:
        keys = _keys(_parts(chosen), _parts(sets), form, with_fields)
        self.for_people = form == "table" and (bool(sets) or not chosen)
        if self.for_people and time is None:
            time = settings().time_format
        self.out: Out = sys.stdout.buffer
        self.limits, self._paths = limits, keys.paths
        self._shape: Shape = Listed() if form == "ndjson" else Joined(limits, labels=self.for_people)
        self._clock = None if time in (None, "iso") else Clock(time)
        self._form: Form
        self._unfit: AlignedForm | None = None
        if form == "ndjson":
            self._form = NdjsonForm(keys.names, limits)
        elif not self.for_people:
            self._form = DelimitedForm(keys.titles, keys.names, DELIMITERS.get(form, "\t"), limits)
        elif tuple(keys.names[: len(TABLE_KEYS)]) == TABLE_KEYS and set(keys.names) <= {*TABLE_KEYS, "fields"}:
            self._form = TableForm(keys.names, limits, time)
        else:
            from analyzer.render.aligned import NUMBERS, AlignedForm  # the usual table does without

            self._form = self._unfit = AlignedForm(keys.names, keys.titles, limits, NUMBERS | numbers(keys), time)
        self._lines: Lines | None = None
        self._base: Rows | None = None
        self._asked: Rows | None = None

    def head(self) -> None:
        """The line of names, where the form has one; columns that are as wide as their rows wait for these."""
        if self._unfit is None:
            self.out.write(self._form.head())

    def rows(self, reader: Rows, rows: range | Ints) -> None:
        """The rows of these numbers, in this order."""
        if not len(rows):
            return
        asking = self._reader(reader)
        heap.keep_free(KEPT)
        for part in chunks(reader.session, rows, TOGETHER, TOGETHER_BYTES):
            if self._clock is not None:
                self._clock.turn(asking, part)
            self._fit(asking, part)
            if self._lines is None or self._lines.reader is not asking:
                self._lines = Lines(self._form, asking)
            self.out.writelines(self._lines.of(part))

    def end(self) -> None:
        """No more rows will come."""
        if self._unfit is not None:
            self.out.write(self._form.head())

    def _fit(self, reader: Rows, rows: Ints) -> None:
        if self._unfit is not None:
            self._unfit.fit(reader, rows)
            self._unfit = None
            self.out.write(self._form.head())

    def _reader(self, reader: Rows) -> Rows:
        """One that also reads what is asked beyond the keys of rows."""
        if not (self._paths or self._clock or self.for_people):
            return reader
        if self._asked is None or self._base is not reader:
            from analyzer.render.asked import AskedRows  # rows as they are do without fields

            self._base = reader
            self._asked = AskedRows(reader, self._paths, self._shape, self._clock, with_names=self.for_people)
        return self._asked


def _parts(texts: Sequence[str]) -> list[str]:
    """What was given several times, or with commas."""
    return [part for text in texts for part in text.split(",") if part]


def _keys(chosen: Sequence[str], sets: Sequence[str], form: str, with_fields: bool) -> Keys:
    """The keys that are named, or the form's own. Raises UserError for one that does not exist."""
    if sets:
        named = [key for name in sets for key in preset_keys(name, settings().columns)]
        found = keys_of(dict.fromkeys([*named, *chosen]), f"--columns {','.join(sets)}")
    else:
        found = keys_of(chosen or (TABLE_KEYS if form == "table" else ROW_KEYS), "-e")
    return found.with_fields() if with_fields else found
