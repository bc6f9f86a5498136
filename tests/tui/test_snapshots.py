"""Every screen at three sizes, as text and styles, beside what stands in tests/tui/snapshots.

`SNAPSHOTS=write make test` (or pytest alone) writes them anew; what changed is then read in the diff. A program of one
size goes from screen to screen, for to start it takes longer than to paint.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from analyzer.session import Session
from tests.tui.driving import KAFKA, Drive, drive
from tests.tui.fake_capture import FakeCapture
from tests.tui.snapshots import FOLDER, taken
from tui.inputs import CaptureState
from tui.screens import page, status_bars
from tui.screens.compare_page import ComparePage
from tui.screens.diagram_page import DiagramPage
from tui.screens.filter_bar import FilterBar
from tui.screens.folding import FoldingPage
from tui.screens.views_page import ViewsPage

SIZES = [(80, 24), (120, 40), (200, 60)]
WRITES = os.environ.get("SNAPSHOTS") == "write"
LOOKS = 20

Way = Callable[[Drive], Awaitable[None]]


def keys(*names: str, then: str = "") -> Way:
    """Pressing keys, and waiting for what a thread makes of them, then more keys."""

    async def press(found: Drive) -> None:
        await found.press(*names)
        await quiet(found)
        if then:
            await found.press(*then.split())
            await quiet(found)

    return press


async def quiet(found: Drive) -> None:
    """Until threads have done what they were asked, and two looks at the screen, some time apart, are alike."""
    before, after = None, taken(found.window)
    while before != after:
        for _ in range(4):
            await found.pilot.pause(0.02)
        await worked(found)
        before, after = after, taken(found.window)


async def worked(found: Drive) -> None:
    """Until the threads of the main screen and of a line that is typed into have nothing to do."""
    screen, done = found.window.screen, threading.Event()
    if isinstance(screen, FilterBar):
        await found.until(lambda: not screen.is_reading)
    if isinstance(screen, DiagramPage | ComparePage):
        await found.until(lambda: screen.page.count > 1)
    if isinstance(screen, ViewsPage):
        await found.until(lambda: screen.maker.is_whole)
    if isinstance(screen, FoldingPage):
        await found.until(lambda: screen.pane.contents is not None)
    found.main.background.submit("last", done.set, lambda _: None)
    await found.until(done.is_set)
    await found.until(lambda: found.main.search._worker._search is None)
    if found.main.ingest.live is None:
        await found.loaded()  # also of a capture that has just been opened
    await found.filtered()
    await found.until(lambda: found.main.activity.meter.is_settled)


FETCH = ("ctrl+g", "4", "8", "enter")

SCREENS: dict[str, tuple[Way, Way]] = {
    "streams": (keys(), keys()),
    "tree": (keys(*FETCH, "tab", "down", "down"), keys("g", "shift+tab")),
    "bytes": (keys(*FETCH, "tab", "tab", "l", "l", "l", "l", "l"), keys("g", "tab")),
    "flat": (keys("v", *FETCH), keys("v")),
    "stacked": (keys("L", "L"), keys("L", "L")),
    "zoomed": (keys("tab", "z"), keys("z", "shift+tab")),
    "marks": (keys("v", "m", "j", "d", "j", "ctrl+t", "t", "t"), keys("D", "m", "ctrl+t", "t", "t", "t", "v")),
    "filter-typing": (keys("slash", *"kafka.topi"), keys("escape", "escape")),
    "filter-wrong": (keys("slash", *"latency > 3x"), keys("escape", "escape")),
    "filter": (keys("slash", *"latency > 5ms", "enter"), keys("slash", "ctrl+u", "enter")),
    "find": (keys("ctrl+f", *"adminclient", "enter"), keys()),
    "go-to": (keys("ctrl+g", "4"), keys("escape")),
    "columns": (keys("c"), keys("escape")),
    "copy": (keys("tab", "down", "y"), keys("escape", "shift+tab")),
    "save": (keys("w"), keys("escape")),
    "menu": (keys("tab", "down", "x"), keys("escape", "shift+tab")),
    "palette": (keys("ctrl+p", *"stat"), keys("escape")),
    "help": (keys("question_mark"), keys("escape")),
    "statistics": (keys("s"), keys("escape")),
    "latency": (keys("s", "tab"), keys("escape")),
    "rate": (keys("s", "3"), keys("escape")),
    "graphs": (keys("I", then="right right shift+right"), keys("escape", "escape")),
    "graph-log": (keys("I", then="6 a j"), keys("escape")),
    "heatmap": (keys("I", then="8 j left"), keys("escape", "escape")),
    "reports": (keys("H"), keys("escape")),
    "report": (keys("H", "3"), keys("escape")),
    "open": (keys("ctrl+o"), keys("escape")),
    "open-file": (keys("ctrl+o", "enter", *"captures/kaf", "tab"), keys("escape")),
    "map": (keys("M", then="j"), keys("escape")),
    "conversations": (keys("C"), keys("escape")),
    "findings": (keys("F"), keys("escape")),
    "properties": (keys("i"), keys("escape")),
    "packets": (keys("P"), keys("escape")),
    "diagram": (keys("S"), keys("escape")),
    "compare": (keys("V"), keys("escape")),
    "follow": (keys("f"), keys("escape")),
    "tabs": (keys("ctrl+o", "enter", *"captures/zookeeper.pcap.zst", "enter"), keys("Q")),
}
"""How to come to a screen, and back."""


@pytest.fixture(autouse=True)
def always_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_bars, "measure_memory", lambda: 44_000_000)
    monkeypatch.setattr(page, "measure_memory", lambda: 44_000_000)
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _: None)  # no two looks are alike where something blinks
    monkeypatch.chdir(KAFKA.parent.parent)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_screens(size: tuple[int, int]) -> None:
    compare(f"{size[0]}x{size[1]}", SCREENS, size)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", SIZES[:2], ids=str)
def test_live_screens(size: tuple[int, int]) -> None:
    made: list[FakeCapture] = []

    def stands(state: CaptureState, **metrics: float) -> Way:
        async def way(found: Drive) -> None:
            await found.until(lambda: found.main.timeline.timeline.rows == 648)
            made[0].state = state
            made[0].set(**metrics)
            found.main.ingest.show_title()
            await quiet(found)

        return way

    async def ends(found: Drive) -> None:
        made[0].stop()
        await found.until(lambda: not found.main.ingest.is_reading)
        made[0].problem = "capturing ended: the interface v0 went down"
        await stands("stopped", captured=1_241, dropped=1_204, backlog=0, lag=0.0)(found)

    def live(session: Session) -> FakeCapture:
        made.append(FakeCapture(session))
        return made[-1]

    capturing = stands("capturing", captured=41_241, dropped=1_204, backlog=40_000, lag=2.4)
    ways = {
        "capturing": (capturing, keys()),
        "up": (keys("k", "k"), keys("G")),
        "paused": (keys("Z"), keys("Z")),
        "leaving": (keys("q"), keys("escape")),
        "stopped": (ends, keys()),
    }
    compare(f"live-{size[0]}x{size[1]}", ways, size, follow=True, following=True, wait=False, live=live)


def compare(name: str, screens: dict[str, tuple[Way, Way]], size: tuple[int, int], **options: Any) -> None:
    """Goes from screen to screen, and compares each with what is stored in a folder, or stores it."""
    found: dict[str, str] = {}

    async def test(driven: Drive) -> None:
        await quiet(driven)
        for name, (there, back) in screens.items():
            await there(driven)
            found[name] = await settled(driven, stored.get(name))
            await back(driven)
            assert driven.window.screen is driven.main, name

    folder = FOLDER / name
    stored = {} if WRITES else {path.stem: path.read_text() for path in folder.glob("*.txt")}
    drive(test, KAFKA.relative_to(KAFKA.parent.parent), size=size, **options)
    if WRITES:
        write(folder, found)
        return
    assert sorted(found) == sorted(stored)
    differ = [name for name, text in found.items() if stored[name] != text]
    lines = [unified_diff(stored[name].splitlines(), found[name].splitlines(), name, lineterm="") for name in differ]
    assert not differ, "\n".join(line for each in lines for line in each)


async def settled(found: Drive, wanted: str | None) -> str:
    """The screen; another look is taken, some times, while it is not what is wanted: a thread may just have ended."""
    text = taken(found.window)
    for _ in range(LOOKS):
        if wanted is None or text == wanted:
            break
        await quiet(found)
        text = taken(found.window)
    return text


def write(folder: Path, found: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.txt"):
        path.unlink()
    for name, text in found.items():
        (folder / f"{name}.txt").write_text(text)
