"""A pick reads what values() reads, at any paths, of whole frames, cut and broken ones; or it says that it cannot."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.schemas import apis
from dissectors.wire import projection as picks
from tests.dissectors.kafka.nested.structured import FETCH, OTHER_ID, batched, fetched
from tests.dissectors.kafka.test_properties import FRAMES
from tests.dissectors.kafka.truth import Frame
from tests.dissectors.picking import picked_alike

KAFKA = Kafka()


def first(name: str, version: int, response: bool, size: int = 40) -> Frame:
    """A whole frame of an API in a version, that has something in it."""
    key = next(api.key for api in apis().values() if api.name == name)
    wanted = (key, version, response)
    known = (
        frame
        for frame in FRAMES
        if (frame.context.code, frame.context.version, frame.context.role is Role.RESPONSE) == wanted
    )
    return next(frame for frame in known if len(frame.data) > size)


PICKED = [
    ("Fetch", 12, False, "maxWaitMs"),
    ("Fetch", 12, False, "topics.topic"),
    ("Fetch", 17, True, "responses.partitions.highWatermark"),
    ("Metadata", 12, True, "topics.partitions.leaderId"),
    ("Metadata", 9, False, "topics.name"),
    ("OffsetCommit", 2, False, "groupId"),
    ("LeaderAndIsr", 7, False, "topicStates.partitionStates.leader"),
    ("JoinGroup", 5, False, "groupId"),
    ("InitProducerId", 3, False, "transactionalId"),
]


@pytest.mark.parametrize(("name", "version", "response", "path"), PICKED, ids=str)
def test_cut_at_every_byte(name: str, version: int, response: bool, path: str) -> None:
    """What is there as soon as its bytes are; before that, values() tells."""
    frame = first(name, version, response)
    paths = frozenset({tuple(path.split("."))})
    done = [picked_alike(KAFKA, frame.data[:stop], frame.context, paths) for stop in range(len(frame.data) + 1)]
    assert done == sorted(done)
    assert done[-1]


LEFT = [
    ("records", "Fetch", 12, True, "responses.partitions.records"),
    ("around records", "Produce", 8, False, "topicData.partitionData"),
    ("in records", "Produce", 8, False, "topicData.partitionData.records.records.key"),
    ("bytes that hold something", "JoinGroup", 5, False, "protocols.metadata"),
    ("in such bytes", "JoinGroup", 5, False, "protocols.metadata.value.topics"),
    ("unknown tags", "Metadata", 12, True, "topics._unknownTaggedFields"),
    ("what is behind the body", "Metadata", 12, True, "_rest"),
    ("a delicate message", "CreateDelegationToken", 2, True, "errorCode"),
    ("an envelope", "Envelope", 0, False, "requestPrincipal"),
    ("two layouts", "ConsumerGroupHeartbeat", 0, False, "groupId"),
    ("a version by its bytes", "ApiVersions", 3, True, "apiKeys.apiKey"),
    ("a newer version", "Metadata", 15, True, "topics.name"),
    ("a version of nobody", "Metadata", 99, True, "topics.name"),
]


@pytest.mark.parametrize(("why", "name", "version", "response", "path"), LEFT, ids=str)
def test_what_is_left_to_values(why: str, name: str, version: int, response: bool, path: str) -> None:
    key = next(api.key for api in apis().values() if api.name == name)
    context = Context(Role.RESPONSE if response else Role.REQUEST, key, version)
    assert KAFKA.projection(context, frozenset({tuple(path.split("."))})) is None, why


@pytest.mark.parametrize(
    "context", [Context(Role.RAW), Context(Role.RESPONSE), Context(Role.REQUEST, 4711, 0)], ids=str
)
def test_nothing_is_picked_of_what_is_unknown(context: Context) -> None:
    assert KAFKA.projection(context, frozenset({("topics", "name")})) is None


@pytest.mark.parametrize(("compression", "is_picked"), [(0, True), (1, False), (4, False)])
def test_what_is_around_compressed_records_is_left(compression: int, is_picked: bool) -> None:
    """Decompressed, they may be more than a tree takes, and then values() ends before what follows them."""
    frame = bytearray(fetched(OTHER_ID, batched([(b"k", b"v")])))
    magic = bytes(frame).rindex(b"\0\0\0\3\2")  # behind the epoch of the leader
    frame[magic + 10] |= compression
    assert (
        picked_alike(KAFKA, bytes(frame), FETCH, frozenset({("responses", "partitions", "highWatermark")})) is is_picked
    )


def test_a_long_message_is_picked_only_where_its_length_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picks, "LONGEST", 40)
    frame = first("Fetch", 12, False)
    assert picked_alike(KAFKA, frame.data, frame.context, frozenset({("maxWaitMs",)}))
    assert not picked_alike(KAFKA, frame.data, frame.context, frozenset({("topics", "topic")}))
