"""What the public guide to remoting shows, as bytes written by hand: both kinds of header, and the letters of V2."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from dissectors.api import Context, MessageHeader, Role
from dissectors.rocketmq import RocketMQ
from tests.dissectors.trees import assert_tiles

ROCKETMQ = RocketMQ()

V2 = {
    "a": "please_rename_unique_group_name",
    "b": "TopicTest",
    "c": "TBW102",
    "d": "4",
    "e": "1",
    "f": "0",
    "g": "1482158310125",
    "h": "0",
    "i": "TAGS\2TagA\1",
    "j": "0",
    "k": "false",
    "l": "16",
    "m": "false",
    "n": "broker-a",
}
SPELT_OUT = {
    "producerGroup": "please_rename_unique_group_name",
    "topic": "TopicTest",
    "defaultTopic": "TBW102",
    "defaultTopicQueueNums": 4,
    "queueId": 1,
    "sysFlag": 0,
    "bornTimestamp": 1482158310125,
    "flag": 0,
    "properties": "TAGS\2TagA\1",
    "reconsumeTimes": 0,
    "unitMode": False,
    "maxReconsumeTimes": 16,
    "batch": False,
    "brokerName": "broker-a",
}


def json_frame(header: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    content = struct.pack(">i", len(text)) + text + body
    return struct.pack(">i", len(content)) + content


def binary_frame(
    code: int, flag: int, opaque: int, fields: dict[str, str], remark: str = "", body: bytes = b""
) -> bytes:
    extended = b"".join(
        struct.pack(">h", len(key.encode())) + key.encode() + struct.pack(">i", len(value.encode())) + value.encode()
        for key, value in fields.items()
    )
    head = struct.pack(">hbhii", code, 0, 453, opaque, flag) + struct.pack(">i", len(remark)) + remark.encode()
    head += struct.pack(">i", len(extended)) + extended
    content = struct.pack(">i", len(head) | 1 << 24) + head + body
    return struct.pack(">i", len(content)) + content


def send(code: int, fields: dict[str, str]) -> dict[str, Any]:
    return {
        "code": code,
        "extFields": fields,
        "flag": 0,
        "language": "JAVA",
        "opaque": 7,
        "serializeTypeCurrentRPC": "JSON",
        "version": 453,
    }


def decoded(data: bytes) -> tuple[MessageHeader, dict[str, Any]]:
    header = ROCKETMQ.header(data, True)
    context = Context(header.role, header.code)
    body = ROCKETMQ.values(data, context)
    assert not body.findings
    assert_tiles(ROCKETMQ.tree(data, context))
    return header, body.values


@pytest.mark.parametrize(
    "data", [json_frame(send(310, V2), b"Hello RocketMQ"), binary_frame(310, 0, 7, V2, body=b"Hello RocketMQ")]
)
def test_the_letters_of_send_message_v2_are_written_out(data: bytes) -> None:
    header, values = decoded(data)
    assert (header.role, header.operation, header.code) == (Role.REQUEST, "SEND_MESSAGE_V2", 310)
    assert (header.correlation, header.client) == (7, "JAVA V5_2_0")
    assert values["extFields"] == V2
    assert values["header"] == SPELT_OUT
    assert values["body"] == b"Hello RocketMQ"


def test_the_example_of_a_request() -> None:
    data = json_frame(
        {
            "code": 105,
            "extFields": {"topic": "TopicTest"},
            "flag": 0,
            "language": "JAVA",
            "opaque": 0,
            "serializeTypeCurrentRPC": "JSON",
            "version": 79,
        }
    )
    header, values = decoded(data)
    assert (header.operation, header.code, header.correlation) == ("GET_ROUTEINFO_BY_TOPIC", 105, 0)
    assert values["header"] == {"topic": "TopicTest"}
    assert (values["flag"], values["language"], values["version"], values["serialize"]) == (0, "JAVA", 79, "JSON")
    assert values["body"] is None


def test_the_example_of_an_answer() -> None:
    data = json_frame(
        {
            "code": 17,
            "flag": 1,
            "language": "JAVA",
            "opaque": 0,
            "remark": "No topic route info",
            "serializeTypeCurrentRPC": "JSON",
            "version": 79,
        }
    )
    header = ROCKETMQ.header(data, False)
    assert (header.role, header.correlation) == (Role.RESPONSE, 0)
    body = ROCKETMQ.values(data, Context(Role.RESPONSE, 105))
    assert body.error == (17, "TOPIC_NOT_EXIST")
    assert body.values["remark"] == "No topic route info"


@pytest.mark.parametrize(
    ("flag", "role"), [(0, Role.REQUEST), (1, Role.RESPONSE), (2, Role.ONEWAY)], ids=["request", "response", "oneway"]
)
def test_the_flag_says_what_it_is_whoever_sends_it(flag: int, role: Role) -> None:
    for data in (json_frame({**send(40, {}), "flag": flag}), binary_frame(40, flag, 7, {})):
        assert [ROCKETMQ.header(data, side).role for side in (True, False)] == [role, role]
