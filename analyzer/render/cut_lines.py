"""Lines that fit a terminal, on their way to where they are printed."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.columns.text import ELLIPSIS
from analyzer.render.fitting import cut
from analyzer.render.objects import Out


class CutLines:
    """See Out. Lines of more than `width` cells are cut at their end and end in `mark`; blanks at an end are left out.

    What is written are whole lines, one or more.
    """

    def __init__(self, out: Out, width: int, mark: str) -> None:
        self._out, self._width, self._mark = out, width, mark

    def write(self, data: bytes, /) -> None:
        """Some lines."""
        self._out.write(b"".join(map(self._fitting, data.splitlines(keepends=False))))

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Several pieces."""
        for piece in lines:
            self.write(piece)

    def _fitting(self, line: bytes) -> bytes:
        line = line.rstrip(b" ")
        if len(line) > self._width or self._mark != ELLIPSIS:  # no character has more cells than bytes
            line = cut(line.decode(), self._width).replace(ELLIPSIS, self._mark).encode()
        return line + b"\n"
