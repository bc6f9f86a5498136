"""The search in the list: what is sought is asked for, where a search begins, and what is said of its end.

Theory. The search itself is done beside the keys (tui.search_worker), among the rows that the filter keeps.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.filter_worker import FilterWorker
from tui.screens.bars import StatusBars
from tui.screens.detail_view import DetailView
from tui.screens.prompts import InputPrompts
from tui.search_worker import FILTER_SIGN, SearchResult, SearchWorker, parse_search
from tui.widgets.timeline import TimelinePane

if TYPE_CHECKING:
    from analyzer.query.search import Sought

SEARCH_HINT = 'a text; 0x00ff or "text": bytes; =FILTER: what fulfils it'


class SearchControl:
    """Selects in `timeline` what is found, and has `view` show the place in it. filters: the one in force."""

    def __init__(
        self,
        worker: SearchWorker,
        filters: FilterWorker,
        timeline: TimelinePane,
        view: DetailView,
        bars: StatusBars,
        prompts: InputPrompts,
    ) -> None:
        self._worker, self._filters, self._timeline = worker, filters, timeline
        self._view, self._bars, self._prompts = view, bars, prompts
        worker.on_progress, worker.on_end = self._show_progress, self._take_result

    def ask_text(self) -> None:
        """Asks what is sought, and searches for it."""
        from tui.model.prompting import SearchAdvisor
        from tui.screens.ask import LineQuestion

        def parse_text(words: str) -> tuple[str, Sought]:
            return words, parse_search(words, self._prompts.named)

        question = LineQuestion("find", SEARCH_HINT, self._worker.text, parse_text)
        self._prompts.ask_line(
            question, "sought", partial(SearchAdvisor, sign=FILTER_SIGN, read=parse_text), self._begin
        )

    def _begin(self, aim: tuple[str, Sought]) -> None:
        self._worker.set_target(*aim)
        self.search(forward=True)

    def search(self, *, forward: bool) -> None:
        """Searches on from the selected message, round the end."""
        worker, listed = self._worker, self._timeline
        if not worker.has_target:
            self._bars.show_message("nothing is sought yet: Ctrl+F asks for it", "bar-warning")
            return
        if worker.is_searching(forward=forward):
            return
        at = listed.current_row
        if forward and (listed.selected is None or listed.selected.row is None):
            at -= 1  # the first message of a stream comes behind the stream's own line
        worker.start(at, listed.row_lines.marks.drop_ignored(listed.timeline.visible_rows), forward=forward)

    def stop(self) -> None:
        """Ends the search that is under way."""
        self._worker.stop()

    def cancel(self) -> bool:
        """The same, and says so; whether one was under way."""
        is_under_way = self._worker.stop()
        if is_under_way:
            self._bars.show_message("the search was stopped", "bar-warning")
        return is_under_way

    def _show_progress(self, percent: int) -> None:
        self._bars.show_message(f"searching for {self._worker.text}: {percent} %, Esc stops it")

    def _take_result(self, found: SearchResult) -> None:
        listed = self._timeline
        if found.row is None or not listed.timeline.is_shown(found.row):
            which = "no message" if self._filters.current_pass is None else "no message that the filter keeps"
            self._bars.show_message(f"{which} has {self._worker.text}", "bar-warning")
        elif listed.selected is not None and listed.selected.row == found.row:
            self._view.select_found()
        else:
            listed.select_row(found.row)
