"""A pick reads what values() reads, of whole frames, cut ones, and broken ones; or it says that it cannot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.pulsar import Pulsar
from dissectors.pulsar.commands import MESSAGE, SEND
from tests.dissectors.picking import picked_alike
from tests.dissectors.pulsar.frames import METADATA, field, frame, payload_part, send
from tests.dissectors.pulsar.test_frame import MARKER, TEXT
from tests.dissectors.pulsar.test_properties import FRAMES

PULSAR = Pulsar()
PRODUCER, TOLD = ("producer_id",), ("payload", "value", "subscription_name")
NAME = ("metadata", "producer_name")
CHUNK = field(26, "one") + field(27, 2) + field(28, 100) + field(29, 0)
CARRYING = [each for each in FRAMES if each[9:10] in (bytes([SEND]), bytes([MESSAGE]))]
ASKED = [
    frozenset(paths) for paths in ([PRODUCER], [("consumer_id",), TOLD], [("message_id", "ledgerId"), ("nothing",)])
] + [frozenset([PRODUCER, NAME, ("metadata", "num_messages_in_batch"), ("chunk", "uuid"), ("encrypted",)])]


def context(message: bytes) -> Context:
    return Context(Role.REQUEST, message[9])


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(CARRYING), st.sampled_from(ASKED), st.data())
def test_any_cut(message: bytes, paths: frozenset[tuple[str, ...]], data: st.DataObject) -> None:
    stop = data.draw(st.integers(10, len(message)) | st.just(len(message)))
    picked_alike(PULSAR, message[:stop], context(message), paths)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(CARRYING), st.sampled_from(ASKED), st.data())
def test_any_damage(message: bytes, paths: frozenset[tuple[str, ...]], data: st.DataObject) -> None:
    content = bytearray(message)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(4, len(content)))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    content[:4] = (len(content) - 4).to_bytes(4)
    picked_alike(PULSAR, bytes(content), context(message), paths)


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
