"""Prints errors of the program on stderr."""

from __future__ import annotations

import click

from analyzer.columns.text import safe_text
from analyzer.render.bug_report import PROGRAM

_LONGEST = 2_000


def sentence(text: str) -> str:
    """Returns an error or a note as one line."""
    return f"{PROGRAM}: {safe_text(' '.join(text.split()), _LONGEST)}"


def usage_sentence(error: click.ClickException) -> str:
    """Returns one line for an exception of click."""
    if not isinstance(error, click.UsageError):
        return sentence(error.format_message())
    from analyzer.cli.usage import usage_text  # only needed for wrong usage

    return sentence(usage_text(error))
