"""What the public protocol guide shows, as bytes written by hand: one row a fact."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest

from dissectors.api import Body, Context, Role
from dissectors.kafka import Kafka
from tests.dissectors.kafka.truth import faults
from tests.dissectors.trees import assert_tiles

KAFKA = Kafka()
CODES = {"Produce": 0, "Fetch": 1, "ListOffsets": 2, "Metadata": 3, "OffsetCommit": 8, "OffsetFetch": 9}
CODES |= {"FindCoordinator": 10, "JoinGroup": 11, "Heartbeat": 12, "LeaveGroup": 13, "SyncGroup": 14}
CODES |= {"DescribeGroups": 15, "ListGroups": 16, "SaslHandshake": 17, "ApiVersions": 18, "ControlledShutdown": 7}

# No compression, key null, value "v"; magic 1 has a timestamp, of 5.
MESSAGE_0 = "0000000000000007 0000000f {crc} 00 00 ffffffff 00000001 76"
MESSAGE_1 = "0000000000000007 00000017 {crc} 01 00 0000000000000005 ffffffff 00000001 76"


@dataclass(frozen=True)
class Case:
    """A body in hex (spaces between its fields) and its fields."""

    api: str
    version: int
    role: Role
    body: str
    fields: dict[str, Any]
    error: tuple[int, str] | None = None
    context: Context = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", Context(self.role, CODES[self.api], self.version))

    def __str__(self) -> str:
        return f"{self.api} v{self.version} {self.role.name.lower()} {self.body[:12]}"

    def frame(self) -> bytes:
        body = bytes.fromhex(self.body)
        header = bytes.fromhex("0000002a")
        if self.role is Role.REQUEST:
            header = CODES[self.api].to_bytes(2, "big") + self.version.to_bytes(2, "big") + header + b"\0\2me"
        content = header + body
        return len(content).to_bytes(4, "big") + content


def request(api: str, version: int, body: str, **fields: Any) -> Case:
    return Case(api, version, Role.REQUEST, body, fields)


def response(api: str, version: int, body: str, error: tuple[int, str] | None = None, **fields: Any) -> Case:
    return Case(api, version, Role.RESPONSE, body, fields, error)


def crc32(message: str) -> str:
    """A message with its checksum filled in."""
    raw = bytes.fromhex(message.format(crc="00000000"))
    return message.format(crc=f"{zlib.crc32(raw[16:]):08x}")


RECORDS_0 = [
    {"offset": 7, "magic": 0, "crc": None, "crcValid": True, "compression": "none", "key": None, "value": b"v"}
]
RECORDS_1 = [
    {
        "offset": 7,
        "magic": 1,
        "crc": None,
        "crcValid": True,
        "compression": "none",
        "timestampType": "CreateTime",
        "timestamp": 5,
        "key": None,
        "value": b"v",
    }
]
SET_0 = crc32(MESSAGE_0)
SET_1 = crc32(MESSAGE_1)


def produce(version: int, messages: str, records: list[dict[str, Any]]) -> Case:
    size = f"{len(bytes.fromhex(messages)):08x}"
    return request(
        "Produce",
        version,
        f"0001 000003e8 00000001 0001 74 00000001 00000000 {size} {messages}",
        acks=1,
        timeoutMs=1000,
        topicData=[{"name": "t", "partitionData": [{"index": 0, "records": records}]}],
    )


def fetch(version: int, messages: str, records: list[dict[str, Any]]) -> Case:
    size = f"{len(bytes.fromhex(messages)):08x}"
    throttle: dict[str, Any] = {"throttleTimeMs": 9} if version else {}
    partition = {"partitionIndex": 2, "errorCode": 0, "highWatermark": 8, "records": records}
    return response(
        "Fetch",
        version,
        f"{'00000009' if version else ''} 00000001 0001 74 00000001 00000002 0000 0000000000000008 {size} {messages}",
        **throttle,
        responses=[{"topic": "t", "partitions": [partition]}],
    )


PRODUCED = "00000001 0001 74 00000001 00000000 0003 ffffffffffffffff"
UNKNOWN = (3, "UNKNOWN_TOPIC_OR_PARTITION")
CASES = [
    request("Metadata", 1, "00000001 0005 7465737431", topics=[{"name": "test1"}]),
    request("Metadata", 1, "ffffffff", topics=None),
    request("Metadata", 0, "00000000", topics=[]),
    response(
        "Metadata",
        1,
        "00000001 00000001 0004 686f7374 00002384 ffff 00000001 00000001 0000 0001 74 00"
        "00000001 0000 00000000 00000001 00000002 00000001 00000002 00000001 00000001",
        brokers=[{"nodeId": 1, "host": "host", "port": 9092, "rack": None}],
        controllerId=1,
        topics=[
            {
                "errorCode": 0,
                "name": "t",
                "isInternal": False,
                "partitions": [
                    {"errorCode": 0, "partitionIndex": 0, "leaderId": 1, "replicaNodes": [1, 2], "isrNodes": [1]}
                ],
            }
        ],
    ),
    produce(0, SET_0, RECORDS_0),
    produce(1, SET_0, RECORDS_0),
    produce(2, SET_1, RECORDS_1),
    produce(2, SET_0 + SET_1, [*RECORDS_0, *RECORDS_1]),
    response(
        "Produce",
        0,
        PRODUCED,
        UNKNOWN,
        responses=[{"name": "t", "partitionResponses": [{"index": 0, "errorCode": 3, "baseOffset": -1}]}],
    ),
    response(
        "Produce",
        1,
        PRODUCED + "00000007",
        UNKNOWN,
        responses=[{"name": "t", "partitionResponses": [{"index": 0, "errorCode": 3, "baseOffset": -1}]}],
        throttleTimeMs=7,
    ),
    response(
        "Produce",
        2,
        PRODUCED + "ffffffffffffffff 00000000",
        UNKNOWN,
        responses=[
            {
                "name": "t",
                "partitionResponses": [{"index": 0, "errorCode": 3, "baseOffset": -1, "logAppendTimeMs": -1}],
            }
        ],
        throttleTimeMs=0,
    ),
    *(
        request(
            "Fetch",
            version,
            "ffffffff 000001f4 00000001 00000001 0001 74 00000001 00000000 0000000000000005 00100000",
            replicaId=-1,
            maxWaitMs=500,
            minBytes=1,
            topics=[
                {"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 5, "partitionMaxBytes": 1_048_576}]}
            ],
        )
        for version in (0, 1, 2)
    ),
    fetch(0, SET_0, RECORDS_0),
    fetch(1, SET_0, RECORDS_0),
    fetch(2, SET_1, RECORDS_1),
    fetch(2, SET_1 + SET_1[:40], [*RECORDS_1, {"partial": True, "length": len(bytes.fromhex(SET_1[:40]))}]),
    fetch(2, "", []),
    request(
        "ListOffsets",
        0,
        "ffffffff 00000001 0001 74 00000001 00000000 ffffffffffffffff 00000001",
        replicaId=-1,
        topics=[{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1, "maxNumOffsets": 1}]}],
    ),
    response(
        "ListOffsets",
        0,
        "00000001 0001 74 00000001 00000000 0000 00000002 0000000000000009 0000000000000000",
        topics=[
            {"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0, "oldStyleOffsets": [9, 0]}]}
        ],
    ),
    request(
        "OffsetCommit",
        2,
        "0001 67 00000001 0001 6d ffffffffffffffff 00000001 0001 74 00000001 00000000 0000000000000005 0000",
        groupId="g",
        generationIdOrMemberEpoch=1,
        memberId="m",
        retentionTimeMs=-1,
        topics=[
            {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 5, "committedMetadata": ""}]}
        ],
    ),
    response(
        "OffsetCommit",
        2,
        "00000001 0001 74 00000001 00000000 0019",
        (25, "UNKNOWN_MEMBER_ID"),
        topics=[{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 25}]}],
    ),
    request(
        "OffsetFetch",
        1,
        "0001 67 00000001 0001 74 00000002 00000000 00000001",
        groupId="g",
        topics=[{"name": "t", "partitionIndexes": [0, 1]}],
    ),
    response(
        "OffsetFetch",
        2,
        "00000001 0001 74 00000001 00000000 ffffffffffffffff 0000 0000 0000",
        topics=[
            {
                "name": "t",
                "partitions": [{"partitionIndex": 0, "committedOffset": -1, "metadata": "", "errorCode": 0}],
            }
        ],
        errorCode=0,
    ),
    request("FindCoordinator", 0, "0001 67", key="g"),
    response("FindCoordinator", 0, "000f ffffffff 0000 ffffffff", (15, "COORDINATOR_NOT_AVAILABLE"), errorCode=15,
             nodeId=-1, host="", port=-1),
    request(
        "JoinGroup",
        0,
        "0001 67 00001388 0000 0008 636f6e6e65637421 00000001 0001 70 00000002 abcd",
        groupId="g",
        sessionTimeoutMs=5000,
        memberId="",
        protocolType="connect!",
        protocols=[{"name": "p", "metadata": b"\xab\xcd"}],
    ),
    request("SyncGroup", 0, "0001 67 00000001 0001 6d 00000000", groupId="g", generationId=1, memberId="m",
            assignments=[]),
    response("SyncGroup", 0, "001b 00000000", (27, "REBALANCE_IN_PROGRESS"), errorCode=27, assignment=b""),
    request("Heartbeat", 0, "0001 67 00000001 0001 6d", groupId="g", generationId=1, memberId="m"),
    response("Heartbeat", 0, "0000", errorCode=0),
    request("LeaveGroup", 0, "0001 67 0001 6d", groupId="g", memberId="m"),
    response("LeaveGroup", 0, "0000", errorCode=0),
    request("ListGroups", 0, ""),
    response("ListGroups", 0, "0000 00000001 0001 67 0000", errorCode=0,
             groups=[{"groupId": "g", "protocolType": ""}]),
    request("DescribeGroups", 0, "00000001 0001 67", groups=["g"]),
    response(
        "DescribeGroups",
        0,
        "00000001 0000 0001 67 0004 44656164 0000 0000 00000000",
        groups=[
            {"errorCode": 0, "groupId": "g", "groupState": "Dead", "protocolType": "", "protocolData": "",
             "members": []}
        ],
    ),
    request("SaslHandshake", 0, "0005 504c41494e", mechanism="PLAIN"),
    response("SaslHandshake", 0, "0021 00000001 0006 475353415049", (33, "UNSUPPORTED_SASL_MECHANISM"), errorCode=33,
             mechanisms=["GSSAPI"]),
    request("ApiVersions", 0, ""),
    request("ApiVersions", 3, "00 02 61 02 62 00", clientSoftwareName="a", clientSoftwareVersion="b"),
    response("ApiVersions", 0, "0000 00000001 0012 0000 0003", errorCode=0,
             apiKeys=[{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]),
    # whatever was asked, error 35 is answered in version 0
    *(
        response("ApiVersions", version, "0023 00000001 0012 0000 0003", (35, "UNSUPPORTED_VERSION"), errorCode=35,
                 apiKeys=[{"apiKey": 18, "minVersion": 0, "maxVersion": 3}])
        for version in (3, 4, 99)
    ),
]  # fmt: skip


def without_checksums(value: Any) -> Any:
    """Checksums are the bytes' own; here they need only be right."""
    if isinstance(value, dict):
        return {key: without_checksums(item) for key, item in value.items() if key != "crc"}
    return [without_checksums(item) for item in value] if isinstance(value, list) else value


