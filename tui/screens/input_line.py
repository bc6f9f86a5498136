"""Input lines: safe text inputs, a dialog for a message number, and lines at the foot of the screen.

Theory. Textual's Input shows its text unchanged, and anything may have been pasted. So the text is made safe for
display one character at a time, and positions stay the same; the value is what was typed. In Textual's Input, keys that
are no characters pass through the app, and letters typed after them overtake them; in a BarLine they act at once.

A LineDialog parses the text before it closes: errors are shown above the line and underlined in it, and the text stays
to be corrected. tui.screens.filter_bar adds advice for filters and searches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from analyzer.query.filter.nodes import FilterError, Span
from tui.crash_guard import CrashGuard
from tui.theme import Palette
from tui.widgets.bars import Bar, BarPart

UNSAFE = "\N{REPLACEMENT CHARACTER}"


def make_safe(plain: str) -> str:
    """Returns a text of the same length that is safe to display."""
    return plain if plain.isascii() and plain.isprintable() else "".join(map(_replace_unsafe, plain))


def _replace_unsafe(character: str) -> str:
    return character if safe_text(character) == character else UNSAFE


class _SafeHighlighter(Highlighter):
    def highlight(self, text: Text) -> None:
        """Replaces unsafe characters."""
        text.plain = make_safe(text.plain)


class TextLine(CrashGuard, Input):
    """Textual's Input, with a safe display.

    text: the first value, not selected. allowed: a regular expression. most: characters, 0: no limit.
    """

    def __init__(
        self,
        text: str = "",
        *,
        placeholder: str = "",
        highlighter: Highlighter | None = None,
        allowed: str | None = None,
        most: int = 0,
    ) -> None:
        super().__init__(
            text,
            placeholder,
            highlighter=highlighter or _SafeHighlighter(),
            restrict=allowed,
            max_length=most,
            select_on_focus=False,
        )


LONGEST_LINE = 10_000

_BREAKS = re.compile(r"[\t\r\n]+")


class ErrorHighlighter(Highlighter):
    """Shows a text in a style, with the span of an error underlined."""

    def __init__(self, palette: Palette) -> None:
        self.error: Span | None = None
        self.style = Style.null()
        self._wrong_style = palette.styles["error"] + Style(underline=True)
        self._safe = ("", "")

    def highlight(self, text: Text) -> None:
        """Replaces unsafe characters, and styles the text; the result is cached, because lines may be long."""
        plain = text.plain
        if self._safe[0] != plain:
            self._safe = plain, make_safe(plain)
        text.plain = self._safe[1]
        text.stylize(self.style)
        if self.error is not None:
            text.stylize(self._wrong_style, *self.error)


class BarLine(TextLine):
    """A line of at most LONGEST_LINE characters; it posts cursor moves, and passes help keys to its screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "help('older')", show=False),
        Binding("down", "help('newer')", show=False),
        Binding("ctrl+r", "help('search')", show=False),
        Binding("tab", "help('next')", show=False),
        Binding("shift+tab", "help('previous')", show=False),
    ]

    class CursorMove(Message):
        """The cursor or the selection has changed."""

    def __init__(self, text: str, underlined: ErrorHighlighter) -> None:
        super().__init__(text, highlighter=underlined, most=LONGEST_LINE)
        self.error_highlighter = underlined

    def watch_selection(self) -> None:
        """Posts CursorMove whenever Textual changes the cursor or the selection."""
        self.post_message(self.CursorMove())

    def set_text(self, text: str, cursor: int) -> None:
        """Sets the text and the cursor."""
        self.value = text[:LONGEST_LINE]
        self.cursor_position = cursor

    def _action_help(self, key: str) -> None:
        helper = getattr(self.screen, "press_help_key", None)
        if helper is not None:
            helper(key)

    async def _on_key(self, event: events.Key) -> None:
        """Runs the action of a bound key at once."""
        bound = self._bindings.key_to_bindings.get(event.key)
        if bound and not event.is_printable:
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)

    def _on_paste(self, event: events.Paste) -> None:
        """Replaces line breaks and tabs by blanks, and cuts what is too long."""
        event.stop()
        event.prevent_default()
        start, end = sorted(self.selection)
        available = LONGEST_LINE - len(self.value) + end - start
        self.replace(_BREAKS.sub(" ", event.text.strip("\r\n"))[:available], start, end)


MOST_DIGITS = 12

_Answer = TypeVar("_Answer")


class InputDialog(CrashGuard, ModalScreen[_Answer]):
    """A dialog with an Input, which also gets keys that were typed before it was there. Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "back", show=False)]

    def on_key(self, event: events.Key) -> None:
        """Passes keys to the Input while nothing has the focus yet."""
        line = self.query_one(Input)
        if self.focused is None:
            self.set_focus(line)
        if event.is_printable and event.character:
            event.stop()
            line.replace(event.character, *line.selection)

    def _action_cancel(self) -> None:
        self.dismiss(None)


class NumberDialog(InputDialog[int]):
    """Asks for a message number; its result is None if nothing was typed."""

    DEFAULT_CSS = """
    NumberDialog { align: center middle; }
    NumberDialog Input { width: 40; max-width: 100%; }
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """Yields the only widget of the dialog: a line that takes the number of a message."""
        yield TextLine(placeholder=f"message 1 to {self._rows}", allowed=r"[0-9]*", most=MOST_DIGITS)

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        self.dismiss(int(message.value) if message.value.isdecimal() else None)


