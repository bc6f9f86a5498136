"""`wireanalyze follow`: one conversation in order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.errors import sentence
from analyzer.cli.filtering import filter_option
from analyzer.cli.formats import format_options
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.nothing import tell_nothing_passes
from analyzer.cli.options import color_option, decode_as_option, limits_options
from analyzer.cli.streams import SIDES, find_stream, is_stream, split_last
from analyzer.cli.values import OneOf
from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_messages
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.decode.jsonable import Limits
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import Rows, chunks
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.render.dialogue import KEYS, comment_notes, dump_lines, field_lines, message_line
from analyzer.render.lines import Line, print_lines
from analyzer.render.objects import FORMS
from analyzer.render.printer import Printer
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


@click.command("follow")
@files_options
@click.option(
    "--as",
    "view",
    type=OneOf(["dialogue", "fields", "hex", "raw"]),
    default="dialogue",
    show_default=True,
    help="A line for each message; its fields, or its bytes, beneath; or nothing but the bytes.",
)
@click.option("--only", type=OneOf(list(SIDES)), help="What one side said.")
@format_options("text", *FORMS)
@filter_option
@decode_as_option
@limits_options
@color_option
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    view: str,
    form: str,
    only: str | None,
    color: bool,
    limits: Limits,
    wanted: Filter | None,
) -> None:
    """Follow one connection of captures: wireanalyze follow FILE... STREAM.

    STREAM is its number, as list prints it, or its id, CLIENT>SERVER.
    """
    names, named = split_last("follow", "STREAM", files, is_stream)
    with load_session(names, decode_as, reader) as session:
        stream = find_stream(session, named)
        every = np.flatnonzero(session.rows.column("stream") == stream)
        sides = session.rows.column("side")[every]
        numbers = every if only is None else every[sides == SIDES[only]]
        if wanted is not None:
            count, numbers = len(numbers), wanted.rows(Rows(session), numbers)
            tell_nothing_passes(len(numbers), count)
        if form != "text":
            printer = Printer((), form, view == "fields", limits)
            printer.head()
            printer.rows(Rows(session), numbers)
            printer.end()
        elif view == "raw":
            _print_raw(session, numbers)
        else:
            began = int(session.rows.column("time")[every[:1]].sum())
            print_lines(_lines(session, stream, numbers, began, view, limits), sys.stdout, color)


def _lines(session: Session, stream: int, numbers: Ints, began: int, view: str, limits: Limits) -> Iterator[Line]:
    yield (("title", f"stream {stream}: {safe_text(_name_stream(session, stream))}, {len(numbers):,} messages"),)
    reading, naming, times = Rows(session), Naming(session), session.rows.column("time")
    commented = session.comments.has_comments
    for part in chunks(session, numbers):
        for row, cells in zip(part.tolist(), reading.objects(KEYS, part, naming.named), strict=True):
            yield message_line(cells, int(times[row]) - began)
            yield from comment_notes(session.comments.read_row(row) if commented else ())
            if view == "fields":
                yield from field_lines(decode_tree(session, row), limits)
            elif view == "hex":
                yield from dump_lines(decode_tree(session, row), limits)


def _name_stream(session: Session, stream: int) -> str:
    """A stream's id, and what its ends are called, where the capture tells."""
    names = [session.hosts.find_endpoint(name_endpoint(session, stream, side)) for side in (FROM_CLIENT, FROM_SERVER)]
    called = name_stream(session, stream)
    return f"{called} ({' > '.join(name or 'unnamed' for name in names)})" if any(names) else called


def _print_raw(session: Session, numbers: Ints) -> None:
    click.echo(sentence("raw bytes can't be masked: passwords and tokens are among them if they were sent"), err=True)
    for part in chunks(session, numbers):
        sys.stdout.buffer.writelines(read_messages(session, part))
