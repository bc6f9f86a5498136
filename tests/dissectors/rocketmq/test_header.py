"""What the first bytes of a frame tell: headers, and how much they look like RocketMQ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from struct import pack

import pytest

from dissectors.api import PREFIX, MessageHeader, Role, State
from dissectors.kafka import Kafka
from dissectors.pairing import PairByKey
from dissectors.rocketmq import RocketMQ
from tests.dissectors.rocketmq.frames import binary, command, frame, pair

ROCKETMQ = RocketMQ()
JAVA = "JAVA V5_5_0"


def asked(operation: str | None, code: int | None, correlation: int | None = 7, client: str | None = JAVA,
          role: Role = Role.REQUEST, state: State = State.COMPLETE) -> MessageHeader:  # fmt: skip
    return MessageHeader(role, operation, code, None, correlation, client, state)


def answer(correlation: int | None = 7) -> MessageHeader:
    return MessageHeader(Role.RESPONSE, correlation=correlation)


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes
    header: MessageHeader
    probe: int
    probe_of_server: int

    def __str__(self) -> str:
        return self.name


LONG = "x" * 40_000
CASES = [
    Case("Java", command(310, b"body", a="g"), asked("SEND_MESSAGE_V2", 310), 95, 25),
    Case("extFields have a flag of their own",
         frame(b'{"code":10,"extFields":{"flag":"1"},"flag":2,"language":"JAVA","opaque":7,"version":513}'),
         asked("SEND_MESSAGE", 10, role=Role.ONEWAY), 95, 25),
    Case("Go", frame(b'{"code":105,"language":"GO","version":317,"opaque":1,"flag":0,"remark":"","extFields":{}}'),
         asked("GET_ROUTEINFO_BY_TOPIC", 105, 1, "GO V4_5_2"), 95, 25),
    Case("flag and opaque are far behind", command(310, i=LONG), asked("SEND_MESSAGE_V2", 310), 60, 60),
    Case("version 0 is real", frame(b'{"code":46,"flag":0,"language":"JAVA","opaque":2,"version":0}'),
         asked("CHECK_CLIENT_CONFIG", 46, 2, "JAVA V3_0_0_SNAPSHOT"), 95, 25),
    Case("a version far ahead", frame(b'{"code":46,"flag":0,"language":"RUST","opaque":2,"version":9999}'),
         asked("CHECK_CLIENT_CONFIG", 46, 2, "RUST HIGHER_VERSION"), 95, 25),
    Case("an answer", command(19, flag=1), answer(), 25, 95),
    Case("an answer that calls itself oneway too", command(0, flag=3), answer(), 25, 95),
    Case("what servers ask", command(40, flag=2, consumerGroup="g"),
         asked("NOTIFY_CONSUMER_IDS_CHANGED", 40, role=Role.ONEWAY), 25, 95),
    Case("a code of no table", command(4711), asked(None, 4711, state=State.UNDECODED), 95, 25),
    Case("bare keys", frame(b"{code:34,flag:0,language:'CPP',opaque:9,version:513}"),
         asked("HEART_BEAT", 34, 9, "CPP V5_5_0"), 95, 25),
    Case("numbers as text are no numbers", frame(b'{"code":34,"flag":0,"language":"CPP","opaque":"9","version":513}'),
         asked("HEART_BEAT", 34, None, "CPP V5_5_0"), 10, 10),
    Case("huge numbers", frame(b'{"code":34,"flag":0,"opaque":99999999999999999999,"version":513}'),
         asked("HEART_BEAT", 34, None, None), 10, 10),
    Case("no language that is one", frame(b'{"code":46,"flag":0,"language":"\\ud83d","opaque":2,"version":1}'),
         asked("CHECK_CLIENT_CONFIG", 46, 2, None), 95, 25),
    Case("no flag", frame(b'{"code":34,"opaque":3}'), asked("HEART_BEAT", 34, 3, None, state=State.GUESSED), 60, 60),
    Case("no object", frame(b'["code",34,"opaque",3]'), MessageHeader(Role.REQUEST, state=State.UNDECODED), 0, 0),
    Case("binary", binary(310, pair(b"a", b"g"), b"why"), asked("SEND_MESSAGE_V2", 310), 95, 25),
    Case("binary, a code that does not fit", binary(3442), asked("POP_MESSAGE", 200050), 95, 25),
    Case("an answer's code is not unwrapped", binary(3442, flag=1), answer(), 25, 95),
    Case("JSON, a code that needs no int16", command(3442), asked(None, 3442, state=State.UNDECODED), 95, 25),
    Case("binary, a language of no table", binary(34, language=20), asked("HEART_BEAT", 34, 7, "20 V5_5_0"), 95, 25),
    Case("lengths that do not sum up", binary(34)[:-1] + b"\1", asked("HEART_BEAT", 34), 0, 0),
    Case("neither JSON nor binary", frame(b"{}", kind=2), MessageHeader(Role.REQUEST, state=State.UNDECODED), 0, 0),
    Case("a header longer than its frame", pack(">II", 20, 30) + b'{"code":34,"opaque":1,"flag":0}',
         asked("HEART_BEAT", 34, 1, None, state=State.GUESSED), 0, 0),
    Case("too short", b"\0\0\0\x10\0\0\0", MessageHeader(Role.RAW, state=State.UNDECODED), 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_header(case: Case) -> None:
    assert ROCKETMQ.header(case.data[: ROCKETMQ.prefix], True) == case.header


@pytest.mark.parametrize("case", CASES, ids=str)
def test_probe(case: Case) -> None:
    prefix = case.data[:PREFIX]
    assert (ROCKETMQ.probe(prefix, True), ROCKETMQ.probe(prefix, False)) == (case.probe, case.probe_of_server)
    assert ROCKETMQ.plausible(prefix, True) == (max(case.probe, case.probe_of_server) >= 60)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kafka_does_not_claim_it(case: Case) -> None:
    assert Kafka().probe(case.data[:PREFIX], True) < 80
    assert Kafka().probe(case.data[:PREFIX], True) <= max(case.probe, 20)


def test_a_beginning_is_never_surer_than_the_whole() -> None:
    for data in (command(310, a="g"), binary(310, pair(b"a", b"g"))):
        sure = [ROCKETMQ.probe(data[:end], True) for end in range(len(data) + 1)]
        assert sure == sorted(sure)
        assert sure[8] == 10


def test_a_header_that_is_not_all_there_is_a_guess() -> None:
    """Nobody knows whether a code is a request's or an answer's before the flag has come."""
    data = command(310, i=LONG)[:30_000]
    assert ROCKETMQ.header(data, True) == asked("SEND_MESSAGE_V2", 310, None, None, state=State.GUESSED)
    assert ROCKETMQ.header(data, False) == MessageHeader(Role.RESPONSE)


def test_a_cut_number_is_no_number() -> None:
    assert ROCKETMQ.header(command(310)[:18], True).code is None


def test_deep_nesting_is_no_recursion() -> None:
    header = b'{"code":34,"opaque":1,"x":' + b"[" * 50_000 + b"]" * 50_000 + b',"flag":0}'
    assert ROCKETMQ.header(frame(header), True).correlation == 1


def test_pairing_by_flag_and_side() -> None:
    talk = ROCKETMQ.conversation()
    assert isinstance(talk, PairByKey)
    talk.step(0, command(11, opaque=5, topic="a"), True)
    talk.step(1, command(310, opaque=5, flag=2), True)
    talk.step(2, command(39, opaque=5), False)
    talk.step(3, command(11, opaque=6), True)
    late = talk.step(4, command(19, opaque=6, flag=1), False)
    first = talk.step(5, command(0, opaque=5, flag=1), False)
    own = talk.step(6, command(0, opaque=5, flag=1), True)
    orphan = talk.step(7, command(0, opaque=5, flag=1), False)
    assert [each.partner for each in (late, first, own, orphan)] == [3, 0, 2, None]
    assert (first.header.operation, first.header.code, first.header.client) == ("PULL_MESSAGE", 11, JAVA)
    assert own.header.operation == "CHECK_TRANSACTION_STATE"
    assert (orphan.header.operation, orphan.header.client, orphan.header.state) == (None, None, State.GUESSED)


def test_java_writes_what_making_writes() -> None:
    """The order of members that the long prefix is for."""
    header = json.loads(command(310, a="g")[8:])
    assert list(header) == sorted(header)
