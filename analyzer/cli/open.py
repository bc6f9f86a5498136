"""`wireanalyze open`: opens captures in the terminal UI."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.capture.packets import ReaderName
from analyzer.cli.inputs import files_options, open_session
from analyzer.cli.memory import memory_option
from analyzer.cli.nothing import tell_findings
from analyzer.cli.options import decode_as_option, filter_option, theme_option
from analyzer.cli.parameters import SectionedCommand
from analyzer.cli.settings import settings
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.messages.decode_as import DecodeAsRules

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

_Command = TypeVar("_Command", bound=Callable[..., Any])

FIRST_BLOCK = 1024
"""Number of packets that are read before the first rows are shown; later blocks are larger."""

KEYBOARD, SCREEN = "/dev/tty", (1, 2)

DRIVER = "TEXTUAL_DRIVER"
"""Tells Textual that screen and keyboard are elsewhere; tui.web sets it for pages of a browser."""


def open_options(command: _Command) -> Callable[..., Any]:
    """Adds the options that `open` and `web` share."""

    @files_options
    @filter_option
    @decode_as_option
    @click.option(
        "--follow", is_flag=True, help="Read on as the file grows, and stay at the end of the list, like tail -f."
    )
    @memory_option()
    @click.option("--show-secrets", is_flag=True, help="Show passwords and tokens instead of masking them.")
    @theme_option
    @wraps(command)
    def with_captures(*args: Any, **rest: Any) -> Any:
        return command(*args, **rest)

    return with_captures


@click.command("open", cls=SectionedCommand)
@open_options
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    follow: bool,
    memory: int | None,
    show_secrets: bool,
    theme: str,
    wanted: Filter | None,
) -> None:
    """Open captures in the terminal UI.

    Examples:

    \b
      wireanalyze open captures/mixed.pcapng
      wireanalyze open captures/kafka.pcap -Y 'latency > 400ms'
      ssh broker sudo tcpdump -U -w - port 9092 | wireanalyze open -

    You see messages, fields and bytes side by side. Several files are one timeline. Press ? for the keys.
    """
    if DRIVER not in os.environ:
        check_terminal()
    if "-" in files and os.isatty(0):
        raise UserError("Standard input is the keyboard. Pipe a capture into the program, or give a file.")
    with open_session(files, decode_as, reader, FIRST_BLOCK, follow=follow) as session:
        if DRIVER not in os.environ:
            read_keys_from_terminal()
        from tui import run  # half of the start time; no other command needs it
        from tui.inputs import StartOptions

        limits = Limits(show_secrets=show_secrets)
        run(session, StartOptions(title_of(files), limits, theme, follow, wanted, settings(), memory))
        tell_findings(session)


def title_of(files: Sequence[str]) -> str:
    """Returns the title of the open captures, for people."""
    return ", ".join("standard input" if name == "-" else os.path.basename(name) or name for name in files)


def check_terminal() -> None:
    """Raises UserError if there is no terminal for output or keys."""
    if os.environ.get("TERM", "dumb") == "dumb" or not all(map(os.isatty, SCREEN)):
        raise UserError("open needs a terminal for its output and errors. Use wireanalyze list instead.")
    if not os.isatty(0):
        try:
            os.close(os.open(KEYBOARD, os.O_RDWR))
        except OSError as error:
            raise UserError("open needs a terminal to read keys from. Use wireanalyze list instead.") from error


def read_keys_from_terminal() -> None:
    """Replaces standard input by the terminal. The session has its own descriptor of standard input by then."""
    if not os.isatty(0):
        keyboard = os.open(KEYBOARD, os.O_RDWR)
        os.dup2(keyboard, 0)
        os.close(keyboard)
        sys.stdin = sys.__stdin__
