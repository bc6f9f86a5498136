"""What people read about a command, for each kind of it: what it is about, how much, why it failed."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Body, Context, Role
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.codes import find_header_class, operations
from tests.analyzer.wire import rows
from tests.dissectors.rocketmq.frames import command, frame, item, stored
from tests.dissectors.rocketmq.truth import GOLDEN

ROCKETMQ = RocketMQ()
REQUEST, RESPONSE, ONEWAY = Role.REQUEST, Role.RESPONSE, Role.ONEWAY

SEND: dict[str, Any] = {"a": "g", "b": "t", "e": "3", "f": "0"}
PULL: dict[str, Any] = {"topic": "t", "queueId": "0", "consumerGroup": "g", "queueOffset": "42"}
PULLED: dict[str, Any] = {"nextBeginOffset": "43", "minOffset": "0", "maxOffset": "50"}
BROKER: dict[str, Any] = {"brokerName": "b", "brokerAddr": "h:1", "brokerId": "0", "clusterName": "c"}
QUEUE: dict[str, Any] = {"brokerName": "b", "queueId": 0, "topic": "t"}
OTHER: dict[str, Any] = {"brokerName": "b", "queueId": 1, "topic": "t"}
MASTER: dict[str, Any] = {"masterBrokerId": "1", "masterAddress": "h:1", "masterEpoch": "2"}
ROUTE = {
    "brokerDatas": [{"brokerName": "b", "brokerAddrs": {"1": "h:2", "0": "h:1"}}],
    "queueDatas": [{"brokerName": "b", "readQueueNums": 4, "writeQueueNums": 2, "perm": 4}],
}
CONSUMER = {
    "groupName": "g",
    "consumeType": "CONSUME_PASSIVELY",
    "messageModel": "BROADCASTING",
    "subscriptionDataSet": [{"topic": "%RETRY%g", "subString": "*"}, {"topic": "t", "subString": "a || b"}],
}
BEAT = {
    "clientID": "me",
    "consumerDataSet": [CONSUMER],
    "producerDataSet": [{"groupName": "p"}, {"groupName": "CLIENT_INNER_PRODUCER"}],
}
TRACE = "org.apache.rocketmq.acl.common.AclException: no key, org.apache.rocketmq.acl.Manager.validate(Manager.java:6)"


def properties(**pairs: str) -> str:
    return "".join(f"{name}\x01{value}\x02" for name, value in pairs.items())


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def answer(code: int = 0, body: bytes = b"", remark: str | None = None, **ext: object) -> bytes:
    header = {"code": code, "extFields": ext, "flag": 1, "language": "JAVA", "opaque": 7, "version": 513}
    return frame(json.dumps(header | ({} if remark is None else {"remark": remark})).encode(), body)


def line(data: bytes, role: Role, code: int | None, asked: bytes | None = None) -> str:
    context = Context(role, code)
    body = ROCKETMQ.values(data, context)
    return ROCKETMQ.info(body if asked is None else beside(body, asked, context), context)


def beside(body: Body, asked: bytes, context: Context) -> Body:
    """An answer's body with what it recalls of its request, and nothing else."""
    request: dict[str, dict[str, Any]] = {}
    values = ROCKETMQ.values(asked, Context(REQUEST, context.code)).values
    for part, name in ROCKETMQ.request_fields(context):
        if name in (values[part] or {}):
            request.setdefault(part, {})[name] = values[part][name]
    return body._replace(request=request, request_code=context.code)


