"""What a request asked for that is refused, told from both halves of an exchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dissectors import registry
from dissectors.wire.secret import Secret

BATCHES = {"topicData": [{"topicId": "x", "partitionData": [{"index": 1, "records": [{"length": 1_200_062}]}]}]}
FETCHES = {"topics": [{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 99_999}]}]}


def refuse(code: int, name: str = "index", inside: str = "partitionResponses", **more: int) -> dict[str, Any]:
    topic = {"topicId": "x", "topic": "t", inside: [{name: 1 if name == "index" else 0, "errorCode": code, **more}]}
    return {"responses": [topic | ({"topicId": None} if inside == "partitions" else {"topic": None})]}


PULL = {"header": {"topic": "t", "queueId": 2, "queueOffset": 99_999, "consumerGroup": "g"}}
MOVED = {"header": {"minOffset": 0, "maxOffset": 8, "nextBeginOffset": 8}}

CASES = [
    ("kafka", "MESSAGE_TOO_LARGE", BATCHES, refuse(10), "The batch for partition 1 has 1,200,074 bytes."),
    ("kafka", "MESSAGE_TOO_LARGE", {}, refuse(10), None),
    (
        *("kafka", "OFFSET_OUT_OF_RANGE", FETCHES),
        refuse(1, "partitionIndex", "partitions", logStartOffset=3, highWatermark=8),
        "Offset 99,999 was asked for in partition 0, which has 3 to 8.",
    ),
    ("kafka", "NOT_COORDINATOR", {}, {}, None),
    (
        *("rocketmq", "PULL_OFFSET_MOVED", PULL, MOVED),
        "Group g asked for offset 99,999 of t[2]; the queue has 0 to 8; the client goes on at 8.",
    ),
    (
        *("rocketmq", "SYSTEM_ERROR", {"extFields": {"AccessKey": "bob"}}),
        {"remark": "org.apache.rocketmq.acl.common.AclException: wrong, org.apache.rocketmq.X"},
        "The request has the access key bob; the server says: wrong",
    ),
    (
        *("pulsar", "AuthenticationError", {"auth_method_name": "token"}, {"message": "Failed to authenticate"}),
        "The client used the method token; the broker says: Failed to authenticate",
    ),
    ("pulsar", "AuthenticationError", {}, {}, "The client gave no credentials"),
    ("pulsar", "ConsumerBusy", {}, {}, None),
    ("rocketmq", "NO_PERMISSION", {}, {}, "The request names no access key."),
    ("rocketmq", "SYSTEM_ERROR", {}, {}, None),
    ("rocketmq", "SYSTEM_ERROR", {}, {"remark": "no\n at org"}, "the server says: no"),
    ("pulsar", "MetadataError", {}, {"message": "Policies not found"}, "the broker says: Policies not found"),
    ("pulsar", "MetadataError", {}, {"message": "x" * 201}, f"the broker says: {'x' * 200}..."),
    ("pulsar", "MetadataError", {}, {"message": "Encryption is required in t"}, None),
    ("kafka", "INVALID_CONFIG", {}, {"topics": [{"errorCode": 40, "errorMessage": "why"}]}, "the broker says: why"),
    (
        *("kafka", "SASL_AUTHENTICATION_FAILED", {"authBytes": Secret(b"\0bob\0x")}, {"errorMessage": "no"}),
        "the client logged in as bob; the broker says: no",
    ),
]


@pytest.mark.parametrize(("protocol", "error", "asked", "answered", "expected"), CASES)
def test_details(
    protocol: str, error: str, asked: Mapping[str, Any], answered: Mapping[str, Any], expected: str | None
) -> None:
    describe = registry.by_name(protocol).describe_error
    assert describe is not None
    assert describe(error, asked, answered) == expected
