"""The page of all keys and signs, made of their tables."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from analyzer.render.lines import Line
from tui.keys import KEYS, TITLES
from tui.theme import Palette
from tui.widgets.listing import SIGN_HELP
from tui.widgets.paint import Spans
from tui.widgets.pane import Pane

KEY_WIDTH = 14


def help_lines() -> list[Line]:
    """All that is to be said."""
    lines: list[Line] = []
    for where, title in TITLES.items():
        lines += [(("title", title),)]
        lines += [_line(key.shown, key.help) for key in KEYS if key.where == where]
        lines.append(())
    lines += [(("title", "Signs in the list"),), *(_line(sign, text) for sign, text in SIGN_HELP), ()]
    lines.append((("title", "Mouse"),))
    lines.append(_line("click", "select; on a mark, fold; on a tab, another source; on a key below, press it"))
    lines.append(_line("wheel", "scroll"))
    return lines


def _line(keys: str, text: str) -> Line:
    return (("name", f"  {keys:<{KEY_WIDTH}}"), ("", text))


class HelpPane(Pane):
    """The lines of the page."""

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(palette, id=id)
        self._lines = help_lines()

    @property
    def count(self) -> int:
        """See Pane."""
        return len(self._lines)

    def spans(self, line: int) -> Spans:
        """See Pane."""
        return self._lines[line]


class Help(ModalScreen[None]):
    """Opens above the panes; Escape, q and ? lead back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "back", "back", show=False)]
    AUTO_FOCUS = "#help"
    DEFAULT_CSS = """
    Help { align: center middle; }
    Help Vertical { width: 88; max-width: 100%; height: 90%; padding: 0 1; background: $surface; }
    Help Vertical { border: round $accent; }
    """

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette

    def compose(self) -> ComposeResult:
        """See Textual."""
        with Vertical():
            yield HelpPane(self._palette, id="help")

    def _action_back(self) -> None:
        self.dismiss(None)
