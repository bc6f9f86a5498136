"""Opens the line at the foot of the screen for a filter or a search, with what helps whoever types into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from textual.screen import Screen

from analyzer.session import Session
from tui.remembered import SavedState
from tui.theme import Palette
from tui.widgets.timeline import TimelinePane

if TYPE_CHECKING:
    from tui.model.prompting import InputAdvisor, InputHistory, ValueSampler
    from tui.model.seen import SampledValue
    from tui.screens.ask import LineQuestion

    MakePrompter = Callable[[InputHistory, Mapping[str, str], ValueSampler], InputAdvisor]

_Answer = TypeVar("_Answer")


class InputPrompts:
    """Of a screen. timeline: values of fields are read around its cursor. named: filters that a filter may refer to."""

    def __init__(
        self,
        screen: Screen[None],
        session: Session,
        palette: Palette,
        timeline: TimelinePane,
        remembered: SavedState,
        named: Mapping[str, str],
    ) -> None:
        self.named = named
        self._screen, self._session, self._palette = screen, session, palette
        self._timeline, self._remembered = timeline, remembered
        self._histories: dict[str, InputHistory] = {}

    def ask_line(
        self, question: LineQuestion[_Answer], kind: str, make: MakePrompter, then: Callable[[_Answer], object]
    ) -> None:
        """Opens a line; `then` gets the answer, if there is one. kind: the name under which earlier ones are kept."""
        from tui.screens.filter_bar import FilterBar  # stock widgets: only who asks pays for them

        history = self._get_history(kind)

        def pass_answer(answer: tuple[_Answer] | None) -> None:
            self._remembered.set(kind, history.entries)
            if answer is not None:
                then(*answer)

        prompter = make(history, self.named, self._make_sampler())
        self._screen.app.push_screen(FilterBar(self._palette, question, prompter), pass_answer)

    def _get_history(self, kind: str) -> InputHistory:
        """What was typed into a line earlier, in this run and before."""
        from tui.model.prompting import InputHistory

        if kind not in self._histories:
            self._histories[kind] = InputHistory(self._remembered.get(kind, list[str]()))
        return self._histories[kind]

    def _make_sampler(self) -> Callable[[str], Sequence[SampledValue]]:
        """Reads the values of a field by its name, as they are by now; for another thread."""
        from tui.model.seen import sample_values

        listed, around = self._timeline.timeline, self._timeline.current_row
        rows, first = listed.rows, listed.first
        return lambda name: sample_values(self._session, name, rows, around, first)
