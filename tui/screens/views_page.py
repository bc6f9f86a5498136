"""A page of several views, one of them visible: statistics, conversations, reports.

Theory. A thread makes the views, more of them each time (ViewMaker). The visible view is painted for the present width,
which is fast. The user's state of a view and its selected line are kept by the view's name, so newer metrics come in
beneath the cursor without moving it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from tui import keys
from tui.background import BackgroundWorker
from tui.model.drawing import Spans
from tui.model.leads import FilterLead, ViewLead, combine_filters
from tui.model.row_sets import PageScope
from tui.model.views import Cancellation, TextView, View, ViewLine, ViewState, ViewWork
from tui.screens.page import Page, PagePane
from tui.theme import Palette
from tui.widgets.bars import BLANK, Bar, BarPart, ChartArea

FIXED = 3
"""The lines of the page besides the view: title, tabs, keys."""

DIGITS = 9


class ViewPane(PagePane):
    """The lines of the visible view."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("views")

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.view_lines: Sequence[ViewLine] = ()

    @property
    def count(self) -> int:
        """The number of lines of the visible view, for the scroll bar."""
        return len(self.view_lines)

    @property
    def current_line(self) -> ViewLine | None:
        """The line of the cursor, or None."""
        return self.view_lines[self.cursor] if self.cursor < self.count else None

    @property
    def fold_line(self) -> int | None:
        """The foldable line at or above the cursor, or None."""
        return next((line for line in range(self.cursor, -1, -1) if self.view_lines[line].folds), None)

    def get_spans(self, line: int) -> Spans:
        """Returns a line of the view."""
        return self.view_lines[line].line

    def handle_move(self) -> None:
        """Updates the chart for the selected line."""
        assert isinstance(self.screen, ViewsPage)
        self.screen.show_chart()

    def handle_click(self, line: int, column: int) -> None:
        """Folds or unfolds a line if its mark was clicked, else follows its lead."""
        assert isinstance(self.screen, ViewsPage)
        item = self.view_lines[line]
        if item.folds and column < 2:
            self.screen.toggle_line(item.key)
        elif item.lead is not None:
            self.screen.follow_line()