REQUESTS = [
    (310, command(310, b"hello", **SEND), "t[3], 5 bytes, group g"),
    (310, command(310, b"hello", **SEND, i=properties(KEYS="k1 k2", TAGS="a", UNIQ_KEY="u", WAIT="true")),
     "t[3], 5 bytes, keys k1 k2, tags a, group g"),
    (310, command(310, zlib.compress(b"hello"), b="t", f="1"), "t, 13 bytes of zlib, 5 bytes plain"),
    (310, command(310, b"x", b="t", f="4", i=""), "t, half message, 1 byte"),
    (310, command(310, b"x", b="t", i=properties(DELAY="3")), "t, 1 byte, in 10 s"),
    (310, command(310, b"x", b="t", i=properties(DELAY="99")), "t, 1 byte, in 2 h"),
    (310, command(310, b"x", b="t", i=properties(TIMER_DELAY_SEC="90")), "t, 1 byte, in 90 s"),
    (310, command(310, b"x", b="t", i=properties(TIMER_DELAY_MS="1500")), "t, 1 byte, in 1.5 s"),
    (310, command(310, b"x", b="t", i=properties(TIMER_DELIVER_MS="1700000000000")),
     "t, 1 byte, due 2023-11-14T22:13:20.000Z"),
    (310, command(310, b"x", b="t", i=properties(DELAY="x" * 50, TIMER_DELIVER_MS="9" * 30)), "t, 1 byte"),
    (310, command(310, b"x", b="%RETRY%g", j="2", l="16"), "%RETRY%g, 1 byte, retry 2 of 16"),
    (320, command(320, item(b"a") + item(b"bc"), **SEND), "t[3], 2 messages, 3 bytes, group g"),
    (11, command(11, **PULL, sysFlag="7", commitOffset="40", maxMsgNums="32", suspendTimeoutMillis="15000",
                 subscription="*"), "t[0] from 42, group g, at most 32, waits up to 15 s, commits 40"),
    (11, command(11, **PULL, sysFlag="4", commitOffset="40", suspendTimeoutMillis="15000", subscription="a > 1",
                 expressionType="SQL92"), "t[0] from 42, group g, SQL92 a > 1, does not wait"),
    (200050, command(200050, topic="t", queueId="-1", consumerGroup="g", maxMsgNums="4", invisibleTime="60000",
                     pollTime="3000", exp="*", initMode="1"),
     "t, group g, at most 4, waits up to 3 s, invisible 1 min, from the last if new"),
    (200051, command(200051, topic="t", queueId="1", offset="7", consumerGroup="g", extraInfo="0 1 2 3 0 b 1 7"),
     "t[1] at 7, group g"),
    (200053, command(200053, topic="t", queueId="1", offset="7", consumerGroup="g", invisibleTime="5000"),
     "t[1] at 7, group g, invisible 5 s"),
    (200151, command(200151, text({"brokerName": "b", "acks": [{"c": "g", "t": "t", "q": 1, "so": 0, "b": "DA=="}]})),
     "2 messages of 1 pop, t[1], group g, broker b"),
    (34, command(34, text(BEAT)), "client me, consumer g (push, broadcasting, t a || b), producer p"),
    (35, command(35, clientID="me", producerGroup="p", consumerGroup="g"), "client me, consumer g, producer p"),
    (36, command(36, offset="272", group="g", delayLevel="3", originMsgId="i", originTopic="t"),
     "t, log offset 272, group g, again in 10 s, id i"),
    (36, command(36, group="g", delayLevel="-1", originTopic="t"), "t, group g, to the dead letters"),
    (36, command(36, group="g", delayLevel="0", originTopic="t"), "t, group g, again later each time"),
    (15, command(15, topic="t", queueId="1", consumerGroup="g", commitOffset="9"), "t[1], group g, commits 9"),
    (15, command(15, topic="t", queueId="1", consumerGroup="g", commitOffset="-1"), "t[1], group g, commits -1"),
    (29, command(29, topic="t", queueId="1", timestamp="1700000000000"), "t[1], time 2023-11-14T22:13:20.000Z"),
    (33, command(33, offset="272"), "log offset 272"),
    (12, command(12, topic="t", key="k"), "t, key k"),
    (17, command(17, topic="t", readQueueNums="8", writeQueueNums="4", perm="2", order="true"),
     "t, 8 queues to read, 4 to write, write only, in order"),
    (25, command(25, b"b=1\na=2"), "b, a"),
    (25, command(25, b"a=1\nb=1\nc=1\nd=1"), "4 settings"),
    (25, command(25, b"brokerPassword=hunter2"), "22 bytes"),
    (37, command(37, topic="t", producerGroup="p", commitOrRollback="8", msgId="o", transactionId="u",
                 fromTransactionCheck="true"), "t, commit, asked by the broker, group p, id u"),
    (37, command(37, producerGroup="p", commitOrRollback="12", msgId="o"), "rollback, group p, id o"),
    (39, command(39, stored(b"x"), topic="RMQ_SYS_TRANS_HALF_TOPIC", msgId="o"),
     "orders[3] at 42, 1 byte, keys k, tags a, id o"),
    (40, command(40, consumerGroup="g"), "group g"),
    (41, command(41, text({"clientId": "me", "consumerGroup": "g", "mqSet": [QUEUE, OTHER]})),
     "t[0], t[1], group g, client me"),
    (103, command(103, text({"topicConfigSerializeWrapper": {"dataVersion": {"counter": 4}, "topicConfigTable": {}}}),
                  **BROKER, compressed="true", haServerAddr="h:2"),
     "broker b master at h:1, cluster c, HA at h:2, 0 topics, data version 4, compressed"),
    (104, command(104, **BROKER | {"brokerId": "1"}), "broker b number 1 at h:1, cluster c"),
    (105, command(105, topic="t"), "t"),
    (200, command(200, text({"groupName": "g", "consumeEnable": True})), "group g"),
    (200, command(200, text({"groupName": "g", "consumeEnable": False})), "group g, may not consume"),
    (220, command(220, topic="t", group="g", queueId="-1", offset="-1", timestamp="1700000000000", isForce="true"),
     "t, group g, time 2023-11-14T22:13:20.000Z, forced"),
    (322, command(322, text({"counter": 5, "timestamp": 1}), **BROKER),
     "broker b master at h:1, cluster c, data version 5"),
    (904, command(904, **BROKER | {"brokerId": "2"}, epoch="1", confirmOffset="10", electionPriority="2147483647"),
     "broker b number 2 at h:1, cluster c, epoch 1, confirmed 10"),
    (1001, command(1001, text({"syncStateSet": [1, 2], "syncStateSetEpoch": 3}), brokerName="b", **MASTER),
     "broker b, master number 1 epoch 2, in sync 1, 2, set 3"),
    (3001, command(3001, text({"username": "u", "password": "hunter2", "userType": "Super"}), username="u"),
     "user u, Super"),
    (3006, command(3006, text({"policies": [{}, {}]}), subject="User:u"), "User:u, 2 policies"),
    (50, command(50, accessKey="ak", secretKey="hunter2"), "access key ak"),
    (51001, command(51001, text({"group": "g", "term": 3, "localId": "n0", "remoteId": "n1", "ledgerEndIndex": 9})),
     "group g, term 3, n0 to n1, index 9"),
    (1006, command(1006, b'["a"]'), "1 element"),
    (13, command(13), ""),
]  # fmt: skip

