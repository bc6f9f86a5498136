"""Frames of both protocols: how long they are, in whatever portions they come, and which protocol they tell."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.rocketmq.ha.frames import MAXIMUM, HAFrame, HAFramer, HAProtocol, read_head, recognise_protocol
from tests.dissectors.rocketmq.ha.frames import (
    answer,
    controlled_report,
    controlled_transfer,
    greeting,
    greeting_of_5_0,
    placed,
    report,
    transfer,
)
from tests.dissectors.window import Bytes

GIB = 1 << 30
LOG = placed(0, b"one", b"two")
EPOCHS = [(1, 0), (3, 4096)]

STREAMS = {
    "reports": (True, HAProtocol.CLASSIC, [report(0), report(400), report(400)]),
    "reports from 4 GiB on": (
        True,
        HAProtocol.CLASSIC,
        [report(4 * GIB), report(4 * GIB + 1), report(4 * GIB + 70_000)],
    ),
    "reports from 8 GiB on": (True, HAProtocol.CLASSIC, [report(8 * GIB + 5), report(8 * GIB + 70_000)]),
    "transfers": (False, HAProtocol.CLASSIC, [transfer(0, LOG), transfer(len(LOG)), transfer(len(LOG), LOG)]),
    "transfers from 4 GiB on": (False, HAProtocol.CLASSIC, [transfer(4 * GIB + 24, placed(4 * GIB + 24, b"x"))]),
    "transfers from 8 GiB on": (False, HAProtocol.CLASSIC, [transfer(8 * GIB + 24, placed(8 * GIB + 24, b"x"))]),
    "a slave with an id": (True, HAProtocol.CONTROLLED, [greeting(), controlled_report(0), controlled_report(77)]),
    "a slave with flags": (True, HAProtocol.CONTROLLED, [greeting(7, 1, 1), controlled_report(0)]),
    "a slave of 5.0": (True, HAProtocol.CONTROLLED, [greeting_of_5_0(), controlled_report(0)]),
    "a master": (
        False,
        HAProtocol.CONTROLLED,
        [answer(9, EPOCHS), controlled_transfer(-1), controlled_transfer(0, LOG)],
    ),
    "a master of 5.0": (False, HAProtocol.CONTROLLED, [answer(9, EPOCHS, of_5_0=True), controlled_transfer(0, LOG)]),
    "a master without epochs": (False, HAProtocol.CONTROLLED, [answer(0, []), controlled_transfer(-1)]),
}


def lengths(stream: bytes, from_slave: bool, step: int, opening: bool = True) -> list[int]:
    """What is told of a stream that comes in steps."""
    framer, found, begin, end = HAFramer(from_slave, opening), [], 0, 0
    while begin < len(stream):
        framer = pickle.loads(pickle.dumps(framer))
        size = framer.length(Bytes(stream[begin:end]), end == len(stream))
        assert size
        if 0 < size <= end - begin:
            found.append(size)
            begin += size
        else:
            assert end < len(stream), "it waits for what never comes"
            assert size > 0 or -size > end - begin
            end = min(end + step, len(stream))
    return found


@pytest.mark.parametrize("step", [1, 7, 100_000])
@pytest.mark.parametrize(("from_slave", "kind", "frames"), STREAMS.values(), ids=STREAMS)
def test_lengths(from_slave: bool, kind: HAProtocol, frames: list[bytes], step: int) -> None:
    stream = b"".join(frames)
    assert lengths(stream, from_slave, step) == list(map(len, frames))
    assert recognise_protocol(stream[:72], from_slave) is kind


@pytest.mark.parametrize("step", [1, 12, 100_000])
@pytest.mark.parametrize(("from_slave", "kind", "frames"), STREAMS.values(), ids=STREAMS)
def test_lengths_of_what_begins_late(from_slave: bool, kind: HAProtocol, frames: list[bytes], step: int) -> None:
    late = frames[1:] or frames
    assert lengths(b"".join(late), from_slave, step, opening=False) == list(map(len, late))


REFUSED = {
    "a negative offset": (report(-1), True, HAProtocol.CLASSIC),
    "an offset beyond any log": (report(1 << 47), True, HAProtocol.CLASSIC),
    "a negative size": (b"\0" * 8 + b"\xff" * 4, False, HAProtocol.CLASSIC),
    "a size beyond what a slave can read": (bytes(8) + MAXIMUM.to_bytes(4), False, HAProtocol.CLASSIC),
    "no state": (bytes(36), False, HAProtocol.CONTROLLED),
    "a state that is never sent": (b"\0\0\0\3" + bytes(32), True, HAProtocol.CONTROLLED),
    "half an epoch": (b"\0\0\0\1\0\0\0\7" + bytes(40), False, HAProtocol.CONTROLLED),
    "more epochs than a master has room for": (b"\0\0\0\1\0\0\x2e\xec" + bytes(40), False, HAProtocol.CONTROLLED),
    "a flag of 2": (b"\0\0\0\1\0\2" + bytes(10), True, HAProtocol.CONTROLLED),
    "an address too long": (b"\0\0\0\1\0\0\0\0\0\0\0\x33" + b"a" * 51, True, HAProtocol.CONTROLLED),
    "an address too short": (b"\0\0\0\1\0\0\0\0\0\0\0\1" + b"a", True, HAProtocol.CONTROLLED),
    "a huge transfer": (b"\0\0\0\2\x7f\xff\xff\xff" + bytes(28), False, HAProtocol.CONTROLLED),
    "an epoch below none": (b"\0\0\0\2" + bytes(12) + b"\xff\0\0\0" + bytes(16), False, HAProtocol.CONTROLLED),
}


@pytest.mark.parametrize(("data", "from_slave", "kind"), REFUSED.values(), ids=REFUSED)
def test_refused(data: bytes, from_slave: bool, kind: HAProtocol) -> None:
    assert read_head(data, from_slave, kind) == 0


@given(st.binary(max_size=80), st.booleans(), st.sampled_from(HAProtocol), st.booleans())
def test_any_bytes(data: bytes, from_slave: bool, kind: HAProtocol, ended: bool) -> None:
    found = read_head(data, from_slave, kind, ended)
    if isinstance(found, HAFrame):
        assert 0 < found.size <= MAXIMUM + 36
        assert read_head(data[: found.form.size + 4], from_slave, kind, ended=True) == found
    else:
        assert found == 0 or -found > len(data)
    recognise_protocol(data, from_slave, ended=ended)
