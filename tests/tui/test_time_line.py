"""A span of time that is brushed on the time line is a filter, which the list follows."""

from __future__ import annotations

import pytest

from tests.tui.driving import Drive, driven
from tui.screens import activity as activity_screen

BASE = "operation == Fetch or operation == Heartbeat"


async def brushed(found: Drive, rows: list[int]) -> list[int]:
    """Waits until the list has fewer rows; returns those of `rows` in the brushed times."""
    await found.until(lambda: found.rows() != rows)
    await found.filtered()
    await found.until(lambda: found.main.activity.meter.is_settled)
    in_force = found.main.filter.in_force
    assert in_force is not None
    first, end = in_force.text.split('"')[-4], in_force.text.split('"')[-2]
    times = found.main.session.rows.column("time")[rows]
    inside = (times >= _read_time(first)) & (times < _read_time(end))
    return [row for row, is_inside in zip(rows, inside.tolist(), strict=True) if is_inside]


def _read_time(text: str) -> int:
    from analyzer.query.filter.literals import parse_time

    time = parse_time(text)
    assert time is not None
    return time


@driven(size=(120, 30))
async def test_the_list_follows_a_brush(found: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    activity = found.main.activity.meter
    await found.filter(BASE)
    rows = found.rows()
    await found.until(lambda: activity.base_rows is not None and activity.is_settled)
    line = found.text("time-line")
    assert "◆" in line

    with monkeypatch.context() as patch:
        patch.setattr(activity_screen, "BRUSH_PAUSE", 600.0)
        await found.press("b", "shift+right", "shift+right", "shift+right")
        assert found.rows() == rows
    await found.press("shift+left")
    inside = await brushed(found, rows)
    assert 0 < len(inside) < len(rows)
    assert found.rows() == inside
    assert found.text("time-line") == line
    await found.press("escape")
    await found.until(lambda: found.rows() == rows)
    assert found.main.filter.in_force is not None
    assert found.main.filter.in_force.text == BASE

    await found.pilot.mouse_down("#time-line", offset=(60, 0))
    await found.pilot.hover("#time-line", offset=(40, 0))
    await found.pilot.mouse_up("#time-line", offset=(40, 0))
    inside = await brushed(found, rows)
    assert 5 < len(inside) < len(rows)
    assert found.rows() == inside
    await found.press("escape", "escape")
    await found.until(lambda: found.rows() == rows)
    assert found.main.focused is found.main.timeline

    await found.press("b", "minus")
    assert "this is the whole capture" in found.status()
    whole = activity.whole
    assert whole is not None
    await found.press("plus", "plus", "l", "l")
    assert activity.view is not None
    assert activity.view.length == whole.length // 2 // 2
    await found.press("home")
    assert activity.view == whole
