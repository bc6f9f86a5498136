"""State of a group at a moment: its members, their partitions, and the rebalance that goes on.

Theory. A rebalance is a row. It stays the group's current one until the next begins, so that errors that follow from it
(a heartbeat of an expelled member, a commit of an old generation) are counted with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from dissectors.correlator import BoundedTable, ConnectionEnd, MessageEvent
from dissectors.kafka.reports.assignments import (
    Partition,
    compare_assignments,
    format_change,
    list_owned,
)
from dissectors.kafka.reports.fields import format_counts
from dissectors.report import OpenRow, Report, add_name, column
from dissectors.slotted import field, make_slotted
from dissectors.values import measure_elapsed, text
from dissectors.wire.times import lasting

MOST_MEMBERS = 10_000
"""Members of a group that are remembered."""

COMPLETE, UNFINISHED, EMPTY, UNCHANGED = "complete", "unfinished", "empty", "unchanged"

_UUID = re.compile("-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""What a coordinator puts behind a client id to make a member id."""

LEFT, POLL_TIMEOUT = "left", "it did not poll within max.poll.interval.ms"
"""How a member left that gave no reason, and what explains it if it comes back."""

EXPECTED = frozenset({"MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"})
"""Errors that are a step of every rebalance."""


@make_slotted(frozen=False, eq=False)
class GroupMember:
    """A member: its id and name, when it was last heard (ns since 1970), and its session timeout (ns).

    topics: what it subscribes to. waits: its rebalance timeout, that is max.poll.interval.ms, in ns. stream: the
    connection on which it was last heard; ended: when it closed that, ns since 1970. since: when it got its assignment.
    """

    id: str
    name: str
    last_seen: int
    instance: str | None = None
    timeout: int | None = None
    topics: frozenset[str] = frozenset()
    waits: int | None = None
    stream: int = -1
    ended: int | None = None
    since: int | None = None

    def hear(self, event: MessageEvent) -> None:
        """Notes a message of the member."""
        self.last_seen, self.stream, self.ended = max(self.last_seen, event.time), event.stream, None

    def describe_silence(self, time: int) -> str:
        """Describes for people how long the member has said nothing, and whether its connection has ended."""
        silence = f"silent for {lasting(time - self.last_seen)}"
        if self.ended is None:
            return silence
        return f"{silence}; it closed its connection {lasting(time - self.ended)} before"