class ViewsPage(Page):
    """Shows the views that `make` makes of the rows in a scope."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "turn(1)", show=False),
        Binding("shift+tab", "turn(-1)", show=False),
        Binding("slash", "narrow", show=False, priority=True),
        *(Binding(str(digit), f"open({digit - 1})", show=False) for digit in range(1, DIGITS + 1)),
    ]

    MORE_HINTS: ClassVar[Sequence[tuple[str, str, str]]] = ()
    """Further keys, what they do, and their actions."""

    def __init__(
        self, palette: Palette, title: str, names: Sequence[str], scope: Callable[[], PageScope], make: MakeViews
    ) -> None:
        super().__init__(palette, title, lambda width: ())
        self.page = self.pane = ViewPane(palette, id="page")
        self.maker = ViewMaker(self._worker, names, scope, make)
        self.maker.on_change = self._show_change
        self._tabs = Bar(palette, "bar", id="page-tabs")
        self._above = ChartArea(palette, id="page-above")
        self._heads = Bar(palette, "head", id="page-heads")
        self._states = {name: ViewState() for name in names}
        self._selected: dict[str, Hashable] = {}
        self._at = names[0]
        self._seen: View | None = None

    def compose(self) -> ComposeResult:
        """Yields title, tabs, chart, titles of columns, lines and keys."""
        yield from (self._head, self._tabs, self._above, self._heads, self.pane, self._foot)

    def on_unmount(self) -> None:
        """Stops the threads that compute views when Textual removes the page."""
        self.maker.stop()

    @property
    def view(self) -> View:
        """The view that the page shows at the moment."""
        views = self.maker.views
        return next((view for view in views if view.name == self._at), views[0])

    @property
    def state(self) -> ViewState:
        """The user's state of the visible view."""
        return self._states[self.view.name]

    # What is seen.

    def _show_change(self) -> None:
        self._show_title()
        if self._seen is not None and self.view is not self._seen:
            self.rebuild()
        elif self._seen is not None:
            self._show_tabs()

    def rebuild(self) -> None:
        """Shows the view for the present width and state; the selected line stays selected."""
        pane, view, width = self.pane, self.view, self.pane.inner.width
        if not width:
            return
        if not self.maker.has_begun:
            self.maker.begin()
        self._seen = view
        key = self._selected.get(view.name)
        pane.view_lines = view.make_lines(width, self.state)
        place = view.find_line(key, pane.view_lines) if key is not None else 0
        pane.cursor = min(pane.cursor, max(pane.count - 1, 0)) if place is None else place
        self._show_tabs()
        self._show_page_keys()
        self._show_heads(width)
        self.show_chart()
        pane.update_count()
        pane.place_cursor(pane.cursor)

    def show_chart(self) -> None:
        """Updates the chart above the lines for the selected line."""
        item, view, pane = self.pane.current_line, self.view, self.pane
        key = None if item is None else item.key
        self._selected[view.name] = key
        height = self.size.height - FIXED - (1 if self._heads.display else 0)
        self._above.show(view.make_chart(pane.inner.width, height, self.state, key))

    def _show_title(self) -> None:
        maker = self.maker
        suffix = f", {maker.scope.description}" if maker.scope.description else ""
        title = BarPart("bar-title", f" {self.heading}")
        right = [BarPart("bar-warning", f" {maker.progress} ")] if maker.progress else []
        self._head.show([title, BarPart("bar", f" of {format_counted(maker.message_count, 'message')}{suffix}")], right)

    def _show_tabs(self) -> None:
        parts = []
        for place, view in enumerate(self.maker.views):
            is_on = view is self.view
            name = f"[{view.name}]" if is_on else f" {view.name} "
            parts.append(BarPart("tab-on" if is_on else "tab", name, str(place)))
        here = next(place for place, part in enumerate(parts) if part.style == "tab-on")
        first = 0  # so many tabs are left out that the visible one fits
        while first < here and sum(cell_len(part.text) for part in parts[first : here + 1]) + 2 > self.size.width:
            first += 1
        before = [BarPart("bar-dim", "<", str(first - 1))] if first else []
        self._tabs.show([*before, *parts[first:]])

    def _show_heads(self, width: int) -> None:
        heads = self.view.make_head(width, self.state)
        self._heads.display = bool(heads)
        self._heads.show([BarPart("head", text, title) for text, title in heads])

    def _show_page_keys(self) -> None:
        view = self.view
        hints = [("Enter", view.enter, "enter"), ("Tab", "view", "turn(1)")]
        if view.foldable:
            hints += [("Space", "fold", "fold"), ("= -", "all", "more")]
        if view.sorts:
            hints += [("o O", "sort", "sort"), ("/", "find", "narrow")]
        if view.zooms:
            hints += [("+ -", "intervals", "more")]
        hints += [*self.MORE_HINTS, ("r", "anew", "anew"), ("Esc", "back", "leave")]
        parts = [
            (BarPart("bar-key", key, name), BarPart("bar-dim", f" {text}", name), BLANK) for key, text, name in hints
        ]
        self._foot.show([BarPart("bar", " "), *(part for each in parts for part in each)])

    # What is done to it.

    def follow_line(self) -> None:
        """Follows the lead of the selected line, or unfolds it."""
        item = self.pane.current_line
        if item is None:
            return
        if isinstance(item.lead, ViewLead):
            self.open_view([view.name for view in self.maker.views].index(item.lead.view))
        elif isinstance(item.lead, FilterLead):  # a figure counts what the filter in force keeps
            condition = combine_filters(self.maker.scope.filter or "", item.lead.condition)
            self.dismiss(item.lead._replace(condition=condition))
        elif item.lead is not None:
            self.dismiss(item.lead)
        elif item.folds:
            self.toggle_line(item.key)

    def open_view(self, place: int) -> None:
        """Shows the view with index `place`, from its first line; ignores an index that does not exist."""
        if place < len(self.maker.views):
            self._at = self.maker.views[place].name
            self.pane.cursor = self.pane.top = 0
            self.rebuild()

    def toggle_line(self, key: Hashable) -> None:
        """Unfolds or folds the line of a key."""
        self.state.opened = self.state.get_opened(self.view) ^ {key}
        self.rebuild()

    def narrow(self, text: str) -> None:
        """Shows only rows that contain all of these words."""
        self.state.order.words = tuple(safe_text(text).lower().split())
        self.rebuild()

    def _action_open(self, place: int) -> None:
        self.open_view(place)

    def _action_turn(self, by: int) -> None:
        views = self.maker.views
        self.open_view((views.index(self.view) + by) % len(views))

    def _action_fold(self) -> None:
        head = self.pane.fold_line if self.view.foldable else None
        if head is not None:
            self.pane.move_cursor(head)
            self.toggle_line(self.pane.view_lines[head].key)

    def _action_inward(self) -> None:
        item = self.pane.current_line
        if item is not None and item.folds:
            if item.key not in self.state.get_opened(self.view):
                self.toggle_line(item.key)
            else:
                self.pane.move_cursor(self.pane.cursor + 1)

    def _action_outward(self) -> None:
        head = self.pane.fold_line if self.view.foldable else None
        if head is None:
            return
        if head != self.pane.cursor:
            self.pane.move_cursor(head)
        elif self.pane.view_lines[head].key in self.state.get_opened(self.view):
            self.toggle_line(self.pane.view_lines[head].key)

    def _action_more(self) -> None:
        self._zoom(1, frozenset(self.view.foldable))

    def _action_less(self) -> None:
        self._zoom(-1, frozenset())

    def _zoom(self, by: int, opened: frozenset[Hashable]) -> None:
        """Zooms in or out, or unfolds or folds all lines."""
        state, view = self.state, self.view
        zoom = max(0, min(state.zoom + by, view.zooms))
        if view.foldable or zoom != state.zoom:
            state.zoom, state.opened = zoom, opened if view.foldable else state.opened
            self.rebuild()

    def _action_sort(self) -> None:
        shown = [title for _, title in self.view.make_head(self.pane.inner.width, self.state) if title]
        if self.view.sorts and shown:
            by = self.state.order.by
            place = shown.index(by) + 1 if by in shown else 0
            self._sort(shown[place] if place < len(shown) else None)

    def _sort(self, by: str | None) -> None:
        order = self.state.order
        order.by, order.is_reversed = by, by == order.by and by is not None and not order.is_reversed
        self.rebuild()

    def _action_reverse(self) -> None:
        if self.view.sorts:
            self.state.order.is_reversed = not self.state.order.is_reversed
            self.rebuild()

    def _action_narrow(self) -> None:
        from tui.screens.input_line import NarrowDialog  # a stock widget: only who narrows pays for it

        if self.view.sorts:
            self.app.push_screen(NarrowDialog(self.palette, " ".join(self.state.order.words), self.narrow))

    def _action_anew(self) -> None:
        self.maker.begin()

    def _action_leave(self) -> None:
        if self.state.order.words:
            self.narrow("")
        else:
            super()._action_leave()

    @on(Bar.PartClick, "#page-tabs")
    def _click_tab(self, message: Bar.PartClick) -> None:
        self.open_view(int(message.name))

    @on(Bar.PartClick, "#page-heads")
    def _click_head(self, message: Bar.PartClick) -> None:
        if self.view.sorts:
            self._sort(message.name)

    @on(Bar.PartClick, "#page-keys")
    async def _click_key(self, message: Bar.PartClick) -> None:
        await self.run_action(message.name)

    @on(ChartArea.CellClick)
    def _pick(self, message: ChartArea.CellClick) -> None:
        key = self.view.find_key(message.cell, self.pane.inner.width, self.state)
        place = None if key is None else self.view.find_line(key, self.pane.view_lines)
        if place is not None:
            self.pane.move_cursor(place)
            self.pane.focus()


