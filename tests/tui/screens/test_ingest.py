"""Rows that come in: while somebody looks, without an end, with a bad end; and messages too long to wait for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from analyzer.decode.content import read_cell
from analyzer.errors import CaptureError
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Talk, capture, segments
from tests.tui.driving import KAFKA, Drive, drive, driven
from tests.tui.hostile import metadata
from tui.app import TuiApp
from tui.inputs import StartOptions
from tui.model import row_cells
from tui.screens import detail_view, ingest

WHOLE = KAFKA.read_bytes()
PART = 60_000


@cache
def rows_in(size: int) -> int:
    """The messages of the first bytes of that capture."""
    with NamedTemporaryFile() as file:
        file.write(WHOLE[:size])
        file.flush()
        with Session([file.name]).load() as session:
            return len(session.rows)


@contextmanager
def pipe() -> Iterator[tuple[str, int]]:
    """The name of a pipe's end to read from, and the end to write to."""
    reading, writing = os.pipe()
    try:
        yield f"/dev/fd/{reading}", writing
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "PAUSE", 0.01)

    async def test(found: Drive) -> None:
        listed = found.main.timeline
        assert "reading" in found.text("title")
        assert found.row is None
        os.write(end, WHOLE[:PART])
        await found.until(lambda: listed.timeline.rows == rows_in(PART))
        await found.settle()
        assert (found.row, listed.following) == (0, False)
        await found.press("j", "j", "v")
        height = listed.cursor - listed.top
        os.write(end, WHOLE[PART : 2 * PART])
        await found.until(lambda: listed.timeline.rows == rows_in(2 * PART))
        await found.settle()
        assert found.row == 2
        assert listed.cursor - listed.top == height
        await found.press("G")
        assert listed.following
        assert found.row == listed.timeline.rows - 1
        os.write(end, WHOLE[2 * PART : 2 * PART + 30_000])
        await found.until(lambda: listed.timeline.rows == rows_in(2 * PART + 30_000))
        await found.settle()
        assert found.row == listed.timeline.rows - 1
        await found.press("k")
        assert not listed.following
        row = found.row
        os.write(end, WHOLE[2 * PART + 30_000 :])
        await found.until(lambda: listed.timeline.rows > (row or 0) + 20)
        await found.settle()
        assert found.row == row
        await found.pilot.press("q")
        found.main.stop(60)  # the pipe stays open: who waited for its end would be waiting still
        assert not found.main.ingest._loader.is_alive()

    with pipe() as (name, end):
        drive(test, name, wait=False)


def test_rows_above_the_selected_one_do_not_move_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the fold view new rows come in between the old ones."""
    monkeypatch.setattr(ingest, "PAUSE", 0.01)

    async def test(found: Drive) -> None:
        listed = found.main.timeline
        os.write(end, WHOLE[:40_000])  # several conversations are under way then
        await found.until(lambda: listed.timeline.rows == rows_in(40_000))
        await found.press("=", "G", "k")
        row, line, height = found.row, listed.cursor, listed.cursor - listed.top
        streams = listed.timeline.streams
        os.write(end, WHOLE[40_000:])
        await found.until(lambda: listed.timeline.rows > 600)
        await found.settle()
        assert found.row == row
        assert listed.cursor > line
        assert listed.cursor - listed.top == height
        assert listed.timeline.streams > streams

    with pipe() as (name, end):
        drive(test, name, wait=False, size=(120, 24))


@driven(following=True, block=64)
async def test_new_rows_are_selected_as_they_come_for_who_asks(found: Drive) -> None:
    listed = found.main.timeline
    assert listed.following
    assert found.row == listed.timeline.rows - 1 == 647


def test_small_blocks_give_the_same_lines() -> None:
    seen = []

    async def test(found: Drive) -> None:
        await found.press("=")
        seen.append((found.text("list"), found.main.timeline.timeline.list_places(0, 2000)))

    drive(test, block=50)
    drive(test)
    assert seen[0] == seen[1]


def test_what_is_no_capture_ends_it() -> None:
    async def whole(name: str) -> object:
        with Session([name]) as session:
            window = TuiApp(session, StartOptions("pipe"))
            async with window.run_test() as pilot:
                while not window._exit:
                    await pilot.pause(0.01)
            return window.return_value

    with pipe() as (name, end):
        os.write(end, b"this is no capture, whatever it may be")
        os.dup2(os.open(os.devnull, os.O_WRONLY), end)  # the end of the pipe
        assert isinstance(asyncio.run(whole(name)), CaptureError)


def test_a_damaged_end_is_reported_and_the_rows_stay(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(WHOLE[:50_001])

    async def test(found: Drive) -> None:
        assert "1 remark" in found.text("title")
        assert found.row == 0

    drive(test, path)


def test_nothing_in_it(tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(WHOLE[:24])

    async def test(found: Drive) -> None:
        assert found.status() == "the capture has no TCP packets"
        await found.press(
            "down", "G", "enter", "space", "right", "left", "=", "-", "p", "v", "tab", "enter", "space", "="
        )
        await found.press("G", "right", "left", "tab", "down", "right", "G", "]", "[", "ctrl+g", "1", "enter")
        assert found.row is None

    drive(test, path)


def test_a_partner_that_comes_late_leaves_the_tree_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "PAUSE", 0.01)

    async def test(found: Drive) -> None:
        main = found.main
        os.write(end, WHOLE[:40_000])
        await found.until(lambda: main.timeline.timeline.rows == rows_in(40_000))
        session = main.session
        row = next(row for row in range(80, 97) if read_cell(session, "partner", row) is None)
        main.timeline.select_row(row)
        await found.settle()
        await found.press("tab", "j", "j")
        os.write(end, WHOLE[40_000:])
        await found.until(lambda: main.view.detail is not None and main.view.detail.partner is not None)
        await found.settle()
        assert (found.row, main.tree_pane.cursor) == (row, 2)
        await found.press("p")
        assert found.row == read_cell(session, "partner", row)

    with pipe() as (name, end):
        drive(test, name, wait=False)


def test_long_messages_are_decoded_next_to_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_cells, "LONG", 10_000)
    monkeypatch.setattr(detail_view, "LONG", 10_000)
    long = metadata(1, "client", ["topic" * 6000])
    writes = [(CLIENT, metadata(0, "client", ["a"])), (CLIENT, long), (CLIENT, metadata(2, "client", ["b"]))]
    path = capture(tmp_path / "long.pcap", segments(Talk(tuple(writes)), lambda data: [data[:60_000]]))

    async def test(found: Drive) -> None:
        await found.press("j")
        await found.until(lambda: found.main.view.detail is not None and found.main.view.detail.row == 1)
        await found.until(lambda: "not decoded yet" not in found.text("list"))
        await found.settle()
        assert found.main.hex_pane.count == -(-len(long) // found.main.hex_pane.rows.width)
        assert "topictopic" in found.text("tree")

    drive(test, path)
