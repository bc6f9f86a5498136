"""The terminal user interface: it shows an analyzer.session.Session with Textual.

`run(session, options)` shows a session; a third argument is the live capture that the session reads. The packages:
`model` computes the content of lines and needs no terminal, `widgets` paint it, `screens` compose widgets, `commands`
are the functions behind the keys. `loader` reads the capture in a thread of its own, `splash` shows the first rows
before Textual is loaded, and `web` serves the interface to a browser.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tui.inputs import restore_options
from tui.loader import Loader
from tui.saved_state import SavedState, find_state_file
from tui.splash import show_splash

if TYPE_CHECKING:
    from analyzer.session import Session
    from tui.inputs import LiveCapture, StartOptions

FRAMES = "250"
"""Textual's limit of frames in a second. With its default of 60, the effect of a key would wait for up to 17 ms."""


def run(session: Session, opened: StartOptions, live: LiveCapture | None = None) -> None:
    """Reads a session to its end and shows it until the user quits.

    live: the capture whose packets the session reads. The caller closes the session, and those of later runs.

    Raises the error that kept the session from being read at all, and defects of this program.
    """
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)  # before Textual is loaded
    memory = opened.memory if live is None else live.memory or None
    saved_state, loader = SavedState(find_state_file(os.environ)), Loader(session, memory)
    opened = restore_options(opened, session, saved_state)
    is_usual = opened.wanted is None and not opened.following and not (opened.entry and opened.entry.columns)
    with show_splash(session, loader, opened, saved_state) if is_usual else nullcontext():
        from tui.app import run_app  # Textual is half of the start

        run_app(session, opened, saved_state, loader, live)
