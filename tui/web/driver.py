"""Textual's driver for a program whose screen is a web page; the program ends when the page is gone.

Theory. Only the server holds the other end of standard input. So the end of standard input is the one signal that
always comes when the page is gone: after the page was closed, after the server ended, and after it was killed.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial
from typing import Any

from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.events import AppFocus
from textual.messages import ExitApp


class PageDriver(WebDriver):
    """Reads keys as packets from standard input, and writes the screen as packets to standard output."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._write = partial(_write_if_read, self.fileno)

    def start_application_mode(self) -> None:
        """Starts as WebDriver does, and takes the page as focused: some pages never say so."""
        super().start_application_mode()
        self._app.call_later(self._app.post_message, AppFocus())

    def run_input_thread(self) -> None:
        """Reads input as WebDriver does, and ends the program when the input ends."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            with contextlib.suppress(RuntimeError):  # the program has ended since
                self.send_message(ExitApp())


def _write_if_read(descriptor: int, data: bytes) -> int:
    """Writes data; ignores that the page is gone."""
    with contextlib.suppress(BrokenPipeError):
        return os.write(descriptor, data)
    return len(data)
