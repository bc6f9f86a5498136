"""Rebalances of groups whose members hear of them in heartbeats: consumer (KIP-848), share and streams groups."""

from __future__ import annotations

from dissectors.correlator import MILLISECOND, MessageEvent, for_request
from dissectors.kafka.reports.assignments import read_heartbeat_assignment
from dissectors.kafka.reports.fields import ANSWERS, REQUESTS, list_texts, read_error, subscribe_to
from dissectors.kafka.reports.group_state import COMPLETE, EMPTY, LEFT, GroupRequest, GroupState, RebalanceReport
from dissectors.report import add_name
from dissectors.values import number, text

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2
"""Epochs that ask for something (ConsumerGroupHeartbeatRequest)."""

MISSED = 3
"""So many heartbeats are missed before a silence explains that a group goes on without a member.

The members do not hear the session timeout, which is a setting of the coordinator.
"""

_KINDS = {
    "ConsumerGroupHeartbeat": "consumer (KIP-848)",
    "ShareGroupHeartbeat": "share",
    "StreamsGroupHeartbeat": "streams",
}


def beat(report: RebalanceReport, event: MessageEvent) -> None:
    """Handles a ConsumerGroupHeartbeat (KIP-848), which may join, leave or change the subscription."""
    call = report.receive_request(event, _KINDS[event.operation or ""], "instanceId")
    if call is None:
        return
    state, id, epoch = call.group, call.member, number(event.values, "memberEpoch")
    known = state.members.get(id)
    if epoch in (LEAVE, LEAVE_FOR_A_WHILE):
        _leave(report, state, id, epoch, event)
    elif epoch == JOIN and known is None:
        called = state.make_name(id, event.client_name, call.instance)
        state.explain_return(event, called)
        state.cause = f"{called} joined"
    else:
        topics = frozenset(list_texts(event.values.get("subscribedTopicNames")))
        if known is not None and topics and known.topics and topics != known.topics:
            state.cause = f"{known.name} subscribes to other topics: {', '.join(sorted(topics))[:200]}"


def _leave(report: RebalanceReport, state: GroupState, id: str, epoch: int, event: MessageEvent) -> None:
    known = state.members.get(id)
    called = known.name if known is not None else event.client_name or id
    how = LEFT if epoch == LEAVE else "left for a while"
    state.cause = f"{called} {how}"
    if epoch == LEAVE_FOR_A_WHILE:
        return
    row = report.begin(state, event, None)
    row.note("leave", event)
    if known is not None:
        state.add_left(known, how)
    else:
        add_name(row.left, f"{called} ({how})")
    row.owned = {member: owned for member, owned in state.assignment.items() if member != id}
    row.expected = {each.id: False for each in state.members.values()}
    row.members = len(state.members)
    if not len(state.members):
        row.state = EMPTY
        state.assignment, state.owners = {}, {}


def answer_beat(report: RebalanceReport, call: GroupRequest, event: MessageEvent) -> None:
    """Notes the member's epoch, and its assignment if the answer has one."""
    state, values, error = call.group, event.values, read_error(event.values)
    if error is not None:
        if state.row is not None:
            state.row.fail(error, event)
        known = state.members.get(call.member)
        if known is not None and error in ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID"):
            state.add_left(known, error)
        return
    id, epoch = text(values, "memberId") or call.member, number(values, "memberEpoch", -1)
    if epoch < 0 or number(call.values, "memberEpoch") < 0:
        return
    is_new = state.members.get(id) is None
    member = state.find_member(id, event, call.instance)
    member.topics = frozenset(list_texts(call.values.get("subscribedTopicNames"))) or member.topics
    report.hear(member, event)
    member.waits = max(number(call.values, "rebalanceTimeoutMs", -1) * MILLISECOND, 0) or member.waits
    member.timeout = number(values, "heartbeatIntervalMs") * MILLISECOND * MISSED or member.timeout
    if is_new:
        member.since = event.time
    row = state.row
    if row is None or (row.is_over if row.generation is None else epoch > row.generation):
        silent = [] if state.cause or is_new else state.list_silent(event.time)
        row = report.begin(state, event, f"{member.name} joined" if is_new else None)
        row.first = call.time
        for each in silent:
            how = each.describe_silence(event.time)
            row.cause = row.cause or f"{each.name} was {how}"
            state.add_left(each, how)
        row.owned = {each: owned for each, owned in state.assignment.items() if each in state.members}
        row.expected = {each.id: False for each in state.members.values()}
    if row.generation is None:
        row.generation = epoch
        row.assignor = text(call.values, "serverAssignor")
    row.names[id] = member.name
    if is_new:
        add_name(row.joined, member.name)
        row.expected.setdefault(id, False)
    row.members = max(row.members, len(state.members))
    assignment = read_heartbeat_assignment(event)
    if assignment is not None:
        row.owned[id] = assignment
        row.note("assignment", event)
    if epoch == row.generation and not row.expected.get(id):
        row.answer_join(event)
        row.sync(id, event)
        row.hear(event)
        if row.state == COMPLETE:
            state.settle()
    elif assignment is not None and row.is_over:
        state.settle()


SUBSCRIPTIONS = subscribe_to(
    *(" ".join(_KINDS), REQUESTS, beat, "groupId", "memberId", "memberEpoch", "instanceId", "subscribedTopicNames"),
    "serverAssignor",
    "rebalanceTimeoutMs",
) | subscribe_to(
    *(" ".join(_KINDS), ANSWERS, for_request(answer_beat), "errorCode", "memberId", "memberEpoch", "assignment"),
    *("heartbeatIntervalMs", "activeTasks", "standbyTasks", "warmupTasks"),
)
