"""The number of lines of the time line: it is known before anything of it is drawn."""

from __future__ import annotations

from tui.saved_state import SavedState

HEIGHTS = (1, 3, 0)
"""The lines of the time line; 0: it is hidden. A key goes from one to the next."""

HEIGHT_KEY = "time_line"
"""The key under which the number of lines is saved."""

LEAST_HEIGHT = 12
"""The lines of a terminal from which on the time line is shown."""


def load_height(saved_state: SavedState) -> int:
    """Returns the number of lines that the user has chosen."""
    height = saved_state.get(HEIGHT_KEY, HEIGHTS[0])
    return height if height in HEIGHTS else HEIGHTS[0]


def limit_height(height: int, screen: int) -> int:
    """Returns the lines of the time line on a terminal of so many lines."""
    return height if screen >= LEAST_HEIGHT else 0


def find_height(saved_state: SavedState, screen: int) -> int:
    """Returns the lines of the time line at the start, on a terminal of so many lines."""
    return limit_height(load_height(saved_state), screen)
