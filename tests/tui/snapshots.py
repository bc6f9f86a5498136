"""A screen as text that a person can read and compare: its lines, and beneath them which styles stand where.

A style is a letter; the letters are explained at the end. `a12b3` beneath a line: twelve cells of a, then three of b.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.strip import Strip

FOLDER = Path(__file__).parent / "snapshots"

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZαβγδεζηθικλμνξοπρστυφχψω"


def taken(app: App[Exception]) -> str:
    """What is on the terminal: the screen on top, and what is seen of those below it."""
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(update, LayoutUpdate)
    letters: dict[str, str] = {}
    body = []
    for strips in update.strips:
        strip = Strip.join(strips)
        body += [f"|{strip.text.rstrip()}", f"~{_runs(list(strip), letters)}"]
    names = [f"{letter} {style}" for style, letter in letters.items()]
    return "\n".join([*body, "", *names, ""])


def _runs(segments: list[Segment], letters: dict[str, str]) -> str:
    runs = []
    for style, group in groupby(segments, lambda segment: _words(segment.style)):
        letter = letters.setdefault(style, LETTERS[len(letters)])
        runs.append(f"{letter}{sum(segment.cell_length for segment in group)}")
    return " ".join(runs)


def _words(style: Style | None) -> str:
    """What can be seen of a style."""
    return "none" if style is None else str(style.without_color + Style(color=style.color, bgcolor=style.bgcolor))
