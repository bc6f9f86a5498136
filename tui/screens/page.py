"""The base of pages about the whole capture, and the page of the capture's properties.

Theory. A thread computes the content of a page, which is shown when it is there; keys never wait for it, and leaving
the page drops the work. Enter on a line closes the page with the line's lead, a row to go to or a filter to apply, and
the main screen follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from analyzer.insight.properties import properties
from analyzer.render.lines import Line
from analyzer.render.properties_text import WIDTH, PropertyLine, format_properties
from analyzer.session import Session
from tui.background import BackgroundWorker
from tui.crash_guard import CrashGuard
from tui.model.drawing import Spans
from tui.model.leads import FilterLead, Lead, MessageLead
from tui.model.row_sets import PageScope
from tui.screens.status_bars import measure_memory
from tui.theme import Palette
from tui.widgets.bars import BLANK, Bar, BarPart
from tui.widgets.pane import Pane


class PageLine(NamedTuple):
    """A line of a page, and its lead."""

    line: Line
    lead: Lead | None = None


_Result = TypeVar("_Result")

LineMaker = Callable[[int], Sequence[PageLine]]
"""Makes the lines of a page for a width in cells, in a worker thread. Raises UserError, which is shown."""


class PagePane(Pane):
    """The lines of a page."""

    DEFAULT_CSS = "PagePane { height: 1fr; }"

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.page_lines: Sequence[PageLine] = (PageLine((("dim", "working ..."),)),)

    @property
    def count(self) -> int:
        """The number of lines on the page, for the scroll bar."""
        return len(self.page_lines)

    def get_spans(self, line: int) -> Spans:
        """Returns a line of the page."""
        return self.page_lines[line].line

    def handle_click(self, line: int, column: int) -> None:
        """Follows the lead of the clicked line."""
        if self.page_lines[line].lead is not None and isinstance(self.screen, Page):
            self.screen.follow_line()


class Page(CrashGuard, Screen[Lead]):
    """Shows the lines that `make` makes, again whenever the width changes; its result is a lead, or None."""

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
        self._foot = Bar(palette, "bar", id="page-keys", whole=True)
        self.heading = title

    def compose(self) -> ComposeResult:
        """Yields title, lines and keys."""
        yield self._head
        yield self.page
        yield self._foot

    def on_mount(self) -> None:
        """Shows title and keys, and starts the worker thread."""
        self._head.show([BarPart("bar-title", f" {self.heading}")])
        hints = [(BarPart("bar-key", key), BarPart("bar-dim", f" {text}"), BLANK) for key, text in self.HINTS]
        self._foot.show([BarPart("bar", " "), *(part for parts in hints for part in parts)])
        self._worker.start()

    def on_unmount(self) -> None:
        """Stops the worker thread of the page when Textual removes it."""
        self._worker.stop()

    def on_resize(self) -> None:
        """Makes the lines again for the new width."""
        self.call_after_refresh(self.rebuild)

    def rebuild(self) -> None:
        """Makes the lines again, in the worker thread."""
        width, make = self.page.inner.width, self._make

        def work() -> Sequence[PageLine]:
            try:
                return make(width)
            except UserError as error:
                return [PageLine((("error", str(error)),))]

        self._worker.submit("page", work, self._show)

    def run_in_background(self, kind: str, work: Callable[[], _Result], then: Callable[[_Result], object]) -> None:
        """Runs work in the worker thread of the page; `then` gets its result."""
        self._worker.submit(kind, work, then)

    def show_note(self, text: str) -> None:
        """Shows a text beside the title."""
        self._head.show([BarPart("bar-title", f" {self.heading}"), BarPart("bar-warning", f" {safe_text(text)}")])

    def _show(self, entries: Sequence[PageLine]) -> None:
        self.page.page_lines = entries
        self.page.update_count()

    def _action_enter(self) -> None:
        self.follow_line()

    def follow_line(self) -> None:
        """Closes the page with the lead of the selected line, if it has one."""
        entry = self.page.page_lines[self.page.cursor] if self.page.count else None
        if entry is not None and entry.lead is not None:
            self.dismiss(entry.lead)

    def _action_leave(self) -> None:
        self.dismiss(None)


_MIB = 1 << 20


def make_property_lines(session: Session, scope: PageScope) -> list[PageLine]:
    """Makes the lines of properties. Only reads the session, so any thread may call it."""
    found = properties(session, scope.rows, scope.streams)
    lines = [PageLine(_make_line(each), _find_lead(each, session, scope)) for each in format_properties(found)]
    return [*lines, PageLine(()), *map(PageLine, _make_own_lines(scope))]


def _make_own_lines(scope: PageScope) -> Iterator[Line]:
    state = "has been read completely" if scope.ended else "is being read: this page shows what was read so far"
    yield _make_line(PropertyLine("the input", state))
    memory = measure_memory()
    if memory is not None:
        yield _make_line(PropertyLine("memory", f"{memory / _MIB:,.0f} MiB used by this program"))


def _make_line(each: PropertyLine) -> Line:
    return (("name", f"{each.name + ':':<{WIDTH}} "), ("value", each.text))


def _find_lead(each: PropertyLine, session: Session, scope: PageScope) -> Lead | None:
    """Returns the lead to a protocol's messages, or to the message of a commented packet."""
    match each.about:
        case ("protocol", name):
            return FilterLead(f'protocol == "{name}"')
        case ("packet", number):
            row = _find_row(session, scope, int(number))
            return None if row is None else MessageLead(row)
    return None


def _find_row(session: Session, scope: PageScope, packet: int) -> int | None:
    """Returns the first row that has bytes of a packet, or None."""
    begins, counts = (session.rows.column(name)[scope.first : scope.rows] for name in ("pieces", "count"))
    for piece in np.flatnonzero(session.engine.pieces.column("packet") == packet)[:1].tolist():
        for row in np.flatnonzero((begins <= piece) & (piece < begins + counts)).tolist():
            return scope.first + int(row)
    return None


class PropertiesPage(Page):
    """The page of properties.

    scope: returns the present rows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "anew", show=False)]
    HINTS = (("Enter", "filter by the protocol; go to the packet's message"), ("r", "anew"), ("Esc", "back"))

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], PageScope]) -> None:
        super().__init__(palette, "Properties of the capture", lambda width: make_property_lines(session, self._known))
        self._scope = scope
        self._known = scope()

    def rebuild(self) -> None:
        """Makes the lines again, for the present rows."""
        self._known = self._scope()
        super().rebuild()

    def _action_anew(self) -> None:
        self.rebuild()
