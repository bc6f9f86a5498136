"""`wireanalyze list`: a line for each message."""

from __future__ import annotations

import gc
import sys

import click

from analyzer.capture.packets import Reader
from analyzer.cli.inputs import files_options, loaded, open_session, say
from analyzer.cli.options import decode_as_option
from analyzer.cli.printing import Printer, rows_options
from analyzer.rows import Rows


@click.command("list")
@files_options
@rows_options
@decode_as_option
def command(files: tuple[str, ...], decode_as: tuple[tuple[int, str], ...], reader: Reader, printer: Printer) -> None:
    """List the messages of captures, all files as one timeline.

    From a pipe (-) rows are printed as they close; what only a later packet can tell is null there.
    """
    # Decoded values are trees without cycles, which reference counts free: what was imported is not looked at again.
    gc.freeze()
    if "-" in files:
        with open_session(files, decode_as, reader) as session:
            printer.head()
            reading = Rows(session, streaming=True)
            for rows in session.grow():
                printer.rows(reading, rows)
                sys.stdout.buffer.flush()
            say(session.findings)
        return
    with loaded(files, decode_as, reader) as session:
        printer.head()
        printer.rows(Rows(session, hindsight=printer.for_people), range(len(session.rows)))
