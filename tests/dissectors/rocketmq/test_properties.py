"""Real messages, cut and broken: trees tile, both ways read alike, nothing raises, nothing takes long."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Role
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from tests.dissectors.damage import damage
from tests.dissectors.rocketmq.truth import Frame, captured
from tests.dissectors.trees import assert_tiles
from tests.effort import within

ROCKETMQ = RocketMQ()
pytestmark = pytest.mark.xdist_group("captured")
CUTS = 150
TOKENS = (b"{", b"}", b"[", b'"', b"'", b",", b":", b"\\", b"1e999", b"null", b"\xff", b"\0", b"\x01")


def small() -> list[Frame]:
    return [frame for frame in captured() if len(frame.data) < 3000]


def test_messages_of_all_kinds() -> None:
    assert len({frame.context.code for frame in captured()}) > 30
    assert {frame.data[4] for frame in captured()} == {0, 1}
    for frame in captured():
        tree = ROCKETMQ.tree(frame.data, frame.context)
        assert_tiles(tree)
        body = ROCKETMQ.values(frame.data, frame.context)
        assert fold_tree(tree, frame.context) == body, frame.name
        assert "\n" not in ROCKETMQ.info(body, frame.context)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(32))
def test_a_cut_gives_one_finding(part: int) -> None:
    for frame in small()[part::32]:
        assert_cuts_give_one_finding(frame)


def assert_cuts_give_one_finding(frame: Frame) -> None:
    ends = range(len(frame.data))
    for end in ends if len(ends) < CUTS else Random(len(ends)).sample(ends, CUTS):
        cut = frame.data[:end]
        tree = ROCKETMQ.tree(cut, frame.context)
        assert_tiles(tree)
        assert [finding.code for finding in tree.findings] == ["malformed-body"], end
        assert fold_tree(tree, frame.context) == ROCKETMQ.values(cut, frame.context)
        asks = frame.context.role is not Role.RESPONSE
        assert ROCKETMQ.header(cut, asks).operation in (None, ROCKETMQ.header(frame.data, asks).operation)


@given(st.deferred(lambda: st.sampled_from(small())), st.data())
def test_a_mutation_never_raises_and_is_read_alike_both_ways(frame: Frame, data: st.DataObject) -> None:
    broken = damage(frame.data, data, pieces=st.binary(max_size=4) | st.sampled_from(TOKENS))
    if data.draw(st.booleans()) and len(broken) >= 4:
        broken = (len(broken) - 4).to_bytes(4) + broken[4:]
    with within(10):  # far more than it takes: no loop without end
        tree, body = ROCKETMQ.tree(broken, frame.context), ROCKETMQ.values(broken, frame.context)
        ROCKETMQ.info(body, frame.context)
        for from_client in (True, False):
            ROCKETMQ.header(broken, from_client)
            ROCKETMQ.probe(broken[:512], from_client)
    assert_tiles(tree)
    assert fold_tree(tree, frame.context) == body or "nan" in repr(body), "NaN is not even equal to itself"
