"""`wireanalyze follow`: one conversation in order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.errors import sentence
from analyzer.cli.formats import format_options
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.nothing import tell_nothing_passes
from analyzer.cli.options import color_option, decode_as_option, filter_option, limits_options
from analyzer.cli.parameters import OneOf, SectionedCommand
from analyzer.cli.streams import SIDES, find_stream, is_stream, split_last
from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_messages
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.decode.jsonable import Limits
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader, split_rows
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.render.dialogue import (
    KEYS,
    format_comment_notes,
    format_dump_lines,
    format_field_lines,
    format_message_line,
)
from analyzer.render.lines import Line, print_lines
from analyzer.render.objects import FORMS
from analyzer.render.printer import RowPrinter
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


@click.command("follow", cls=SectionedCommand)
@files_options
@click.option(
    "--as",
    "view",
    type=OneOf(["dialogue", "fields", "hex", "raw"]),
    default="dialogue",
    show_default=True,
    help="Print a line for each message (dialogue), also its fields (fields) or bytes (hex), or only the bytes (raw).",
)
@click.option("--only", type=OneOf(list(SIDES)), help="Select the messages of one side.")
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
    """Print the messages of one TCP connection.

    Examples:

    \b
      wireanalyze follow captures/kafka.pcap 3
      wireanalyze follow captures/kafka.pcap 3 --as fields
      wireanalyze follow captures/kafka.pcap '127.0.0.1:54128>127.0.0.1:29192' --only client

    The last argument is the connection: its number in the column `stream` of list, or CLIENT>SERVER.
    """
    names, named = split_last("follow", "STREAM", files, is_stream)
    with load_session(names, decode_as, reader) as session:
        stream = find_stream(session, named)
        every = np.flatnonzero(session.rows.column("stream") == stream)
        sides = session.rows.column("side")[every]
        numbers = every if only is None else every[sides == SIDES[only]]
        if wanted is not None:
            count, numbers = len(numbers), wanted.select_rows(RowReader(session), numbers)
            tell_nothing_passes(len(numbers), count)
        if form != "text":
            printer = RowPrinter((), form, view == "fields", limits)
            printer.print_head()
            printer.print_rows(RowReader(session), numbers)
            printer.end()
        elif view == "raw":
            _print_raw(session, numbers)
        else:
            began = int(session.rows.column("time")[every[:1]].sum())
            print_lines(_lines(session, stream, numbers, began, view, limits), sys.stdout, color)


def _lines(session: Session, stream: int, numbers: Ints, began: int, view: str, limits: Limits) -> Iterator[Line]:
    yield (("title", f"stream {stream}: {safe_text(_name_stream(session, stream))}, {len(numbers):,} messages"),)
    reading, naming, times = RowReader(session), TopicNamer(session), session.rows.column("time")
    commented = session.comments.has_comments
    for part in split_rows(session, numbers):
        for row, cells in zip(part.tolist(), reading.read_objects(KEYS, part, naming.fill_in_names), strict=True):
            yield format_message_line(cells, int(times[row]) - began)
            yield from format_comment_notes(session.comments.read_row(row) if commented else ())
            if view == "fields":
                yield from format_field_lines(decode_tree(session, row), limits)
            elif view == "hex":
                yield from format_dump_lines(decode_tree(session, row), limits)


def _name_stream(session: Session, stream: int) -> str:
    """Returns a stream's id, and the names of its endpoints if the capture has any."""
    names = [session.hosts.find_endpoint(name_endpoint(session, stream, side)) for side in (FROM_CLIENT, FROM_SERVER)]
    called = name_stream(session, stream)
    return f"{called} ({' > '.join(name or 'unnamed' for name in names)})" if any(names) else called


def _print_raw(session: Session, numbers: Ints) -> None:
    click.echo(
        sentence("Passwords and tokens are not masked in raw bytes. Check the output before you share it."), err=True
    )
    for part in split_rows(session, numbers):
        sys.stdout.buffer.writelines(read_messages(session, part))
