"""What a projection picks of Pulsar's frames, and what it leaves to values()."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.pulsar import Pulsar
from dissectors.pulsar.commands import SEND
from tests.dissectors.picking import picked_alike
from tests.dissectors.pulsar.frames import METADATA, field, frame, payload_part, send
from tests.dissectors.pulsar.test_frame import MARKER, TEXT

PULSAR = Pulsar()
PRODUCER, TOLD = ("producer_id",), ("payload", "value", "subscription_name")
NAME = ("metadata", "producer_name")
CHUNK = field(26, "one") + field(27, 2) + field(28, 100) + field(29, 0)


def context(message: bytes) -> Context:
    return Context(Role.REQUEST, message[9])


BROKERED = frame(SEND, field(1, 0), field(2, 3), rest=payload_part(METADATA, TEXT, broker=field(2, 7)))
LONG_TAG = b"\xa0\x81\x00\x0a"
"""The type of a marker, 10, behind a tag that is longer than it need be."""

CASES = [
    ("a number", send(METADATA, TEXT), [PRODUCER], True),
    ("a number, and what markers say", send(METADATA, TEXT), [PRODUCER, TOLD], True),
    ("of a marker", send(METADATA + field(20, 10), MARKER), [PRODUCER, TOLD], False),
    ("of one written otherwise", send(METADATA + LONG_TAG, MARKER), [PRODUCER, TOLD], False),
    ("a payload", send(METADATA, TEXT), [("payload",)], False),
    ("metadata", send(METADATA, TEXT), [PRODUCER, NAME], True),
    ("what metadata says of the payload", send(METADATA + CHUNK, TEXT), [("chunk", "uuid"), ("encrypted",)], True),
    ("metadata behind the broker's own", BROKERED, [NAME], True),
    ("metadata that is empty", send(b"", TEXT), [PRODUCER, NAME], False),
    ("metadata of a marker", send(METADATA + field(20, 10), MARKER), [NAME, TOLD], False),
    ("the broker's own", BROKERED, [("broker_entry_metadata", "index")], False),
    ("a checksum", send(METADATA, TEXT), [PRODUCER, ("checksum", "valid")], False),
    ("a broken payload", send(METADATA, TEXT)[:-1], [PRODUCER], False),
]


@pytest.mark.parametrize(
    ("message", "paths", "is_picked"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_picked(message: bytes, paths: list[tuple[str, ...]], is_picked: bool) -> None:
    assert picked_alike(PULSAR, message, context(message), frozenset(paths)) is is_picked


def test_nothing_behind_a_broken_payload_is_read() -> None:
    part = payload_part(METADATA, TEXT, checksum=1)
    message = send(METADATA, TEXT)
    broken = message[: -len(payload_part(METADATA, TEXT))] + part
    broken = (len(broken) - 4).to_bytes(4) + broken[4:]
    assert picked_alike(PULSAR, broken, context(broken), frozenset([PRODUCER, NAME]))
