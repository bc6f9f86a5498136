"""textual-serve's server behind access control: a port on loopback, the page, and a process for each open page.

Theory. AccessGate keeps out four kinds of visitors, each by something that they cannot have:

- Other users of this computer, and programs that try ports, lack the token. It comes once in the address and is a
  cookie from then on (HttpOnly: no script reads it), so that it does not stay in the address that is shown and copied.
- A page of another site that sends requests here: SameSite=Strict keeps the cookie from its requests, and a websocket,
  which may connect to any site, must name this site as its origin.
- A site whose name resolves to a loopback address once its page is loaded: its requests have its own name as Host.
- Bytes of a capture that look like an address and are clicked: the page is in a sandbox that opens no other page.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Sequence
from hmac import compare_digest
from pathlib import Path

from aiohttp import WSCloseCode, WSMsgType, hdrs, web
from aiohttp.typedefs import Handler
from textual_serve.server import Server, to_int

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from tui.web.page_process import PageProcess, render_lines

HERE = Path(__file__).parent / "page"

MOST = 8
"""The number of open pages at most: each is a process that holds the captures' index."""

LONGEST_MESSAGE = 1 << 26
"""The bytes of a page's message at most, such as a paste."""

HEARTBEAT, PATIENCE = 15.0, 1.0
"""Seconds between two checks whether a page is still there, and seconds for its last messages."""


def open_socket(host: str, port: int) -> socket.socket:
    """Opens a listening socket. Raises UserError if the port is not free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UserError(f"Cannot listen on port {port} of {host}: {error.strerror}. Give another --port.") from error


class PageServer(Server):
    """Serves a command, with a process for each open page. run() ends with Ctrl-C or SIGTERM, and all pages with it."""

    def __init__(self, words: Sequence[str], title: str, listening: socket.socket, say: Callable[[str], None]) -> None:
        host, port = listening.getsockname()[:2]
        self.gate = AccessGate(host, port)
        super().__init__("", host, port, safe_text(title), self.gate.origin, templates_path=HERE)
        self._words, self._listening, self._say = words, listening, say
        self._open: dict[PageProcess, web.WebSocketResponse] = {}

    def run(self) -> None:
        """Serves until a signal ends it."""
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
        """Prints nothing: the caller prints the address."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Closes all connections of browsers, and ends the processes of their pages."""
        sockets = [websocket.close(code=WSCloseCode.GOING_AWAY) for websocket in self._open.values()]
        await asyncio.gather(*(process.stop() for process in self._open), *sockets, return_exceptions=True)


HTTP_PORT = 80

MISSING_TOKEN = "open the address that wireanalyze printed: the token in it is needed here\n"
WRONG_HOST = "this is served under another name: open the address that wireanalyze printed\n"

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # the terminal emulator writes its own sheets
    "font-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self' {websocket}",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "sandbox": "allow-scripts allow-same-origin",
}


class AccessGate:
    """Admits requests for one host and port that have the token."""

    def __init__(self, host: str, port: int) -> None:
        name = f"[{host}]" if ":" in host else host
        self.host = name if port == HTTP_PORT else f"{name}:{port}"
        self.origin = f"http://{self.host}"
        self._token, self._pass = secrets.token_urlsafe(), secrets.token_urlsafe()
        self._tickets: set[str] = set()
        self._cookie = f"wireanalyze-{port}"  # cookies know no ports, and several servers may run
        policy = "; ".join(f"{key} {value}" for key, value in POLICY.items()).format(websocket=f"ws://{self.host}")
        self._headers = {
            "Content-Security-Policy": policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Permissions-Policy": "clipboard-read=()",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            hdrs.CACHE_CONTROL: "no-store",
        }

    @property
    def address(self) -> str:
        """The address with the token, for a person."""
        return self._make_address(self._token)

    def create_ticket(self) -> str:
        """Returns an address that works once: for a command line, which all users of a computer can read."""
        ticket = secrets.token_urlsafe()
        self._tickets.add(ticket)
        return self._make_address(ticket)

    def protect(self, app: web.Application) -> None:
        """Checks all requests of an application, also those for missing pages."""
        app.middlewares.append(self._check)
        app.on_response_prepare.append(self._add_headers)

    def _make_address(self, token: str) -> str:
        return f"{self.origin}/?token={token}"

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.getall(hdrs.HOST, []) != [self.host]:
            raise web.HTTPForbidden(text=WRONG_HOST)
        origins = request.headers.getall(hdrs.ORIGIN, [])
        if origins != [self.origin] and (origins or hdrs.SEC_WEBSOCKET_KEY in request.headers):
            raise web.HTTPForbidden(text=WRONG_HOST)
        token = request.query.get("token")
        if token is not None and request.path == "/" and self._admits(token):
            entered = web.HTTPSeeOther("/")
            entered.set_cookie(self._cookie, self._pass, httponly=True, samesite="Strict", path="/")
            raise entered
        if token is not None or not _are_equal(request.cookies.get(self._cookie, ""), self._pass):
            raise web.HTTPForbidden(text=MISSING_TOKEN)
        return await handler(request)

    def _admits(self, token: str) -> bool:
        used = {ticket for ticket in self._tickets if _are_equal(token, ticket)}
        self._tickets -= used
        return bool(used) or _are_equal(token, self._token)

    async def _add_headers(self, _: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(self._headers)


def _are_equal(received: str, secret: str) -> bool:
    """Compares two texts in constant time."""
    return compare_digest(received.encode("utf-8", "surrogatepass"), secret.encode())
