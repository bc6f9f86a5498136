"""The page of findings, driven by keys, and held against what doctor says."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from analyzer.cli.doctor import command
from dissectors.field import Field
from tests.analyzer.wire import CLIENT, SERVER, Segment, capture, opening
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tests.tui.hostile import TEXTS, acts, write
from tests.tui.screens.test_ingest import PART, WHOLE, rows_in
from tui.screens import fold_pages as screen
from tui.screens.fold_pages import FindingsPage, ScanPortion

MIXED = KAFKA.with_name("mixed.pcapng")
FENCED = GOLDEN / "k4_java_txn.pcap.zst"
REQUEST = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff".replace(" ", ""))
BROKEN = REQUEST[:18] + b"\x7f\xff\xff\xff"


def page(found: Drive) -> FindingsPage:
    assert isinstance(found.window.screen, FindingsPage)
    return found.window.screen


async def opened(found: Drive) -> FindingsPage:
    await found.press("F")
    there = page(found)
    await found.until(lambda: there._is_whole)
    await found.settle()
    return there


def damaged(path: Path) -> Path:
    """Two findings of messages, one of a connection."""
    segments = [
        *opening(),
        Segment(CLIENT, 0, REQUEST),
        Segment(CLIENT, 22, BROKEN),
        Segment(CLIENT, 0, b"\xff" * 22),
        Segment(SERVER, 0, bytes.fromhex("0000000400000063")),
    ]
    return capture(path / "damaged.pcap", segments)


def doctor(*words: str) -> Counter[str]:
    """How many findings of each code the command counts, without those that others explain."""
    counts = Counter[str]()
    for line in CliRunner().invoke(command, ["--format", "ndjson", *words]).stdout.splitlines():
        problem = json.loads(line)
        if problem["caused_by"] is None:
            counts[problem["code"]] += problem["count"]
    return counts


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", [(16_384, 4 << 20), (50, 4 << 20)])
@pytest.mark.parametrize("path", [KAFKA, MIXED, FENCED, "damaged"], ids=str)
def test_as_many_as_doctor_tells(
    path: Path | str, part: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "PART_LIMITS", part)
    path = damaged(tmp_path) if path == "damaged" else path

    async def test(found: Drive) -> None:
        there = await opened(found)
        counts = Counter[str]()
        for problem in there._findings.problems:
            counts[problem.key.code] += problem.total
        assert counts == doctor(str(path))
        title = found.lines()[0]
        for problem in there._findings.problems:
            assert problem.severity.name.lower() in title
        rows = found.main.timeline.timeline.rows
        assert f"in {rows:,} messages" in title

    drive(test, path)


@driven(FENCED)
async def test_a_filter_chooses_whose_findings_are_reported(found: Drive) -> None:
    await found.filter("number >= 110 and number < 118")
    there = await opened(found)
    assert sum(problem.total for problem in there._findings.problems) == sum(
        doctor(str(FENCED), "-Y", "number >= 110 and number < 118").values()
    )
    assert "that match number >= 110" in found.lines()[0]
    await found.press("escape")
    await found.filter("number == 1")
    await opened(found)
    assert "no findings" in found.lines()[1]
    await found.press("enter", "space", "=", "-", "j")
    assert "no findings" in found.lines()[1]


@driven(FENCED)
async def test_what_is_ignored_is_left_out(found: Drive) -> None:
    await found.press("v", "ctrl+g", "1", "1", "5", "enter", "d")
    there = await opened(found)
    assert "fenced-producer" not in {problem.key.code for problem in there._findings.problems}
    assert "without 1 ignored" in found.lines()[0]


def test_enter_leads_to_the_message_and_the_field(tmp_path: Path) -> None:
    async def test(found: Drive) -> None:
        await opened(found)
        line = next(at for at, text in enumerate(found.lines()) if re.match(r" +2 +stream 0", text))
        await found.press(*["j"] * (line - 1), "enter")
        assert found.window.screen is found.main
        assert found.row == 1
        detail = found.main.view.detail
        assert detail is not None
        (wanted,) = (each for each in detail.tree.findings if each.code == "malformed-body")
        what = found.main.tree_pane.get_path()[-1]
        assert isinstance(what, Field)
        assert wanted.offset is not None
        assert (wanted.offset, what.spec.name, found.main.hex_pane.offset_at_cursor) == (22, "undecoded", 21)

    drive(test, damaged(tmp_path))


@driven(FENCED)
async def test_a_finding_of_several_messages_leads_to_its_message(found: Drive) -> None:
    for _ in range(2):
        await opened(found)
        line = next(at for at, text in enumerate(found.lines()) if re.match(r" +115 ", text))
        await found.press(*["j"] * (line - 1), "enter")
    assert (found.row, found.window.screen) == (114, found.main)


@driven(MIXED)
async def test_problems_fold_and_keep_their_fold(found: Drive) -> None:
    there = await opened(found)
    pane = there.pane
    problems, count = len(there._findings.problems), pane.count
    assert count > problems
    await found.press("-")
    assert pane.count == problems
    await found.press("j", "enter")
    assert pane.count > problems
    await found.press("l")
    assert pane.current_line is not None
    assert pane.current_line.offset == 1
    await found.press("h")
    assert pane.current_line.offset == 0
    await found.press("h", "=")
    await found.press("G")
    assert pane.count >= count
    assert pane.cursor == pane.count - 1
    await found.press("r")
    await found.until(lambda: there._rows == found.main.timeline.timeline.rows)
    assert pane.count == count


def test_what_comes_in_above_does_not_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "PART_LIMITS", (100, 1 << 20))

    async def test(found: Drive) -> None:
        there = await opened(found)
        whole = there._findings.problems
        await found.press("G")
        pane = there.pane
        assert pane.current_line is not None
        selected, height = pane.make_line_strip(pane.cursor, "").text, pane.cursor - pane.top
        there._take_part(there._examination, ScanPortion(whole, there._rows))
        await found.settle()
        assert pane.make_line_strip(pane.cursor, "").text == selected
        assert pane.cursor - pane.top == height

    drive(test, MIXED, size=(100, 14))


def test_leaving_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[int] = []
    monkeypatch.setattr(screen, "PART_LIMITS", (1, 1))
    tell = screen.FindingScan._post_part

    def told(self: screen.FindingScan, rows: int) -> None:
        requested.append(rows)
        tell(self, rows)

    monkeypatch.setattr(screen.FindingScan, "_post_part", told)

    async def test(found: Drive) -> None:
        await found.press("F")
        there = page(found)
        await found.press("escape")
        await found.until(lambda: not there._worker.is_alive())
        assert found.window.screen is found.main
        assert max(requested, default=0) < 648

    drive(test)


def test_while_rows_come_in() -> None:
    async def test(found: Drive) -> None:
        os.write(end, WHOLE[:PART])
        await found.until(lambda: found.main.timeline.timeline.rows == rows_in(PART))
        there = await opened(found)
        rows = there._rows
        assert f"in {rows} messages (so far)" in found.lines()[0]
        os.write(end, WHOLE[PART:])
        os.close(end)
        await found.until(lambda: not found.main.ingest.is_reading)
        await found.press("r")
        await found.until(lambda: there._is_whole and there._rows == 648)
        await found.settle()
        assert "in 648 messages" in found.lines()[0]
        assert "so far" not in found.lines()[0]

    reading, end = os.pipe()
    try:
        drive(test, f"/dev/fd/{reading}", wait=False)
    finally:
        os.close(reading)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_nothing_that_is_painted_acts(size: tuple[int, int], tmp_path: Path) -> None:
    async def test(found: Drive) -> None:
        there = await opened(found)
        await found.press("=")
        seen = "".join(there.pane.get_strip(line).text for line in range(there.pane.count)) + "".join(found.lines())
        assert not acts(seen)
        assert {cell_len(line) for line in found.lines()} == {size[0]}
        assert len(found.lines()) == size[1]

    drive(test, write(tmp_path / "evil\x1b[31m.pcap", TEXTS), size=size)
