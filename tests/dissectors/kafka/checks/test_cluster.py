"""Leaders and controllers that change, unknown topics, logins without an answer: messages, and what is said."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.kafka.checks.broker_stops import BrokerStops
from dissectors.kafka.checks.cluster import ControllerChanges, LeaderChanges, MissingTopics
from dissectors.kafka.checks.logins import UnansweredLogins
from dissectors.kafka.reports.fields import api_keys
from tests.dissectors.checking import Step, end, see, show_anything, texts

MISSING = 3
WRONG = "the credentials are probably wrong"


def answer(at: int, *partitions: tuple[int, int], brokers: tuple[int, ...] = (1, 2), **more: Any) -> Step:
    """Metadata of one topic: leader and epoch of each of its partitions."""
    reported = [
        {"partitionIndex": n, "leaderId": leader, "leaderEpoch": epoch} for n, (leader, epoch) in enumerate(partitions)
    ]
    values = {
        "brokers": [{"nodeId": each} for each in brokers],
        "topics": [{"name": "t", "partitions": reported}],
        **more,
    }
    return see("kafka", Context(Role.RESPONSE, api_keys()["Metadata"], 12), values, 1, at)


def unknown(at: int, stream: int = 1) -> Step:
    values = {"topics": [{"name": "t", "errorCode": MISSING}]}
    return see("kafka", Context(Role.RESPONSE, api_keys()["Metadata"], 12), values, stream, at)


def quorum(api: str, at: int, leader: int = 0, epoch: int = 0) -> Step:
    values = {"clusterId": "c", "topics": [{"partitions": [{"leaderId": leader, "leaderEpoch": epoch}]}]}
    return see("kafka", Context(Role.REQUEST, api_keys()[api], 1), values, 1, at)


def handshake(at: int = 0) -> Step:
    return see("kafka", Context(Role.REQUEST, api_keys()["SaslHandshake"], 0), {"mechanism": "PLAIN"}, 1, at)


def takes_login(error: int) -> Step:
    return see("kafka", Context(Role.RESPONSE, api_keys()["SaslHandshake"], 0), {"errorCode": error}, 1, 0)


def token(at: int, *, from_client: bool = True) -> Step:
    seen = see("kafka", Context(Role.RAW, None), {}, 1, at)
    return seen._replace(from_client=from_client)


def call(api: str, at: int, values: dict[str, Any], role: Role = Role.REQUEST, stream: int = 1) -> MessageEvent:
    return see("kafka", Context(role, api_keys()[api], 1), values, stream, at)._replace(operation=api)


def metadata(at: int, stream: int) -> Step:
    return call("Metadata", at, {}, stream=stream)


def alive(at: int, *brokers: int) -> Step:
    return call("UpdateMetadata", at, {"liveBrokers": [{"id": each} for each in brokers]}, stream=9)


def shut_down(at: int, took: int, *left: str, api: str = "ControlledShutdown") -> list[Step]:
    """Broker 2 wants to stop; left: topics that it still leads."""
    answer = {"remainingPartitions": [{"topicName": each} for each in left]}
    answer = answer if api == "ControlledShutdown" else {"shouldShutDown": True}
    asked = {"brokerId": 2, "wantShutDown": True}
    return [call(api, at, asked), call(api, at + took, answer, Role.RESPONSE)]


AWAY = "it has not come back before the capture ends"
OF_CHECKS: dict[type[Check], dict[str, tuple[list[Step], list[str]]]] = {
    LeaderChanges: {
        "leaders stay": ([answer(0, (1, 5)), answer(9, (1, 5)), answer(20, (1, 6))], []),
        "a leader moves": (
            [answer(0, (1, 5), (1, 2)), answer(9, (2, 6), (1, 2))],
            ["broker 2 leads t[0] in place of broker 1"],
        ),
        "an older answer comes late": ([answer(0, (2, 6)), answer(9, (1, 5))], []),
        "the old leader is gone": (
            [answer(0, (1, 5), (1, 5)), answer(9, (2, 6), (2, 6), brokers=(2,))],
            ["broker 2 leads t[0], t[1] in place of broker 1, which is not among the brokers any more"],
        ),
        "no leader for a while": (
            [answer(0, (1, 5)), answer(10, (-1, 5)), answer(1010, (-1, 5)), answer(2010, (2, 6))],
            ["broker 2 leads t[0] in place of broker 1; clients saw no leader for 2 s"],
        ),
        "many partitions": (
            [answer(0, *[(1, 1)] * 9), answer(5, *[(2, 2)] * 9)],
            ["broker 2 leads t[0], t[1], t[2] and 6 more in place of broker 1"],
        ),
    },
    ControllerChanges: {
        "the first controller": ([quorum("BeginQuorumEpoch", 0, 1, 1)], []),
        "the same controller says so again": (
            [quorum("BeginQuorumEpoch", 0, 1, 1), quorum("BeginQuorumEpoch", 5, 1, 1)],
            [],
        ),
        "another controller": (
            [quorum("BeginQuorumEpoch", 0, 1, 1), quorum("Vote", 100), quorum("BeginQuorumEpoch", 350, 2, 3)],
            ["controller 2 leads the quorum in place of controller 1, epoch 3; the election took 250 ms"],
        ),
        "a controller resigns": (
            [quorum("EndQuorumEpoch", 0, 1, 1), quorum("BeginQuorumEpoch", 50, 2, 2)],
            [
                (
                    "controller 2 leads the quorum in place of controller 1, which resigned, epoch 2; "
                    "the election took 50 ms"
                )
            ],
        ),
    },
    MissingTopics: {
        "a topic is asked for a few times": ([unknown(at) for at in range(9)], []),
        "a topic is asked for again and again": (
            [unknown(at * 1000) for at in range(10)],
            ["10 times within 9 s a client asked for topic t, which is not there"],
        ),
        "by many clients": ([unknown(at, stream=at) for at in range(30)], []),
    },
    UnansweredLogins: {
        "a login is not answered": (
            [handshake(), token(1), end(1, 2, by_client=False)],
            [f"the broker closed the connection without answering a login by SASL PLAIN: {WRONG}"],
        ),
        "a login is answered": ([handshake(), token(1), token(2, from_client=False), end(1, 3, by_client=False)], []),
        "a client does not log in where others do": (
            [handshake(), takes_login(0), metadata(1, 2), end(2, 3, by_client=False)],
            ["the broker closed the connection at the first request: its listener "],
        ),
        "it is answered": (
            [handshake(), takes_login(0), metadata(1, 2), unknown(2, 2), end(2, 3, by_client=False)],
            [],
        ),
        "logins are refused there": ([handshake(), takes_login(34), metadata(1, 2), end(2, 3, by_client=False)], []),
        "nobody logs in there": ([metadata(1, 2), end(2, 3, by_client=False)], []),
        "a client goes": ([handshake(), token(1), end(1, 2, by_client=True)], []),
    },
    BrokerStops: {
        "it stops and comes back": (
            [*shut_down(0, 800), alive(900, 1), alive(20_800, 1, 2), end(1, 30_000)],
            ["broker 2 stopped in good order: it led nothing 800 ms after it asked to stop; it was back 20 s later"],
        ),
        "with KRaft": (
            [*shut_down(0, 800, api="BrokerHeartbeat"), end(1, 900)],
            [f"broker 2 stopped in good order: it led nothing 800 ms after it asked to stop; {AWAY}"],
        ),
        "it may not stop": (
            [*shut_down(0, 100, "t"), *shut_down(5000, 100, "t"), end(1, 9000)],
            ["broker 2 asked 2 times to stop, but it still leads 1 partition for which no other replica is in sync"],
        ),
        "it says that it is there": (
            [call("BrokerHeartbeat", 0, {"brokerId": 2, "wantShutDown": False}), end(1, 9)],
            [],
        ),
    },
}
CASES = {name: (kind, *case) for kind, cases in OF_CHECKS.items() for name, case in cases.items()}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_reported(case: str) -> None:
    check, steps, expected = CASES[case]
    found = texts(check, steps)
    assert [text[: len(begin)] for text, begin in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("check", [LeaderChanges, ControllerChanges, MissingTopics, UnansweredLogins, BrokerStops])
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"topics": None, "brokers": 3, "clusterId": b"c", "mechanism": 7},
        {"topics": [None, {"name": "t", "errorCode": None, "partitions": [{}, 5, {"leaderId": "x"}]}]},
    ],
)
def test_values_may_lack_anything(check: type[Check], values: dict[str, Any]) -> None:
    show_anything(check, [(choice, values, 1, 0) for choice in range(len(check.on))])
