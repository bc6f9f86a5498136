"""The base of pages whose lines unfold: kinds of findings, packets, the messages of a conversation.

Theory. A page has items, one line each, and more lines beneath those that are unfolded (tui.model.fold_list). Unfolding
all of a million messages happens on demand: an item is unfolded when it comes into sight. Lines that are inserted above
the cursor must not move it on the screen, so cursor and scroll position move with them, and a step forwards or
backwards passes over what is unfolded on its way.

Lines do not depend on the width, so they are made once, and again on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Size
from textual.strip import Strip

from tui import keys
from tui.model.drawing import Spans
from tui.model.fold_list import FoldContents, FoldLine
from tui.screens.page import Page, PageLine, PagePane
from tui.theme import Palette
from tui.widgets.bars import BarPart

OPEN, FOLDED, PLAIN = "▾ ", "▸ ", "  "


class FoldingPane(PagePane):
    """Shows FoldContents, or a text while there are none."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("folding")

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.contents: FoldContents | None = None
        self._unfolds_all = False
        self._folded_by_user: set[int] = set()

    def show_text(self, text: str) -> None:
        """Shows a text without contents."""
        self.contents, self.page_lines = None, (PageLine((("dim", text),)),)
        self.update_count()

    @property
    def count(self) -> int:
        """The number of visible lines, without those beneath folded heads."""
        return super().count if self.contents is None else self.contents.fold_list.lines

    def get_spans(self, line: int) -> Spans:
        """Returns a line with its fold mark."""
        contents = self.contents
        if contents is None:
            return super().get_spans(line)
        head, beneath = contents.fold_list.locate(line)
        if beneath:
            return (("", PLAIN), *contents.make_child(head, beneath - 1))
        unfolded = contents.fold_list.get_height(head) is not None
        mark = OPEN if unfolded else FOLDED if contents.can_unfold(head) else PLAIN
        return (("dim", mark), *contents.make_head(head))

    def show_contents(self, contents: FoldContents, at: int = 0) -> None:
        """Shows other contents, with the cursor on the item `at`."""
        self.contents, self._unfolds_all = contents, False
        self._folded_by_user.clear()
        self.cursor = self.top = 0
        self.update_count()
        self.place_cursor(contents.fold_list.find_line(at) if self.count else 0)

    @property
    def current_line(self) -> FoldLine | None:
        """The line of the cursor, or None."""
        return None if self.contents is None or not self.count else self.contents.fold_list.locate(self.cursor)

    @property
    def top_line(self) -> FoldLine | None:
        """The first visible line, or None."""
        return None if self.contents is None or not self.count else self.contents.fold_list.locate(self.top)

    def restore_lines(self, spot: FoldLine | None, top: FoldLine | None) -> None:
        """Selects a line and scrolls to another one, after the contents have changed."""
        if self.contents is not None:
            accordion = self.contents.fold_list
            self.cursor = 0 if spot is None else accordion.find_line(spot.head) + spot.offset
            self.top = 0 if top is None else accordion.find_line(top.head) + top.offset
        self.update_count()
        self.place_cursor(self.cursor)

    def add_lines(self, line: int, more: int) -> None:
        """Adapts cursor and scroll position to lines that were added beneath a head."""
        if self.cursor > line:
            self.cursor = max(self.cursor + more, line)
        if self.top > line:
            self.top = max(self.top + more, line)
        self.update_count()

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the visible lines; unfolds them first if all are to be unfolded."""
        if self._unfolds_all and self.contents is not None:
            self._unfold_visible(self.contents)
        return super().make_strips(size)

    def _unfold_visible(self, contents: FoldContents) -> None:
        line = self.top
        while line < min(self.top + self.inner.height, self.count):
            head = contents.fold_list.locate(line).head
            begin = contents.fold_list.find_line(head)
            more = self._unfold_if_wanted(head)
            if more and self.cursor > begin:
                self.cursor += more
                self._scroll_to_line(self.cursor)
            line = begin + 1 + (contents.fold_list.get_height(head) or 0)

    def _unfold_if_wanted(self, head: int) -> int:
        """Unfolds an item if all are to be unfolded; returns the number of lines that were added."""
        contents = self.contents
        if contents is None or head in self._folded_by_user or contents.fold_list.get_height(head) is not None:
            return 0
        self._strips.clear()
        return contents.unfold(head) if contents.can_unfold(head) else 0

    def _unfold_on_way(self, line: int, by: int) -> int:
        """Returns the line that a step of `by` lines leads to, after unfolding the items on its way."""
        contents, aim = self.contents, line + by
        if contents is None or not self._unfolds_all:
            return aim
        head = contents.fold_list.locate(line).head
        while by > 0 and head < contents.fold_list.heads and contents.fold_list.find_line(head) < aim:
            self._move_down(contents.fold_list.find_line(head), self._unfold_if_wanted(head))
            head += 1
        while by < 0 and head > 0 and contents.fold_list.find_line(head) > aim:
            head -= 1
            more = self._unfold_if_wanted(head)
            aim += more
            self._move_down(contents.fold_list.find_line(head), more)
        return aim

    def _move_down(self, line: int, more: int) -> None:
        self.cursor += more * (self.cursor > line)
        self.top += more * (self.top > line)

    def _step(self, by: int) -> None:
        self.move_cursor(self._unfold_on_way(self.cursor, by))

    def set_top_line(self, top: int) -> None:
        """Scrolls to a line, and unfolds the items on the way."""
        super().set_top_line(self._unfold_on_way(self.top, top - self.top))

    def _action_down(self) -> None:
        self._step(1)

    def _action_up(self) -> None:
        self._step(-1)

    def _action_page_down(self) -> None:
        self._step(max(self.inner.height - 1, 1))

    def _action_page_up(self) -> None:
        self._step(-max(self.inner.height - 1, 1))

    def _action_bottom(self) -> None:
        if self._unfolds_all and self.contents is not None:
            self._unfold_if_wanted(self.contents.fold_list.heads - 1)
        super()._action_bottom()

    def handle_click(self, line: int, column: int) -> None:
        """Folds or unfolds an item if its mark was clicked."""
        if column < len(PLAIN) and self.current_line is not None and not self.current_line.offset:
            self.toggle()

    def _set_unfolded(self, spot: FoldLine, *, unfold: bool) -> None:
        """Unfolds or folds the item of a line, and selects its head."""
        contents = self.contents
        if contents is None:
            return
        line = contents.fold_list.find_line(spot.head)
        if unfold and contents.can_unfold(spot.head):
            self._folded_by_user.discard(spot.head)
            contents.unfold(spot.head)
        elif not unfold:
            self._folded_by_user.add(spot.head)
            contents.fold(spot.head)
        self.update_count()
        self.place_cursor(line)
        if unfold:
            self.show_below(contents.fold_list.get_height(spot.head) or 0)

    def toggle(self) -> None:
        """Unfolds the item under the cursor, or folds it."""
        spot, contents = self.current_line, self.contents
        if spot is not None and contents is not None:
            self._set_unfolded(spot, unfold=contents.fold_list.get_height(spot.head) is None)

    def _action_fold(self) -> None:
        self.toggle()

    def _action_inward(self) -> None:
        spot, contents = self.current_line, self.contents
        if spot is None or contents is None:
            return
        if contents.fold_list.get_height(spot.head) is None:
            self._set_unfolded(spot, unfold=True)
        elif not spot.offset:
            self._step(1)

    def _action_outward(self) -> None:
        spot, contents = self.current_line, self.contents
        if spot is None or contents is None:
            return
        if spot.offset:
            self.move_cursor(contents.fold_list.find_line(spot.head))
        else:
            self._set_unfolded(spot, unfold=False)

    def _action_unfold_all(self) -> None:
        self._unfolds_all = True
        self._folded_by_user.clear()
        self.repaint()

    def _action_fold_all(self) -> None:
        spot, contents = self.current_line, self.contents
        if spot is not None and contents is not None:
            self._unfolds_all = False
            self._folded_by_user.clear()
            for head in reversed(contents.fold_list.unfolded):
                contents.fold(head)
            self.restore_lines(FoldLine(spot.head, 0), None)


class FoldingPage(Page):
    """A page whose lines unfold; a subclass starts the work and shows the title."""

    HINTS: ClassVar[Sequence[tuple[str, str]]] = (
        ("Enter", "go there"),
        ("Space", "unfold"),
        ("= -", "all, none"),
        ("r", "anew"),
        ("Esc", "back"),
    )

    def __init__(self, palette: Palette, title: str) -> None:
        super().__init__(palette, title, lambda width: ())
        self.page = self.pane = FoldingPane(palette, id="page")
        self._has_begun = False

    def begin(self) -> None:
        """Starts the work, or starts it again."""
        raise NotImplementedError

    def rebuild(self) -> None:
        """Starts the work once; lines do not depend on the width."""
        if not self._has_begun:
            self._has_begun = True
            self.begin()

    def show_title(self, *more: BarPart) -> None:
        """Shows the name of the page and more parts in the title bar."""
        self._head.show([BarPart("bar-title", f" {self.heading}"), *more])

    def follow_line(self) -> None:
        """Closes the page with the lead of the selected line, or folds it."""
        contents, spot = self.pane.contents, self.pane.current_line
        lead = None if contents is None or spot is None else contents.find_lead(spot)
        if lead is not None:
            self.dismiss(lead)
        else:
            self.pane.toggle()

    def _action_anew(self) -> None:
        self.begin()
