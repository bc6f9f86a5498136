"""The fast path of Kafka.header says the same, for the vendor's frames, cut anywhere and with bytes exchanged."""

from __future__ import annotations

from random import Random

import pytest

from dissectors.api import PREFIX, Role
from dissectors.kafka import Kafka
from dissectors.kafka.fast_path import FAST_PATH
from tests.dissectors.fast_paths import looks
from tests.dissectors.kafka.nested.test_structures import (
    ASSIGNED,
    METADATA_REQUEST,
    SUBSCRIBED,
    answered,
    envelope,
    joins,
    syncs,
)
from tests.dissectors.kafka.truth import GOLDEN, frames

KAFKA = Kafka()
JOINED = bytes([0, 0, 0, 4, 0, 0, 0, 1])
CUTS = 96
"""Bytes within which a message is cut: behind the client id, and where a Produce says whether it wants an answer."""

FRAMES = [(frame.data, frame.context.role is not Role.RESPONSE) for frame in frames(GOLDEN)]


def mutated(data: bytes, random: Random) -> bytes:
    """Another message, of any length from nothing on; its length prefix is true, as framing sees to."""
    body = bytearray(data[4 : random.choice((len(data), random.randint(4, 40)))])
    for _ in range(random.randint(0, 2)):
        if body:
            at = random.randrange(min(len(body), 20))
            body[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_headers(seed: int | None) -> None:
    random = Random(seed)
    rows = FRAMES if seed is None else [(mutated(data, random), side) for data, side in FRAMES]
    sure = 0
    for look, (data, from_client) in zip(looks(FAST_PATH, rows), rows, strict=True):
        if look is not None:
            sure += 1
            assert look.header == KAFKA.header(data[:PREFIX], from_client), data[:40].hex()
            assert look == FAST_PATH.look(data, from_client) or look.header.role is Role.ONEWAY
    assert sure > len(rows) / 4


def test_every_cut() -> None:
    """Whatever is there of a message, what it seems to say is what all of it says."""
    for data, from_client in FRAMES[::97]:
        count = min(len(data), CUTS)
        for look in looks(FAST_PATH, [(data, from_client)] * count, range(count)):
            assert look is None or look.header == KAFKA.header(data, from_client)


def test_notes_say_what_the_conversation_says() -> None:
    """Requests in order and answers in order, twice: the second time of another kind of group and another Envelope."""
    frames = [
        (joins("connect", SUBSCRIBED), True),
        (envelope(METADATA_REQUEST), True),
        (JOINED, False),
        (answered(b""), False),
        (joins("consumer", SUBSCRIBED), True),
        (syncs(ASSIGNED), True),
        (envelope(b""), True),
        (JOINED, False),
        (JOINED, False),
        (answered(b""), False),
    ]
    plain, noting = KAFKA.conversation(), KAFKA.conversation()
    expected, messages = {}, []
    for row, (data, from_client) in enumerate(frames):
        outcome = plain.step(row, data, from_client)
        assert outcome.header.code in FAST_PATH.NOTED
        messages.append((row, int(outcome.header.role), outcome.header.code))
        if outcome.extra is not None:
            expected[row] = outcome.extra
    assert FAST_PATH.notes(noting, messages, lambda row: frames[row][0]) == expected
    assert expected[3] == {"innerCode": "3", "innerVersion": "0"}
    assert expected[5] == {"protocolType": "consumer"}
    assert 9 not in expected
