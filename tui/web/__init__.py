"""The user interface in a browser on the same computer: a page for each tab, a process of the program for each page.

Theory. textual-serve has the page (a terminal emulator) and what goes over its websocket; the program runs as ever, but
for the driver, which reads keys and writes the screen through pipes. What is added here is that nobody else gets in:
captures hold what is nobody's business, and any page that a browser shows, as well as any user of this computer, can
send requests to a port on loopback. So everything asks for a token (`gate`), and nothing is loaded from elsewhere.

A page's process ends with its page: its standard input ends then, however the page, or the server, came to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analyzer.render import extras

if TYPE_CHECKING:
    from tui.web.server import PageServer

HOSTS = ("127.0.0.1", "::1")
"""Where pages are served: they are for this computer."""


def serve_pages(words: Sequence[str], title: str, host: str, port: int, say: Callable[[str], None]) -> PageServer:
    """Pages of which each runs a command, at a port (0: a free one) that is open when this returns.

    words: the command. title: what it shows. host: one of HOSTS. say: takes the lines that the commands write to their
    standard error. Raises UserError where the extra is not installed or the port is not to be had.
    """
    extras.require("web", "web")
    from tui.web.server import PageServer, open_socket  # a third of a second that nothing else pays for

    return PageServer(words, title, open_socket(host, port), say)
