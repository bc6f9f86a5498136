"""Keep-alives that are answered late, or never.

Facts (PulsarHandler). Each side sends a PING where it has heard nothing for the keep-alive interval, 30 s by default,
and closes the connection when it has heard nothing for another one.
"""

from __future__ import annotations

from dissectors.correlator import SECOND, BoundedTable, ConnectionEnd, MessageEvent, Moment, for_request
from dissectors.message import Role
from dissectors.pulsar.checks.sentences import PulsarCheck
from dissectors.pulsar.reports.fields import subscribe_to

LATE = 10 * SECOND
"""A third of the interval: an answer is a matter of milliseconds where nothing is wrong."""


class PingAnswers(PulsarCheck):
    """See the module."""

    def _begin(self) -> None:
        self.since: BoundedTable[int, Moment] = BoundedTable()
        """By connection when the first PING was sent of those without an answer."""

    def receive_ping(self, event: MessageEvent) -> None:
        """PING."""
        if event.stream not in self.since:
            self.since[event.stream] = event.moment
        self.await_answer(event, event.moment)

    def receive_pong(self, asked: Moment, event: MessageEvent) -> None:
        """PONG."""
        self.since.pop(event.stream)
        took = asked.until(event)
        if took is not None and took > LATE:
            self.find("late", took=took)

    def end_connection(self, end: ConnectionEnd) -> None:
        """A connection that was given up."""
        waited = self.wait(end)
        if waited > LATE:
            self.find("silent", took=waited, who=end.ender)

    def leave_open(self, end: ConnectionEnd) -> None:
        """One that nobody gave up yet."""
        waited = self.wait(end)
        if waited > LATE:
            self.find("waits", took=waited)

    def wait(self, end: ConnectionEnd) -> int:
        """ns that a PING had had no answer; 0 where there is none, or bytes are missing that may have the answer."""
        since = self.since.pop(end.stream)
        return (since and since.until(end)) or 0

    on = subscribe_to("PING", receive_ping, roles=(Role.REQUEST,)) | subscribe_to(
        "PONG", for_request(receive_pong), roles=(Role.RESPONSE,)
    )
