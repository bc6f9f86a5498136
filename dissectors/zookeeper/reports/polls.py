"""Reconstructs one election after the other from the notifications of all: candidates, votes, winner.

Facts (FastLeaderElection, QuorumCnxManager). A server that looks for a leader votes for itself, and for a better vote
when it receives one: the larger epoch, then zxid, then number. Its election is over when a majority has its vote. A
server that has a leader answers a looking one with FOLLOWING or LEADING; so a server that comes later joins without an
election. An observer votes for nobody, and gets old votes in answer. On a new connection the last message to that
server is sent again, however old it is. Without a majority, votes are repeated after 200 ms, then less often, finally
every minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dissectors.report import OpenRow, column
from dissectors.slotted import field, make_slotted
from dissectors.zookeeper.reports.members import EnsembleMembers

QUIET, PATIENCE = 3_000_000_000, 90_000_000_000
"""ns without a vote behind which an election is over: one that has a winner, one that has none."""

LOOKING, FOLLOWING, LEADING = 0, 1, 2


class Vote(NamedTuple):
    """The vote in a notification: the sender's `state`, vote and round. leader: None for nobody."""

    state: int
    leader: int | None
    zxid: int
    round: int
    epoch: int


class Learner(NamedTuple):
    """A server that connects to its leader."""

    sid: int


class Leads(NamedTuple):
    """A leader that begins an epoch."""

    epoch: int


class DroppedConnection(NamedTuple):
    """A connection that was dropped, for the other side has the larger number."""

    opener: str
    by: str


class Event(NamedTuple):
    """Something at a time, on a connection."""

    row: int | None
    time: int
    stream: int
    from_client: bool
    what: Vote | Learner | Leads | DroppedConnection


@make_slotted(frozen=False, eq=False)
class Looker:
    """A server that looks for a leader: its votes in order. done: when it had found one."""

    votes: list[int] = field(default_factory=list)
    done: int | None = None


@make_slotted(frozen=False, eq=False)
class Poll(OpenRow):
    """An election, or servers that join a leader.

    looked: the time of the last vote. agreed: when a majority had one vote; settled: when a server named a leader.
    led_by: the leader's number.
    """

    kind: str = column(
        *("text", "election; joining: servers that came to a leader that there was"),
        of=lambda poll: "joining" if poll.is_joining else "election",
    )
    winner: str | None = column(
        *("text", "the leader's number; nothing where the capture does not tell"),
        of=lambda poll: None if poll.led_by is None else str(poll.led_by),
    )
    zxid: str | None = column(
        *("text", "the last transaction of the winner"),
        of=lambda poll: None if poll.last_zxid is None else f"{poll.last_zxid:#x}",
    )
    epoch: int | None = column("number", "the epoch that it began, else that of its vote")
    round: int = column("number", "how often they had voted before, as they count it", 0)
    decided_ns: int | None = column(
        *("duration", "from the first vote until a majority had one, or it was told who leads"),
        of=lambda poll: poll.decided,
    )
    servers: list[str] = column("texts", "who was looking for a leader", of=lambda poll: poll.lookers)
    votes: list[str] = column(
        *("texts", "for whom each voted, one after the other"),
        of=lambda poll: [
            f"{name} for {', then '.join(map(str, looker.votes))}"
            for name, looker in poll.lookers.items()
            if looker.votes
        ],
    )
    dropped: list[str] = column(
        *("texts", "connections that were dropped, for the other side has the larger number"),
        of=lambda poll: dict.fromkeys(poll.drops),
    )
    looked: int = 0
    lookers: dict[str, Looker] = field(default_factory=dict)
    cast_votes: set[tuple[str, Vote]] = field(default_factory=set)
    led_by: int | None = None
    last_zxid: int | None = None
    agreed: int | None = None
    settled: int | None = None
    drops: list[str] = field(default_factory=list)

    most_rows = 512

    def hear_of(self, word: str, event: Event) -> None:
        """Adds one more message to the election."""
        self.last = max(self.last, event.time)
        if event.row is not None:
            self.add(word, event.row)

    def settle(self, winner: int | None, time: int) -> None:
        """Notes that the servers have a leader."""
        if self.settled is None:
            self.settled = time
            self.led_by = winner if winner is not None else self.led_by
            leader = self.lookers.get(str(self.led_by))
            if leader is not None:
                leader.done = time

    @property
    def decided(self) -> int | None:
        """The time until the servers had a leader, in nanoseconds."""
        when = self.agreed if self.agreed is not None else self.settled
        return None if when is None else when - self.first

    @property
    def is_joining(self) -> bool:
        """Whether servers came to a leader that did not look for one."""
        return self.led_by is not None and str(self.led_by) not in self.lookers

    def is_over(self, time: int) -> bool:
        """Returns whether nothing of what comes at a time belongs to it."""
        return time - self.looked > (QUIET if self.settled is not None else PATIENCE)


