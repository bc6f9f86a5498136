"""The fast path of ZooKeeper.header says the same, of the vendor's frames and of others, cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

from dissectors.api import MessageHeader, Role, State
from dissectors.pairing import Waiting
from dissectors.wire.fast_path import AnsweredRequests, HeaderView
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.conversation import ZooKeeperConversation
from dissectors.zookeeper.fast_path import FAST_PATH
from tests.dissectors.fast_paths import Message, looks, mutated, recorded

pytestmark = pytest.mark.xdist_group("fast_paths")

ZOOKEEPER = ZooKeeper()
SESSION = "0x1"


@cache
def frames() -> list[Message]:
    """All but four-letter words and their answers."""
    return [(data, side) for data, side in recorded("zookeeper") if int.from_bytes(data[:4]) == len(data) - 4]


def compare(messages: Sequence[Message], available: Sequence[int] | None = None) -> int:
    """How many the fast path was sure of: what it says of them is what look() says, and header()."""
    found = looks(FAST_PATH, messages, available)
    for look, (data, from_client) in zip(found, messages, strict=True):
        if look is not None:
            assert look.header == ZOOKEEPER.header(data, from_client), data[:40].hex()
            assert look == FAST_PATH.look(data, from_client)
    return sum(look is not None for look in found)


def test_recorded_messages() -> None:
    assert compare(frames()) > 0.8 * len(frames()) > 500


@pytest.mark.parametrize("seed", range(8))
def test_mutated_messages(seed: int) -> None:
    random = Random(seed)
    assert compare([(mutated(data, random, 4, 24), side) for data, side in frames()]) > 300


def test_every_cut() -> None:
    data, _ = next(message for message in frames() if message[1] and len(message[0]) > 60)
    assert compare([(data, True)] * len(data), range(len(data))) in (0, len(data) - 12)
    assert compare([(data, False)] * len(data), range(len(data))) in (0, len(data) - 8)


def frame(*numbers: int, rest: bytes = b"") -> bytes:
    body = b"".join(number.to_bytes(4, signed=True) for number in numbers) + rest
    return len(body).to_bytes(4) + body


REPLY = MessageHeader(Role.RESPONSE, correlation=7, state=State.GUESSED)


@pytest.mark.parametrize(
    ("message", "from_client", "expected"),
    [
        (frame(7, 4), True, HeaderView(MessageHeader(Role.REQUEST, "getData", 4, None, 7), 7)),
        (frame(7, 11), True, HeaderView(MessageHeader(Role.REQUEST, "ping", 11, None, 7), -2)),
        (frame(-2, 11), True, HeaderView(MessageHeader(Role.REQUEST, "ping", 11, None, -2), -2)),
        (frame(7, 0, 1, 0), False, HeaderView(REPLY, 7)),
        (frame(-2, 0, 1, 0), False, HeaderView(replace(REPLY, correlation=-2), -2)),
        (frame(-1, 0, 1, 0), False, HeaderView(MessageHeader(Role.PUSH, "notification", 0, None, -1))),
        (frame(7, 77), True, None),
        (frame(0, 4), True, None),
        (frame(0, 0, 1, 5), False, None),
        (frame(7), True, None),
        (frame(7, 0, 1), False, None),
        (frame(), True, None),
    ],
)
def test_forms(message: bytes, from_client: bool, expected: HeaderView | None) -> None:
    assert looks(FAST_PATH, [(message, from_client)]) == [expected]
    if expected is not None:
        assert FAST_PATH.look(message, from_client) == expected


def test_an_unknown_request_is_stepped() -> None:
    assert FAST_PATH.look(frame(7, 77), True).stepped
    assert not FAST_PATH.look(frame(7), True).stepped


def test_what_is_left_is_what_steps_leave() -> None:
    """Requests 1 to 4, of which 2 (a ping) and 1 are answered."""
    requests = [frame(1, 4), frame(-2, 11), frame(3, 4), frame(4, 101)]
    stepped, resumed = ZooKeeperConversation(), ZooKeeperConversation()
    for conversation in (stepped, resumed):
        conversation.begun, conversation.client = (True, True), SESSION
    for handle, request in enumerate(requests):
        stepped.step(handle, request, True)
    for xid in (-2, 1):
        stepped.step(9, frame(xid, 0, 1, 0), False)
    columns = [FAST_PATH.look(request, True) for request in requests]
    left = [
        ((True, None, look.key or 0), Waiting(handle, replace(look.header, client=SESSION)))
        for handle, look in enumerate(columns)
        if handle > 1
    ]
    codes, handles = [columns[0].header.code, columns[1].header.code], [0, 1]
    FAST_PATH.resume(resumed, left, AnsweredRequests(np.array(codes), np.array(handles)))
    assert resumed == stepped
    assert FAST_PATH.waiting(resumed) == left
    assert FAST_PATH.steady(resumed)
    assert resumed.client == SESSION