@make_slotted(frozen=False, eq=False)
class RebalanceRow(OpenRow):
    """One rebalance of a group.

    answered: when the first member that asked to join was answered; synced: when the last got its assignment.
    expected: members that are to get one, and whether they have it; owned: partitions by member, previous: those before
    it, owners: the last owner of each; names: of members by id.
    """

    group: str = column("text", "the group", "")
    kind: str | None = column("text", "consumer, connect, ... (classic); consumer, share or streams with (KIP-848)")
    state: str = column(
        "text",
        "complete, unfinished (it began again, or the capture ends), empty (the last member left), unchanged (a static "
        "member came back)",
        UNFINISHED,
    )
    cause: str | None = column("text", "what began it")
    before: int | None = column("number", "generation or group epoch before it")
    generation: int | None = column("number", "generation or group epoch that it leads to")
    assignor: str | None = column("text", "the protocol that the members agreed on")
    members: int = column("number", "members behind it", 0)
    joined: dict[str, None] = column("texts", "members that are new", default_factory=dict)
    left: dict[str, None] = column("texts", "members that are gone, and how", default_factory=dict)
    late: str | None = column("text", "the member that joined last, and how long after the beginning")
    began: int | None = column("time", "when it began", of="first")
    join_ns: int | None = column("duration", "until the first member was answered: all had joined")
    sync_ns: int | None = column("duration", "from there until the last member got its assignment")
    stood_still_ns: int | None = column("duration", "from the beginning until the last member got its assignment")
    moved: int | None = column("number", "partitions that another member has now, though their owner is still there")
    needless: int | None = column("number", "of these, how many even numbers of partitions would not have moved")
    changes: list[str] = column("texts", "what each member gained (+) and lost (-)", default_factory=list)
    assignment: list[str] = column("texts", "who has which partitions behind it", default_factory=list)
    errors: list[str] = column(
        "texts",
        "errors that it led to, but for MEMBER_ID_REQUIRED and REBALANCE_IN_PROGRESS",
        of=lambda row: format_counts(row.failures),
    )
    answered: int | None = None
    synced: int | None = None
    expected: dict[str, bool] = field(default_factory=dict)
    owned: dict[str, frozenset[Partition]] = field(default_factory=dict)
    previous: dict[str, frozenset[Partition]] = field(default_factory=dict)
    owners: dict[Partition, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return self.state != UNFINISHED

    def answer_join(self, event: MessageEvent) -> None:
        """The first member was answered: all have joined."""
        if self.answered is None:
            self.answered = event.time
            self.join_ns = measure_elapsed(self.first, event.time)

    def sync(self, member: str, event: MessageEvent) -> None:
        """Notes that a member has its assignment; the rebalance is complete when all have."""
        self.expected[member] = True
        self.synced = max(self.synced or 0, event.time)
        self.sync_ns = measure_elapsed(self.answered, self.synced)
        self.stood_still_ns = measure_elapsed(self.first, self.synced)
        if all(self.expected.values()) and self.state == UNFINISHED:
            self.state = COMPLETE

    def fail(self, error: str | None, event: MessageEvent) -> None:
        """Notes an answer with an error."""
        if error is not None and error not in EXPECTED:
            self.failures[error] += 1
            self.note("error", event)


@make_slotted(frozen=False, eq=False)
class GroupState:
    """A group. row: its current rebalance; cause: what will have begun the next one.

    owners: the last owner of each partition. leaver: the member that left last without a reason.
    """

    name: str
    kind: str | None = None
    generation: int | None = None
    row: RebalanceRow | None = None
    cause: str | None = None
    members: BoundedTable[str, GroupMember] = field(default_factory=lambda: BoundedTable(MOST_MEMBERS))
    assignment: dict[str, frozenset[Partition]] = field(default_factory=dict)
    owners: dict[Partition, str] = field(default_factory=dict)
    leaver: GroupMember | None = None

    def find_member(self, id: str, event: MessageEvent, instance: str | None = None) -> GroupMember:
        """Returns the member with an id, made if needed, and notes when it was last active."""
        found = self.members.get(id)
        if found is None:
            found = self.members[id] = GroupMember(id, self.make_name(id, event.client_name, instance), event.time)
        found.last_seen = max(found.last_seen, event.time)
        found.instance = instance or found.instance
        found.stream = event.stream
        return found

    def make_name(self, id: str, client: str | None, instance: str | None) -> str:
        """Returns the name of a member for people: its instance id or client id, made unique."""
        name = instance or client or _UUID.sub("", id)
        alike = any(each.name == name for each in self.members.values())
        return f"{name} ({id[-6:]})" if alike and id and name != id else name

    def list_silent(self, time: int) -> list[GroupMember]:
        """Lists the members that have sent nothing for longer than their session timeout."""
        return [
            each for each in self.members.values() if each.timeout is not None and time - each.last_seen > each.timeout
        ]

    def settle(self) -> None:
        """Says what the current rebalance changes, and takes its assignment over. May be called again for it."""
        row = self.row
        if row is None:
            return
        if row.owned:
            change = compare_assignments(row.owners, row.previous, row.owned)
            row.moved, row.needless = change.moved, change.needless
            row.changes = format_change(row.names, change)
            row.assignment = list_owned(row.owned, row.names)
            self.assignment = dict(row.owned)
            remaining = {partition: owner for partition, owner in row.owners.items() if owner in row.owned}
            self.owners = remaining | {partition: member for member, owned in row.owned.items() for partition in owned}
        if row.generation is not None:
            self.generation = row.generation

    def add_left(self, member: GroupMember, how: str) -> None:
        """Removes a member, and names it in the current rebalance."""
        self.members.pop(member.id)
        self.leaver = member if how == LEFT else None
        if self.row is not None:
            add_name(self.row.left, f"{member.name} ({how})")

    def explain_return(self, event: MessageEvent, name: str) -> None:
        """Says of a member that left what only its return on the same connection tells: it had not polled in time.

        A client leaves its group where the application does not poll for max.poll.interval.ms, which is the member's
        rebalance timeout, and joins again as soon as it polls. Some clients do not say why they leave.
        """
        member, self.leaver = self.leaver, None
        if member is None or self.row is None or (member.stream, member.name) != (event.stream, name):
            return
        if member.waits is None or member.since is None or member.last_seen - member.since < member.waits * 9 // 10:
            return
        left = f"{member.name} ({LEFT})"
        after = lasting(event.time - member.last_seen)
        because = f"left and came back after {after}: probably {POLL_TIMEOUT}, which is {lasting(member.waits)}"
        self.row.left = {f"{member.name} ({because})" if each == left else each: None for each in self.row.left}


class GroupRequest(NamedTuple):
    """A request of a member until its answer comes: its group, member and instance, its time, and its values."""

    group: GroupState
    member: str
    instance: str | None
    time: int
    values: Mapping[str, Any]


class RebalanceReport(Report[RebalanceRow]):
    """A report whose rows are rebalances: the groups, and how a rebalance begins and ends."""

    def _begin(self) -> None:
        self.groups: BoundedTable[str, GroupState] = BoundedTable(evict=self.close_group)
        self.speakers: BoundedTable[int, GroupMember] = BoundedTable()
        """By connection the member that was heard on it last."""

    def hear(self, member: GroupMember, event: MessageEvent) -> None:
        """Notes a message of a member."""
        member.hear(event)
        self.speakers[event.stream] = member

    def receive_request(self, event: MessageEvent, kind: str | None, instance: str) -> GroupRequest | None:
        """Keeps a request of a member for its answer. instance: the field that has the id of a static member."""
        name = text(event.values, "groupId")
        if name is None:
            return None
        state, id = self.find_group(name, kind), text(event.values, "memberId") or ""
        request = GroupRequest(state, id, text(event.values, instance), event.time, event.values)
        self.await_answer(event, request)
        known = state.members.get(id)
        if known is not None:
            self.hear(known, event)
        return request

    def end_connection(self, end: ConnectionEnd) -> None:
        """Notes that a member has closed its connection."""
        member = self.speakers.pop(end.stream)
        if member is not None and member.stream == end.stream and end.by_client:
            member.ended = end.time

    def find_group(self, name: str, kind: str | None) -> GroupState:
        """Returns a group by its name, made if needed."""
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = GroupState(name)
        found.kind = kind or found.kind
        return found

    def begin(self, state: GroupState, event: MessageEvent, cause: str | None) -> RebalanceRow:
        """Begins a rebalance of a group, and closes the one before."""
        self.close_group(state)
        row = state.row = RebalanceRow(event.time, event.time, group=state.name, kind=state.kind)
        row.before, row.previous, row.owners = state.generation, state.assignment, state.owners
        row.names = {each.id: each.name for each in state.members.values()}
        row.cause, state.cause = state.cause or cause, None
        return row

    def close_group(self, state: GroupState) -> None:
        """Closes the current rebalance of a group."""
        if state.row is not None:
            if state.row.synced is not None:
                state.settle()
            self.close(state.row)
            state.row = None

    def finish(self) -> None:
        """Closes the current rebalances when the capture ends."""
        for state in self.groups.values():
            self.close_group(state)
