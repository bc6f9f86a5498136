"""Statistics and conversations, driven by keys and the mouse: what each line leads to, in any size, at any time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from analyzer.columns.arrays import Ints
from analyzer.session import Analysis
from tests.tui.driving import KAFKA, Drive, drive, driven
from tests.tui.hostile import TEXTS, acts, write
from tests.tui.screens.test_ingest import PART, WHOLE, pipe, rows_in
from tests.tui.test_filter import kept_by
from tui.model import statistics
from tui.model.leads import FilterLead
from tui.model.views import TextView, View, ViewWork
from tui.screens.views_page import ViewsPage

MIXED = KAFKA.with_name("mixed.pcapng")
SIZES = [(80, 24), (120, 40), (200, 60)]


def page(found: Drive) -> ViewsPage:
    screen = found.window.screen
    assert isinstance(screen, ViewsPage)
    return screen


async def opened(found: Drive, *keys: str) -> ViewsPage:
    """Opens the page of a key and waits until all views are there; then more keys."""
    await found.press(keys[0])
    there = page(found)
    await found.until(lambda: there.maker.is_whole)
    await found.press(*keys[1:])
    return there


def shown(found: Drive, name: str = "page") -> list[str]:
    return [line.rstrip() for line in found.lines(page(found).query_one(f"#{name}"))]


def is_left(found: Drive) -> bool:
    return found.window.screen is found.main


def in_force(found: Drive) -> str | None:
    return None if found.main.filter.in_force is None else found.main.filter.in_force.text


CASES: Sequence[tuple[Sequence[str], str]] = [
    (("s", "2"), "operation == SEND_RECEIPT"),
    (("s", "2", "j"), "operation == SEND_RECEIPT and latency >= 4ms and latency < 8ms"),
    (("s", "tab", "tab"), 'time >= "2026-11-21 14:35:00.2" and time < "2026-11-21 14:35:00.4"'),
    (("s", "4"), "kafka.topic == jg"),
    (("s", "5"), 'zookeeper.path == "/kz"'),
    (("s", "6", "j"), "kafka.group == jg-RangeAssignor"),
    (("s", "7"), "client == Pulsar-Java-v4.2.4"),
    (("s", "8"), "operation == exists and error == NONODE"),
    (("s", "shift+tab"), 'stream_id == "127.0.0.1:55372>127.0.0.1:6650"'),
    (("C",), "stream == 13"),
    (("C", "e"), '(source == "127.0.0.1:6650" or destination == "127.0.0.1:6650")'),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("keys", "wanted"), CASES)
@driven(MIXED)
async def test_enter_filters_by_what_the_line_stands_for(found: Drive, keys: tuple[str, ...], wanted: str) -> None:
    there = await opened(found, *keys)
    item = there.pane.current_line
    assert item is not None
    assert item.lead == FilterLead(wanted)
    await found.press("enter")
    assert is_left(found)
    await found.filtered()
    rows = kept_by(wanted, MIXED)
    assert (in_force(found), found.rows()) == (wanted, rows)
    assert rows


def test_the_filter_in_force_stays_and_only_what_it_keeps_is_counted() -> None:
    both = "(kafka.Fetch or kafka.Heartbeat) and operation == Heartbeat and error == REBALANCE_IN_PROGRESS"

    async def test(found: Drive) -> None:
        await found.filter("kafka.Fetch or kafka.Heartbeat")
        remaining = len(found.rows())
        await opened(found, "s")
        assert f"Statistics of {remaining} messages, that match kafka.Fetch or kafka.Heart" in found.lines()[0]
        await found.press("8")
        while (item := page(found).pane.current_line) is not None and "REBALANCE" not in str(item.lead):
            await found.press("j")
        await found.press("enter")
        await found.filtered()
        assert (in_force(found), found.rows()) == (both, kept_by(both))
        await opened(found, "C")
        assert f"Conversations of {len(kept_by(both))} message" in found.lines()[0]
        await found.press("escape")
        assert (is_left(found), in_force(found)) == (True, both)

    drive(test)


@driven()
async def test_what_is_ignored_does_not_count(found: Drive) -> None:
    await found.press("d")
    await opened(found, "s")
    assert "Statistics of 647 messages, without 1 ignored" in found.lines()[0]


@driven(MIXED)
async def test_lines_of_the_overview_lead_to_views_and_messages(found: Drive) -> None:
    there = await opened(found, "s", "j", "j", "j", "enter")
    assert there.view.name == "Rate"
    await found.press("1", "g", *["j"] * 8)
    assert "No. 694 had waited" in shown(found)[8]
    await found.press("enter")
    assert found.row == 693


@driven()
async def test_lines_that_lead_nowhere_stay(found: Drive) -> None:
    there = await opened(found, "s", "enter", "4", "G", "enter")
    assert there.is_current
    await found.press("q")
    assert is_left(found)


@driven()
async def test_latencies_unfold(found: Drive) -> None:
    there = await opened(found, "s", "2")
    operations = len(there.view.foldable)
    first = there.pane.count
    assert first > operations
    assert shown(found)[0].startswith("▾ ")
    await found.press("space")
    assert there.pane.count == operations
    await found.press("l")
    assert (there.pane.count, there.pane.cursor) == (first, 0)
    await found.press("l", "j", "h")
    assert there.pane.cursor == 0
    await found.press("j", "space")
    assert (there.pane.count, there.pane.cursor) == (operations, 0)
    await found.press("=")
    assert there.pane.count > first
    await found.press("-", "j", "right")
    assert (there.pane.cursor, shown(found)[1][:2]) == (1, "▾ ")
    await found.press("left")
    assert there.pane.count == operations
    await found.pilot.click(there.pane, offset=(0, 2))
    await found.settle()
    assert (there.pane.cursor, shown(found)[2][:2]) == (2, "▾ ")


@driven()
async def test_sorted_by_keys_and_by_the_mouse(found: Drive) -> None:
    there = await opened(found, "C", "o")
    streams = [int(line.split()[0]) for line in shown(found)[:20]]
    assert streams == sorted(streams, reverse=True)
    assert "stream▼" in shown(found, "page-heads")[0]
    await found.press("O")
    assert [int(line.split()[0]) for line in shown(found)[:20]] == list(range(20))
    assert "stream▲" in shown(found, "page-heads")[0]
    head = shown(found, "page-heads")[0]
    await found.pilot.click("#page-heads", offset=(head.index("p95"), 0))
    await found.settle()
    assert there.state.order.by == "p95"
    key = there.pane.view_lines[there.pane.cursor].key
    await found.pilot.click("#page-heads", offset=(head.index("p95"), 0))
    await found.settle()
    assert there.pane.view_lines[there.pane.cursor].key == key
    assert "p95▲" in shown(found, "page-heads")[0]


@driven()
async def test_narrowed_as_it_is_typed(found: Drive) -> None:
    there = await opened(found, "C", "slash", "2", "9", "1", "9", "2")
    assert isinstance(found.window.screen.query_one(Input), Input)
    assert there.pane.count == 13 + 1
    await found.press("enter")
    assert found.window.screen is there
    assert "13 of 37 have 29192" in there.pane.view_lines[13].line[0][1]
    await found.press("escape")
    assert (found.window.screen is there, there.pane.count) == (True, 37 + 1)
    await found.press("slash", "x", "escape")
    assert (found.window.screen is there, there.pane.count) == (True, 37 + 1)
    await found.press("escape")
    assert is_left(found)


@driven()
async def test_the_chart_shows_the_selected_interval_and_the_mouse_selects_one(found: Drive) -> None:
    there = await opened(found, "s", "3")
    chart = shown(found, "page-above")
    marks = next(line for line in chart if "▲" in line)
    assert chart[0].startswith("messages/s")
    assert any(line.startswith("bytes/s") for line in chart)
    await found.press("pagedown")
    after = next(line for line in shown(found, "page-above") if "▲" in line)
    assert after.index("▲") > marks.index("▲")
    await found.pilot.click("#page-above", offset=(marks.index("▲"), 1))
    await found.settle()
    assert there.pane.cursor == 0
    lines = there.pane.count
    await found.press("j", "+")
    assert there.pane.count > lines
    for _ in range(3):
        await found.press("-")
    assert (there.pane.count, there.pane.cursor) == (lines, 1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_any_size_and_any_name(size: tuple[int, int], tmp_path: Path) -> None:
    path = write(tmp_path / "evil\x1b[31m.pcap", TEXTS)

    async def test(found: Drive) -> None:
        seen = ""
        for key, views in (("s", 9), ("C", 3)):
            await opened(found, key)
            for view in range(views):
                if view in (0, 2):
                    await found.pilot.resize_terminal(24, 8)
                    await found.settle()
                    assert {cell_len(line) for line in found.lines()} == {24}
                    await found.pilot.resize_terminal(*size)
                    await found.settle()
                assert {cell_len(line) for line in found.lines()} == {size[0]}
                seen += "".join(found.lines())
                await found.press("tab")
            await found.press("escape")
        assert not acts(seen)
        assert "\\x1b[31mred" in seen

    drive(test, path, size=size)


def test_keys_do_not_wait_for_what_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, works = Event(), []

    def slow(session: Analysis, rows: Ints, work: ViewWork) -> Iterator[list[View]]:
        works.append(work)
        work.subject = "topics"
        work.report_progress(7, 10)
        yield [TextView(name, "not yet") for name in statistics.STATISTICS_VIEWS]
        gate.wait(60)
        work.raise_if_cancelled()
        raise AssertionError("somebody wanted it")

    monkeypatch.setattr(statistics, "make_statistics_views", slow)

    async def test(found: Drive) -> None:
        await found.press("s")
        await found.until(lambda: "topics: 7 of 10 examined" in found.lines()[0])
        await found.press("tab", "j", "o", "=", "-", "slash", "enter", "3")
        assert page(found).view.name == "Rate"
        await found.press("r")
        assert not works[0].is_wanted
        await found.press("escape")
        assert is_left(found)
        await found.until(lambda: not works[-1].is_wanted)
        gate.set()
        await found.settle()

    drive(test)


def test_a_page_of_what_is_still_read_says_so_and_is_made_anew() -> None:
    async def test(found: Drive) -> None:
        timeline = found.main.timeline.timeline
        os.write(end, WHOLE[:PART])
        await found.until(lambda: timeline.rows == rows_in(PART))
        await opened(found, "C")
        rows = timeline.rows
        assert f"Conversations of {rows} messages, so far" in found.lines()[0]
        os.write(end, WHOLE[PART : 2 * PART])
        await found.until(lambda: timeline.rows == rows_in(2 * PART))
        await found.settle()
        assert f"of {rows} messages" in found.lines()[0]
        await opened(found, "r")
        assert f"of {timeline.rows} messages, so far" in found.lines()[0]
        await found.press("escape")

    with pipe() as (name, end):
        drive(test, name, wait=False)
