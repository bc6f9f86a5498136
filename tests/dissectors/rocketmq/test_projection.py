"""What a projection picks of RocketMQ's frames: headers and errors, and never a body."""

from __future__ import annotations

import pytest

from dissectors.report import REPORTED
from dissectors.rocketmq import RocketMQ
from tests.dissectors.picking import paths_in, picked_alike
from tests.dissectors.rocketmq.truth import captured

ROCKETMQ = RocketMQ()
pytestmark = pytest.mark.xdist_group("captured")


def test_headers() -> None:
    for frame in captured():
        values = ROCKETMQ.values(frame.data, frame.context).values
        paths = frozenset(path for path in paths_in(values) if path[0] == "header")
        picked = picked_alike(ROCKETMQ, frame.data, frame.context, paths or frozenset([("header",)]))
        assert picked is ("header" in values), frame.name
        assert not picked_alike(ROCKETMQ, frame.data, frame.context, frozenset([*paths, ("body",)])), frame.name


def test_the_error_that_a_frame_reports() -> None:
    """With fields of the header or without; a body is not looked at."""
    for frame in captured():
        body = ROCKETMQ.values(frame.data, frame.context)
        for paths in ({REPORTED}, {REPORTED, ("header", "topic")}):
            pick = ROCKETMQ.projection(frame.context, frozenset(paths))
            assert pick is not None or "header" not in body.values, frame.name
            found = None if pick is None else pick(frame.data)
            assert found is None or found[REPORTED[0]] == body.error, frame.name
        assert ROCKETMQ.projection(frame.context, frozenset({REPORTED, ("body",)})) is None, frame.name
