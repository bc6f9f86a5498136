"""`wireanalyze stats`: statistics of captures, on one screen or in groups."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from analyzer.capture.packets import ReaderName
from analyzer.cli.formats import ROWS, format_options
from analyzer.cli.inputs import files_options, load_session
from analyzer.cli.nothing import tell_nothing_passes
from analyzer.cli.options import decode_as_option, decompression_option, filter_option, jobs_option
from analyzer.cli.parameters import SectionedCommand, Whole
from analyzer.cli.reporting import SHOWN, PrintedReport, order_of
from analyzer.cli.terminal import wide_option
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.insight.metrics import METRIC_NAMES
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.query.units import DURATIONS

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

TIME = "time"


class Duration(click.ParamType[int]):
    """A length of time, such as 500ms."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parses a duration such as `10s`, and returns it in nanoseconds, at least 1. Raises click.BadParameter."""
        if isinstance(value, int):
            return value
        from analyzer.query.filter.literals import parse_number

        found = parse_number(str(value))
        if found is None or found[1] not in DURATIONS or not 1 <= int(found[0]) < 1 << 62:
            self.fail(f"{value!r} is not a duration. Give one with its unit, such as 500ms, 1s or 5m.", param, ctx)
        return int(found[0])


@click.command("stats", cls=SectionedCommand)
@files_options
@click.option(
    "--by",
    "names",
    multiple=True,
    metavar="KEY[,KEY]",
    help="Group by these keys or fields, such as topic, client or time.",
)
@click.option(
    "--interval", type=Duration(), help="Length of an interval of --by time, such as 1s.  [default: about 60 intervals]"
)
@click.option(
    "--conversations", "view", flag_value="conversations", help="Count what each side of each connection sent."
)
@click.option("--endpoints", "view", flag_value="endpoints", help="Count what each address and port sent.")
@click.option("--counts", "view", flag_value="counts", help="Only count messages, without decoding bodies.")
@click.option(
    "--top", type=Whole(min=1), metavar="N", help=f"Print at most N groups.  [default: {SHOWN} in a table, else all]"
)
@click.option(
    "--sort",
    metavar="FIGURE|KEY",
    help="Sort groups by a figure such as p99, the largest first, or by a key of --by; -KEY puts the largest first.",
)
@click.option("--errors/--no-errors", default=True, show_default=True, help="Decode responses to count errors.")
@format_options(*ROWS, short="json")
@wide_option()
@filter_option
@decode_as_option
@decompression_option
@jobs_option(1)  # most runs are shorter than the start of a second process
def command(
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    names: tuple[str, ...],
    interval: int | None,
    view: str | None,
    top: int | None,
    sort: str | None,
    errors: bool,
    form: str,
    wanted: Filter | None,
    jobs: int | None,
) -> None:
    """Count messages and errors, and measure latencies.

    Examples:

    \b
      wireanalyze stats captures/kafka.pcap
      wireanalyze stats captures/kafka.pcap --by operation --sort p99
      wireanalyze stats captures/kafka.pcap --by time --interval 1s -Y 'operation == Fetch'

    Without --by, the command prints one screen for all messages. With --by, it prints a line for each group. KEY is
    protocol, operation, version, client, connection, source, destination, role, error, time, topic, path, group, queue,
    partition, or any field that `wireanalyze fields` lists.

    Latencies are exact, and percentiles use the nearest rank. Rates refer to the time between the first and the last
    counted message.
    """
    by = [name for each in names for name in each.split(",") if name]
    if names and not by:
        raise UserError("--by is empty. Give a key, such as --by topic.")
    _check(by, view, interval=interval, sort=sort, top=top, errors=errors)
    gc.freeze()  # imported objects are never freed; scanning them again and again takes a tenth of the time
    with load_session(files, decode_as, reader, jobs) as session:
        rows = None if wanted is None else wanted.select_rows(RowReader(session), np.arange(len(session.rows)))
        if rows is not None:
            tell_nothing_passes(len(rows), len(session.rows))
        report = PrintedReport(session, rows, form, top)
        if view == "counts":
            report.counts()
        elif view is not None:
            report.traffic(view)
        elif by:
            report.groups(by, interval, sort, with_errors=errors)
        else:
            report.overview(files, with_errors=errors)


def _check(by: Sequence[str], view: str | None, **options: object) -> None:
    """Raises UserError for options that exclude each other, and for keys that do not exist."""
    if by and view is not None:
        raise UserError(f"--by and --{view} are different views. Give one of them.")
    if len(set(by)) < len(by):
        raise UserError(f"--by {','.join(by)} has the same key twice. Give it once.")
    if options["interval"] is not None and TIME not in by:
        raise UserError("--interval needs --by time. Add it, or leave out --interval.")
    if options["sort"] is not None and not by:
        raise UserError("--sort needs --by KEY. Add it, or leave out --sort.")
    if isinstance(options["sort"], str) and order_of(options["sort"], by) is None:
        names = ", ".join((*by, *METRIC_NAMES))
        raise UserError(f"--sort {options['sort']} is neither a key of --by nor a figure. Give one of {names}.")
    if options["top"] is not None and not by and view in (None, "counts"):
        raise UserError("--top needs --by, --conversations or --endpoints. Add one of them, or leave out --top.")
    if "error" in by and not options["errors"]:
        raise UserError("--by error needs decoded responses. Leave out --no-errors.")
    from analyzer.insight.grouping import field_of

    for name in by:
        field_of(name)
