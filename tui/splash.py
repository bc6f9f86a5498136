"""The first rows, before the user interface has been loaded.

Theory. Loading Textual takes longer than reading the first packets of a file. So the list's first lines are written to
the terminal straight away, at the place and by the functions by which they are painted afterwards, and stand there
until Textual paints over them. From then on the terminal gives keys as they come and does not echo them: what is typed
meanwhile waits for Textual. Its way back is taken at the end, for Textual puts back what it found, which is ours.

Where anything is not as usual (no file, a filter, no rows in a moment) there is no splash, and nothing is lost.
"""

from __future__ import annotations

import os
import shutil
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.color import ColorSystem
from rich.style import Style

from analyzer.config.time_formats import TimeFormat
from analyzer.session import Session
from tui.inputs import StartOptions
from tui.loader import Growth, Loader
from tui.model.arrangement import Arrangement
from tui.model.cells import Cells
from tui.model.timeline import FLAT, Place, Timeline
from tui.model.times import TIME_FORMAT, first_form
from tui.palettes import WORDS, Words, chosen, colour_system
from tui.remembered import Remembered
from tui.widgets.cutting import fitted
from tui.widgets.lines import COLUMNS, Lines
from tui.widgets.listing import Span, stream_spans

KEYBOARD, SCREEN = 0, 2
"""The descriptors that Textual reads and writes."""

HEAD, FOOT, BAR = 1, 2, 1
"""Lines above the panes and below them, and cells of a pane's scroll bar."""

MOMENT = 0.2
"""Seconds that rows are waited for."""

RAISED, LOWERED = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""To the other screen, without a cursor; and back."""

LINE_MODE = termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
OTHER_DRIVER = "TEXTUAL_DRIVER"


@contextmanager
def splash(session: Session, loader: Loader, opened: StartOptions, remembered: Remembered) -> Iterator[None]:
    """Shows the first rows until the body has done so itself; the body is to end what it began on the terminal."""
    if not _fits(session, remembered) or (growth := loader.begin(MOMENT)) is None or not growth.rows:
        yield
        return
    try:
        before = termios.tcgetattr(KEYBOARD)
    except termios.error:
        yield
        return
    try:
        keys = termios.tcgetattr(KEYBOARD)
        keys[3] &= ~LINE_MODE
        termios.tcsetattr(KEYBOARD, termios.TCSANOW, keys)
        _write(RAISED + painted(session, growth, opened, remembered))
        yield
    except BaseException:
        _write(LOWERED)
        raise
    finally:
        termios.tcsetattr(KEYBOARD, termios.TCSANOW, before)


def _fits(session: Session, remembered: Remembered) -> bool:
    """Whether the first rows are those that will be shown, on a terminal that can show them."""
    is_terminal = os.isatty(KEYBOARD) and os.isatty(SCREEN) and OTHER_DRIVER not in os.environ
    return is_terminal and session.packets.size is not None and not remembered.get(COLUMNS, [])


def _write(text: str) -> None:
    sys.stderr.flush()
    data = text.encode()
    while data:
        data = data[os.write(SCREEN, data) :]


def painted(session: Session, growth: Growth, opened: StartOptions, remembered: Remembered) -> str:
    """The splash, as a terminal is told it."""
    width, height = shutil.get_terminal_size()
    words = WORDS[chosen(opened.colours, os.environ)]
    brush = _Brush(words, os.environ)
    arrangement = Arrangement.recalled(remembered)
    box = arrangement.laid(width, max(height - HEAD - FOOT, 1), "list")
    screen: dict[int, tuple[Sequence[Span], str]] = dict.fromkeys(range(height), ((), ""))
    screen[0] = [("bar-title", f" {opened.title}")], "bar"
    if "list" in box.panes and height > HEAD + FOOT:
        pane = box.panes["list"]
        names, lines = _lines(session, growth, pane.width - BAR, pane.height, remembered, opened.config.time_format)
        screen[HEAD + pane.y - 1] = _at(pane.x, [("head-on", f"▌{names}")], pane.width), ""
        for y, spans in enumerate(lines, HEAD + pane.y):
            screen[y] = _at(pane.x, spans, pane.width - BAR), ""
    for y in range(max(height - FOOT, 0), height):
        screen[y] = (), "bar"
    return "".join(f"\x1b[{y + 1};1H{brush.line(spans, width, base)}" for y, (spans, base) in screen.items())


def _at(x: int, spans: Sequence[Span], width: int) -> list[Span]:
    """Spans behind x blanks, cut to a width."""
    return [("", " " * x), *fitted(spans, width)]


def _lines(
    session: Session, growth: Growth, width: int, height: int, remembered: Remembered, form: TimeFormat | None
) -> tuple[str, list[Sequence[Span]]]:
    """The head of the list and its first lines."""
    timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
    timeline.flat = remembered.get(FLAT, False)
    timeline.grow(growth.rows, growth.streams)
    if not timeline.flat:
        timeline.fold(timeline.window(0, 1)[0].stream, opened=True)
    cells = Cells(session)
    listed = Lines(session, cells, lambda _: False)
    listed.times.form = first_form(form, remembered.get(TIME_FORMAT, ""))
    columns = listed.columns(width, timeline.rows, timeline.streams if timeline.flat else 0)
    places = timeline.window(0, height)
    read = listed.read([Place(-1), *places], columns)
    digits = len(str(timeline.streams - 1))

    def line(place: Place) -> Sequence[Span]:
        if place.row is not None:
            return read[place.row].spans
        stream = place.stream
        return stream_spans(cells.stream(stream, timeline.messages(stream)), digits, opened=timeline.is_open(stream))

    return columns.head(), [line(place) for place in places]


class _Brush:
    """Writes spans in the colours of a palette."""

    def __init__(self, words: Words, environment: Mapping[str, str]) -> None:
        self._words = words
        self._styles: dict[str, Style] = {}
        self._system = None if environment.get("NO_COLOR") else ColorSystem[colour_system(environment)]

    def line(self, spans: Sequence[Span], width: int, base: str = "") -> str:
        """Exactly `width` cells."""
        fitting = fitted([*spans, (base, " " * width)], width)
        return "".join(self._style(name).render(text, color_system=self._system) for name, text in fitting)

    def _style(self, name: str) -> Style:
        if name not in self._styles:
            base = Style.parse(self._words[""] or "none")
            self._styles[name] = base + Style.parse(self._words[name] or "none")
        return self._styles[name]
