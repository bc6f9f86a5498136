"""Rows that leave while more come: what stays is what a file has there, and what is shown reads nothing that has left.

How much tables hold grows in leaps, which are as large as all that a test reads; so each row takes A_ROW bytes here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.decode.content import read_cell
from analyzer.decode.rows import RowReader
from analyzer.messages.eviction import Eviction
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from benchmarks.library import Library
from tests.tui.driving import Drive, drive
from tests.tui.screens.test_ingest import pipe
from tui.background import PENDING_TASKS
from tui.model.row_cells import INDEX_KEYS, CellReader
from tui.screens import detail_view, ingest

PACKETS, PIECE = 6_000, 60_000
A_ROW = 100
MEMORY = 1_200 * A_ROW
"""Rows are to leave from 960 on, and 300 of them stay."""

STAY = 300

FILTERS = ("length > 100", 'text contains "bench"', "latency > 1us")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Library(tmp_path_factory.mktemp("captures")).of_packets("small", PACKETS)


@pytest.fixture(scope="module")
def whole(capture: Path) -> Iterator[Session]:
    with Session([capture]) as session:
        yield session.load()


class Feed:
    """Writes a capture to a pipe, a piece at a time, each when the one before has been taken over.

    kept: tasks of the test, which are not waited for.
    """

    def __init__(self, found: Drive, capture: Path, end: int) -> None:
        self._found, self._data, self._end, self._at = found, capture.read_bytes(), end, 0
        self.kept = set[int]()

    async def more(self, pieces: int = 1) -> None:
        session = self._found.main.session
        for _ in range(pieces):
            piece = self._data[self._at : self._at + PIECE]
            rows = len(session.rows)
            os.write(self._end, piece)
            self._at += len(piece)
            await self._found.until(lambda rows=rows: len(session.rows) > rows)  # type: ignore[misc]

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            assert self._at < len(self._data), "it never happened"
            await self.more()
            await self._found.until(self._is_taken_over)
            await self._found.settle()

    def _is_taken_over(self) -> bool:
        main = self._found.main
        is_shown = main.ingest.is_paused or main.timeline.timeline.rows == len(main.session.rows)
        return is_shown and PENDING_TASKS._open <= self.kept


@pytest.fixture(autouse=True)
def rows_of_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def held(eviction: Eviction) -> int:
        rows = eviction._engine.rows
        return A_ROW * (len(rows) - rows.first)

    def due(eviction: Eviction, limit: int | None) -> int:
        rows = eviction._engine.rows
        return rows.first if limit is None or held(eviction) <= limit else len(rows) - STAY

    monkeypatch.setattr(Eviction, "memory_bytes", property(held))
    monkeypatch.setattr(Eviction, "find_due_row", due)


Test = Callable[[Drive, Feed], Coroutine[Any, Any, None]]


def live(test: Test, capture: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    monkeypatch.setattr(ingest, "PAUSE", 0.01)

    async def whole(found: Drive) -> None:
        await test(found, Feed(found, capture, end))

    with pipe() as (name, end):
        drive(whole, name, wait=False, **{"memory": MEMORY, "size": (160, 40), **options})


def first(found: Drive) -> int:
    return found.main.timeline.timeline.first


def test_what_stays_is_what_the_file_has(capture: Path, whole: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        listed, session = found.main.timeline, found.main.session
        await feed.until(lambda: first(found) > 1_000)
        await feed.until(lambda: session.rows.first == first(found))
        assert session.eviction.memory_bytes < MEMORY
        assert found.row == listed.timeline.rows - 1
        assert f"{listed.timeline.rows:,} messages" in found.text("title")
        rows = found.rows()
        assert rows == list(range(first(found), listed.timeline.rows))
        some = [*rows[:40], *rows[-40:]]
        keys = [key for key in INDEX_KEYS if key not in ("partner", "stream")]
        numbers = np.array(some)
        assert RowReader(session).read_columns(keys, numbers) == RowReader(whole).read_columns(keys, numbers)
        assert [each.body for each in CellReader(session).read_rows(some)] == [
            each.body for each in CellReader(whole).read_rows(some)
        ]
        for view in "vv":
            await found.press("g", "G", "g", "=")
            assert found.row is None or found.row >= first(found)
            await found.press("-", view)

    live(test, capture, monkeypatch, following=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", FILTERS)
def test_a_filter_forgets_them(text: str, capture: Path, whole: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        await feed.more()
        await found.filter(text)
        await feed.until(lambda: first(found) > 1_000)
        await found.press("v", "G", "g", "v")
        found.main.session.packets.stop()
        await found.until(lambda: not found.main.ingest.is_reading)
        await found.filtered()
        rows = range(first(found), found.main.timeline.timeline.rows)
        remaining = compile_filter(text).select_rows(RowReader(whole), rows).tolist()
        alone = [
            row for row in remaining if (read_cell(whole, "partner", row) or row) < rows.start
        ]  # no latency any more
        assert set(remaining) - set(found.rows()) <= set(alone)
        assert set(found.rows()) <= set(remaining)

    live(test, capture, monkeypatch, following=True)


def test_the_cursor_stays_on_its_message_or_goes_to_the_first(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        listed = found.main.timeline
        await feed.more(2)
        await found.press("v", "g", "j", "j", "m", "ctrl+t", "t", "t")
        await feed.until(lambda: listed.timeline.rows > 600)
        assert (first(found), found.row) == (0, 2)
        await feed.until(lambda: first(found) > 0)
        assert found.row == first(found)
        assert found.main.view.detail is not None
        assert found.main.view.detail.row == found.row
        assert not listed.row_lines.marks.marked
        assert listed.row_lines.times.references == [2]  # what comes behind still counts from it
        assert all(float(line.split()[1]) > 0 for line in found.text("list").splitlines()[:3])
        await found.press("ctrl+g", *"3", "enter")
        assert found.status() == f"message 3 {detail_view.EVICTED}"
        before = first(found)
        await found.press("G", "k", "k")
        row, height = found.row, listed.cursor - listed.top
        await feed.until(lambda: first(found) > before)
        if row is not None and row >= first(found):
            assert (found.row, listed.cursor - listed.top) == (row, height)

    live(test, capture, monkeypatch)


def test_a_page_keeps_its_rows_until_memory_is_full(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        main, session = found.main, found.main.session
        await feed.more(2)
        await found.press("v", "g", "f")  # what is followed reads rows as they come to the screen
        page = found.window.screen
        await feed.until(lambda: session.eviction.find_due_row(int(0.8 * MEMORY)) > 0)
        assert (first(found), found.window.screen) == (0, page)
        await found.press("pagedown", "space")
        await feed.until(lambda: first(found) > 0)
        assert found.window.screen is main
        await found.until(lambda: "was closed" in found.status())
        await feed.until(lambda: session.rows.first == first(found))
        await found.press("s")
        await found.press("escape", "C")
        await found.press("escape", "F")
        await found.press("escape", "i")
        await found.press("escape", "f")
        await found.press("escape", "w", "escape")

    live(test, capture, monkeypatch)


def test_a_paused_list_goes_on_when_memory_is_full(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        await feed.more()
        await found.press("Z")
        await feed.until(lambda: found.main.session.eviction.find_due_row(int(0.8 * MEMORY)) > 0)
        assert found.main.ingest.is_paused
        await feed.until(lambda: not found.main.ingest.is_paused)
        await found.until(lambda: "continues" in found.status())
        await feed.until(lambda: first(found) > 0)

    live(test, capture, monkeypatch, following=True)


def test_rows_stay_for_work_that_is_under_way(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        session = found.main.session
        await feed.more()
        number = PENDING_TASKS.begin_task()
        feed.kept.add(number)
        try:
            await feed.until(lambda: first(found) > 0)
            await feed.more(4)
            assert session.rows.first == 0
        finally:
            PENDING_TASKS.end_task(number)
        await feed.until(lambda: session.rows.first == first(found))

    live(test, capture, monkeypatch, following=True)


def test_work_that_never_pauses_does_not_keep_them(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(found: Drive, feed: Feed) -> None:
        session, number = found.main.session, PENDING_TASKS.begin_task()

        async def more() -> None:
            nonlocal number
            await feed.more()
            before, number = number, PENDING_TASKS.begin_task()
            PENDING_TASKS.end_task(before)

        try:
            await more()
            while not session.rows.first:
                await more()
                await found.settle()
            assert first(found) >= session.rows.first
        finally:
            PENDING_TASKS.end_task(number)

    live(test, capture, monkeypatch, following=True)
