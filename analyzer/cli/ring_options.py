"""The options for ring captures that `pipeline --state` and `export --as parquet --state` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from analyzer.cli.values import Seconds
from analyzer.errors import UserError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def ring_options(command: _Command) -> _Command:
    """Adds --close and --settle, which need --state; the command gets `close` and `settle`."""
    settle = click.option(
        "--settle",
        type=Seconds(0),
        metavar="SECONDS",
        help="With --state: read the newest file once it has not changed for SECONDS.  [default: 60]",
    )
    close = click.option(
        "--close", is_flag=True, help="With --state: the ring has ended. Write the unfinished exchanges, too."
    )
    return close(settle(command))


def check_ring_options(state: str | None, *, close: bool, settle: float | None) -> None:
    """Raises UserError if --close or --settle was given without --state. state: its folder, None without it."""
    if state is None and (close or settle is not None):
        raise UserError(f"{'--close' if close else '--settle'} is for ring captures. Give --state DIR, too.")
