"""The option -Y for all commands that read rows: a display filter, checked before a capture is opened."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

_Command = TypeVar("_Command", bound=Callable[..., Any])


def filter_option(command: _Command) -> Callable[..., Any]:
    """Adds -Y; the command gets `wanted`, the Filter or None."""

    @click.option(
        "-Y",
        "--filter",
        "text",
        metavar="FILTER",
        help="Select messages with a display filter, such as 'latency > 50ms'.",
    )
    @wraps(command)
    def with_filter(*args: Any, text: str | None, **rest: Any) -> Any:
        return command(*args, wanted=None if text is None else compile_filter_option(text), **rest)

    return with_filter


def compile_filter_option(text: str) -> Filter:
    """Compiles the user's filter, which may use those of the configuration. Raises FilterError."""
    from analyzer.cli.settings import settings
    from analyzer.query.filter import compile_filter  # not needed without a filter

    return compile_filter(text, settings().filters)
