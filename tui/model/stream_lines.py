"""The line of a stream in the list: who it is, its rate over the capture with errors marked, how much, and addresses.

Theory. The client's own name comes first, because it tells streams apart; addresses come last, because most streams
share them. Columns are aligned, so that sparklines can be compared. A part of the time with errors has another
style, and the number of errors stands behind the number of messages, for terminals without colours.
"""

from __future__ import annotations

from itertools import groupby

from analyzer.columns.text import safe_text
from analyzer.render.amounts import format_counted
from analyzer.render.durations import format_duration
from analyzer.render.sparkline import draw_sparkline
from tui.model.drawing import cut_text
from tui.model.row_cells import StreamCells
from tui.model.row_spans import Span
from tui.model.stream_activity import CELLS, StreamActivity

WHO, SHORT_WHO = 24, 16
"""The cells of the client's name, and in a list of fewer than NARROW cells."""

NARROW = 80

FIRST_ROWS = 8
"""The first messages of a stream that may tell who the client is."""

MESSAGES, ERRORS, DURATION = 12, 5, 6
"""The cells of the number of messages, of that of errors, and of the duration."""


def make_stream_spans(
    stream: StreamCells, digits: int, *, opened: bool, activity: StreamActivity | None = None, width: int = NARROW
) -> list[Span]:
    """Returns the line of a stream.

    digits: the cells of its number. activity: None while it has not been counted. width: the cells of the list.
    """
    there = stream.messages > stream.evicted
    mark = " " if not there else "▾" if opened else "▸"
    style = "value" if there else "dim"
    who = cut_text(safe_text(stream.who or stream.protocol, WHO + 1), WHO if width >= NARROW else SHORT_WHO)
    spans: list[Span] = [
        ("name", f"{mark} "),
        (style, f"{stream.number:>{digits}} "),
        ("title" if stream.who and there else "dim", f"{who} "),
        *_make_sparkline(activity),
    ]
    messages = format_counted(stream.messages, "message")
    if stream.matches is not None:
        messages = f"{stream.matches:,} of {messages}"
    spans.append(("dim", f" {messages:>{MESSAGES}}"))
    errors = 0 if activity is None else sum(activity.errors)
    spans.append(("error", f"{f'!{errors:,}' if errors else '':>{ERRORS}}"))
    if stream.evicted:
        spans.append(("dim", f" ({stream.evicted:,} left memory)"))
    spans.append(("dim", f" {format_duration(stream.duration):>{DURATION}}  "))
    return [*spans, (style, stream.addresses), ("dim", f"  {stream.protocol}" if stream.who else "")]


def _make_sparkline(activity: StreamActivity | None) -> list[Span]:
    if activity is None:
        return [("", " " * CELLS)]
    found: list[Span] = []
    signs = draw_sparkline(activity.counts)
    for failed, cells in groupby(range(CELLS), lambda cell: bool(activity.errors[cell])):
        found.append(("error" if failed else "name", "".join(signs[cell] for cell in cells)))
    return found
