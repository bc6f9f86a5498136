"""Frames of real servers with each byte changed, and cut at each byte: nothing raises, both ways agree, leaves tile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random

import pytest

from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.message import fold_tree
from tests.dissectors.rocketmq.truth import Frame, captured
from tests.dissectors.trees import assert_tiles

pytestmark = pytest.mark.xdist_group("captured")

ROCKETMQ = RocketMQ()
SHORT = 100
"""Bytes of a frame that is damaged at each of them; of longer ones a sample is."""

CHANGES = (0x01, 0x20, 0x80, 0xFF)
"""What is flipped: a count, the case of a letter, a sign, all."""


def damaged(data: bytes, places: range | list[int]) -> Iterator[bytes]:
    """A frame cut at each place, and with its byte changed there, in one way after the other."""
    for at, change in zip(places, cycle(CHANGES), strict=False):
        yield data[:at]
        yield data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]


def assert_alike(data: bytes, frame: Frame) -> None:
    tree, body = ROCKETMQ.tree(data, frame.context), ROCKETMQ.values(data, frame.context)
    assert_tiles(tree)
    again = fold_tree(tree, frame.context)
    assert again == body or repr(again) == repr(body), "NaN is not even equal to itself"
    assert [str(each) for each in again.findings] == [str(each) for each in body.findings]
    ROCKETMQ.info(body, frame.context)
    ROCKETMQ.header(data, True)


def test_a_sample() -> None:
    chance = Random(13)
    for frame in chance.sample(captured(), 80):
        for data in damaged(frame.data, chance.sample(range(len(frame.data)), min(len(frame.data), 4))):
            assert_alike(data, frame)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_every_byte(part: int) -> None:
    for frame in captured()[part::16]:
        size = len(frame.data)
        places = range(size) if size <= SHORT else Random(size).sample(range(size), SHORT)
        for data in damaged(frame.data, places):
            assert_alike(data, frame)
