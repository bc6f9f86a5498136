"""`wireanalyze open`: captures in three panes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from analyzer.capture.packets import Reader
from analyzer.cli.filtering import filter_option
from analyzer.cli.inputs import files_options, open_session, say
from analyzer.cli.options import decode_as_option
from analyzer.cli.settings import settings
from analyzer.decode_as import Told
from analyzer.errors import UserError
from analyzer.render.jsonable import Limits

if TYPE_CHECKING:
    from analyzer.filter import Filter

COLOURS = ("auto", "dark", "light", "terminal")
TOLD_AFTERWARDS = 10

FIRST_BLOCK = 4096
"""Packets that are read before the first rows are shown; later blocks are larger."""

KEYBOARD, SCREEN = "/dev/tty", (1, 2)


@click.command("open")
@files_options
@filter_option
@decode_as_option
@click.option("--show-secrets", is_flag=True, help="Show passwords and tokens instead of masking them.")
@click.option(
    "--theme",
    type=click.Choice(COLOURS),
    default="auto",
    show_default=True,
    help="Colours; terminal: those that the terminal has.",
)
def command(
    files: tuple[str, ...], decode_as: Told, reader: Reader, show_secrets: bool, theme: str, wanted: Filter | None
) -> None:
    """Look at captures: messages, fields and bytes side by side, all files as one timeline.

    Rows appear while the files are read; from a pipe (-) as they come, and keys are then read from the terminal itself.
    ? shows the keys.
    """
    check_terminal()
    if "-" in files and os.isatty(0):
        raise UserError("- is the keyboard here: pipe a capture into it, or name a file")
    with open_session(files, decode_as, reader, FIRST_BLOCK) as session:
        read_keys_from_terminal()
        from tui import run  # half of the start; nothing but this command pays for it

        title = ", ".join("standard input" if name == "-" else os.path.basename(name) or name for name in files)
        limits = Limits(show_secrets=show_secrets)
        run(session, title, limits=limits, colours=theme, wanted=wanted, named=settings().filters)
        findings = session.findings
        say(findings[:TOLD_AFTERWARDS])
        if len(findings) > TOLD_AFTERWARDS:
            click.echo(f"and {len(findings) - TOLD_AFTERWARDS:,} more: wireanalyze info tells them", err=True)


def check_terminal() -> None:
    """Raises UserError where nobody could see or press anything."""
    if os.environ.get("TERM", "dumb") == "dumb" or not all(map(os.isatty, SCREEN)):
        raise UserError("open needs a terminal on its output and errors, and there is none here: use wireanalyze list")
    if not os.isatty(0):
        try:
            os.close(os.open(KEYBOARD, os.O_RDWR))
        except OSError as error:
            raise UserError("open reads keys from a terminal, and there is none: use wireanalyze list") from error


def read_keys_from_terminal() -> None:
    """Puts the terminal in the place of standard input, whose own descriptor the session has by now."""
    if not os.isatty(0):
        keyboard = os.open(KEYBOARD, os.O_RDWR)
        os.dup2(keyboard, 0)
        os.close(keyboard)
        sys.stdin = sys.__stdin__
