"""Real layouts, hostile bytes: cuts and mutations of the vendor's own frames."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.labels import error_name
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from tests.dissectors.damage import damage
from tests.dissectors.kafka.nested.structured import (
    FETCH,
    METADATA_ID,
    OTHER_ID,
    PRODUCE,
    batched,
    both,
    fetched,
    held,
    produce,
)
from tests.dissectors.kafka.nested.test_structures import GROUPS, METADATA_REQUEST, PRINCIPAL, answered, envelope
from tests.dissectors.kafka.truth import GOLDEN, Frame, faults, frames
from tests.dissectors.trees import assert_tiles
from tests.effort import within

KAFKA = Kafka()
HELD = list(held())
TOPICS = sorted({each.topic or "orders" for each in HELD})
INNER = {"innerCode": "18", "innerVersion": "0"}
STRUCTURED = [
    *((frame, context) for _, frame, context, *_ in GROUPS),
    *(
        (produce(topic.encode(), batched([each.pair for each in HELD if each.topic == topic])), PRODUCE)
        for topic in TOPICS
    ),
    (produce(b"t", batched([each.pair for each in HELD if each.topic is None], 0x20)), PRODUCE),
    (fetched(METADATA_ID, batched([each.pair for each in HELD if each.topic == "__cluster_metadata"])), FETCH),
    (fetched(OTHER_ID, batched([each.pair for each in HELD if each.topic == "__transaction_state"])), FETCH),
    (envelope(METADATA_REQUEST, PRINCIPAL), Context(Role.REQUEST, 58, 0)),
    (answered(b"\0\0\0\5\0\x23" + bytes(4)), Context(Role.RESPONSE, 58, 0, INNER)),
]
FRAMES = list(frames(GOLDEN)) + [Frame("structured", data, context, {}) for data, context in STRUCTURED] * 20
"""The vendor's frames; those with structures in them are few, so each is there twenty times."""


SHORTEST = {(each.context.code, each.context.role): each for each in sorted(FRAMES, key=lambda each: -len(each.data))}
"""The shortest frame of each operation and direction."""


def assert_one_finding(frame: Frame, end: int) -> None:
    cut = frame.data[:end]
    tree = KAFKA.tree(cut, frame.context)
    assert_tiles(tree)
    assert [finding.code for finding in tree.findings] == ["malformed-body"]
    assert fold_tree(tree, error_name) == KAFKA.values(cut, frame.context)


@given(st.sampled_from(FRAMES), st.data())
def test_a_cut_gives_one_finding(frame: Frame, data: st.DataObject) -> None:
    assert_one_finding(frame, data.draw(st.integers(0, len(frame.data) - 1)))


def test_each_operation_cut_at_each_byte_and_with_bytes_behind_it() -> None:
    assert len(SHORTEST) == 190
    for frame in SHORTEST.values():
        for end in range(len(frame.data)):
            assert_one_finding(frame, end)
        content = frame.data[4:] + b"\0\0\0"
        longer = len(content).to_bytes(4) + content
        body, tree = KAFKA.values(longer, frame.context), KAFKA.tree(longer, frame.context)
        assert [finding.code for finding in faults(body.findings)] == ["trailing-bytes"], frame.name
        assert body.values["_rest"] in (bytes(3), Secret(bytes(3))), frame.name
        assert tree.fields[-1].spec.name == "_rest"
        assert_tiles(tree)


@given(st.sampled_from(FRAMES), st.data())
def test_a_mutation_never_raises_and_is_read_alike_both_ways(frame: Frame, data: st.DataObject) -> None:
    broken = damage(frame.data, data)
    with within(10):  # far more than it takes: no loop without end
        tree = KAFKA.tree(broken, frame.context)
        body = KAFKA.values(broken, frame.context)
        KAFKA.info(body, frame.context)
        KAFKA.header(broken[:512], frame.context.role is Role.REQUEST)
    assert_tiles(tree)
    assert fold_tree(tree, error_name) == body or "nan" in repr(body), "NaN is not even equal to itself"


@given(st.data())
def test_records_of_any_topic_are_read_alike_both_ways(data: st.DataObject) -> None:
    """What the checksum would hide from a mutation of the frame: keys and values that nearly fit."""
    pairs = [data.draw(st.sampled_from(HELD)).pair for _ in range(data.draw(st.integers(1, 3)))]
    some = [(damaged(data, key), damaged(data, value)) for key, value in pairs]
    content = batched(some, data.draw(st.sampled_from((0, 0, 0x20))))
    topic = data.draw(st.sampled_from(TOPICS))
    assert faults(both(produce(topic.encode(), content), PRODUCE)[0].findings) == []
    for number in (METADATA_ID, OTHER_ID):
        assert faults(both(fetched(number, content * data.draw(st.integers(1, 2))), FETCH)[0].findings) == []


def damaged(data: st.DataObject, content: bytes | None) -> bytes | None:
    if content is None or data.draw(st.booleans()):
        return content
    at = data.draw(st.integers(0, len(content)))
    return content[:at] + data.draw(st.binary(max_size=2)) + content[at + data.draw(st.integers(0, 2)) :]
