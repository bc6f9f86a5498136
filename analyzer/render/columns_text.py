"""Lines of cells for people: columns as wide as what stands in them, figures to the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.text import safe_text

GAP = 2


def aligned(rows: Sequence[Sequence[str]], left: frozenset[int] = frozenset({0}), gap: int = GAP) -> Iterator[str]:
    """A line for each row. Columns of `left` begin together, others end together. Cells are made safe here."""
    safe = [[safe_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    for row in safe:
        cells = (
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield (" " * gap).join(cells).rstrip()
