"""The half of a page of views that makes and shows them; what keys do to it is in tui.screens.views.

Theory. The views are made by a thread, each time more of them (tui.model.views); here the one that is seen is painted
for the width that there is, which costs as little as a key may. What the user did to a view, and which line of it was
selected, is kept by the view's name, so that newer figures come in beneath the cursor without moving it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from analyzer.render.counted import counted
from tui import keys
from tui.model.leads import Lead, Opens, Shows, both
from tui.model.scope import Scope
from tui.model.views import Item, Said, State, Stopped, View, Work
from tui.screens.page import Page, PagePane
from tui.theme import Palette
from tui.widgets.above import Above
from tui.widgets.bar import BLANK, Bar, Part
from tui.widgets.cutting import Spans

MakeViews = Callable[[Scope, Work], Iterator[Sequence[View]]]
"""Makes views of what is in a scope, each time more of them. Raises views.Stopped."""

FIXED = 3
"""Lines of the page that are there in any view: title, tabs, keys."""


class ViewPane(PagePane):
    """The lines of the view that is seen."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("views")

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.items: Sequence[Item] = ()

    @property
    def count(self) -> int:
        """See Pane."""
        return len(self.items)

    @property
    def item(self) -> Item | None:
        """What the cursor is on."""
        return self.items[self.cursor] if self.cursor < self.count else None

    def spans(self, line: int) -> Spans:
        """See Pane."""
        return self.items[line].line

    def moved(self) -> None:
        """See Pane."""
        assert isinstance(self.screen, ViewingPage)
        self.screen.say_above()

    def clicked(self, line: int, column: int) -> None:
        """See Pane: a click on a mark folds, one on what leads somewhere goes there."""
        assert isinstance(self.screen, ViewingPage)
        item = self.items[line]
        if item.folds and column < 2:
            self.screen.turn(item.key)
        elif item.lead is not None:
            self.screen.enter()


