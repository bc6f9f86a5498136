"""`wireanalyze fields`: the fields for filters and -e."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain

import click

from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.parameters import SectionedCommand
from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from analyzer.query.fields.catalog import find_near, list_fields
from analyzer.query.fields.keys import NAMES
from analyzer.query.fields.path import FieldPath
from analyzer.render.objects import write_objects

KEYS = ("name", "type", "repeated", "about")
_NAME, _KIND = 48, 14


@click.command("fields", cls=SectionedCommand)
@click.argument("word", required=False)
@format_options(*ROWS)
def command(word: str | None, form: str) -> None:
    """List the fields for filters and columns.

    Examples:

    \b
      wireanalyze fields topic
      wireanalyze fields fetch.request
      wireanalyze fields --json

    Filters (-Y), columns (-e), --sort and --by take the same fields. WORD selects the fields that have it in their
    names. A WORD with a dot is compared with whole paths.

    A path into a body may leave out .request and .response. Paths do not mention array elements.
    """
    found = list_fields(word)
    first = next(found, None)
    if first is None:
        assert word is not None
        meant = find_near(word, NAMES)
        hint = f"Did you mean {' or '.join(meant)}?" if meant else "wireanalyze fields lists all of them."
        raise UserError(f"No field has {word} in its name. {hint}")
    if form == "table":
        sys.stdout.buffer.writelines(_lines(first, found))
    else:
        write_objects(sys.stdout.buffer, form, KEYS, map(_object, chain([first], found)))


def _lines(first: FieldPath, rest: Iterator[FieldPath]) -> Iterator[bytes]:
    for field in (first, *rest):
        kind = f"{field.kind.value}{', many' if field.repeated else ''}"
        line = f"{safe_text(field.name):<{_NAME}}  {kind:<{_KIND}}  {safe_text(field.about or '')}"
        yield f"{line.rstrip()}\n".encode()


def _object(field: FieldPath) -> dict[str, object]:
    about = {} if field.about is None else {"about": field.about}
    return {"name": field.name, "type": field.kind.value, "repeated": field.repeated, **about}
