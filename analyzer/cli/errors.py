"""What the program says on stderr when it ends otherwise than asked."""

from __future__ import annotations

import click

from analyzer.bug_report import PROGRAM
from analyzer.text import safe_text

_LONGEST = 2_000


def sentence(text: str) -> str:
    """The one line of an error or a remark."""
    return f"{PROGRAM}: {safe_text(' '.join(text.split()), _LONGEST)}"


def usage_sentence(error: click.ClickException) -> str:
    """Click's message as one line, with where to read on."""
    text = error.format_message().rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text = f"{text[:1].lower()}{text[1:]}; see {error.ctx.command_path} --help"
    return sentence(text)
