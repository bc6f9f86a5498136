"""The display filter of the list: asked for, put in force, given up; and which rows the list shows by now.

Theory. A filter is applied beside the keys (tui.filter_worker). What another filter hides stays on the screen until its
first portion has been asked: most have asked all by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.filter_worker import FilterWorker
from tui.screens.bars import ActiveFilter, StatusBars
from tui.screens.prompts import InputPrompts
from tui.search_worker import SearchWorker
from tui.widgets.timeline import TimelinePane

if TYPE_CHECKING:
    from analyzer.query.filter import Filter

FILTER_HINT = "Enter applies it, Esc leaves; empty: all messages"


class FilterControl:
    """Shows in `timeline` what the filter in force keeps. search: ends when another filter comes into force.

    show_soon: has show_kept() called, with True at once, else when the screen has time for it.
    """

    def __init__(
        self,
        worker: FilterWorker,
        search: SearchWorker,
        timeline: TimelinePane,
        bars: StatusBars,
        prompts: InputPrompts,
        show_soon: Callable[[bool], object],
    ) -> None:
        self.worker = worker
        self._search, self._timeline, self._bars, self._prompts = search, timeline, bars, prompts
        self._show_soon = worker.on_change = show_soon

    @property
    def in_force(self) -> ActiveFilter | None:
        """What there is to say of the filter in force."""
        filtering = self.worker.current_pass
        if filtering is None:
            return None
        return ActiveFilter(
            filtering.filter.text, len(filtering.matches), filtering.percent if filtering.rows_left else None
        )

    def begin(self, wanted: Filter) -> None:
        """Puts the first filter in force, before there are rows."""
        self.worker.apply(wanted, 0, 0)
        self.show_matches()

    def apply(self, wanted: Filter | None) -> None:
        """Puts a filter in force, or none."""
        self._search.stop()
        listed = self._timeline
        self.worker.apply(wanted, listed.timeline.rows, listed.current_row, listed.timeline.first)
        self._replace_rows()

    def cancel(self) -> bool:
        """Goes back to the filter before one that is at work; whether one was."""
        is_at_work = self.worker.restore_previous()
        if is_at_work:
            self._replace_rows()
            self._bars.show_message("the filter was given up", "bar-warning")
        return is_at_work

    def _replace_rows(self) -> None:
        self._timeline.hold_selection()
        self._show_soon(True)

    def show_matches(self) -> None:
        """Shows what the filter has kept by now; until it has been asked, what was shown before."""
        worker, listed = self.worker, self._timeline
        if worker.current_pass is not None and worker.current_pass.is_new and listed.timeline.rows:
            return
        if worker.matches is listed.timeline.matches and worker.is_settled is listed.is_settled:
            return
        listed.show_rows(worker.matches, settled=worker.is_settled)
        self.warn_if_empty()

    def warn_if_empty(self) -> None:
        """Says why there is nothing in the list, if it is for the filter."""
        filtering = self.worker.current_pass
        if filtering is not None and filtering.is_settled and not len(filtering.matches):
            self._bars.show_message("no message fulfils the filter", "bar-warning")

    def ask_filter(self) -> None:
        """Asks for another filter; nothing stands for none."""
        from analyzer.query.filter import compiled
        from tui.model.prompting import InputAdvisor
        from tui.screens.ask import LineQuestion

        def parse_filter(text: str) -> Filter | None:
            return compiled(text, self._prompts.named) if text.strip() else None

        filtering = self.worker.current_pass
        question = LineQuestion("filter", FILTER_HINT, "" if filtering is None else filtering.filter.text, parse_filter)
        self._prompts.ask_line(question, "filters", InputAdvisor, self.apply)