def values(case: Case, frame: bytes) -> Body:
    return KAFKA.values(frame, case.context)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case: Case) -> None:
    body = values(case, case.frame())
    assert without_checksums(body.values) == without_checksums(case.fields)
    assert (body.error, faults(body.findings)) == (case.error, [])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_with_trailing_bytes(case: Case) -> None:
    content = case.frame()[4:] + b"\0\0\0"
    frame = len(content).to_bytes(4, "big") + content
    body = values(case, frame)
    if case.context.code == 18 and case.error:
        return
    assert without_checksums(body.values) == without_checksums(case.fields) | {"_rest": b"\0\0\0"}
    assert [finding.code for finding in faults(body.findings)] == ["trailing-bytes"]
    tree = KAFKA.tree(frame, case.context)
    assert_tiles(tree)
    assert [node.spec.name for node in tree.fields] == ["length", "header", "body", "_rest"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cut_at_every_byte(case: Case) -> None:
    frame = case.frame()
    for cut in range(len(frame)):
        body = values(case, frame[:cut])
        # which version an answer is of is not known before its error is
        doubts = ["unsupported-version"] if case.context.version == 99 and cut < 10 else []
        assert [finding.code for finding in body.findings] == [*doubts, "malformed-body"]
        assert doubts or body.values.items() <= values(case, frame).values.items() or broken_inside(body)
        assert_tiles(KAFKA.tree(frame[:cut], case.context))


def broken_inside(body: Body) -> bool:
    """Whether the cut went through the last of the fields that are there, so that it is only a part."""
    return isinstance(list(body.values.values())[-1], (list, dict))
