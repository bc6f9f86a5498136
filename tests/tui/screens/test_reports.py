"""What happened, as a page: reached by a key, and its lines lead to their messages."""

from __future__ import annotations

from tests.tui.driving import KAFKA, Drive, driven
from tests.tui.screens.test_views import in_force, is_left, opened, shown
from tests.tui.test_filter import kept_by

ENSEMBLE = KAFKA.with_name("zookeeper-ensemble.pcap.zst")


@driven(ENSEMBLE)
async def test_a_line_leads_to_its_messages(found: Drive) -> None:
    there = await opened(found, "H", "j", "enter")
    await found.press("tab", "tab")
    assert there.view.name == "elections"
    assert shown(found)[0].split()[1:3] == ["election", "3"]
    await found.press("enter")
    assert is_left(found)
    await found.filtered()
    text = in_force(found)
    assert text is not None
    assert text.startswith("number in {")
    assert found.rows() == kept_by(text, ENSEMBLE)


@driven()
async def test_the_worst_comes_first(found: Drive) -> None:
    there = await opened(found, "H")
    assert [view.name for view in there.maker.views[:3]] == ["Overview", "timeline", "kafka.groups"]
    await found.press("enter")
    assert there.view.name == "kafka.groups"
    still = [int(line.split("ms")[-2].split()[-1]) for line in shown(found)[:3]]
    assert still == sorted(still, reverse=True)
    await found.press("tab", "enter")
    await found.filtered()
    assert (in_force(found) or "").startswith("kafka.group == jg-")
    assert len(found.rows()) > 20


@driven(size=(80, 24))
async def test_the_tab_is_on_the_screen(found: Drive) -> None:
    there = await opened(found, "H", "9", "tab", "tab")
    assert there.view.name == "delays"
    assert "[delays]" in shown(found, "page-tabs")[0]
    assert shown(found, "page-tabs")[0].startswith("<")
