"""Keep-alives that are answered late, or never.

Facts (PulsarHandler). Each side sends a PING where it has heard nothing for the keep-alive interval, 30 s by default,
and closes the connection when it has heard nothing for another one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Closed, Open, Seen
from dissectors.finding import Finding
from dissectors.pulsar.checks.saying import MOST, SECOND, of, said

LATE = 10 * SECOND
"""A third of the interval: an answer is a matter of milliseconds where nothing is wrong."""


class Pings(Check):
    """See the module."""

    wants = of(Role.REQUEST, ["PING"]) | of(Role.RESPONSE, ["PONG"])
    paths = frozenset({("request_id",)})  # neither has a field, and only who looks at one is shown them

    def __init__(self) -> None:
        """Nobody asked."""
        self._since: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """By connection when the first PING was sent of those without an answer, and the losses up to then."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """An answer that came late."""
        if seen.context.role is Role.REQUEST:
            self._since.setdefault(seen.stream, (seen.time, seen.losses))
            if len(self._since) > MOST:
                self._since.popitem(last=False)
        elif isinstance(seen.request, tuple):
            self._since.pop(seen.stream, None)
            asked, losses = seen.request
            if seen.time - asked > LATE and losses == seen.losses:
                yield said("late", took=seen.time - asked)

    def kept(self, seen: Seen) -> object:
        """When it was sent."""
        return seen.time, seen.losses

    def closed(self, closed: Closed) -> Iterator[Finding]:
        """A connection that was given up."""
        waited = self._waited(closed)
        if waited > LATE:
            yield said("silent", took=waited, who=closed.client if closed.by_client else closed.server)

    def still_open(self, connection: Open) -> Iterator[Finding]:
        """One that nobody gave up yet."""
        waited = self._waited(connection)
        if waited > LATE:
            yield said("waits", took=waited)

    def _waited(self, end: Closed | Open) -> int:
        """How long a PING had had no answer; 0 where there is none, or bytes are missing that may have the answer."""
        since, losses = self._since.pop(end.stream, (end.time, end.losses))
        return end.time - since if losses == end.losses else 0
