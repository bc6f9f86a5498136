"""Pages about Kafka's layouts: some in full, and every one of them at all."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from dissectors.kafka.guide import GUIDE
from dissectors.kafka.schemas import apis, body_schema
from dissectors.kafka.tables import table
from dissectors.wire.plan import Array, Leaf, Plan, Step, Struct, Tags, resolve

VERSION_PAGE = """\
SaslAuthenticate Request (Version: 2) => authBytes _tagged_fields
  authBytes => COMPACT_BYTES  masked

SaslAuthenticate Response (Version: 2) => errorCode errorMessage authBytes sessionLifetimeMs _tagged_fields
  errorCode => INT16                       error code
  errorMessage => COMPACT_NULLABLE_STRING
  authBytes => COMPACT_BYTES               masked
  sessionLifetimeMs => INT64               milliseconds; default 0"""

NESTED_PAGE = """\
OffsetForLeaderEpoch Request (Version: 4) => replicaId [topics] _tagged_fields
  replicaId => INT32                           broker id; -2 DEBUGGING, -1 CONSUMER; default -2
  topics => topic [partitions] _tagged_fields  compact array
    topic => COMPACT_STRING                    key; topic name
    partitions => partition currentLeaderEpoch leaderEpoch _tagged_fields  compact array
      partition => INT32
      currentLeaderEpoch => INT32              default -1
      leaderEpoch => INT32

OffsetForLeaderEpoch Response (Version: 4) => throttleTimeMs [topics] _tagged_fields"""

ALL_VERSIONS = """\
ControlledShutdown (API key 7)
  versions   0-3; none since Kafka 4.0, which has no ZooKeeper mode
  flexible   from version 3 on
  headers    request v0 (0), v1 (1-2), v2 (3); response v0 (0-2), v1 (3)
  listeners  zkBroker, controller

Request
  field        type   versions
  brokerId     int32  0+        broker id
  brokerEpoch  int64  2+        default -1

