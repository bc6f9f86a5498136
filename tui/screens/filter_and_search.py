"""The filter and the search of the list: they open the input line, start the workers, and show the results.

Theory. Workers apply filters and searches (tui.filter_worker, tui.search_worker). The rows of the filter before stay
on the screen until the first portion of a new filter has been examined; most filters have examined all rows by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from textual.screen import Screen

from analyzer.session import Session
from tui.filter_worker import FilterWorker
from tui.saved_state import SavedState
from tui.screens.detail_view import DetailView
from tui.screens.status_bars import ActiveFilter, StatusBars
from tui.search_worker import FILTER_SIGN, SearchHits, SearchResult, SearchWorker, format_rest, parse_search
from tui.theme import Palette
from tui.widgets.timeline import TimelinePane

if TYPE_CHECKING:
    from analyzer.query.filter import Filter
    from analyzer.query.search import SearchTarget
    from tui.model.completion_sources import SampledValue
    from tui.model.input_advice import InputAdvisor, InputHistory, ValueSampler
    from tui.screens.input_line import LineQuestion

    MakePrompter = Callable[[InputHistory, Mapping[str, str], ValueSampler], InputAdvisor]


FILTER_HINT = "Enter applies it, Esc cancels; empty: all messages"


class FilterControl:
    """Shows the matches of the filter in force in the list.

    search: stopped by another filter. show_soon: calls show_matches(), with True at once.
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
    def named(self) -> Mapping[str, str]:
        """The named filters."""
        return self._prompts.named

    @property
    def in_force(self) -> ActiveFilter | None:
        """The filter in force, for the title; None without one."""
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
        """Restores the filter before one that is still at work; returns whether one was."""
        is_at_work = self.worker.restore_previous()
        if is_at_work:
            self._replace_rows()
            self._bars.show_message("the filter was cancelled", "bar-warning")
        return is_at_work

    def _replace_rows(self) -> None:
        self._timeline.hold_selection()
        self._show_soon(True)

    def show_matches(self) -> None:
        """Shows the matches by now; before the first portion, the rows that were shown before."""
        worker, listed = self.worker, self._timeline
        if worker.current_pass is not None and worker.current_pass.is_new and listed.timeline.rows:
            return
        if worker.matches is listed.timeline.matches and worker.is_settled is listed.is_settled:
            return
        listed.show_rows(worker.matches, settled=worker.is_settled)
        self.warn_if_empty()

    def warn_if_empty(self) -> None:
        """Shows a message if no row matches the filter."""
        filtering = self.worker.current_pass
        if filtering is not None and filtering.is_settled and not len(filtering.matches):
            self._bars.show_message("no message matches the filter", "bar-warning")

    def ask_filter(self) -> None:
        """Asks for another filter; an empty one shows all rows."""
        from analyzer.query.filter import compile_filter
        from tui.model.input_advice import InputAdvisor
        from tui.screens.input_line import LineQuestion

        def parse_filter(text: str) -> Filter | None:
            return compile_filter(text, self._prompts.named) if text.strip() else None

        filtering = self.worker.current_pass
        question = LineQuestion("filter", FILTER_HINT, "" if filtering is None else filtering.filter.text, parse_filter)
        self._prompts.ask_line(question, "filters", InputAdvisor, self.apply)


SEARCH_HINT = 'a text; 0x00ff or "text": bytes; =FILTER: what matches it'


