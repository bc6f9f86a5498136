"""Prints rows with several processes, for `list` and exports of lines."""

from __future__ import annotations

from collections.abc import Callable

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.processes.jobs import DeferredOutput, SharedOutput, print_in_turns
from analyzer.query.selection import FIRST, split_windows
from analyzer.render.printer import TOGETHER, RowPrinter


def print_shared_rows(
    printer: RowPrinter,
    reader: RowReader,
    choose: Callable[[range], Ints],
    count: int,
    out: SharedOutput,
) -> int:
    """Prints those of `count` rows that `choose` keeps of each window, in order; returns how many there were.

    reader.session.jobs processes share the work. One process prints the first rows, because they determine the widths
    of columns.
    """
    first, passing = 0, 0
    for window in split_windows(count, FIRST):
        rows = choose(window)  # a filter shares the work on a large window
        printer.print_rows(reader, rows)
        first, passing = window.stop, len(rows)
        if passing:
            break

    def work(window: range, out: DeferredOutput) -> int:
        printer.redirect(out)
        rows = choose(window)
        printer.print_rows(reader, rows)
        return len(rows)

    # One process keeps the text of so many rows until its turn.
    windows = [range(at, min(at + TOGETHER, count)) for at in range(first, count, TOGETHER)]
    if windows:
        passing = print_in_turns(windows, reader.session.jobs, work, passing, out)
        printer.redirect(out)
    return passing