Response
  field                type                  versions
  errorCode            int16                 0+        error code
  remainingPartitions  []RemainingPartition  0+
    topicName          string                0+        key; topic name
    partitionIndex     int32                 0+        key"""

OLD_AND_TAGGED = """\
DescribeLogDirs (API key 35)
  versions   0-5; the newest release takes 1-5, 0 is gone (KIP-896)
  flexible   from version 2 on
  headers    request v1 (0-1), v2 (2-5); response v0 (0-1), v1 (2-5)
  listeners  broker"""

STRUCTURE = """\
ConsumerProtocolSubscription (Version: 2) => [topics] userData [ownedPartitions] generationId
  topics => STRING                       array
  userData => NULLABLE_BYTES             default null
  ownedPartitions => topic [partitions]  array
    topic => STRING                      key; topic name
    partitions => INT32                  array
  generationId => INT32                  default -1"""

RECORD = """\
OffsetCommitValue
  written by   group-coordinator
  versions     0-4
  flexible     from version 4 on
  record type  1

  field            type    versions
  offset           int64   0+
  leaderEpoch      int32   3+        default -1
  metadata         string  0+
  commitTimestamp  int64   0+        milliseconds since 1970
  expireTimestamp  int64   1         milliseconds since 1970; default -1
  topicId          uuid    4+        tag 0"""

MESSAGE = """\
Message (magic 0, Kafka 0.8 and 0.9) => offset size crc magic attributes key value
  offset => INT64
  size => INT32            bytes behind this field
  crc => UINT32            CRC-32 of all from magic on
  magic => INT8            0
  attributes => INT8       bits 0-2 compression
  key => NULLABLE_BYTES
  value => NULLABLE_BYTES  messages in a row, if it is compressed"""

PAGES: dict[str, tuple[str, int | None, str]] = {
    "one version": ("SaslAuthenticate", 2, VERSION_PAGE),
    "by key": ("36", 2, VERSION_PAGE),
    "in capitals": ("SASLAUTHENTICATE", 2, VERSION_PAGE),
    "all versions": ("controlledshutdown", None, ALL_VERSIONS),
    "versions that went": ("DescribeLogDirs", None, OLD_AND_TAGGED),
    "a structure": ("consumerprotocolsubscription", 2, STRUCTURE),
    "a record": ("OffsetCommitValue", None, RECORD),
    "records": ("records", None, MESSAGE),
    "types": ("types", None, "COMPACT_STRING           uvarint length + 1, UTF-8"),
    "structures": ("structures", None, "\nConsumerProtocolAssignment"),
    "a structure of a client": ("AssignmentInfo", 3, "  commonlySupportedVersion => INT32"),
    "errors": ("errors", None, "\n3\tUNKNOWN_TOPIC_OR_PARTITION\n"),
    "tags": ("Fetch", 13, "  clusterId<tag: 0> => COMPACT_NULLABLE_STRING"),
    "an enum": ("Fetch", 13, "0 READ_UNCOMMITTED, 1 READ_COMMITTED; default 0"),
    "by an older name": ("ElectPreferredLeaders", None, "ElectLeaders (API key 43)\n  once       ElectPreferred"),
    "by its request": ("fetchrequest", None, "Fetch (API key 1)"),
    "a nullable struct": ("DescribeTopicPartitions", 0, "  cursor => topicName partitionIndex _tagged_fields  null"),
}  # fmt: skip


@pytest.mark.parametrize("case", PAGES)
def test_a_page(case: str) -> None:
    name, version, expected = PAGES[case]
    assert expected in "\n".join(GUIDE.page(name, version).lines)


def test_a_long_line_does_not_push_the_others() -> None:
    lines = GUIDE.page("OffsetForLeaderEpoch", 4).lines
    assert "\n".join(lines).startswith(NESTED_PAGE)


def test_every_layout() -> None:
    """In each of them, each field of the plan that decodes it, with the type that stands on the wire."""
    count = 0
    for key, api in apis().items():
        for version in range(api.versions.low, api.versions.high + 1):
            page = GUIDE.page(api.name, version)
            json.dumps(page.data)
            text = "\n".join(page.lines)
            for response in (False, True):
                count += 1
                direction = "response" if response else "request"
                assert list(_described(page.data[direction]["fields"])) == list(_planned(key, version, response))
                assert f"{api.name} {direction.capitalize()} (Version: {version}) => " in f"{text}\n".replace(
                    "=>\n", "=> \n"
                )
    assert count == 736


def _described(fields: list[dict[str, object]]) -> Iterator[tuple[str, object, object]]:
    tagged = sorted((field for field in fields if "tag" in field), key=lambda field: str(field["name"]))
    for field in [field for field in fields if "tag" not in field] + tagged:
        yield str(field["name"]), field.get("array", field["type"]), field.get("tag")
        members = field.get("fields")
        if isinstance(members, list):
            yield from _described(members)


def _planned(key: int, version: int, response: bool) -> Iterator[tuple[str, object, object]]:
    plan: Plan = resolve(body_schema(key, response), version)
    yield from _steps(plan.steps)


def _steps(steps: tuple[Step, ...]) -> Iterator[tuple[str, object, object]]:
    for step in steps:
        if isinstance(step, Tags):
            for tag, inside in sorted(step.steps.items(), key=lambda each: each[1].spec.name):
                yield from _step(inside, tag)
        else:
            yield from _step(step, None)


def _step(step: Leaf | Struct | Array, tag: int | None) -> Iterator[tuple[str, object, object]]:
    yield step.spec.name, step.spec.type, tag
    inside = step.element if isinstance(step, Array) else step
    if isinstance(inside, Struct):
        yield from _steps(inside.steps)


def test_every_name() -> None:
    types = set(table("guide")["types"])
    for name in GUIDE.names():
        for version in GUIDE.versions(name):
            assert GUIDE.page(name, version).lines
            if name in {api.name for api in apis().values()}:
                used = {
                    kind
                    for part in ("request", "response")
                    for _, kind, _ in _described(GUIDE.page(name, version).data[part]["fields"])
                }
                assert {str(kind).replace("nullable_records", "records") for kind in used} <= types


def test_names_are_distinct() -> None:
    lower = [name.lower() for name in GUIDE.names()]
    assert len(set(lower)) == len(lower)


def test_versions() -> None:
    assert list(GUIDE.versions("fetch")) == list(range(19))
    assert list(GUIDE.versions("OffsetCommitValue")) == [0, 1, 2, 3, 4]
    assert list(GUIDE.versions("types")) == []
    assert list(GUIDE.versions("nothing of the kind")) == []
