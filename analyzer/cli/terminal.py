"""Finds the width of the terminal, and prints lines that fit it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from analyzer.columns.text import ELLIPSIS

_Command = TypeVar("_Command", bound=Callable[..., Any])

_WIDE = f"{__name__}.wide"

PLAIN_MARK = "~"
"""The end of a cut text if the output cannot encode an ellipsis."""


def wide_option(*names: str) -> Callable[[_Command], _Command]:
    """Adds --wide, which applies to the whole program. names: of the option, by default also -w."""

    def tell(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            context.meta[_WIDE] = True

    text = "Print all columns in full, even if lines get wider than the terminal."
    return click.option(*(names or ("-w", "--wide")), is_flag=True, expose_value=False, callback=tell, help=text)


def is_wide() -> bool:
    """Returns whether the user wants complete lines, whatever the width of the terminal."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_WIDE, False))


def is_terminal() -> bool:
    """Returns whether standard output is a terminal."""
    return sys.stdout.isatty()


def line_width() -> int | None:
    """Returns the cells of a line; None if stdout is no terminal, or the user wants complete lines."""
    if is_wide() or not is_terminal():
        return None
    return shutil.get_terminal_size().columns


def mark() -> str:
    """Returns the end of a cut text: an ellipsis if stdout can print one."""
    try:
        ELLIPSIS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN_MARK
    return ELLIPSIS


def print_fitted(lines: Iterable[str]) -> None:
    """Prints lines on stdout; on a terminal, cuts those that are too wide."""
    width, end = line_width(), mark()
    if width is not None:
        from analyzer.render.fitting import cut_end  # not needed for pipes

        lines = (cut_end(line, width) for line in lines)
    for line in lines:
        sys.stdout.write((line if end == ELLIPSIS else line.replace(ELLIPSIS, end)) + "\n")
