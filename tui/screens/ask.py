"""The small window that asks for the number of a message."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

LONGEST = 12


class AskNumber(ModalScreen[int | None]):
    """Gives the number that was typed; None when nothing was."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "back", show=False)]
    DEFAULT_CSS = """
    AskNumber { align: center middle; }
    AskNumber Input { width: 40; max-width: 100%; }
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """See Textual."""
        yield Input(placeholder=f"message 1 to {self._rows}", restrict=r"[0-9]*", max_length=LONGEST)

    @on(Input.Submitted)
    def _submit(self, message: Input.Submitted) -> None:
        self.dismiss(int(message.value) if message.value.isdecimal() else None)

    def _action_cancel(self) -> None:
        self.dismiss(None)
