"""Connections of an election that were dropped as they should be.

Facts (QuorumCnxManager). Two servers keep one connection, that of the one with the larger number. Where the other one
connects, the server with the larger number closes that connection when it has read the first message, and connects
itself. It looks like a fault and is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Closed, Seen
from dissectors.finding import Finding, Severity
from dissectors.zookeeper.reports.members import Members


class Election(Check):
    """See the module."""

    wants = frozenset({(None, Role.ONEWAY)})
    paths = frozenset({("sid",), ("addr",), ("leader",), ("config",)})

    def __init__(self) -> None:
        """Nobody known."""
        self._ends: dict[int, tuple[str, str]] = {}
        self._members = Members(self._ends.__getitem__)
        self._votes: dict[int, int] = {}
        """By connection how many votes came on it."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """Notes who is who."""
        self._ends[seen.stream] = seen.client, seen.server
        sid, leader = seen.values.get("sid"), seen.values.get("leader")
        if isinstance(sid, int):
            self._members.connect(seen.stream, sid, seen.values.get("addr"))
        elif isinstance(leader, int):
            self._votes[seen.stream] = self._votes.get(seen.stream, 0) + 1
            self._members.configure(seen.values.get("config"))
        return iter(())

    def closed(self, closed: Closed) -> Iterator[Finding]:
        """A connection on which nothing was said but who opened it."""
        sid = self._members.opener(closed.stream)
        if sid is None or closed.by_client or self._votes.get(closed.stream):
            return
        other = self._members.find_side(closed.stream, from_client=False)
        if other is not None and other > sid:
            text = f"server {other} dropped the connection of server {sid}, whose number is smaller: it connects itself"
            yield Finding(Severity.NOTE, "smaller-sid", text)
