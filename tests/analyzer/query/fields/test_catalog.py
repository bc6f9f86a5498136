"""Names: what they mean, how they may be written, and what is said of those that mean nothing."""

from __future__ import annotations

import pytest

from analyzer.query.fields.catalog import UnknownField, find_field, find_near, list_fields, resolve_fields
from analyzer.query.fields.path import AliasedField, AliasField, BodyField, FieldKind, RowKey
from dissectors.api import Role

ASKING, ANSWER, ALL = frozenset(Role) - {Role.RESPONSE}, frozenset({Role.RESPONSE}), None

KEYS = [
    # name, kind, whether a row may have several, the key that is meant
    ("latency", FieldKind.DURATION, False, "latency_ns"),
    ("latency_ns", FieldKind.DURATION, False, "latency_ns"),
    ("time", FieldKind.TIME, False, "time"),
    ("frame.number", FieldKind.NUMBER, True, "packets"),
    ("ip.addr", FieldKind.ADDRESS, True, "ip"),
    ("source.port", FieldKind.NUMBER, False, "source.port"),
    ("from_client", FieldKind.FLAG, False, "from_client"),
    ("error", FieldKind.ANY, False, "error"),
    ("bytes", FieldKind.BYTES, False, "bytes"),
]


@pytest.mark.parametrize(("name", "kind", "repeated", "key"), KEYS)
def test_a_key_of_a_row(name: str, kind: FieldKind, repeated: bool, key: str) -> None:
    field = find_field(name)
    assert (field.name, field.kind, field.repeated, field.origin) == (name, kind, repeated, RowKey(key))


BODIES = [
    # name, kind, whether repeated, roles, path
    ("kafka.Fetch.request.maxWaitMs", FieldKind.NUMBER, False, ASKING, "maxWaitMs"),
    ("kafka.Fetch.maxWaitMs", FieldKind.NUMBER, False, ASKING, "maxWaitMs"),
    ("kafka.Fetch.request.topics", FieldKind.STRUCT, True, ASKING, "topics"),
    ("kafka.Fetch.request.topics.partitions.partition", FieldKind.NUMBER, True, ASKING, "topics.partitions.partition"),
    ("kafka.Fetch.response.throttleTimeMs", FieldKind.NUMBER, False, ANSWER, "throttleTimeMs"),
    ("kafka.Metadata.topics.name", FieldKind.TEXT, True, ALL, "topics.name"),
    ("kafka.Fetch.response.responses.partitions.records.records.value.as", FieldKind.TEXT, True, ANSWER, None),
    ("kafka.Fetch.response.responses.partitions.records.crcValid", FieldKind.FLAG, True, ANSWER, None),
    ("kafka.SaslAuthenticate.request.authBytes", FieldKind.BYTES, False, ASKING, "authBytes"),
    ("kafka.SaslAuthenticate.request.authBytes.length", FieldKind.NUMBER, False, ASKING, "authBytes.length"),
    ("kafka.Envelope.request.requestData.value.fields.topics.name", FieldKind.ANY, True, ASKING, None),
    ("zookeeper.getData.request.path", FieldKind.TEXT, False, ASKING, "path"),
    ("zookeeper.getData.response.stat.version", FieldKind.NUMBER, False, ANSWER, "stat.version"),
    ("zookeeper-quorum.REQUEST.data.value.request.path", FieldKind.TEXT, False, ALL, None),
    ("pulsar.SEND.metadata.producer_name", FieldKind.TEXT, False, ALL, "metadata.producer_name"),
    ("pulsar.PARTITIONED_METADATA_RESPONSE.response", FieldKind.TEXT, False, ALL, "response"),
    ("rocketmq.SEND_MESSAGE_V2.extFields.anything", FieldKind.ANY, True, ALL, "extFields.anything"),
]


@pytest.mark.parametrize(("name", "kind", "repeated", "roles", "path"), BODIES)
def test_a_field_of_bodies(
    name: str, kind: FieldKind, repeated: bool, roles: frozenset[Role] | None, path: str | None
) -> None:
    field = find_field(name)
    assert isinstance(field.origin, BodyField)
    assert (field.kind, field.repeated, field.origin.roles) == (kind, repeated, roles)
    assert path is None or field.origin.path == tuple(path.split("."))


def test_a_path_may_end_at_an_operation_a_side_or_a_protocol() -> None:
    for name, roles in (("kafka", ALL), ("kafka.Fetch", ALL), ("kafka.Fetch.request", ASKING), ("pulsar.SEND", ALL)):
        field = find_field(name)
        assert isinstance(field.origin, BodyField)
        assert (field.kind, field.origin.path, field.origin.roles) == (FieldKind.PRESENCE, (), roles)


def test_aliases_of_any_message_and_names_of_others() -> None:
    topic, key, correlation = resolve_fields(["kafka.topic", "kafka.api_key", "kafka.correlation_id"])
    assert isinstance(topic.origin, AliasedField)
    assert (topic.kind, topic.repeated) == (FieldKind.TEXT, True)
    for alias, means in ((key, "code"), (correlation, "correlation")):
        assert isinstance(alias.origin, AliasField)
        assert alias.origin.alias.key == means
        assert alias.is_cheap
    assert key.label is not None
    assert key.label(3) == "Metadata"


WRONG = [
    # name, names that are near, what else is said
    ("latncy", ["latency", "latency_ns"], ""),
    ("kafka.Fecth", ["kafka.Fetch"], ""),
    ("kafka.topik", ["kafka.topic"], ""),
    ("kafka.Fetch.request.topics.topc", ["kafka.Fetch.request.topics.topic"], ""),
    ("kafka.Fetch.request.Topics.topic", ["kafka.Fetch.request.topics.topic"], ""),
    ("kafka.Fetch.partition", ["kafka.Fetch.request.topics.partitions.partition"], ""),
    ("kafka.Fetch.request.throttleTimeMs", [], "kafka.Fetch.request has"),
    ("kafka.Fetch.request.maxWaitMs.x", [], ""),
    ("kafka.Fetch.", [], ""),
    ("kafka..topics", [], ""),
    ("qqqqqq", [], "wireanalyze fields lists all fields."),
    ("unknown.x", [], ""),
    ("", [], ""),
]


@pytest.mark.parametrize(("name", "close", "said"), WRONG)
def test_a_name_that_means_nothing_says_what_may_be_meant(name: str, close: list[str], said: str) -> None:
    with pytest.raises(UnknownField) as caught:
        find_field(name)
    assert set(close) <= set(caught.value.near), caught.value.near
    assert all(find_field(each) for each in caught.value.near)
    assert said in str(caught.value)
    assert f"There is no field {name}" in str(caught.value)


def test_names_that_are_near() -> None:
    assert find_near("topc", ["topic", "topics", "group"]) == ["topic", "topics"]
    assert find_near("TOPIC", ["topic", "group"]) == ["topic"]
    assert find_near("correlation", ["kafka.correlation_id", "x"]) == ["kafka.correlation_id"]
    assert find_near("x", ["xyz", "abc"]) == []
    assert len(find_near("name", [f"name{number}" for number in range(50)])) == 3


def test_all_names_have_the_word_in_them_and_mean_something() -> None:
    found = list(list_fields("topicId"))
    assert len(found) > 20
    for field in found:
        assert "topicid" in field.name.lower()
        assert find_field(field.name).origin == field.origin