class ViewingPage(Page):
    """Shows the views that `make` makes of what is in a scope; the scope is asked for anew whenever they are made."""

    def __init__(
        self, palette: Palette, title: str, names: Sequence[str], scope: Callable[[], Scope], make: MakeViews
    ) -> None:
        super().__init__(palette, title, lambda width: ())
        self.page = self.pane = ViewPane(palette, id="page")
        self._ask_scope, self._make_views = scope, make
        self._scope, self._many = scope(), 0
        self._work: Work | None = None
        self._tabs = Bar(palette, "bar", id="page-tabs")
        self._above = Above(palette, id="page-above")
        self._heads = Bar(palette, "head", id="page-heads")
        self._views: Sequence[View] = [Said(name, "working ...") for name in names]
        self._states = {name: State() for name in names}
        self._selected: dict[str, Hashable] = {}
        self._at = 0
        self._progress = ""
        self.is_whole = False
        """Whether all views are there."""

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield self._head
        yield self._tabs
        yield self._above
        yield self._heads
        yield self.pane
        yield self._foot

    def on_unmount(self) -> None:
        """Nobody wants the views any more."""
        if self._work is not None:
            self._work.stop()

    # What the thread makes.

    def begin(self) -> None:
        """Has the views made of what there is by now."""
        if self._work is not None:
            self._work.stop()
        self._scope, self._progress, self.is_whole = self._ask_scope(), "working ...", False
        mask = self._scope.mask()
        self._many = self._scope.many if mask is None else int(mask.sum())
        self._work = work = Work(lambda text: self._worker.post(partial(self._say_progress, work, text)))
        self._worker.ask("views", partial(self._make_all, self._scope, work), partial(self._take, work, whole=True))
        self._say_title()

    def _make_all(self, scope: Scope, work: Work) -> Sequence[View] | None:
        """Makes all views, in the worker's thread; None where nobody wants them any more."""
        views: Sequence[View] = ()
        try:
            for views in self._make_views(scope, work):
                work.check()
                self._worker.post(partial(self._take, work, views))
        except Stopped:
            return None
        return views

    def _say_progress(self, work: Work, text: str) -> None:
        if work is self._work and not self.is_whole:
            self._progress = text
            self._say_title()

    def _take(self, work: Work, views: Sequence[View] | None, *, whole: bool = False) -> None:
        """There are these views by now; None where the work was stopped."""
        if work is not self._work or views is None:
            return
        seen, self._views = self.view, views
        if whole:
            self.is_whole, self._progress = True, ""
        self._say_title()
        if self.view is not seen:
            self.remake()

    # What is seen.

    @property
    def view(self) -> View:
        """The one that is seen."""
        return self._views[self._at]

    @property
    def state(self) -> State:
        """How it is seen."""
        return self._states[self.view.name]

    def remake(self) -> None:
        """See Page: the view is shown for the width and the state that there are now; the selected line stays so."""
        pane, view, width = self.pane, self.view, self.pane.inner.width
        if not width:
            return
        if self._work is None:
            self.begin()
        key = self._selected.get(view.name)
        pane.items = view.lines(width, self.state)
        place = view.place(key, pane.items) if key is not None else 0
        pane.cursor = min(pane.cursor, max(pane.count - 1, 0)) if place is None else place
        self._say_tabs()
        self._say_keys()
        self._say_heads(width)
        self.say_above()
        pane.recount()
        pane.place_cursor(pane.cursor)

    def say_above(self) -> None:
        """What stands above the lines depends on the one that is selected."""
        item, view, pane = self.pane.item, self.view, self.pane
        key = None if item is None else item.key
        self._selected[view.name] = key
        height = self.size.height - FIXED - (1 if self._heads.display else 0)
        self._above.say(view.above(pane.inner.width, height, self.state, key))

    def _say_title(self) -> None:
        said = f", {self._scope.said}" if self._scope.said else ""
        title = Part("bar-title", f" {self.heading}")
        right = [Part("bar-warning", f" {self._progress} ")] if self._progress else []
        self._head.say([title, Part("bar", f" of {counted(self._many, 'message')}{said}")], right)

    def _say_tabs(self) -> None:
        parts = []
        for place, view in enumerate(self._views):
            name = f"[{view.name}]" if place == self._at else f" {view.name} "
            parts.append(Part("tab-on" if place == self._at else "tab", name, str(place)))
        self._tabs.say(parts)

    def _say_heads(self, width: int) -> None:
        heads = self.view.head(width, self.state)
        self._heads.display = bool(heads)
        self._heads.say([Part("head", text, title) for text, title in heads])

    def _say_keys(self) -> None:
        view = self.view
        hints = [("Enter", "filter", "enter"), ("Tab", "view", "turn(1)")]
        if view.foldable:
            hints += [("Space", "fold", "fold"), ("= -", "all", "more")]
        if view.sorts:
            hints += [("o O", "sort", "sort"), ("/", "find", "narrow")]
        if view.zooms:
            hints += [("+ -", "intervals", "more")]
        hints += [("r", "anew", "anew"), ("Esc", "back", "leave")]
        parts = [(Part("bar-key", key, name), Part("bar-dim", f" {text}", name), BLANK) for key, text, name in hints]
        self._foot.say([Part("bar", " "), *(part for each in parts for part in each)])

    # What is done to it.

    def enter(self) -> None:
        """See Page: goes where the line leads; unfolds one that leads nowhere."""
        item = self.pane.item
        if item is None:
            return
        if isinstance(item.lead, Opens):
            self.open([view.name for view in self._views].index(item.lead.view))
        elif item.lead is not None:
            self.dismiss(self._in_scope(item.lead))
        elif item.folds:
            self.turn(item.key)

    def _in_scope(self, lead: Lead) -> Lead:
        """What a figure counts is of what the filter in force keeps."""
        return Shows(both(self._scope.filter or "", lead.condition)) if isinstance(lead, Shows) else lead

    def open(self, place: int) -> None:
        """Shows another view."""
        if place < len(self._views):
            self._at = place
            self.pane.cursor = self.pane.top = 0
            self.remake()

    def turn(self, key: Hashable) -> None:
        """Unfolds what has a key, or folds it."""
        state = self.state
        state.opened = (self.view.opened if state.opened is None else state.opened) ^ {key}
        self.remake()
