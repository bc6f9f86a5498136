"""Comparing: a request with its response, marked messages, one with that before it, two streams."""

from __future__ import annotations

from pathlib import Path

from dissectors.field import Field
from tests.tui.driving import Drive, driven
from tui.screens.compare_page import ComparePage

CAPTURE = Path(__file__).parents[2] / "captures" / "kafka-4.4.pcap.zst"


async def compared(found: Drive, *keys: str) -> str:
    """Presses keys, and returns what the page says when it has been made."""
    before = found.window.screen
    lines = before.page.page_lines if isinstance(before, ComparePage) else ()
    await found.press(*keys)
    page = found.window.screen
    assert isinstance(page, ComparePage)
    await found.until(lambda: page.page.count > 1 and page.page.page_lines is not lines)
    await found.settle()
    return "\n".join(found.lines())


@driven(CAPTURE)
async def test_a_request_and_its_response_are_aligned_by_topic_and_partition(found: Drive) -> None:
    await found.ask("ctrl+g", "59")
    shown = await compared(found, "V")
    assert "request with response" in shown
    assert "topicData / responses" in shown
    assert "[0] / [1]" in shown
    assert "numTaggedFields" not in shown
    assert "numTaggedFields" in await compared(found, "a")
    page = found.window.screen
    assert isinstance(page, ComparePage)
    lines = ["".join(text for _, text in each.line) for each in page.page.page_lines]
    page.page.move_cursor(next(at for at, line in enumerate(lines) if "errorCode" in line))
    await found.press("enter")
    await found.until(lambda: found.main.view.detail is not None and found.main.view.detail.row == 59)
    await found.settle()
    selected = found.main.tree_pane.get_path()[-1]
    assert isinstance(selected, Field)
    assert selected.spec.name == "errorCode"


@driven(CAPTURE)
async def test_marked_messages_and_their_streams(found: Drive) -> None:
    await found.press("v", "m")
    await found.ask("ctrl+g", "293")
    await found.press("m")
    shown = await compared(found, "V")
    assert "message 1 with message 293" in shown
    assert "confluent-kafka-python" in shown
    while "stream 0 with stream" not in shown:
        shown = await compared(found, "tab")
    assert "2 changed, 2 only left, 20 only right" in shown
    shown = await compared(found, "s")
    assert "2 changed, 20 only left, 2 only right" in shown
    assert "message 293 with message 1" in await compared(found, "down", "enter")


@driven()
async def test_without_anything_to_compare_it_says_so(found: Drive) -> None:
    await found.press("g", "V")
    assert "nothing to compare" in found.status()
