"""What a screen of `wireanalyze open` says, read as a person reads it: the title, the line under the cursor, the panes.

Theory. Nothing is known here of how the program paints: the list stands below the head with its columns' names, panes
side by side are parted by a bar, and the cursor is a line behind which the palette's colour of a cursor lies. So the
program must be started with COLOURS, and be wide enough to have its panes side by side.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from benchmarks.measure import Failed
from benchmarks.screen import Look, Screen
from tui.theme import make_palette

COLOURS = ("--theme", "dark")
HEAD, FIRST, FOOT = 2, 3, 2
"""The line of the panes' heads, the first one below, and how many stand below the panes."""

PARTS = frozenset("▏│┃")
"""What may stand between two panes."""

DECODING = "decoding"

_ROW = re.compile(r"^[!*%? ][^\d▸▾]? *([\d,]+)(?: |$)")
_STREAM = re.compile(r"^[▸▾] *(\d+) ")
_SHOWN = re.compile(r"([\d,]+) of [\d,]+")
_MESSAGES = re.compile(r"([\d,]+) messages")
_OFFSET = re.compile(r"^ ?([0-9a-f]{4,})  ")


@cache
def cursor_look() -> Look:
    """What lies behind the line under the cursor. Raises Failed."""
    colour = make_palette(COLOURS[-1]).styles["cursor"].bgcolor
    if colour is None or colour.triplet is None:
        raise Failed("without colours the cursor is not found: unset NO_COLOR")
    return ";".join(map(str, (2, *colour.triplet)))


class Width(NamedTuple):
    """The columns of a pane: from `first` to before `end`."""

    first: int
    end: int


def widths(screen: Screen) -> tuple[Width, ...]:
    """The panes from left to right. Raises Failed unless there are three."""
    bars = [x for x, texts in enumerate(zip(screen.text[HEAD], screen.text[FIRST], strict=True)) if {*texts} <= PARTS]
    if len(bars) != 2:
        raise Failed(f"there are not three panes side by side:\n{screen.shown()}")
    return Width(0, bars[0]), Width(bars[0] + 1, bars[1]), Width(bars[1] + 1, screen.columns)


def height(screen: Screen) -> int:
    """Lines of a pane."""
    return screen.lines - FIRST - FOOT


def cursor(screen: Screen, pane: int = 0) -> str | None:
    """The line under the cursor of the pane that has the focus; None where there is none."""
    first, end = widths(screen)[pane]
    for y in range(FIRST, screen.lines - FOOT):
        if cursor_look() in screen.looks[y][first:end]:
            return screen.line(y, first, end)
    return None


def selected(screen: Screen) -> int | None:
    """What the list's cursor is on: the number of a message, from 1; of stream n, -1 - n; None: on nothing."""
    line = cursor(screen)
    if line is None:
        return None
    if found := _STREAM.match(line):
        return -1 - int(found[1])
    found = _ROW.match(line)
    return None if found is None else number(found[1])


def number(text: str) -> int:
    """`1,002,032` as a number."""
    return int(text.replace(",", ""))


def title(screen: Screen) -> str:
    """The first line."""
    return screen.line(0)


def messages(screen: Screen) -> int:
    """The messages that the title counts."""
    found = _MESSAGES.search(title(screen))
    return 0 if found is None else number(found[1])


def kept(screen: Screen) -> int | None:
    """How many messages a filter keeps, once it has asked all."""
    found = _SHOWN.search(title(screen))
    return None if found is None or "filtering" in title(screen) else number(found[1])


def pane(screen: Screen, which: int) -> list[str]:
    """The lines of a pane, its head first."""
    first, end = widths(screen)[which]
    return [screen.line(y, first, end) for y in range(HEAD, screen.lines - FOOT)]


def cells(screen: Screen, which: int) -> list[list[str]]:
    """All that is seen of a pane."""
    first, end = widths(screen)[which]
    return [line[first:end] for rows in (screen.text, screen.looks) for line in rows[FIRST : screen.lines - FOOT]]


def content(screen: Screen) -> list[list[str]]:
    """All below the title, but for the scroll bar of the list: that moves while others look elsewhere."""
    bar = widths(screen)[0].end - 1
    cells = (*screen.text[HEAD:], *screen.looks[HEAD:])
    return [[*line[:bar], *line[bar + 1 :]] for line in cells]


def offset(screen: Screen) -> int | None:
    """The offset of the first line of bytes."""
    found = _OFFSET.match(pane(screen, 2)[1])
    return None if found is None else int(found[1], 16)
