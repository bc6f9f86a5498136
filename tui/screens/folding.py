"""A page of things that unfold: kinds of findings, packets, the messages of a conversation.

Theory. What a page has are heads, one line each, and lines beneath those that are unfolded (tui.model.accordion). To
unfold all of a million messages is a wish that is fulfilled where somebody looks: what comes into sight is unfolded
then. Lines that come in above the cursor must not move it on the screen, so the places are moved with them, and a
step forwards or backwards goes over what is unfolded on its way.

What the lines say does not depend on the width, so they are made once, and anew when the user asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from textual.binding import BindingType
from textual.geometry import Size
from textual.strip import Strip

from analyzer.render.lines import Line
from tui import keys
from tui.model.accordion import FoldLine, FoldList
from tui.model.leads import Lead
from tui.screens.page import Page, PageLine, PagePane
from tui.theme import Palette
from tui.widgets.bar import BarPart
from tui.widgets.cutting import Spans

OPEN, FOLDED, PLAIN = "▾ ", "▸ ", "  "


class FoldContents(Protocol):
    """What a page shows, for the thread that paints."""

    @property
    def accordion(self) -> FoldList:
        """Where each line is."""

    def head(self, head: int) -> Line:
        """What a head says."""

    def beneath(self, head: int, at: int) -> Line:
        """What a line beneath an unfolded head says; they are counted from 0."""

    def unfolds(self, head: int) -> bool:
        """Whether there is anything beneath a head."""

    def unfold(self, head: int) -> int:
        """Unfolds a head; how many more lines there are now. They may be others, and more, before long."""

    def fold(self, head: int) -> int:
        """Folds it; how many fewer lines there are."""

    def lead(self, spot: FoldLine) -> Lead | None:
        """Where Enter on a line leads."""


class FoldingPane(PagePane):
    """Shows Contents, or while there are none, what a page shows before its lines are there."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("folding")

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.contents: FoldContents | None = None
        self._all = False
        self._kept_folded: set[int] = set()

    def say(self, text: str) -> None:
        """Shows a sentence, and no contents."""
        self.contents, self.entries = None, (PageLine((("dim", text),)),)
        self.recount()

    @property
    def count(self) -> int:
        """See Pane."""
        return super().count if self.contents is None else self.contents.accordion.lines

    def spans(self, line: int) -> Spans:
        """See Pane."""
        contents = self.contents
        if contents is None:
            return super().spans(line)
        head, beneath = contents.accordion.at(line)
        if beneath:
            return (("", PLAIN), *contents.beneath(head, beneath - 1))
        unfolded = contents.accordion.height(head) is not None
        mark = OPEN if unfolded else FOLDED if contents.unfolds(head) else PLAIN
        return (("dim", mark), *contents.head(head))

    def show(self, contents: FoldContents, at: int = 0) -> None:
        """Shows others, with the cursor on a head."""
        self.contents, self._all = contents, False
        self._kept_folded.clear()
        self.cursor = self.top = 0
        self.recount()
        self.place_cursor(contents.accordion.line_of(at) if self.count else 0)

    @property
    def spot(self) -> FoldLine | None:
        """What the cursor is on."""
        return None if self.contents is None or not self.count else self.contents.accordion.at(self.cursor)

    @property
    def top_spot(self) -> FoldLine | None:
        """What the first line seen shows."""
        return None if self.contents is None or not self.count else self.contents.accordion.at(self.top)

    def changed(self, spot: FoldLine | None, top: FoldLine | None) -> None:
        """There are other lines: `spot` is selected, and `top` is the first line seen, where that can be."""
        if self.contents is not None:
            accordion = self.contents.accordion
            self.cursor = 0 if spot is None else accordion.line_of(spot.head) + spot.beneath
            self.top = 0 if top is None else accordion.line_of(top.head) + top.beneath
        self.recount()
        self.place_cursor(self.cursor)

    def grown(self, line: int, more: int) -> None:
        """Beneath the head on a line there are so many more lines now."""
        if self.cursor > line:
            self.cursor = max(self.cursor + more, line)
        if self.top > line:
            self.top = max(self.top + more, line)
        self.recount()

    def made(self, size: Size) -> list[Strip]:
        """See Painted."""
        if self._all and self.contents is not None:
            self._unfold_seen(self.contents)
        return super().made(size)

    def _unfold_seen(self, contents: FoldContents) -> None:
        line = self.top
        while line < min(self.top + self.inner.height, self.count):
            head = contents.accordion.at(line).head
            begin = contents.accordion.line_of(head)
            more = self._unfold_if_wanted(head)
            if more and self.cursor > begin:
                self.cursor += more
                self._scroll_to_line(self.cursor)
            line = begin + 1 + (contents.accordion.height(head) or 0)

    def _unfold_if_wanted(self, head: int) -> int:
        """Unfolds a head because all are to be; how many more lines there are."""
        contents = self.contents
        if contents is None or head in self._kept_folded or contents.accordion.height(head) is not None:
            return 0
        self._strips.clear()
        return contents.unfold(head) if contents.unfolds(head) else 0

    def _on_the_way(self, line: int, by: int) -> int:
        """Where a step of `by` lines leads from a line, when all on the way is unfolded; the cursor keeps its spot."""
        contents, aim = self.contents, line + by
        if contents is None or not self._all:
            return aim
        head = contents.accordion.at(line).head
        while by > 0 and head < contents.accordion.heads and contents.accordion.line_of(head) < aim:
            self._move_down(contents.accordion.line_of(head), self._unfold_if_wanted(head))
            head += 1
        while by < 0 and head > 0 and contents.accordion.line_of(head) > aim:
            head -= 1
            more = self._unfold_if_wanted(head)
            aim += more
            self._move_down(contents.accordion.line_of(head), more)
        return aim

    def _move_down(self, line: int, more: int) -> None:
        self.cursor += more * (self.cursor > line)
        self.top += more * (self.top > line)

    def _step(self, by: int) -> None:
        self.go(self._on_the_way(self.cursor, by))

    def scroll_lines(self, top: int) -> None:
        """See Pane."""
        super().scroll_lines(self._on_the_way(self.top, top - self.top))

    def _action_down(self) -> None:
        self._step(1)

    def _action_up(self) -> None:
        self._step(-1)

    def _action_page_down(self) -> None:
        self._step(max(self.inner.height - 1, 1))

    def _action_page_up(self) -> None:
        self._step(-max(self.inner.height - 1, 1))

    def _action_bottom(self) -> None:
        if self._all and self.contents is not None:
            self._unfold_if_wanted(self.contents.accordion.heads - 1)
        super()._action_bottom()

    def clicked(self, line: int, column: int) -> None:
        """See Pane: a click on the mark folds."""
        if column < len(PLAIN) and self.spot is not None and not self.spot.beneath:
            self.turn()

    def _turn(self, spot: FoldLine, *, unfold: bool) -> None:
        """Unfolds or folds the head of a spot, which is selected then."""
        contents = self.contents
        if contents is None:
            return
        line = contents.accordion.line_of(spot.head)
        if unfold and contents.unfolds(spot.head):
            self._kept_folded.discard(spot.head)
            contents.unfold(spot.head)
        elif not unfold:
            self._kept_folded.add(spot.head)
            contents.fold(spot.head)
        self.recount()
        self.place_cursor(line)
        if unfold:
            self.show_below(contents.accordion.height(spot.head) or 0)

    def turn(self) -> None:
        """Unfolds what the cursor is on, or folds it."""
        spot, contents = self.spot, self.contents
        if spot is not None and contents is not None:
            self._turn(spot, unfold=contents.accordion.height(spot.head) is None)

    def _action_fold(self) -> None:
        self.turn()

    def _action_inward(self) -> None:
        spot, contents = self.spot, self.contents
        if spot is None or contents is None:
            return
        if contents.accordion.height(spot.head) is None:
            self._turn(spot, unfold=True)
        elif not spot.beneath:
            self._step(1)

    def _action_outward(self) -> None:
        spot, contents = self.spot, self.contents
        if spot is None or contents is None:
            return
        if spot.beneath:
            self.go(contents.accordion.line_of(spot.head))
        else:
            self._turn(spot, unfold=False)

    def _action_unfold_all(self) -> None:
        self._all = True
        self._kept_folded.clear()
        self.repaint()

    def _action_fold_all(self) -> None:
        spot, contents = self.spot, self.contents
        if spot is not None and contents is not None:
            self._all = False
            self._kept_folded.clear()
            for head in reversed(contents.accordion.unfolded):
                contents.fold(head)
            self.changed(FoldLine(spot.head, 0), None)


class FoldingPage(Page):
    """A page whose lines unfold. A subclass begins the work that makes them, and says the title."""

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
        """Begins the work, or begins it anew: there may be more by now."""
        raise NotImplementedError

    def remake(self) -> None:
        """See Page: lines do not depend on the width."""
        if not self._has_begun:
            self._has_begun = True
            self.begin()

    def say_title(self, *more: BarPart) -> None:
        """What stands behind the page's name in its first line."""
        self._head.say([BarPart("bar-title", f" {self.heading}"), *more])

    def enter(self) -> None:
        """See Page."""
        contents, spot = self.pane.contents, self.pane.spot
        lead = None if contents is None or spot is None else contents.lead(spot)
        if lead is not None:
            self.dismiss(lead)
        else:
            self.pane.turn()

    def _action_anew(self) -> None:
        self.begin()
