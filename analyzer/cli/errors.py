"""Prints the program's failures on stderr."""

from __future__ import annotations

import click

from analyzer.columns.text import safe_text
from analyzer.render.bug_report import PROGRAM

_LONGEST = 2_000


def sentence(text: str) -> str:
    """Returns the one line of an error or a remark."""
    return f"{PROGRAM}: {safe_text(' '.join(text.split()), _LONGEST)}"


def usage_sentence(error: click.ClickException) -> str:
    """Returns the one line for what click raises."""
    if not isinstance(error, click.UsageError):
        return sentence(error.format_message())
    from analyzer.cli.usage import usage_text  # only a slip of the pen pays for it

    return sentence(usage_text(error))
