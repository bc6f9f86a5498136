"""Names by ids: the table of who tells them against the schemas, and what it makes of bodies of any shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.kafka.dissector import Kafka
from dissectors.kafka.name_bindings import BindingRow, binding_rows, list_references
from dissectors.kafka.schemas import apis, body_schema, record_schema
from dissectors.name_binding import BoundName, NameBinding, Reference
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.schema import FieldSchema
from dissectors.wire.secret import Secret

CODES = {api.name: key for key, api in apis().items()}
REQUEST, RESPONSE = Role.REQUEST, Role.RESPONSE
TOPIC = "SgIQxGBmQrarNAyoMjdEOw"


def taught(api: str, role: Role, values: Mapping[str, Any], **known: Any) -> list[tuple[str, str, str]]:
    requested = known.get("asked")
    context = Context(role, CODES[api], 0)
    found = list(
        Kafka().names.name_bindings(
            BoundName(values, context, lambda: requested, known.get("client"), known.get("host", "10.0.0.7"))
        )
    )
    assert all(binding.scope is None for binding in found)
    return [(binding.kind, binding.key, binding.value) for binding in found]


def records(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    batch = {"records": [{"key": None, "value": EmbeddedValue(b"\1\2\0", value, name)}, {"key": None, "value": b"x"}]}
    return {"responses": [{"topicId": TOPIC, "partitions": [{"records": [batch]}, {"records": None}]}]}


CASES = [
    ("Metadata", RESPONSE, {"topics": [{"name": "orders", "topicId": TOPIC}]}, {}, [("topic", TOPIC, "orders")]),
    ("Metadata", RESPONSE, {"topics": [{"name": "a", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}, {"name": "b"}]}, {}, []),
    ("Metadata", RESPONSE, {"topics": [{"name": None, "topicId": TOPIC}]}, {}, []),
    ("Metadata", RESPONSE, {"topics": None, "brokers": None}, {}, []),
    (
        "Metadata",
        RESPONSE,
        {"brokers": [{"nodeId": 2, "host": "fe80::1", "port": 9092}, {"nodeId": -1, "host": "x", "port": 1}]},
        {},
        [("broker", "2", "[fe80::1]:9092")],
    ),
    ("FindCoordinator", RESPONSE, {"nodeId": 3, "host": "k3", "port": 9}, {}, [("broker", "3", "k3:9")]),
    ("FindCoordinator", RESPONSE, {"nodeId": -1, "host": "", "port": -1}, {}, []),
    (
        "UpdateMetadata",
        REQUEST,
        {"liveBrokers": [{"id": 1, "endpoints": [{"host": "k1", "port": 9}, {"host": "k1", "port": 10}]}, {"id": 2}]},
        {},
        [("broker", "1", "k1:9")],
    ),
    (
        "InitProducerId",
        RESPONSE,
        {"errorCode": 0, "producerId": 4000},
        {"asked": {"transactionalId": "pay-1"}},
        [("producer", "4000", "pay-1")],
    ),
    ("InitProducerId", RESPONSE, {"producerId": 4000}, {"asked": {"transactionalId": None}}, []),
    ("InitProducerId", RESPONSE, {"producerId": 4000}, {}, []),
    ("InitProducerId", RESPONSE, {"producerId": -1}, {"asked": {"transactionalId": "pay-1"}}, []),
    ("EndTxn", REQUEST, {"producerId": 7, "transactionalId": "pay-1"}, {}, [("producer", "7", "pay-1")]),
    ("JoinGroup", RESPONSE, {"memberId": "m"}, {"client": "c1"}, [("member", "m", "c1 at 10.0.0.7")]),
    ("JoinGroup", RESPONSE, {"memberId": "m"}, {"client": None}, [("member", "m", "10.0.0.7")]),
    ("JoinGroup", RESPONSE, {"memberId": ""}, {"client": "c1"}, []),
    (
        "DescribeGroups",
        RESPONSE,
        {"groups": [{"members": [{"memberId": "m", "clientId": "c1", "clientHost": "/10.0.0.9"}]}]},
        {"client": "admin"},
        [("member", "m", "c1 at 10.0.0.9")],
    ),
    (
        "Fetch",
        RESPONSE,
        records("TopicRecord", {"name": "orders", "topicId": TOPIC}),
        {"client": "raft-client-1"},
        [("topic", TOPIC, "orders")],
    ),
    (
        "Fetch",
        RESPONSE,
        records("RegisterBrokerRecord", {"brokerId": 1, "endPoints": [{"host": "k1", "port": 9}]}),
        {"client": "raft-client-1"},
        [("broker", "1", "k1:9")],
    ),
    ("Fetch", RESPONSE, records("TopicRecord", {"name": "orders", "topicId": TOPIC}), {"client": "me"}, []),
    ("Fetch", RESPONSE, records("Other", {"name": "orders", "topicId": TOPIC}), {"client": "raft-client-1"}, []),
    ("Metadata", RESPONSE, {"topics": [{"name": b"\xff", "topicId": TOPIC}]}, {}, []),
    ("Metadata", RESPONSE, {"topics": [{"name": Secret("a"), "topicId": TOPIC}, 7, None, "x", b"y"]}, {}, []),
    ("Metadata", RESPONSE, {"topics": {"name": "a", "topicId": TOPIC}}, {}, [("topic", TOPIC, "a")]),
    ("Metadata", REQUEST, {"topics": [{"name": "orders", "topicId": TOPIC}]}, {}, []),
]


@pytest.mark.parametrize(("api", "role", "values", "known", "expected"), CASES)
def test_what_a_body_teaches(
    api: str, role: Role, values: Mapping[str, Any], known: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    assert taught(api, role, values, **known) == expected


def test_bindings_of_one_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissectors.kafka.name_bindings.MOST", 5)
    topics = [{"name": f"t{n}", "topicId": f"{n:022}"} for n in range(9)]
    assert len(taught("Metadata", RESPONSE, {"topics": topics})) == 5


# ---- the table and the schemas


def fields_at(fields: tuple[FieldSchema, ...], path: str) -> tuple[FieldSchema, ...]:
    for name in path.split(".") if path else ():
        (field,) = (field for field in fields if field.name == name)
        fields = field.fields or ()
    return fields


def holders(row: BindingRow) -> tuple[FieldSchema, ...]:
    """The fields of the struct that a row is about."""
    if row.holds is not None:
        schemas = (record_schema("metadata", "metadata", key) for key in range(60))
        return next(schema.fields for schema in schemas if schema is not None and schema.name == row.holds)
    return fields_at(body_schema(CODES[row.api], row.role is RESPONSE).fields, row.path)


@pytest.mark.parametrize("row", binding_rows(), ids=str)
def test_each_row_of_the_table_is_in_a_schema(row: BindingRow) -> None:
    assert row.key in {field.name for field in holders(row)}
    named = body_schema(CODES[row.api], False).fields if row.from_request else holders(row)
    for name in row.name:
        around, _, last = name.rpartition(".")
        assert last in {field.name for field in fields_at(named, around)}


def naming_structs(fields: tuple[FieldSchema, ...], version: int, path: str = "") -> Iterator[str]:
    """Where a version has a topic's id and its name side by side."""
    present = [field for field in fields if version in field.versions]
    kinds = {("id" if field.type == "uuid" and field.name == "topicId" else field.entity) for field in present}
    if {"id", "topicName"} <= kinds:
        yield path
    for field in present:
        if field.fields is not None:
            yield from naming_structs(field.fields, version, f"{path}.{field.name}" if path else field.name)


