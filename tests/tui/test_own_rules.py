"""Colour rules that the user makes, keeps, orders and imports."""

from __future__ import annotations

from pathlib import Path

from analyzer.config.model import ColorRule
from tests.tui.driving import Drive, driven
from tui.commands.colouring import choose_colour, edit_rules, import_rules
from tui.model.colour_rules import add_rule, load_own_rules, move_rule, parse_colorfilters, save_own_rules
from tui.saved_state import SavedState

FETCH = ColorRule("operation == Fetch", "operation == Fetch", "black on red")
LONG = ColorRule("length > 100", "length > 100", "green")

WIRESHARK = """# This file was created by Wireshark.
@Bad TCP@tcp.analysis.flags@[4718,10030,11796][63479,34695,34695]
!@Off@tcp@[1,2,3][4,5,6]
@Port@tcp.port == 29092@[65535,0,0][0, 0, 65535]
@Wrong@tcp@[1,2][4,5,6]
"""


def test_rules_are_kept_in_their_order() -> None:
    saved_state = SavedState()
    save_own_rules(saved_state, add_rule([LONG], "operation ==\n Fetch", "black on red"))
    assert load_own_rules(saved_state) == [FETCH, LONG]
    assert add_rule([FETCH, LONG], "length > 100", "red")[0] == ColorRule("length > 100", "length > 100", "red")
    assert move_rule([FETCH, LONG], 0, 1) == [LONG, FETCH]
    assert move_rule([FETCH, LONG], 0, -1) == [FETCH, LONG]


def test_rules_of_wireshark() -> None:
    assert parse_colorfilters(WIRESHARK.splitlines()) == [
        ColorRule("Bad TCP", "tcp.analysis.flags", "#f78787 on #12272e"),
        ColorRule("Port", "tcp.port == 29092", "#0000ff on #ff0000"),
    ]


@driven()
async def test_a_rule_is_made_removed_and_imported(found: Drive, tmp_path: Path) -> None:
    def names() -> list[str]:
        rules = found.main.timeline.row_lines.colour_rules
        return [] if rules is None else [rule.name for rule in rules.rules[:1]]

    choose_colour(found.main, "operation == ApiVersions")
    await found.settle()
    await found.press("down", "enter")
    await found.until(lambda: names() == ["operation == ApiVersions"])
    edit_rules(found.main)
    await found.settle()
    await found.press("enter", *"remove", "enter")
    await found.until(lambda: names() == ["gap"])
    path = tmp_path / "colorfilters"
    path.write_text(WIRESHARK)
    import_rules(found.main)
    await found.settle()
    await found.press(*str(path), "enter")
    await found.until(lambda: names() == ["Port"])
    assert "1 of 2 rules imported" in found.status()
