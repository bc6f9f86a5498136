"""Who may see the pages: whoever has the token, on this computer, through the address that was printed.

Theory. Four kinds of visitors are kept out, each by what he cannot have:

- other users of this computer, and programs that try ports: the token. It comes once in the address and is a cookie
  from then on (HttpOnly: no script reads it), so that it does not stay in the address that is shown and copied;
- a page of another site that sends requests here: SameSite=Strict keeps the cookie from them, and a websocket, which
  asks nobody's leave to connect to another site, must name this one as its origin;
- a site whose name turns into a loopback address once its page is loaded: the Host that it asks for is its own name;
- bytes of a capture that look like an address and are clicked: the page is in a sandbox that opens no other.
"""

from __future__ import annotations

import secrets
from hmac import compare_digest

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

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
    """Lets requests to one host and port through, or not."""

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
        """Where a person gets in."""
        return self._make_address(self._token)

    def create_ticket(self) -> str:
        """Where somebody gets in once: for a command line, which all users of a computer may read."""
        ticket = secrets.token_urlsafe()
        self._tickets.add(ticket)
        return self._make_address(ticket)

    def protect(self, app: web.Application) -> None:
        """Puts all that an application serves behind the gate, also what it does not have."""
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


def _are_equal(given: str, secret: str) -> bool:
    """Whether they are equal, in a time that does not tell how far they are."""
    return compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
