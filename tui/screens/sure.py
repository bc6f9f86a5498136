"""A question before something is lost: the same key once more, or Enter, says yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from tui.screens.chooser import Choice, Chooser
from tui.theme import Palette

Act = Callable[[], object]


class Sure(Chooser[Act]):
    """Gives what is to be done. choices: what there is to do, for people, and the act; the first is what was wanted.

    keys: Textual's names of those that choose the first, with commas.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", show=False, priority=True)]
    DEFAULT_CSS = "Sure { align: center middle; }"

    def __init__(self, palette: Palette, title: str, choices: Sequence[tuple[str, Act]], keys: str) -> None:
        lines = [Choice((("", text),), act) for text, act in choices]
        first = keys.partition(",")[0]
        super().__init__(palette, title, [lines[0]._replace(beside=f"{first}, Enter"), *lines[1:]])
        self._bindings.bind(keys, "yes", show=False, priority=True)

    def compose(self) -> ComposeResult:
        """See Chooser; a line to type into would take the keys."""
        with Vertical():
            yield self._said
            yield self.pane

    def _action_choose(self) -> None:
        self.choose()

    def _action_yes(self) -> None:
        self.dismiss((self._choices[0].value,))
