"""The screen of a defect of the program: a report for its developers, and the question whether to go on.

It covers the whole terminal, because the screen beneath it may be the one that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from analyzer.render.lines import Line
from tui.crash_guard import CrashGuard
from tui.model.drawing import Spans
from tui.theme import Palette
from tui.widgets.bars import BLANK, Bar, BarPart
from tui.widgets.pane import Pane

BugAnswer = Literal["on", "end"]

KEYS = (("y", "copy the report"), ("s", "save it"), ("c", "go on"), ("q", "quit"))


class BugPane(Pane):
    """The lines of the report."""

    DEFAULT_CSS = "BugPane { height: 1fr; }"

    def __init__(self, palette: Palette, lines: Sequence[Line], *, id: str) -> None:
        super().__init__(palette, id=id)
        self.lines = list(lines)

    @property
    def count(self) -> int:
        """The number of lines of the report about a defect."""
        return len(self.lines)

    def get_spans(self, line: int) -> Spans:
        """Returns a line of the report."""
        return self.lines[line]


class BugScreen(CrashGuard, Screen[BugAnswer]):
    """Shows a report; its result is whether to go on.

    happened: the effect of the defect.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", show=False),
        Binding("s", "save", show=False),
        Binding("c,escape,enter", "go('on')", show=False),
        Binding("q,ctrl+q,ctrl+c", "go('end')", show=False, priority=True),
    ]
    AUTO_FOCUS = "#bug"

    def __init__(self, palette: Palette, report: Sequence[str], happened: str) -> None:
        super().__init__()
        self._report = "\n".join(report)
        self._head, self._status, self._foot = (Bar(palette, "bar", id=name) for name in ("title", "status", "keys"))
        title: Line = (("error", "This is a defect of the program, not of your capture."),)
        report_lines: list[Line] = [title, (("", happened),), (), *((("", line),) for line in report), ()]
        report_lines.append((("dim", "The report contains nothing from the capture: no values and no names."),))
        self._pane = BugPane(palette, report_lines, id="bug")

    def compose(self) -> ComposeResult:
        """Yields the bars and the report."""
        yield self._head
        yield self._pane
        yield self._status
        yield self._foot

    def on_mount(self) -> None:
        """Shows the title and the keys."""
        self._head.show([BarPart("bar-title", " bug")])
        hints = [(BarPart("bar-key", key, key), BarPart("bar-dim", f" {text}", key), BLANK) for key, text in KEYS]
        self._foot.show([BarPart("bar", " "), *(part for parts in hints for part in parts)])

    def on_bar_part_click(self, message: Bar.PartClick) -> None:
        """A key that is clicked is pressed."""
        self.app.simulate_key(message.name)

    def _action_copy(self) -> None:
        self.app.copy_to_clipboard(self._report)
        self._status.show([BarPart("bar", " the report was copied if the terminal allows it: s saves it")])

    def _action_save(self) -> None:
        from tui.saved_state import write_file

        path = write_file("bug-report.txt", f"{self._report}\n".encode())
        if path is None:
            self._status.show([BarPart("bar-error", " the report cannot be written: y copies it")])
        else:
            self._status.show([BarPart("bar", f" the report is in {path}")])

    def _action_go(self, going: BugAnswer) -> None:
        self.dismiss(going)
