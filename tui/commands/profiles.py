"""Commands for profiles: put one in force, save the present columns, colours, theme, layout and filter, remove one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from tui.model.profiles import LONGEST_NAME, list_profiles, remove_profile, restore_profile, save_profile

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

_SAVE, _REMOVE = "save", "remove"


def choose_profile(main: MainScreen) -> None:
    """Opens the list of profiles: the one before the present one is selected, so Enter switches between two."""
    from tui.screens.chooser import Choice, Chooser

    names = list_profiles(main.saved_state)
    order = [*names[1:], *names[:1]]
    choices = [Choice((("", safe_text(name)),), ("", name), "in force" if name == names[0] else "") for name in order]
    choices.append(Choice((("note", "save what there is now as a profile"),), (_SAVE, "")))
    choices += [Choice((("dim", f"remove {safe_text(name)}"),), (_REMOVE, name)) for name in names]

    def act(chosen: tuple[str, str]) -> None:
        what, name = chosen
        if what == _SAVE:
            ask_name(main)
        elif what == _REMOVE:
            remove_profile(main.saved_state, name)
            main.show_message(f"the profile {safe_text(name)} is removed")
        else:
            switch_profile(main, name)

    main.open_dialog(Chooser(main.palette, "profiles: columns, colours, theme, layout, filter", choices), act)


def ask_name(main: MainScreen) -> None:
    """Asks for a name, and saves the present state as a profile."""
    from tui.screens.input_line import LineDialog, LineQuestion

    def read_name(text: str) -> str:
        name = " ".join(text.split())
        if not name or len(name) > LONGEST_NAME:
            raise UserError(f"Write a name of at most {LONGEST_NAME} characters.")
        return name

    def save(name: str) -> None:
        filtered = main.filter.in_force
        save_profile(main.saved_state, name, "" if filtered is None else filtered.text, main.palette.name)
        main.show_message(f"saved as the profile {safe_text(name)}: u switches between profiles")

    question = LineQuestion("profile", "a name; one that exists is replaced", "", read_name)
    main.open_dialog(LineDialog(main.palette, question), save)


def switch_profile(main: MainScreen, name: str) -> None:
    """Puts a profile in force."""
    from analyzer.query.filter import FilterError, compile_filter
    from tui.commands.appearance import load_rules, switch_palette
    from tui.commands.columns import restore_columns
    from tui.model.activity_height import load_height
    from tui.model.pane_layout import Arrangement
    from tui.model.timeline import FLAT_KEY
    from tui.model.times import TIME_FORMAT_KEY, choose_format
    from tui.theme import TITLES

    text, theme = restore_profile(main.saved_state, name)
    state, timeline = main.saved_state, main.timeline
    timeline.row_lines.custom_columns = None
    restore_columns(main)
    timeline.row_lines.times.format = choose_format(None, state.get(TIME_FORMAT_KEY, ""))
    if timeline.timeline.flat is not state.get(FLAT_KEY, False):
        timeline.switch_view()
    main.activity.set_height(load_height(state))
    main.pane_area.rearrange(Arrangement.load(state))
    main.pane_area.refresh_layout_soon()
    load_rules(main)
    if theme in TITLES and theme != main.palette.name and not main.palette.colourless:
        switch_palette(main, theme)
    timeline.invalidate()
    main.show_heads()
    message, style = f"profile: {safe_text(name)}", "bar"
    try:
        main.filter.apply(compile_filter(text, main.named) if text else None)
    except FilterError:
        message, style = f"{message}; its filter is none here: {safe_text(text, 60)}", "bar-warning"
    main.show_message(message, style)
