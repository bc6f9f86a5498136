"""The report of members: each member of each group, from when it joined until it left.

Facts. A client that does not call poll() for max.poll.interval.ms leaves its group itself, and from version 5 of
LeaveGroup on gives the reason ("consumer poll timeout has expired"); its heartbeats continued until then. A member
whose heartbeats stop is expelled after its session timeout, and gets UNKNOWN_MEMBER_ID if it comes back. Of two members
with the same instance id, the earlier one is fenced (FENCED_INSTANCE_ID).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dissectors.correlator import MILLISECOND, MessageEvent, for_request
from dissectors.kafka.reports.assignments import (
    Partition,
    format_partitions,
    read_assignment,
    read_heartbeat_assignment,
)
from dissectors.kafka.reports.client_software import SOFTWARE, ClientSoftware
from dissectors.kafka.reports.fields import (
    ANSWERS,
    KAFKA,
    REQUESTS,
    format_counts,
    list_errors,
    read_error,
    subscribe_to,
)
from dissectors.kafka.reports.group_state import EXPECTED
from dissectors.kafka.reports.heartbeat_groups import MISSED
from dissectors.message import Role
from dissectors.report import OpenRow, Report, column
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, number, structs, text
from dissectors.wire.row_sentence import RowSentence

OPEN, LEFT, EXPELLED, FENCED, REPLACED, AWAY = "open", "left", "expelled", "fenced", "replaced", "away"
SILENT = "silent"

_ENDED_BY = {"UNKNOWN_MEMBER_ID": EXPELLED, "FENCED_INSTANCE_ID": FENCED, "FENCED_MEMBER_EPOCH": FENCED}
_POLL_TIMEOUT = "poll timeout"
_BEATS = "ConsumerGroupHeartbeat ShareGroupHeartbeat StreamsGroupHeartbeat"

_Pending = tuple[str, str | None, str | None, Mapping[str, Any]]
"""A request until its answer comes: group, member id, instance id, and its values."""


@make_slotted(frozen=False, eq=False)
class MemberRow(OpenRow):
    """One member. last_seen: when it was last heard, ns since 1970; owned: its partitions; failures: errors by name.

    beat_ns: how often it has to send a heartbeat (KIP-848).
    """

    group: str = column("text", "the group", "")
    member: str = column("text", "the member id that the coordinator, or from KIP-848 on the client, has made", "")
    client: str | None = column("text", "its client id")
    instance: str | None = column("text", "its instance id, of a static member")
    host: str | None = column("text", "the address that it speaks from")
    software: str | None = column("text", "its client library and version, where its connection tells")
    state: str = column(
        "text",
        "left, expelled (the group goes on without it), fenced (another has its instance id), replaced (it came back "
        "under a new id), away (static, for a while), silent (not heard to the end, for longer than its timeout), open "
        "(a member to the end)",
        OPEN,
    )
    reason: str | None = column("text", "why it left, in its own words")
    joined: int | None = column("time", "when it was taken in; nothing where that is not in the capture")
    ended: int | None = column("time", "when it was gone")
    timeout_ns: int | None = column("duration", "the silence after which it is expelled (session.timeout.ms)")
    rebalance_timeout_ns: int | None = column("duration", "how long others wait for it (max.poll.interval.ms)")
    heartbeats: int = column("number", "heartbeats", 0)
    silence_ns: int | None = column("duration", "the longest time in which it said nothing to the coordinator")
    late: int = column("number", "how often that was longer than its session timeout", 0)
    missed_poll: str | None = column("text", "yes where it left since its application did not poll in time")
    joins: int = column("number", "how often it joined or joined again", 0)
    commits: int = column("number", "requests that commit offsets", 0)
    partitions: str | None = column(
        "text", "what it had last", of=lambda row: None if row.owned is None else format_partitions(row.owned) or "none"
    )
    errors: list[str] = column(
        "texts",
        "errors that it was answered with",
        of=lambda row: format_counts(row.failures),
    )
    last_seen: int | None = None
    beat_ns: int | None = None
    owned: frozenset[Partition] | None = None
    failures: Counter[str] = field(default_factory=Counter)

    def speak(self, event: MessageEvent) -> None:
        """Notes a message of the member to its coordinator."""
        if self.last_seen is not None:
            silent = event.time - self.last_seen
            self.silence_ns = max(self.silence_ns or 0, silent)
            self.late += self.timeout_ns is not None and silent > self.timeout_ns
        self.last_seen = event.time

    def end(self, state: str, event: MessageEvent, reason: str | None = None) -> None:
        """Marks the member as gone."""
        self.state, self.ended, self.reason = state, event.time, reason or self.reason
        if reason is not None and _POLL_TIMEOUT in reason:
            self.missed_poll = "yes"
        self.note(state, event)


class MemberReport(Report[MemberRow]):
    """A row for each member id of each group; rows stay open until the capture ends."""

    name = "members"
    about = "each member of each group: who it is, its heartbeats and longest silence, why it left"
    needs = KAFKA
    row = MemberRow
    sentence = RowSentence(
        "{word}: member ({instance|client|member}) of group {group=}, {state}"
        "({?silence_ns: , longest silence {silence_ns%lasting}})"
    )
    worst = ("late", "silence_ns")
    selects = (("group", "kafka.group"), ("member", "kafka.member"))
    key = ("group", "member")

    def _begin(self) -> None:
        self.software = ClientSoftware()
        self.latest = 0

    def find_member(self, event: MessageEvent, group: str, id: str, instance: str | None) -> MemberRow:
        """Returns the row of a member, with the facts about its connection."""
        row = self.find((group, id), event)
        row.client = event.client_name or row.client
        row.instance = instance or row.instance
        row.host = host_of(event.client)
        row.software = self.software.find(event.stream) or row.software
        return row

    def receive_request(self, event: MessageEvent) -> None:
        """Notes a JoinGroup, SyncGroup, Heartbeat, OffsetCommit or ConsumerGroupHeartbeat of a member."""
        values = event.values
        self.latest = max(self.latest, event.time)
        group, id = text(values, "groupId"), text(values, "memberId")
        if group is None:
            return
        instance = text(values, "groupInstanceId") or text(values, "instanceId")
        self.await_answer(event, (group, id, instance, values))
        known = self.rows.get((group, id)) if id is not None else None
        if known is None and (id is None or event.operation in ("OffsetCommit", "JoinGroup", *_BEATS.split())):
            return  # what nobody has answered yet may be refused, and is no member
        row = self.find_member(event, group, id or "", instance)
        row.speak(event)
        row.heartbeats += "Heartbeat" in (event.operation or "")
        row.commits += event.operation == "OffsetCommit"
        epoch = number(values, "memberEpoch")
        if epoch < 0:
            row.end(LEFT if epoch == -1 else AWAY, event)

    def answer_join(self, pending: _Pending, event: MessageEvent) -> None:
        """Handles an answer that accepts or refuses a member."""
        group, id, instance, request = pending
        error = read_error(event.values)
        if error is not None:
            self.fail(group, id, error, event)
            return
        id = text(event.values, "memberId") or id
        if id is None:
            return
        for other in self.rows.values() if instance is not None else ():
            if (other.group, other.instance, other.ended) == (group, instance, None) and other.member != id:
                other.end(REPLACED, event)
        row = self.find_member(event, group, id, instance)
        row.joined = row.joined or event.time
        row.joins += 1
        row.last_seen = max(row.last_seen or 0, event.time)
        row.timeout_ns = number(request, "sessionTimeoutMs") * MILLISECOND or row.timeout_ns
        waits = number(request, "rebalanceTimeoutMs", -1)
        row.rebalance_timeout_ns = waits * MILLISECOND if waits >= 0 else row.rebalance_timeout_ns
        row.note("joined", event)
        members = {text(each, "memberId") for each in structs(event.values.get("members"))}
        for other in self.rows.values() if members else ():
            if (other.group, other.ended) == (group, None) and other.member not in members:
                other.end(EXPELLED, event)

    def answer_sync(self, pending: _Pending, event: MessageEvent) -> None:
        """Handles an answer that gives a member its partitions."""
        group, id, _, _ = pending
        error = read_error(event.values)
        row = self.rows.get((group, id)) if id is not None else None
        if error is not None:
            self.fail(group, id, error, event)
        elif row is not None:
            row.owned = read_assignment(event.values.get("assignment"))
            row.note("assigned", event)

    def answer_heartbeat(self, pending: _Pending, event: MessageEvent) -> None:
        """Handles the answer to a heartbeat; in the protocol of KIP-848 it may accept the member."""
        group, id, instance, request = pending
        error = read_error(event.values)
        if error is not None:
            self.fail(group, id, error, event)
        if error is not None or "memberEpoch" not in event.values or number(request, "memberEpoch") < 0:
            return
        id = text(event.values, "memberId") or id or ""
        is_new = (group, id) not in self.rows
        row = self.find_member(event, group, id, instance)
        if is_new:
            row.heartbeats += 1
            row.last_seen = event.time
        if not number(request, "memberEpoch"):
            row.joined = row.joined or event.time
            row.joins += 1
            row.note("joined", event)
        waits = number(request, "rebalanceTimeoutMs", -1)
        row.rebalance_timeout_ns = waits * MILLISECOND if waits >= 0 else row.rebalance_timeout_ns
        row.beat_ns = number(event.values, "heartbeatIntervalMs") * MILLISECOND or row.beat_ns
        assignment = read_heartbeat_assignment(event)
        if assignment is not None:
            row.owned = assignment
            row.note("assigned", event)

    def answer_commit(self, pending: _Pending, event: MessageEvent) -> None:
        """Notes that offsets were committed, or that some were refused."""
        group, id, _, _ = pending
        for error in dict.fromkeys(list_errors(event.values)):
            self.fail(group, id, error, event)

    def fail(self, group: str, id: str | None, error: str, event: MessageEvent) -> None:
        """Handles an error answer to a known member, which may end its membership."""
        row = self.rows.get((group, id)) if id is not None else None
        if row is None or error in EXPECTED:
            return
        row.failures[error] += 1
        if error in _ENDED_BY and row.ended is None:
            row.end(_ENDED_BY[error], event)
        else:
            row.note("error", event)

    def leave(self, event: MessageEvent) -> None:
        """Notes a LeaveGroup, of the member itself or of several members."""
        group = text(event.values, "groupId")
        for each in structs(event.values.get("members")) or [event.values]:
            id, instance = text(each, "memberId"), text(each, "groupInstanceId")
            row = self.rows.get((group or "", id)) if id is not None else None
            if row is None and instance is not None:
                row = next((row for row in self.rows.values() if (row.group, row.instance) == (group, instance)), None)
            if row is not None and row.ended is None:
                row.end(LEFT, event, text(each, "reason"))

    on = (
        SOFTWARE
        | subscribe_to(
            *("JoinGroup SyncGroup Heartbeat OffsetCommit", REQUESTS, receive_request, "groupId", "memberId"),
            *("groupInstanceId", "sessionTimeoutMs", "rebalanceTimeoutMs"),
        )
        | subscribe_to(
            *(_BEATS, REQUESTS, receive_request, "groupId", "memberId", "memberEpoch", "instanceId"),
            "rebalanceTimeoutMs",
        )
        | subscribe_to("JoinGroup", ANSWERS, for_request(answer_join), "errorCode", "memberId", "members")
        | subscribe_to("SyncGroup", ANSWERS, for_request(answer_sync), "errorCode", "assignment")
        | subscribe_to("Heartbeat", ANSWERS, for_request(answer_heartbeat), "errorCode")
        | subscribe_to(
            *(_BEATS, ANSWERS, for_request(answer_heartbeat), "errorCode", "memberId", "memberEpoch", "assignment"),
            *("heartbeatIntervalMs", "activeTasks", "standbyTasks", "warmupTasks"),
        )
        | subscribe_to("OffsetCommit", ANSWERS, for_request(answer_commit), ("topics", "partitions", "errorCode"))
        | subscribe_to("LeaveGroup", REQUESTS, leave, "groupId", "memberId", "members")
    )

    def finish(self) -> None:
        """Closes the rows; members that were not heard for too long are no longer open."""
        for row in self.rows.values():
            limit = row.timeout_ns or (row.beat_ns or 0) * MISSED
            if limit and row.ended is None and self.latest - (row.last_seen or self.latest) > limit:
                row.state = SILENT
        super().finish()

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message joins, leaves or assigns, or has an error; rows mention no others."""
        return operation not in ("Heartbeat", "OffsetCommit", "ApiVersions") or bool(values.get("errorCode"))
