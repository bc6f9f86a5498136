"""The program on the terminal: one session, its screens, and how it ends.

Theory. Textual would print a defect with the variables around it, and these may hold what must not be shown; so a
defect ends the screen quietly and is raised by show(), for whoever started it to report.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual.app import App

from analyzer.render.jsonable import Limits
from analyzer.session import Session
from tui import theme
from tui.screens.main import MainScreen

if TYPE_CHECKING:
    from analyzer.filter import Filter

PATIENCE = 0.3
"""Seconds that the end waits for the reader."""

SWITCH = 0.001
"""Seconds that a thread may compute while another waits; Python's own five milliseconds can be felt in a key."""

RARELY = (100_000, 50, 50)
"""Objects more, and smaller searches, between two searches for cycles."""


class Window(App[Exception]):
    """Shows a session; its result is the error that kept it from being read, if one did."""

    ENABLE_COMMAND_PALETTE = False
    DEFAULT_CSS = """
    App { background: $background; }
    Screen { background: $background; color: $foreground; }
    """

    def __init__(
        self,
        session: Session,
        title: str,
        *,
        limits: Limits | None = None,
        colours: str = "auto",
        following: bool = False,
        wanted: Filter | None = None,
        named: Mapping[str, str] | None = None,
    ) -> None:
        palette = theme.palette(colours)
        super().__init__(ansi_color=palette.theme.ansi)
        self.register_theme(palette.theme)
        self.theme = palette.theme.name
        self.title = title
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide"), (180, "-vast")]
        self.defect: Exception | None = None
        self.main = MainScreen(
            session, title, palette, limits or Limits(), following=following, wanted=wanted, named=named
        )

    def get_default_screen(self) -> MainScreen:
        """See Textual."""
        return self.main

    def _handle_exception(self, error: Exception) -> None:
        self.defect = self.defect or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Threads give way sooner, and the search for cycles is rare and leaves alone what is there already: painting makes
    thousands of short-lived objects without cycles, and a full search among all others takes as long as five frames.
    """
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH)
    gc.freeze()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(interval)


def show(
    session: Session,
    title: str,
    *,
    limits: Limits | None,
    colours: str,
    following: bool,
    wanted: Filter | None,
    named: Mapping[str, str] | None,
) -> None:
    """See tui.run."""
    window = Window(session, title, limits=limits, colours=colours, following=following, wanted=wanted, named=named)
    with _undisturbed():
        try:
            error = window.run()
        finally:
            window.main.stop(PATIENCE)
    if window.defect is not None:
        raise window.defect
    if error is not None:
        raise error