ANSWERS = [
    (310, answer(msgId="o", queueId="3", queueOffset="42", transactionId="u"), command(310, **SEND),
     "queue 3 at 42, id u"),
    (310, answer(msgId="o", queueId="3", queueOffset="42"), None, "queue 3 at 42, id o"),
    (310, answer(10, msgId="o", queueId="3", queueOffset="42"), command(310, **SEND),
     "FLUSH_DISK_TIMEOUT queue 3 at 42, stored all the same, id o"),
    (320, answer(msgId="o,p,q", queueId="3", queueOffset="42"), command(320, **SEND), "queue 3 at 42, id o, 2 more"),
    (310, answer(13, remark="too large"), command(310, **SEND), "MESSAGE_ILLEGAL, too large"),
    (11, answer(0, stored(b"hello") * 2, "FOUND", **PULLED), command(11, **PULL),
     "t[0], 2 messages, 42 to 42, 10 bytes, next 43, queue 0 to 50, group g"),
    (11, answer(0, stored(b"hello"), "FOUND", **PULLED, suggestWhichBrokerId="1"), command(11, **PULL),
     "t[0], 1 message, at 42, 5 bytes, next 43, queue 0 to 50, suggests broker 1, group g"),
    (11, answer(0, stored(b"hello"), "FOUND", **PULLED), None,
     "orders[3] at 42, 5 bytes, keys k, tags a, next 43, queue 0 to 50"),
    (11, answer(19, remark="OFFSET_OVERFLOW_ONE", **PULLED), command(11, **PULL),
     "t[0], nothing new, next 43, queue 0 to 50, group g"),
    (11, answer(21, remark="OFFSET_TOO_SMALL", **PULLED), command(11, **PULL),
     "t[0], offset moved (it is before the beginning), next 43, queue 0 to 50, group g"),
    (11, answer(1, remark=TRACE), command(11, **PULL), "SYSTEM_ERROR t[0], group g, AclException: no key"),
    (11, answer(2, remark="[PC_SYNCHRONIZED]broker busy"), None, "SYSTEM_BUSY, [PC_SYNCHRONIZED]broker busy"),
    (105, answer(17, remark="No route\nSee https://rocketmq.apache.org/faq for further details."),
     command(105, topic="t"), "TOPIC_NOT_EXIST t, No route"),
    (105, answer(17, remark="x" * 500), None, "TOPIC_NOT_EXIST, " + "x" * 120 + "..."),
    (105, answer(0, text(ROUTE)), command(105, topic="t"),
     "t, b at h:1 and 1 slave (4 queues to read, 2 to write, read only)"),
    (106, answer(0, text({"brokerAddrTable": {"b": {"brokerName": "b", "brokerAddrs": {"0": "h:1"}}},
                          "clusterAddrTable": {"c": ["b"]}})), None, "cluster c, b at h:1"),
    (200050, answer(0, stored(b"hello"), "FOUND", restNum="3", invisibleTime="60000"),
     command(200050, topic="t", queueId="-1", consumerGroup="g"),
     "t, 1 message, 5 bytes, 3 left, group g, invisible 1 min"),
    (200050, answer(210, remark="NO_MESSAGE_IN_QUEUE"), command(200050, topic="t", consumerGroup="g"),
     "t, nothing new (the queue is empty), group g"),
    (14, answer(offset="7"), command(14, topic="t", queueId="1", consumerGroup="g"), "t[1] at 7, group g"),
    (14, answer(offset="7"), None, "at 7"),
    (32, answer(timestamp="1700000000000"), command(32, topic="t", queueId="1"), "t[1], 2023-11-14T22:13:20.000Z"),
    (41, answer(0, text({"lockOKMQSet": [QUEUE]})), command(41, text({"mqSet": [QUEUE, OTHER]})),
     "locked t[0], not t[1]"),
    (41, answer(0, text({"lockOKMQSet": []})), None, "locked none"),
    (35, answer(), command(35, clientID="me", producerGroup="g"), "group g"),
    (35, answer(), command(35, clientID="me", producerGroup="g", consumerGroup="g"), "consumer g, producer g"),
    (43, answer(0, text({"offsetTable": {"t@g": {"0": 1, "1": 2}, "t@h": {"0": 1}, "x": 3}})), None, "3 offsets"),
    (38, answer(0, text({"consumerIdList": ["a", "b"]})), command(38, consumerGroup="g"), "group g, a, b"),
    (103, answer(haServerAddr="h:2", masterAddr="h:1"), command(103, **BROKER),
     "broker b, master at h:1, HA at h:2"),
    (322, answer(changed="false"), command(322, **BROKER), "broker b, unchanged"),
    (206, answer(0, text({"topicList": ["a", "b"]})), None, "a, b"),
    (206, answer(0, text({"topicList": ["a"] * 4})), None, "4 topics"),
    (26, answer(0, b"a=b\nc=d\ne=f\ng=h"), None, "4 settings"),
    (208, answer(0, text({"offsetTable": {"a": {"brokerOffset": 9, "consumerOffset": 2}}})),
     command(208, consumerGroup="g"), "1 queue, 7 behind, group g"),
    (202, answer(0, text({"offsetTable": {"a": {"maxOffset": 9, "minOffset": 2}}})), command(202, topic="t"),
     "t, 1 queue, 7 messages"),
    (203, answer(206, remark="group g not online"), command(203, consumerGroup="g"),
     "CONSUMER_NOT_ONLINE, group g, group g not online"),
    (203, answer(0, text({"connectionSet": [{"clientId": "me", "clientAddr": "h:1"}], "consumeType": "CONSUME_POP"})),
     command(203, consumerGroup="g"), "group g, 1 connection, me at h:1, pop"),
    (307, answer(0, text({"mqTable": {json.dumps(each): {} for each in (QUEUE, OTHER)}})),
     command(307, consumerGroup="g"), "t[0], t[1], group g"),
    (307, answer(0, text({"mqTable": {json.dumps({"topic": "t", "queueId": at}): {} for at in range(5)}})), None,
     "t[0], t[1], t[2], 2 more"),
    (400, answer(0, text({"messageQueueAssignments": [{"messageQueue": each} for each in (QUEUE, OTHER)]})), None,
     "gets t[0], t[1]"),
    (400, answer(0, text({"messageQueueAssignments": [{"messageQueue": QUEUE | {"queueId": -1}, "mode": "POP"}]})),
     None, "gets t of b"),
    (400, answer(0, text({"messageQueueAssignments": []})), None, "gets no queue"),
    (400, answer(0, text({"messageQueueAssignments": [3, {"messageQueue": {"queueId": "x"}}]})), None, "gets ?, ?[x]"),
    (307, answer(0, text({"mqTable": {"t": {}, "{": {}}})), None, "2 queues"),
    (307, answer(0, text({"mqTable": {}})), None, ""),
    (309, answer(0, text({"consumeResult": "CR_SUCCESS", "spentTimeMills": 3}), "not set any response code"),
     command(309, topic="t", consumerGroup="g"), "t, group g, CR_SUCCESS in 3 ms"),
    (1002, answer(0, text({"syncStateSet": [1]}), **MASTER), command(1002, brokerName="b"),
     "broker b, master number 1 at h:1 epoch 2, in sync 1"),
    (1005, answer(group="g", controllerLeaderId="n0", controllerLeaderAddress="h:1", peers="n0:h:1;n1:h:2;"), None,
     "group g, leader n0 at h:1, 2 peers"),
    (51004, answer(200, text({"group": "g", "term": 3, "code": 406, "index": 0})), None,
     "group g, INCONSISTENT_STATE, term 3, index 0"),
    (15, answer(0, remark="Offset has been previously reset"), None, "Offset has been previously reset"),
    (34, answer(), None, ""),
    (None, answer(0, b"xx"), None, "2 bytes"),
    (None, answer(19, nextBeginOffset="4", remark="NO_MESSAGE_IN_QUEUE"), None,
     "PULL_NOT_FOUND, next 4, the queue is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "data", "expected"), REQUESTS)
def test_a_request(code: int, data: bytes, expected: str) -> None:
    assert line(data, REQUEST, code) == expected
    assert line(data, ONEWAY, code) == expected


@pytest.mark.parametrize(("code", "data", "asked", "expected"), ANSWERS)
def test_an_answer(code: int | None, data: bytes, asked: bytes | None, expected: str) -> None:
    assert line(data, RESPONSE, code, asked) == expected


REAL = {
    "go_550_send": {
        4: "lab_base[1], 10 bytes, keys gokey1 gokey2, tags TagA, group PG_go",
        7: "lab_base[2], 10 bytes, in 5 s, group PG_go",
        9: "lab_base[3], 64 bytes of zlib, 11.7 KiB plain, group PG_go",
        18: "queue 3 at 27, id 7F00000100002A9F000000000004F7BB, 2 more",
        20: "lab_readonly, broker-a at 127.0.0.1:10911 (2 queues, read only)",
    },
    "m550_json_tx_lab_tx": {
        11: "lab_tx[1], half message, 9 bytes, keys tx-commit, tags TagX, group PG_tx",
        12: "queue 1 at 0, id 7F0000013F8D4E0E2F2A69FE64F50000",
        21: "lab_tx, rollback, group PG_tx, id 7F0000013F8D4E0E2F2A69FE651D0002",
        55: "lab_tx[1] at 6, 10 bytes, keys tx-unknown, tags TagX, id 7F0000013F8D4E0E2F2A69FE652B0004",
    },
    "m550_controller_start": {
        2: "group group1, leader n0 at 127.0.0.1:9878, 1 peer",
        11: "broker broker-a, master number 1 at 127.0.0.1:10911 epoch 1, in sync 1, set 1",
        76: "broker broker-a, in sync 1, 2, set 2",
    },
}


@pytest.mark.parametrize("capture", REAL)
def test_lines_of_real_brokers(capture: str) -> None:
    found = {row["number"]: row["info"] for row in rows(GOLDEN / f"{capture}.pcap.zst", ("number", "info"))}
    assert {number: found[number] for number in REAL[capture]} == REAL[capture]


def test_every_operation_has_a_line_that_can_be_read() -> None:
    """Whatever fields a class has, none of them makes a line with Java's or Python's innards in it."""
    for code in operations():
        for role in (REQUEST, RESPONSE):
            fields = find_header_class(code, role is RESPONSE) or {}
            ext = {wire: "3" if field.convert else "name" for wire, field in fields.items()}
            header = {"code": code if role is REQUEST else 0, "extFields": ext, "flag": int(role is RESPONSE)}
            output = line(frame(text(header | {"language": "JAVA", "opaque": 7, "version": 513})), role, code)
            assert not any(each in output for each in ("None", "{", "<", "object at", ", ,"))
            assert output == output.strip(", ")


def test_nothing_is_repeated_but_by_answers() -> None:
    assert not ROCKETMQ.request_fields(Context(REQUEST, 11))
    assert not ROCKETMQ.request_fields(Context(RESPONSE, None))
    assert not ROCKETMQ.request_fields(Context(RESPONSE, 310))
    assert ROCKETMQ.request_fields(Context(RESPONSE, 41)) == {("body", "mqSet")}
    assert ("header", "key") in ROCKETMQ.request_fields(Context(RESPONSE, 101))


NAMES = """
    messages mqSet lockOKMQSet offsetTable acks consumerDataSet producerDataSet connectionSet brokerDatas
    brokerAddrTable clusterAddrTable queueDatas topicConfigSerializeWrapper dataVersion topicConfigTable
    topicConfigList syncStateSet table term entry code policies topic queueId perm statsDay sum readQueueNums
    master topicList data counter brokerName messageQueueAssignments messageQueue mqTable consumeEnable
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(NAMES.split()), VALUES, max_size=6),
    st.sampled_from([34, 41, 103, 105, 106, 200151, 208, 51004]),
    st.booleans(),
)
def test_whatever_a_body_says_there_is_a_line(body: dict[str, Any], code: int, answers: bool) -> None:
    role = RESPONSE if answers else REQUEST
    assert isinstance(line(command(0, text(body), flag=int(answers)), role, code), str)