class Polls:
    """Goes through events in their order; members: all that is known of servers."""

    def __init__(self, members: EnsembleMembers) -> None:
        """No election yet."""
        self._members = members
        self.polls: list[Poll] = []
        self._open: list[Poll] = []
        self._fresh: set[tuple[int, bool]] = set()
        """Sides of connections that have said something new."""
        self._leader: int | None = None

    def go(self, events: Iterable[Event]) -> list[Poll]:
        """Closes all elections that are open."""
        for event in events:
            self._open = [poll for poll in self._open if not poll.is_over(event.time)]
            match event.what:
                case Vote(state=state) as vote:
                    (self._looks if state == LOOKING else self._has_leader)(event, vote)
                case Learner(sid):
                    self._follows(event, sid)
                case Leads(epoch):
                    self._begins(event, epoch)
                case DroppedConnection(opener, by):
                    for poll in (self._open or self.polls)[-1:]:
                        poll.drops.append(f"{opener} by {by}")
        return self.polls

    def _looks(self, event: Event, vote: Vote) -> None:
        name = self._members.name(event.stream, from_client=event.from_client)
        side = event.stream, event.from_client
        if side not in self._fresh and self._is_old(name, vote):
            return
        self._fresh.add(side)
        poll = next(self._polls_of(name), None) or next((each for each in self._open if each.settled is None), None)
        if poll is None:
            poll = Poll(event.time, event.time, looked=event.time)
            self.polls.append(poll)
            self._open.append(poll)
        poll.looked = event.time
        poll.cast_votes.add((name, vote))
        looker = poll.lookers.setdefault(name, Looker())
        poll.hear_of("vote", event)
        if vote.leader is not None and not self._to_observer(event) and not self._is_observer(name):
            poll.round = max(poll.round, vote.round)
            if vote.leader not in looker.votes:  # votes get better, and come late on other connections
                looker.votes.append(vote.leader)
            self._count(poll, event, vote)

    def _polls_of(self, name: str) -> Iterator[Poll]:
        """Open ones in which a server is still looking."""
        return (poll for poll in self._open if name in poll.lookers and poll.lookers[name].done is None)

    def _is_old(self, name: str, vote: Vote) -> bool:
        """Whether a vote is one that was sent again, of an election that is over."""
        if self._leader is not None and name == str(self._leader) == str(vote.leader):
            return True
        return any(
            (name, vote) in poll.cast_votes and poll.lookers[name].done is not None
            for poll in self.polls[-8:]
            if name in poll.lookers
        )

    def _count(self, poll: Poll, event: Event, vote: Vote) -> None:
        """Whether a majority has this vote."""
        latest = [looker.votes[-1] for looker in poll.lookers.values() if looker.votes]
        if (
            poll.agreed is None
            and poll.settled is None
            and 2 * latest.count(vote.leader or 0) > len(self._members.voters) > 0
        ):
            poll.agreed, poll.led_by, poll.last_zxid = event.time, vote.leader, vote.zxid

    def _has_leader(self, event: Event, vote: Vote) -> None:
        """FOLLOWING, LEADING or OBSERVING: of who has found a leader, or had one."""
        name = self._members.name(event.stream, from_client=event.from_client)
        self._fresh.add((event.stream, event.from_client))
        leads = vote.state == LEADING
        if vote.leader is not None and (leads or self._leader is None):
            self._leader = vote.leader
        for poll in self._open:
            looker = poll.lookers.get(name)
            mine = looker is not None and (leads or poll.led_by in (None, vote.leader))
            if mine and looker is not None and looker.done is None:
                looker.done = event.time
            if leads or mine:
                poll.settle(vote.leader, event.time)
                if vote.leader == poll.led_by:
                    poll.last_zxid = vote.zxid
                    poll.epoch = vote.epoch if poll.epoch is None else max(poll.epoch, vote.epoch)
                poll.hear_of("leading" if leads else "following", event)

    def _follows(self, event: Event, sid: int) -> None:
        """A learner connects to the leader."""
        for poll in self._polls_of(str(sid)):
            looker = poll.lookers[str(sid)]
            looker.done = event.time
            poll.settle(looker.votes[-1] if looker.votes else None, event.time)
            if poll.led_by is not None:
                self._leader = poll.led_by
            poll.hear_of("joins", event)

    def _begins(self, event: Event, epoch: int) -> None:
        """A leader tells its epoch."""
        for poll in self._open[-1:]:
            poll.epoch = max(poll.epoch or 0, epoch)
            poll.hear_of("epoch", event)

    def _to_observer(self, event: Event) -> bool:
        """Whether a notification is for a server that does not vote."""
        sid = self._members.find_side(event.stream, from_client=not event.from_client)
        return sid in self._members.observers

    def _is_observer(self, name: str) -> bool:
        return name.isdecimal() and int(name) in self._members.observers
