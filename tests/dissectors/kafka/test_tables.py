"""The tables: all keys and layouts, a plan for each, labels, and what is secret."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dissectors.kafka.labels import error_name, labels
from dissectors.kafka.schemas import apis, body_schema, header_version, load_named_schema
from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA, uuid_text
from dissectors.wire import FieldSchema, Schema, Versions, resolve
from dissectors.wire.budget import Budget
from dissectors.wire.emit import values_decoder
from tests.dissectors.kafka.truth import STRUCTURES, difference, printed, rows


def test_95_keys_in_368_versions() -> None:
    assert sorted(apis()) == list(range(95))
    for response in (False, True):
        ranges = [body_schema(key, response).versions for key in apis()]
        assert sum(versions.high - versions.low + 1 for versions in ranges) == 368


def test_every_layout_of_every_record_schema_has_a_plan() -> None:
    described = table("records")["records"] + table("messages")["data"] + table("messages")["headers"]
    for row in described:
        schema = Schema.parse(row["name"], row, KAFKA)
        for version in range(schema.versions.low, schema.versions.high + 1):
            assert callable(values_decoder(resolve(schema, version)))


def test_every_structure_inside_of_records_is_read_as_the_vendor_reads_it() -> None:
    described = {row["name"]: row for row in table("records")["records"] + table("messages")["data"]}
    seen = set()
    for row in rows(STRUCTURES):
        schema = Schema.parse(row["schema"], described[row["schema"]], KAFKA)
        data = bytes.fromhex(row["hex"])
        values, stop = values_decoder(resolve(schema, row["version"]))(data, 0, Budget())
        assert difference(row["fields"], printed(values)) is None
        assert stop == len(data)
        seen.add(row["schema"])
    assert len(seen) == 94


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [(3, 8, 1, 0), (3, 9, 2, 1), (3, 99, 2, 1), (7, 0, 0, 0), (7, 1, 1, 0), (7, 3, 2, 1), (18, 2, 1, 0), (18, 4, 2, 0)],
)
def test_header_versions(key: int, version: int, request_header: int, response_header: int) -> None:
    assert header_version(key, version, False) == request_header
    assert header_version(key, version, True) == response_header


def secrets(fields: tuple[FieldSchema, ...]) -> Iterator[str]:
    for field in fields:
        if field.secret:
            yield field.name
        yield from secrets(field.fields or ())


@pytest.mark.parametrize(
    ("key", "response", "names"),
    [
        (36, False, ["authBytes"]),
        (36, True, ["authBytes"]),
        (38, True, ["hmac"]),
        (39, False, ["hmac"]),
        (40, False, ["hmac"]),
        (41, True, ["hmac"]),
        (51, False, ["salt", "saltedPassword"]),
    ],
)
def test_what_is_secret(key: int, response: bool, names: list[str]) -> None:
    assert list(secrets(body_schema(key, response).fields)) == names


def test_every_enum_in_the_tables_has_labels() -> None:
    def enums(fields: tuple[FieldSchema, ...]) -> Iterator[str]:
        for field in fields:
            if field.enum:
                yield field.enum
            yield from enums(field.fields or ())

    found = {enum for key in apis() for response in (False, True) for enum in enums(body_schema(key, response).fields)}
    for row in (*table("records")["records"], *table("messages")["data"], *table("groups")["structures"]):
        found |= set(enums(tuple(FieldSchema.parse(field, Versions(0, 99)) for field in row["fields"])))
    assert len(found) > 20
    for enum in found:
        assert labels(enum) is not None


ACL_OPERATIONS = table("enums")["aclOperation"].values()


@pytest.mark.parametrize(
    ("enum", "value", "text"),
    [
        ("error", 3, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("error", -1, "UNKNOWN_SERVER_ERROR"),
        ("error", 9999, "UNKNOWN_9999"),
        ("acks", -1, "all"),
        ("isolationLevel", 1, "READ_COMMITTED"),
        ("isolationLevel", 9, None),
        ("listOffsetsTimestamp", -1, "LATEST"),
        ("listOffsetsTimestamp", 1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        ("timestamp", -1, None),
        ("timestamp", 2**63 - 1, None),
        ("milliseconds", 999, None),
        ("milliseconds", 90_000, "0:01:30"),
        ("authorizedOperations", 1 << 15 | 1 << 20, "TWO_PHASE_COMMIT, 20"),
        ("authorizedOperations", 264, "READ, DESCRIBE"),
        ("authorizedOperations", 0, "none"),
        ("authorizedOperations", -(1 << 31), None),
        ("authorizedOperations", -1, ", ".join([*ACL_OPERATIONS, *map(str, range(16, 32))])),
        ("memberEpoch", -2, "LEAVE_STATIC"),
        ("memberEpoch", 7, None),
        ("zkMigrationState", 1, "MIGRATION"),
        ("transactionState", 4, "COMPLETE_COMMIT"),
        ("leaderRecoveryState", -1, "NO_CHANGE"),
        ("connectTask", -1, "CONNECTOR"),
        ("api", 18, "ApiVersions"),
        ("api", 200, None),
    ],
)
def test_labels(enum: str, value: int, text: str | None) -> None:
    label = labels(enum)
    assert label is not None
    assert label(value) == text


def test_names() -> None:
    assert error_name(0) == "NONE"
    assert uuid_text(bytes(16)) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_text(bytes.fromhex("fbefbefbefbefbefbefbefbefbefbeff")) == "--------------------_w"
    assert load_named_schema("RequestHeader").fields[3].name == "clientId"
