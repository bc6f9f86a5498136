"""What keys, menus and the palette do, one file for each subject; each command is a function of the main screen.

Theory. A command is a row in tui.keys that names a function here, `do('partner.go')`; its module is imported when the
command is first used, so that what nobody uses costs no start. A command changes the screen through what MainScreen
offers to all: what is selected, `say`, `select_row`, `apply`, `later`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

    Command = Callable[[MainScreen], None]


def command(name: str) -> Command:
    """The command `module.function`."""
    module, _, function = name.rpartition(".")
    return cast("Command", getattr(import_module(f"{__name__}.{module}"), function))
