"""FieldAliases stand where people mean them: by entity in all versions, by name and type, and within structures."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.kafka.catalog.field_aliases import field_aliases
from dissectors.kafka.schemas import apis

ASKED, ANSWERED = Role.REQUEST, Role.RESPONSE
REPLICAS = " topics.partitions.replicaNodes topics.partitions.isrNodes"
CASES = [
    ("topic", "Fetch", 12, ASKED, "topics.topic forgottenTopicsData.topic"),
    ("topic", "Fetch", 17, ASKED, ""),
    ("topic", "Metadata", 12, ANSWERED, "topics.name"),
    ("topic", "AlterReplicaLogDirs", 2, ANSWERED, "results.topicName"),
    ("topic", "ConsumerGroupHeartbeat", 1, ASKED, "subscribedTopicNames"),
    ("topic", "SaslHandshake", 1, ASKED, ""),
    ("partition", "Fetch", 12, ASKED, "topics.partitions.partition forgottenTopicsData.partitions"),
    ("partition", "OffsetFetch", 8, ASKED, "groups.topics.partitionIndexes"),
    ("offset_of_nothing", "Fetch", 12, ASKED, None),
    ("group", "FindCoordinator", 0, ASKED, "key"),
    ("group", "FindCoordinator", 2, ASKED, ""),
    ("group", "OffsetFetch", 8, ANSWERED, "groups.groupId"),
    ("group", "ReadShareGroupState", 0, ASKED, "groupId"),
    ("transaction", "AddPartitionsToTxn", 5, ASKED, "transactions.transactionalId"),
    ("producer", "Produce", 8, ASKED, "topicData.partitionData.records.producerId"),
    ("broker", "LeaderAndIsr", 1, ANSWERED, ""),
    ("broker", "FindCoordinator", 2, ANSWERED, "nodeId"),
    ("broker", "Metadata", 0, ANSWERED, "brokers.nodeId topics.partitions.leaderId" + REPLICAS),
    ("throttle", "Produce", 0, ANSWERED, ""),
    ("throttle", "Produce", 1, ANSWERED, "throttleTimeMs"),
    ("topic", "ConsumerGroupHeartbeat", 99, ASKED, "subscribedTopicNames"),
]


@pytest.mark.parametrize(("name", "api", "version", "role", "paths"), CASES, ids=str)
def test_where_it_stands(name: str, api: str, version: int, role: Role, paths: str | None) -> None:
    key = next(each.key for each in apis().values() if each.name == api)
    found = [short for short in field_aliases() if short.name == name]
    if paths is None:
        assert not found
        return
    (short,) = found
    assert sorted(map(".".join, short.paths(Context(role, key, version)))) == sorted(paths.split())


def test_what_members_of_groups_hold_counts_as_theirs() -> None:
    (topic,) = (short for short in field_aliases() if short.name == "topic")
    inside = {".".join(path) for path in topic.paths(Context(Role.REQUEST, 11, 5))}
    assert inside >= {"protocols.metadata.value.ownedPartitions.topic", "protocols.metadata.value.topics"}


PLACES = [
    ("group", "FindCoordinator", 2, ASKED, "key keyType=0"),
    ("transaction", "FindCoordinator", 5, ASKED, "coordinatorKeys keyType=1"),
    ("group", "FindCoordinator", 5, ANSWERED, ""),
    ("topic", "DescribeConfigs", 4, ANSWERED, "results.resourceName resourceType=2"),
    ("group", "IncrementalAlterConfigs", 1, ASKED, "resources.resourceName resourceType=32"),
    ("topic", "DescribeAcls", 3, ANSWERED, ""),
    ("topic", "Fetch", 12, ASKED, ""),
]


@pytest.mark.parametrize(("name", "api", "version", "role", "places"), PLACES, ids=str)
def test_places_that_depend_on_a_discriminator(name: str, api: str, version: int, role: Role, places: str) -> None:
    key = next(each.key for each in apis().values() if each.name == api)
    (short,) = (each for each in field_aliases() if each.name == name)
    assert short.places is not None
    found = short.places(Context(role, key, version))
    assert " ".join(f"{'.'.join(each.path)} {each.discriminator}={each.number}" for each in found) == places
    assert all(each.discriminator_path == (*each.path[:-1], each.discriminator) for each in found)


def test_what_stands_for_none_is_reported() -> None:
    nothing = {short.name: short.nothing for short in field_aliases() if short.nothing}
    assert nothing == {
        "topic": {"AAAAAAAAAAAAAAAAAAAAAA"},
        **dict.fromkeys(("generation", "producer", "broker"), frozenset((-1,))),
    }
