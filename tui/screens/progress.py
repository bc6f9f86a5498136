"""A dialog for work that takes a while: it shows the progress, and Escape stops the work.

Theory. The work runs in a thread of its own and reports its progress. Its report raises Cancellation after the user
pressed Escape, so the work itself undoes what it has begun. The dialog waits for that, also when the program ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from analyzer.errors import UserError
from tui.background import BackgroundWorker
from tui.crash_guard import CrashGuard
from tui.model.views import Cancellation
from tui.theme import Palette
from tui.widgets.bars import Bar, BarPart

PATIENCE = 5.0
"""Seconds that the end of the program waits for work to be undone."""

WIDTH = 40
"""The cells of the progress bar."""


class ProgressWatch:
    """The connection between work and its dialog; used by the working thread, except cancel()."""

    def __init__(self, show: Callable[[int | None], object]) -> None:
        self._show = show
        self._cancelled = threading.Event()
        self.over = threading.Event()

    def report(self, done: int | None) -> None:
        """Reports the number of rows that are done, None if unknown. Raises Cancellation if the work was cancelled."""
        if self._cancelled.is_set():
            raise Cancellation
        self._show(done)

    def cancel(self) -> None:
        """Tells the work to stop; it notices when it next reports progress."""
        self._cancelled.set()


class ProgressDialog(CrashGuard, ModalScreen[tuple[str, bool]]):
    """Runs `work` with a ProgressWatch; its result is the work's message, and whether it is an error.

    rows: their total number.
    """

    HOLDS_ROWS = True
    """Rows are not evicted while this dialog is open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+c,ctrl+q", "stop", show=False, priority=True)]
    DEFAULT_CSS = """
    ProgressDialog { align: center middle; }
    ProgressDialog Vertical { width: 60; max-width: 100%; height: 5; padding: 0 1; border: round $accent; }
    ProgressDialog Vertical { background: $surface; }
    """

    def __init__(self, palette: Palette, title: str, rows: int, work: Callable[[ProgressWatch], str]) -> None:
        super().__init__()
        self._title, self._rows, self._work = title, rows, work
        self._bars = [Bar(palette, "bar", id=name) for name in ("what", "far", "hint")]
        self._worker = BackgroundWorker(self.call_later)
        self._watch = ProgressWatch(lambda done: self._worker.post(partial(self._show, done)))

    def compose(self) -> ComposeResult:
        """Yields title, progress and hint."""
        with Vertical():
            yield from self._bars

    def on_mount(self) -> None:
        """Shows the title, starts the work in its thread and shows its progress."""
        what, _, hint = self._bars
        what.show([BarPart("bar-title", f" {self._title}")])
        hint.show([BarPart("bar-key", " Esc"), BarPart("bar-dim", " cancels it: no partial file remains")])
        self._show(None)
        self._worker.start()
        self._worker.submit("work", self._run_work, self._finish)

    def _run_work(self) -> tuple[str, bool] | Exception:
        """Runs the work; returns its message and whether it is an error, or a defect."""
        try:
            return self._work(self._watch), False
        except Cancellation:
            return "cancelled: nothing was written", True
        except UserError as error:
            return str(error), True
        except OSError as error:
            return f"cannot be written: {error.strerror or error}", True
        except Exception as error:
            return error
        finally:
            self._watch.over.set()

    def on_unmount(self) -> None:
        """Cancels the work, and waits until it has been undone."""
        self._watch.cancel()
        self._worker.stop()
        if self._worker.ident is not None:
            self._watch.over.wait(PATIENCE)

    def _show(self, done: int | None) -> None:
        far = self._bars[1]
        if done is None:
            far.show([BarPart("bar-dim", " working ...")])
            return
        share = done / max(self._rows, 1)
        full = int(share * WIDTH)
        bar = "█" * full + "·" * (WIDTH - full)
        far.show([BarPart("bar", f" {bar} "), BarPart("bar-dim", f"{int(100 * share)} %")])

    def _finish(self, end: tuple[str, bool] | Exception) -> None:
        if isinstance(end, Exception):
            self.dismiss(("it failed because of a defect in the program", True))
            raise end
        self.dismiss(end)

    def _action_stop(self) -> None:
        self._watch.cancel()
        self._bars[2].show([BarPart("bar-warning", " stopping ...")])
