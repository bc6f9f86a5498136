"""What doctor tells of captures in which something is known to have been done, and the timeline of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.insight.root_causes import find_problems
from analyzer.insight.timeline import Timeline, build_timeline
from analyzer.session import Session
from dissectors.finding import Severity

TESTS = Path(__file__).parents[1]

OFFSET = (
    "offset-moved: The offset lies beyond the end of the queue, which has lost messages or is not the queue that the "
    "offset belongs to. Group CG_pull asked for offset 99,999 of lab_base[2]; the queue has 0 to 8; the client goes on "
    "at 8."
)
ACCESS = (
    "access-refused: Access control refuses the request: its access key is missing, not known or not allowed to do "
    "this, or its signature is wrong. The request names no access key; the server says: No accessKey is configured."
)

CONSUMER = "Consumer 0, subscription sub, topic persistent://public/default"

CASES = {
    "incidents/en395_leader_kill": [
        "leader-lost: Servers 1, 2, 4 lost their leader and elected server 2; the election"
    ],
    "incidents/en395_trunc": [
        "far-behind: The leader has server 3 (127.0.0.1:56166) delete its transactions behind 0x100000007",
        "leader-lost: Servers 1, 2, 4 started again without a leader and elected server 2",
    ],
    "incidents/err_sessionmoved": [
        "session-moved: Session 0x100003d69180000 has moved to 127.0.0.3:2181, and 127.0.0.1:46300 went on to use it",
        "session-moved: Session 0x200003d69610000 has moved to 127.0.0.1:2181, and 127.0.0.1:60246 went on to use it",
    ],
    "incidents/m494_json_pull": [OFFSET],
    "incidents/k44_member_killed": [
        "member-expelled: Group g-killed-old lost second-killed-old (did not join again, silent for 3.5 s; it closed"
    ],
    "incidents/k44_member_killed_848": [
        "member-expelled: Group g-killed-new lost second-killed-new (silent for 6.3 s; it closed its connection 5.3 s "
    ],
    "incidents/k44_member_slow": [
        "member-expelled: Group g-slow lost second-slow (left and came back after 4.6 s: probably it did not poll"
    ],
    "incidents/k44_leader_moved": [],
    "incidents/k44_transaction_timeout": [
        "transaction-timeout: Transaction orders was not ended within its transaction.timeout.ms of 2 s"
    ],
    "incidents/k44_offset_reset": [
        "offset-moved: Consumer beyond asked for offset 99,999 of short[0], which is not there; it goes on at 0, its "
    ],
    "incidents/p424_unacknowledged_limit": [
        f"blocked-consumer: {CONSUMER}/unacknowledged had permits, and a message waited 4.8 s",
        "closed-unanswered: The other side closed the connection, no answer is in the capture.",
    ],
    "incidents/p424_dead_letters": [
        "dead-letter: A message went to the dead-letter topic persistent://public/default/dead-sub-DLQ: its consumer",
    ],
    "incidents/p424_transaction_conflict": [
        "TransactionConflict: ACK: TransactionConflict. Another transaction has acknowledged the message already.",
    ],
    "incidents/p424_no_permits": [
        f"starved-consumer: {CONSUMER}/permits asked for no more messages for 13 s, with 36 messages sent to its topic",
    ],
    "incidents/p424_transaction_timeout": [
        "transaction-timeout: Transaction (0,0) was not ended within its timeout of 3 s, so its coordinator",
    ],
    "incidents/m550_subscriptions_differ": [
        "subscription-conflict: 127.0.0.1@blue and 127.0.0.1@red are in group group and have different subscriptions",
    ],
    "incidents/m550_flow_control": [
        "busy-broker: 127.0.0.1:45897 refused 20 of 66 requests within 1.6 s because it is busy (20 SYSTEM_BUSY).",
    ],
    "incidents/m550_master_failover": [
        (
            "master-changed: The master of broker-a is 127.0.0.1:44901, broker id 2 (epoch 2); it was 127.0.0.1:38919, "
            "broker id 1, whose last heartbeat was 1.4 s before."
        ),
    ],
    "incidents/s395_frozen": [
        "session-expired: 127.0.0.1:40265 does not give session 0x10003c6788d0000 to its client: it expired while the",
    ],
    "incidents/s395_outstanding": [
        "outstanding-limit: 3,000 requests waited for 127.0.0.1:40265 at the same time, at least 1,000 of them for",
    ],
    "golden/zookeeper/cl_java395_basic": [
        "access-refused: 127.0.0.1:2181 does not give session 0x100001ed4cd0000 to its client: the session was heard",
    ],
    "golden/kafka/k4_java_produce": [
        "message-refused: The batch for jp[1] has 1,200,074 bytes, and the topic takes at most 1,048,588 (max.message.",
        "INVALID_TOPIC_EXCEPTION: Metadata: INVALID_TOPIC_EXCEPTION. The name is not valid",
    ],
    "golden/kafka/k4_election": [
        "broker-stopped: Broker 1 stopped in good order: it led nothing 2.1 s after it asked to stop; it was back 15 s",
        "controller-changed: Controller 2 leads the quorum in place of controller 1, which resigned, epoch 2",
        "controller-changed: Controller 2 leads the quorum again, epoch 4; the election took",
    ],
    "golden/rocketmq/m494_acl_signed": [ACCESS],
}
"""By capture the beginning of each problem that is more than a note."""


@pytest.mark.parametrize("capture", CASES)
def test_incidents_are_reported(capture: str) -> None:
    with Session([TESTS / f"{capture}.pcap.zst"]).load() as session:
        problems = [each for each in find_problems(session, diagnose(session)) if each.severity > Severity.NOTE]
    found = [f"{each.label}: {each.text}" for each in problems]
    assert [text[: len(start)] for text, start in zip(found, CASES[capture], strict=True)] == CASES[capture]


def test_the_timeline_tells_each_event_once() -> None:
    with Session([TESTS / "incidents" / "en395_trunc.pcap.zst"]).load() as session:
        timeline = build_timeline(session)
    reported = [(cells["event"], cells["severity"], cells["what"]) for cells in map(Timeline.cells, timeline.entries)]
    assert [each[:2] for each in reported] == [
        ("leader-lost", "warning"),
        ("delays", None),
        ("elections", None),
        ("far-behind", "warning"),
        ("sessions", None),
    ]
    assert reported[0][2].endswith("It explains 25 more messages or connections.")
    assert reported[2][2] == "Server 3 joined the leader, server 2, within 175 ms."
    times = [entry.first for entry in timeline.entries]
    assert times == sorted(times)
