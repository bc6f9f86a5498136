"""The input line for a filter or a search, with advice while you type.

Theory. Each letter gets an answer: a sign and a colour say whether the text is a valid filter, the line above says why
not, and a list above that completes the word at the cursor. One thread judges the text, another reads names and values,
and their results are shown if the text is still the same; so no key waits. Enter takes the text as it is, Tab takes a
completion, and the next one when it is pressed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.cells import cell_len
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from analyzer.columns.text import safe_text
from analyzer.query.filter.nodes import Span
from tui.background import BackgroundWorker
from tui.model.completion import NO_COMPLETIONS, Completion, Completions, TextState, TextVerdict, describe_field
from tui.model.drawing import Spans
from tui.model.input_advice import InputAdvice, InputAdvisor
from tui.screens.chooser import Choice, Chooser
from tui.screens.input_line import BarLine, LineDialog, LineQuestion
from tui.theme import Palette
from tui.widgets.bars import Bar, BarPart
from tui.widgets.pane import Pane

FOOT = 2
"""The lines of the bar itself: hint and input line."""

HELP = " Tab: next, Up: previous"
ENTER = " Enter applies it, Esc cancels "

_STYLES = {TextState.WHOLE: "text", TextState.BEGUN: "dim", TextState.WRONG: "error"}

_Answer = TypeVar("_Answer")


MOST, WIDEST = 8, 76
"""The visible completions at most, and the cells of a line."""

TAKEN, FREE, GAP = "▸ ", "  ", "  "
LEAST = 16
"""The least cells for the description of a completion."""


class CompletionPane(Pane):
    """Shows completions; the cursor is on none until one is taken."""

    @dataclass
    class CompletionClick(Message):
        """Says that the user clicked the completion with index `place`."""

        place: int

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.palette_styles = {**palette.styles, "": palette.styles["bar"]}
        self.can_focus = False
        self.completions: Sequence[Completion] = ()
        self.display = False

    @property
    def count(self) -> int:
        """The number of completions that the list offers."""
        return len(self.completions)

    @property
    def has_focus(self) -> bool:  # type: ignore[override] # keys go to the line, and yet this is where the cursor is
        """True, so that the cursor looks active while the input line has the focus."""
        return True

    def show(self, offers: Sequence[Completion], available: int) -> None:
        """Shows others, none of them selected, in at most `available` lines."""
        height = min(len(offers), MOST, max(available, 0))
        if height != (self.styles.height.value if self.display and self.styles.height else 0):
            self.display = height > 0
            self.styles.height = height
        if offers != self.completions or self.cursor >= 0:
            self.completions = offers
            self.cursor, self.top = -1, 0
            self.invalidate()

    def select(self, place: int) -> None:
        """Moves the cursor of the list to the completion with index `place`."""
        self.place_cursor(place)

    def get_spans(self, line: int) -> Spans:
        """Returns a completion and its description."""
        offer = self.completions[line]
        about = describe_field(offer.text) if offer.about is None else offer.about
        spans = [("bar", TAKEN if line == self.cursor else FREE)]
        spans.append(("bar-key" if offer.about is None else "bar-title", offer.text))
        available = self.inner.width - len(FREE) - cell_len(safe_text(offer.text, WIDEST)) - len(GAP)
        return [*spans, ("bar", GAP), ("bar-dim", about)] if about and available >= LEAST else spans

    def handle_click(self, line: int, column: int) -> None:
        """Posts CompletionClick for the completion in the clicked line."""
        self.post_message(self.CompletionClick(line))


class FilterBar(LineDialog[_Answer]):
    """A LineDialog with advice while you type.

    advice: the last advice for the present text; None if more has been read since.
    """

    DEFAULT_CSS = """
    FilterBar Horizontal { height: 1; }
    FilterBar #sign { width: 2; }
    FilterBar #offers { width: 76; max-width: 100%; }
    FilterBar Input { width: 1fr; padding: 0 1 0 0; }
    """

    def __init__(self, palette: Palette, question: LineQuestion[_Answer], prompter: InputAdvisor) -> None:
        super().__init__(palette, question)
        self.advisor = prompter
        self.sign = Bar(palette, "", id="sign")
        self.pane = CompletionPane(palette, id="offers")
        self.advice: InputAdvice | None = None
        """The advice for the last text; None if more has been read since."""
        self._looker, self._reader = (BackgroundWorker(self.call_later) for _ in range(2))
        self._requested: tuple[str, int] | None = None
        self._wants_completions = False
        self._owed = 0
        """The direction of a Tab that was pressed before the names were read."""
        self._cycled: Completions | None = None
        """The completions that Tab cycles through, while the text is one of them."""

    def compose(self) -> ComposeResult:
        """Yields completions, hint, sign and input line."""
        with Vertical():
            yield self.pane
            yield self.hint_bar
            with Horizontal():
                yield self.sign
                yield self.line

    def on_mount(self) -> None:
        """Starts the two threads; names are read after the line has been painted."""
        self.advisor.history.begin()
        self._looker.start()
        self._submit_text()
        self.call_after_refresh(self._begin_to_read)

    def _begin_to_read(self) -> None:
        self._reader.submit("names", self.advisor.read_names, self._resubmit_text)
        self._reader.start()

    def on_unmount(self) -> None:
        """Stops the threads that check the filter and look up completions."""
        self._looker.stop()
        self._reader.stop()

    @property
    def is_reading(self) -> bool:
        """Whether more completions may come in a moment."""
        is_known = self.advisor.sources.names is not None
        return not is_known or self.advice is None or self.advice.offers.missing is not None

    # What stands there is looked at.

    def _submit_text(self) -> None:
        prompter, text, cursor = self.advisor, self.line.value, self.line.cursor_position
        if (text, cursor) != self._requested:
            self._requested = text, cursor
            self._looker.submit("look", lambda: prompter.advise(text, cursor), self._take_advice)

    def _resubmit_text(self, _: None) -> None:
        """Judges the text again, because more was read."""
        self._requested = self.advice = None
        self._submit_text()

    def handle_change(self) -> None:
        """Judges the new text; the verdict of the old one stays until then, so that nothing flickers."""
        wrong = self.highlighter.error
        if wrong is not None and wrong.stop > len(self.line.value):
            self.highlighter.error = None
        self._follow_cursor()

    @on(BarLine.CursorMove)
    def _follow_cursor(self) -> None:
        """Judges the text for the new cursor position."""
        if self._cycled is not None and not self._is_inserted(self._cycled):
            self._cycled = None
        self._wants_completions, self._owed = False, 0
        self._submit_text()
        if not self.line.selection.is_empty:
            self._show_completions(NO_COMPLETIONS)

    def _take_advice(self, look: InputAdvice) -> None:
        line, prompter = self.line, self.advisor
        if (look.text, look.cursor) != (line.value, line.cursor_position):
            return
        self.advice = look
        self._show_verdict(look.verdict)
        if self._cycled is None:
            self._show_completions(look.offers)
        missing = look.offers.missing
        if missing is not None:
            self._reader.submit("values", lambda: prompter.read_values(missing), self._resubmit_text)
        if self._owed and prompter.sources.names is not None:
            self._cycle(self._owed)

    def show_hint(self, hint: str = HELP) -> None:
        """Shows the question, and the keys that help."""
        super().show_hint(hint)

    def _show_verdict(self, verdict: TextVerdict) -> None:
        """Shows a verdict by sign, colour and text."""
        state = verdict.state
        if verdict.why:
            self.show_above([BarPart("bar-error" if state is TextState.WRONG else "bar-dim", f" {verdict.why}")], ENTER)
        else:
            self.show_hint()
        self.sign.show([BarPart(_STYLES[state], f"{state.value} ")])
        self.highlighter.style = self.palette.styles["text"] if state is TextState.WHOLE else Style.null()
        self.highlighter.error = verdict.span
        self.line.refresh()

    def show_error(self, why: str, wrong: Span | None) -> None:
        """Shows an error with the sign of a wrong text."""
        self._show_verdict(TextVerdict(TextState.WRONG, why, wrong))
        super().show_error(why, wrong)

    def handle_accept(self, text: str) -> None:
        """Adds the text to the history."""
        self.advisor.history.add(text)

    # Ways to go on.

    def _show_completions(self, offers: Completions) -> None:
        is_wanted = self.line.selection.is_empty and (self._wants_completions or not offers.on_request)
        self.pane.show(offers.items if is_wanted else (), self.size.height - FOOT - 1)

    def press_help_key(self, key: str) -> None:
        """Handles a key of the input line: earlier entries, or completions."""
        history = self.advisor.history
        if key == "older":
            self._set_text(history.go_older(self.line.value))
        elif key == "newer":
            self._set_text(history.go_newer())
        elif key == "search":
            choices = [Choice((("", entry),), entry) for entry in history.entries]
            self.app.push_screen(Chooser(self.palette, f"{self.question.name}: earlier ones", choices), self._recall)
        else:
            self._cycle(1 if key == "next" else -1)

    def _recall(self, answer: tuple[str] | None) -> None:
        if answer is not None:
            self._set_text(*answer)

    def _set_text(self, text: str | None) -> None:
        if text is not None:
            self.line.set_text(text, len(text))

    def _cycle(self, by: int) -> None:
        """Inserts the first completion, or another one in place of the last."""
        if self._cycled is not None:
            self._insert(self._cycled, (self.pane.cursor + by) % len(self._cycled.items))
            return
        line = self.line
        if not line.selection.is_empty:
            line.cursor_position = line.cursor_position
        look = self._get_advice()
        if look is None:
            self._owed = by
        elif look.offers.items and look.offers.on_request and not self._wants_completions:
            self._wants_completions = True
            self._show_completions(look.offers)
        elif look.offers.items:
            self._show_completions(look.offers)
            self._insert(look.offers, 0 if by > 0 else len(look.offers.items) - 1)

    def _get_advice(self) -> InputAdvice | None:
        """Returns the advice for the present text, and waits for it if you type faster than the thread.

        None while names are being read.
        """
        look, line, prompter = self.advice, self.line, self.advisor
        if prompter.sources.names is None:
            return None
        if look is None or (look.text, look.cursor) != (line.value, line.cursor_position):
            look = self.advice = prompter.advise(line.value, line.cursor_position)
        return look

    @on(CompletionPane.CompletionClick)
    def _take_clicked(self, message: CompletionPane.CompletionClick) -> None:
        look = self._get_advice()
        offers = self._cycled or (None if look is None else look.offers)
        if offers is not None and self.pane.completions == offers.items:
            self._insert(offers, message.place)
            self._cycled = None
            self._show_completions(NO_COMPLETIONS)

    def _insert(self, offers: Completions, place: int) -> None:
        text, word = self.line.value, offers.items[place].text
        self._cycled = offers._replace(end=offers.begin + len(word)) if len(offers.items) > 1 else None
        self.line.set_text(text[: offers.begin] + word + text[offers.end :], offers.begin + len(word))
        self.pane.select(place)

    def _is_inserted(self, turning: Completions) -> bool:
        """Returns whether the text is still as Tab has left it."""
        line = self.line
        return line.cursor_position == turning.end and any(
            line.value[turning.begin : turning.end] == item.text for item in turning.items
        )
