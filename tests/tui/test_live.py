"""A live capture on the screen: how it stands, pausing, stopping, starting again, saving, and leaving."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from analyzer.session import Session
from tests.tui.driving import KAFKA, Drive, drive, driven
from tests.tui.fake_capture import FakeCapture
from tests.tui.screens.test_ingest import PART, WHOLE, pipe, rows_in
from tui.screens import ingest, main
from tui.screens.chooser import ConfirmDialog

LIVE = {"follow": True, "following": True, "wait": False}


def faking(made: list[FakeCapture], **options: bool) -> Callable[[Session], FakeCapture]:
    """Makes a capture, and keeps it for the test."""

    def make(session: Session) -> FakeCapture:
        made.append(FakeCapture(session, **options))
        return made[-1]

    return make


async def all_read(found: Drive) -> None:
    await found.until(lambda: found.main.timeline.timeline.rows == 648)
    await found.settle()


STANDS = [
    ({"captured": 1_300}, "capturing", ["1,300 packets", "648 messages", "capturing"], ["behind", "dropped", "wait"]),
    ({"captured": 1_300, "dropped": 12}, "capturing", ["12 dropped"], ["behind"]),
    ({"backlog": 40_000, "lag": 2.4}, "capturing", ["2 s behind, 40,000 packets"], ["dropped"]),
    ({"backlog": 400, "lag": 0.4}, "capturing", ["capturing"], ["behind"]),
    ({}, "stopping", ["stopping"], []),
    ({}, "stopped", ["stopping", "1,241 packets"], []),
]


def says(found: Drive, there: list[str], others: list[str]) -> bool:
    title = found.text("title")
    return all(each in title for each in there) and not any(each in title for each in others)


def test_the_title_says_how_it_stands_also_when_no_row_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "STATUS_INTERVAL", 0.02)
    made: list[FakeCapture] = []

    async def test(found: Drive) -> None:
        await all_read(found)
        for metrics, state, there, others in STANDS:
            made[0].set(**{"captured": 0, "dropped": 0, "backlog": 0, "lag": 0.0, **metrics})
            made[0].state = state  # type: ignore[assignment]
            await found.until(partial(says, found, there, others))
        made[0].stop()
        await found.until(lambda: " stopped " in found.text("title"))

    drive(test, live=faking(made), size=(160, 40), **LIVE)


def test_a_problem_stays_in_the_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "STATUS_INTERVAL", 0.02)
    made: list[FakeCapture] = []

    async def test(found: Drive) -> None:
        await all_read(found)
        made[0].problem = "capturing ended: the disk is full"
        await found.until(lambda: found.status() == made[0].problem)
        await found.press("k", "tab", "j")
        assert found.status() == made[0].problem
        await found.press("m")
        assert "is marked" in found.status()
        await found.press("shift+tab", "k")
        assert found.status().startswith("capturing ended: the disk is full")

    drive(test, live=faking(made), **LIVE)


def test_a_paused_list_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "PAUSE", 0.01)
    made: list[FakeCapture] = []

    async def test(found: Drive) -> None:
        listed = found.main.timeline
        os.write(end, WHOLE[:PART])
        await found.until(lambda: listed.timeline.rows == rows_in(PART))
        await found.settle()
        assert "▼ newest" in found.text("list-head")
        await found.press("Z")
        assert "is paused" in found.status()
        before, rows, row = found.text("list"), listed.timeline.rows, found.row
        os.write(end, WHOLE[PART : 2 * PART])
        await found.until(lambda: " more wait " in found.text("title"))
        assert "paused" in found.text("title")
        assert f"{rows} messages" in found.text("title")
        assert (found.text("list"), listed.timeline.rows, found.row) == (before, rows, row)
        assert "▼" not in found.text("list-head")
        await found.press("Z")
        assert listed.timeline.rows > rows
        assert found.row == listed.timeline.rows - 1  # the end was selected, and is again
        assert "paused" not in found.text("title")
        await found.press("k")
        assert "G: newest" in found.text("list-head")
        await found.press("Z")
        rows = listed.timeline.rows
        os.write(end, WHOLE[2 * PART :])
        await found.until(lambda: len(found.main.session.rows) == 648)
        await found.until(lambda: " more wait " in found.text("title"))
        found.main.session.packets.stop()
        await found.until(lambda: not found.main.ingest.is_reading)  # the end resumes: no more comes
        assert listed.timeline.rows == 648
        await found.press("Z")
        assert "the capture has ended" in found.status()

    with pipe() as (name, end):
        drive(test, name, live=faking(made), size=(160, 40), following=True, wait=False)


def test_it_stops_and_begins_anew_with_the_same_filter_and_view() -> None:
    made: list[FakeCapture] = []

    async def test(found: Drive) -> None:
        await all_read(found)
        live, first = made[0], found.main
        live.set(captured=1_241)
        await found.filter("length > 100")
        remaining = found.rows()
        await found.press("v", "E")
        assert "still being read" in found.status()
        await found.until(lambda: not first.ingest.is_reading)
        await found.press("E")
        assert isinstance(found.window.screen, ConfirmDialog)
        await found.press("escape")
        assert found.main is first
        live.refuses = "the capturing process does not stop"
        await found.press("E", "R")
        await found.until(lambda: found.status() == live.refuses)
        live.refuses = ""
        await found.press("R", "enter")
        await found.until(lambda: found.main is not first)
        await found.until(lambda: len(found.rows()) == len(remaining))
        await found.filtered()
        assert (found.rows(), found.main.timeline.timeline.flat) == (remaining, False)
        assert found.main.session is live.runs[1]
        assert first.ingest.is_over
        await found.until(lambda: first.session.rows.first == 648)  # its tables have gone
        assert "capturing" in found.text("title")
        live.set(captured=1_241)
        await found.press("R", "R")  # while it captures
        await found.until(lambda: found.main.session is live.session and len(live.runs) == 3)

    drive(test, live=faking(made), **LIVE)


def test_leaving_asks_once_where_nobody_keeps_the_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made: list[FakeCapture] = []

    async def asked(found: Drive) -> None:
        await all_read(found)
        made[-1].set(captured=1_241)
        await found.press("q")
        assert "1,241 packets not saved" in "\n".join(found.lines())
        await found.press("down", "enter")  # save them first
        await found.press("enter")
        await found.until(lambda: found.status() == "1,241 packets written to capture.pcapng")
        assert (tmp_path / "capture.pcapng").read_bytes() == KAFKA.read_bytes()
        assert not found.window._exit
        made[-1].set(captured=1_242)  # one has come since
        await found.press("s", "ctrl+c")
        assert isinstance(found.window.screen, ConfirmDialog)
        await found.pilot.press("q")
        await found.until(lambda: found.window._exit)

    async def unasked(found: Drive) -> None:
        await all_read(found)
        made[-1].set(captured=0 if not made[-1].is_saved else 1_241)
        await found.pilot.press("q")
        assert found.window._exit

    drive(asked, live=faking(made), **LIVE)
    drive(unasked, live=faking(made), **LIVE)
    drive(unasked, live=faking(made, kept=True), **LIVE)


def test_all_packets_are_saved_from_the_menu_and_what_goes_wrong_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made: list[FakeCapture] = []

    async def test(found: Drive) -> None:
        await all_read(found)
        made[0].set(captured=1_241)
        await found.press("w")
        assert any("all packets captured so far (pcapng)" in line for line in found.lines())
        await found.press(*"all packets", "enter", "enter")
        await found.until(lambda: "written to capture.pcapng" in found.status())
        await found.press("W")
        assert any("capture-2.pcapng" in line for line in found.lines())
        made[0].refuses = "no room on the disk"
        await found.press("enter")
        await found.until(lambda: found.status() == "no room on the disk")
        assert found.main.ingest.saved == 1_241

    drive(test, live=faking(made), **LIVE)


@pytest.mark.parametrize("key", ["E", "R", "W", "Z"])
@driven()
async def test_what_is_no_live_capture_says_so(found: Drive, key: str) -> None:
    await found.press(key)
    assert found.status()


def test_what_came_live_can_not_be_read_as_something_else() -> None:
    made: list[FakeCapture] = []

    async def test(found: Drive) -> None:
        await all_read(found)
        await found.press("ctrl+p", *"decode this stream", "enter", "enter")
        assert "a growing capture" in found.status()
        made[0].stop()
        await found.until(lambda: not found.main.ingest.is_reading)
        first = found.main
        await found.press("ctrl+p", *"decode this stream", "enter", *"stream not decoded", "enter")
        await found.until(lambda: found.main is not first and not found.main.ingest.is_reading)
        assert found.main.ingest.live is made[0]
        assert " stopped " in found.text("title")

    drive(test, live=faking(made), **LIVE)
