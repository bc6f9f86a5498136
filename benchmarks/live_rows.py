"""Keys while rows come in: from a pipe, so many a second, and from a file that is still being read.

    python -m benchmarks.live_rows CAPTURE BYTES        writes a capture to standard output, so many bytes a second

Theory. Who looks at a capture that grows presses keys when he likes, not when the program has time. So keys are pressed
at fixed times here, whether or not the one before has been answered, and a key that had to wait shows it. The rate is
what the title has counted in that time, not what was meant to be written.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchmarks import panes
from benchmarks.answers import Painted, listed
from benchmarks.comparison import Bench
from benchmarks.keys import CURSOR_GOAL, DOWN, LONG, MOMENT, complete, opened, played, report, to_view
from benchmarks.measure import PROGRAM, ROOT, Failed, told
from benchmarks.opening import ROW
from benchmarks.screen import Screen
from benchmarks.table import Line, load
from benchmarks.terminal import COLUMNS, LINES, Terminal
from benchmarks.works import STATS, counted

SIZE = (COLUMNS, LINES)
RATE = 20_000
"""Rows a second that are written."""

LEAST = 0.9
"""Share of them that must have come in, or nothing was measured."""

PAUSE, SHORT_PAUSE = 0.1, 0.05
"""Seconds between two keys: while rows come from a pipe, and from a file."""

FEWEST = 20
"""Keys that are pressed in any case."""

STEP = 0.01
"""Seconds between two writes."""


def live(bench: Bench) -> Iterator[Line]:
    """Both."""
    capture = bench.library.of_packets("small", bench.listed)
    yield from reading(capture, bench.scratch / "reading")
    yield from growing(capture, bench.scratch / "growing", bench.seconds)


def reading(capture: Path, home: Path) -> Iterator[Line]:
    """Keys while a file is read, from the first rows until the title says that it is complete."""
    with opened(capture, home, SIZE) as terminal:
        terminal.until(lambda shown: ROW.search(shown) is not None)
        screen = played(terminal, Screen(*SIZE))
        to_view(terminal, screen, flat=True)
        busy, first = load(), len(terminal.output)
        while not complete(b"".join(each.data for each in terminal.output)) or len(terminal.keys) < FEWEST:
            _next(terminal, SHORT_PAUSE)
            if terminal.output[-1].time > terminal.began + LONG:
                raise terminal.failure("it never was complete")
        found = _listed(terminal, screen, first)
        end = terminal.until(complete)
        where = f"{panes.messages(screen):,} messages, {len(found)} keys, {busy}"
    name = "a key every 50 ms while a file is read"
    yield from report(name, where, found, CURSOR_GOAL)
    yield Line("`open` with these keys, complete (wall)", where, f"{end - terminal.began:.1f} s")


def growing(capture: Path, home: Path, seconds: float) -> Iterator[Line]:
    """Keys while a pipe is written."""
    rate = capture.stat().st_size * RATE // told(STATS.ours(capture), counted)
    command = [*PROGRAM, "open", *panes.COLOURS, "-"]
    with _piped(capture, rate) as pipe, Terminal(command, home, SIZE, stdin=pipe) as terminal:
        terminal.until(lambda shown: ROW.search(shown) is not None)
        terminal.sleep(1.0)
        screen = played(terminal, Screen(*SIZE))
        to_view(terminal, screen, flat=True)
        busy, first, began, before = load(), len(terminal.output), time.monotonic(), panes.messages(screen)
        while time.monotonic() < began + seconds:
            _next(terminal, PAUSE)
        terminal.sleep(MOMENT)
        found = _listed(terminal, screen, first)
        reached = (panes.messages(screen) - before) / (terminal.output[-1].time - began)
    if reached < RATE * LEAST:
        raise Failed(f"{reached:,.0f} rows a second came in, not {RATE:,}")
    name = "a key every 100 ms while rows come in"
    where = f"a pipe, {reached:,.0f} rows a second, {panes.messages(screen):,} in all, {busy}"
    yield from report(name, where, found, CURSOR_GOAL)


def _next(terminal: Terminal, pause: float) -> None:
    """Presses a key `pause` seconds after the last one was due."""
    due = terminal.keys[-1].time + pause
    terminal.sleep(due - time.monotonic())
    terminal.press(DOWN)


def _listed(terminal: Terminal, screen: Screen, first: int) -> list[Painted]:
    """What the keys took that were pressed since output `first`: each leads one message on from the first one."""
    terminal.sleep(MOMENT)
    keys = [key for key in terminal.keys if key.place >= first]
    return listed(terminal.frames(first), keys, range(2, len(keys) + 2), screen)


@contextmanager
def _piped(capture: Path, rate: int) -> Iterator[IO[bytes]]:
    """What is written of a capture at so many bytes a second."""
    command = [sys.executable, "-m", "benchmarks.live_rows", str(capture), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT) as writer:
        assert writer.stdout is not None
        try:
            yield writer.stdout
        finally:
            writer.kill()


def _main(capture: str, rate: str) -> None:
    began, written = time.monotonic(), 0
    with open(capture, "rb") as file:
        while data := file.read(max(int((time.monotonic() - began) * int(rate)) - written, 1)):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            written += len(data)
            time.sleep(STEP)


if __name__ == "__main__":
    _main(*sys.argv[1:])
