"""What is kept from one run to the next: typed, bounded, and never a reason to fail."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

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
