"""`wireanalyze show`: one message of a capture, its partner, its packets, its bytes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.formats import format_options
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.options import color_option, decode_as_option, limits_options
from analyzer.cli.parameters import SectionedCommand
from analyzer.cli.streams import split_last
from analyzer.decode import fragments
from analyzer.decode.content import read_header
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.packets import list_packets
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.errors import UserError
from analyzer.insight.related import relate_row
from analyzer.insight.tls import describe_row_tls
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.known_text import make_known_objects
from analyzer.render.lines import print_lines
from analyzer.render.shown import describe_row, format_row
from analyzer.render.tree_json import make_tree_object
from analyzer.session import Session


@click.command("show", cls=SectionedCommand)
@files_options
@format_options("text", "json", short="json")
@decode_as_option
@limits_options
@color_option
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    form: str,
    color: bool,
    limits: Limits,
) -> None:
    """Show one message: its fields, its bytes, its partner.

    Examples:

    \b
      wireanalyze show captures/kafka.pcap 16
      wireanalyze show captures/kafka.pcap 16 --json

    The last argument is the number of the message, as list prints it.
    """
    names, number = split_last("show", "NUMBER", files, str.isdecimal)
    with load_session(names, decode_as, reader) as session:
        row = int(number[:18]) - 1  # int() rejects thousands of digits
        if not 0 <= row < len(session.rows):
            raise UserError(
                f"There is no message {number}. The input has {len(session.rows)} messages, counted from 1."
            )
        if form == "json":
            sys.stdout.buffer.write(JsonWriter(limits).format_line(_object(session, row)))
        else:
            print_lines(format_row(session, row, limits), sys.stdout, color)


def _object(session: Session, row: int) -> dict[str, Any]:
    """Returns the JSON object of a message, with ids unchanged."""
    (cells,) = RowReader(session).read_objects(ROW_KEYS, np.array([row]), None)
    tree, packets = fragments.decode_tree_with_message(session, row), list_packets(session, row)
    known = relate_row(session, row, tree)  # also adds names to ids in the tree
    _add_comments(packets, session.comments.read_message(packets))
    found = make_tree_object(describe_row(read_header(session, row), cells), tree)
    tls = describe_row_tls(session, row)
    more = make_known_objects(known) if tls is None else {**make_known_objects(known), "tls": tls}
    return found | {"row": cells, "packets": packets, **more}


def _add_comments(packets: list[dict[str, Any]], comments: Sequence[tuple[int, str]]) -> None:
    """Adds comments to the packets that have any."""
    for packet in packets:
        mine = [text for number, text in comments if number == packet["number"]]
        if mine:
            packet["comments"] = mine
