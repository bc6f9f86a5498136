"""Several open captures, and what comes back with a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.session import Session
from tests.tui.driving import KAFKA, Drive, drive, driven
from tests.tui.fake_capture import FakeCapture
from tui.model import capture_memory
from tui.model.capture_memory import CAPTURES_KEY, CaptureEntry, add_entry, find_entry, list_entries, list_paths
from tui.saved_state import SavedState
from tui.screens.chooser import Chooser, ConfirmDialog
from tui.screens.file_lines import OpenDialog, complete_path, list_files

ZOOKEEPER = KAFKA.with_name("zookeeper.pcap.zst")


async def opens(found: Drive, path: Path, *, merged: bool = False) -> None:
    """Opens a file by the keyboard, in a tab or merged."""
    before = found.main
    await found.press("ctrl+o")
    assert isinstance(found.window.screen, Chooser)
    await found.press(*["down"] * merged, "enter")
    assert isinstance(found.window.screen, OpenDialog)
    found.window.screen.line.set_text(str(path), 0)
    await found.press("enter")
    await found.until(lambda: found.main is not before and found.window.screen is found.main)
    await found.loaded()


def tabs(found: Drive) -> str:
    return found.text("captures").partition("{")[0].strip() if found.main.capture_bar.display else ""


@driven()
async def test_tabs_by_keys_and_mouse(found: Drive) -> None:
    first = found.main
    await found.press("right_curly_bracket")
    assert "the only open capture" in found.status()
    await found.press("Q")
    assert "q quits" in found.status()
    await found.filter("operation == Fetch")
    assert tabs(found) == ""
    await opens(found, ZOOKEEPER)
    second = found.main
    assert tabs(found) == "test [zookeeper.pcap.zst]"
    assert list_paths(found.main.session) == (str(ZOOKEEPER),)
    await found.press("j", "j", "left_curly_bracket")
    assert found.main is first
    assert found.window.screen is first
    assert tabs(found) == "[test] zookeeper.pcap.zst"
    assert found.main.filter.in_force is not None
    await found.press("right_curly_bracket")
    assert found.window.screen is second
    assert found.main.timeline.cursor == 3
    await found.pilot.click("#captures", offset=(3, 0))
    await found.settle()
    assert found.window.screen is first
    await opens(found, ZOOKEEPER)
    assert found.main is second
    assert found.window.captures == [first, second]


@driven()
async def test_a_closed_capture_frees_its_memory(found: Drive) -> None:
    first = found.main
    await opens(found, ZOOKEEPER)
    rows = found.main.session.rows
    await found.press("Q")
    assert found.window.screen is first
    assert tabs(found) == ""
    await found.until(lambda: rows.first > 0)
    assert found.window.captures == [first]
    await found.press("j", "k")


@driven()
async def test_merged_files_are_one_timeline(found: Drive) -> None:
    await opens(found, ZOOKEEPER, merged=True)
    assert list_paths(found.main.session) == (str(KAFKA), str(ZOOKEEPER))
    assert found.main.timeline.timeline.rows > 648
    assert "kafka.pcap, zookeeper.pcap.zst" in found.text("title")
    assert tabs(found) == ""


@driven()
async def test_a_typed_name_opens_without_a_choice(found: Drive) -> None:
    await found.press("ctrl+o", *"/no/such")
    assert "open /no/such" in "\n".join(found.lines())
    await found.press("enter")
    assert "there is no file /no/such" in found.status()
    await found.press("ctrl+o", *str(ZOOKEEPER), "enter")
    await found.until(lambda: len(found.window.captures) == 2 and found.window.screen is found.main)
    assert list_paths(found.main.session) == (str(ZOOKEEPER),)


@driven()
async def test_a_name_that_is_no_capture(found: Drive) -> None:
    await found.press("ctrl+o", "enter", *str(KAFKA.parent / "REA"), "tab", "enter")
    screen = found.window.screen
    assert isinstance(screen, OpenDialog)
    assert screen.line.value.endswith("README.md")
    assert "is not a capture but text" in found.lines()[-2]
    await found.press("up", "escape")
    assert found.window.screen is found.main


def test_packets_of_another_tab_are_not_lost() -> None:
    async def test(found: Drive) -> None:
        live = found.main
        await opens(found, ZOOKEEPER)
        await found.press("q")
        assert isinstance(found.window.screen, ConfirmDialog)
        assert found.main is live
        await found.press("escape")

    def capture(session: Session) -> FakeCapture:
        made = FakeCapture(session)
        made.set(captured=10)
        return made

    drive(test, live=capture)


def test_filter_marks_and_place_come_back(tmp_path: Path) -> None:
    state = SavedState(tmp_path / "tui.json")

    async def leave(found: Drive) -> None:
        await found.filter("operation == Fetch")
        await found.press("v", "o", "enter")
        await found.until(lambda: found.main.timeline.timeline.order is not None)
        await found.press("j", "j", "m", "j", "d")
        orders.append(found.listed())

    rows: list[int | None] = []
    orders: list[list[int]] = []

    async def come_back(found: Drive) -> None:
        await found.loaded()
        assert found.main.filter.in_force is not None
        assert found.main.filter.in_force.text == "operation == Fetch"
        marks = found.main.timeline.row_lines.marks
        assert (len(marks.marked), len(marks.ignored)) == (1, 1)
        rows.append(found.row)
        assert "as you left it: filter operation == Fetch, 1 marked, 1 ignored, sorted by latency" in found.status()
        await found.until(lambda: found.listed() == orders[0])

    drive(leave, saved_state=state)
    drive(come_back, saved_state=state)
    (entry,) = list_entries(state)
    assert (entry.paths, entry.row) == ((str(KAFKA),), rows[0])


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    known: dict[str, int] = {}
    monkeypatch.setattr(capture_memory, "measure_size", lambda paths: known.get(paths[0], -1))
    return known


def test_entries(sizes: dict[str, int]) -> None:
    state = SavedState()
    entry = CaptureEntry(("/a",), 5, "error", 7, (1, 2), (3,), ("number",), "latency:desc")
    add_entry(state, entry)
    add_entry(state, CaptureEntry(("/b",), 6))
    add_entry(state, entry)
    assert [each.paths for each in list_entries(state)] == [("/a",), ("/b",)]
    sizes["/a"] = 5
    assert find_entry(state, ["/a"]) == entry
    sizes["/a"] = 9
    assert find_entry(state, ["/a"]) == CaptureEntry(("/a",), 5, "error", columns=("number",), order="latency:desc")
    assert find_entry(state, []) is None
    wrong = [{"paths": 3, "size": 1}, {"paths": ["/c"], "size": 1, "row": "x"}, [], 3]
    damaged = ["", "{", *map(json.dumps, wrong)]
    state.set(CAPTURES_KEY, [*damaged, *state.get(CAPTURES_KEY, [])])
    assert len(list_entries(state)) == 2


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one.pcap", "one-b.pcap", ".hidden"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder").mkdir()
    assert complete_path("o") == ("one", ["one-b.pcap", "one.pcap"])
    assert complete_path("one.") == ("one.pcap", ["one.pcap"])
    assert complete_path("f") == ("folder/", ["folder/"])
    assert complete_path(f"{tmp_path}/") == (f"{tmp_path}/", ["folder/", "one-b.pcap", "one.pcap"])
    assert complete_path("nothing/x") == ("nothing/x", [])
    assert list_files("*.pcap") == [str(tmp_path / "one-b.pcap"), str(tmp_path / "one.pcap")]
    os.mkfifo("pipe")
    for name, why in (("", "name of a file"), ("gone", "no file"), ("folder", "a folder"), ("pipe", "no regular file")):
        with pytest.raises(UserError, match=why):
            list_files(name)