class LineQuestion(NamedTuple, Generic[_Answer]):
    """A question.

    name: what is asked for. hint: shown while nothing is wrong. text: the first value. read: parses the text; raises
    UserError, which is shown, or FilterError, whose span is underlined.
    """

    name: str
    hint: str
    text: str
    read: Callable[[str], _Answer]


class LineDialog(InputDialog[tuple[_Answer]]):
    """A line at the foot of the screen; its result is a tuple of the answer, or None."""

    DEFAULT_CSS = """
    LineDialog { background: transparent; }
    LineDialog Vertical { dock: bottom; height: auto; }
    LineDialog Input { border: none; height: 1; padding: 0 1; background: $surface; }
    LineDialog Input:focus { border: none; }
    """

    def __init__(self, palette: Palette, question: LineQuestion[_Answer]) -> None:
        super().__init__()
        self.palette, self.question = palette, question
        self.hint_bar = Bar(palette, "bar", id="said")
        self.highlighter = ErrorHighlighter(palette)
        self.line = BarLine(question.text, self.highlighter)

    def compose(self) -> ComposeResult:
        """Yields hint and input line."""
        with Vertical():
            yield self.hint_bar
            yield self.line

    def on_mount(self) -> None:
        """Shows the hint, and selects the text, so that typing replaces it."""
        self.show_hint()
        self.line.select_all()

    def show_hint(self, side_hint: str = "") -> None:
        """Shows the question above the line, and `side_hint` at its right if it fits."""
        question = self.question
        self.show_above([BarPart("bar-title", f" {question.name}  "), BarPart("bar-dim", question.hint)], side_hint)

    def show_above(self, parts: Sequence[BarPart], side_hint: str) -> None:
        """Shows parts above the line, and `side_hint` at their right if both fit."""
        available = self.size.width - cell_len(side_hint) - sum(cell_len(part.text) for part in parts)
        self.hint_bar.show(parts, [BarPart("bar-dim", side_hint)] if side_hint and available >= 0 else ())

    @on(Input.Changed)
    def _change(self) -> None:
        self.handle_change()

    def handle_change(self) -> None:
        """Removes the error of the text before."""
        self.highlighter.error = None
        self.show_hint()

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        try:
            answer = self.question.read(message.value)
        except FilterError as error:
            self.show_error(error.why, _find_span(message.value, error))
        except UserError as error:
            self.show_error(str(error), None)
        else:
            self.handle_accept(message.value)
            self.dismiss((answer,))

    def show_error(self, why: str, wrong: Span | None) -> None:
        """Shows an error, and underlines its span."""
        self.show_above([BarPart("bar-error", f" {why}")], "")
        self.highlighter.error = wrong
        if wrong is not None:
            self.line.cursor_position = wrong.stop
        self.line.refresh()

    def handle_accept(self, text: str) -> None:
        """Called with the accepted text, before the line closes."""


def _find_span(typed: str, error: FilterError) -> Span | None:
    """Returns the span of a filter's error in the typed text, which ends with the filter."""
    if not typed.endswith(error.text):
        return None
    before = len(typed) - len(error.text)
    return Span(before + error.span.start, before + error.span.stop)


NARROW_TITLE = " narrow to: "


class NarrowDialog(InputDialog[None]):
    """Passes each text to `tell` as it is typed; Enter keeps it, Escape clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]
    DEFAULT_CSS = f"""
    NarrowDialog {{ background: transparent; }}
    NarrowDialog Horizontal {{ dock: bottom; height: 1; }}
    NarrowDialog Bar {{ width: {len(NARROW_TITLE)}; }}
    NarrowDialog Input {{ border: none; height: 1; width: 1fr; padding: 0; background: $surface; }}
    NarrowDialog Input:focus {{ border: none; }}
    """

    def __init__(self, palette: Palette, text: str, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._text, self._tell = text, tell
        self._title_bar = Bar(palette, "bar", id="said")

    def compose(self) -> ComposeResult:
        """Yields title and input line."""
        with Horizontal():
            yield self._title_bar
            yield TextLine(self._text, most=200)

    def on_mount(self) -> None:
        """Shows the title of the dialog above its input line."""
        self._title_bar.show([BarPart("bar-title", NARROW_TITLE)])

    @on(Input.Changed)
    def _change(self, message: Input.Changed) -> None:
        self._tell(message.value)

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.dismiss(None)

    def _action_cancel(self) -> None:
        self._tell("")
        self.dismiss(None)
