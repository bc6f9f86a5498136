"""The lines of the hex pane: as many bytes as fit into the width, and where on a line each byte stands.

A line looks as analyzer.render.hexdump makes it: offset, two blanks, the bytes in hex with a wider gap in the middle,
then the same bytes as characters between bars. Only the lines on the screen are ever made.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analyzer.decode.masking import Span
from analyzer.render.hexdump import hexdump_line
from analyzer.render.lines import Line

WIDTHS = (16, 8, 4, 2, 1)
"""Bytes on a line, the widest first."""

GAP_AFTER = 8
"""Bytes before the wider gap."""


@dataclass(frozen=True, slots=True)
class HexRows:
    """One source's lines: `width` bytes each, offsets in `digits` digits; `masks` are spans apart, in order."""

    data: bytes
    masks: Sequence[Span]
    width: int
    digits: int

    @classmethod
    def fit(cls, data: bytes, masks: Iterable[Span], columns: int) -> HexRows:
        """As many bytes on a line as `columns` cells hold."""
        digits = max(4, len(f"{max(len(data) - 1, 0):x}"))
        width = next((width for width in WIDTHS if _count_columns(width, digits) <= columns), WIDTHS[-1])
        return cls(data, _merge_spans(masks), width, digits)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return -(-len(self.data) // self.width)

    def make_line(self, number: int, highlight: Span | None) -> Line:
        """One line."""
        at = number * self.width
        end = at + self.width
        first = bisect_right(self.masks, at, key=lambda span: span[1])
        masks = self.masks[first : bisect_left(self.masks, end, key=lambda span: span[0])]
        return hexdump_line(at, self.data[at:end], masks, highlight, self.width, self.digits)

    def find_columns(self, index: int) -> tuple[int, int]:
        """Where byte `index` of a line stands: the first of its two hex cells, and its character's cell."""
        return self.digits + 2 + _count_hex_cells(index), self._text + index

    def find_byte(self, line: int, column: int) -> int | None:
        """The offset of the byte under a cell; None where there is none."""
        for index in range(self.width):
            first, text = self.find_columns(index)
            if column in (first, first + 1, text):
                at = line * self.width + index
                return at if at < len(self.data) else None
        return None

    @property
    def _text(self) -> int:
        return self.digits + 2 + _count_hex_cells(self.width) + 2


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The same bytes as spans that do not touch, in order, so that those of a line can be found by bisection."""
    found: list[Span] = []
    for first, end in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((first, end))
    return found


def _count_hex_cells(count: int) -> int:
    """Cells of `count` bytes in hex, each with the blank behind it."""
    return 3 * count + (count >= GAP_AFTER)


def _count_columns(width: int, digits: int) -> int:
    return digits + 2 + _count_hex_cells(width) + 2 + width + 1
