"""The report of elections: who looked for a leader, who voted for whom, how long it took, who won.

All rows are reported at the end of the capture, because a server may be identified only by later messages (members.py);
polls.py assigns notifications to elections.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from dissectors.correlator import ConnectionEnd, MessageEvent, subscribe
from dissectors.finding import Finding, Severity
from dissectors.message import Role
from dissectors.report import Report, ReportRow, column
from dissectors.slotted import make_slotted
from dissectors.values import number
from dissectors.wire.row_sentence import RowSentence
from dissectors.wire.times import lasting
from dissectors.zookeeper.reports.fields import ELECTION, on_quorum, read_packet_data
from dissectors.zookeeper.reports.members import EnsembleMembers, Ensembles
from dissectors.zookeeper.reports.polls import LOOKING, DroppedConnection, Event, Leads, Learner, Poll, Polls, Vote

MOST = 200_000
"""Notifications that are remembered."""

_AGAIN = 2
"""The round of votes from which on a server has had a leader before."""

_EPOCH = 32
"""Bits of a zxid below its epoch."""

_NOTIFICATION = ("sid", "addr", "state", "leader", "zxid", "electionEpoch", "peerEpoch", "config")


class Elections(Report[Poll]):
    """The elections report: one row per election of a leader."""

    name = "elections"
    about = "each election: who voted for whom, how long it took, who won; and servers that joined later"
    needs = ELECTION
    row = Poll
    sentence = RowSentence(
        "{word} in the {kind=} of round ({round=}|None): "
        '({?kind == "joining": ({servers%listed}) joined ({winner=}|None)}|{winner} won|nobody won in this capture)'
        "( in {decided_ns%lasting})(; {votes%listed ;})"
    )
    diagnosed = True
    has_events = True

    def _begin(self) -> None:
        self.ensembles = Ensembles(self.ends)
        self.events: deque[Event] = deque(maxlen=MOST)
        self.spoke: set[int] = set()
        """Election connections on which the server has said something."""

    def receive_notification(self, event: MessageEvent) -> None:
        """Handles a notification (a vote), or the message of a server that opens a connection."""
        values, sid = event.values, event.values.get("sid")
        if isinstance(sid, int):
            self.ensembles.find(event.stream).connect(event.stream, sid, values.get("addr"))
        elif isinstance(values.get("leader"), int):
            members = self.ensembles.find(event.stream)
            members.configure(values.get("config"))
            if not event.from_client:
                self.spoke.add(event.stream)
            leader = values["leader"] if values["leader"] >= 0 else None
            state, zxid, turn = (number(values, name) for name in ("state", "zxid", "electionEpoch"))
            if state == LOOKING:
                members.vote(event.stream, leader, from_client=event.from_client)
            vote = Vote(state, leader, zxid, turn, number(values, "peerEpoch"))
            self.events.append(Event(event.row, event.time, event.stream, event.from_client, vote))

    def receive_learner(self, event: MessageEvent) -> None:
        """Notes from FOLLOWERINFO or OBSERVERINFO that a server follows."""
        sid = number(read_packet_data(event), "serverid", -1)
        if event.operation == "OBSERVERINFO":
            self.ensembles.find(event.stream).observers.add(sid)
        self.events.append(Event(event.row, event.time, event.stream, True, Learner(sid)))

    def receive_leader(self, event: MessageEvent) -> None:
        """Notes the epoch of a LEADERINFO."""
        epoch = number(event.values, "zxid") >> _EPOCH
        self.events.append(Event(event.row, event.time, event.stream, False, Leads(epoch)))

    def configure(self, event: MessageEvent) -> None:
        """Notes the configuration of a NEWLEADER."""
        self.ensembles.find(event.stream).configure(read_packet_data(event).get("config"))

    def end_connection(self, end: ConnectionEnd) -> None:
        """Handles the end of a connection; a server drops one that it wants to open itself."""
        if not end.by_client and end.stream not in self.spoke and self.ensembles.opener(end.stream) is not None:
            self.events.append(Event(None, end.time, end.stream, False, DroppedConnection("", "")))
        self.spoke.discard(end.stream)

    def finish(self) -> None:
        """Makes all rows: which servers form an ensemble is known only at the end of the capture."""
        each: dict[EnsembleMembers, list[Event]] = {}
        for event in self.events:
            each.setdefault(self.ensembles.find(event.stream), []).append(event)
        for members, events in each.items():
            for poll in Polls(members).go(filter(None, (_complete_event(members, event) for event in events))):
                self.close(poll)

    on = (
        subscribe([(ELECTION, None, Role.ONEWAY)], receive_notification, ((name,) for name in _NOTIFICATION))
        | on_quorum("FOLLOWERINFO OBSERVERINFO", receive_learner, "data")
        | on_quorum("NEWLEADER", configure, "data")
        | on_quorum("LEADERINFO", receive_leader, "zxid")
    )

    @classmethod
    def diagnose(cls, rows: Sequence[ReportRow]) -> Iterator[tuple[ReportRow, Finding]]:
        """Yields elections of servers that had a leader before, and those that nobody won."""
        for row in rows:
            cells = cls.cells(row)
            new = cells["round"] < _AGAIN and cells["zxid"] in (None, "0x0")
            if cells["kind"] != "election" or (new and cells["winner"] is not None):
                continue
            who, took = f"servers {', '.join(sorted(cells['servers']))}", cells["decided_ns"]
            if cells["winner"] is None:
                text = f"{who} looked for a leader and found none: too few of them run, or they do not reach each other"
                yield row, Finding(Severity.ERROR, "leader-lost", text)
                continue
            lost = "lost their leader" if cells["round"] >= _AGAIN else "started again without a leader"
            decided = "" if took is None else f"; the election took {lasting(took)}"
            text = f"{who} {lost} and elected server {cells['winner']}{decided}"
            yield row, Finding(Severity.WARNING, "leader-lost", text)

    @classmethod
    def list_events(cls, entry: ReportRow) -> Iterator[tuple[int, int | None, str]]:
        """Yields the election, or that servers joined a leader."""
        cells = cls.cells(entry)
        who = f"server{'s' * (len(cells['servers']) > 1)} {', '.join(sorted(cells['servers']))}"
        took = "" if cells["decided_ns"] is None else f" within {lasting(cells['decided_ns'])}"
        row = entry.rows[0][1] if entry.rows else None
        if cells["winner"] is None:
            yield entry.first, row, f"{who} looked for a leader and found none"
        elif cells["kind"] == "joining":
            yield entry.first, row, f"{who} joined the leader, server {cells['winner']}{took and ','}{took}"
        else:
            yield entry.first, row, f"{who} elected server {cells['winner']}{took}"


def _complete_event(members: EnsembleMembers, event: Event) -> Event | None:
    """An event with what is known by now; None for a connection that was dropped for another reason."""
    if not isinstance(event.what, DroppedConnection):
        return event
    opener, by = (members.find_side(event.stream, from_client=side) for side in (True, False))
    if opener is None or by is None or opener >= by:
        return None
    return event._replace(what=DroppedConnection(str(opener), str(by)))


@make_slotted(frozen=False, eq=False)
class NameRow(Poll):
    """The server on one side of a connection."""

    stream: int = column("number", "the connection", 0)
    by_client: int = column("number", "1 for its client, 0 for its server", 0)
    name: str = column("text", "the name of the server", "")


class ServerNames(Elections):
    """Names the servers of elections; it reads the same messages as the report of elections."""

    name = "names"
    row = NameRow
    diagnosed = has_events = False

    def finish(self) -> None:
        """Makes a row for each side of each connection whose server is known."""
        known: dict[tuple[int, bool], int] = {}
        for event in self.events:
            if isinstance(event.what, Learner):
                known[event.stream, True] = event.what.sid
                continue
            for side in (True, False):
                sid = self.ensembles.find(event.stream).find_side(event.stream, from_client=side)
                if sid is not None:
                    known[event.stream, side] = sid
        for (stream, by_client), sid in known.items():
            row = NameRow(0, 0)
            row.stream, row.by_client, row.name = stream, int(by_client), f"server {sid}"
            self.close(row)

    @classmethod
    def list_names(cls, entry: ReportRow) -> Iterator[tuple[str | tuple[int, bool], str]]:
        """Yields the side of the connection, and the name of its server."""
        cells = cls.cells(entry)
        yield (cells["stream"], bool(cells["by_client"])), cells["name"]
