"""From a key to what it shows, over a pseudo terminal: in the list, and in tree and bytes, which follow it.

    python -m benchmarks.keys CAPTURE [KEYS]        the figures of one capture, in the smaller terminal

Theory. A key is answered when the line that it leads to stands on the screen under the cursor, and dealt with when
nothing below the title changes any more. The clock runs between the write of the key and the read of the last byte of
a frame; which frame that was is found by playing all again (screen.py). A person presses the next key when he has seen
what the last one did, so each key waits for QUIET seconds of silence, and a little more or less, as people do. Which
message a key leads to is known from `list`, not from the screen, so a key that leads elsewhere, or nowhere, is no
figure but a failure.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import panes
from benchmarks.answers import Painted, listed, said
from benchmarks.comparison import Bench
from benchmarks.measure import PROGRAM, Failed, ours, output
from benchmarks.screen import Screen
from benchmarks.table import Line, load
from benchmarks.terminal import COLUMNS, LINES, PATIENCE, Terminal

DOWN, PAGE, HOME, END, VIEW = b"\x1b[B", b"\x1b[6~", b"\x1b[H", b"\x1b[F", b"v"
MOMENT = 0.4
"""Seconds after which a key is looked for, when nobody measures."""

JITTER = 0.02
"""Seconds, at most, that a key comes later than it could."""

LONG = 240.0
"""Seconds that reading a capture may take."""

CURSOR_GOAL, PAGE_GOAL, WHOLE_GOAL = 25, 40, 50
"""Milliseconds that nineteen of twenty keys may take: until the list, and until everything has been painted."""


class Work(NamedTuple):
    """Keys of one kind, pressed in turn, from the first line on. leads(n, lines, page): to which line the n-th of them
    leads, all from 0, in a list of so many lines, of which a page has `page`. goal: in milliseconds.
    """

    name: str
    keys: Sequence[bytes]
    leads: Callable[[int, int, int], int]
    goal: int


WORKS = (
    Work("cursor", (DOWN,), lambda key, lines, page: key + 1, CURSOR_GOAL),
    Work("page", (PAGE,), lambda key, lines, page: (key + 1) * page, PAGE_GOAL),
    Work("first, last", (END, HOME), lambda key, lines, page: 0 if key % 2 else lines - 1, PAGE_GOAL),
)


class Order:
    """The lines of the list in one view: what stands on line n, as panes.selected tells it."""

    def __init__(self, capture: Path, *, flat: bool) -> None:
        self.flat = flat
        if flat:
            self.lines = _told(capture, "-e", "number")[-1]
            self._at: Sequence[int] = range(1, self.lines + 1)
        else:
            streams = sorted(set(_told(capture, "-e", "stream")))
            rows = _told(capture, "-e", "number", "-Y", f"stream == {streams[0]}")
            self._at = [-1 - streams[0], *rows, *(-1 - stream for stream in streams[1:])]
            self.lines = len(self._at)

    @property
    def name(self) -> str:
        """As people call the view."""
        return "timeline" if self.flat else "streams"

    def at(self, line: int) -> int:
        """What stands on a line."""
        return self._at[line]


def _told(capture: Path, *asked: str) -> list[int]:
    """A column of `list`."""
    return list(map(int, output(ours("list", "--format", "tsv", *asked, str(capture))).split()[1:]))


def opened(capture: Path, home: Path, size: tuple[int, int]) -> Terminal:
    """Our program on a capture."""
    return Terminal([*PROGRAM, "open", *panes.COLOURS, str(capture)], home, size)


def complete(shown: bytes) -> bool:
    """Whether the title says that all has been read."""
    return b" complete " in shown


def played(terminal: Terminal, screen: Screen, first: int = 0) -> Screen:
    """The screen with all that was written from output `first` on."""
    for frame in terminal.frames(first):
        screen.feed(frame.data)
    return screen


def to_view(terminal: Terminal, screen: Screen, *, flat: bool) -> None:
    """Turns to one of the views, the cursor on its first line; the screen is as it is then. Raises Failed."""
    _pressed(terminal, screen, HOME, lambda at: at == 1 or at < 0)
    if (panes.selected(screen) == 1) != flat:
        _pressed(terminal, screen, VIEW, lambda at: at > 0)
        _pressed(terminal, screen, HOME, lambda at: at == 1 if flat else at < 0)


def _pressed(terminal: Terminal, screen: Screen, key: bytes, leads: Callable[[int], bool]) -> None:
    """Types a key and waits until it has led somewhere, and a moment more. Raises Failed."""
    first, end = len(terminal.output), time.monotonic() + PATIENCE
    terminal.press(key)
    while time.monotonic() < end:
        terminal.sleep(MOMENT)
        at = panes.selected(played(terminal, screen, first))
        if at is not None and leads(at):
            return
        first = len(terminal.output)
    raise Failed(f"the key {key!r} leads nowhere:\n{screen.shown()}")


def pressed(terminal: Terminal, screen: Screen, order: Order, work: Work, count: int) -> list[Painted]:
    """What so many keys took. Raises Failed when one did not lead where it should."""
    began, first = len(terminal.keys), len(terminal.output)
    terminal.sleep(MOMENT)
    chance = random.Random(work.name)
    for key in itertools.islice(itertools.cycle(work.keys), count):
        terminal.sleep(chance.random() * JITTER)
        terminal.pressed(key)
    page = panes.height(screen) - 1
    wanted = [order.at(min(work.leads(number, order.lines, page), order.lines - 1)) for number in range(count)]
    return listed(terminal.frames(first), terminal.keys[began:], wanted, screen)


def figures(capture: Path, home: Path, size: tuple[int, int], count: int) -> Iterator[Line]:
    """All keys in both views."""
    with opened(capture, home, size) as terminal:
        terminal.until(complete, LONG)
        terminal.settle(quiet=0.5)
        screen = played(terminal, Screen(*size))
        for order in (Order(capture, flat=False), Order(capture, flat=True)):
            to_view(terminal, screen, flat=order.flat)
            where = f"{panes.messages(screen):,} messages, {order.name}, {size[0]}x{size[1]}"
            for work in WORKS:
                to_view(terminal, screen, flat=order.flat)
                busy, before = load(), terminal.cpu
                found = pressed(terminal, screen, order, work, count)
                each = f"; {(terminal.cpu - before) / count * 1000:.0f} ms of CPU a key"
                yield from report(f"key to painted: {work.name}", f"{where}, {busy}", found, work.goal, each)


def report(name: str, where: str, found: Sequence[Painted], goal: int, more: str = "") -> Iterator[Line]:
    """What is told of keys that move in the list; `more`: what else there is to say of all that they bring about."""
    listed, whole = said(each.pane for each in found), said(each.whole for each in found)
    yield Line(f"{name}, list", where, listed, goal=f"p95 {goal} ms")
    yield Line(f"{name}, tree and bytes", where, whole + more, goal=f"p95 {WHOLE_GOAL} ms")


def keys(bench: Bench) -> Iterator[Line]:
    """Key to painted, on a million messages."""
    capture = bench.library.of_packets("small", bench.listed)
    for size in bench.terminals:
        yield from figures(capture, bench.scratch / "keys", size, bench.keys)


def _main(capture: str, count: str = "60") -> None:
    with tempfile.TemporaryDirectory(prefix="wireanalyze-bench-") as scratch:
        for line in figures(Path(capture), Path(scratch), (COLUMNS, LINES), int(count)):
            print(*line[:3], f"goal {line.goal}", sep=" | ", flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
