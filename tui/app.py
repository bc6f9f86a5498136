"""The Textual application: one session, its screens, and how the program ends.

Theory. Textual would print a defect with the values of the variables around it, and these may be secret. A defect that
leaves the screen intact is shown on a screen of its own, and the user decides whether to go on (tui.crash_guard). Any
other defect ends the application quietly, and run_app() raises it for its caller to report.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import constants
from textual.app import App
from textual.driver import Driver

from analyzer.processes import libc
from analyzer.session import Session
from tui import theme
from tui.crash_guard import CrashGuard, DefectCounter, is_survivable
from tui.inputs import LiveCapture, OpenedCapture, StartOptions, restore_options
from tui.loader import Loader
from tui.saved_state import SavedState
from tui.screens.main import MainScreen
from tui.terminal import TerminalDriver

if TYPE_CHECKING:
    pass

STOP_TIMEOUT = 0.3
"""Seconds that the end of the program waits for the loader."""

SWITCH_INTERVAL = 0.001
"""Seconds that a thread may compute while another waits; Python's default of five milliseconds is noticeable."""

GC_THRESHOLDS = (100_000, 50, 50)
"""Thresholds of Python's cycle collector; the first one is in objects."""


class TuiApp(CrashGuard, App[Exception]):
    """Shows a session; its result is the error that kept the session from being read, or None."""

    ENABLE_COMMAND_PALETTE = False
    DEFAULT_CSS = """
    App { background: $background; }
    Screen { background: $background; color: $foreground; }
    ModalScreen { background: transparent; }
    """

    def __init__(
        self,
        session: Session,
        opened: StartOptions,
        *,
        saved_state: SavedState | None = None,
        loader: Loader | None = None,
        live: LiveCapture | None = None,
    ) -> None:
        palette = theme.make_palette(opened.colours)
        super().__init__(ansi_color=palette.theme.ansi)
        self.register_theme(palette.theme)
        self.theme = palette.theme.name
        self.title = opened.title
        self.defect: Exception | None = None
        self.shown_defects: list[Exception] = []
        """Defects that were shown."""
        self._defect_counter = DefectCounter()
        self._later: list[Session | OpenedCapture] = []
        """What was opened since the start, and is closed at the end."""
        self._has_switched = False
        self._opened, self._palette, self._saved_state = opened, palette, saved_state or SavedState()
        self.main = MainScreen(session, opened, palette, self._saved_state, loader or Loader(session), live)
        self.captures = [self.main]
        """The screens of the open captures, in the order of their tabs."""

    def get_driver_class(self) -> type[Driver]:
        """Returns the guarded driver of a terminal, or the driver that the environment names for a browser page."""
        return TerminalDriver if constants.DRIVER is None else super().get_driver_class()

    def get_default_screen(self) -> MainScreen:
        """Returns the screen that Textual shows first: the main screen with the packet list."""
        return self.main

    def replace_main_screen(self, session: Session, *, is_live: bool = False, title: str | None = None) -> MainScreen:
        """Replaces the main screen by one for another session: the same capture read again, or another run.

        Stops the work of the screen before, and closes the session when the application ends. The filter stays in
        force. title: None: as before.
        """
        from analyzer.query.filter import compile_filter  # not needed without a filter

        before, in_force = self.main, self.main.filter.in_force
        wanted = None if in_force is None else compile_filter(in_force.text, before.named)
        before.stop(STOP_TIMEOUT)
        self._later.append(session)
        origin = replace(before.origin, title=title or before.origin.title)
        opened = replace(origin, following=is_live and origin.following, wanted=wanted, entry=None)
        loader = Loader(session, before.ingest.memory)
        fresh = MainScreen(session, opened, self._palette, self._saved_state, loader, before.ingest.live)
        fresh.origin = origin
        fresh.ingest.saved = 0 if is_live else before.ingest.saved
        if is_live:
            before.on_removed = partial(_release_run, before)
        self.captures[self.captures.index(before)] = fresh
        self.show_capture(fresh)
        self.uninstall_screen(before)
        return fresh

    def open_capture(self, session: Session, title: str, live: OpenedCapture | None = None) -> MainScreen:
        """Opens another capture beside the others and shows it; the application closes it.

        live: the live capture whose packets the session reads.
        """
        self._later.append(live or session)
        opened = replace(self._opened, title=title, following=live is not None, wanted=None, entry=None)
        loader = Loader(session, self._opened.memory if live is None else live.memory)
        if live is None:
            opened = restore_options(opened, session, self._saved_state)
        fresh = MainScreen(session, opened, self._palette, self._saved_state, loader, live)
        self.captures.insert(self.captures.index(self.main) + 1, fresh)
        self.show_capture(fresh)
        return fresh

    def show_capture(self, main: MainScreen) -> None:
        """Shows one of the open captures; the others go on reading."""
        for number, each in enumerate(self.captures if len(self.captures) > 1 else ()):
            if not self.is_screen_installed(each):  # so that it stays when another one is shown
                self.install_screen(each, f"capture-{id(each)}")
            each.show_captures([one.opened.title for one in self.captures], number)
        if not self._has_switched:
            self.main._push_result_callback(self.main, None)  # as of all screens but the first, which nobody pushed
            self._has_switched = True
        self.main = main
        self.switch_screen(main)

    def close_capture(self, main: MainScreen) -> None:
        """Closes one of several open captures, frees its memory, and shows the next one."""
        main.remember()
        place = self.captures.index(main)
        self.captures.remove(main)
        main.stop(STOP_TIMEOUT)
        closed = [each for each in self._later if each in (main.session, main.ingest.live)]
        main.on_removed = partial(_release_run, main, closed)
        self.show_capture(self.captures[min(place, len(self.captures) - 1)])
        if len(self.captures) == 1:
            self.main.show_captures([], 0)
        self.uninstall_screen(main)

    async def action_quit(self) -> None:
        """Quits through a main screen, which may ask before packets are lost."""
        self.main.quit()

    def list_unsaved(self) -> list[MainScreen]:
        """Returns the captures that would lose packets or comments, this one first."""
        others = [each for each in self.captures if each is not self.main]
        return [each for each in (self.main, *others) if each.ingest.unsaved or each.session.comments.unsaved]

    def stop(self, patience: float) -> None:
        """Ends all work; waits at most `patience` seconds for the loader."""
        for main in self.captures:
            main.remember()
            main.stop(patience)
        for each in self._later:
            each.close()

    def handle_defect(self, error: Exception) -> bool:
        """Shows a defect on a screen of its own; returns False if the program must end with it."""
        if not self.is_running or self._exit or self._defect_counter.count_defect(time.monotonic()):
            return False
        self.shown_defects.append(error)
        self.call_later(self._show_defect, error)
        return True

    def _show_defect(self, error: Exception) -> None:
        from analyzer.render.bug_report import format_report
        from tui.screens.bug import BugScreen

        def handle_answer(going: str | None) -> None:
            if going == "end":
                self._end_with_error(error)

        if not isinstance(self.screen, BugScreen):
            happened = "Your last action may not have been completed. The program continues."
            self.push_screen(BugScreen(self.main.palette, format_report(error), happened), handle_answer)

    def _handle_exception(self, error: Exception) -> None:
        if not (is_survivable(error) and self.handle_defect(error)):
            self._end_with_error(error)

    def _end_with_error(self, error: Exception) -> None:
        self.defect = self.defect or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()


def _release_run(main: MainScreen, others: Sequence[Session | OpenedCapture] = ()) -> None:
    """Closes the session of a screen that is gone and others, and frees its tables."""
    if main.ingest.is_over:
        main.session.eviction.evict(len(main.session.rows))
        main.session.close()
        for each in others:
            each.close()
        libc.give_back()


@contextmanager
def _tune_runtime() -> Iterator[None]:
    """Switches threads more often, and collects cycles rarely and without the objects that exist already.

    Painting makes thousands of short-lived objects without cycles; a full collection takes as long as five frames.
    """
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(interval)


def run_app(
    session: Session, opened: StartOptions, saved_state: SavedState, loader: Loader, live: LiveCapture | None = None
) -> None:
    """Runs the application on a session until the user quits; see tui.run for the errors.

    loader: reads the session, and may have begun.
    """
    window = TuiApp(session, opened, saved_state=saved_state, loader=loader, live=live)
    with _tune_runtime():
        try:
            error = window.run()
        finally:
            window.stop(STOP_TIMEOUT)
            saved_state.save()
    if window.defect is not None:
        raise window.defect
    if error is not None:
        raise error
