"""What threads tell the main screen: what was read or decoded for it. Filters and searches have their own messages."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from dissectors.lesson import Standing
from tui.loader import Growth
from tui.model.cells import Said
from tui.model.detail import Detail


class Grew(Message):
    """More has been read."""

    def __init__(self, growth: Growth) -> None:
        super().__init__()
        self.growth = growth


class Ended(Message):
    """The input has ended, or an error ended the reading."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error


class Decoded(Message):
    """A long message has been decoded."""

    def __init__(self, detail: Detail) -> None:
        super().__init__()
        self.detail = detail


class SaidLater(Message):
    """Bodies of long messages have been decoded for the list."""

    def __init__(self, said: dict[int, Said]) -> None:
        super().__init__()
        self.said = said


class Learned(Message):
    """Names have been learned, of these kinds."""

    def __init__(self, kinds: set[str]) -> None:
        super().__init__()
        self.kinds = kinds


class Stood(Message):
    """It has been found out what a message's session holds."""

    def __init__(self, row: int, standing: Standing) -> None:
        super().__init__()
        self.row, self.standing = row, standing


class Done(Message):
    """Work that a command asked for has been done; `then` deals with what came of it."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


class Nothing(Message):
    """The work found nothing to say."""
