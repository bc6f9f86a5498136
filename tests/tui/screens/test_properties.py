"""The page of properties, held against what info prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from analyzer.cli.info import command
from analyzer.render.lines import strip_styles
from tests.tui.driving import GOLDEN, KAFKA, Drive, drive, driven
from tests.tui.hostile import TEXTS, acts, write
from tests.tui.screens.test_ingest import PART, WHOLE, rows_in
from tui.screens.page import PropertiesPage

MIXED = KAFKA.with_name("mixed.pcapng")


async def opened(found: Drive) -> PropertiesPage:
    await found.press("i")
    there = found.window.screen
    assert isinstance(there, PropertiesPage)
    await found.until(lambda: there.page.count > 1)
    await found.settle()
    return there


@pytest.mark.parametrize("paths", [(KAFKA,), (MIXED,), (GOLDEN / "k4_java_txn.pcap.zst", KAFKA)], ids=str)
def test_as_info_prints_it(paths: tuple[Path, ...]) -> None:
    async def test(found: Drive) -> None:
        there = await opened(found)
        text = CliRunner().invoke(command, list(map(str, paths))).stdout.splitlines()
        shown = [strip_styles(entry.line) for entry in there.page.page_lines]
        assert shown[: len(text)] == text
        assert shown[len(text) + 1] == "the input:             has been read completely"
        assert len(shown) == len(text) + 3
        assert "MiB used by this program" in shown[-1]

    drive(test, *paths)


@driven(MIXED)
async def test_enter_filters_by_a_protocol(found: Drive) -> None:
    there = await opened(found)
    line = next(at for at, entry in enumerate(there.page.page_lines) if "zookeeper:" in strip_styles(entry.line))
    await found.press("enter")
    assert found.window.screen is there
    await found.press(*["j"] * line, "enter")
    await found.filtered()
    assert found.window.screen is found.main
    assert found.main.filter.in_force is not None
    assert (found.main.filter.in_force.text, found.main.filter.in_force.matches) == ('protocol == "zookeeper"', 209)


def test_while_packets_come_in() -> None:
    async def test(found: Drive) -> None:
        os.write(end, WHOLE[:PART])
        await found.until(lambda: found.main.timeline.timeline.rows == rows_in(PART))
        there = await opened(found)
        assert "was read so far" in "\n".join(found.lines())
        os.write(end, WHOLE[PART:])
        os.close(end)
        await found.until(lambda: not found.main.ingest.is_reading)
        await found.press("r")
        await found.until(
            lambda: any("messages:              648" in strip_styles(each.line) for each in there.page.page_lines)
        )

    reading, end = os.pipe()
    try:
        drive(test, f"/dev/fd/{reading}", wait=False)
    finally:
        os.close(reading)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_nothing_that_is_painted_acts(size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def test(found: Drive) -> None:
        there = await opened(found)
        seen = "".join(there.page.get_strip(line).text for line in range(there.page.count)) + "".join(found.lines())
        assert not acts(seen)
        assert "\\x1b[31m" in seen
        assert {cell_len(line) for line in found.lines()} == {size[0]}

    drive(test, write(Path("evil\x1b[31m.pcap"), TEXTS), size=size)
