"""Prints rows of a live capture on standard output, as they close, until it ends or the user stops it.

Theory. A signal asks the capture to stop; the packets captured by then are read and printed, so the loop ends by
itself. A second signal ends it at once. A slow reader of our output delays only this loop: packets are still written to
their file, and are read from there later.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from analyzer.cli.live_status import LiveStatus
from analyzer.cli.nothing import tell_findings
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.insight.live_diagnosis import LiveDiagnosis
from analyzer.live.live_session import LiveSession
from analyzer.render.objects import write_objects
from analyzer.render.printer import RowPrinter
from analyzer.render.problems import KEYS, format_live_problem, is_retried, make_problem_objects
from analyzer.session import grow_within

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

AGAIN = 0.3
"""Seconds within which another signal does not count, because a terminal that closes sends several."""

PAUSES = 5
"""After a search for problems, the next one waits this many times as long as it took."""

NO_READER = {errno.EPIPE, errno.EIO}
"""Errors of a pipe or a terminal whose other end is closed."""


def print_live(sniffing: LiveSession, printer: RowPrinter, wanted: Filter | None, status: LiveStatus) -> None:
    """Prints rows until the capture has ended and all of it has been read.

    Raises KeyboardInterrupt if the user does not want to wait for that, BrokenPipeError if the output has no reader.
    """
    with _stop_on_signals(sniffing), status:
        with _printing(status):
            printer.print_head()
        session = sniffing.session
        reading = RowReader(session, streaming=True)
        for rows in grow_within(session, sniffing.memory):
            chosen = rows if wanted is None else wanted.select_rows(reading, np.arange(rows.start, rows.stop))
            if len(chosen):
                with _printing(status):
                    printer.print_rows(reading, chosen)
            status.printed = rows.stop
        with _printing(status):
            printer.end()
        if status.left_alone:
            raise BrokenPipeError
    tell_findings(session)


def print_live_problems(sniffing: LiveSession, form: str, status: LiveStatus) -> None:
    """Prints a line for each problem when it is known, until the capture has ended and all of it has been read.

    form: table or ndjson. Raises the same errors as print_live().
    """
    session = sniffing.session
    diagnosis = LiveDiagnosis(session)

    def print_new() -> float:
        """Prints new problems; returns the time of the next check, chosen so that checks do not slow down reading."""
        began = time.monotonic()
        problems = diagnosis.find_new_problems()
        shown = [each for each in problems if not is_retried(each)]
        with _printing(status):
            if form == "table":
                lines = [format_live_problem(session, each) for each in shown]
                sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
            elif shown:
                write_objects(sys.stdout.buffer, form, KEYS, make_problem_objects(session, shown))
        now = time.monotonic()
        return now + PAUSES * (now - began)

    wait_until = 0.0
    with _stop_on_signals(sniffing), status:
        for rows in grow_within(session, sniffing.memory):
            if time.monotonic() >= wait_until:
                wait_until = print_new()
            status.printed = rows.stop
        print_new()
        if status.left_alone:
            raise BrokenPipeError
    tell_findings(session)


@contextmanager
def _stop_on_signals(sniffing: LiveSession) -> Iterator[None]:
    requested: list[float] = []

    def stop(_: int, __: FrameType | None) -> None:
        if requested and time.monotonic() - requested[0] > AGAIN:
            raise KeyboardInterrupt
        requested.append(time.monotonic())
        sniffing.stop()

    # With nohup, the program must continue when the terminal closes.
    handled = [each for each in SIGNALS if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN]
    before = [(number, signal.signal(number, stop)) for number in handled]
    try:
        yield
    except KeyboardInterrupt:
        _print_no_more()  # the reader that blocked us would block us again
        raise
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _printing(status: LiveStatus) -> Iterator[None]:
    """Flushes the output at the end of the block, and translates errors."""
    with status.hide_status():
        try:
            yield
            sys.stdout.buffer.flush()
        except OSError as error:
            if error.errno in NO_READER:
                raise BrokenPipeError from error
            if error.errno == errno.ENOSPC:
                _print_no_more()
                raise UserError(
                    "There is no space left for the rows on standard output. Free some space, or write elsewhere."
                ) from error
            raise


def _print_no_more() -> None:
    """Discards the output that Python would still write at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
