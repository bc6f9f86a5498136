"""Sparklines: numbers as bars of eight heights, one character each.

Theory. The height of a bar is its share of the highest one, rounded up, so that every positive count is visible and
zero is a space. If the output cannot encode block characters, ASCII characters replace them.
"""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN = " .:-=+*#@"


def choose_bars(encoding: str | None) -> str:
    """Returns the characters for bars that an encoding supports: BLOCKS or PLAIN."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS


def draw_sparkline(counts: Sequence[int], bars: str = BLOCKS) -> str:
    """Draws a character for each count (0 or more), from the lowest to the highest of `bars`."""
    highest, steps = max(counts, default=0), len(bars) - 1
    return "".join(bars[-(-count * steps // highest)] if highest else bars[0] for count in counts)


def narrow_counts(counts: Sequence[int], width: int) -> list[int]:
    """Reduces counts to at most `width`, by adding adjacent counts."""
    each = max(-(-len(counts) // width), 1)
    return [sum(counts[at : at + each]) for at in range(0, len(counts), each)]
