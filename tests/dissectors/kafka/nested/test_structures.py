"""Structures within bytes fields: where they are read, where the bytes stay, and what is secret in them."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pytest

from analyzer.decode.jsonable import JsonWriter
from analyzer.render.tree_json import make_node_object
from dissectors.api import Context, Role
from dissectors.kafka.tables import table
from dissectors.wire import Secret
from dissectors.wire.embedded import EmbeddedValue
from tests.dissectors.kafka.nested.structured import (
    CONTROL,
    FETCH,
    METADATA_ID,
    OTHER_ID,
    PRODUCE,
    Record,
    batched,
    both,
    fetched,
    framed,
    held,
    produce,
    unread,
    uvarint,
    vendor,
)
from tests.dissectors.kafka.records.test_values import message, wrapper
from tests.dissectors.trees import node
from tests.golden.truth import COMPLETE, differing

SOME = {each.name: each for each in vendor()}
GROUP_KEY = b"\0\3\0\1g"
"""ConsumerGroupMetadataKey"""
GROUP_VALUE = b"\0\0\0\0\0\7\0"
"""ConsumerGroupMetadataValue v0"""
NO_OP = b"\1\x14\0\0"


def pairs(frame: bytes, context: Context) -> list[tuple[Any, Any]]:
    """The keys and values of the only partition, as decoded both ways, without a word about the rest."""
    body, _ = both(frame, context)
    assert not unread(body)
    names = ("topicData", "partitionData") if context is PRODUCE else ("responses", "partitions")
    entries = body.values[names[0]][0][names[1]][0]["records"]
    records = [record for entry in entries for record in entry.get("records", (entry,))]
    return [(record["key"], record["value"]) for record in records]


def names(found: list[tuple[Any, Any]]) -> list[tuple[str | None, str | None]]:
    return [
        (getattr(key, "name", None), value.name if isinstance(value, EmbeddedValue) else None) for key, value in found
    ]


def test_records_of_internal_topics_are_what_the_vendor_reads() -> None:
    differences, seen = [], set()
    for each in held():
        data = batched([each.pair], CONTROL if each.topic is None else 0)
        found = pairs(produce((each.topic or "t").encode(), data), PRODUCE)[0][each.side == "value"]
        truth = dict(each.holds.fields)
        if each.topic is None:
            truth.pop("version", None)  # it is the layout's, so held() wrote that
        name = f"{each.holds.name} v{each.holds.version}"
        if (found.name, isinstance(found.data, Secret)) != (each.holds.name, each.holds.name in WITH_SECRETS):
            differences.append((name, found.name))
        differences += [(name, *found) for found in differing(json.loads(COMPLETE.dumps(found.value)), truth)]
        seen.add(each.holds.name)
    assert differences == []
    assert len(seen) == 87


WITH_SECRETS = {"UserScramCredentialRecord"}


RECORDS: list[tuple[str, bytes, list[tuple[str | None, str | None]]]] = [
    ("both", batched([(GROUP_KEY, GROUP_VALUE)]), [("ConsumerGroupMetadataKey", "ConsumerGroupMetadataValue")]),
    ("tombstone", batched([(GROUP_KEY, None)]), [("ConsumerGroupMetadataKey", None)]),
    ("value behind", batched([(GROUP_KEY, GROUP_VALUE + b"x")]), [("ConsumerGroupMetadataKey", None)]),
    ("value cut", batched([(GROUP_KEY, GROUP_VALUE[:-1])]), [("ConsumerGroupMetadataKey", None)]),
    ("value of no version", batched([(GROUP_KEY, b"\0\5" + GROUP_VALUE[2:])]), [("ConsumerGroupMetadataKey", None)]),
    ("key cut", batched([(GROUP_KEY[:-1], GROUP_VALUE)]), [(None, None)]),
    ("key of no type", batched([(b"\0\x63\0\1g", GROUP_VALUE)]), [(None, None)]),
    ("key empty", batched([(b"", GROUP_VALUE), (None, GROUP_VALUE)]), [(None, None)] * 2),
    ("key not text", batched([(b"\0\3\0\1\xff", GROUP_VALUE)]), [(None, None)]),
    ("message", message(0, None, 1) + message(1, GROUP_VALUE, 0), [(None, None)] * 2),
]


@pytest.mark.parametrize(("data", "expected"), [case[1:] for case in RECORDS], ids=[case[0] for case in RECORDS])
def test_what_does_not_fit_stays_bytes(data: bytes, expected: list[tuple[str | None, str | None]]) -> None:
    assert names(pairs(produce(b"__consumer_offsets", data), PRODUCE)) == expected


def test_older_messages_hold_them_too() -> None:
    key = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)
    value = struct.pack(">hqh", 0, 7, 0) + struct.pack(">q", 9)
    plain = _message(key, value)
    (found,) = pairs(produce(b"__consumer_offsets", plain), PRODUCE)
    assert names([found]) == [("OffsetCommitKey", "OffsetCommitValue")]
    body, _ = both(produce(b"__consumer_offsets", wrapper(0, plain)), PRODUCE)
    (entry,) = body.values["topicData"][0]["partitionData"][0]["records"]
    assert isinstance(entry["value"], bytes)
    assert entry["messages"][0]["value"] == found[1]


def _message(key: bytes, value: bytes) -> bytes:
    tail = struct.pack(">bbq", 1, 0, 9) + struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 0, len(tail) + 4, zlib.crc32(tail)) + tail


def test_a_users_topic_holds_nothing() -> None:
    data = batched([(GROUP_KEY, GROUP_VALUE), (None, NO_OP)])
    assert names(pairs(produce(b"orders", data), PRODUCE)) == [(None, None)] * 2


@pytest.mark.parametrize(
    ("topic", "records", "expected"),
    [
        (METADATA_ID, [(None, NO_OP), (b"k", b"v")], [(None, "NoOpRecord"), (None, None)]),
        (OTHER_ID, [(None, NO_OP)], [(None, None)]),
        (OTHER_ID, [(GROUP_KEY, GROUP_VALUE), (GROUP_KEY, None)],
         [("ConsumerGroupMetadataKey", "ConsumerGroupMetadataValue"), ("ConsumerGroupMetadataKey", None)]),
        (OTHER_ID, [(GROUP_KEY, None)], [(None, None)]),
        (OTHER_ID, [(GROUP_KEY, GROUP_VALUE), (b"\0\0\0\0", GROUP_VALUE)], [(None, None)] * 2),
        (OTHER_ID, [(GROUP_KEY, GROUP_VALUE), (GROUP_KEY, b"x")], [(None, None)] * 2),
        (OTHER_ID, [], []),
    ],
    ids=["metadata", "not told by values alone", "told by all", "not by tombstones", "key", "value", "empty"],
)  # fmt: skip
def test_a_topic_by_its_id(topic: bytes, records: list[Record], expected: list[tuple[str | None, str | None]]) -> None:
    assert names(pairs(fetched(topic, batched(records)), FETCH)) == expected


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (b"\0\0\0\1", b"\0\0\0\0\0\5", ({"_version": 0, "type": 1}, {"_version": 0, "coordinatorEpoch": 5})),
        (b"\0\0\0\1", b"\0\0\0\0\0", ({"_version": 0, "type": 1}, None)),
        (b"\0\0\0\4", b"\0\0\0", ({"_version": 0, "type": 4}, {"version": 0})),
        (
            b"\0\0\0\2",
            bytes(4) + b"\1\1\0",
            ({"_version": 0, "type": 2}, {"leaderId": 0, "voters": [], "grantingVoters": []}),
        ),
        (b"\0\0\0\x09", b"\0\0\0\0\0\5", ({"_version": 0, "type": 9}, None)),
        (b"\0\1\0\1", b"\0\0\0\0\0\5", (None, None)),
        (b"\0\0\0\1\0", b"\0\0\0\0\0\5", (None, None)),
        (None, None, (None, None)),
    ],
)
def test_control_batches(key: bytes | None, value: bytes | None, expected: tuple[Any, Any]) -> None:
    data = batched([(key, value)], CONTROL)
    for found in (pairs(produce(b"orders", data), PRODUCE), pairs(fetched(OTHER_ID, data), FETCH)):
        assert tuple(getattr(each, "value", None) for each in found[0]) == expected


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


SUBSCRIBED = struct.pack(">hi", 0, 1) + text("orders") + sized(b"")
SUBSCRIPTION = EmbeddedValue(
    SUBSCRIBED, {"_version": 0, "topics": ["orders"], "userData": b""}, "ConsumerProtocolSubscription"
)
ASSIGNED = struct.pack(">hi", 0, 1) + text("orders") + struct.pack(">ii", 1, 3) + sized(b"u")
ASSIGNMENT = EmbeddedValue(
    ASSIGNED,
    {"_version": 0, "assignedPartitions": [{"topic": "orders", "partitions": [3]}], "userData": b"u"},
    "ConsumerProtocolAssignment",
)


def request(key: int, version: int, body: bytes) -> bytes:
    return framed(struct.pack(">hhih", key, version, 1, -1) + body)


def joins(kind: str, metadata: bytes) -> bytes:
    """A JoinGroup v0 of one protocol."""
    return request(
        11, 0, text("g") + bytes(4) + text("m") + text(kind) + struct.pack(">i", 1) + text("range") + sized(metadata)
    )


def syncs(assignment: bytes) -> bytes:
    """A SyncGroup v0 that assigns one member."""
    return request(14, 0, text("g") + bytes(4) + text("m") + struct.pack(">i", 1) + text("m") + sized(assignment))


CONSUMERS = {"protocolType": "consumer"}
GROUPS: list[tuple[str, bytes, Context, str, str, object]] = [
    ("consumers", joins("consumer", SUBSCRIBED), Context(Role.REQUEST, 11, 0), "protocols", "metadata", SUBSCRIPTION),
    ("connect", joins("connect", SUBSCRIBED), Context(Role.REQUEST, 11, 0), "protocols", "metadata", SUBSCRIBED),
    ("own kind", joins("connect", SUBSCRIBED), Context(Role.REQUEST, 11, 0, CONSUMERS), "protocols", "metadata",
     SUBSCRIBED),
    ("trailing", joins("consumer", SUBSCRIBED + b"x"), Context(Role.REQUEST, 11, 0), "protocols", "metadata",
     SUBSCRIBED + b"x"),
    ("cut", joins("consumer", SUBSCRIBED[:-1]), Context(Role.REQUEST, 11, 0), "protocols", "metadata",
     SUBSCRIBED[:-1]),
    ("newer", joins("consumer", b"\0\4" + SUBSCRIBED[2:]), Context(Role.REQUEST, 11, 0), "protocols", "metadata",
     b"\0\4" + SUBSCRIBED[2:]),
    ("empty", joins("consumer", b""), Context(Role.REQUEST, 11, 0), "protocols", "metadata", b""),
    ("sync", syncs(ASSIGNED), Context(Role.REQUEST, 14, 0, CONSUMERS), "assignments", "assignment", ASSIGNMENT),
    ("sync alone", syncs(ASSIGNED), Context(Role.REQUEST, 14, 0), "assignments", "assignment", ASSIGNED),
    ("sync, connect", syncs(ASSIGNED), Context(Role.REQUEST, 14, 0, {"protocolType": "connect"}), "assignments",
     "assignment", ASSIGNED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("frame", "context", "array", "name", "expected"), [case[1:] for case in GROUPS], ids=[case[0] for case in GROUPS]
)
def test_groups(frame: bytes, context: Context, array: str, name: str, expected: object) -> None:
    body, _ = both(frame, context)
    assert not unread(body)
    assert body.values[array][0][name] == expected


def test_described_groups_say_their_kind_each() -> None:
    def group(kind: str) -> bytes:
        member = text("m") + text("c") + text("/h") + sized(SUBSCRIBED) + sized(ASSIGNED)
        return (
            struct.pack(">h", 0)
            + text("g")
            + text("Stable")
            + text(kind)
            + text("range")
            + struct.pack(">i", 1)
            + member
        )

    frame = framed(struct.pack(">ii", 1, 2) + group("consumer") + group("connect"))
    body, _ = both(frame, Context(Role.RESPONSE, 15, 0))
    members = [each["members"][0] for each in body.values["groups"]]
    assert [each["memberMetadata"] for each in members] == [SUBSCRIPTION, SUBSCRIBED]
    assert [each["memberAssignment"] for each in members] == [ASSIGNMENT, ASSIGNED]


def test_a_groups_metadata_holds_its_members_subscriptions() -> None:
    member = text("m") + text("c") + text("/h") + struct.pack(">i", 9) + sized(SUBSCRIBED) + sized(ASSIGNED)
    value = (
        struct.pack(">h", 0) + text("consumer") + bytes(4) + text("range") + text("m") + struct.pack(">i", 1) + member
    )
    data = batched([(b"\0\2" + text("g"), value)])
    ((_, found),) = pairs(produce(b"__consumer_offsets", data), PRODUCE)
    assert found.name == "GroupMetadataValue"
    (only,) = found.value["members"]
    assert (only["subscription"], only["assignment"]) == (SUBSCRIPTION, ASSIGNMENT)


def compact(data: bytes) -> bytes:
    return uvarint(len(data) + 1) + data


def envelope(inner: bytes, principal: bytes = b"") -> bytes:
    body = compact(inner) + (compact(principal) if principal else b"\0") + compact(bytes(4)) + b"\0"
    return framed(struct.pack(">hhihB", 58, 0, 7, -1, 0) + body)


def answered(inner: bytes, error: int = 0) -> bytes:
    return framed(struct.pack(">iB", 7, 0) + compact(inner) + struct.pack(">h", error) + b"\0")


ENVELOPE, ANSWER = Context(Role.REQUEST, 58, 0), Context(Role.RESPONSE, 58, 0)
METADATA_REQUEST = struct.pack(">hhih", 3, 0, 5, 2) + b"me" + struct.pack(">i", 1) + text("t")
PRINCIPAL = struct.pack(">h", 0) + compact(b"User") + compact(b"me") + b"\1\0"


def test_an_envelope() -> None:
    body, tree = both(envelope(METADATA_REQUEST, PRINCIPAL), ENVELOPE)
    assert body.values["requestData"] == EmbeddedValue(
        METADATA_REQUEST,
        {"code": 3, "version": 0, "correlation": 5, "client": "me", "fields": {"topics": [{"name": "t"}]}},
        "MetadataRequest",
    )
    assert body.values["requestPrincipal"].name == "DefaultPrincipalData"
    assert body.values["requestPrincipal"].value == {
        "_version": 0, "type": "User", "name": "me", "tokenAuthenticated": True,
    }  # fmt: skip
    assert node(tree, "body", "requestData", "code").text == "Metadata"
    assert not unread(body)


@pytest.mark.parametrize(
    "inner",
    [
        METADATA_REQUEST + b"x",
        METADATA_REQUEST[:-1],
        b"",
        struct.pack(">hhih", 999, 0, 5, -1),
        struct.pack(">hhih", 3, 99, 5, -1),
    ],
    ids=["trailing", "cut", "empty", "no key", "no version"],
)
def test_what_else_is_in_an_envelope_stays_bytes(inner: bytes) -> None:
    body, _ = both(envelope(inner, b"\0\1principal"), ENVELOPE)
    assert (body.values["requestData"], body.values["requestPrincipal"]) == (inner, b"\0\1principal")
    assert not unread(body)


def test_an_envelopes_answer_needs_to_know_what_was_requested() -> None:
    inner = struct.pack(">i", 5) + struct.pack(">h", 35) + struct.pack(">i", 0)
    requested = Context(Role.RESPONSE, 58, 0, {"innerCode": "18", "innerVersion": "0"})
    body, tree = both(answered(inner), requested)
    assert body.values["responseData"].value == {
        "code": 18, "version": 0, "correlation": 5, "fields": {"errorCode": 35, "apiKeys": []},
    }  # fmt: skip
    assert [*body.values["responseData"].value] == ["code", "version", "correlation", "fields"]
    assert node(tree, "body", "responseData", "code").text == "ApiVersions"
    assert body.error is None, "the inner answer's error is not the envelope's"
    assert both(answered(inner, 41), requested)[0].error == (41, "NOT_CONTROLLER")
    assert both(answered(inner), ANSWER)[0].values["responseData"] == Secret(inner), "it may hold anything"


def test_secrets_stay_secret() -> None:
    scram = SOME["UserScramCredentialRecord"]
    frame = fetched(METADATA_ID, batched([(None, b"\1\x0b\0" + scram.data)]))
    body, tree = both(frame, FETCH)
    shown = JsonWriter().dumps(body.values) + JsonWriter().dumps([make_node_object(each) for each in tree.fields])
    for name in ("salt", "storedKey", "serverKey"):
        content = scram.fields[name]["hex"]
        assert not content or content.encode() not in shown
    assert b'"redacted":true' in shown


def test_every_place_in_the_table_is_a_bytes_field() -> None:
    """In the newest version, under the names that the rule gives; what it is told stands on the way."""
    described = {row["name"]: row["fields"] for part in ("headers", "data") for row in table("messages")[part]}
    described |= {row["name"]: row["fields"] for row in (*table("records")["records"], *table("groups")["structures"])}
    for row in table("messages")["messages"]:
        described |= {row["name"] + kind.capitalize(): row[kind]["fields"] for kind in ("request", "response")}
    for rule in table("quirks")["embedded"]:
        name, *path = rule["at"].split(".")
        fields, seen = described[name], set()
        for member in path:
            seen |= {each["name"] for each in fields}
            found = next(each for each in fields if each["name"] == member)
            fields = found.get("fields", [])
        assert found["type"] == "bytes", rule
        assert set(rule.get("told", {}).values()) - {"protocolType"} <= seen
