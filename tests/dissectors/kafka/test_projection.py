"""A pick reads what values() reads, at any paths, of whole frames, cut and broken ones; or it says that it cannot."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.schemas import apis
from dissectors.message import Path
from dissectors.wire import projection as picks
from tests.dissectors.kafka.nested.structured import FETCH, OTHER_ID, batched, fetched
from tests.dissectors.kafka.test_properties import FRAMES
from tests.dissectors.kafka.truth import Frame
from tests.dissectors.picking import paths_in, picked_alike

KAFKA = Kafka()


def known_paths(context: Context) -> list[Path]:
    """What messages of this kind have, as far as whole ones among the frames tell, and a few that nothing has."""
    found = _KNOWN.get((context.code, context.version, context.role is Role.RESPONSE), ())
    return [*found, ("nothing",), ("topics", "nothing"), ("_rest",)]


_KNOWN: dict[Any, dict[Path, None]] = {}
for _frame in FRAMES:
    _context = _frame.context
    _kind = (_context.code, _context.version, _context.role is Role.RESPONSE)
    _KNOWN.setdefault(_kind, {}).update(dict.fromkeys(paths_in(KAFKA.values(_frame.data, _context).values)))


some_frames = st.sampled_from(FRAMES)


@given(some_frames, st.data())
def test_any_paths_of_whole_frames(frame: Frame, data: st.DataObject) -> None:
    known = known_paths(frame.context)
    paths = frozenset(data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=4)))
    picked_alike(KAFKA, frame.data, frame.context, paths)


@given(some_frames, st.data())
def test_any_cut(frame: Frame, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(known_paths(frame.context)))
    cut = frame.data[: data.draw(st.integers(0, len(frame.data)))]
    picked_alike(KAFKA, cut, frame.context, frozenset({path}))


@given(some_frames, st.data())
def test_any_damage(frame: Frame, data: st.DataObject) -> None:
    paths = frozenset(data.draw(st.lists(st.sampled_from(known_paths(frame.context)), min_size=1, max_size=3)))
    content = bytearray(frame.data)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(4, max(len(content), 4)))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    picked_alike(KAFKA, bytes(content), frame.context, paths)


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
