"""Shows the first rows before Textual is loaded.

Theory. Loading Textual takes longer than reading the first packets of a file. So this module writes the first lines of
the list to the terminal at once, by the same functions and at the same position as the list pane, and they stand until
Textual paints over them. From then on the terminal hands out keys as they come and does not echo them: what you type in
between waits for Textual. At the end this module restores the terminal's mode, because Textual restores only the mode
that it found.

If anything is unusual (no file, a filter, no rows in a moment), there is no splash.
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

from analyzer.config.model import TimeFormat
from analyzer.session import Session
from tui.inputs import StartOptions
from tui.loader import Growth, Loader
from tui.model.activity_height import find_height
from tui.model.drawing import fit_spans
from tui.model.pane_layout import Arrangement
from tui.model.row_cells import CellReader
from tui.model.row_lines import COLUMNS_KEY, RowLines
from tui.model.row_spans import Span
from tui.model.stream_groups import FIRST_ROWS, make_stream_spans
from tui.model.timeline import FLAT_KEY, ListPlace, Timeline
from tui.model.times import TIME_FORMAT_KEY, choose_format
from tui.palettes import PALETTES, StyleWords, detect_colour_system, resolve_palette
from tui.saved_state import SavedState

KEYBOARD, SCREEN = 0, 2
"""The descriptors that Textual reads and writes."""

TITLE_LINES, FOOTER_LINES, SCROLL_BAR = 1, 2, 1
"""The lines above and below the panes, and the cells of a pane's scroll bar."""

ROWS_TIMEOUT = 0.2
"""Seconds that the splash waits for rows."""

ENTER_SCREEN, LEAVE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""The escape sequences for the alternate screen without a cursor, and back."""

LINE_MODE = termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
OTHER_DRIVER = "TEXTUAL_DRIVER"


@contextmanager
def show_splash(session: Session, loader: Loader, opened: StartOptions, saved_state: SavedState) -> Iterator[None]:
    """Shows the first rows until the body has painted; the body restores the screen that this function leaves."""
    if not _is_possible(session, saved_state) or (growth := loader.begin(ROWS_TIMEOUT)) is None or not growth.rows:
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
        _write(ENTER_SCREEN + paint_splash(session, growth, opened, saved_state))
        yield
    except BaseException:
        _write(LEAVE_SCREEN)
        raise
    finally:
        termios.tcsetattr(KEYBOARD, termios.TCSANOW, before)


def _is_possible(session: Session, saved_state: SavedState) -> bool:
    """Returns whether the first rows are known to be shown later, on a terminal that can show them."""
    is_terminal = os.isatty(KEYBOARD) and os.isatty(SCREEN) and OTHER_DRIVER not in os.environ
    return is_terminal and session.packets.size is not None and not saved_state.get(COLUMNS_KEY, [])


def _write(text: str) -> None:
    sys.stderr.flush()
    data = text.encode()
    while data:
        data = data[os.write(SCREEN, data) :]


def paint_splash(session: Session, growth: Growth, opened: StartOptions, saved_state: SavedState) -> str:
    """Returns the splash as escape sequences."""
    width, height = shutil.get_terminal_size()
    words = PALETTES[resolve_palette(opened.colours, os.environ)]
    brush = _Brush(words, os.environ)
    arrangement = Arrangement.load(saved_state)
    above = TITLE_LINES + find_height(saved_state, height)
    box = arrangement.lay_out(width, max(height - above - FOOTER_LINES, 1), "list")
    screen: dict[int, tuple[Sequence[Span], str]] = dict.fromkeys(range(height), ((), ""))
    screen[0] = [("bar-title", f" {opened.title}")], "bar"
    if "list" in box.panes and height > above + FOOTER_LINES:
        pane = box.panes["list"]
        names, lines = _make_lines(
            session, growth, pane.width - SCROLL_BAR, pane.height, saved_state, opened.config.time_format
        )
        screen[above + pane.y - 1] = _indent_spans(pane.x, [("head-on", f"▌{names}")], pane.width), ""
        for y, spans in enumerate(lines, above + pane.y):
            screen[y] = _indent_spans(pane.x, spans, pane.width - SCROLL_BAR), ""
    for y in range(max(height - FOOTER_LINES, 0), height):
        screen[y] = (), "bar"
    return "".join(f"\x1b[{y + 1};1H{brush.line(spans, width, base)}" for y, (spans, base) in screen.items())


def _indent_spans(x: int, spans: Sequence[Span], width: int) -> list[Span]:
    """Puts x blanks before spans, and cuts them to a width."""
    return [("", " " * x), *fit_spans(spans, width)]


def _make_lines(
    session: Session, growth: Growth, width: int, height: int, saved_state: SavedState, form: TimeFormat | None
) -> tuple[str, list[Sequence[Span]]]:
    """Returns the head of the list and its first lines."""
    timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
    timeline.flat = saved_state.get(FLAT_KEY, False)
    timeline.grow(growth.rows, growth.streams)
    if not timeline.flat:
        timeline.fold(timeline.list_places(0, 1)[0].stream, opened=True)
    cells = CellReader(session)
    listed = RowLines(session, cells, lambda _: False)
    listed.times.format = choose_format(form, saved_state.get(TIME_FORMAT_KEY, ""))
    columns = listed.fit_columns(width, timeline.rows, timeline.streams if timeline.flat else 0)
    places = timeline.list_places(0, height)
    read = listed.make_lines([ListPlace(-1), *places], columns)
    digits = len(str(timeline.streams - 1))

    def line(place: ListPlace) -> Sequence[Span]:
        if place.row is not None:
            return read[place.row].spans
        stream = place.stream
        first_rows = timeline.list_rows(stream)[:FIRST_ROWS].tolist()
        read_cells = cells.read_stream(stream, timeline.count_messages(stream), first_rows=first_rows)
        return make_stream_spans(read_cells, digits, opened=timeline.is_open(stream), width=width)

    return columns.make_head(), [line(place) for place in places]


class _Brush:
    """Writes spans in the colours of a palette."""

    def __init__(self, words: StyleWords, environment: Mapping[str, str]) -> None:
        self._words = words
        self._styles: dict[str, Style] = {}
        self._system = None if environment.get("NO_COLOR") else ColorSystem[detect_colour_system(environment)]

    def line(self, spans: Sequence[Span], width: int, base: str = "") -> str:
        """Returns a line of exactly `width` cells."""
        fitting = fit_spans([*spans, (base, " " * width)], width)
        return "".join(self._style(name).render(text, color_system=self._system) for name, text in fitting)

    def _style(self, name: str) -> Style:
        if name not in self._styles:
            base = Style.parse(self._words[""] or "none")
            self._styles[name] = base + Style.parse(self._words[name] or "none")
        return self._styles[name]
