"""The page of all keys; a key that is chosen there is pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.keys import Key
    from tui.screens.main import MainScreen


def keys(main: MainScreen) -> None:
    """Opens it."""
    from tui.commands.palette import run
    from tui.screens.help import Help

    def chosen(key: Key | None) -> None:
        if key is None:
            return
        pane = main.bars.panes.get(key.where)
        if pane is not None:
            pane.focus()
        if pane is not None or key.where in ("screen", "pane"):
            run(main, key)

    colouring = main.timeline.said.colouring
    main.app.push_screen(Help(main.palette, () if colouring is None else colouring.rules), chosen)
