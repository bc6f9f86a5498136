"""The process behind one page: it reads packets of keys, writes packets of the screen, and ends with the page.

Theory. textual-serve's AppService implements the protocol of the packets. This module adds the rest. The command is a
list of words that no shell reads. The output of the process is read to its end, whether or not the page takes it,
because a process that cannot write cannot end. Its standard error is shown on the page, too, if the process fails.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Sequence

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from analyzer.columns.text import safe_text

DRIVER = "tui.web.driver:PageDriver"

PATIENCE = 3.0
"""Seconds that a process gets to end by itself."""

GREETING = b"__GANGLION__\n"
"""The first output of Textual's driver, before its packets."""

LONGEST, LAST = 2_000, 100
"""The characters of a line, and the last lines, that are kept of standard error."""

PLAIN_SCREEN = "\x1b[?1049l\x1b[?1000l\x1b[?1003l\x1b[?25l\x1b[0m\x1b[2J\x1b[H"
"""The escape sequences that leave the program's screen for plain text."""


def render_lines(lines: Sequence[str]) -> bytes:
    """Returns lines as a terminal takes them, on an empty screen."""
    return (PLAIN_SCREEN + "\r\n".join(safe_text(line, LONGEST) for line in lines)).encode()


class PageProcess(AppService):
    """Runs a command for a websocket: start(), then handle_message() for each message of the page, then stop()."""

    def __init__(
        self,
        words: Sequence[str],
        websocket: web.WebSocketResponse,
        downloads: DownloadManager,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(
            "",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._keep_open,
            download_manager=downloads,
        )
        self._words, self._websocket, self._say = words, websocket, say
        self._errors: deque[str] = deque(maxlen=LAST)

    async def handle_message(self, message: str) -> None:
        """Handles a message of the page, such as `["stdin", "q"]`; ignores invalid ones."""
        try:
            request = json.loads(message)
        except ValueError:
            return
        match request:
            case ["stdin", str(keys)]:
                await self.send_bytes(keys.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await self.set_terminal_size(width, height)
            case ["focus"]:
                await self.focus()
            case ["blur"]:
                await self.blur()

    async def run(self) -> None:
        """Forwards the output of the process until it ends.

        Then shows its errors, if it failed, and closes the page.
        """
        process = self._process
        assert process is not None
        assert process.stdout is not None
        error_reader = asyncio.create_task(self._read_errors(process))
        is_shown = True
        try:
            if await process.stdout.readuntil(GREETING):
                while True:
                    kind, payload = await _read_packet(process.stdout)
                    is_shown = is_shown and await self._forward(kind, payload)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await process.stdout.read()
        status = await process.wait()
        await error_reader
        if status and self._errors and not self._websocket.closed:
            await self._forward(b"D", render_lines(self._errors))
        await self._websocket.close()

    async def stop(self) -> None:
        """Ends the process and waits for it; may be called again."""
        process = self._process
        if process is None or self._task is None:
            return
        await self._download_manager.cancel_app_downloads(self.app_service_id)
        self.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            process.kill()
        await self._task

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        process = await asyncio.create_subprocess_exec(
            *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,  # Ctrl-C is the server's business
        )  # fmt: skip
        self._process, self._stdin = process, process.stdin
        return process

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        """Returns the environment of the process: its terminal is the page, not that of the server."""
        environment = super()._build_environment(width, height)
        environment.pop("COLORFGBG", None)
        return {**environment, "TEXTUAL_DRIVER": DRIVER, "TERM": "xterm-256color", "COLORTERM": "truecolor"}

    async def _forward(self, kind: bytes, payload: bytes) -> bool:
        """Forwards a packet to the page; returns whether the page took it."""
        try:
            if kind == b"D":
                await self.on_data(payload)
            elif kind == b"M":
                await self.on_meta(payload)
            elif kind == b"P":
                await self.on_packed(payload)
        except (ConnectionError, RuntimeError):
            return False
        return True

    async def _read_errors(self, process: Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            text = safe_text(line.rstrip(b"\n"), LONGEST)
            self._errors.append(text)
            self._say(text)

    async def _keep_open(self) -> None:
        """Keeps the page open for the remaining output when the program announces its end."""


async def _read_packet(stream: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Reads the kind and the payload of the next packet. Raises IncompleteReadError at the end."""
    head = await stream.readexactly(5)
    return head[:1], await stream.readexactly(int.from_bytes(head[1:], "big"))
