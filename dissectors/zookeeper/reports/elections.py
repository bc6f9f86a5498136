"""The story of elections: who looked for a leader, who voted for whom, how long it took, who won.

All is told when the capture has been read: who a server is may be known only from what it says later (members.py);
what belongs to one election, polls.py tells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import Column, ConnectionEnd, Ends, MessageEvent, OldReport, ReportRow, said_of
from dissectors.wire.times import lasting
from dissectors.zookeeper.reports.ensembles import Ensembles
from dissectors.zookeeper.reports.members import Members
from dissectors.zookeeper.reports.messages import DATA, ELECTION, QUORUM, content, number, of_quorum
from dissectors.zookeeper.reports.polls import LOOKING, Dropped, Event, Leads, Learner, Poll, Polls, Vote

MOST = 200_000
"""Notifications that are remembered."""

_LEARNERS = {"FOLLOWERINFO", "OBSERVERINFO"}
_EPOCH = 32
"""Bits of a zxid below its epoch."""


class Elections(OldReport):
    """See the module."""

    name = "elections"
    about = "each election: who voted for whom, how long it took, who won; and servers that joined later"
    needs = ELECTION
    columns = (
        Column("kind", "text", "election; joining: servers that came to a leader that there was"),
        Column("winner", "text", "the leader's number; nothing where the capture does not tell"),
        Column("zxid", "text", "the last transaction of the winner"),
        Column("epoch", "number", "the epoch that it began, else that of its vote"),
        Column("round", "number", "how often they had voted before, as they count it"),
        Column("decided_ns", "duration", "from the first vote until a majority had one, or it was told who leads"),
        Column("servers", "texts", "who was looking for a leader"),
        Column("votes", "texts", "for whom each voted, one after the other"),
        Column("dropped", "texts", "connections that were dropped, for the other side has the larger number"),
    )
    wants: ClassVar = {
        (ELECTION, None, Role.ONEWAY): frozenset(
            (name,) for name in ("sid", "addr", "state", "leader", "zxid", "electionEpoch", "peerEpoch", "config")
        ),
        **of_quorum((*_LEARNERS, "NEWLEADER"), DATA),
        **of_quorum(("LEADERINFO",), (("zxid",),)),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._ensembles = Ensembles(ends)
        self._events: deque[Event] = deque(maxlen=MOST)
        self._spoke: set[int] = set()
        """Election connections on which the server has said something."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """Nothing is told before the end."""
        if told.protocol == QUORUM:
            self._of_quorum(told)
            return ()
        values = told.values
        sid = values.get("sid")
        if isinstance(sid, int):
            self._ensembles.of(told.stream).connected(told.stream, sid, values.get("addr"))
        elif isinstance(values.get("leader"), int):
            members = self._ensembles.of(told.stream)
            members.configured(values.get("config"))
            if not told.from_client:
                self._spoke.add(told.stream)
            leader = values["leader"] if values["leader"] >= 0 else None
            state, zxid, turn = (number(values, name) for name in ("state", "zxid", "electionEpoch"))
            vote = Vote(state, leader, zxid, turn, number(values, "peerEpoch"))
            if vote.state == LOOKING:
                members.voted(told.stream, leader, from_client=told.from_client)
            self._events.append(Event(told.row, told.time, told.stream, told.from_client, vote))
        return ()

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """A server drops a connection of which it wants to be the one who opened it."""
        if (
            not ending.by_client
            and ending.stream not in self._spoke
            and self._ensembles.opener(ending.stream) is not None
        ):
            self._events.append(Event(None, ending.time, ending.stream, False, Dropped("", "")))
        self._spoke.discard(ending.stream)
        return ()

    def finish(self) -> Iterator[ReportRow]:
        """All of them."""
        each: dict[Members, list[Event]] = {}
        for event in self._events:
            each.setdefault(self._ensembles.of(event.stream), []).append(event)
        for members, events in each.items():
            for poll in Polls(members).go(filter(None, (_known(members, event) for event in events))):
                yield self._entry(poll)

    def _of_quorum(self, told: MessageEvent) -> None:
        held = content(told)
        if told.operation in _LEARNERS:
            sid = number(held, "serverid", -1)
            if told.operation == "OBSERVERINFO":
                self._ensembles.of(told.stream).observers.add(sid)
            self._events.append(Event(told.row, told.time, told.stream, True, Learner(sid)))
        elif told.operation == "LEADERINFO":
            epoch = number(told.values, "zxid") >> _EPOCH
            self._events.append(Event(told.row, told.time, told.stream, False, Leads(epoch)))
        else:
            self._ensembles.of(told.stream).configured(held.get("config"))

    def _entry(self, poll: Poll) -> ReportRow:
        decided = poll.agreed if poll.agreed is not None else poll.settled
        votes = [
            f"{name} for {', then '.join(map(str, looker.votes))}"
            for name, looker in poll.lookers.items()
            if looker.votes
        ]
        values = (
            "joining" if poll.is_joining else "election",
            None if poll.winner is None else str(poll.winner),
            None if poll.zxid is None else f"{poll.zxid:#x}",
            poll.epoch,
            poll.round,
            None if decided is None else decided - poll.first,
            list(poll.lookers),
            votes,
            list(dict.fromkeys(poll.dropped)),
        )
        return ReportRow(values, tuple(poll.rows), poll.first, poll.last)

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        won = f"{said['winner']} won" if said["winner"] else "nobody won in this capture"
        if said["kind"] == "joining":
            won = f"{', '.join(said['servers'])} joined {said['winner']}"
        took = "" if said["decided_ns"] is None else f" in {lasting(said['decided_ns'])}"
        voted = f"; {'; '.join(said['votes'])}" if said["votes"] else ""
        return f"{word} in the {said['kind']} of round {said['round']}: {won}{took}{voted}"


def _known(members: Members, event: Event) -> Event | None:
    """An event with what is known by now; None for a connection that was dropped for another reason."""
    if not isinstance(event.what, Dropped):
        return event
    opener, by = (members.of(event.stream, from_client=side) for side in (True, False))
    if opener is None or by is None or opener >= by:
        return None
    return event._replace(what=Dropped(str(opener), str(by)))
