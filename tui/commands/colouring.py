"""The colour rules of the configuration: read and put in force once the first screen stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.model.colouring import Rule
    from tui.screens.main import MainScreen


def begin(main: MainScreen) -> None:
    """Reads the rules beside the keys: the filter language takes a while to be loaded."""

    def work() -> tuple[list[Rule], list[str]]:
        from tui.model.colouring import rules_of

        return rules_of(main.config.colors, main.named)

    main.background.ask("rules", work, lambda found: _take(main, *found))


def _take(main: MainScreen, rules: list[Rule], wrong: list[str]) -> None:
    from rich.errors import StyleSyntaxError

    from tui.model.colouring import Colouring

    sound: list[Rule] = []
    for rule in rules:
        try:
            main.palette.add(rule.style, rule.words)
        except StyleSyntaxError:
            wrong.append(f"the colour rule {rule.name} is left out: {rule.words!r} is no style, such as bold red")
        else:
            sound.append(rule)
    listed = main.timeline
    listed.said.colouring = Colouring(main.session, sound)
    listed.said.colouring.grow(listed.timeline.rows, listed.timeline.first)
    listed.anew()
    if wrong:
        more = f" ({len(wrong) - 1} more are wrong, too)" if len(wrong) > 1 else ""
        main.say(wrong[0] + more, "bar-warning")
