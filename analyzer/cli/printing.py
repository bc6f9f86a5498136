"""Rows on standard output: the keys and the form that the user chose, for every command that prints rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

import click

from analyzer import heap
from analyzer.cli.options import limits_options
from analyzer.errors import UserError
from analyzer.render.delimited import DELIMITERS, DelimitedForm
from analyzer.render.forms import TOGETHER, TOGETHER_BYTES, Form, Lines
from analyzer.render.jsonable import Limits
from analyzer.render.ndjson import NdjsonForm
from analyzer.render.table import TABLE_KEYS, TableForm
from analyzer.rows import ALIASES, ROW_KEYS, Rows, chunks, known_keys

KEPT = 1 << 30
"""More than what the texts of one round of rows take."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def rows_options(command: _Command) -> Callable[..., Any]:
    """Adds -e, --format, --fields and the limits; the command gets `printer`."""

    @click.option(
        "-e", "chosen", multiple=True, metavar="KEY", help="A key to print; repeat it, or separate by commas."
    )
    @click.option("--format", "form", type=click.Choice(["table", "ndjson", "csv", "tsv"]), default="table")
    @click.option("--fields", "with_fields", is_flag=True, help="Add the decoded body to each row.")
    @limits_options
    @wraps(command)
    def with_printer(
        *args: Any, chosen: tuple[str, ...], form: str, with_fields: bool, limits: Limits, **rest: Any
    ) -> Any:
        return command(*args, printer=Printer(chosen, form, with_fields, limits), **rest)

    return with_printer


class Printer:
    """Prints rows in one form. Raises UserError for a key that does not exist."""

    def __init__(self, chosen: Sequence[str], form: str, with_fields: bool, limits: Limits) -> None:
        keys = chosen_keys(chosen, form, with_fields)
        names = [ALIASES.get(key, key) for key in keys]
        self._form: Form
        if form == "ndjson":
            self._form = NdjsonForm(names, limits)
        elif form in DELIMITERS:
            self._form = DelimitedForm(keys, names, DELIMITERS[form], limits)
        elif chosen:
            self._form = DelimitedForm(keys, names, "\t", limits)
        else:
            self._form = TableForm(keys, limits)
        self._lines: Lines | None = None
        self.limits = limits
        self.for_people = isinstance(self._form, TableForm)

    def head(self) -> None:
        """The line of names, where the form has one."""
        sys.stdout.buffer.write(self._form.head())

    def rows(self, reader: Rows, rows: range) -> None:
        """The rows of these numbers."""
        if self._lines is None or self._lines.reader is not reader:
            self._lines = Lines(self._form, reader)
        heap.keep_free(KEPT)
        for part in chunks(reader.session, rows, TOGETHER, TOGETHER_BYTES):
            sys.stdout.buffer.writelines(self._lines.of(part))


def chosen_keys(fields: Sequence[str], form: str, with_fields: bool) -> list[str]:
    """The keys that -e names, or the format's own. Raises UserError for one that does not exist."""
    named = [key for field in fields for key in field.split(",") if key]
    for key in named:
        if key not in known_keys():
            near = get_close_matches(key, list(known_keys()), 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(known_keys())}"
            raise UserError(f"-e {key}: there is no such key{hint}")
    keys = named or list(TABLE_KEYS if form == "table" else ROW_KEYS)
    return [*keys, "fields"] if with_fields and "fields" not in keys else keys
