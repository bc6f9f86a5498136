"""What a connection remembers: which protocol it is, greetings, and how far both sides are."""

from __future__ import annotations

import pickle

import pytest

from dissectors.api import Outcome, Role
from dissectors.rocketmq.ha import RocketMQHA
from dissectors.rocketmq.ha.body import FAR
from tests.dissectors.rocketmq.ha.frames import (
    answer,
    controlled_report,
    controlled_transfer,
    greeting,
    report,
    transfer,
)

SLAVE, MASTER = True, False
GIB = 1 << 30
K = {"kind": "CONTROLLED"}

Told = tuple[str | None, Role, int | None, dict[str, str] | None]

CASES: dict[str, tuple[list[tuple[bytes, bool]], list[Told]]] = {
    "classic": (
        [(report(0), SLAVE), (transfer(0, b"x" * 9), MASTER), (transfer(9), MASTER), (report(9), SLAVE)],
        [
            ("SLAVE_OFFSET", Role.ONEWAY, None, None),
            ("TRANSFER", Role.PUSH, None, None),
            ("HEARTBEAT", Role.PUSH, None, None),
            ("SLAVE_OFFSET", Role.ONEWAY, None, None),
        ],
    ),
    "controlled": (
        [
            (greeting(), SLAVE),
            (answer(0, [(1, 0)]), MASTER),
            (controlled_transfer(-1), MASTER),
            (controlled_report(0), SLAVE),
            (controlled_transfer(0, b"x"), MASTER),
        ],
        [
            ("HANDSHAKE", Role.REQUEST, None, K),
            ("HANDSHAKE", Role.RESPONSE, 0, K),
            ("HEARTBEAT", Role.PUSH, None, K),
            ("SLAVE_OFFSET", Role.ONEWAY, None, K),
            ("TRANSFER", Role.PUSH, None, K),
        ],
    ),
    "classic offsets that look like states": (
        [(report(4 * GIB), SLAVE), (report(8 * GIB), SLAVE)],
        [("SLAVE_OFFSET", Role.ONEWAY, None, None)] * 2,
    ),
    "an answer without its greeting": ([(answer(0, [(1, 0)]), MASTER)], [("HANDSHAKE", Role.RESPONSE, None, K)]),
    "a jump": (
        [(transfer(0, b"x" * 9), MASTER), (transfer(50, b"x"), MASTER), (transfer(51), MASTER)],
        [
            ("TRANSFER", Role.PUSH, None, None),
            ("TRANSFER", Role.PUSH, None, {"expected": "9"}),
            ("HEARTBEAT", Role.PUSH, None, None),
        ],
    ),
    "a slave far behind, told once": (
        [
            (transfer(FAR * 2), MASTER),
            (report(9), SLAVE),
            (report(10), SLAVE),
            (report(FAR * 2), SLAVE),
            (report(FAR - 1), SLAVE),
        ],
        [
            ("HEARTBEAT", Role.PUSH, None, None),
            ("SLAVE_OFFSET", Role.ONEWAY, None, {"behind": str(FAR * 2 - 9)}),
            ("SLAVE_OFFSET", Role.ONEWAY, None, None),
            ("SLAVE_OFFSET", Role.ONEWAY, None, None),
            ("SLAVE_OFFSET", Role.ONEWAY, None, {"behind": str(FAR + 1)}),
        ],
    ),
    "nothing": ([(b"", SLAVE), (b"\xff" * 40, MASTER)], [(None, Role.RAW, None, None)] * 2),
}


@pytest.mark.parametrize(("frames", "expected"), CASES.values(), ids=CASES)
def test_steps(frames: list[tuple[bytes, bool]], expected: list[Told]) -> None:
    conversation = RocketMQHA().conversation()
    found: list[Outcome] = []
    for handle, (data, from_client) in enumerate(frames):
        conversation = pickle.loads(pickle.dumps(conversation))
        found.append(conversation.step(handle, data, from_client))
    assert [(each.header.operation, each.header.role, each.partner, each.extra) for each in found] == expected


def test_behind_lost_bytes_nothing_is_expected() -> None:
    conversation = RocketMQHA().conversation()
    conversation.step(0, transfer(0, b"x" * 9), MASTER)
    conversation.note_loss(False)
    assert conversation.step(1, transfer(50, b"x"), MASTER).extra is None


def test_greetings_are_renumbered_and_bounded() -> None:
    conversation = RocketMQHA().conversation()
    for handle in range(100):
        conversation.step(handle, greeting(), SLAVE)
    handles = list(conversation.handles())
    assert len(handles) < 100
    conversation.renumber({handle: handle + 1000 for handle in handles})
    assert conversation.step(200, answer(0, [(1, 0)]), MASTER).partner == 1000
