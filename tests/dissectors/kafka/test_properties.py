"""Real layouts, hostile bytes: cuts and mutations of the vendor's own frames."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Role
from dissectors.kafka import Kafka
from dissectors.kafka.labels import error_name
from dissectors.wire.message import folded
from tests.dissectors.kafka.truth import GOLDEN, Frame, frames
from tests.dissectors.trees import assert_tiles

KAFKA = Kafka()
FRAMES = list(frames(GOLDEN))


@given(st.sampled_from(FRAMES), st.data())
def test_a_cut_gives_one_finding(frame: Frame, data: st.DataObject) -> None:
    cut = frame.data[: data.draw(st.integers(0, len(frame.data) - 1))]
    tree = KAFKA.tree(cut, frame.context)
    assert_tiles(tree)
    assert [finding.code for finding in tree.findings] == ["malformed-body"]
    assert folded(tree, error_name) == KAFKA.values(cut, frame.context)


@given(st.sampled_from(FRAMES), st.data())
def test_a_mutation_never_raises_and_is_read_alike_both_ways(frame: Frame, data: st.DataObject) -> None:
    content = bytearray(frame.data)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        removed = data.draw(st.integers(0, 4))
        content[at : at + removed] = data.draw(st.binary(max_size=4))
    broken = bytes(content)
    began = time.process_time()
    tree = KAFKA.tree(broken, frame.context)
    body = KAFKA.values(broken, frame.context)
    KAFKA.info(body, frame.context)
    KAFKA.header(broken[:512], frame.context.role is Role.REQUEST)
    assert time.process_time() - began < 1
    assert_tiles(tree)
    assert folded(tree, error_name) == body or "nan" in repr(body), "NaN is not even equal to itself"
