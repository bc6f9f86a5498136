"""The border between text and the terminal: lines of (style name, text) become Strips here and nowhere else.

Theory. Whatever a capture says goes through safe_text as it becomes a Segment; Segments know no markup, so `[/red]` and
`[@click=...]` are text. Widths are counted in cells, for a CJK character takes two; a line that is too long is cut at a
cell and ends in an ellipsis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from analyzer.text import ELLIPSIS, safe_text

Spans = Iterable[tuple[str, str]]
Styles = Mapping[str, Style]


def strip(spans: Spans, width: int, styles: Styles, over: Style | None = None) -> Strip:
    """One line of exactly `width` cells; `over` is laid over all of it."""
    segments: list[Segment] = []
    left = width
    for name, text in spans:
        if left <= 0:
            break
        safe = safe_text(text, left + 1)
        cells = cell_len(safe)
        if cells > left:
            safe, cells = cut(safe, left), left
        segments.append(Segment(safe, _style(styles, name, over)))
        left -= cells
    if left > 0:
        segments.append(Segment(" " * left, _style(styles, "", over)))
    return Strip(segments, max(width, 0))


def cut(text: str, width: int) -> str:
    """`text` in exactly `width` cells, with an ellipsis in the last one if it is longer."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(width - 1, 0)) + ELLIPSIS * (width > 0)


def overlaid(line: Strip, places: Iterable[tuple[int, int]], style: Style) -> Strip:
    """A strip with another style laid over some of its cells, given as (first, end)."""
    for first, end in places:
        if 0 <= first < end <= line.cell_length:
            marked = Strip([Segment(part.text, (part.style or Style.null()) + style) for part in line.crop(first, end)])
            line = Strip.join([part for part in (line.crop(0, first), marked, line.crop(end)) if part.cell_length])
    return line


def _style(styles: Styles, name: str, over: Style | None) -> Style:
    return styles[name] if over is None else styles[name] + over
