"""Identities of an ensemble's servers: numbers for connections and addresses.

Theory. No notification names its sender; its connection does. The connecting server sends its number (InitialMessage),
from 3.5 on also its address; configurations name all addresses. The rest follows by exclusion: between two servers the
one with the larger number keeps the connection that it opened, and has one to each other. If several candidates are
left, the first vote decides: a server begins by voting for itself.

Names are resolved at the end, because the decisive message may come last.
"""

from __future__ import annotations

import re

from dissectors.correlator import Ends
from dissectors.values import host_of

MOST = 65_536
"""Connections and addresses that are remembered."""

MOST_LINES = 1024
"""Of a configuration."""

_SERVER = re.compile(r"server\.(\d{1,5})=([^;]{1,2000})")
_ELECTION_ADDRESS = re.compile(r"^(\[[^\]]+\]|[^:]+):\d+:(\d+)")


class EnsembleMembers:
    """The servers of one ensemble, as messages describe them.

    observers: numbers of servers that do not vote; voters: of those that vote, if a configuration is known.
    """

    def __init__(self, ends: Ends) -> None:
        """Nothing known."""
        self.observers: set[int] = set()
        self.voters: set[int] = set()
        self._ends = ends
        self._opened: dict[int, int] = {}
        self._address: dict[str, int] = {}
        self._host: dict[str, set[int]] = {}
        self._first: dict[int | str, int] = {}
        """The first vote of who opened a connection, and of who listens at an address; -1: for nobody."""
        self._found: dict[tuple[int, bool], int | None] = {}
        self._config = ""

    def connect(self, stream: int, sid: int, address: object) -> None:
        """Handles an InitialMessage; address: none, one, or several separated by bars."""
        client = self._ends(stream)[0]
        if len(self._opened) < MOST:
            self._opened[stream] = sid
            self._host.setdefault(host_of(client), set()).add(sid)
        for each in address.split("|")[:8] if isinstance(address, str) else ():
            if len(self._address) < MOST:
                self._address[each] = sid

    def configure(self, text: object) -> None:
        """Reads a configuration: lines as `server.1=host:2888:3888:participant;2181`."""
        if not isinstance(text, str) or text == self._config:
            return
        self._config = text
        for line in text.split("\n", MOST_LINES)[:MOST_LINES]:
            found = _SERVER.match(line)
            if found is None:
                continue
            sid = int(found[1])
            (self.observers if found[2].endswith(":observer") else self.voters).add(sid)
            for each in found[2].split("|")[:8]:
                place = _ELECTION_ADDRESS.match(each)
                if place is not None and len(self._address) < MOST:
                    self._address[f"{place[1].strip('[]') if ':' not in place[1] else place[1]}:{place[2]}"] = sid

    def absorb(self, other: EnsembleMembers) -> None:
        """Takes over the servers of another table that belongs to the same ensemble."""
        self.observers |= other.observers
        self.voters |= other.voters
        self._opened.update(other._opened)
        self._address.update(other._address)
        for place, sids in other._host.items():
            self._host.setdefault(place, set()).update(sids)
        self._first = {**other._first, **self._first}

    def vote(self, stream: int, leader: int | None, *, from_client: bool) -> None:
        """Handles a LOOKING notification, a vote for a server or (None) for none."""
        if len(self._first) < MOST:
            who = stream if from_client else self._ends(stream)[1]
            self._first.setdefault(who, -1 if leader is None else leader)

    def opener(self, stream: int) -> int | None:
        """Returns the server that opened a connection, by its initial message; None if unknown."""
        return self._opened.get(stream)

    def find_side(self, stream: int, *, from_client: bool) -> int | None:
        """Finds the number of the server on one side of an election connection; None if it is unknown."""
        side = stream, from_client
        if side not in self._found:
            server = self._ends(stream)[1]
            opener = self._opened.get(stream) if from_client else self._find_sid(server)
            self._found[side] = self._by_elimination(stream, server) if opener is None and from_client else opener
        return self._found[side]

    def name(self, stream: int, *, from_client: bool) -> str:
        """Returns the name of a server for people: its number, else its address."""
        sid = self.find_side(stream, from_client=from_client)
        return self._ends(stream)[not from_client] if sid is None else str(sid)

    def _find_sid(self, server: str) -> int | None:
        sid = self._address.get(server)
        if sid is not None:
            return sid
        found = self._host.get(host_of(server), set())
        if len(found) == 1:
            return next(iter(found))
        first = self._first.get(server, -1)
        return first if first >= 0 and first not in self._address.values() else None

    def _by_elimination(self, stream: int, server: str) -> int | None:
        mine = self._find_sid(server)
        first = self._first.get(stream)
        every = self.observers if first == -1 else self.voters | self.observers
        possible = {sid for sid in every if mine is None or sid > mine}
        others = {sid for each, sid in self._opened.items() if self._ends(each)[1] == server}
        left = possible - others or possible
        if len(left) == 1:
            return next(iter(left))
        return first if first in possible else None


class Ensembles:
    """Which servers are of one ensemble, where a capture has several. Grows with each connection that is asked for.

    Theory. Servers of all ensembles have the same few numbers, and none says which ensemble it is of. But a server
    speaks with those of its own ensemble alone: hosts that have a connection of an election or of a quorum with each
    other, even by way of others, are of one. Two ensembles on the same hosts are taken for one.
    """

    def __init__(self, ends: Ends) -> None:
        """Nobody known."""
        self._ends = ends
        self._host: dict[int, str] = {}
        """By connection its client's."""
        self._of: dict[str, EnsembleMembers] = {}
        self._hosts: dict[EnsembleMembers, list[str]] = {}
        """The other way round."""

    def find(self, stream: int) -> EnsembleMembers:
        """Returns the ensemble of a connection; it is valid until the next connection, which may join two."""
        known = self._host.get(stream)
        if known is None:
            known, other = (host_of(end) for end in self._ends(stream))
            self._host[stream] = known
            self._join(self._find_ensemble(known), self._find_ensemble(other))
        return self._of[known]

    def opener(self, stream: int) -> int | None:
        """Returns the server that opened a connection, by its initial message; None for connections of clients."""
        return self.find(stream).opener(stream) if stream in self._host else None

    def _find_ensemble(self, place: str) -> EnsembleMembers:
        found = self._of.get(place)
        if found is None:
            found = self._of[place] = EnsembleMembers(self._ends)
            self._hosts[found] = [place]
        return found

    def _join(self, one: EnsembleMembers, other: EnsembleMembers) -> None:
        """The smaller becomes a part of the larger, so that no host moves often."""
        if one is other:
            return
        if len(self._hosts[one]) < len(self._hosts[other]):
            one, other = other, one
        one.absorb(other)
        moved = self._hosts.pop(other)
        self._hosts[one] += moved
        self._of.update(dict.fromkeys(moved, one))
