"""A line that is typed into, as all dialogs have it: Textual's, safe whatever is pasted into it.

Theory. It is a stock widget, which shows what it is given, and anything may have been pasted. So what it shows is made
safe a character at a time, and places stay places: the text itself is what was typed. In Textual's Input keys that do
not say a character go round by the app, and letters typed behind them overtake them; in a BarLine they act at once.
"""

from __future__ import annotations

import re
from typing import ClassVar

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from analyzer.columns.text import safe_text
from analyzer.query.filter.errors import Span
from tui.crash_guard import CrashGuard
from tui.theme import Palette

UNSAFE = "\N{REPLACEMENT CHARACTER}"


def make_safe(plain: str) -> str:
    """A text as it is shown, of the same length."""
    return plain if plain.isascii() and plain.isprintable() else "".join(map(_replace_unsafe, plain))


def _replace_unsafe(character: str) -> str:
    return character if safe_text(character) == character else UNSAFE


class _SafeHighlighter(Highlighter):
    def highlight(self, text: Text) -> None:
        """See rich."""
        text.plain = make_safe(text.plain)


class TextLine(CrashGuard, Input):
    """`text` stands in it, not selected. allowed: what may, as a regular expression; most: characters, 0: any."""

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
    """Shows a text in a style, with what is wrong in it underlined; `wrong` is nothing where nothing is."""

    def __init__(self, palette: Palette) -> None:
        self.error: Span | None = None
        self.style = Style.null()
        self._wrong_style = palette.styles["error"] + Style(underline=True)
        self._safe = ("", "")

    def highlight(self, text: Text) -> None:
        """See rich. A line is asked for several times a key, and may be long."""
        plain = text.plain
        if self._safe[0] != plain:
            self._safe = plain, make_safe(plain)
        text.plain = self._safe[1]
        text.stylize(self.style)
        if self.error is not None:
            text.stylize(self._wrong_style, *self.error)


class BarLine(TextLine):
    """A line of at most LONGEST_LINE characters. Its screen is told when the cursor moves, and of keys that help."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "help('older')", show=False),
        Binding("down", "help('newer')", show=False),
        Binding("ctrl+r", "help('search')", show=False),
        Binding("tab", "help('next')", show=False),
        Binding("shift+tab", "help('previous')", show=False),
    ]

    class CursorMove(Message):
        """The cursor stands elsewhere, or what is selected is something else."""

    def __init__(self, text: str, underlined: ErrorHighlighter) -> None:
        super().__init__(text, highlighter=underlined, most=LONGEST_LINE)
        self.error_highlighter = underlined

    def watch_selection(self) -> None:
        """See Textual."""
        self.post_message(self.CursorMove())

    def set_text(self, text: str, cursor: int) -> None:
        """Has the line say something else."""
        self.value = text[:LONGEST_LINE]
        self.cursor_position = cursor

    def _action_help(self, key: str) -> None:
        helper = getattr(self.screen, "press_help_key", None)
        if helper is not None:
            helper(key)

    async def _on_key(self, event: events.Key) -> None:
        """What a key is bound to is done now."""
        bound = self._bindings.key_to_bindings.get(event.key)
        if bound and not event.is_printable:
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)

    def _on_paste(self, event: events.Paste) -> None:
        """Line breaks and tabs become blanks; what is too much is cut off."""
        event.stop()
        event.prevent_default()
        start, end = sorted(self.selection)
        room = LONGEST_LINE - len(self.value) + end - start
        self.replace(_BREAKS.sub(" ", event.text.strip("\r\n"))[:room], start, end)
