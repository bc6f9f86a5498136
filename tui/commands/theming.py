"""Another palette while the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.theme import TITLES

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def choose(main: MainScreen) -> None:
    """Asks for one."""
    from tui.screens.chooser import Choice, Chooser

    if main.palette.colourless:
        main.say("NO_COLOR is set: there are no colours to choose", "bar-warning")
        return
    choices = [Choice((("", title),), name, name) for name, title in TITLES.items()]
    at = list(TITLES).index(main.palette.name)
    main.app.push_screen(Chooser(main.palette, "colours", choices, at), lambda found: _paint(main, found))


def _paint(main: MainScreen, found: tuple[str] | None) -> None:
    if found is not None:
        become(main, *found)


def become(main: MainScreen, name: str) -> None:
    """Puts a palette in force: the table that all widgets share changes, and all of them paint anew."""
    from tui.widgets.painted import Painted
    from tui.widgets.pane import Pane

    app, palette = main.app, main.palette
    palette.become(name)
    app.register_theme(palette.theme)
    app.ansi_color = palette.theme.ansi
    app.theme = palette.theme.name
    for screen in app.screen_stack:
        for widget in screen.query(Painted):
            if isinstance(widget, Pane):
                widget.anew()
            else:
                widget.repaint()
