"""`wireanalyze list`: a line for each message."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import BinaryIO

import click
import numpy as np

from analyzer.capture.packets import Reader
from analyzer.cli.inputs import files_options, loaded, open_session, say
from analyzer.cli.options import decode_as_option, limits_options
from analyzer.columns import Ints
from analyzer.errors import UserError
from analyzer.render.delimited import DELIMITERS, delimited_lines, header_line
from analyzer.render.jsonable import JsonWriter, Limits
from analyzer.render.table import TABLE_KEYS, table_head, table_lines
from analyzer.rows import ALIASES, ROW_KEYS, Rows, known_keys
from analyzer.session import Session

CHUNK = 4096
CHUNK_BYTES = 1 << 20
"""Rows, and bytes of their messages, that are computed and written at once."""

Lines = Callable[[Sequence[str], Ints, Rows], bytes]


@click.command("list")
@files_options
@click.option("-e", "fields", multiple=True, metavar="KEY", help="A key to print; repeat it, or separate by commas.")
@click.option("--format", "form", type=click.Choice(["table", "ndjson", "csv", "tsv"]), default="table")
@click.option("--fields", "with_fields", is_flag=True, help="Add the decoded body to each row.")
@decode_as_option
@limits_options
def command(
    files: tuple[str, ...],
    decode_as: tuple[tuple[int, str], ...],
    reader: Reader,
    fields: tuple[str, ...],
    form: str,
    with_fields: bool,
    limits: Limits,
) -> None:
    """List the messages of captures, all files as one timeline.

    From a pipe (-) rows are printed as they close; what only a later packet can tell is null there.
    """
    # Decoded values are trees without cycles: reference counts free them, and looking for cycles costs a tenth of the
    # time.
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)
    keys = chosen_keys(fields, form, with_fields)
    writer = _writer(form, limits, chosen=bool(fields))
    out = sys.stdout.buffer
    if "-" in files:
        with open_session(files, decode_as, reader) as session:
            _head(out, form, keys, chosen=bool(fields))
            reading = Rows(session, streaming=True)
            for rows in session.grow():
                _print(out, reading, rows, keys, writer)
                out.flush()
            say(session.findings)
        return
    with loaded(files, decode_as, reader) as session:
        _head(out, form, keys, chosen=bool(fields))
        _print(out, Rows(session), range(len(session.rows)), keys, writer)


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


def _writer(form: str, limits: Limits, chosen: bool) -> Lines:
    json = JsonWriter(limits)
    if form == "ndjson":
        return lambda keys, rows, reader: b"".join([json.line(found) for found in reader.objects(names(keys), rows)])
    if form in DELIMITERS:
        return lambda keys, rows, reader: delimited_lines(reader.columns(names(keys), rows), DELIMITERS[form], json)
    return lambda keys, rows, reader: table_lines(keys, reader.columns(names(keys), rows), json, aligned=not chosen)


def names(keys: Sequence[str]) -> list[str]:
    """The keys' own names."""
    return [ALIASES.get(key, key) for key in keys]


def _head(out: BinaryIO, form: str, keys: Sequence[str], chosen: bool) -> None:
    if form in DELIMITERS:
        out.write(header_line(keys, DELIMITERS[form]))
    elif form == "table":
        out.write(table_head(keys, aligned=not chosen))


def _print(out: BinaryIO, reader: Rows, rows: range, keys: Sequence[str], writer: Lines) -> None:
    out.writelines(writer(keys, part, reader) for part in _chunks(reader.session, rows))


def _chunks(session: Session, rows: range) -> Iterator[Ints]:
    """Row numbers in runs of at most CHUNK rows and about CHUNK_BYTES of messages: what is decoded at one time."""
    sizes = np.cumsum(session.rows.column("length")[rows.start : rows.stop])
    first = 0
    while first < len(sizes):
        before = int(sizes[first - 1]) if first else 0
        last = min(first + CHUNK, int(np.searchsorted(sizes, before + CHUNK_BYTES)) + 1, len(sizes))
        yield np.arange(rows.start + first, rows.start + last)
        first = last
