"""The border between text and the terminal: lines of (style name, text) become Strips here and nowhere else.

Theory. Whatever a capture says goes through safe_text as it becomes a Segment; Segments know no markup, so `[/red]` and
`[@click=...]` are text. Widths are counted in cells, for a CJK character takes two; a line that is too long is cut at a
cell and ends in an ellipsis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.widgets.cutting import Spans, fit_spans

Styles = Mapping[str, Style]


def make_strip(spans: Spans, width: int, styles: Styles, over: Style | None = None) -> Strip:
    """One line of exactly `width` cells; `over` is laid over all of it."""
    return Strip([Segment(text, _style(styles, name, over)) for name, text in fit_spans(spans, width)], max(width, 0))


def overlay_strip(line: Strip, places: Iterable[tuple[int, int]], style: Style) -> Strip:
    """A strip with another style laid over some of its cells, given as (first, end)."""
    for first, end in places:
        if 0 <= first < end <= line.cell_length:
            marked = Strip([Segment(part.text, (part.style or Style.null()) + style) for part in line.crop(first, end)])
            line = Strip.join([part for part in (line.crop(0, first), marked, line.crop(end)) if part.cell_length])
    return line


def _style(styles: Styles, name: str, over: Style | None) -> Style:
    return styles[name] if over is None else styles[name] + over
