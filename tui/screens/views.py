"""A page of several views, of which one is seen, statistics or conversations: what keys and the mouse do to it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from analyzer.text import safe_text
from tui.model.table import Order
from tui.screens.viewing import ViewingPage
from tui.widgets.above import Above
from tui.widgets.bar import Bar

DIGITS = 9


class ViewsPage(ViewingPage):
    """See tui.screens.viewing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "turn(1)", show=False),
        Binding("shift+tab", "turn(-1)", show=False),
        Binding("slash", "narrow", show=False, priority=True),
        *(Binding(str(digit), f"open({digit - 1})", show=False) for digit in range(1, DIGITS + 1)),
    ]

    def _action_open(self, place: int) -> None:
        self.open(place)

    def _action_turn(self, by: int) -> None:
        self.open((self._at + by) % len(self._views))

    def _is_open(self, key: Hashable) -> bool:
        opened = self.state.opened
        return key in (self.view.opened if opened is None else opened)

    def _fold_line(self) -> int | None:
        """The line of what unfolds that the cursor is on or beneath."""
        items = self.pane.items
        return next((line for line in range(self.pane.cursor, -1, -1) if items[line].folds), None)

    def _action_fold(self) -> None:
        head = self._fold_line() if self.view.foldable else None
        if head is not None:
            self.pane.go(head)
            self.turn(self.pane.items[head].key)

    def _action_inward(self) -> None:
        item = self.pane.item
        if item is not None and item.folds:
            if not self._is_open(item.key):
                self.turn(item.key)
            else:
                self.pane.go(self.pane.cursor + 1)

    def _action_outward(self) -> None:
        head = self._fold_line() if self.view.foldable else None
        if head is None:
            return
        if head != self.pane.cursor:
            self.pane.go(head)
        elif self._is_open(self.pane.items[head].key):
            self.turn(self.pane.items[head].key)

    def _action_more(self) -> None:
        self._zoom(1)
        if self.view.foldable:
            self.state.opened = frozenset(self.view.foldable)
            self.remake()

    def _action_less(self) -> None:
        self._zoom(-1)
        if self.view.foldable:
            self.state.opened = frozenset()
            self.remake()

    def _zoom(self, by: int) -> None:
        zoom = max(0, min(self.state.zoom + by, self.view.zooms))
        if zoom != self.state.zoom:
            self.state.zoom = zoom
            self.remake()

    def _action_sort(self) -> None:
        shown = [title for _, title in self.view.head(self.pane.inner.width, self.state) if title]
        if self.view.sorts and shown:
            by = self.state.order.by
            place = shown.index(by) + 1 if by in shown else 0
            self._sort(shown[place] if place < len(shown) else None)

    def _sort(self, by: str | None) -> None:
        order = self.state.order
        turned = not order.turned if by == order.by and by is not None else False
        self.state.order = Order(by, turned, order.words)
        self.remake()

    def _action_reverse(self) -> None:
        if self.view.sorts:
            order = self.state.order
            self.state.order = Order(order.by, not order.turned, order.words)
            self.remake()

    def narrow(self, text: str) -> None:
        """Shows only what has all of these words."""
        order = self.state.order
        self.state.order = Order(order.by, order.turned, tuple(safe_text(text).lower().split()))
        self.remake()

    def _action_narrow(self) -> None:
        from tui.screens.ask import Narrow  # a stock widget: only who narrows pays for it

        if self.view.sorts:
            self.app.push_screen(Narrow(self.palette, " ".join(self.state.order.words), self.narrow))

    def _action_anew(self) -> None:
        self.begin()

    def _action_leave(self) -> None:
        if self.state.order.words:
            self.narrow("")
        else:
            super()._action_leave()

    @on(Bar.Clicked, "#page-tabs")
    def _click_tab(self, message: Bar.Clicked) -> None:
        self.open(int(message.name))

    @on(Bar.Clicked, "#page-heads")
    def _click_head(self, message: Bar.Clicked) -> None:
        if self.view.sorts:
            self._sort(message.name)

    @on(Bar.Clicked, "#page-keys")
    async def _click_key(self, message: Bar.Clicked) -> None:
        await self.run_action(message.name)

    @on(Above.Picked)
    def _pick(self, message: Above.Picked) -> None:
        key = self.view.key_at(message.cell, self.pane.inner.width, self.state)
        place = None if key is None else self.view.place(key, self.pane.items)
        if place is not None:
            self.pane.go(place)
            self.pane.focus()
