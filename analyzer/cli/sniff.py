"""`wireanalyze sniff`: captures live traffic."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from analyzer.cli.errors import sentence
from analyzer.cli.inputs import merge_decode_as, names_option, verbose_option
from analyzer.cli.keys import keys_options, make_key_ring
from analyzer.cli.live_rows import print_live, print_live_problems
from analyzer.cli.live_status import LiveStatus
from analyzer.cli.memory import LEAST, PROGRAM
from analyzer.cli.options import decode_as_option, filter_option, theme_option
from analyzer.cli.parameters import SectionedCommand
from analyzer.cli.printing import rows_options
from analyzer.cli.settings import settings, with_names
from analyzer.cli.sniff_options import Capturing, capture_options
from analyzer.cli.terminal import wide_option
from analyzer.errors import UserError
from analyzer.live.capture import LiveCapture
from analyzer.live.live_session import LiveSession
from analyzer.live.privilege import check_environment
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.render.printer import RowPrinter

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

KEYS_AND_SCREEN = (0, 1, 2)


@click.command("sniff", cls=SectionedCommand)
@capture_options
@click.option("--headless", is_flag=True, help="Print rows on standard output instead of opening the terminal UI.")
@click.option(
    "--findings",
    is_flag=True,
    help="With --headless: print a line for each problem as soon as it is known, instead of rows.",
)
@names_option
@verbose_option
@keys_options
@filter_option
@decode_as_option
@rows_options
@wide_option("--wide")
@theme_option
def command(
    capturing: Capturing,
    headless: bool,
    findings: bool,
    decode_as: DecodeAsRules,
    printer: RowPrinter,
    wanted: Filter | None,
    theme: str,
) -> None:
    """Capture live traffic and show its messages.

    Examples:

    \b
      wireanalyze sniff --via sudo -i eth0 -f 'tcp port 9092'
      wireanalyze sniff --via sudo -i any --headless -Y 'latency > 1s' --format ndjson
      wireanalyze sniff --via sudo -w ring.pcapng --ring size:100M,files:20 --headless
      wireanalyze sniff --via sudo --container broker -f auto

    Without -i, the command captures on the first interface that is up. With --headless, press Ctrl-C once to stop the
    capture and print the remaining rows; press it again to exit at once.

    ssh://HOST/IF captures on another machine, with dumpcap or tcpdump there.

    A separate process captures; only that process has capture privileges. It writes the packets to FILE (-w) or to a
    temporary file.
    """
    if findings:
        _check_findings(printer, wanted, headless=headless)
    if not headless:
        _check_terminal()
    elif click.get_current_context().get_parameter_source("memory") is ParameterSource.DEFAULT:
        # Printed rows are needed only as partners of later rows.
        capturing = replace(capturing, memory=LEAST - PROGRAM)
    with _sniffing(capturing, decode_as) as sniffing:
        if headless:
            gc.freeze()  # see list
            _print(sniffing, printer, wanted, findings=findings)
        else:
            from tui import run  # only the TUI needs textual
            from tui.inputs import StartOptions

            opened = StartOptions(
                sniffing.title, printer.limits, theme, following=True, wanted=wanted, config=settings()
            )
            run(sniffing.session, opened, sniffing)
            sniffing.close()
            _tell_end(sniffing)
    if sniffing.problem is not None:
        raise UserError(sniffing.problem)


def _check_findings(printer: RowPrinter, wanted: Filter | None, *, headless: bool) -> None:
    """Raises UserError for options that have no meaning with --findings."""
    if not headless:
        raise UserError("--findings is an option of --headless. In the terminal UI, press F for the findings.")
    if wanted is not None:
        raise UserError("--findings prints the problems of all messages. Leave out the filter.")
    if printer.form not in ("table", "ndjson"):
        raise UserError(f"--findings prints lines or ndjson, not {printer.form}. Leave out --format.")


def _check_terminal() -> None:
    """Raises UserError if there is no terminal for output or keys."""
    if os.environ.get("TERM", "dumb") == "dumb" or not all(map(os.isatty, KEYS_AND_SCREEN)):
        raise UserError("sniff needs a terminal for keys, screen and errors. Use --headless to print rows instead.")


@contextmanager
def _sniffing(capturing: Capturing, decode_as: DecodeAsRules) -> Iterator[LiveSession]:
    """Yields a running capture with its session. By then this process has dropped its extra privileges."""
    check_environment(capturing.request.user, capturing.write)
    with LiveCapture(capturing.request, capturing.via) as capture:
        for note in capture.notes:
            click.echo(sentence(note), err=True)
        with LiveSession(
            capture,
            capturing.write,
            decode_as=merge_decode_as(decode_as),
            names=with_names(),
            memory=capturing.memory,
            secrets=make_key_ring(grows=True),
        ) as sniffing:
            yield sniffing


def _print(sniffing: LiveSession, printer: RowPrinter, wanted: Filter | None, *, findings: bool) -> None:
    status = LiveStatus(sniffing)
    try:
        if findings:
            print_live_problems(sniffing, printer.form, status)
        else:
            print_live(sniffing, printer, wanted, status)
    except BrokenPipeError:
        raise
    except BaseException:
        sniffing.close()
        _tell_end(sniffing, status)
        raise
    sniffing.close()
    _tell_end(sniffing, status)


def _tell_end(sniffing: LiveSession, status: LiveStatus | None = None) -> None:
    """Prints what was captured, and how far rows were behind; call it after closing, when the counts are final."""
    messages = len(sniffing.session.rows)
    parts = [sniffing.summary(), f"{messages:,} message{'' if messages == 1 else 's'}"]
    if status is not None:
        parts.append(status.summary())
    click.echo(sentence("; ".join(part for part in parts if part)), err=True)
