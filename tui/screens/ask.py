"""What asks the user for something: a small window for the number of a message, a line for a filter or a search.

Theory. The line reads what was typed before it closes: what is wrong is said above it and underlined in it, and the
text stays to be mended. What it shows of the text goes through safe_text a character at a time, so that places stay
places: a filter may have been pasted, and anything may be in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from analyzer.errors import UserError
from analyzer.filter.errors import FilterError, Span
from analyzer.text import safe_text
from tui.theme import Palette
from tui.widgets.bar import Bar, Part

LONGEST, LONGEST_LINE = 12, 10_000
UNSAFE = "\N{REPLACEMENT CHARACTER}"

_Answer = TypeVar("_Answer")


class Asking(ModalScreen[_Answer | None]):
    """Has an Input; what is typed before that is there is typed into it. Escape gives None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "back", show=False)]

    def on_key(self, event: events.Key) -> None:
        """Keys come here first while nothing has the focus yet; those of a line that has it do not say a character."""
        line = self.query_one(Input)
        if self.focused is None:
            self.set_focus(line)
        if event.is_printable and event.character:
            event.stop()
            line.replace(event.character, *line.selection)

    def _action_cancel(self) -> None:
        self.dismiss(None)


class AskNumber(Asking[int]):
    """Gives the number that was typed; None when nothing was."""

    DEFAULT_CSS = """
    AskNumber { align: center middle; }
    AskNumber Input { width: 40; max-width: 100%; }
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield Input(
            placeholder=f"message 1 to {self._rows}", restrict=r"[0-9]*", max_length=LONGEST, select_on_focus=False
        )

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        self.dismiss(int(message.value) if message.value.isdecimal() else None)


class Underlined(Highlighter):
    """Shows a text with what is wrong in it underlined; `wrong` is nothing where nothing is."""

    def __init__(self, palette: Palette) -> None:
        self.wrong: Span | None = None
        self._style = palette.styles["error"] + Style(underline=True)

    def highlight(self, text: Text) -> None:
        """See rich."""
        text.plain = "".join(each if safe_text(each) == each else UNSAFE for each in text.plain)
        if self.wrong is not None:
            text.stylize(self._style, *self.wrong)


class Question(NamedTuple, Generic[_Answer]):
    """name: what is asked for. hint: what the line says while nothing is wrong. text: what stands there at first.

    read: makes an answer of what was typed. Raises UserError, which is said; the place of a FilterError is underlined.
    """

    name: str
    hint: str
    text: str
    read: Callable[[str], _Answer]


class AskLine(Asking[tuple[_Answer]]):
    """A line at the foot of the screen; gives the answer alone in a tuple, None when it was left."""

    DEFAULT_CSS = """
    AskLine { background: transparent; }
    AskLine Vertical { dock: bottom; height: 2; }
    AskLine Input { border: none; height: 1; padding: 0 1; background: $surface; }
    AskLine Input:focus { border: none; }
    """

    def __init__(self, palette: Palette, question: Question[_Answer]) -> None:
        super().__init__()
        self._question = question
        self._said = Bar(palette, "bar", id="said")
        self._underlined = Underlined(palette)

    def compose(self) -> ComposeResult:
        """See Textual."""
        with Vertical():
            yield self._said
            text = self._question.text
            yield Input(text, highlighter=self._underlined, max_length=LONGEST_LINE, select_on_focus=False)

    def on_mount(self) -> None:
        """Says what is asked for. What is typed takes the place of what stands there."""
        self._say_hint()
        self.query_one(Input).select_all()

    def _say_hint(self) -> None:
        question = self._question
        self._said.say([Part("bar-title", f" {question.name}  "), Part("bar-dim", question.hint)])

    @on(Input.Changed)
    def _mend(self) -> None:
        self._underlined.wrong = None
        self._say_hint()

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        try:
            answer = self._question.read(message.value)
        except FilterError as error:
            self._refuse(message.input, error.why, _span_in(message.value, error))
        except UserError as error:
            self._refuse(message.input, str(error), None)
        else:
            self.dismiss((answer,))

    def _refuse(self, line: Input, why: str, wrong: Span | None) -> None:
        self._said.say([Part("bar-error", f" {why}")])
        self._underlined.wrong = wrong
        if wrong is not None:
            line.cursor_position = wrong.stop
        line.refresh()


def _span_in(typed: str, error: FilterError) -> Span | None:
    """The place in what was typed, of which the filter is the end."""
    if not typed.endswith(error.text):
        return None
    before = len(typed) - len(error.text)
    return Span(before + error.span.start, before + error.span.stop)
