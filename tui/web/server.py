"""textual-serve's server behind a gate: a port on loopback, the page, and a process for each page that is open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.server import Server, to_int

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from tui.web.gate import AccessGate
from tui.web.page_process import PageProcess, render_lines

HERE = Path(__file__).parent / "page"

MOST = 8
"""Pages at once: each is a process with the captures' index in its memory."""

LONGEST_MESSAGE = 1 << 26
"""Bytes that a page may send at once: what somebody pastes."""

HEARTBEAT, PATIENCE = 15.0, 1.0
"""Seconds between two questions whether a page is still there, and that its last word may take."""


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that takes connections. Raises UserError where the port is not to be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UserError(f"cannot serve at port {port} of {host}: {error.strerror}") from error


class PageServer(Server):
    """Serves a command, a process for each page that is open. `run` ends with Ctrl-C or SIGTERM, and all pages then."""

    def __init__(self, words: Sequence[str], title: str, listening: socket.socket, say: Callable[[str], None]) -> None:
        host, port = listening.getsockname()[:2]
        self.gate = AccessGate(host, port)
        super().__init__("", host, port, safe_text(title), self.gate.origin, templates_path=HERE)
        self._words, self._listening, self._say = words, listening, say
        self._open: dict[PageProcess, web.WebSocketResponse] = {}

    def run(self) -> None:
        """Serves until a signal comes."""
        web.run_app(
            self._make_app(), sock=self._listening, print=None, access_log=None, shutdown_timeout=PATIENCE
        )  # fmt: skip

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.router.add_static("/page", HERE)
        self.gate.protect(app)
        return app

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Runs the command for a page until one of them ends."""
        websocket = web.WebSocketResponse(timeout=PATIENCE, heartbeat=HEARTBEAT, max_msg_size=LONGEST_MESSAGE)
        await websocket.prepare(request)
        if len(self._open) >= MOST:
            await websocket.send_bytes(render_lines([f"{MOST} pages are open, and no more at once: close one of them"]))
            await websocket.close(code=WSCloseCode.TRY_AGAIN_LATER)
            return websocket
        process = PageProcess(self._words, websocket, self.download_manager, self._say)
        self._open[process] = websocket
        try:
            await process.start(to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24))
            async for message in websocket:
                if message.type is WSMsgType.TEXT:
                    await process.handle_message(message.data)
        finally:
            try:
                await process.stop()
            finally:
                del self._open[process]
        return websocket

    async def on_startup(self, app: web.Application) -> None:
        """Says nothing: whoever started the server says where it is."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Ends all pages."""
        sockets = [websocket.close(code=WSCloseCode.GOING_AWAY) for websocket in self._open.values()]
        await asyncio.gather(*(process.stop() for process in self._open), *sockets, return_exceptions=True)
