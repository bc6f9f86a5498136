"""A frame that a protocol reads by hand, with sizes of four bytes: its values are plain, or symbolic in frame_template.

Theory. One function of a protocol reads a Frame, so the layout is described once. The function compares values, and the
frame reads them. The function also declares whatever it compares with the bytes, since a frame with symbolic values
stands for many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dissectors.wire.budget import Budget
from dissectors.wire.secret import Secret

Read: TypeAlias = Callable[[bytes, Budget], Any]
"""The value of a content. Raises one of emit.FAILURES."""


class Frame:
    """The bytes from `begin` to `end` of `data`. Its methods raise one of emit.FAILURES."""

    __slots__ = ("begin", "data", "end")

    def __init__(self, data: bytes, begin: int, end: int) -> None:
        self.data, self.begin, self.end = data, begin, end

    def specialise(self, value: Any) -> Any:
        """Returns the value itself, which is the same in all such frames."""
        return value

    def leave_open(self, at: int) -> None:
        """Four bytes may be any."""

    def declare_size(self, at: int, begin: int, end: int, bias: int = 0, code: str = "I") -> None:
        """Declares that the number at a place, less `bias`, counts the bytes from `begin` to `end`."""

    def text(self, begin: int, end: int, name: str = "") -> Any:
        """Returns a text behind its size; `name` tells whether it is a secret."""
        return self.data[begin:end].decode()

    def hide(self, text: Any) -> Secret:
        """Returns a text as a secret."""
        return Secret(text)

    def convert(self, text: Any, function: Callable[[str], object], bounds: tuple[int, int] | None) -> object:
        """Returns what a function makes of a text; within bounds, if that is a number. None: it is none."""
        return function(text)

    def json(self, at: int, stop: int, decode: Callable[[bytes], Any]) -> Any:
        """Returns the JSON object between two places."""
        return decode(self.data[at:stop])

    def rest(self, at: int) -> Any:
        """Returns the bytes from a place to the end."""
        return self.data[at : self.end]

    def content(self, at: int, read: Read) -> Any:
        """Returns what `read` decodes from the bytes from a place to the end."""
        return read(self.data[at : self.end], Budget())
