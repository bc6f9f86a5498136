"""A page of things that unfold: kinds of findings, packets, the messages of a conversation.

Theory. What its lines say does not depend on the width, so they are made once, and anew when the user asks for it:
there may be more by then. Who makes them, and where, is the subclass's business; this one has the keys and the title.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tui.screens.folding_pane import FoldingPane
from tui.screens.page import Page
from tui.theme import Palette
from tui.widgets.bar import Part


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

    def say_title(self, *more: Part) -> None:
        """What stands behind the page's name in its first line."""
        self._head.say([Part("bar-title", f" {self.heading}"), *more])

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
