"""The user interface in a browser on the same computer: a process of the program for each open page.

Theory. textual-serve provides the page (a terminal emulator) and the protocol of its websocket. The program runs as in
a terminal, but its driver reads keys and writes the screen through pipes. This package adds access control: captures
are confidential, and any page in a browser, as well as any user of this computer, can send requests to a port on
loopback. So all requests need a token (server.AccessGate), and nothing is loaded from other hosts.

A page's process ends with its page: its standard input ends then, whatever ended the page or the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analyzer.render import extras

if TYPE_CHECKING:
    from tui.web.server import PageServer

HOSTS = ("127.0.0.1", "::1")
"""The addresses that pages are served at: only this computer's."""


def serve_pages(words: Sequence[str], title: str, host: str, port: int, say: Callable[[str], None]) -> PageServer:
    """Returns a server whose pages each run a command; its port is open already (0: any free one).

    words: the command. title: its title. host: one of HOSTS. say: gets the lines that the commands write to standard
    error.

    Raises UserError if the extra is not installed or the port is not free.
    """
    extras.require_extra("web", "web")
    from tui.web.server import PageServer, open_socket  # a third of a second that nothing else pays for

    return PageServer(words, title, open_socket(host, port), say)
