"""Commands for the appearance: layout of the panes, palette and colour rules, time format and time references."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analyzer.config.model import TIME_FORMATS, TimeFormat
from tui.commands.navigation import find_selected_row
from tui.model.pane_layout import MODES, Arrangement, PaneName
from tui.model.times import TIME_FORMAT_KEY
from tui.theme import TITLES

if TYPE_CHECKING:
    from tui.model.colour_rules import CompiledRule
    from tui.screens.main import MainScreen


COLUMNS, LINES = 3, 1
"""Cells that a key moves a divider by."""


def cycle_layout(main: MainScreen) -> None:
    """Switches to the next layout."""
    main.pane_area.rearrange(main.pane_area.arrangement.with_next_mode())
    main.show_message(f"layout: {MODES[main.pane_area.arrangement.mode]}")


def toggle_zoom(main: MainScreen) -> None:
    """Shows only the pane with the focus, or all panes again."""
    arrangement = main.pane_area.arrangement
    main.pane_area.rearrange(replace(arrangement, zoomed=not arrangement.zoomed))


def reset_layout(main: MainScreen) -> None:
    """Resets all panes to their default layout."""
    main.pane_area.rearrange(Arrangement())
    main.show_message("layout: reset to the default")


def toggle_list(main: MainScreen) -> None:
    """Hides or shows the list."""
    _toggle_pane(main, "list")


def toggle_tree(main: MainScreen) -> None:
    """Hides or shows the tree."""
    _toggle_pane(main, "tree")


def toggle_hex(main: MainScreen) -> None:
    """Hides or shows the bytes."""
    _toggle_pane(main, "hex")


def _toggle_pane(main: MainScreen, pane: PaneName) -> None:
    arrangement = main.pane_area.arrangement
    shown = pane in arrangement.hidden
    turned = arrangement.with_pane(pane, shown=shown)
    if turned == arrangement:
        main.show_message("the last visible pane cannot be hidden", "bar-warning")
        return
    main.pane_area.rearrange(replace(turned, zoomed=False))


def move_divider_right(main: MainScreen) -> None:
    """Moves the divider beside the focused pane to the right."""
    _move_divider(main, COLUMNS, upright=True)


def move_divider_left(main: MainScreen) -> None:
    """Moves the divider beside the focused pane to the left."""
    _move_divider(main, -COLUMNS, upright=True)


def move_divider_down(main: MainScreen) -> None:
    """Moves the divider under or over the focused pane down."""
    _move_divider(main, LINES, upright=False)


def move_divider_up(main: MainScreen) -> None:
    """Moves the divider under or over the focused pane up."""
    _move_divider(main, -LINES, upright=False)


def _move_divider(main: MainScreen, by: int, *, upright: bool) -> None:
    panes = main.pane_area
    divider = panes.pane_layout.find_divider(panes.focused, upright=upright)
    if divider is None:
        main.show_message(f"there is no divider {'next to' if upright else 'above or below'} this pane", "bar-warning")
    else:
        panes.rearrange(panes.arrangement.with_divider_at(divider, divider.position + by, panes.area.width))


def load_rules(main: MainScreen) -> None:
    """Compiles the colour rules in the worker thread, because loading the filter language takes a while."""

    def work() -> tuple[list[CompiledRule], list[str]]:
        from analyzer.query.fields.slow import find_latency_bounds
        from tui.model.colour_rules import compile_rules, load_own_rules

        find_latency_bounds(main.session)  # so that the first screen with a rule does not wait for it
        return compile_rules((*load_own_rules(main.saved_state), *main.config.colors), main.named)

    main.background.submit("rules", work, lambda found: _take(main, *found))


def _take(main: MainScreen, rules: list[CompiledRule], wrong: list[str]) -> None:
    from rich.errors import StyleSyntaxError

    from tui.model.colour_rules import ColourRules

    sound: list[CompiledRule] = []
    for rule in rules:
        try:
            main.palette.add_style(rule.style, rule.words)
        except StyleSyntaxError:
            wrong.append(f"the colour rule {rule.name} is ignored: {rule.words!r} is not a style, such as bold red")
        else:
            sound.append(rule)
    listed = main.timeline
    listed.row_lines.colour_rules = ColourRules(main.session, sound)
    listed.row_lines.colour_rules.grow(listed.timeline.rows, listed.timeline.first)
    listed.invalidate()
    if wrong:
        more = f" ({len(wrong) - 1} more are invalid)" if len(wrong) > 1 else ""
        main.bars.show_for_seconds(wrong[0] + more)


def choose_palette(main: MainScreen) -> None:
    """Opens the dialog of palettes."""
    from tui.screens.chooser import Choice, Chooser

    if main.palette.colourless:
        main.show_message("NO_COLOR is set: unset it to choose a theme", "bar-warning")
        return
    choices = [Choice((("", title),), name, name) for name, title in TITLES.items()]
    at = list(TITLES).index(main.palette.name)
    main.open_dialog(Chooser(main.palette, "colours", choices, at), lambda name: switch_palette(main, name))


def switch_palette(main: MainScreen, name: str) -> None:
    """Switches to a palette, and repaints all widgets."""
    from tui.widgets.painted import PaintedWidget
    from tui.widgets.pane import Pane

    app, palette = main.app, main.palette
    palette.switch_to(name)
    app.register_theme(palette.theme)
    app.ansi_color = palette.theme.ansi
    app.theme = palette.theme.name
    for screen in app.screen_stack:
        for widget in screen.query(PaintedWidget):
            if isinstance(widget, Pane):
                widget.invalidate()
            else:
                widget.repaint()


FORMAT_ORDER: tuple[TimeFormat | None, ...] = (None, *TIME_FORMATS)

FORMAT_TITLES = {
    None: "clock",
    "iso": "date and clock, UTC",
    "relative": "seconds since the first packet, or the reference (Ctrl+T) before",
    "delta": "seconds since the line above",
    "epoch": "seconds since 1970",
}


def cycle_time_format(main: MainScreen) -> None:
    """Switches to the next time format."""
    times = main.timeline.row_lines.times
    times.format = FORMAT_ORDER[(FORMAT_ORDER.index(times.format) + 1) % len(FORMAT_ORDER)]
    main.saved_state.set(TIME_FORMAT_KEY, times.format or "")
    _refresh_times(main)
    main.show_message(f"times: {FORMAT_TITLES[times.format]}")


def toggle_reference(main: MainScreen) -> None:
    """Makes the selected message a time reference, or an ordinary message again."""
    row = find_selected_row(main)
    if row is None:
        return
    times = main.timeline.row_lines.times
    text = f"message {row + 1} is {'a time reference' if times.toggle_reference(row) else 'no longer a time reference'}"
    _refresh_times(main)
    main.show_message(
        text if times.format == "relative" else f"{text}: relative times count from it, press t to show them"
    )


def clear_references(main: MainScreen) -> None:
    """Removes all time references and says from where relative times count now."""
    main.timeline.row_lines.times.clear_references()
    _refresh_times(main)
    main.show_message("relative times count from the first packet")


def _refresh_times(main: MainScreen) -> None:
    main.timeline.invalidate()
    main.show_heads()
