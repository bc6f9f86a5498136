"""Commands for the user's own colour rules: made from a filter, ordered, removed, imported from Wireshark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from analyzer.render.amounts import format_counted
from tui.commands.appearance import load_rules
from tui.model.colour_rules import (
    MOST_RULES,
    STYLES,
    add_rule,
    load_own_rules,
    move_rule,
    parse_colorfilters,
    save_own_rules,
)

if TYPE_CHECKING:
    from analyzer.config.model import ColorRule
    from tui.screens.main import MainScreen

LONGEST = 60
"""The characters of a filter that a dialog shows."""

LARGEST_FILE = 1 << 20


def choose_colour(main: MainScreen, filter_text: str) -> None:
    """Asks for the style of messages that match a filter, and adds the rule before all others."""
    from tui.screens.chooser import Choice, Chooser

    def add(style: str) -> None:
        _replace_rules(main, add_rule(load_own_rules(main.saved_state), filter_text, style))
        main.show_message(f"messages that match {safe_text(filter_text, LONGEST)} are {style} now")

    choices = [Choice((("", style),), style) for style in STYLES]
    main.open_dialog(Chooser(main.palette, f"colour of {safe_text(filter_text, LONGEST)}", choices), add)


def colour_filter(main: MainScreen) -> None:
    """Makes a rule of the filter in force."""
    if main.filter.in_force is None:
        main.show_message("no filter is in force: press / for one, or x for the menu of a message", "bar-warning")
    else:
        choose_colour(main, main.filter.in_force.text)


def edit_rules(main: MainScreen) -> None:
    """Opens the list of the user's own rules, to move or remove one."""
    from tui.screens.chooser import Choice, Chooser

    rules = load_own_rules(main.saved_state)
    if not rules:
        main.show_message("there are no colour rules of yours: x makes one of a field or a message", "bar-warning")
        return
    choices = [Choice((("", safe_text(rule.filter, LONGEST)),), place, rule.style) for place, rule in enumerate(rules)]
    main.open_dialog(
        Chooser(main.palette, "colour rules, the first that matches counts", choices),
        lambda place: _edit_rule(main, rules, place),
    )


def _edit_rule(main: MainScreen, rules: Sequence[ColorRule], place: int) -> None:
    from tui.screens.chooser import Choice, Chooser

    edits = {
        "another colour": None,
        "move it up": move_rule(rules, place, place - 1),
        "move it down": move_rule(rules, place, place + 1),
        "move it to the top": move_rule(rules, place, 0),
        "remove it": [rule for each, rule in enumerate(rules) if each != place],
    }

    def edit(what: str) -> None:
        edited = edits[what]
        if edited is None:
            choose_colour(main, rules[place].filter)
        else:
            _replace_rules(main, edited)

    choices = [Choice((("", what),), what) for what in edits]
    main.open_dialog(Chooser(main.palette, safe_text(rules[place].filter, LONGEST), choices), edit)


def import_rules(main: MainScreen) -> None:
    """Asks for a file of Wireshark's colour rules, and adds those whose filters are understood here."""
    from analyzer.query.filter import compile_filter
    from tui.screens.input_line import LineDialog, LineQuestion

    def read_rules(text: str) -> tuple[list[ColorRule], int]:
        path = Path(text.strip()).expanduser()
        try:
            with path.open("rb") as file:
                found = parse_colorfilters(file.read(LARGEST_FILE).decode(errors="replace").splitlines())
        except OSError as error:
            raise UserError(f"{text}: {error.strerror}") from None
        known = []
        for rule in found:
            try:
                compile_filter(rule.filter, main.named)
            except UserError:
                continue
            known.append(rule)
        if not known:
            raise UserError(f"{text}: {format_counted(len(found), 'rule')}, none with a filter that is known here")
        return known, len(found)

    def take(result: tuple[list[ColorRule], int]) -> None:
        known, total = result
        own = [rule for rule in load_own_rules(main.saved_state) if rule.filter not in {each.filter for each in known}]
        _replace_rules(main, [*own, *known][:MOST_RULES])
        main.show_message(f"{len(known)} of {format_counted(total, 'rule')} imported; others have unknown filters")

    hint = "Wireshark's file colorfilters, such as ~/.config/wireshark/colorfilters"
    question = LineQuestion("import colour rules", hint, "", read_rules)
    main.open_dialog(LineDialog(main.palette, question), take)


def _replace_rules(main: MainScreen, rules: Sequence[ColorRule]) -> None:
    save_own_rules(main.saved_state, rules)
    load_rules(main)