class SearchControl:
    """Selects the results of searches in the list, and their places in the message.

    filters: holds the filter in force.
    """

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
        worker.on_progress, worker.on_end, worker.on_failure = self._show_progress, self._take_result, self.cancel

    def ask_text(self) -> None:
        """Asks for a text, and searches for it."""
        from tui.model.input_advice import SearchAdvisor
        from tui.screens.input_line import LineQuestion

        def parse_text(words: str) -> tuple[str, SearchTarget]:
            return words, parse_search(words, self._prompts.named)

        question = LineQuestion("find", SEARCH_HINT, self._worker.text, parse_text)
        self._prompts.ask_line(
            question, "sought", partial(SearchAdvisor, sign=FILTER_SIGN, read=parse_text), self._begin
        )

    def _begin(self, aim: tuple[str, SearchTarget]) -> None:
        self._worker.set_target(*aim)
        self.search(forward=True)

    def search(self, *, forward: bool) -> None:
        """Searches on from the selected message, round the end."""
        worker, listed = self._worker, self._timeline
        if not worker.has_target:
            self._bars.show_message("there is no search yet: press Ctrl+F to start one", "bar-warning")
            return
        if worker.is_searching(forward=forward):
            return
        at = listed.current_row
        if forward and (listed.selected is None or listed.selected.row is None):
            at -= 1  # the first message of a stream comes behind the stream's own line
        worker.start(at, listed.row_lines.marks.drop_ignored(listed.timeline.visible_rows), forward=forward)

    def stop(self) -> None:
        """Stops a running search, and the thread that it runs on."""
        self._worker.stop()

    def cancel(self) -> bool:
        """Stops the search and says so; returns whether one was running."""
        is_under_way = self._worker.stop()
        if is_under_way:
            self._bars.show_message("the search was stopped", "bar-warning")
        return is_under_way

    def _show_progress(self, hits: SearchHits) -> None:
        if len(hits.rows):
            self._view.show_found()
        elif not hits.is_complete:
            rest = format_rest(hits.seconds_left)
            self._bars.show_message(f"searching for {self._worker.text}: {hits.percent} %{rest}, Esc stops it")

    def _take_result(self, found: SearchResult) -> None:
        listed = self._timeline
        if found.row is None or not listed.timeline.is_shown(found.row):
            which = "no message" if self._filters.current_pass is None else "no message that matches the filter"
            self._bars.show_message(f"{which} has {self._worker.text}", "bar-warning")
        elif listed.selected is not None and listed.selected.row == found.row:
            self._view.select_found()
        else:
            listed.select_row(found.row)


_Answer = TypeVar("_Answer")


class InputPrompts:
    """Opens input lines over a screen.

    timeline: values of fields are sampled around its cursor. named: named filters.
    """

    def __init__(
        self,
        screen: Screen[None],
        session: Session,
        palette: Palette,
        timeline: TimelinePane,
        saved_state: SavedState,
        named: Mapping[str, str],
    ) -> None:
        self.named = named
        self._screen, self._session, self._palette = screen, session, palette
        self._timeline, self._saved_state = timeline, saved_state
        self._histories: dict[str, InputHistory] = {}

    def ask_line(
        self, question: LineQuestion[_Answer], kind: str, make: MakePrompter, then: Callable[[_Answer], object]
    ) -> None:
        """Opens a line; `then` gets the answer, if there is one.

        kind: the key of its history.
        """
        from tui.screens.filter_bar import FilterBar  # stock widgets: only who asks pays for them

        history = self._get_history(kind)

        def pass_answer(answer: tuple[_Answer] | None) -> None:
            self._saved_state.set(kind, history.entries)
            if answer is not None:
                then(*answer)

        prompter = make(history, self.named, self._make_sampler())
        self._screen.app.push_screen(FilterBar(self._palette, question, prompter), pass_answer)

    def _get_history(self, kind: str) -> InputHistory:
        """Returns the earlier entries of a kind of line, of this run and before."""
        from tui.model.input_advice import InputHistory

        if kind not in self._histories:
            self._histories[kind] = InputHistory(self._saved_state.get(kind, list[str]()))
        return self._histories[kind]

    def _make_sampler(self) -> Callable[[str], Sequence[SampledValue]]:
        """Returns a function that samples the values of a field; for another thread."""
        from tui.model.completion_sources import sample_values

        listed, around = self._timeline.timeline, self._timeline.current_row
        rows, first = listed.rows, listed.first
        return lambda name: sample_values(self._session, name, rows, around, first)
