"""`wireanalyze info`: the properties of a capture, similar to capinfos, and its protocols."""

from __future__ import annotations

import sys

import click

from analyzer.capture.packets import ReaderName
from analyzer.cli.formats import format_options
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.options import decode_as_option
from analyzer.cli.parameters import SectionedCommand
from analyzer.decode.jsonable import JsonWriter
from analyzer.insight.properties import properties
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.properties_text import WIDTH, format_properties


@click.command("info", cls=SectionedCommand)
@files_options
@format_options("table", "json", short="json")
@decode_as_option
def command(files: tuple[str, ...], decode_as: DecodeAsRules, reader: ReaderName, form: str) -> None:
    """Print the properties of captures and their protocols.

    Examples:

    \b
      wireanalyze info captures/mixed.pcapng
      wireanalyze info captures/mixed.pcapng --json

    The properties are format, times, packets, interfaces and comments.
    """
    with load_session(files, decode_as, reader) as session:
        found = properties(session, len(session.rows), len(session.engine.streams))
        if form == "json":
            sys.stdout.buffer.write(JsonWriter().format_line(found))
        else:
            click.echo("\n".join(f"{each.name + ':':<{WIDTH}} {each.text}" for each in format_properties(found)))
