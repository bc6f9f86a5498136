"""Wall time until something, and until the first rows of a capture, stand on a terminal of 200 columns and 40 lines.

Theory. A person waits for rows, so the clock stops when an address of the capture has been painted; and wants to see
that something happens, so the first visible character counts, too. What is painted is looked at with its control
sequences taken out. Each program gets a home of its own in the scratch folder, so that nothing it keeps there, and
nothing of the user's, counts. A start that depends on the file's size would show in the largest one.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Bench, installed
from benchmarks.measure import PROGRAM
from benchmarks.table import Line, load
from benchmarks.terminal import Terminal

ROW = re.compile(rb"10\.[01]\.0\.\d+")
"""An address of captures.py, which no title or menu has."""

PAINT_GOAL, ROWS_GOAL, BESIDE_GOAL = "0.4 s", "0.5 s", "4, 0.5 s"


class Started(NamedTuple):
    """Seconds from the start of a command to its first visible character, and to its first row."""

    painted: float
    rows: float


def started(command: Sequence[str], home: Path) -> Started:
    """Starts a command and ends it again. Raises Failed if no row comes within terminal.PATIENCE."""
    with Terminal(command, home) as terminal:
        painted = terminal.until(lambda shown: bool(shown.strip()))
        return Started(painted - terminal.began, terminal.until(_has_row) - terminal.began)


def _has_row(shown: bytes) -> bool:
    return ROW.search(shown) is not None


def opening(bench: Bench) -> Iterator[Line]:
    """Captures of several sizes; one of them beside termshark."""
    for size in bench.opened:
        capture = bench.library.of_size(size)
        name = f"{capture.stat().st_size / 1e6:.0f} MB small, {load()}"
        mine, theirs = [], []
        for number in range(1 + bench.few_times):
            own = started([*PROGRAM, "open", str(capture)], bench.scratch / "ours")
            if size == bench.beside and installed("termshark"):
                other = started(["termshark", "-r", str(capture)], bench.scratch / "theirs")
                theirs += [other] if number else []
            mine += [own] if number else []
        for which, goal in ((0, PAINT_GOAL), (1, ROWS_GOAL)):
            seconds = statistics.median(each[which] for each in mine)
            work = f"`open`, first {'rows' if which else 'paint'} (wall)"
            if not theirs:
                yield Line(work, name, f"{seconds:.2f} s", goal=goal)
                continue
            beside = statistics.median(each[which] for each in theirs)
            ratio, goal = beside / seconds, BESIDE_GOAL if which else goal
            yield Line(work, name, f"{seconds:.2f} s", "termshark", f"{beside:.2f} s", ratio, goal)
