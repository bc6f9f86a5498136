"""Profiles: what they hold, and switching between them."""

from __future__ import annotations

from tests.tui.driving import Drive, driven
from tui.commands.appearance import switch_palette
from tui.model.colour_rules import RULES_KEY
from tui.model.profiles import list_profiles, remove_profile, restore_profile, save_profile
from tui.model.row_lines import COLUMNS_KEY
from tui.saved_state import SavedState


def test_a_profile_brings_back_what_was_saved() -> None:
    state = SavedState()
    state.set(COLUMNS_KEY, ["number", "latency"])
    state.set(RULES_KEY, [f"red\t{'x' * 3000}\t{n}" for n in range(3)])
    state.set("shares", {"list": 2.0})
    save_profile(state, "lag", "operation == Fetch", "light")
    state.set(COLUMNS_KEY, [])
    state.set(RULES_KEY, [])
    state.set("layout", "stacked")
    save_profile(state, "plain", "", "")
    assert list_profiles(state) == ["plain", "lag"]
    assert restore_profile(state, "lag") == ("operation == Fetch", "light")
    assert state.get(COLUMNS_KEY, [""]) == ["number", "latency"]
    assert len(state.get(RULES_KEY, [""])) == 3
    assert (state.get("layout", ""), state.get("shares", {"": 0.0})) == ("auto", {"list": 2.0})
    assert restore_profile(state, "plain") == ("", "")
    assert (state.get(COLUMNS_KEY, [""]), state.get("layout", "")) == ([], "stacked")
    remove_profile(state, "plain")
    assert list_profiles(state) == ["lag"]


@driven()
async def test_two_keys_switch_between_two_profiles(found: Drive) -> None:
    main = found.main
    await found.filter("kafka.Produce")
    await found.press("t")
    times, theme = main.timeline.row_lines.times.format, main.palette.name
    await found.press("u", "enter")
    await found.press(*"sends", "enter")
    await found.filter("")
    await found.press("t", "L", "v")
    switch_palette(main, "light")
    flat = main.timeline.timeline.flat
    await found.press("u", *"save what", "enter")
    await found.press(*"all", "enter")
    assert list_profiles(main.saved_state) == ["all", "sends"]
    await found.press("u", "enter")
    await found.filtered()
    assert main.filter.in_force is not None
    assert main.filter.in_force.text == "kafka.Produce"
    assert main.timeline.row_lines.times.format == times
    assert main.timeline.timeline.flat is not flat
    assert (main.pane_area.arrangement.mode, main.palette.name) == ("auto", theme)
    await found.press("u", "enter")
    await found.filtered()
    assert main.filter.in_force is None
    assert (main.timeline.timeline.flat, main.palette.name) == (flat, "light")
