"""All commands by what they do, to be found by a word and done; and the page of all keys, which are pressed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.keys import KEYS, KeyBinding, KeyPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.keys import KeyBinding
    from tui.screens.main import MainScreen


def open_palette(main: MainScreen) -> None:
    """Opens the list of what can be done now: everywhere, and in the pane that has the focus."""
    from tui.screens.chooser import Choice, Chooser

    choices = [Choice((("", key.help),), key, key.label) for key in list_commands(main)]
    main.open_dialog(Chooser(main.palette, "commands", choices), lambda key: run_key(main, key))


def list_commands(main: MainScreen) -> Sequence[KeyBinding]:
    """What can be done now, but for what opens this list; what moves the cursor comes last."""
    mine = main.bars.focused_name
    order: dict[KeyPlace, int] = {"screen": 0, mine: 1, "pane": 2}
    found = [key for key in KEYS if key.place in order and key.action != "do('palette.open_palette')"]
    return sorted(found, key=lambda key: order[key.place])


def run_key(main: MainScreen, key: KeyBinding) -> None:
    """Does what a key does."""
    place = main if key.place == "screen" else main.bars.focused
    main.call_later(place.run_action, key.action)


def open_help(main: MainScreen) -> None:
    """Opens it."""
    from tui.commands.palette import run_key
    from tui.screens.help import HelpScreen

    def use_key(key: KeyBinding | None) -> None:
        if key is None:
            return
        pane = main.bars.panes.get(key.place)
        if pane is not None:
            pane.focus()
        if pane is not None or key.place in ("screen", "pane"):
            run_key(main, key)

    colouring = main.timeline.row_lines.colour_rules
    main.app.push_screen(HelpScreen(main.palette, () if colouring is None else colouring.rules), use_key)
