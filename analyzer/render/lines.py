"""Lines of styled text, which renderers make, and terminals and the TUI print.

A line is a tuple of (style, text); each text has been through safe_text. Styles are names, so that this package needs
neither rich nor textual. A plain line is its texts joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

Line = tuple[tuple[str, str], ...]

STYLES = {
    "": "",
    "title": "bold",
    "name": "cyan",
    "value": "",
    "text": "green",
    "type": "bright_black",
    "place": "bright_black",
    "masked": "magenta",
    "highlight": "reverse",
    "note": "blue",
    "warning": "yellow",
    "error": "bold red",
}
"""Style names, and their rich equivalents."""


def strip_styles(line: Line) -> str:
    """Returns the text of a line without its styles."""
    return "".join(text for _, text in line)


def print_lines(lines: Iterable[Line], file: TextIO, color: bool) -> None:
    """Prints to a terminal in colour, or anywhere as plain text; imports rich for colour only."""
    if not color:
        file.writelines(strip_styles(line) + "\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, force_terminal=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((text, STYLES[style]) for style, text in line)))
