"""Which servers are of one ensemble, where a capture has several.

Theory. Servers of all ensembles have the same few numbers, and none says which ensemble it is of. But a server speaks
with those of its own ensemble alone: hosts that have a connection of an election or of a quorum with each other, even
by way of others, are of one. Two ensembles on the same hosts are taken for one.
"""

from __future__ import annotations

from dissectors.old_report import Ends
from dissectors.zookeeper.reports.members import Members
from dissectors.zookeeper.reports.messages import host


class Ensembles:
    """Grows with each connection that is asked for."""

    def __init__(self, ends: Ends) -> None:
        """Nobody known."""
        self._ends = ends
        self._host: dict[int, str] = {}
        """By connection its client's."""
        self._of: dict[str, Members] = {}
        self._hosts: dict[Members, list[str]] = {}
        """The other way round."""

    def of(self, stream: int) -> Members:
        """What is known of the ensemble of a connection; until the next connection comes, which may join two."""
        known = self._host.get(stream)
        if known is None:
            known, other = (host(end) for end in self._ends(stream))
            self._host[stream] = known
            self._join(self._at(known), self._at(other))
        return self._of[known]

    def opener(self, stream: int) -> int | None:
        """Who said that it opened a connection; None for one that nobody asked for, as those of clients."""
        return self.of(stream).opener(stream) if stream in self._host else None

    def _at(self, place: str) -> Members:
        found = self._of.get(place)
        if found is None:
            found = self._of[place] = Members(self._ends)
            self._hosts[found] = [place]
        return found

    def _join(self, one: Members, other: Members) -> None:
        """The smaller becomes a part of the larger, so that no host moves often."""
        if one is other:
            return
        if len(self._hosts[one]) < len(self._hosts[other]):
            one, other = other, one
        one.absorb(other)
        moved = self._hosts.pop(other)
        self._hosts[one] += moved
        self._of.update(dict.fromkeys(moved, one))
