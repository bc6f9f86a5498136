"""What was typed into a line earlier: newest first, each once, to go back and forth in.

Theory. What is being typed is the newest entry of all, without being kept: whoever looks at earlier ones comes back to
it at the end.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 200
"""Entries that are kept."""


class Earlier:
    """The entries of one kind of line."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(dict.fromkeys(entry for entry in entries if entry.strip()))[:MOST]
        self._at = -1
        self._typed = ""

    def add(self, text: str) -> None:
        """Something was typed and taken; it is the newest now, wherever it was before."""
        self.begin()
        if text.strip():
            self.entries = [text, *(entry for entry in self.entries if entry != text)][:MOST]

    def begin(self) -> None:
        """A line is opened: nothing has been gone back to."""
        self._at, self._typed = -1, ""

    def older(self, text: str) -> str | None:
        """The entry before the one that stands in the line as `text`; None at the end. What stands there is no step."""
        if self._at < 0:
            self._typed = text
        at = self._at + 1
        while at < len(self.entries) and self.entries[at] == text:
            at += 1
        return self._go(at) if at < len(self.entries) else None

    def newer(self) -> str | None:
        """The entry after it, at last what was being typed; None behind that."""
        if self._at < 0:
            return None
        return self._go(self._at - 1)

    def _go(self, at: int) -> str:
        self._at = at
        return self._typed if at < 0 else self.entries[at]
