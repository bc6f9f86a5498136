"""A canvas of Braille dots: two columns and four lines of dots in each cell, for lines and columns of charts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.columns.arrays import Bools, Ints

ACROSS, DOWN = 2, 4
"""The dots of a cell."""

_BLANK = 0x2800
_WEIGHTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The bits of a cell's dots, by line and column."""


SIGNS = (" ", *(chr(_BLANK + bits) for bits in range(1, 256)))
"""The sign of a cell by its bits."""


class BrailleCanvas:
    """Dots of `width` by `height` cells; line 0 is at the top."""

    def __init__(self, width: int, height: int) -> None:
        self.dots: Bools = np.zeros((height * DOWN, width * ACROSS), bool)

    def draw_columns(self, heights: Sequence[int] | Ints) -> None:
        """Draws a column of dots upwards from the bottom for each dot of the width."""
        tall, wide = self.dots.shape
        mine = np.zeros(wide, np.int64)
        mine[: len(heights)] = heights[:wide]
        self.dots |= np.arange(tall)[:, None] >= tall - mine

    def draw_curve(self, heights: Ints) -> None:
        """Draws a curve through a height for each dot of the width, counted from the bottom; -1 interrupts it."""
        tall, wide = self.dots.shape
        mine = np.full(wide, -1, np.int64)
        mine[: len(heights)] = heights[:wide]
        before = np.concatenate((mine[:1], mine[:-1]))
        before = np.where(before < 0, mine, before)
        levels = np.arange(tall - 1, -1, -1)[:, None]
        self.dots |= (levels >= np.minimum(before, mine)) & (levels <= np.maximum(before, mine)) & (mine >= 0)

    def make_cells(self) -> Ints:
        """Returns the bits of each cell, shape (height, width)."""
        tall, wide = self.dots.shape
        cells = self.dots.reshape(tall // DOWN, DOWN, wide // ACROSS, ACROSS)
        found: Ints = np.einsum("hdwa,da->hw", cells.astype(np.int64), _WEIGHTS)
        return found

    def make_lines(self) -> list[str]:
        """Returns a text for each line of cells."""
        return ["".join([SIGNS[bits] for bits in row]) for row in self.make_cells().tolist()]
