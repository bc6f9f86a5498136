"""What the user interface holds for a row, beyond the index.

Theory. The same captures are read by the program on a terminal and by processes that do nothing else (memory.py). What
the first has of its own more than the second is a constant (Textual, what the C library keeps of a reader's work) and
so much for each row; two captures, one with a third of the other's rows, tell them apart. It is looked at when nothing
is computed any more, in both views and while a filter is in force. One run differs from another by some bytes a row, as
the C library's heap happens to lie; tests/tui/test_memory.py counts what is held to the byte.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import memory, panes
from benchmarks.comparison import Bench
from benchmarks.growth import FEW
from benchmarks.keys import END, HOME, LONG, MOMENT, VIEW, complete, opened, played
from benchmarks.measure import Failed, anonymous
from benchmarks.screen import Screen
from benchmarks.table import Line
from benchmarks.terminal import COLUMNS, LINES, Terminal

GOAL = "40 B"
SHARE = 3
"""The smaller capture is that share of the larger one."""

FILTER = b"length > 100"
IDLE = 0.5
"""Seconds without computing after which a process does nothing more."""


def held(bench: Bench) -> Iterator[Line]:
    """Bytes a row."""
    few, *captures = (bench.library.of_packets("small", each) for each in (FEW, bench.listed // SHARE, bench.listed))
    less, more = (memory.index(capture, few) for capture in captures)
    rows, index = more.messages - less.messages, more.after - more.before - (less.after - less.before)
    runs: dict[str, list[float]] = {}
    for _ in range(bench.few_times):
        begin, end = (_memory(capture, bench.scratch / "held") for capture in captures)
        for state in end:
            runs.setdefault(state, []).append((end[state] - begin[state] - index) / rows)
    found = {state: statistics.median(each) for state, each in runs.items()}
    said = ", ".join(f"{state} {held:.0f}" for state, held in found.items())
    where = f"{less.messages:,} and {more.messages:,} messages"
    yield Line("memory a row, user interface", where, f"{max(found.values()):.0f} B ({said})", goal=GOAL)


def _memory(capture: Path, home: Path) -> Mapping[str, int]:
    """Anonymous memory in each state, in bytes."""
    size = COLUMNS, LINES
    found = {}
    with opened(capture, home, size) as terminal:
        terminal.until(complete, LONG)
        found["streams"] = _idle(terminal)
        for key in (VIEW, END, HOME):
            terminal.pressed(key)
        found["timeline"] = _idle(terminal)
        for keys in (b"/", FILTER, b"\r"):
            terminal.pressed(keys)
        found["timeline, filtered"] = _idle(terminal)
        for key in (VIEW, HOME):
            terminal.pressed(key)
        found["streams, filtered"] = _idle(terminal)
        terminal.sleep(MOMENT)
        screen = played(terminal, Screen(*size))
        if not panes.kept(screen):
            raise Failed(f"no filter is in force:\n{screen.shown()}")
    return found


def _idle(terminal: Terminal) -> int:
    """Its anonymous memory, as soon as it computes nothing any more."""
    end, before = time.monotonic() + LONG, -1.0
    while (now := terminal.cpu) > before:
        if time.monotonic() > end:
            raise terminal.failure("it computes without end")
        before = now
        terminal.sleep(IDLE)
    return anonymous(terminal.pid) or 0
