"""Early-access layouts: another layout under the same version number, told by what takes all the bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dissectors.api import Body, Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.nested.structures import detect_control
from dissectors.kafka.schemas import apis, body_schema, list_variants, load_named_schema
from dissectors.kafka.tables import table
from tests.dissectors.kafka.nested.structured import both, framed
from tests.dissectors.kafka.truth import GOLDEN, SHARED, difference, frames, printed

KAFKA = Kafka()
EARLY = "early-access-layout"
NAMES_SINCE = {106: "FETCH_SESSION_TOPIC_ID_ERROR"}
"""Errors that the release which wrote the truth had no name for yet."""


def said(body: Body) -> bool:
    """Whether a body is said to have a layout of an early release."""
    return EARLY in [finding.code for finding in body.findings]


@pytest.mark.parametrize("other", [GOLDEN, SHARED], ids=["golden", "shared"])
def test_what_early_releases_wrote_is_what_they_read(other: Path) -> None:
    path = other.with_name("synthetic_variants.ndjson.zst")
    if not path.exists():
        pytest.skip(f"{path.parent.name}/{path.name} is not beside this checkout")
    truth = list(frames(path))
    assert len(truth) == 9
    for frame in truth:
        body, _ = both(frame.data, frame.context)
        assert difference(frame.row["fields"], printed(body.values)) is None, frame.name
        error = frame.row["error"]
        assert body.error == (error["code"], NAMES_SINCE.get(error["code"], error["name"])), frame.name
        assert said(body) == (frame.context.code == 87), frame.name


def request(key: int, version: int, body: bytes, tags: bytes = b"") -> bytes:
    return framed(struct.pack(">hhih", key, version, 1, -1) + tags + body)


def response(body: bytes) -> bytes:
    return framed(struct.pack(">i", 1) + b"\0" + body)


TOPIC, EMPTY = b"\2" + bytes(16) + b"\2\0\0\0\7\0", b"\1"
END_QUORUM = b"\0\1c\0\0\0\1\0\1t\0\0\0\1" + struct.pack(">iiiiii", 7, 1, 2, 3, 1, 9)
HEARTBEAT = b"\2g\2m\0\0\0\1\0\0\xff\xff\xff\xff\2\2t\3.*\0\2\2a\0\1\0\2\3\0\4\3xy\0\0\0"
ANSWER = b"\0\0\0\0\0\0\0\2m\0\0\0\1\1\0\0\0\5\1\0" + TOPIC + EMPTY + b"\0\7\3ab\0\0"
ASSIGNED = EMPTY + b"\1\0\0\0\2\4abc\0"
DESCRIBED = b"\0\0\0\0\2\0\0\0\2g\1\0\0\0\1\0\0\0\2\1\2\2m\0\0\0\0\0\3\1\1\1\0" + 2 * ASSIGNED + b"\0\0\0\0\0\0\0"

CASES = [
    (Context(Role.REQUEST, 54, 0), request(54, 0, END_QUORUM), {"clusterId": "c", "topics": [{"topicName": "t",
        "partitions": [{"partitionIndex": 7, "replicaId": 1, "leaderId": 2, "leaderEpoch": 3,
                        "preferredSuccessors": [9]}]}]}),
    (Context(Role.REQUEST, 68, 0), request(68, 0, HEARTBEAT, b"\0"), {"groupId": "g", "memberId": "m",
        "memberEpoch": 1, "instanceId": None, "rackId": None, "rebalanceTimeoutMs": -1, "subscribedTopicNames": ["t"],
        "subscribedTopicRegex": ".*", "serverAssignor": None, "clientAssignors": [{"name": "a", "minimumVersion": 1,
        "maximumVersion": 2, "reason": 3, "metadataVersion": 4, "metadataBytes": b"xy"}], "topicPartitions": None}),
    (Context(Role.RESPONSE, 68, 0), response(ANSWER), {"throttleTimeMs": 0, "errorCode": 0, "errorMessage": None,
        "memberId": "m", "memberEpoch": 1, "shouldComputeAssignment": True, "heartbeatIntervalMs": 5, "assignment": {
        "error": 0, "assignedTopicPartitions": [{"topicId": "A" * 22, "partitions": [7]}],
        "pendingTopicPartitions": [], "metadataVersion": 7, "metadataBytes": b"ab"}}),
    (Context(Role.RESPONSE, 69, 0), response(DESCRIBED), {"throttleTimeMs": 0, "groups": [{"errorCode": 0,
        "errorMessage": None, "groupId": "g", "groupState": "", "groupEpoch": 1, "assignmentEpoch": 2,
        "assignorName": "", "members": [{"memberId": "m", "instanceId": None, "rackId": None, "memberEpoch": 0x3,
        "clientId": "", "clientHost": "", "subscribedTopicNames": [], "subscribedTopicRegex": None,
        "assignment": {"topicPartitions": [], "error": 1, "metadataVersion": 2, "metadataBytes": b"abc"},
        "targetAssignment": {"topicPartitions": [], "error": 1, "metadataVersion": 2, "metadataBytes": b"abc"}}],
        "authorizedOperations": 0}]}),
]  # fmt: skip


@pytest.mark.parametrize(("context", "frame", "values"), CASES, ids=["54 request", "68 request", "68", "69"])
def test_a_layout_of_an_early_release(context: Context, frame: bytes, values: dict[str, object]) -> None:
    body, tree = both(frame, context)
    assert body.values == values
    assert said(body)
    assert tree.findings[0].text.startswith("only 2.7" if context.code == 54 else "only 3.")
    assert both(frame, Context(context.role, context.code, 1))[0].values != values, "a variant is of one version"


def test_bytes_left_behind_are_no_reason_for_it() -> None:
    context, frame, _ = CASES[0]
    usual = request(54, 0, b"\xff\xff\0\0\0\1\0\1t\0\0\0\1" + struct.pack(">iiii", 7, 2, 3, 0))
    assert not said(both(usual, context)[0])
    for odd in (usual, frame):
        assert not said(both(framed(odd[4:] + b"\0\0\0"), context)[0])


def test_a_cut_message_is_none() -> None:
    for context, frame, _ in CASES:
        for cut in range(len(frame)):
            assert not said(both(frame[:cut], context)[0])


def test_a_change_of_leaders_without_a_version() -> None:
    early = struct.pack(">i", 2) + b"\2" + struct.pack(">i", 2) + b"\0" + b"\1" + b"\0"
    _, value = detect_control(b"\0\0\0\2", early)
    assert value is not None
    assert value.values == {"leaderId": 2, "voters": [{"voterId": 2}], "grantingVoters": []}
    _, value = detect_control(b"\0\0\0\2", b"\0\0" + early)
    assert value is not None
    assert value.values["version"] == 0


def test_every_row_of_the_table_is_of_a_layout_that_there_is() -> None:
    known = {body_schema(key, response).name: body_schema(key, response) for key in apis() for response in (0, 1)}
    for row in table("variants")["variants"]:
        schema = known.get(row["name"]) or load_named_schema(row["name"])
        (variant,) = list_variants(row["name"], 0)
        assert 0 in schema.versions
        assert variant.releases == row["releases"]
