"""Has names learned from the rows that were taken over, a part of them at a time, beside the keys."""

from __future__ import annotations

from analyzer.decode.name_resolver import Lore
from analyzer.decode.resolved_names import TOPIC
from tui.background import BackgroundWorker
from tui.screens.detail_view import DetailView
from tui.widgets.timeline import TimelinePane

MOST_MESSAGES, MOST_ROWS = 500, 100_000
"""Messages that teach names, and rows among which they are looked for, that are read before others get their turn."""


class NameLearning:
    """The list and what is shown of a message say the names that have been learned."""

    def __init__(self, lore: Lore, background: BackgroundWorker, timeline: TimelinePane, view: DetailView) -> None:
        self._lore, self._background, self._timeline, self._view = lore, background, timeline, view

    @property
    def is_complete(self) -> bool:
        """Whether all rows that were taken over have been asked for names."""
        return self._lore.read >= self._timeline.timeline.rows

    def learn(self) -> None:
        """Learns from the next rows, as far as there are any."""
        lore = self._lore
        rows = min(self._timeline.timeline.rows, lore.read + MOST_ROWS)
        if lore.read < rows:
            self._background.submit("names", lambda: lore.learn(rows, MOST_MESSAGES), self._take_kinds)

    def _take_kinds(self, kinds: set[str]) -> None:
        """Names have been learned, of these kinds."""
        if TOPIC in kinds:
            self._timeline.clear_names()
        detail = self._view.detail
        if kinds and detail is not None:
            self._view.reread(detail.row, detail.known.standing)
        self.learn()
