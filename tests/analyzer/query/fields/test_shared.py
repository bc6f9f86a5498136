"""A name without a protocol in front means the field of every protocol, wherever a field can be named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import Rows
from analyzer.insight.statistics import statistics
from analyzer.query.fields.catalog import UnknownField, every, find, shared_names
from analyzer.query.fields.path import Kind, SharedField
from analyzer.query.fields.reading import Reading
from analyzer.query.filter import compiled
from analyzer.query.ordering import ordered, sort_keys
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
    field = find(name)
    assert isinstance(field.origin, SharedField)
    assert [each.name for each in field.origin.fields] == PARTS[name]
    with Session([MIXED]).load() as session:
        reader, rows = Rows(session), np.arange(len(session.rows))
        found = Reading(reader, [field]).by_row(field, rows)
        for part in field.origin.fields:
            mine = Reading(reader, [part]).by_row(part, rows)
            assert all(list(whole) == list(own) for whole, own in zip(found, mine, strict=True) if own)
            assert any(mine)
        assert sum(map(bool, found)) == int(compiled(name, {}).rows(reader, rows).size)


def test_filters_groups_and_orders_take_them() -> None:
    with Session([MIXED]).load() as session:
        reader, rows = Rows(session), np.arange(len(session.rows))
        chosen = compiled("topic == rmq_sys_SYNC_BROKER_MEMBER_broker-a or path == /kz", {}).rows(reader, rows)
        assert set(reader.column("protocol", chosen).values()) == {"rocketmq", "zookeeper"}
        groups = {group.key[0]: group.figures.messages for group in statistics(reader, ["topic"]).groups}
        assert groups["rmq_sys_SYNC_BROKER_MEMBER_broker-a"] == len(
            compiled("topic == rmq_sys_SYNC_BROKER_MEMBER_broker-a", {}).rows(reader, rows)
        )
        last = ordered(reader, rows, sort_keys("-topic"))[0]
        assert Reading(reader, [find("topic")]).by_row(find("topic"), np.array([last]))[0][0] == max(
            topic for topic in groups if topic is not None
        )


def test_kinds_that_differ_are_any() -> None:
    assert find("key").kind is Kind.ANY  # bytes of Kafka, texts of Pulsar and RocketMQ
    assert find("topic").kind is Kind.TEXT


def test_those_of_several_protocols_are_listed() -> None:
    assert (
        {*PARTS, "key", "transaction"}
        <= set(shared_names())
        <= {field.name for field in every("") if "." not in field.name}
    )


@pytest.mark.parametrize(("name", "near"), [("topicc", "topic"), ("Fetch", "kafka.Fetch"), ("getdata", "zookeeper")])
def test_what_is_no_name_is_told_with_one_that_is(name: str, near: str) -> None:
    with pytest.raises(UnknownField, match=near):
        find(name)
