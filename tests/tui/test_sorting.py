"""The list in another order than that of time; and a partner that the filter hides."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.query.ordering import parse_sort_keys, sort_rows
from tests.tui.driving import Drive, driven
from tui.commands.columns import sort_by


def wanted(found: Drive, keys: str) -> list[int]:
    rows = np.array(found.rows())
    return sort_rows(RowReader(found.main.session), rows, parse_sort_keys(keys)).tolist()


async def ordered(found: Drive, keys: str) -> None:
    await found.until(lambda: found.listed() == wanted(found, keys))
    await found.settle()


@driven()
async def test_the_list_is_sorted_and_stays_sorted(found: Drive) -> None:
    await found.press("o", "enter")
    await ordered(found, "-latency")
    assert found.main.timeline.cursor == 0
    assert found.row == wanted(found, "-latency")[0]
    assert "Latency▼" in found.text("list-head")
    await found.press("O")
    await ordered(found, "latency")
    assert "Latency▲" in found.text("list-head")
    await found.filter("operation == Fetch")
    await ordered(found, "latency")
    await found.press("g", "j", "j")
    assert found.row == wanted(found, "latency")[2]
    await found.press("v")
    assert found.main.timeline.timeline.order is None
    assert "▲" not in found.text("list-head")
    await found.press("O")
    assert "order of time" in found.status()


@pytest.mark.parametrize("name", ["length", "operation", "kafka.topic"])
@driven()
async def test_any_column(found: Drive, name: str) -> None:
    sort_by(found.main, name)
    await ordered(found, f"-{name}" if name == "length" else name)


@driven()
async def test_a_click_on_a_title_sorts(found: Drive) -> None:
    at = found.text("list-head").index("Latency")
    await found.pilot.click("#list-head", offset=(at, 0))
    await ordered(found, "-latency")


@driven()
async def test_a_partner_is_seen_behind_a_filter(found: Drive) -> None:
    await found.filter("role == response and operation == Produce")
    responses = found.rows()
    await found.press("j", "v")
    row = found.row
    await found.press("p")
    partner = found.row
    assert row in responses
    assert partner not in responses
    assert found.rows() == sorted([*responses, partner])
    await found.press("p")
    assert found.row == row
    await found.press("escape")
    await found.filtered()
    assert len(found.rows()) == 648
    assert found.row == row
    await found.press("escape")
    assert "nothing to cancel" in found.status()
