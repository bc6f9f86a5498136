"""A line that is typed into, as all dialogs have it: Textual's, safe whatever is pasted into it.

Theory. It is a stock widget, which shows what it is given, and anything may have been pasted. So what it shows is made
safe a character at a time, and places stay places: the text itself is what was typed.
"""

from __future__ import annotations

from rich.highlighter import Highlighter
from rich.text import Text
from textual.widgets import Input

from analyzer.text import safe_text
from tui.crash_guard import Fenced

UNSAFE = "\N{REPLACEMENT CHARACTER}"


def shown(plain: str) -> str:
    """A text as it is shown, of the same length."""
    return plain if plain.isascii() and plain.isprintable() else "".join(map(_shown, plain))


def _shown(character: str) -> str:
    return character if safe_text(character) == character else UNSAFE


class _Safe(Highlighter):
    def highlight(self, text: Text) -> None:
        """See rich."""
        text.plain = shown(text.plain)


class TextLine(Fenced, Input):
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
            highlighter=highlighter or _Safe(),
            restrict=allowed,
            max_length=most,
            select_on_focus=False,
        )
