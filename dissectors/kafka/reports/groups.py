"""The report of groups: each rebalance of each group as one row.

Facts (GroupCoordinator, AbstractCoordinator). A classic group rebalances when a member joins or leaves, when a member
is silent for its session timeout, and when its leader, or a member with another subscription, joins again. The
coordinator answers heartbeats with REBALANCE_IN_PROGRESS until all have joined again, or their rebalance timeout is
over. The answers to JoinGroup carry the next generation, and one member, the leader, sends the assignment of all with
its SyncGroup. A client without a member id gets one in an error and must join again (MEMBER_ID_REQUIRED, KIP-394). A
static member (KIP-345) is answered at once, and keeps its generation if nothing of it has changed. From version 8 of
JoinGroup and version 5 of LeaveGroup on, clients give a reason (KIP-800).

Facts (KIP-848, KIP-932, KIP-1071). Consumer, share and streams groups have no generation. Each change raises the
group's epoch, and each member learns its new epoch and assignment from the answer to its own heartbeat. Epoch 0 asks to
join, -1 leaves, -2 leaves for a while (static). No member waits for others, so a member pauses only where it gives up
partitions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dissectors.correlator import SECOND
from dissectors.finding import Finding, Severity
from dissectors.kafka.reports import classic_groups, heartbeat_groups
from dissectors.kafka.reports.fields import KAFKA
from dissectors.kafka.reports.group_state import EMPTY, POLL_TIMEOUT, RebalanceReport, RebalanceRow
from dissectors.message import Role
from dissectors.report import ReportRow
from dissectors.wire.amounts import count_text
from dissectors.wire.row_sentence import RowSentence
from dissectors.wire.times import lasting

SLOW = 10 * SECOND
"""A rebalance that takes longer is worth saying."""

STORM, STORM_TIME = 6, 60 * SECOND
"""So many rebalances of a group within this time are too many."""

_PROCESS = "Look in the log of the member: its process was killed, or lost its host."
_POLLS = "Speed up the processing, lower max.poll.records, or raise max.poll.interval.ms."
_PAUSES = "Look for pauses of the member (garbage collection, swapping) and at the network; raise session.timeout.ms."

_EXPELLED = {
    "closed its connection": _PROCESS,
    "silent for": _PAUSES,
    "(expelled)": _PAUSES,
    "poll timeout": _POLLS,
    POLL_TIMEOUT: _POLLS,
    "UNKNOWN_MEMBER_ID": _PAUSES,
    "FENCED_MEMBER_EPOCH": _PAUSES,
}
"""What the report says of members that did not leave on purpose (GroupState.add_left), and what to do then."""


class GroupReport(RebalanceReport):
    """A row for each rebalance; the current one of each group stays open until the next begins."""

    name = "groups"
    about = "each rebalance of each group: its cause, who came late, how long it took, what moved"
    needs = KAFKA
    shares_name = True
    row = RebalanceRow
    sentence = RowSentence(
        "{word}: rebalance of group {group=}( to generation {generation=})"
        "(, {stood_still_ns%lasting} in all)(: {cause})"
    )
    worst = ("stood_still_ns",)
    selects = (("group", "kafka.group"),)
    diagnosed = True
    has_events = True
    on = classic_groups.SUBSCRIPTIONS | heartbeat_groups.SUBSCRIPTIONS

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message can be in a row: joins, leaves, syncs and errors, but no heartbeat without news."""
        return operation not in ("Heartbeat", "OffsetCommit") or bool(values.get("errorCode"))

    @classmethod
    def diagnose(cls, rows: Sequence[ReportRow]) -> Iterator[tuple[ReportRow, Finding]]:
        """Yields members that were expelled, rebalances that took long, and groups that rebalance all the time."""
        recent: dict[str, deque[int]] = {}
        for row in rows:
            cells = cls.cells(row)
            subject, stood_still = f"group {cells['group']}", cells["stood_still_ns"]
            for who in cells["left"]:
                advice = next((each for word, each in _EXPELLED.items() if word in who), None)
                if advice is not None:
                    took = f"; the group stood still for {lasting(stood_still)}" if stood_still else ""
                    text = f"group {cells['group']} lost {who}{took}"
                    yield row, Finding(Severity.WARNING, "member-expelled", text, subject=subject, advice=advice)
            if stood_still is not None and stood_still >= SLOW:
                late = f", for it waited for {cells['late']}" if cells["late"] else ""
                text = f"group {cells['group']} stood still for {lasting(stood_still)} while it rebalanced{late}"
                yield row, Finding(Severity.WARNING, "slow-rebalance", text, subject=subject)
            if cells["state"] == EMPTY:
                continue
            times = recent.setdefault(cells["group"], deque(maxlen=STORM))
            times.append(row.first)
            if len(times) == STORM and times[-1] - times[0] <= STORM_TIME:
                took = lasting(times[-1] - times[0])
                why = f", the last time because {cells['cause']}" if cells["cause"] else ""
                text = f"group {cells['group']} rebalanced {STORM} times within {took}{why}"
                times.clear()
                yield row, Finding(Severity.WARNING, "rebalance-storm", text, subject=subject)

    @classmethod
    def list_events(cls, entry: ReportRow) -> Iterator[tuple[int, int | None, str]]:
        """Yields the rebalance, unless the group's members are unknown before and behind it."""
        cells = cls.cells(entry)
        is_known = cells["before"] is not None or cells["generation"] is not None
        if cells["state"] == "unchanged" or not is_known:
            return
        took = f" within {lasting(cells['stood_still_ns'])}" if cells["stood_still_ns"] else ""
        why = f" because {cells['cause']}" if cells["cause"] else ""
        members = "" if cells["members"] is None else f"; it has {count_text(cells['members'], 'member')}"
        did = "lost its last member" if cells["state"] == EMPTY else f"rebalanced{took}{why}{members}"
        text = f"group {cells['group']} {did}"
        yield entry.first, entry.rows[0][1] if entry.rows else None, text
