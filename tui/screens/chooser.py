"""A dialog with a list of choices that typing narrows: menus, the palette, themes, names; and a confirmation.

Theory. A choice must contain all words that are typed, in any order. A choice with that key comes first, then those in
which each word begins a word of their text, then those of which only other words match. The cursor keys move in the
list while the input line has the focus. A confirmation has no line: pressing the same key again, or Enter, confirms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from analyzer.render.lines import Line, strip_styles
from tui.crash_guard import CrashGuard
from tui.screens.input_line import TextLine
from tui.theme import Palette
from tui.widgets.bars import Bar, BarPart
from tui.widgets.wrapping import WrappingPane

_Value = TypeVar("_Value")

MOST_CHOICES = 18
"""The number of visible choices at most."""

AROUND = 4
"""The lines of the dialog besides the choices: border, title, input line."""


class Choice(NamedTuple, Generic[_Value]):
    """A choice.

    line: its text. key: the text at its right, such as a key. words: other words that find it.
    """

    line: Line
    value: _Value
    key: str = ""
    words: str = ""


class ChoicePane(WrappingPane):
    """The lines of the matching choices."""

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self.can_focus = False
        self.lines: list[tuple[Line, str]] = []
        self.chosen_by_mouse = False

    @property
    def item_count(self) -> int:
        """The number of matching choices."""
        return len(self.lines)

    @property
    def has_focus(self) -> bool:  # type: ignore[override] # what is typed goes to the line, and yet this one is chosen
        """True, so that the cursor looks active while the input line has the focus."""
        return True

    def get_item(self, item: int) -> tuple[Line, str]:
        """Returns the text of a choice, and the text at its right."""
        return self.lines[item]

    def handle_click(self, line: int, column: int) -> None:
        """Chooses the clicked line and closes the dialog."""
        assert isinstance(self.screen, Chooser)
        self.screen.choose()


class Chooser(CrashGuard, ModalScreen[tuple[_Value]]):
    """A dialog of choices; its result is a tuple of the chosen value, or None after Escape.

    at: the choice selected first. otherwise: makes a choice of what was typed if no other one matches.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down,ctrl+n", "move(1)", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", show=False, priority=True),
        Binding("pagedown", f"move({MOST_CHOICES - 1})", show=False, priority=True),
        Binding("pageup", f"move({1 - MOST_CHOICES})", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Chooser { align: center middle; }
    Chooser Vertical { width: 76; max-width: 100%; height: auto; max-height: 100%; padding: 0 1; }
    Chooser Vertical { border: round $accent; background: $surface; }
    Chooser Input { border: none; height: 1; padding: 0; background: $surface; }
    Chooser Input:focus { border: none; }
    """

    def __init__(
        self,
        palette: Palette,
        title: str,
        choices: Sequence[Choice[_Value]],
        at: int = 0,
        otherwise: Callable[[str], Choice[_Value]] | None = None,
    ) -> None:
        super().__init__()
        self._otherwise = otherwise
        self._choices, self._left, self._at = choices, list(choices), at
        self._typed = ""
        self._title_bar = Bar(palette, "bar", id="said")
        self._title = title
        self.pane = ChoicePane(palette, id="choices")
        self.pane.styles.height = max(1, min(len(choices), MOST_CHOICES))

    def compose(self) -> ComposeResult:
        """Yields title, input line and choices."""
        with Vertical():
            yield self._title_bar
            yield TextLine(placeholder="type to find")
            yield self.pane

    def on_mount(self) -> None:
        """Shows the title and all choices, with the cursor on the current one."""
        self._show(self._at)

    def on_resize(self, event: events.Resize) -> None:
        """Limits the list to the height of the terminal, and makes it as high as its lines need."""
        self.pane.styles.max_height = max(event.size.height - AROUND, 1)
        self.call_after_refresh(self._fit_height)

    def _fit_height(self) -> None:
        if len(self._left) == len(self._choices):
            self.pane.styles.height = max(1, min(self.pane.count, MOST_CHOICES))

    @on(Input.Changed)
    def _narrow(self, message: Input.Changed) -> None:
        self._typed = message.value
        self._list_left()
        self._show(0)

    def add_choices(self, more: Sequence[Choice[_Value]]) -> None:
        """Adds choices behind the others; the selected one stays selected unless a better one was typed."""
        self._choices = [*self._choices, *more]
        self._list_left()
        self.pane.styles.height = max(1, min(len(self._choices), MOST_CHOICES))
        if self.is_attached:
            self._show(self.pane.item)

    def _list_left(self) -> None:
        """Lists the choices that match what was typed, the best first."""
        words = self._typed.lower().split()
        left = [each for each in self._choices if all(word in _make_search_text(each) for word in words)]
        if words and not left and self._otherwise is not None:
            left = [self._otherwise(self._typed.strip())]
        self._left = sorted(left, key=lambda each: _rank_choice(each, self._typed.strip(), words)) if words else left

    def _show(self, at: int) -> None:
        self.pane.lines = [(each.line, each.key) for each in self._left]
        nothing = [] if self._left else [BarPart("bar-warning", ": nothing matches")]
        self._title_bar.show([BarPart("bar-title", f" {self._title}"), *nothing])
        self.pane.renew_items()
        self.pane.place_item(at)

    def _action_move(self, by: int) -> None:
        self.pane.place_item(self.pane.item + by)

    @on(Input.Submitted)
    def choose(self) -> None:
        """Closes the dialog with the selected choice."""
        if self._left:
            self.dismiss((self._left[self.pane.item].value,))

    def _action_cancel(self) -> None:
        self.dismiss(None)


def _make_search_text(choice: Choice[_Value]) -> str:
    return f"{strip_styles(choice.line)} {choice.key} {choice.words}".lower()


def _rank_choice(choice: Choice[_Value], typed: str, words: Sequence[str]) -> int:
    """Returns how well a choice matches what was typed, 0 for best."""
    if typed in choice.key.split(", "):
        return 0
    text = f" {strip_styles(choice.line)} ".lower()
    if all(f" {word}" in text for word in words):
        return 1
    return 2 if all(f" {word}" in f" {choice.words}" for word in words) else 3


Act = Callable[[], object]


class ConfirmDialog(Chooser[Act]):
    """A dialog whose result is the act to do.

    choices: texts and acts, the one asked for first. keys: Textual's names, with commas, of keys that choose the first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", show=False, priority=True)]
    DEFAULT_CSS = "ConfirmDialog { align: center middle; }"

    def __init__(self, palette: Palette, title: str, choices: Sequence[tuple[str, Act]], keys: str) -> None:
        lines = [Choice((("", text),), act) for text, act in choices]
        first = keys.partition(",")[0]
        super().__init__(palette, title, [lines[0]._replace(key=f"{first}, Enter"), *lines[1:]])
        self._bindings.bind(keys, "yes", show=False, priority=True)

    def compose(self) -> ComposeResult:
        """Yields title and choices, without an input line that would take the keys."""
        with Vertical():
            yield self._title_bar
            yield self.pane

    def _action_choose(self) -> None:
        self.choose()

    def _action_yes(self) -> None:
        self.dismiss((self._choices[0].value,))
