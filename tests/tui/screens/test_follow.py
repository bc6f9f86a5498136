"""The page of a conversation, driven by keys and the mouse, and held against what follow prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from textual.events import MouseScrollDown, MouseScrollUp

from analyzer.cli.follow import command
from tests.analyzer.wire import CLIENT, Talk, capture, segments
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tests.tui.hostile import TEXTS, acts, metadata, write
from tests.tui.screens.test_ingest import PART, WHOLE, rows_in
from tui.model import dialogue as model
from tui.screens.fold_pages import FollowPage
from tui.screens.folding import FoldingPane

CLASSIC = GOLDEN / "k4_java_classic.pcap.zst"


async def opened(found: Drive) -> FollowPage:
    await found.press("f")
    there = found.window.screen
    assert isinstance(there, FollowPage)
    await found.until(lambda: there.pane.contents is not None)
    await found.settle()
    return there


def said(path: Path, stream: int, *words: str) -> list[str]:
    return CliRunner().invoke(command, [str(path), str(stream), *words]).stdout.splitlines()[1:]


def spelled(pane: FoldingPane) -> list[str]:
    """All lines, without the marks of what unfolds."""
    return ["".join(text for _, text in pane.get_spans(line))[2:] for line in range(pane.count)]


def shown(found: Drive) -> list[str]:
    return [line[:-1].rstrip() for line in found.lines()[1:-1]]


def in_sight(pane: FoldingPane) -> str:
    return pane.make_line_strip(pane.cursor, "").text


@driven(CLASSIC, size=(140, 50))
async def test_as_follow_prints_it(found: Drive) -> None:
    await found.press("ctrl+g", "4", "8", "enter")
    stream = found.main.timeline.selected.stream  # type: ignore[union-attr]
    there = await opened(found)
    wanted = said(CLASSIC, stream)
    assert spelled(there.pane) == wanted
    assert f"{len(wanted)} messages" in found.lines()[0]
    assert in_sight(there.pane).startswith("▸     48 ")
    await found.press("g", "=")
    for _ in range(len(wanted) * 20):
        await found.press("pagedown")
        if there.pane.cursor == there.pane.count - 1:
            break
    assert spelled(there.pane) == said(CLASSIC, stream, "--as", "fields")
    await found.press("-")
    assert spelled(there.pane) == wanted


@driven()
async def test_each_side(found: Drive) -> None:
    there = await opened(found)
    for who in ("client", "server"):
        await found.press("o")
        assert spelled(there.pane) == said(KAFKA, 0, "--only", who)
        assert f"messages of the {who}" in found.lines()[0]
    await found.press("o")
    assert spelled(there.pane) == said(KAFKA, 0)


@driven()
async def test_fields_unfold_in_place_and_enter_leads_to_the_message(found: Drive) -> None:
    there = await opened(found)
    pane = there.pane
    assert pane.count == 4
    await found.press("j", "j", "space")
    assert (pane.cursor, pane.current_line) == (2, (2, 0))
    count = pane.count
    assert count > 10
    await found.press("l", "j")
    assert pane.current_line == (2, 2)
    await found.press("h")
    assert pane.current_line == (2, 0)
    await found.press("h")
    assert pane.count == 4
    await found.press("right", "right", "enter")
    assert found.window.screen is found.main
    assert found.row == 2


@driven()
async def test_a_hidden_message_cannot_be_reached(found: Drive) -> None:
    await found.filter("number == 1")
    there = await opened(found)
    assert there.pane.count == 4
    await found.press("j", "enter")
    assert "the filter hides message 2" in found.status()


@driven(GOLDEN / "k4_java_txn.pcap.zst", size=(140, 10))
async def test_all_unfold_where_somebody_looks_and_nothing_jumps(found: Drive) -> None:
    await found.press("v", "G")
    there = await opened(found)
    pane, heads = there.pane, there._dialogue.fold_list.heads  # type: ignore[union-attr]
    assert heads > 10
    await found.press("G", "=")
    few = there._dialogue.fold_list.unfolded  # type: ignore[union-attr]
    assert 0 < len(few) < heads
    await found.press("G")
    assert pane.cursor == pane.count - 1
    seen: list[str] = []
    for _ in range(3000):
        seen.append(in_sight(pane))
        if not pane.cursor:
            break
        if len(seen) < 60:
            await found.press("k")
        else:
            pane._action_up()
            pane.make_strips(pane.size)
    assert [text[2:] for text in seen[::-1]] == [pane.make_line_strip(line, "").text[2:] for line in range(pane.count)]
    assert len(there._dialogue.fold_list.unfolded) == heads  # type: ignore[union-attr]


@driven(GOLDEN / "k4_java_txn.pcap.zst", size=(140, 30))
async def test_a_page_up_goes_over_what_it_unfolds(found: Drive) -> None:
    await found.press("v", "G")
    there = await opened(found)
    await found.press("G", "=", "G")
    pane = there.pane
    for _ in range(200):
        before, top = shown(found), pane.top
        await found.press("pageup")
        if not pane.cursor:
            break
        assert before[0] in shown(found), top
    assert there._dialogue.fold_list.get_height(0) is not None  # type: ignore[union-attr]


@driven(GOLDEN / "k4_java_txn.pcap.zst", size=(140, 30))
async def test_the_wheel_moves_by_lines_also_over_what_it_unfolds(found: Drive) -> None:
    await found.press("v", "G")
    there = await opened(found)
    await found.press("G", "=", "G")
    pane = there.pane
    for _ in range(30):
        before = shown(found)
        pane.post_message(MouseScrollUp(pane, 5, 5, 0, -1, 0, False, False, False))
        await found.settle()
        assert shown(found)[3:] == before[:-3]
    for _ in range(10):
        before = shown(found)
        pane.post_message(MouseScrollDown(pane, 5, 5, 0, 1, 0, False, False, False))
        await found.settle()
        assert shown(found)[:-3] == before[3:]


@pytest.mark.slow
def test_long_messages_are_decoded_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "LONG", 1000)
    talk = Talk(tuple((CLIENT, metadata(number, "c", ["x" * 500] * (1 + number % 2))) for number in range(10)))
    path = capture(tmp_path / "long.pcap", segments(talk))

    async def test(found: Drive) -> None:
        there = await opened(found)
        dialogue = there._dialogue
        assert dialogue is not None
        await found.until(lambda: not dialogue._wished)
        await found.settle()
        assert spelled(there.pane) == said(path, 0)
        await found.press("G", "=", "G")
        for _ in range(300):
            await found.until(lambda: not dialogue._wished)
            await found.settle()
            if not there.pane.cursor:
                break
            await found.press("k")
        assert spelled(there.pane) == said(path, 0, "--as", "fields")

    drive(test, path, size=(120, 20))


@driven()
async def test_another_size_keeps_the_place(found: Drive) -> None:
    there = await opened(found)
    await found.press("=", "pagedown", "pagedown")
    spot = there.pane.current_line
    for size in ((80, 24), (200, 60), (40, 8)):
        await found.pilot.resize_terminal(*size)
        await found.settle()
        assert there.pane.current_line == spot
        assert there.pane.top <= there.pane.cursor < there.pane.top + there.pane.inner.height
        assert {cell_len(line) for line in found.lines()} == {size[0]}


@driven()
async def test_what_is_ignored_is_left_out(found: Drive) -> None:
    await found.press("j", "d", "k")
    there = await opened(found)
    assert there.pane.count == 3
    assert "without 1 ignored" in found.lines()[0]


def test_while_rows_come_in() -> None:
    async def test(found: Drive) -> None:
        os.write(end, WHOLE[:PART])
        await found.until(lambda: found.main.timeline.timeline.rows == rows_in(PART))
        await found.press("v", "G", "v")
        there = await opened(found)
        count = there.pane.count
        assert "(so far)" in found.lines()[0]
        os.write(end, WHOLE[PART:])
        os.close(end)
        await found.until(lambda: not found.main.ingest.is_reading)
        await found.press("r")
        assert there.pane.count >= count
        assert "so far" not in found.lines()[0]
        assert spelled(there.pane) == said(KAFKA, there._stream)

    reading, end = os.pipe()
    try:
        drive(test, f"/dev/fd/{reading}", wait=False)
    finally:
        os.close(reading)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_nothing_that_is_painted_acts(size: tuple[int, int], tmp_path: Path) -> None:
    async def test(found: Drive) -> None:
        there = await opened(found)
        await found.press("=")
        seen = "".join(found.lines())
        for _ in range(20):
            await found.press("pagedown")
            seen += "".join(found.lines())
        assert not acts(seen)
        assert there.pane.count > 32
        assert {cell_len(line) for line in found.lines()} == {size[0]}

    drive(test, write(tmp_path / "evil\x1b[31m.pcap", TEXTS), size=size)
