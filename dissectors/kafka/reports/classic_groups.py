"""Rebalances of classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup (KIP-62, KIP-345, KIP-394, KIP-800)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import MILLISECOND, MessageEvent, for_request
from dissectors.kafka.reports.assignments import list_subscribed_topics, read_assignment
from dissectors.kafka.reports.fields import ANSWERS, REQUESTS, list_errors, read_error, subscribe_to
from dissectors.kafka.reports.group_state import (
    COMPLETE,
    EMPTY,
    LEFT,
    UNCHANGED,
    GroupMember,
    GroupRequest,
    GroupState,
    RebalanceReport,
    RebalanceRow,
)
from dissectors.report import add_name
from dissectors.values import number, structs, text
from dissectors.wire.times import lasting

_REQUIRES_ID = 4
"""From this version of JoinGroup on a client without a member id is sent back with one, but for static members."""

_NO_CAUSE = ("group is already rebalancing",)
"""Reasons of JoinGroup that say no more than that somebody else began."""

IN_PROGRESS, UNKNOWN_MEMBER, FENCED = "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"


def _receive(report: RebalanceReport, event: MessageEvent) -> GroupRequest | None:
    return report.receive_request(event, text(event.values, "protocolType"), "groupInstanceId")


# ---- joining


def ask_to_join(report: RebalanceReport, event: MessageEvent) -> None:
    """Handles a JoinGroup request, which begins a rebalance or joins the current one."""
    call = _receive(report, event)
    if call is None:
        return
    state, row = call.group, call.group.row
    if not call.member and call.instance is None and (event.context.version or 0) >= _REQUIRES_ID:
        return
    known = state.members.get(call.member)
    name = known.name if known else state.make_name(call.member, event.client_name, call.instance)
    if known is None:
        state.explain_return(event, name)
    if row is None or row.is_over or row.answered is not None:
        row = report.begin(state, event, _explain_join(state, call, event))
    else:
        row.hear(event)
        if row.cause is None:
            row.cause = _explain_join(state, call, event)
    if call.member:
        row.names[call.member] = name
    row.late = f"{name}, after {lasting(event.time - row.first)}" if event.time > row.first else row.late
    row.note("join", event)


def _explain_join(state: GroupState, call: GroupRequest, event: MessageEvent) -> str | None:
    """Why this member joins; None for what is no cause by itself."""
    known, reason = state.members.get(call.member), text(call.values, "reason")
    topics = list_subscribed_topics(call.values.get("protocols"))
    if known is None:
        back = call.instance is not None and any(each.instance == call.instance for each in state.members.values())
        name = state.make_name(call.member, event.client_name, call.instance)
        return f"static member {name} came back" if back else f"{name} joined"
    silent = _explain_silence(state, event)
    if silent is not None:
        return silent
    if topics and known.topics and topics != known.topics:
        return f"{known.name} subscribes to other topics: {', '.join(sorted(topics))[:200]}"
    if reason is not None and reason not in _NO_CAUSE:
        return f"{known.name} asked for it: {reason}"
    return None


def _explain_silence(state: GroupState, event: MessageEvent) -> str | None:
    """The first member that was not heard for its session timeout."""
    silent = next(iter(state.list_silent(event.time)), None)
    if silent is None or silent.timeout is None:
        return None
    timeout = lasting(silent.timeout)
    return f"{silent.name} was silent for {lasting(event.time - silent.last_seen)}, its session timeout is {timeout}"


def answer_join(report: RebalanceReport, call: GroupRequest, event: MessageEvent) -> None:
    """Handles the answer to JoinGroup: a member is taken in, or refused."""
    state, values, error = call.group, event.values, read_error(event.values)
    row = state.row
    if error is not None:
        if row is not None:
            row.fail(error, event)
        if error == FENCED and row is not None and row.cause is None:
            row.cause = f"static member {call.instance} is fenced by another with its instance id"
        _drop_member(state, call, error)
        return
    if row is None or row.is_over:
        row = report.begin(state, event, None)
        row.first = call.time
    row.note("joined", event)
    row.answer_join(event)
    id, generation = text(values, "memberId") or call.member, number(values, "generationId", -1)
    is_new = state.members.get(id) is None
    replaced = _find_instance(state, call.instance, id)
    if replaced is not None:
        state.members.pop(replaced.id)
    member = state.find_member(id, event, call.instance)
    report.hear(member, event)
    member.timeout = number(call.values, "sessionTimeoutMs") * MILLISECOND or None
    member.waits = number(call.values, "rebalanceTimeoutMs") * MILLISECOND or None
    member.since = event.time
    member.topics = list_subscribed_topics(call.values.get("protocols")) or member.topics
    row.names[id] = member.name
    if is_new and replaced is None:
        add_name(row.joined, member.name)
    row.assignor = text(values, "protocolName") or row.assignor
    row.kind = state.kind = text(values, "protocolType") or state.kind
    if replaced is not None:
        state.assignment[id] = state.assignment.pop(replaced.id, frozenset())
        state.owners = {each: id if owner == replaced.id else owner for each, owner in state.owners.items()}
    if generation == state.generation:  # a static member that came back: nobody else hears of it
        row.generation, row.members = generation, len(state.members)
        row.state = UNCHANGED
        return
    row.generation = generation
    row.expected.setdefault(id, False)
    members = {each: row for row in structs(values.get("members")) if (each := text(row, "memberId"))}
    if members:
        _settle_members(state, row, members, event)
    row.members = max(row.members, len(row.expected))


def _find_instance(state: GroupState, instance: str | None, id: str) -> GroupMember | None:
    """The member that a static member with a new id replaces."""
    if instance is None:
        return None
    return next((each for each in state.members.values() if each.instance == instance and each.id != id), None)


def _settle_members(
    state: GroupState, row: RebalanceRow, members: Mapping[str, Mapping[str, Any]], event: MessageEvent
) -> None:
    """The leader hears who has joined; who has not is out of the group."""
    instances = {text(each, "groupInstanceId") for each in members.values()}
    for member in [each for each in state.members.values() if each.id not in members]:
        if member.instance is not None and member.instance in instances:
            state.members.pop(member.id)
        else:
            state.add_left(member, f"did not join again, {member.describe_silence(event.time)}")
    for id, each in members.items():
        instance = text(each, "groupInstanceId")
        known = state.members.get(id)
        if known is None:
            name = row.names.get(id) or state.make_name(id, None, instance)
            known = state.members[id] = GroupMember(id, name, event.time, instance)
            add_name(row.joined, known.name)
        row.names[id] = known.name
        row.expected.setdefault(id, False)
    row.members = len(members)


# ---- syncing


def ask_to_sync(report: RebalanceReport, event: MessageEvent) -> None:
    """Notes a SyncGroup request; the one of the leader has the assignment of all members."""
    call = _receive(report, event)
    row = None if call is None else call.group.row
    if call is None or row is None or row.is_over:
        return
    assignments = structs(event.values.get("assignments"))
    if assignments:
        row.owned = {
            id: read_assignment(each.get("assignment")) for each in assignments if (id := text(each, "memberId"))
        }
        for id in row.owned:
            row.expected.setdefault(id, False)
        row.note("assignment", event)


def answer_sync(report: RebalanceReport, call: GroupRequest, event: MessageEvent) -> None:
    """Handles the answer to SyncGroup: the member has its partitions."""
    state, row, error = call.group, call.group.row, read_error(event.values)
    if row is None:
        return
    if error is not None:
        row.fail(error, event)
        _drop_member(state, call, error)
        return
    if row.is_over:
        return
    row.note("synced", event)
    if call.member not in row.owned:
        row.owned[call.member] = read_assignment(event.values.get("assignment"))
    row.sync(call.member, event)
    if row.state == COMPLETE:
        state.settle()


# ---- in between


def beat(report: RebalanceReport, event: MessageEvent) -> None:
    """Notes a Heartbeat or an OffsetCommit of a member."""
    _receive(report, event)


def answer_beat(report: RebalanceReport, call: GroupRequest, event: MessageEvent) -> None:
    """Handles an error in the answer to a heartbeat: a rebalance is on, or the member is unknown."""
    state, error = call.group, read_error(event.values)
    if error is None:
        return
    row = state.row
    if error == IN_PROGRESS and (row is None or row.is_over):
        row = report.begin(state, event, _explain_silence(state, event))
        row.note("begin", event)
    elif row is not None:
        row.fail(error, event)
    _drop_member(state, call, error)


def answer_commit(report: RebalanceReport, call: GroupRequest, event: MessageEvent) -> None:
    """Handles an answer to OffsetCommit that has an error of the group."""
    for error in sorted(set(list_errors(event.values))):
        if call.group.row is not None:
            call.group.row.fail(error, event)


def _drop_member(state: GroupState, call: GroupRequest, error: str) -> None:
    """A member that the coordinator does not know, or that another with its instance id has replaced."""
    known = state.members.get(call.member)
    if known is not None and error in (UNKNOWN_MEMBER, FENCED):
        state.add_left(known, "fenced" if error == FENCED else "expelled")


# ---- leaving


def leave(report: RebalanceReport, event: MessageEvent) -> None:
    """Notes a LeaveGroup: of the member itself, or of several members by an administrator."""
    name = text(event.values, "groupId")
    if name is None:
        return
    state = report.find_group(name, None)
    leavers = structs(event.values.get("members")) or [event.values]
    for each in leavers:
        id, instance = text(each, "memberId"), text(each, "groupInstanceId")
        known = state.members.get(id) or _find_instance(state, instance, "")
        called = known.name if known else instance or event.client_name or id or "a member"
        reason = text(each, "reason")
        cause = f"{called} left" + (f": {reason}" if reason else "")
        row = state.row
        if row is None or row.is_over or row.answered is not None:
            row = report.begin(state, event, cause)
        row.note("leave", event)
        if known is not None:
            if known.stream == event.stream:
                report.hear(known, event)
            state.add_left(known, reason or LEFT)
        else:
            add_name(row.left, called)
        if not len(state.members):
            row.state, row.members = EMPTY, 0
            state.assignment, state.owners = {}, {}


SUBSCRIPTIONS = (
    subscribe_to(
        *("JoinGroup", REQUESTS, ask_to_join, "groupId", "memberId", "groupInstanceId", "protocolType", "protocols"),
        *("reason", "sessionTimeoutMs", "rebalanceTimeoutMs"),
    )
    | subscribe_to(
        *("JoinGroup", ANSWERS, for_request(answer_join), "errorCode", "generationId", "protocolType", "protocolName"),
        *("memberId", "members"),
    )
    | subscribe_to("SyncGroup", REQUESTS, ask_to_sync, "groupId", "memberId", "groupInstanceId", "assignments")
    | subscribe_to("SyncGroup", ANSWERS, for_request(answer_sync), "errorCode", "assignment")
    | subscribe_to("Heartbeat OffsetCommit", REQUESTS, beat, "groupId", "memberId", "groupInstanceId")
    | subscribe_to("Heartbeat", ANSWERS, for_request(answer_beat), "errorCode")
    | subscribe_to("OffsetCommit", ANSWERS, for_request(answer_commit), ("topics", "partitions", "errorCode"))
    | subscribe_to("LeaveGroup", REQUESTS, leave, "groupId", "memberId", "members")
)
