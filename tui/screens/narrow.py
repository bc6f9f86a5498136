"""A line at the foot of a page: what is typed into it makes the page's table shorter at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from tui.screens.ask import Asking
from tui.screens.text_line import TextLine
from tui.theme import Palette
from tui.widgets.bar import Bar, Part

TITLE = " narrow to: "


class Narrow(Asking[None]):
    """Tells each text that stands in the line; Enter leaves it so, Escape leaves nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]
    DEFAULT_CSS = f"""
    Narrow {{ background: transparent; }}
    Narrow Horizontal {{ dock: bottom; height: 1; }}
    Narrow Bar {{ width: {len(TITLE)}; }}
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
        self._said.say([Part("bar-title", TITLE)])

    @on(Input.Changed)
    def _change(self, message: Input.Changed) -> None:
        self._tell(message.value)

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.dismiss(None)

    def _action_cancel(self) -> None:
        self._tell("")
        self.dismiss(None)
