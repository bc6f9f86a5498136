"""Rows on standard output: the keys and the form that the user chose, for every command that prints rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

import click

from analyzer.cli.options import limits_options
from analyzer.columns import Ints
from analyzer.errors import UserError
from analyzer.render.delimited import DELIMITERS, delimited_lines, header_line
from analyzer.render.jsonable import JsonWriter, Limits
from analyzer.render.table import TABLE_KEYS, table_head, table_lines
from analyzer.rows import ALIASES, ROW_KEYS, Rows, chunks, known_keys

Lines = Callable[[Ints, Rows], bytes]
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
        self._keys = chosen_keys(chosen, form, with_fields)
        self._form, self._aligned = form, not chosen
        self._names = [ALIASES.get(key, key) for key in self._keys]
        self.limits, self._json = limits, JsonWriter(limits)

    def head(self) -> None:
        """The line of names, where the form has one."""
        if self._form in DELIMITERS:
            sys.stdout.buffer.write(header_line(self._keys, DELIMITERS[self._form]))
        elif self._form == "table":
            sys.stdout.buffer.write(table_head(self._keys, aligned=self._aligned))

    def rows(self, reader: Rows, rows: range) -> None:
        """The rows of these numbers."""
        lines = self._lines
        sys.stdout.buffer.writelines(lines(part, reader) for part in chunks(reader.session, rows))

    @property
    def _lines(self) -> Lines:
        json, names, keys = self._json, self._names, self._keys
        if self._form == "ndjson":
            return lambda rows, reader: b"".join([json.line(found) for found in reader.objects(names, rows)])
        if self._form in DELIMITERS:
            return lambda rows, reader: delimited_lines(reader.columns(names, rows), DELIMITERS[self._form], json)
        return lambda rows, reader: table_lines(keys, reader.columns(names, rows), json, aligned=self._aligned)


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
