"""`wireanalyze sniff`: an interface, live."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from analyzer.capture.live.capture import Asked, LiveCapture
from analyzer.cli.errors import sentence
from analyzer.cli.filtering import filter_option
from analyzer.cli.inputs import names_option, say, told
from analyzer.cli.options import decode_as_option
from analyzer.cli.printing import rows_options
from analyzer.cli.settings import settings, with_names
from analyzer.decode_as import Told
from analyzer.errors import UserError
from analyzer.render.printer import Printer
from analyzer.rows import Rows
from analyzer.selection import Selection
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.filter import Filter


class Autostop(click.ParamType[float]):
    """tshark's `duration:SECONDS`."""

    name = "duration:S"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds."""
        kind, _, number = str(value).partition(":")
        try:
            seconds = float(number)
        except ValueError:
            seconds = 0.0
        if kind != "duration" or not 0 < seconds < float("inf"):
            self.fail(f"{value!r} is not duration:SECONDS, for example duration:60", param, ctx)
        return seconds


@click.command("sniff")
@click.option("-i", "--interface", "names", multiple=True, metavar="IF", help="Repeat it; any: all that are up.")
@click.option("-f", "--capture-filter", "expression", default="", metavar="BPF", help="What to capture: tcp port 9092")
@click.option("-w", "--write", metavar="FILE", help="Keep the packets in a pcapng file.")
@click.option("-c", "--count", type=click.IntRange(1), default=None, metavar="N", help="Stop after N packets.")
@click.option("-a", "--autostop", type=Autostop(), default=None, help="Stop after a time: duration:60")
@click.option("-s", "--snaplen", type=click.IntRange(0), default=0, metavar="N", help="Bytes of a packet; 0: all.")
@click.option("-p", "--no-promiscuous", is_flag=True, help="Do not put the interface into promiscuous mode.")
@click.option("--headless", is_flag=True, help="Print rows on standard output instead of opening the TUI.")
@names_option
@filter_option
@decode_as_option
@rows_options
def command(
    names: tuple[str, ...],
    expression: str,
    write: str | None,
    count: int | None,
    autostop: float | None,
    snaplen: int,
    no_promiscuous: bool,
    headless: bool,
    decode_as: Told,
    printer: Printer,
    wanted: Filter | None,
) -> None:
    """Sniff interfaces and show their messages as they come; without -i, the first interface that is up.

    The packets go to a file, FILE or one that nobody keeps, and are read from there.
    """
    if wanted is not None and not headless:
        raise UserError("-Y chooses the rows that --headless prints: say that too")
    if not headless and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("the TUI needs a terminal: say --headless to print rows instead")
    asked = Asked(names, expression, write, snaplen, count or 0, autostop or 0.0, promiscuous=not no_promiscuous)
    with _capture(asked, decode_as) as (capture, session):
        if headless:
            _print(capture, session, printer, Selection(wanted=wanted))
        else:
            from tui import run  # only the TUI pays for textual
            from tui.opened import Opened

            title = f"live: {', '.join(names) or 'first interface'}"
            run(session, Opened(title, printer.limits, following=True, config=settings()))
    if capture.problem is not None:
        raise UserError(capture.problem)
    click.echo(sentence(capture.summary), err=True)


@contextmanager
def _capture(asked: Asked, decode_as: Told) -> Iterator[tuple[LiveCapture, Session]]:
    """A capture that has begun and a session that follows it, ended together."""
    ended = _Ended()
    with (
        LiveCapture(asked, ended.tell) as capture,
        Session([capture.path], decode_as=told(decode_as), follow=True, names=with_names()) as session,
    ):
        capture.forget_file()
        ended.session = session
        ended.tell_late()
        yield capture, session


class _Ended:
    """The end of a capture, which may come before there is a session to be told."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self._over = False

    def tell(self) -> None:
        """No more packets will be written; from any thread."""
        self._over = True
        self.tell_late()

    def tell_late(self) -> None:
        """The same, for a session that came later."""
        if self._over and self.session is not None:
            self.session.packets.stop()


def _print(capture: LiveCapture, session: Session, printer: Printer, selection: Selection) -> None:
    """Rows as they close, until the capture ends or somebody interrupts it; what was captured by then is printed."""

    def stop(_: int, __: FrameType | None) -> None:
        capture.stop()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    printer.head()
    sys.stdout.buffer.flush()
    reading = Rows(session, streaming=True)
    for rows in selection.as_they_come(reading, session.grow()):
        printer.rows(reading, rows)
        sys.stdout.buffer.flush()
    printer.end()
    say(session.findings)
