"""`wireanalyze serve`: captures for programs, over the Model Context Protocol."""

from __future__ import annotations

import click

from analyzer.cli.parameters import SectionedCommand
from analyzer.errors import UserError
from analyzer.render import extras


@click.command("serve", cls=SectionedCommand)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path())
@click.option("--stdio", is_flag=True, help="Read questions from standard input, and write answers to standard output.")
def command(folders: tuple[str, ...], stdio: bool) -> None:
    """Answer questions of assistants and programs (MCP).

    Examples:

    \b
      wireanalyze serve --stdio
      wireanalyze serve --stdio captures

    An assistant or another program starts this command and speaks the Model Context Protocol with it. It can open
    captures, list and show messages, and ask for statistics, reports and problems. Answers have a limited length, and
    secrets are masked.

    The command reads only captures in FOLDER and below. Without FOLDER, it reads those in the current folder and below.
    It opens no network port. It needs the extra wireanalyze[mcp] (10 MB).
    """
    if not stdio:
        raise UserError("serve speaks on standard input and output only. Give --stdio.")
    extras.require_extra("mcp", "serve")
    from wireanalyze.service import serve  # only this command uses the Python package

    serve(folders or (".",))
