"""Formats a sequence diagram as lines: a lane for each participant, an arrow for each step, and its details.

`──>` is a message, `- ->` a response, `<──>` a request and its response, `<══>` several exchanges folded into one line.
"""

from __future__ import annotations

from analyzer.columns.text import ELLIPSIS, safe_text
from analyzer.insight.sequence import SequenceDiagram, Step
from analyzer.render.durations import format_duration
from analyzer.render.lines import Line

TIME_WIDTH = 11
LEAST_LANE, MOST_LANE = 12, 26
"""Cells from a lane to the next."""

LEAST_DETAIL, GOOD_DETAIL = 24, 44
"""Cells of the text beside the lanes: the minimum, and the width up to which lanes move closer together."""
_LINES = {"message": "─", "answer": "╌", "fold": "═"}
_SECOND = 10**9


def count_lanes(width: int) -> int:
    """Returns how many lanes fit into a line of `width` cells."""
    return max((width - TIME_WIDTH - LEAST_DETAIL) // LEAST_LANE, 2)


def format_sequence(diagram: SequenceDiagram, width: int) -> list[tuple[Line, Step | None]]:
    """Formats a diagram in lines of `width` cells, each with its step; the title line has none."""
    lanes = len(diagram.lanes)
    spacing = max(LEAST_LANE, min(MOST_LANE, (width - TIME_WIDTH - GOOD_DETAIL) // max(lanes, 1)))
    room = max(width - TIME_WIDTH - spacing * lanes, 0)
    names = "".join(_fit(safe_text(name), spacing - 1).ljust(spacing) for name in diagram.lanes)
    lines: list[tuple[Line, Step | None]] = [((("place", " " * TIME_WIDTH), ("title", names)), None)]
    return [*lines, *((_format_step(step, diagram, lanes, spacing, room), step) for step in diagram.steps)]


def format_note(diagram: SequenceDiagram) -> str:
    """Returns a note about what a diagram leaves out, or an empty text."""
    if not diagram.left_out:
        return ""
    return f"{diagram.left_out:,} of {diagram.messages:,} messages follow; a narrower filter shows them"


def format_label(step: Step) -> str:
    """Formats the operation of a step, with the number of folded exchanges."""
    return safe_text(step.operation if step.count == 1 else f"{step.count:,} {step.operation}")


def format_detail(step: Step) -> str:
    """Formats latency, error and details."""
    latency = "" if step.latency_ns is None else format_duration(step.latency_ns)
    error = "" if step.error is None or step.detail.startswith(step.error) else safe_text(step.error)
    return "  ".join(text for text in (error, latency, safe_text(step.detail)) if text)


def _format_step(step: Step, diagram: SequenceDiagram, lanes: int, spacing: int, room: int) -> Line:
    if step.pause_ns:
        cells = "┊".ljust(spacing) * lanes
        return ("place", " " * TIME_WIDTH), ("place", cells), ("place", f"{format_duration(step.pause_ns)} later")
    since = step.time - diagram.began
    time = ("place", f"{since / _SECOND:>{TIME_WIDTH - 2}.3f}  ")
    style = "error" if step.error else "place" if step.count > 1 else "text" if step.is_answer else "name"
    detail = _fit(format_detail(step), room)
    first, last = sorted((step.sender, step.receiver))
    if first == last:
        last = first + 1
        arrow = _fit(f"⟳ {format_label(step)}", spacing - 1).ljust(spacing)
    else:
        arrow = _draw_arrow(step, (last - first) * spacing)
    before, behind = "│".ljust(spacing) * first, "│".ljust(spacing) * (lanes - last)
    return time, ("place", before), (style, arrow), ("place", behind), ("error" if step.error else "", detail)


def _draw_arrow(step: Step, length: int) -> str:
    """Draws an arrow of `length` cells from a lane up to the next lane's line."""
    line = _LINES["fold" if step.count > 1 else "answer" if step.is_answer else "message"]
    to_right = step.sender < step.receiver
    left = "├" if to_right and not step.both else "│◄" if not to_right or step.both else ""
    right = "►" if to_right or step.both else line
    room = length - len(left) - len(right)
    label = _fit(f" {format_label(step)} ", max(room - 1, 0))
    return f"{left}{label.center(room, line)}{right}"


def _fit(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + ELLIPSIS
