"""A screen of lines about the whole capture: conversations, statistics, findings, properties, packets, a dialogue.

Theory. What such a page says is computed by a thread of its own and shown when it is there; keys never wait for it, and
whoever leaves the page leaves the work. Enter on a line ends the page with what the line stands for, a row to go to or
a filter to apply, and the main screen does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from analyzer.errors import UserError
from analyzer.render.lines import Line
from tui.background import BackgroundWorker
from tui.crash_guard import CrashGuard
from tui.model.leads import Lead
from tui.theme import Palette
from tui.widgets.bar import BLANK, Bar, BarPart
from tui.widgets.cutting import Spans
from tui.widgets.pane import Pane


class PageLine(NamedTuple):
    """A line of a page, and where Enter on it leads."""

    line: Line
    lead: Lead | None = None


LineMaker = Callable[[int], Sequence[PageLine]]
"""Makes a page's lines for a width in cells; in a thread of its own. Raises UserError, which is shown."""


class PagePane(Pane):
    """The lines of a page."""

    DEFAULT_CSS = "PagePane { height: 1fr; }"

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.page_lines: Sequence[PageLine] = (PageLine((("dim", "working ..."),)),)

    @property
    def count(self) -> int:
        """See Pane."""
        return len(self.page_lines)

    def get_spans(self, line: int) -> Spans:
        """See Pane."""
        return self.page_lines[line].line

    def handle_click(self, line: int, column: int) -> None:
        """See Pane: a click on what leads somewhere goes there."""
        if self.page_lines[line].lead is not None and isinstance(self.screen, Page):
            self.screen.follow_line()


class Page(CrashGuard, Screen[Lead]):
    """Shows what `make` makes, anew whenever the width changes. Gives where a line leads, None when it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", show=False),
        Binding("enter", "enter", show=False),
        Binding("ctrl+c,ctrl+q", "app.quit", show=False, priority=True),
    ]
    AUTO_FOCUS = "#page"
    HINTS: ClassVar[Sequence[tuple[str, str]]] = (("Enter", "go there"), ("Esc", "back"))

    def __init__(self, palette: Palette, title: str, make: LineMaker) -> None:
        super().__init__()
        self.palette = palette
        self._make = make
        self.page = PagePane(palette, id="page")
        self._worker = BackgroundWorker(self.call_later)
        self._head = Bar(palette, "bar", id="page-title")
        self._foot = Bar(palette, "bar", id="page-keys")
        self.heading = title

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield self._head
        yield self.page
        yield self._foot

    def on_mount(self) -> None:
        """Begins to work."""
        self._head.show([BarPart("bar-title", f" {self.heading}")])
        hints = [(BarPart("bar-key", key), BarPart("bar-dim", f" {text}"), BLANK) for key, text in self.HINTS]
        self._foot.show([BarPart("bar", " "), *(part for parts in hints for part in parts)])
        self._worker.start()

    def on_unmount(self) -> None:
        """Nobody wants the work any more."""
        self._worker.stop()

    def on_resize(self) -> None:
        """Another width, other lines."""
        self.call_after_refresh(self.rebuild)

    def rebuild(self) -> None:
        """Has the lines made anew."""
        width, make = self.page.inner.width, self._make

        def work() -> Sequence[PageLine]:
            try:
                return make(width)
            except UserError as error:
                return [PageLine((("error", str(error)),))]

        self._worker.submit("page", work, self._show)

    def _show(self, entries: Sequence[PageLine]) -> None:
        self.page.page_lines = entries
        self.page.update_count()

    def _action_enter(self) -> None:
        self.follow_line()

    def follow_line(self) -> None:
        """Ends with what the selected line stands for, if it stands for something."""
        entry = self.page.page_lines[self.page.cursor] if self.page.count else None
        if entry is not None and entry.lead is not None:
            self.dismiss(entry.lead)

    def _action_leave(self) -> None:
        self.dismiss(None)
