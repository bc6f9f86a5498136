"""What only several messages show to be wrong: messages, perhaps a connection that is still open, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.insight.diagnosis import diagnose
from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.finding import CODES
from dissectors.rocketmq.checks import checks
from dissectors.rocketmq.checks.consumption import MOVED, EmptyPulls, ReturnedMessages
from dissectors.rocketmq.checks.consumption import RETURN_STORM as BACKS
from dissectors.rocketmq.checks.consumption import STORM as PULLS
from dissectors.rocketmq.checks.groups import GroupMembers
from dissectors.rocketmq.checks.servers import STORM, TIMES, BusyBrokers, MasterChanges, MissingRoutes
from dissectors.rocketmq.reports.fields import request_codes
from dissectors.rocketmq.tables import table
from tests.dissectors.checking import Step, end, see, show, show_anything, texts
from tests.dissectors.rocketmq.truth import GOLDEN
from tests.dissectors.telling import wanted_names

SERVER = "10.0.2.1:10911"
MISSING = (17, "TOPIC_NOT_EXIST")
EMPTY, RETRY, GONE = (19, "PULL_NOT_FOUND"), (20, "PULL_RETRY_IMMEDIATELY"), (21, "PULL_OFFSET_MOVED")
BUSY, FLOW = (2, "SYSTEM_BUSY"), (215, "FLOW_CONTROL")

Error = tuple[int, str] | None


def say(
    name: str, at: int, role: Role = Role.REQUEST, stream: int = 1, body: Any = None, error: Error = None,
    losses: int = 0, **header: Any,
) -> MessageEvent:  # fmt: skip
    """A command at so many ms."""
    values = {"header": header, "body": body, "remark": None}
    who = f"10.0.0.{stream}:5000"
    context = Context(role, request_codes()[name])
    return see("rocketmq", context, values, stream, at, server=SERVER, client=who, losses=losses, error=error)


def call(
    name: str, at: int, told: dict[str, Any] | None = None, error: Error = None, took: int = 1, stream: int = 1,
    **asked: Any,
) -> list[Step]:  # fmt: skip
    answer = say(name, at + took, Role.RESPONSE, stream, error=error, **(told or {}))
    return [say(name, at, stream=stream, **asked), answer]


def routes(*answers: Error, topic: str = "t", every: int = 30_000, stream: int = 1) -> list[Step]:
    found: list[Step] = []
    for place, error in enumerate(answers):
        found += call("GET_ROUTEINFO_BY_TOPIC", place * every, error=error, topic=topic, stream=stream)
    return found


def pulls(count: int, error: Error = EMPTY, flag: int = 2, every: int = 100, took: int = 1, to: int = 5) -> list[Step]:
    of: dict[str, Any] = {
        "consumerGroup": "g",
        "topic": "t",
        "queueId": 2,
        "queueOffset": 5,
        "suspendTimeoutMillis": 15_000,
    }
    return [
        step
        for place in range(count)
        for step in call("PULL_MESSAGE", place * every, {"nextBeginOffset": to}, error, took, **of, sysFlag=flag)
    ]


def sends(count: int, error: Error = None, at: int = 0) -> list[Step]:
    return [step for place in range(count) for step in call("SEND_MESSAGE_V2", at + place, error=error, topic="t")]


def back(at: int, message: str = "m", **more: Any) -> MessageEvent:
    return say("CONSUMER_SEND_MSG_BACK", at, group="g", originMsgId=message, offset=7, **more)


def beat(at: int, client: str = "c1", wish: str = "*", model: str = "CLUSTERING", **more: Any) -> MessageEvent:
    wishes = [{"topic": f"%RETRY%{client}"}, {"topic": "t", "subString": wish, "expressionType": "TAG"}]
    data = {"groupName": "g", "messageModel": model, "subscriptionDataSet": wishes}
    return say("HEART_BEAT", at, body={"clientID": client, "consumerDataSet": [data]}, **more)


def nothing_new(at: int, client: str = "c1", **more: Any) -> MessageEvent:
    return say("HEART_BEAT", at, body={"clientID": client, "withoutSub": True}, **more)


def leave(at: int, client: str = "c1") -> MessageEvent:
    return say("UNREGISTER_CLIENT", at, clientID=client, consumerGroup="g")


def master(at: int, epoch: int, address: str, name: str = "CONTROLLER_GET_REPLICA_INFO") -> list[Step]:
    reported = {"masterAddress": address, "masterEpoch": epoch, "masterBrokerId": 1}
    return call(name, at, reported, brokerName="a")


def leader(at: int, address: str) -> list[Step]:
    return call("CONTROLLER_GET_METADATA_INFO", at, {"controllerLeaderAddress": address, "group": "n"})


DEAD = {"broker_json": ["dead-letter"], "broker_binary": ["dead-letter"]}
FORGOTTEN = "the name server had a route of t"
DIFFERS = "c1 and c2 are in group g and have different subscriptions: t: "

# Which watch, what happens, and what is said: how each sentence begins
OF_CHECKS: dict[type[Check], dict[str, tuple[Sequence[Step], list[str]]]] = {
    MissingRoutes: {
        "a topic that is not there": (
            routes(*[MISSING] * TIMES),
            ["10.0.0.1:5000 has asked 5 times within 120 s for the route of t"],
        ),
        "said again when that doubles": (
            routes(*[MISSING] * 19),
            ["10.0.0.1:5000 has asked 5", "10.0.0.1:5000 has asked 10"],
        ),
        "asked for a few times": (routes(*[MISSING] * (TIMES - 1)), []),
        "asked for seldom": (routes(*[MISSING] * 9, every=200_000), []),
        "there at last": (routes(*[MISSING] * 4, None), []),
        "of several clients": ([each for stream in range(9) for each in routes(MISSING, stream=stream)], []),
        "topics that need not be there": (
            [
                each
                for name in ("%RETRY%g", "rmq_sys_x", "TBW102", "%DLQ%g")
                for each in routes(*[MISSING] * 9, topic=name)
            ],
            [],
        ),
        "a route that is forgotten": (routes(None, None, MISSING, MISSING), [f"{FORGOTTEN} 30 s ago"]),
        "a topic that is deleted": (
            [*routes(None), say("DELETE_TOPIC_IN_NAMESRV", 5, topic="t"), *routes(MISSING)],
            [],
        ),
        "a broker that leaves": ([*routes(None), say("UNREGISTER_BROKER", 5, Role.ONEWAY), *routes(MISSING)], []),
        "a broker that left before": ([say("UNREGISTER_BROKER", 0), *routes(None), *routes(MISSING)], [FORGOTTEN]),
        "another error": (routes(None, *[(1, "SYSTEM_ERROR")] * 9), []),
        "a registration that is refused": (
            call("REGISTER_BROKER", 0, error=(1, "SYSTEM_ERROR"), brokerName="a", brokerAddr="h:1"),
            ["the name server refuses to register a at h:1: SYSTEM_ERROR"],
        ),
        "no name server": (call("REGISTER_BROKER", 0, error=(3, "REQUEST_CODE_NOT_SUPPORTED")), []),
    },
    MasterChanges: {
        "another master": (
            [*master(0, 1, "h:1"), *master(5, 2, "h:2", "CONTROLLER_ELECT_MASTER"), *master(9, 1, "h:1")],
            ["the master of a is h:2, broker id 1 (epoch 2); it was h:1, broker id 1"],
        ),
        "the same master again": ([*master(0, 1, "h:1"), *master(5, 2, "h:1"), *master(9, 2, "h:1")], []),
        "another leader": (
            [*leader(0, "h:1"), *leader(1, "h:1"), *leader(2, "h:2")],
            ["the controllers' leader is h:2"],
        ),
    },
    BusyBrokers: {
        "busy": ([*sends(50), *sends(STORM, BUSY)], [f"{SERVER} refused 20 of 70 requests within 19 ms because"]),
        "busy once more": (
            sends(200, FLOW),
            [f"{SERVER} refused 20 of 20 requests within 19 ms because it is busy (20 FLOW_"],
        ),
        "hardly busy": ([*sends(300), *sends(STORM, BUSY)], []),
        "busy now and then": ([each for at in range(9) for each in sends(9, BUSY, at * 60_010)], []),
        "another trouble": (sends(300, (1, "SYSTEM_ERROR")), []),
    },
    EmptyPulls: {
        "pulls that are not held": (
            pulls(PULLS),
            ["10.0.0.1:5000, group g, t[2]: 50 pulls within 4.9 s came back at once with nothing although"],
        ),
        "pulls that may not wait": (
            pulls(PULLS, flag=0),
            ["10.0.0.1:5000, group g, t[2]: 50 pulls within 4.9 s came back with nothing, and do not"],
        ),
        "pulls that are held": (pulls(PULLS, took=600, every=601), []),
        "pulls now and then": (pulls(PULLS, flag=0, every=1000), []),
        "pulls that find something": ([*pulls(PULLS - 1), *pulls(1, None), *pulls(PULLS - 1)], []),
        "pulls that go on": (pulls(PULLS, RETRY, to=9), []),
        "pulls that stay": (pulls(PULLS, RETRY), ["10.0.0.1:5000, group g"]),
        "an offset that is not there": (
            pulls(MOVED, GONE),
            ["10.0.0.1:5000, group g, t[2]: offset 5 was asked for 5 times within 400 ms and is not there"],
        ),
        "moved, and gone on": ([*pulls(MOVED - 1, GONE), *pulls(1, None), *pulls(1, GONE)], []),
    },
    ReturnedMessages: {
        "sent back again": (
            [back(at) for at in range(5)],
            ["group g sends message m back for the 5th time; at 16 the broker puts it into %DLQ%g"],
        ),
        "sent back by who says how often": (
            [back(at, maxReconsumeTimes=7) for at in range(5)],
            ["group g sends message m back for the 5th time; at 7 the"],
        ),
        "sent back once too often": (
            [back(at, maxReconsumeTimes=7, delayLevel=0) for at in range(10)],
            [
                "group g sends message m back for the 5th",
                "group g sends message m back although it has been tried again as often as it may be (7): the",
                "group g sends message m back for the 10th",
            ],
        ),
        "sent back a few times": ([back(at) for at in range(4)], []),
        "many are sent back": (
            [back(at, str(at)) for at in range(BACKS + 9)],
            ["group g sends back 100 messages within 99 ms, 100 different ones"],
        ),
        "many in a long time": ([back(at * 1000, str(at)) for at in range(BACKS)], []),
        "sent to the dead": (
            [say("SEND_MESSAGE_V2", 0, Role.ONEWAY, topic="%DLQ%h"), say("SEND_MESSAGE_V2", 0, topic="t")],
            ["10.0.0.1:5000 sends a message of group h to %DLQ%h, where nobody"],
        ),
    },
    GroupMembers: {
        "subscriptions that differ": (
            [beat(0), beat(1, "c2", "A"), beat(30_000), beat(30_001, "c2", "A")],
            [f"{DIFFERS}* and A. A broker keeps one"],
        ),
        "that differ otherwise": (
            [beat(0), beat(1, "c2", "A"), beat(2, "c2"), beat(3, "c2", "B")],
            [f"{DIFFERS}* and A.", f"{DIFFERS}* and B."],
        ),
        "alike": ([beat(0), beat(1, "c2"), beat(2, "c1")], []),
        "who has left": ([beat(0), leave(1), beat(2, "c2", "A")], []),
        "who is silent": ([beat(0, stream=2), beat(130_000, "c2", "A")], []),
        "who says only that nothing is new": (
            [beat(0), *(nothing_new(at * 30_000) for at in range(1, 6)), beat(150_001, "c2", "A")],
            [DIFFERS],
        ),
        "one broadcasts": (
            [beat(0), beat(1, "c2", model="BROADCASTING")],
            ["c1 and c2 are in group g, and only one of them"],
        ),
        "all broadcast": ([beat(0, model="BROADCASTING"), beat(1, "c2", "A", "BROADCASTING")], []),
        "a client that was silent": ([beat(0), beat(121_000)], ["c1 sent no heartbeat for 121 s: a broker"]),
        "silent, and bytes are missing": ([beat(0), beat(121_000, losses=1)], []),
        "in time": ([beat(0), beat(119_000)], []),
        "silent on a connection that goes on": (
            [beat(0), end(1, 150_000, is_open=True)],
            ["the client sent no heartbeat for 150 s"],
        ),
        "silent after it left": ([beat(0), leave(1), end(1, 150_000, is_open=True)], []),
        "silent, but the capture is short": ([beat(0), end(1, 100_000, is_open=True)], []),
    },
}
CASES = {name: (kind, *case) for kind, cases in OF_CHECKS.items() for name, case in cases.items()}


@pytest.mark.parametrize("case", CASES)
def test_what_is_reported(case: str) -> None:
    kind, steps, expected = CASES[case]
    found = texts(kind, steps)
    assert [text[: len(begin)] for text, begin in zip(found, expected, strict=True)] == expected


def test_sentences_are_of_known_codes_and_all_are_reported() -> None:
    text = {finding.code for kind, steps, _ in CASES.values() for finding in show(kind, steps)}
    sentences = table("checks")["sentences"].values()
    assert text == {code for code, _, _ in sentences} <= CODES.keys()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.pcap.zst")), ids=lambda path: path.name.split(".")[0])
def test_nothing_is_reported_where_nothing_is_wrong(path: Path) -> None:
    """In two of them a message goes to the dead-letter queue at last, which is nothing wrong there, but is said."""
    mine = {code for code, _, _ in table("checks")["sentences"].values()} | {"number-reused", "bug"}
    with Session([path]).load() as session:
        codes = [found.finding.code for found in diagnose(session) if found.finding.code in mine]
    assert codes == DEAD.get(path.name.split(".")[0], [])


_NAMES = sorted(wanted_names(checks()))
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.text("%RDg:", max_size=3) | st.binary(max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
    max_leaves=5,
)
"""What any field may hold, of a peer that knows no rules."""


@settings(max_examples=settings.default.max_examples // 2)  # each case is shown to all watches
@given(
    st.lists(st.tuples(st.integers(0, 99), _VALUES, _VALUES, st.integers(0, 1), st.integers(0, 1 << 40)), max_size=8)
)
def test_nothing_is_raised(told: list[Any]) -> None:
    messages = [(choice, {"header": header, "body": body}, stream, at) for choice, header, body, stream, at in told]
    for kind in checks():
        show_anything(kind, messages)
