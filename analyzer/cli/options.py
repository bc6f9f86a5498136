"""Options that several commands share, with the same names, checks and help."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.cli.parameters import OneOf, Seconds, Whole
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.query.units import SIZES, parse_whole_amount
from dissectors import registry
from dissectors.wire import budget

if TYPE_CHECKING:
    from analyzer.messages.decode_as import DecodeAsTarget
    from analyzer.query.filter import Filter
    from analyzer.session import Session


_Command = TypeVar("_Command", bound=Callable[..., Any])

COLOURS = ("auto", "dark", "light", "contrast", "terminal")

_SIZES = {"": 1, **{unit.lower(): size for unit, size in SIZES.items()}}


class Count(click.ParamType[int | None]):
    """A number, or `all` for no limit."""

    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Parses a whole number; returns None, which means no limit, for `all`. Raises click.BadParameter."""
        if value is None or isinstance(value, int):
            return value
        if str(value).lower() == "all":
            return None
        if not str(value).isdecimal():
            self.fail(f"Give a number or all, not {value!r}.", param, ctx)
        return int(value)


class DecodeAs(click.ParamType["tuple[DecodeAsTarget, str]"]):
    """The option -d: a port, range of ports or stream, and its protocol; also in tshark's syntax."""

    name = "PORT|STREAM=PROTOCOL"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[DecodeAsTarget, str]:
        """Parses PORT=PROTOCOL or a connection with its protocol, which must exist."""
        if isinstance(value, tuple):
            return value
        from analyzer.messages.decode_as import parse_rule  # only needed with -d

        try:
            return parse_rule(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Size(click.ParamType[int]):
    """A number of bytes, with or without one of the units B, KiB, MiB, GiB."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parses a number of bytes with its unit."""
        size = parse_whole_amount(str(value), _SIZES)
        if size is None:
            self.fail(f"{value!r} is not a size. Give one such as 512MiB.", param, ctx)
        return size


def _allow(_: click.Context, __: click.Parameter, size: int | None) -> None:
    if size is not None:
        budget.allow(size)


def decompression_option(command: _Command) -> _Command:
    """Adds --max-decompressed, which applies to the whole program."""
    option = click.option(
        "--max-decompressed",
        type=Size(),
        metavar="SIZE",
        callback=_allow,
        expose_value=False,
        help="Decompress a message to at most SIZE bytes, such as 512MiB.  [default: 64MiB]",
    )
    return option(command)


def limits_options(command: _Command) -> Callable[..., Any]:
    """Adds --bytes-limit, --max-items, --show-secrets and --max-decompressed; the command gets `limits`."""

    @click.option(
        "--bytes-limit", type=Count(), default=64, show_default=True, help="Print at most N bytes of a field."
    )
    @click.option(
        "--max-items", type=Count(), default=10_000, show_default=True, help="Print at most N items of an array."
    )
    @click.option("--show-secrets", is_flag=True, help="Print passwords and tokens instead of masking them.")
    @decompression_option
    @wraps(command)
    def with_limits(*args: Any, bytes_limit: int | None, max_items: int | None, show_secrets: bool, **rest: Any) -> Any:
        return command(*args, limits=Limits(bytes_limit, max_items, show_secrets), **rest)

    return with_limits


_EXAMPLE = next(iter(registry.BUILT_IN))
_DECODE_AS_HELP = (
    f"Decode a port or a stream as PROTOCOL: 19092={_EXAMPLE}, 8000-8010={_EXAMPLE}, stream==3,{_EXAMPLE} or"
    f" CLIENT>SERVER={_EXAMPLE}. PROTOCOL is a name that `wireanalyze protocols` lists; none leaves it undecoded."
)


def decode_as_option(command: _Command) -> _Command:
    """Adds -d; the command gets `decode_as`, which is DecodeAsRules (analyzer.messages.decode_as)."""
    option = click.option("-d", "decode_as", type=DecodeAs(), multiple=True, help=_DECODE_AS_HELP)
    return option(command)


def theme_option(command: _Command) -> _Command:
    """Adds --theme; the command gets `theme`, one of COLOURS, which the TUI knows."""
    option = click.option(
        "--theme",
        type=OneOf(COLOURS),
        default="auto",
        show_default=True,
        help="Choose the colours of the UI. terminal: the terminal's own sixteen colours.",
    )
    return option(command)


def color_option(command: _Command) -> _Command:
    """Adds --color; the command gets `color`: whether to print colours on stdout."""
    option = click.option(
        "--color",
        type=OneOf(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        callback=lambda _, __, value: _use_color(value),
        help="Print colours always, never, or on a terminal unless NO_COLOR is set (auto).",
    )
    return option(command)


def _use_color(when: str) -> bool:
    if when == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return when == "always"


def jobs_option(default: int | None = None) -> Callable[[_Command], _Command]:
    """Adds --jobs; the command gets `jobs`, None to choose by the size of the input. default: without the option."""
    usual = "the number of processors, 1 for a small capture" if default is None else str(default)
    return click.option(
        "--jobs",
        type=Whole(min=1, max=256),
        default=default,
        metavar="N",
        help=f"Share the work among N processes.  [default: {usual}]",
    )


def share_work(session: Session, jobs: int | None) -> None:
    """Sets how many processes share the work on a session; None: chosen by the size of the input."""
    from analyzer.processes.jobs import choose_jobs  # not needed for a help

    session.jobs = choose_jobs(session.packets.counts.bytes) if jobs is None else jobs


fields_of_option = click.option(
    "--fields-of",
    "operations",
    multiple=True,
    metavar="OPERATION",
    help="In tables, write only the bodies of this operation, such as kafka.Produce, as typed structures instead"
    " of JSON. Repeat it for more.",
)
"""The option for bodies with types of their own."""


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
