"""The line that asks for a capture: Tab completes paths, and Up and Down bring recent ones."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.columns.text import safe_text
from analyzer.session import Session
from tui.model.input_advice import InputHistory
from tui.model.path_completion import complete_path
from tui.screens.input_line import LineDialog, LineQuestion
from tui.theme import Palette
from tui.widgets.bars import BarPart


class OpenDialog(LineDialog[Session]):
    """A line for the name of a file; its result is a session of it that was not read yet.

    recent: paths of earlier captures, the newest first.
    """

    def __init__(self, palette: Palette, question: LineQuestion[Session], recent: Sequence[str]) -> None:
        super().__init__(palette, question)
        self._history = InputHistory(recent)

    def press_help_key(self, key: str) -> None:
        """Completes the path, or brings an older or newer one."""
        text = self.line.value
        if key == "older":
            self._set(self._history.go_older(text))
        elif key == "newer":
            self._set(self._history.go_newer())
        elif key == "next":
            found = complete_path(text)
            self._set(found.text)
            if len(found.names) != 1:
                self._show_names(found.names)

    def _set(self, text: str | None) -> None:
        if text is not None:
            self.line.set_text(text, len(text))

    def _show_names(self, names: Sequence[str]) -> None:
        """Shows as many names as fit, after the change of the text has shown the question again."""
        text = safe_text("  ".join(names), max(self.size.width - 2, 1)) if names else "no name begins like this"
        self.call_after_refresh(self.show_above, [BarPart("bar-dim", f" {text}")], "")
