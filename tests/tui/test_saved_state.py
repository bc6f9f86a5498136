"""What is kept from one run to the next: typed, bounded, never a reason to fail; profiles, rules of the user."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from analyzer.config.model import ColorRule
from tests.tui.driving import Drive, driven
from tui.commands.appearance import switch_palette
from tui.commands.colouring import choose_colour, edit_rules, import_rules
from tui.model.colour_rules import RULES_KEY, add_rule, load_own_rules, move_rule, parse_colorfilters, save_own_rules
from tui.model.profiles import list_profiles, remove_profile, restore_profile, save_profile
from tui.model.row_lines import COLUMNS_KEY
from tui.saved_state import ENTRIES, LARGEST_FILE, LONGEST_TEXT, SavedState, SavedValue, find_state_file

KEPT: dict[str, SavedValue] = {
    "yes": True,
    "whole": -3,
    "part": 0.25,
    "text": 'a "quoted"\n \ud800 \u202e [/red]',
    "empty": "",
    "texts": ["one", "", "one"],
    "none": [],
    "table": {"beside.list": 5, "half": 0.5},
}


def test_what_is_retained_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "tui.json"
    first = SavedState(path)
    for name, value in KEPT.items():
        first.set(name, value)
        assert first.get(name, type(value)()) == value
    assert not path.parent.exists()
    first.save()
    again = SavedState(path)
    assert {name: again.get(name, type(value)()) for name, value in KEPT.items()} == KEPT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == [path.name]


def test_without_a_file_it_is_for_this_run() -> None:
    saved_state = SavedState(None)
    saved_state.set("layout", "beside")
    saved_state.save()
    assert saved_state.get("layout", "auto") == "beside"
    assert SavedState().get("layout", "auto") == "auto"


OTHERS: list[tuple[object, SavedValue]] = [
    (1, True),
    (True, 7),
    (1.5, 7),
    ("1", 7),
    (10**30, 7),
    (None, 7),
    (True, 0.5),
    (1e400, 0.5),
    (7, "text"),
    (["text"], "text"),
    ("text", ["a"]),
    ({"a": 1}, ["a"]),
    ([1], {"a": 1.0}),
]


@pytest.mark.parametrize(("stood", "default"), OTHERS, ids=str)
def test_another_type_is_the_default(stood: object, default: SavedValue, tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_text(json.dumps({"name": stood}))
    saved_state = SavedState(path)
    found = saved_state.get("name", default)
    assert (type(found), found) == (type(default), default)
    saved_state.set("name", default)
    saved_state.save()
    assert SavedState(path).get("name", type(default)()) == default


def test_what_has_a_wrong_type_inside_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_text('{"texts": ["a", 1, null, ["b"], "c"], "table": {"a": 1, "b": "2", "c": NaN, "d": true}, "n": 3}')
    saved_state = SavedState(path)
    assert saved_state.get("texts", ["x"]) == ["a", "c"]
    assert saved_state.get("table", {"x": 1.0}) == {"a": 1}
    assert saved_state.get("n", 0.5) == 3


BROKEN = [
    b"",
    b"{",
    b"[1, 2]",
    b"null",
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"a": ' + b"9" * 5000 + b"}",
    b" " * LARGEST_FILE,
]


@pytest.mark.parametrize("data", BROKEN, ids=lambda data: f"{data[:8]!r}, {len(data)}")
def test_a_file_that_is_none_of_ours_is_as_if_it_were_not_there(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_bytes(data + b'"')
    saved_state = SavedState(path)
    assert saved_state.get("a", "nothing") == "nothing"
    saved_state.save()
    assert path.read_bytes() == data + b'"'
    saved_state.set("a", "something")
    saved_state.save()
    assert SavedState(path).get("a", "nothing") == "something"


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "file" / "tui.json", tmp_path / "folder", Path("/dev/null/x"), Path("/proc/tui.json")):
        saved_state = SavedState(path)
        saved_state.set("a", saved_state.get("a", 0) + 1)
        saved_state.save()
        assert saved_state.get("a", 0) == 1
    assert SavedState(tmp_path / "pipe").get("a", 0) == 0
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe"]


def test_two_runs_at_a_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_text('{"kept by a newer version": {"deep": [1, null]}, "a": 1}')
    one, other = SavedState(path), SavedState(path)
    assert one.get("a", 0) == other.get("a", 0) == 1
    one.set("b", "one")
    other.set("c", "other")
    one.save()
    other.save()
    assert json.loads(path.read_text()) == {
        "kept by a newer version": {"deep": [1, None]}, "a": 1, "b": "one", "c": "other"
    }  # fmt: skip


def test_what_did_not_change_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_text('{"a":1}')
    saved_state = SavedState(path)
    saved_state.set("a", 1)
    saved_state.save()
    assert path.read_text() == '{"a":1}'
    saved_state.set("a", True)
    saved_state.save()
    assert json.loads(path.read_text()) == {"a": True}


def test_it_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    saved_state = SavedState(path)
    saved_state.set("long", "x" * (LONGEST_TEXT + 1))
    saved_state.set("huge", 1 << 60)
    saved_state.set("many", [str(number) for number in range(2 * ENTRIES)])
    saved_state.set("mixed", ["short", "x" * (LONGEST_TEXT + 1), "short too"])
    saved_state.set("heavy", ["\u4e2d" * LONGEST_TEXT] * ENTRIES)
    saved_state.save()
    assert path.stat().st_size <= LARGEST_FILE
    again = SavedState(path)
    assert again.get("long", "") == ""
    assert again.get("huge", 0) == 0
    assert again.get("many", []) == [str(number) for number in range(ENTRIES)]
    assert again.get("mixed", []) == ["short", "short too"]
    assert again.get("heavy", []) == []


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/nowhere/me"}, "/state/wireanalyze/tui.json"),
        ({"XDG_STATE_HOME": "state", "HOME": "/nowhere/me"}, "/nowhere/me/.local/state/wireanalyze/tui.json"),
        ({"HOME": "/nowhere/me"}, "/nowhere/me/.local/state/wireanalyze/tui.json"),
    ],
)
def test_where_it_is(environment: dict[str, str], path: str) -> None:
    assert find_state_file(environment) == Path(path)


# ---- profiles: what they hold, and switching between them


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


# ---- colour rules that the user makes, keeps, orders and imports


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
