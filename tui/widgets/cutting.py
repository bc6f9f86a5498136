"""Spans that fill a line exactly: widths are counted in cells, for a CJK character takes two.

Whatever a capture says goes through safe_text here. A line that is too long is cut at a cell and ends in an ellipsis.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

from analyzer.columns.text import ELLIPSIS, safe_text

Spans = Iterable[tuple[str, str]]
"""Style names, each with its text."""


def fit_spans(spans: Spans, width: int) -> list[tuple[str, str]]:
    """Spans of exactly `width` cells together, blanks at their end if need be."""
    found = []
    left = width
    for name, text in spans:
        if left <= 0:
            break
        safe = safe_text(text, left + 1)
        cells = cell_len(safe)
        if cells > left:
            safe, cells = cut_text(safe, left), left
        found.append((name, safe))
        left -= cells
    if left > 0:
        found.append(("", " " * left))
    return found


def cut_text(text: str, width: int) -> str:
    """`text` in exactly `width` cells, with an ellipsis in the last one if it is longer."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(width - 1, 0)) + ELLIPSIS * (width > 0)
