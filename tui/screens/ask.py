"""What asks the user for something: a small window for the number of a message, a line for anything else.

Theory. The line reads what was typed before it closes: what is wrong is said above it and underlined in it, and the
text stays to be mended. The line for filters and searches, which helps while one types, is tui.screens.filter_bar. A
line at the foot of a page tells each text that stands in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from analyzer.errors import UserError
from analyzer.query.filter.errors import FilterError, Span
from tui.crash_guard import CrashGuard
from tui.screens.text_line import BarLine, ErrorHighlighter, TextLine
from tui.theme import Palette
from tui.widgets.bar import Bar, BarPart

MOST_DIGITS = 12

_Answer = TypeVar("_Answer")


class InputDialog(CrashGuard, ModalScreen[_Answer]):
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


class NumberDialog(InputDialog[int]):
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
        yield TextLine(placeholder=f"message 1 to {self._rows}", allowed=r"[0-9]*", most=MOST_DIGITS)

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        self.dismiss(int(message.value) if message.value.isdecimal() else None)


class LineQuestion(NamedTuple, Generic[_Answer]):
    """name: what is asked for. hint: what the line says while nothing is wrong. text: what stands there at first.

    read: makes an answer of what was typed. Raises UserError, which is said; the place of a FilterError is underlined.
    """

    name: str
    hint: str
    text: str
    read: Callable[[str], _Answer]


class LineDialog(InputDialog[tuple[_Answer]]):
    """A line at the foot of the screen; gives the answer alone in a tuple, None when it was left."""

    DEFAULT_CSS = """
    AskLine { background: transparent; }
    AskLine Vertical { dock: bottom; height: auto; }
    AskLine Input { border: none; height: 1; padding: 0 1; background: $surface; }
    AskLine Input:focus { border: none; }
    """

    def __init__(self, palette: Palette, question: LineQuestion[_Answer]) -> None:
        super().__init__()
        self.palette, self.question = palette, question
        self.hint_bar = Bar(palette, "bar", id="said")
        self.highlighter = ErrorHighlighter(palette)
        self.line = BarLine(question.text, self.highlighter)

    def compose(self) -> ComposeResult:
        """See Textual."""
        with Vertical():
            yield self.hint_bar
            yield self.line

    def on_mount(self) -> None:
        """Says what is asked for. What is typed takes the place of what stands there."""
        self.show_hint()
        self.line.select_all()

    def show_hint(self, beside: str = "") -> None:
        """What is asked for stands above the line; at the right what there is room for."""
        question = self.question
        self.show_above([BarPart("bar-title", f" {question.name}  "), BarPart("bar-dim", question.hint)], beside)

    def show_above(self, parts: Sequence[BarPart], beside: str) -> None:
        """Something stands above the line; what is beside it at the right only if both are seen whole."""
        room = self.size.width - cell_len(beside) - sum(cell_len(part.text) for part in parts)
        self.hint_bar.show(parts, [BarPart("bar-dim", beside)] if beside and room >= 0 else ())

    @on(Input.Changed)
    def _change(self) -> None:
        self.handle_change()

    def handle_change(self) -> None:
        """Another text stands there: what was said of the one before is not true any more."""
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
        """The text is wrong."""
        self.show_above([BarPart("bar-error", f" {why}")], "")
        self.highlighter.error = wrong
        if wrong is not None:
            self.line.cursor_position = wrong.stop
        self.line.refresh()

    def handle_accept(self, text: str) -> None:
        """The text is right, and the line closes."""


def _find_span(typed: str, error: FilterError) -> Span | None:
    """The place in what was typed, of which the filter is the end."""
    if not typed.endswith(error.text):
        return None
    before = len(typed) - len(error.text)
    return Span(before + error.span.start, before + error.span.stop)


NARROW_TITLE = " narrow to: "


class NarrowDialog(InputDialog[None]):
    """Tells each text that stands in the line; Enter leaves it so, Escape leaves nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]
    DEFAULT_CSS = f"""
    Narrow {{ background: transparent; }}
    Narrow Horizontal {{ dock: bottom; height: 1; }}
    Narrow Bar {{ width: {len(NARROW_TITLE)}; }}
    Narrow Input {{ border: none; height: 1; width: 1fr; padding: 0; background: $surface; }}
    Narrow Input:focus {{ border: none; }}
    """

    def __init__(self, palette: Palette, text: str, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._text, self._tell = text, tell
        self._said = Bar(palette, "bar", id="said")

    def compose(self) -> ComposeResult:
        """See Textual."""
        with Horizontal():
            yield self._said
            yield TextLine(self._text, most=200)

    def on_mount(self) -> None:
        """Says what it is for."""
        self._said.show([BarPart("bar-title", NARROW_TITLE)])

    @on(Input.Changed)
    def _change(self, message: Input.Changed) -> None:
        self._tell(message.value)

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.dismiss(None)

    def _action_cancel(self) -> None:
        self._tell("")
        self.dismiss(None)
