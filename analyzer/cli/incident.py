"""`wireanalyze report --html`: the incident page of captures."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from analyzer.capture.output import STANDARD, check_file, create_file
from analyzer.capture.packets import ReaderName
from analyzer.cli.errors import sentence
from analyzer.cli.inputs import load_session, patiently
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.amounts import format_size


def write_incident(
    path: str, files: Sequence[str], decode_as: DecodeAsRules, reader: ReaderName, *, force: bool
) -> None:
    """Writes the page of some captures, completely or not at all. Raises UserError."""
    from analyzer.insight.incident import gather_incident  # other reports do without
    from analyzer.render.html.page import make_page

    check_file(path, force=force)
    with load_session(files, decode_as, reader) as session:
        with patiently() as bar:
            incident = gather_incident(session, lambda what, rows: bar(what, rows, lambda: len(session.rows)))
        names = ["standard input" if name == STANDARD else os.path.basename(name) for name in files]
        data = make_page(session, names, incident).encode("utf-8", "backslashreplace")
    with create_file(path, force=force) as output:
        output.write(data)
    where = "standard output" if path == STANDARD else path
    click.echo(sentence(f"a page of {format_size(len(data))} written to {where}"), err=True)
