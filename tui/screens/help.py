"""The page of all keys, commands and signs: read, searched, and used, for Enter does what a line says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.crash_guard import Fenced
from tui.keys import Key
from tui.model.colouring import Rule
from tui.screens.help_lines import Said, fitting, help_lines
from tui.screens.text_line import TextLine
from tui.theme import Palette
from tui.widgets.bar import Bar, Part
from tui.widgets.cutting import Spans
from tui.widgets.listing import SIGN_HELP
from tui.widgets.pane import Pane

HINT = (("/", "search"), ("Enter", "do it"), ("Esc", "back"))


class HelpPane(Pane):
    """The lines of the page."""

    DEFAULT_CSS = "HelpPane { height: 1fr; }"

    def __init__(self, palette: Palette, said: Sequence[Said], *, id: str) -> None:
        super().__init__(palette, id=id)
        self.said = said

    @property
    def count(self) -> int:
        """See Pane."""
        return len(self.said)

    def spans(self, line: int) -> Spans:
        """See Pane."""
        return self.said[line].line

    @property
    def key(self) -> Key | None:
        """What the selected line is about."""
        return self.said[self.cursor].key if self.count else None


class Help(Fenced, ModalScreen[Key]):
    """Opens above the panes and gives the key whose line was chosen; Escape, q and ? lead back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark", "back", show=False),
        Binding("escape", "leave", show=False, priority=True),
        Binding("ctrl+c,ctrl+q", "app.quit", show=False, priority=True),
        Binding("enter", "choose", show=False),
        Binding("slash,ctrl+f", "search", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
    ]
    AUTO_FOCUS = "#help"
    DEFAULT_CSS = """
    Help { align: center middle; }
    Help Vertical { width: 104; max-width: 100%; height: 90%; padding: 0 1; background: $surface; }
    Help Vertical { border: round $accent; }
    Help Input { display: none; border: none; height: 1; padding: 0; background: $surface; }
    Help Input:focus { border: none; }
    Help.-searching Input { display: block; }
    """

    def __init__(self, palette: Palette, rules: Sequence[Rule] = ()) -> None:
        super().__init__()
        self._said = help_lines(SIGN_HELP, rules)
        self.pane = HelpPane(palette, self._said, id="help")
        self._hint = Bar(palette, "bar", id="hint")

    def compose(self) -> ComposeResult:
        """See Textual."""
        with Vertical():
            yield TextLine(placeholder="words to find")
            yield self.pane
            yield self._hint

    def on_mount(self) -> None:
        """Says the keys of this page."""
        parts = [each for key, text in HINT for each in (Part("bar-key", f" {key}"), Part("bar-dim", f" {text}  "))]
        self._hint.say(parts)

    def _action_search(self) -> None:
        self.add_class("-searching")
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _narrow(self, message: Input.Changed) -> None:
        self.pane.said = fitting(self._said, message.value)
        self.pane.cursor = 0
        self.pane.recount()

    def _action_move(self, by: int) -> None:
        self.pane.go(self.pane.cursor + by)

    @on(Input.Submitted)
    def _action_choose(self) -> None:
        key = self.pane.key
        if key is not None or not self.has_class("-searching"):
            self.dismiss(key)

    def _action_leave(self) -> None:
        """First the search, then the page."""
        if not self.has_class("-searching"):
            self.dismiss(None)
            return
        self.remove_class("-searching")
        self.query_one(Input).value = ""
        self.pane.focus()

    def _action_back(self) -> None:
        self.dismiss(None)
