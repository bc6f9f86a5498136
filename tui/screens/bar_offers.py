"""The list above a line: ways in which the word at the cursor may go on, and the one that Tab has taken."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.message import Message

from analyzer.columns.text import safe_text
from tui.model.completion import Offer, about_field
from tui.theme import Palette
from tui.widgets.cutting import Spans
from tui.widgets.pane import Pane

MOST, WIDEST = 8, 76
"""Offers that are seen at once, and cells of a line."""

TAKEN, FREE, GAP = "▸ ", "  ", "  "
LEAST = 16
"""Cells that are left for what an offer is."""


class OffersPane(Pane):
    """Some offers; the cursor is on none of them until one is taken."""

    class Taken(Message):
        """An offer was clicked."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.styles_of = {**palette.styles, "": palette.styles["bar"]}
        self.can_focus = False
        self.offers: Sequence[Offer] = ()
        self.display = False

    @property
    def count(self) -> int:
        """See Pane."""
        return len(self.offers)

    @property
    def has_focus(self) -> bool:  # type: ignore[override] # keys go to the line, and yet this is where the cursor is
        """It looks so."""
        return True

    def show(self, offers: Sequence[Offer], room: int) -> None:
        """Shows others, none of them taken; `room` lines are left for them."""
        height = min(len(offers), MOST, max(room, 0))
        if height != (self.styles.height.value if self.display and self.styles.height else 0):
            self.display = height > 0
            self.styles.height = height
        if offers != self.offers or self.cursor >= 0:
            self.offers = offers
            self.cursor, self.top = -1, 0
            self.anew()

    def take(self, place: int) -> None:
        """Marks one."""
        self.place_cursor(place)

    def spans(self, line: int) -> Spans:
        """See Pane."""
        offer = self.offers[line]
        about = about_field(offer.text) if offer.about is None else offer.about
        spans = [("bar", TAKEN if line == self.cursor else FREE)]
        spans.append(("bar-key" if offer.about is None else "bar-title", offer.text))
        room = self.inner.width - len(FREE) - cell_len(safe_text(offer.text, WIDEST)) - len(GAP)
        return [*spans, ("bar", GAP), ("bar-dim", about)] if about and room >= LEAST else spans

    def clicked(self, line: int, column: int) -> None:
        """See Pane."""
        self.post_message(self.Taken(line))
