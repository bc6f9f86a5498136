"""The user interface without a terminal: opened on a capture, driven by keys and mouse, read off its screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import wraps
from inspect import Signature, signature
from os import PathLike
from pathlib import Path
from typing import Any

from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from analyzer.config.model import Config
from analyzer.decode.jsonable import Limits
from analyzer.query.filter import Filter
from analyzer.session import Session
from analyzer.tls.key_files import KeyRing
from tui.app import TuiApp
from tui.inputs import LiveCapture, StartOptions, restore_options
from tui.loader import Loader
from tui.saved_state import SavedState
from tui.screens.main import MainScreen
from tui.widgets.painted import PaintedWidget

KAFKA = Path(__file__).parent.parent.parent / "captures" / "kafka.pcap"
GOLDEN = Path(__file__).parent.parent / "golden" / "kafka"
PATIENCE = 60

Driven = Callable[["Drive"], Coroutine[Any, Any, None]]


class Drive:
    """A window under a pilot."""

    def __init__(self, window: TuiApp, pilot: Pilot[Exception]) -> None:
        self.window, self.pilot = window, pilot
        self.expects_defects = False

    @property
    def main(self) -> MainScreen:
        return self.window.main

    @property
    def row(self) -> int | None:
        """The selected row."""
        place = self.main.timeline.selected
        return None if place is None else place.row

    async def press(self, *keys: str) -> None:
        """Keys by Textual's names or as characters, each when the one before has been dealt with."""
        driver = self.window._driver
        assert driver is not None
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
            event = Key(name, key if len(key) == 1 else None)
            event.set_sender(self.window)
            driver.send_message(event)
            for _ in range(3):
                await self.pilot._wait_for_screen()
        await self.settle()

    async def settle(self) -> None:
        """Until nothing is under way but reading."""
        calm = 0
        while calm < 3:
            await self.pilot.pause(0)
            calm = 0 if self._is_busy() else calm + 1
        if self.window.shown_defects and not self.expects_defects:
            raise self.window.shown_defects[0]

    def _is_busy(self) -> bool:
        """Whether somebody has a message to deal with, or what is on top something to lay out or to paint."""
        window = self.window
        pumps = [window, *window.screen_stack, *window.screen.walk_children()]
        return (
            any(pump.message_queue_size or pump._next_callbacks for pump in pumps)
            or bool(window.screen._dirty_widgets)
            or any(pump._layout_required for pump in window.screen.walk_children(with_self=True))
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "it never happened"
            await self.pilot.pause(0.005)

    async def ended(self) -> None:
        """Until the program is about to end, by itself or with a defect."""
        end = time.monotonic() + PATIENCE
        while not self.window._exit and self.window.defect is None:
            assert time.monotonic() < end, "it never ended"
            await asyncio.sleep(0.005)

    async def loaded(self) -> None:
        await self.until(lambda: not self.main.ingest.is_reading and self.main.names.is_complete)
        await self.until(lambda: self.main.timeline.row_lines.colour_rules is not None)
        await self.filtered()
        await self.painted()

    async def painted(self) -> None:
        """Until the time line and the sparklines are whole."""
        await self.until(self._knows_streams)
        await self.until(lambda: self.main.activity.meter.is_settled)
        await self.settle()

    def _knows_streams(self) -> bool:
        """Whether the sparklines of visible streams are whole."""
        listed, timeline = self.main.timeline, self.main.timeline.timeline
        places = timeline.list_places(listed.top, listed.inner.height)
        streams = [place.stream for place in places if place.row is None]
        return listed.activity.prepare(streams, timeline.first, timeline.rows) is None

    async def filtered(self) -> None:
        """Until the filter in force has asked all rows, and what it keeps is on the screen."""
        main = self.main
        await self.until(lambda: main.filter.in_force is None or main.filter.in_force.percent is None)
        await self.until(lambda: main.timeline.timeline.matches is main.filter.worker.matches)
        await self.settle()

    async def filter(self, text: str) -> None:
        """Types a filter in the place of the one in force."""
        await self.ask("slash", text)
        await self.filtered()

    async def ask(self, key: str, text: str) -> None:
        """Opens the line of a key, puts a text in the place of what stands there, and ends it."""
        await self.press(key, "backspace")
        self.window.post_message(Paste(text))
        await self.settle()
        await self.press("enter")

    def rows(self) -> list[int]:
        """The rows that are shown."""
        return self.main.timeline.timeline.visible_rows.tolist()

    def listed(self) -> list[int | None]:
        """The rows in the order in which the list shows them; None: the line of a stream."""
        timeline = self.main.timeline.timeline
        return [place.row for place in timeline.list_places(0, timeline.lines)]

    def lines(self, widget: Widget | None = None) -> list[str]:
        """The text on the screen, or on a widget's part of it, also where it is about to be painted."""
        for each in self.window.screen.walk_children(PaintedWidget):
            if each._is_requested:
                each._compare()
        strips = self.window.screen._compositor.render_strips()
        texts = [strip.text for strip in strips]
        if widget is None:
            return texts
        region = widget.region
        cropped = [strip.crop(region.x, region.right).text for strip in strips]
        return cropped[region.y : region.bottom]

    def text(self, name: str) -> str:
        """The text of a pane or bar by its id."""
        return "\n".join(self.lines(self.main.query_one(f"#{name}")))

    def status(self) -> str:
        return self.text("status").strip()


@asynccontextmanager
async def driving(
    captures: Sequence[str | PathLike[str]] = (KAFKA,),
    *,
    size: tuple[int, int] = (184, 40),
    limits: Limits | None = None,
    follow: bool = False,
    following: bool = False,
    block: int = 32_768,
    wait: bool = True,
    wanted: Filter | None = None,
    named: Mapping[str, str] | None = None,
    saved_state: SavedState | None = None,
    config: Config | None = None,
    colours: str = "dark",
    live: Callable[[Session], LiveCapture] | None = None,
    memory: int | None = None,
    secrets: KeyRing | None = None,
) -> AsyncIterator[Drive]:
    with Session(list(captures), follow=follow, block=block, secrets=secrets) as session:
        config = replace(config or Config(), filters=named or {})
        opened = StartOptions("test", limits or Limits(), colours, following, wanted, config)
        opened = restore_options(opened, session, saved_state or SavedState())
        captured = None if live is None else live(session)
        window = TuiApp(session, opened, saved_state=saved_state, loader=Loader(session, memory), live=captured)
        try:
            async with window.run_test(size=size) as pilot:
                drive = Drive(window, pilot)
                if wait:
                    await drive.loaded()
                yield drive
        finally:
            window.stop(5)


def drive(test: Driven, *captures: str | PathLike[str], **options: Any) -> None:
    """Runs a test on an opened capture."""

    async def whole() -> None:
        async with driving(captures or (KAFKA,), **options) as found:
            await test(found)

    asyncio.run(whole())


def driven(*captures: str | PathLike[str], **options: Any) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Makes a test of a function that gets the Drive of an opened capture before its fixtures."""

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @wraps(test)
        def run(**given: Any) -> None:
            drive(lambda found: test(found, **given), *captures, **options)

        fixtures = list(signature(test).parameters.values())[1:]
        run.__signature__ = Signature(fixtures)  # type: ignore[attr-defined] # pytest asks it which fixtures there are
        return run

    return decorate
