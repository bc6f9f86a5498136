"""The page of graphs, driven by keys and the mouse: fields, series, times and cells lead to exactly their messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tui.driving import Drive, driven
from tests.tui.screens.test_views import in_force, is_left, opened, page, shown
from tests.tui.test_filter import kept_by
from tui.screens.graphs_page import GraphsPage


async def whole(found: Drive) -> GraphsPage:
    screen = page(found)
    assert isinstance(screen, GraphsPage)
    await found.until(lambda: screen.maker.is_whole)
    return screen


@driven(size=(120, 40))
async def test_a_series_is_a_filter(found: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await found.filter("not operation == Fetch")
    await opened(found, "I", "b")
    await found.press(*"client", "enter")
    await found.until(lambda: "by client" in shown(found, "page-above")[0])
    await whole(found)
    (line,) = [line for line in shown(found) if "RangeAssignor-0" in line]
    await found.press(*["down"] * shown(found).index(line))
    many = int(line.split("RangeAssignor-0")[1].split()[0])
    await found.press("a", "minus", "w", "enter")
    await found.until(lambda: (tmp_path / "graph.svg").exists())
    assert ">RangeAssignor-0</text>" in (tmp_path / "graph.svg").read_text()
    await found.press("enter")
    assert is_left(found)
    await found.filtered()
    assert in_force(found) == "not operation == Fetch and client == RangeAssignor-0"
    assert len(found.rows()) == many

    await opened(found, "I", "space", "right", "right", "shift+right")
    times = (await whole(found)).state.times
    assert times is not None
    await found.press("escape")
    assert (await whole(found)).state.times is None
    await found.pilot.mouse_down("#page-above", offset=(30, 5))
    await found.pilot.hover("#page-above", offset=(60, 5))
    await found.pilot.mouse_up("#page-above", offset=(60, 5))
    await found.settle()
    times = (await whole(found)).state.times
    assert times is not None
    await found.press("enter")
    await found.filtered()
    column = found.main.session.rows.column("time")[found.rows()]
    assert 0 < len(column) < many
    assert ((column >= times.first) & (column < times.end)).all()


@driven(size=(120, 40))
async def test_a_cell_of_the_heatmap_is_a_filter(found: Drive) -> None:
    await opened(found, "I", "8", "down", "right", "right", "shift+right")
    while " 0 answers" in shown(found, "page-above")[0]:
        await found.press("right")
    (many,) = re.findall(r"^ (\d+) answers?", shown(found, "page-above")[0])
    await found.press("enter")
    await found.filtered()
    text = in_force(found)
    assert text is not None
    assert text.startswith("latency >= 384ms and latency < 512ms and time >=")
    assert len(found.rows()) == int(many) == len(kept_by(text))

    await found.press("escape")
    await found.filtered()
    await opened(found, "I", "8")
    line = next(place for place, text in enumerate(shown(found)) if "1ms to 1.5ms" in text)
    cell = next(at for at, sign in enumerate(shown(found)[line]) if sign in "░▒▓█")
    await found.pilot.click("#page", offset=(cell, line))
    await found.settle()
    assert page(found).pane.cursor == line
    await found.pilot.click("#page", offset=(cell, line))
    await found.settle()
    assert is_left(found)
    await found.filtered()
    assert found.rows()


@driven(size=(120, 40))
async def test_an_edge_of_the_service_map_is_a_filter(
    found: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await found.filter("operation == Fetch")
    await opened(found, "M", "w", "enter")
    await found.until(lambda: (tmp_path / "map.svg").exists())
    await found.press("down")
    many = next(int(word) for word in shown(found)[1].split() if word.isdecimal())
    client = shown(found)[1].split()[0]
    await found.press("enter")
    await found.filtered()
    text = in_force(found)
    assert text is not None
    assert text.startswith("operation == Fetch and stream ")
    assert found.rows() == kept_by(text)
    assert len(found.rows()) == many == len(kept_by(f"{text} and client == {client}"))

    await opened(found, "M", "tab", "minus")
    assert len(shown(found)[0].split()) > 1
    assert page(found).pane.count == 1
    await found.press("tab", "escape")
    assert is_left(found)
