"""The page of all keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def keys(main: MainScreen) -> None:
    """Opens it."""
    from tui.screens.help import Help

    main.app.push_screen(Help(main.palette))
