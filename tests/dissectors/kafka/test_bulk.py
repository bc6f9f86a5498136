"""The bulk twin of Kafka.header says the same, for the vendor's frames, cut anywhere and with bytes exchanged."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from dissectors.api import MessageHeader, Role, State
from dissectors.kafka import Kafka, bulk
from dissectors.wire.bulk import NULL
from tests.dissectors.kafka.test_structures import (
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
    view = np.zeros((len(rows), bulk.WIDTH), np.uint8)
    for row, (data, _) in enumerate(rows):
        part = data[: bulk.WIDTH]
        view[row, : len(part)] = np.frombuffer(part, np.uint8)
    available = np.array([len(data) for data, _ in rows], np.int64)
    found = bulk.headers(view, available, np.array([side for _, side in rows]))
    names, sure = bulk.operations(), 0
    for row, (data, from_client) in enumerate(rows):
        if found.unsure[row]:
            continue
        sure += 1
        code, version = int(found.code[row]), int(found.version[row])
        client = int(found.client[row])
        ours = MessageHeader(
            Role(found.role[row]),
            names[code] if code != NULL else None,
            None if code == NULL else code,
            None if version == NULL else version,
            int(found.correlation[row]),
            None if client == NULL else found.clients[client],
            State(found.state[row]),
        )
        assert ours == KAFKA.header(data[: bulk.WIDTH], from_client), data[:40].hex()
    assert sure > len(rows) / 4


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
        assert outcome.header.code in bulk.NOTED
        messages.append((row, int(outcome.header.role), outcome.header.code))
        if outcome.extra is not None:
            expected[row] = outcome.extra
    assert bulk.notes(noting, messages, lambda row: frames[row][0]) == expected
    assert expected[3] == {"innerCode": "3", "innerVersion": "0"}
    assert expected[5] == {"protocolType": "consumer"}
    assert 9 not in expected