MakeViews = Callable[[PageScope, ViewWork], Iterator[Sequence[View]]]
"""Makes the views of a scope, more of them each time. Raises Cancellation."""


class ViewMaker:
    """Makes views in a worker thread.

    on_change: called when there are others, or more progress. scope: their rows; message_count: the number of messages.
    progress: empty when all views are there.
    """

    def __init__(
        self, worker: BackgroundWorker, names: Sequence[str], ask_scope: Callable[[], PageScope], make: MakeViews
    ) -> None:
        self.views: Sequence[View] = [TextView(name, "working ...") for name in names]
        self.on_change: Callable[[], object] = lambda: None
        self.scope, self.message_count, self.progress, self.is_whole = ask_scope(), 0, "", False
        self._worker, self._ask_scope, self._make_views = worker, ask_scope, make
        self._work: ViewWork | None = None

    @property
    def has_begun(self) -> bool:
        """Whether views have been requested."""
        return self._work is not None

    def begin(self) -> None:
        """Makes the views of the present rows."""
        self.stop()
        self.scope, self.progress, self.is_whole = self._ask_scope(), "working ...", False
        mask = self.scope.make_mask()
        self.message_count = self.scope.row_count if mask is None else int(mask.sum())
        self._work = work = ViewWork(lambda text: self._worker.post(partial(self._show_progress, work, text)))
        self._worker.submit("views", partial(self._make, self.scope, work), partial(self._take_views, work, whole=True))
        self.on_change()

    def stop(self) -> None:
        """Cancels the computation of views that is running, if there is one."""
        if self._work is not None:
            self._work.cancel()

    def _make(self, scope: PageScope, work: ViewWork) -> Sequence[View] | None:
        """Makes all views, in the worker thread; None if they are not wanted any more."""
        views: Sequence[View] = ()
        try:
            for views in self._make_views(scope, work):
                work.raise_if_cancelled()
                self._worker.post(partial(self._take_views, work, views))
        except Cancellation:
            return None
        return views

    def _show_progress(self, work: ViewWork, text: str) -> None:
        if work is self._work and not self.is_whole:
            self.progress = text
            self.on_change()

    def _take_views(self, work: ViewWork, views: Sequence[View] | None, *, whole: bool = False) -> None:
        if work is self._work and views is not None:
            self.views = views
            if whole:
                self.is_whole, self.progress = True, ""
            self.on_change()
