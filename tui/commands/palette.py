"""All commands by what they do, to be found by a word and done; and the page of all keys, which are pressed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.keys import KEYS, Key, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.keys import Key
    from tui.screens.main import MainScreen


def show(main: MainScreen) -> None:
    """Opens the list of what can be done now: everywhere, and in the pane that has the focus."""
    from tui.screens.chooser import Choice, Chooser

    choices = [Choice((("", key.help),), key, key.shown) for key in commands(main)]
    main.open(Chooser(main.palette, "commands", choices), lambda key: run(main, key))


def commands(main: MainScreen) -> Sequence[Key]:
    """What can be done now, but for what opens this list; what moves the cursor comes last."""
    mine = main.bars.focused_name
    order: dict[Where, int] = {"screen": 0, mine: 1, "pane": 2}
    found = [key for key in KEYS if key.where in order and key.action != "do('palette.show')"]
    return sorted(found, key=lambda key: order[key.where])


def run(main: MainScreen, key: Key) -> None:
    """Does what a key does."""
    place = main if key.where == "screen" else main.bars.focused
    main.call_later(place.run_action, key.action)


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
