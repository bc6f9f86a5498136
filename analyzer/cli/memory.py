"""The option --memory: the limit for commands that read endless input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from analyzer.query.units import parse_whole_amount

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PREFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZES = {"": 1, "b": 1, **_PREFIXES, **{f"{prefix}ib": size for prefix, size in _PREFIXES.items()}}

LEAST = 256 << 20
"""Smallest number of bytes that --memory accepts."""

PROGRAM = 192 << 20
"""Bytes of the limit that the program itself needs: code, blocks of packets, text."""


def memory_option(default: str | None = None, shown: str | None = None) -> Callable[[_Command], _Command]:
    """Adds --memory; the command gets the bytes for tables as `memory`, None for no limit.

    shown: the default in the help, if it differs from `default`.
    """

    def of_tables(_: click.Context, __: click.Parameter, size: int | None) -> int | None:
        return None if size is None else size - PROGRAM

    return click.option(
        "--memory",
        type=Memory(),
        default=default,
        show_default=shown or default is not None,
        callback=of_tables,
        help="Use at most SIZE of memory, such as 1G. Beyond it the oldest messages are evicted. none: no limit.",
    )


class Memory(click.ParamType[int | None]):
    """Bytes with a unit (512M, 1G, 1GiB); `none` or 0: no limit."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Returns the bytes; None for no limit."""
        if value is None or isinstance(value, int):
            return value
        size = 0 if value == "none" else size_of(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size. Give one such as 512M or 2G, or none for no limit.", param, ctx)
        if 0 < size < LEAST:
            self.fail(f"{value} is too little. Give {LEAST >> 20}M or more, or none for no limit.", param, ctx)
        return size or None


def size_of(text: str) -> int | None:
    """Parses a number of bytes with or without a unit; returns None if it is not a size."""
    return parse_whole_amount(text, _SIZES)
