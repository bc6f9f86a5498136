"""FieldAliases from a table: where names stand among the members of an operation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dissectors import registry
from dissectors.api import Context, Role
from dissectors.catalog import Member
from dissectors.wire.field_aliases import aliases_of, load_field_aliases

STAT = (Member("version", "int"), Member("path", "string"))
MEMBERS = (
    Member("path", "string"),
    Member("stat", "struct", members=lambda: STAT),
    Member("data", "bytes", members=lambda: (Member("path", "string"),)),
    Member("body", "json_object", open=True),
)
ROWS = [
    {"name": "path", "type": "string", "fields": ["path"], "inherited": True, "about": "paths"},
    {"name": "version", "type": "int", "fields": ["stat.version"], "about": "versions"},
    {"name": "group", "type": "string", "paths": {"get": ["body.group", "header.group"]}, "about": "groups"},
    {"name": "session", "type": "string", "key": "client", "about": "sessions"},
]


def members_of(role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
    return ("get", MEMBERS) if code == 1 else (None, ())


def test_names_are_found_at_the_end_of_paths() -> None:
    found = {each.name: each for each in load_field_aliases(ROWS, members_of)}
    where = {name: each.paths(Context(Role.REQUEST, 1)) for name, each in found.items()}
    assert where == {
        "path": (("path",), ("stat", "path"), ("data", "path")),
        "version": (("stat", "version"),),
        "group": (("body", "group"),),
    }
    assert [each.inherited for each in found.values()] == [True, False, False]
    assert all(each.paths(Context(Role.REQUEST, 2)) == () for each in found.values())


def test_a_key_of_the_row_is_an_alias() -> None:
    (alias,) = aliases_of("zoo", ROWS).values()
    assert (alias.name, alias.key, alias.paths) == ("zoo.session", "client", None)


REAL = [
    ("zookeeper", "path", Role.REQUEST, 4, "path"),
    ("zookeeper", "path", Role.REQUEST, 14, "operations.path"),
    ("zookeeper", "path", Role.PUSH, 0, "path"),
    ("zookeeper", "path", Role.RESPONSE, 4, ""),
    ("zookeeper", "event", Role.PUSH, 0, "type"),
    ("zookeeper", "event", Role.REQUEST, 18, ""),
    ("zookeeper-quorum", "path", Role.ONEWAY, None, "nodes.path"),
    ("zookeeper-quorum", "zxid", Role.REQUEST, 2, "zxid data.value.header.zxid"),
    ("pulsar", "topic", Role.REQUEST, 5, "topic"),
    ("pulsar", "topic", Role.REQUEST, 6, ""),
    ("pulsar", "producer", Role.REQUEST, 6, "metadata.producer_name"),
    ("rocketmq", "topic", Role.REQUEST, 310, "header.topic"),
    ("rocketmq", "topic", Role.RESPONSE, 11, "body.messages.topic"),
    ("rocketmq", "group", Role.REQUEST, 34, "body.consumerDataSet.groupName body.producerDataSet.groupName"),
    ("rocketmq", "group", Role.RESPONSE, 34, "body.consumerDataSet.groupName body.producerDataSet.groupName"),
]


@pytest.mark.parametrize(("protocol", "name", "role", "code", "paths"), REAL, ids=str)
def test_where_real_ones_stand(protocol: str, name: str, role: Role, code: int | None, paths: str) -> None:
    catalog = registry.by_name(protocol).catalog
    assert catalog is not None
    (short,) = (each for each in catalog.field_aliases() if each.name == name)
    assert sorted(map(".".join, short.paths(Context(role, code)))) == sorted(paths.split())
