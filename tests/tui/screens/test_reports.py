"""What happened, as a page: reached without a key, and its lines lead to their messages."""

from __future__ import annotations

from tests.tui.driving import KAFKA, Drive, driven
from tests.tui.screens.test_views import in_force, is_left, page, shown
from tui.commands import pages

ENSEMBLE = KAFKA.with_name("zookeeper-ensemble.pcap.zst")


@driven(ENSEMBLE)
async def test_a_line_leads_to_its_messages(found: Drive) -> None:
    pages.open_reports(found.main)
    await found.settle()
    there = page(found)
    await found.until(lambda: there.maker.is_whole)
    await found.press("5")
    assert there.view.name == "elections"
    assert shown(found)[0].split()[1:3] == ["election", "2"]
    await found.press("j", "enter")
    assert is_left(found)
    await found.filtered()
    text = in_force(found)
    assert text is not None
    assert text.startswith("number in {")
    numbers = [int(each) - 1 for each in text.removeprefix("number in {").removesuffix("}").split(", ")]
    assert found.rows() == numbers


@driven()
async def test_a_report_that_tells_nothing(found: Drive) -> None:
    pages.open_reports(found.main)
    await found.settle()
    there = page(found)
    await found.until(lambda: there.maker.is_whole)
    await found.press("2")
    assert " jg-RangeAssignor " in shown(found)[0]
    await found.press("9", "tab", "tab", "tab")
    assert there.view.name == "sessions"
    assert "the report sessions is empty" in shown(found)[0]
    await found.press("enter", "escape")
    assert is_left(found)
