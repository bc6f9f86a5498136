"""The bulk twin reads the same headers as the plain one, of any bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dissectors.api import PREFIX, MessageHeader, Role, State
from dissectors.kafka import Kafka, bulk
from dissectors.wire.bulk import NULL, NULL64
from tests.dissectors.kafka.truth import GOLDEN, frames

KAFKA = Kafka()
Sample = tuple[bytes, bool]


def plain(message: bytes, from_client: bool) -> MessageHeader:
    return KAFKA.header(message[:PREFIX], from_client)


def compared(samples: list[Sample]) -> int:
    """Holds all sure rows equal; returns how many were unsure."""
    rows = [(message + b"\xee" * bulk.WIDTH)[: bulk.WIDTH] for message, _ in samples]
    view = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), bulk.WIDTH)
    available = np.array([len(message) for message, _ in samples], np.int64)
    found = bulk.headers(view, available, np.array([client for _, client in samples]))
    operations = bulk.operations()
    for row, (message, from_client) in enumerate(samples):
        expected = plain(message, from_client)
        if from_client and expected.state is not State.COMPLETE:
            assert found.stepped[row] or found.unsure[row]
        if found.unsure[row]:
            continue
        code, client = int(found.code[row]), int(found.client[row])
        assert (
            MessageHeader(
                Role(found.role[row]),
                operations[code] if 0 <= code < len(operations) else None,
                None if code == NULL else code,
                None if found.version[row] == NULL else int(found.version[row]),
                None if found.correlation[row] == NULL64 else int(found.correlation[row]),
                None if client == NULL else found.clients[client],
                State(found.state[row]),
            )
            == expected
        )
    return int(found.unsure.sum())


def test_every_layout() -> None:
    """All 2,208 synthetic frames at once; nearly all can be read without a closer look."""
    samples = [(frame.data, frame.context.role is Role.REQUEST) for frame in frames(GOLDEN)]
    assert compared(samples) < len(samples) // 4


def request(key: int, version: int, correlation: int, client: bytes | None, rest: bytes) -> bytes:
    length = (0xFFFF if client is None else len(client)).to_bytes(2)
    data = key.to_bytes(2) + version.to_bytes(2) + correlation.to_bytes(4) + length + (client or b"") + rest
    return len(data).to_bytes(4) + data


KEYS = st.sampled_from((0, 0, 0, 1, 3, 7, 11, 17, 18, 94, 95, 200, 0x7FFF, 0xFFFF))
VERSIONS = st.integers(0, 14) | st.sampled_from((25, 30, 0x7FFF, 0xFFFF))
CLIENTS = st.none() | st.binary(max_size=8) | st.binary(max_size=100) | st.text(max_size=6).map(str.encode)
REQUESTS = st.builds(request, KEYS, VERSIONS, st.integers(0, 0xFFFFFFFF), CLIENTS, st.binary(max_size=12))
CUT = st.tuples(REQUESTS, st.integers(4, 40)).map(lambda pair: pair[0][: pair[1]])
"""What the first of several segments holds."""
ANYTHING = st.binary(max_size=40).map(lambda data: len(data).to_bytes(4) + data)


@given(st.lists(st.tuples(REQUESTS | CUT | ANYTHING, st.booleans()), min_size=1, max_size=6))
@example([(request(0, 9, 1, b"", b"\0\1\0\0"), True), (request(0, 9, 1, None, b"\0\3t\0\0\0"), True)])
@example([(request(3, 1, 1, b"a\0", b""), True), (request(3, 1, 1, b"a", b""), True)])
def test_any_frames(samples: list[Sample]) -> None:
    compared(samples)