WITHOUT_NEWS = {("Metadata", REQUEST, "topics"), ("DeleteTopics", REQUEST, "topics")}
"""Requests that say either the id or the name."""


def test_no_struct_with_a_topics_id_and_name_is_missing() -> None:
    listed = {(row.api, row.role, row.path) for row in binding_rows() if row.kind == "topic"}
    found = {
        (api.name, role, path)
        for key, api in apis().items()
        for role in (REQUEST, RESPONSE)
        for version in range(api.versions.low, api.versions.high + 1)
        for path in naming_structs(body_schema(key, role is RESPONSE).fields, version)
    }
    assert found - WITHOUT_NEWS == {each for each in listed if "record" not in each[2]}


# ---- where ids are


REFERENCES = [
    (1, 12, False, [("broker", "replicaId")]),
    (1, 13, False, [("broker", "replicaId"), ("topic", "topics.topicId"), ("topic", "forgottenTopicsData.topicId")]),
    (11, 9, True, [("member", "leader"), ("member", "memberId"), ("member", "members.memberId")]),
    (22, 0, True, [("producer", "producerId")]),
    (0, 13, False, [("topic", "topicData.topicId"), ("producer", "topicData.partitionData.records.producerId")]),
    (17, 1, False, []),
    (999, 0, False, []),
    (1, 99, False, [("broker", "replicaState.replicaId"), ("topic", "topics.topicId")]),
]


@pytest.mark.parametrize(("code", "version", "response", "expected"), REFERENCES)
def test_where_ids_are(code: int, version: int, response: bool, expected: list[tuple[str, str]]) -> None:
    found = list_references(code, version, response)
    assert [(each.kind, ".".join(each.path)) for each in found][: len(expected)] == expected
    assert expected or not found


def test_of_a_message_without_operation() -> None:
    assert Kafka().names.references(Context(Role.RAW)) == ()
    assert Kafka().names.references(Context(RESPONSE, 1)) == ()
    assert Reference("topic", ("topics", "topicId")) in Kafka().names.references(Context(RESPONSE, 3, 13))


def test_constants() -> None:
    assert list(Kafka().names.constants()) == [NameBinding("topic", "AAAAAAAAAAAAAAAAAAAAAQ", "__cluster_metadata")]
