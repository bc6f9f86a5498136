"""Writes a sequence diagram as a file: SVG for browsers and documents, Mermaid for Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.columns.text import safe_text
from analyzer.insight.sequence import SequenceDiagram, Step
from analyzer.render.durations import format_duration
from analyzer.render.sequence_text import format_detail, format_label, format_note
from analyzer.render.svg import cut, write_document, write_text

LANE, LINE, HEAD, TIME, DETAIL = 190, 24, 44, 80, 460
"""Sizes in pixels: from lane to lane, of a line, of the head, of the times, and of the details."""

LONGEST_LANE, LONGEST_DETAIL = 26, 76
COLOURS = {"error": "#b00f34", "fold": "#59606b", "answer": "#2f6616", "message": "#1a54ad"}

STYLE = (
    "text{font:12px monospace;fill:#20262e}.lane{stroke:#c3c9d2}.head{font-weight:bold}.time,.note{fill:#59606b}"
    ".error{fill:#b00f34}"
)


def write_svg(diagram: SequenceDiagram) -> str:
    """Writes a diagram as an SVG document that loads nothing and runs nothing."""
    width = TIME + LANE * len(diagram.lanes) + DETAIL
    height = HEAD + LINE * (len(diagram.steps) + 2)
    return write_document(width, height, STYLE, _list_svg(diagram, height))


def _find_x(lane: int) -> int:
    return TIME + LANE * lane + LANE // 2


def _list_svg(diagram: SequenceDiagram, height: int) -> Iterator[str]:
    for lane, name in enumerate(diagram.lanes):
        x = _find_x(lane)
        yield f'<line class="lane" x1="{x}" y1="{HEAD - 12}" x2="{x}" y2="{height - LINE}"/>'
        yield write_text(x, HEAD - 20, cut(safe_text(name), LONGEST_LANE), "head", "middle")
    for place, step in enumerate(diagram.steps):
        yield from _draw_step(diagram, step, HEAD + LINE * (place + 1))
    note = format_note(diagram)
    if note:
        yield write_text(8, height - 6, note, "note")


def _draw_step(diagram: SequenceDiagram, step: Step, y: int) -> Iterator[str]:
    right = TIME + LANE * len(diagram.lanes) + 8
    if step.pause_ns:
        yield write_text(right, y, f"{format_duration(step.pause_ns)} later", "note")
        yield f'<line class="lane" x1="{TIME}" y1="{y - 4}" x2="{right - 8}" y2="{y - 4}" stroke-dasharray="2 6"/>'
        return
    yield write_text(8, y, f"{(step.time - diagram.began) / 1e9:.3f}", "time")
    colour = COLOURS["error" if step.error else "fold" if step.count > 1 else "answer" if step.is_answer else "message"]
    first, last = _find_x(step.sender), _find_x(step.receiver)
    if first == last:
        last = first + LANE // 2
    way = 1 if last > first else -1
    dashes = ' stroke-dasharray="5 4"' if step.is_answer else ""
    thick = 2.5 if step.count > 1 else 1.3
    yield f'<line x1="{first}" y1="{y}" x2="{last}" y2="{y}" stroke="{colour}" stroke-width="{thick}"{dashes}/>'
    yield _draw_head(last, y, -way, colour)
    if step.both:
        yield _draw_head(first, y, way, colour)
    yield write_text(
        (first + last) // 2, y - 5, cut(format_label(step), LANE // 8), "error" if step.error else "", "middle"
    )
    yield write_text(right, y, cut(format_detail(step), LONGEST_DETAIL), "error" if step.error else "")


def _draw_head(x: int, y: int, way: int, colour: str) -> str:
    return f'<path d="M{x} {y}l{8 * way} -4v8z" fill="{colour}"/>'


_MERMAID = str.maketrans(
    {"#": "#35;", ";": "#59;", ":": "#58;", "%": "#37;", "&": "#amp;", "<": "#lt;", ">": "#gt;", '"': "#quot;"}
)
"""Escapes characters that end a Mermaid text, begin an entity or a tag, or, as `%%{`, change the diagram's settings."""


def write_mermaid(diagram: SequenceDiagram) -> str:
    """Writes a diagram in the language of Mermaid."""
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in _list_mermaid(diagram))]) + "\n"


def quote_mermaid(text: str) -> str:
    """Escapes a text for Mermaid."""
    return safe_text(text).translate(_MERMAID)


def _list_mermaid(diagram: SequenceDiagram) -> Iterator[str]:
    for lane, name in enumerate(diagram.lanes):
        yield f"participant P{lane} as {quote_mermaid(name)}"
    for step in diagram.steps:
        if step.pause_ns:
            yield f"Note over P0: {format_duration(step.pause_ns)} later"
            continue
        arrow = "--" if step.is_answer else "-"
        arrow += "x" if step.error else ">>"
        text = "  ".join(part for part in (format_label(step), cut(format_detail(step), LONGEST_DETAIL)) if part)
        yield f"P{step.sender}{arrow}P{step.receiver}: {quote_mermaid(text)}"
    note = format_note(diagram)
    if note:
        yield f"Note over P0: {quote_mermaid(note)}"
