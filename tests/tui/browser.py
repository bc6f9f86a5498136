"""A headless Chromium that is told what to do over its own protocol, and the terminal on a page of it."""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
PATIENCE = 60

CATCH = """
Object.defineProperty(Object.prototype, "websocket_url", {configurable: true, set(url) {
  window.page = this;
  Object.defineProperty(this, "websocket_url", {value: url});
}});
"""
"""textual.js keeps its terminal to itself; but it sets this member on the object that has it."""

LINES = """(() => {
  const shown = window.page?.terminal;
  if (!shown) return [];
  return [...Array(shown.rows).keys()].map(row => {
    const line = shown.buffer.active.getLine(row);
    const paper = line.getCell(shown.cols > 9 ? 9 : 0).getBgColor().toString(16).padStart(6, "0");
    return [line.translateToString(true, 0, shown.cols), paper];
  });
})()"""
"""The lines on the screen, each with the background of its tenth cell."""

CELL = """(() => {
  const at = document.querySelector(".xterm-screen").getBoundingClientRect(), shown = page.terminal;
  return [(COLUMN + 0.5) * at.width / shown.cols, (ROW + 0.5) * at.height / shown.rows];
})()"""
"""Where the middle of a cell is."""

KEYS = {"ArrowDown": 40, "Enter": 13, "Escape": 27, "Tab": 9, "PageDown": 34}
CTRL = 2


@contextmanager
def chromium(profile: Path) -> Iterator[str]:
    """A browser without a window; where it takes orders."""
    assert CHROMIUM is not None
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1200,800"]
    process = subprocess.Popen(
        [CHROMIUM, *words, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    reported, end = profile / "DevToolsActivePort", time.monotonic() + PATIENCE
    try:
        while not (reported.exists() and (port := re.match(r"(\d+)\n", reported.read_text()))):
            assert time.monotonic() < end, "Chromium does not start"
            assert process.poll() is None, "Chromium has ended"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port[1]}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


class Tab:
    """One page of a browser."""

    def __init__(self, orders: ClientWebSocketResponse) -> None:
        self._orders, self._count = orders, 0
        self.requests: list[str] = []

    async def order(self, method: str, **parameters: object) -> dict[str, Any]:
        self._count += 1
        await self._orders.send_json({"id": self._count, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE):
            while (answer := await self._orders.receive_json()).get("id") != self._count:
                if answer.get("method") in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                    text = answer["params"]
                    self.requests.append(text["url"] if "url" in text else text["request"]["url"])
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def run(self, script: str) -> Any:
        done = await self.order("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def visit(self, url: str) -> None:
        await self.order("Page.navigate", url=url)

    async def lines(self) -> list[str]:
        return [text for text, _ in await self.run(LINES)]

    async def papers(self) -> list[str]:
        return [paper for _, paper in await self.run(LINES)]

    async def wait(self, pattern: str) -> None:
        """Until a pattern is on the terminal."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, "\n".join(lines := await self.lines()), re.MULTILINE):
            assert time.monotonic() < end, "\n".join(lines)
            await asyncio.sleep(0.02)

    async def until(self, script: str) -> None:
        """Until a condition holds on the page."""
        end = time.monotonic() + PATIENCE
        while not await self.run(script):
            assert time.monotonic() < end, script
            await asyncio.sleep(0.02)

    async def press(self, key: str, *, control: bool = False, command: str | None = None) -> None:
        """A key by its name or letter; command: what a browser with a window makes of it."""
        code = KEYS.get(key) or ord(key.upper())
        pressed: dict[str, object] = {"key": key, "windowsVirtualKeyCode": code, "modifiers": CTRL if control else 0}
        text = {"text": key} if len(key) == 1 and not control else {}
        await self.order(
            "Input.dispatchKeyEvent", type="keyDown", commands=[command] if command else [], **pressed, **text
        )
        await self.order("Input.dispatchKeyEvent", type="keyUp", **pressed)

    async def mouse(self, column: int, row: int, *kinds: str, **more: object) -> None:
        """Events at a cell of the terminal."""
        x, y = await self.run(CELL.replace("COLUMN", str(column)).replace("ROW", str(row)))
        for kind in kinds:
            await self.order("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    async def click(self, column: int, row: int) -> None:
        await self.mouse(column, row, "mousePressed", "mouseReleased", button="left", clickCount=1)

    async def picture(self) -> bytes:
        """What is painted, as PNG."""
        return base64.b64decode((await self.order("Page.captureScreenshot"))["data"])


@asynccontextmanager
async def tab(browser: str) -> AsyncIterator[Tab]:
    """A new page, which is the one in front."""
    async with ClientSession() as session:
        async with session.put(f"{browser}/json/new?about:blank") as response:
            where = (await response.json())["webSocketDebuggerUrl"]
        async with session.ws_connect(where, max_msg_size=0) as orders:
            found = Tab(orders)
            for part in ("Page", "Network", "Runtime"):
                await found.order(f"{part}.enable")
            await found.order("Page.addScriptToEvaluateOnNewDocument", source=CATCH)
            await found.order("Emulation.setFocusEmulationEnabled", enabled=True)
            try:
                yield found
            finally:
                await found.order("Page.close")
