"""`wireanalyze diagram`: a sequence diagram of messages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.nothing import tell_nothing_passes
from analyzer.cli.options import color_option, decode_as_option, filter_option
from analyzer.cli.parameters import OneOf, SectionedCommand, Whole
from analyzer.cli.terminal import line_width
from analyzer.decode.rows import RowReader
from analyzer.insight.sequence import MOST_STEPS, DiagramSource, build_sequence
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.lines import print_lines
from analyzer.render.sequence_files import write_mermaid, write_svg
from analyzer.render.sequence_text import count_lanes, format_note, format_sequence

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

WIDTH = 120
"""The width of the text if stdout is no terminal."""


@click.command("diagram", cls=SectionedCommand)
@files_options
@click.option("--steps", type=Whole(1), default=MOST_STEPS, show_default=True, metavar="N", help="Draw about N arrows.")
@click.option("--format", "form", type=OneOf(["text", "svg", "mermaid"]), default="text", show_default=True,
              help="Draw lines of text, a picture, or a diagram for Markdown.")  # fmt: skip
@filter_option
@decode_as_option
@color_option
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    steps: int,
    form: str,
    color: bool,
    wanted: Filter | None,
) -> None:
    """Draw who sent what to whom, as a sequence diagram.

    Examples:

    \b
      wireanalyze diagram captures/kafka.pcap -Y 'group == jg-RangeAssignor'
      wireanalyze diagram captures/kafka.pcap -Y 'stream == 6' --format mermaid
      wireanalyze diagram captures/zookeeper-ensemble.pcap.zst --format svg

    Each participant has a lane, and time runs downwards. If there are more messages than N arrows, those that matter
    get arrows of their own: errors, and the messages of rebalances, elections and transactions. The others are folded:
    `12 Heartbeat`.
    """
    with load_session(files, decode_as, reader) as session:
        rows = np.arange(len(session.rows))
        if wanted is not None:
            count, rows = len(rows), wanted.select_rows(RowReader(session), rows)
            tell_nothing_passes(len(rows), count)
        width = line_width() or WIDTH
        source = DiagramSource.load(session)
        if form == "text":
            diagram = build_sequence(session, rows, source, steps, count_lanes(width))
            print_lines((line for line, _ in format_sequence(diagram, width)), sys.stdout, color)
            note = format_note(diagram)
            if note:
                click.echo(note)
        else:
            diagram = build_sequence(session, rows, source, steps)
            click.echo(write_svg(diagram) if form == "svg" else write_mermaid(diagram), nl=False)
