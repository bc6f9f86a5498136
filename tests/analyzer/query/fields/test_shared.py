"""A name without a protocol in front means the field of every protocol, wherever a field can be named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.statistics import statistics
from analyzer.query.fields.catalog import UnknownField, find_field, list_fields, list_shared_names
from analyzer.query.fields.path import FieldKind, SharedField
from analyzer.query.fields.reading import FieldReader
from analyzer.query.filter import compile_filter
from analyzer.query.ordering import parse_sort_keys, sort_rows
from analyzer.session import Session

MIXED = Path(__file__).parents[4] / "captures" / "mixed.pcapng"
PARTS = {
    "topic": ["kafka.topic", "pulsar.topic", "rocketmq.topic"],
    "group": ["kafka.group", "rocketmq.group"],
    "path": ["zookeeper.path", "zookeeper-quorum.path"],
    "topics": ["kafka.topic", "pulsar.topic", "rocketmq.topic"],
    "groups": ["kafka.group", "pulsar.subscription", "rocketmq.group"],
}


@pytest.mark.parametrize("name", PARTS)
def test_the_values_are_those_of_each_protocol(name: str) -> None:
    field = find_field(name)
    assert isinstance(field.origin, SharedField)
    assert [each.name for each in field.origin.fields] == PARTS[name]
    with Session([MIXED]).load() as session:
        reader, rows = RowReader(session), np.arange(len(session.rows))
        found = FieldReader(reader, [field]).read_by_row(field, rows)
        for part in field.origin.fields:
            mine = FieldReader(reader, [part]).read_by_row(part, rows)
            assert all(list(whole) == list(own) for whole, own in zip(found, mine, strict=True) if own)
            assert any(mine)
        assert sum(map(bool, found)) == int(compile_filter(name, {}).select_rows(reader, rows).size)


def test_filters_groups_and_orders_take_them() -> None:
    with Session([MIXED]).load() as session:
        reader, rows = RowReader(session), np.arange(len(session.rows))
        either = compile_filter("topic == rmq_sys_SYNC_BROKER_MEMBER_broker-a or path == /kz", {})
        chosen = either.select_rows(reader, rows)
        assert set(reader.read_column("protocol", chosen).values()) == {"rocketmq", "zookeeper"}
        groups = {group.key[0]: group.metrics.messages for group in statistics(reader, ["topic"]).groups}
        assert groups["rmq_sys_SYNC_BROKER_MEMBER_broker-a"] == len(
            compile_filter("topic == rmq_sys_SYNC_BROKER_MEMBER_broker-a", {}).select_rows(reader, rows)
        )
        last = sort_rows(reader, rows, parse_sort_keys("-topic"))[0]
        topic_field = find_field("topic")
        assert FieldReader(reader, [topic_field]).read_by_row(topic_field, np.array([last]))[0][0] == max(
            topic for topic in groups if topic is not None
        )


def test_kinds_that_differ_are_any() -> None:
    assert find_field("key").kind is FieldKind.ANY  # bytes of Kafka, texts of Pulsar and RocketMQ
    assert find_field("topic").kind is FieldKind.TEXT


def test_those_of_several_protocols_are_listed() -> None:
    assert (
        {*PARTS, "key", "transaction"}
        <= set(list_shared_names())
        <= {field.name for field in list_fields("") if "." not in field.name}
    )


@pytest.mark.parametrize(("name", "near"), [("topicc", "topic"), ("Fetch", "kafka.Fetch"), ("getdata", "zookeeper")])
def test_what_is_no_name_is_reported_with_one_that_is(name: str, near: str) -> None:
    with pytest.raises(UnknownField, match=near):
        find_field(name)
