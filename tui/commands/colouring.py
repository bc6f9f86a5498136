"""Colours: the rules of the configuration, put in force once the first screen stands; and another palette."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.theme import TITLES

if TYPE_CHECKING:
    from tui.model.colouring import CompiledRule
    from tui.screens.main import MainScreen


def load_rules(main: MainScreen) -> None:
    """Reads the rules beside the keys: the filter language takes a while to be loaded."""

    def work() -> tuple[list[CompiledRule], list[str]]:
        from tui.model.colouring import compile_rules

        return compile_rules(main.config.colors, main.named)

    main.background.submit("rules", work, lambda found: _take(main, *found))


def _take(main: MainScreen, rules: list[CompiledRule], wrong: list[str]) -> None:
    from rich.errors import StyleSyntaxError

    from tui.model.colouring import ColourRules

    sound: list[CompiledRule] = []
    for rule in rules:
        try:
            main.palette.add_style(rule.style, rule.words)
        except StyleSyntaxError:
            wrong.append(f"the colour rule {rule.name} is left out: {rule.words!r} is no style, such as bold red")
        else:
            sound.append(rule)
    listed = main.timeline
    listed.row_lines.colour_rules = ColourRules(main.session, sound)
    listed.row_lines.colour_rules.grow(listed.timeline.rows, listed.timeline.first)
    listed.invalidate()
    if wrong:
        more = f" ({len(wrong) - 1} more are wrong, too)" if len(wrong) > 1 else ""
        main.show_message(wrong[0] + more, "bar-warning")


def choose_palette(main: MainScreen) -> None:
    """Asks for one."""
    from tui.screens.chooser import Choice, Chooser

    if main.palette.colourless:
        main.show_message("NO_COLOR is set: there are no colours to choose", "bar-warning")
        return
    choices = [Choice((("", title),), name, name) for name, title in TITLES.items()]
    at = list(TITLES).index(main.palette.name)
    main.open_dialog(Chooser(main.palette, "colours", choices, at), lambda name: switch_palette(main, name))


def switch_palette(main: MainScreen, name: str) -> None:
    """Puts a palette in force: the table that all widgets share changes, and all of them paint anew."""
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
