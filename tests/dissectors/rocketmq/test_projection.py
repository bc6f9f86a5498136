"""A pick reads what values() reads, of whole frames, cut ones, and broken ones; or it says that it cannot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.report import REPORTED
from dissectors.rocketmq import RocketMQ
from tests.dissectors.picking import paths_in, picked_alike
from tests.dissectors.rocketmq.test_properties import FRAMES, SMALL
from tests.dissectors.rocketmq.truth import Frame

ROCKETMQ = RocketMQ()
TYPED = [frame for frame in SMALL if "header" in ROCKETMQ.values(frame.data, frame.context).values]


def asked(frame: Frame, data: st.DataObject) -> frozenset[tuple[str, ...]]:
    known = [path for path in paths_in(ROCKETMQ.values(frame.data, frame.context).values) if path[0] == "header"]
    return frozenset(data.draw(st.lists(st.sampled_from([*known, ("header", "nothing")]), min_size=1, max_size=3)))


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)
def test_a_header(frame: Frame) -> None:
    values = ROCKETMQ.values(frame.data, frame.context).values
    paths = frozenset(path for path in paths_in(values) if path[0] == "header")
    assert picked_alike(ROCKETMQ, frame.data, frame.context, paths or frozenset([("header",)])) is ("header" in values)
    assert not picked_alike(ROCKETMQ, frame.data, frame.context, frozenset([*paths, ("body",)]))


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(TYPED), st.data())
def test_any_cut(frame: Frame, data: st.DataObject) -> None:
    content = frame.data[: data.draw(st.integers(0, len(frame.data)))]
    picked_alike(ROCKETMQ, content, frame.context, asked(frame, data))


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(TYPED), st.data())
def test_any_damage(frame: Frame, data: st.DataObject) -> None:
    content = bytearray(frame.data)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(4, len(content)))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    content[:4] = (len(content) - 4).to_bytes(4)
    picked_alike(ROCKETMQ, bytes(content), frame.context, asked(frame, data))


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)
def test_the_error_that_a_frame_reports(frame: Frame) -> None:
    """With fields of the header or without; a body is not looked at."""
    body = ROCKETMQ.values(frame.data, frame.context)
    for paths in ({REPORTED}, {REPORTED, ("header", "topic")}):
        pick = ROCKETMQ.projection(frame.context, frozenset(paths))
        assert pick is not None or "header" not in body.values
        found = None if pick is None else pick(frame.data)
        assert found is None or found[REPORTED[0]] == body.error
    assert ROCKETMQ.projection(frame.context, frozenset({REPORTED, ("body",)})) is None
