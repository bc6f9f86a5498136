"""Prints rows on standard output: the options for columns and formats of all commands that print rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any, TypeVar

import click

from analyzer.cli.formats import ROWS, TsharkForm, format_options
from analyzer.cli.options import limits_options
from analyzer.cli.parameters import OneOf
from analyzer.cli.settings import settings
from analyzer.cli.terminal import line_width, mark
from analyzer.columns.text import safe_text
from analyzer.config.model import TIME_FORMATS, TimeFormat
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.query.presets import load_presets
from analyzer.render.printer import RowPrinter

LISTED = "list"
"""Reserved name: it prints the existing sets of columns."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def time_format_option(command: _Command) -> _Command:
    """Adds --time-format; the command gets `time`, None for the default of the output format."""
    option = click.option(
        "--time-format",
        "time",
        type=OneOf(TIME_FORMATS),
        help="Print dates (iso), or seconds since the first packet (relative), the row before (delta) or 1970 (epoch).",
    )
    return option(command)


def rows_options(command: _Command) -> Callable[..., Any]:
    """Adds -e, --columns, --format, --json, -T, --fields, --time-format and the limits; the command gets `printer`."""

    @click.option(
        "-e",
        "chosen",
        multiple=True,
        metavar="KEY",
        help="Print this key or field, such as latency or topic. Repeat it, or separate keys by commas.",
    )
    @click.option(
        "--columns",
        "sets",
        multiple=True,
        metavar="NAME",
        help="Print this set of columns, such as latency, before those of -e. `--columns list` prints the sets.",
    )
    @format_options(*ROWS)
    @click.option("-T", "like_tshark", type=TsharkForm(), help="Output format, by tshark's name for it.")
    @click.option("--fields", "with_fields", is_flag=True, help="Add the decoded body to each row.")
    @click.option(
        "--uniform",
        is_flag=True,
        help="For ndjson and json: Give each key one type in all rows: text if it can be null or a structure.",
    )
    @time_format_option
    @limits_options
    @wraps(command)
    def with_printer(
        *args: Any,
        chosen: tuple[str, ...],
        sets: tuple[str, ...],
        form: str,
        like_tshark: tuple[str, bool] | None,
        with_fields: bool,
        uniform: bool,
        time: TimeFormat | None,
        limits: Limits,
        **rest: Any,
    ) -> Any:
        if like_tshark is not None:
            form, bodies = like_tshark
            with_fields = with_fields or (bodies and not chosen and not sets)
        if not all(each.strip(", ") for each in chosen):
            raise UserError("-e is empty. Give a key or field, such as -e latency.")
        if LISTED in sets:
            click.echo("\n".join(_list_column_sets()))
            raise click.exceptions.Exit(0)
        if uniform and form not in ("ndjson", "json"):
            raise UserError(f"--uniform is for ndjson and json, but the format is {form}. Leave it out.")
        look = partial(RowPrinter, uniform=uniform, width=line_width(), mark=mark())
        printer = look(chosen, form, with_fields, limits, sets=sets, time=time, config=settings)
        return command(*args, printer=printer, **rest)

    return with_printer


def _list_column_sets() -> Iterator[str]:
    """Yields the sets of columns, one a line."""
    known = {**load_presets(), **settings().columns}
    width = max(map(len, known))
    for name, keys in known.items():
        yield safe_text(f"{name:<{width}}  {','.join(keys)}")
