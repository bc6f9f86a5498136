"""Real frames, hostile bytes: cuts and mutations of what vendors and brokers wrote."""

from __future__ import annotations

from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Body, Context, Role
from dissectors.field import Tree
from dissectors.pulsar import Pulsar
from dissectors.wire.message import fold_tree
from tests.dissectors.damage import damage
from tests.dissectors.pulsar.frames import METADATA, ack, field, frame, payload_part, sized
from tests.dissectors.pulsar.test_frame import BATCH_OF_TWO, MARKER, TEXT, lz4_block
from tests.dissectors.pulsar.truth import frames
from tests.dissectors.trees import assert_tiles
from tests.effort import within

PULSAR = Pulsar()
CONTEXT = Context(Role.REQUEST)
PARTS = [
    payload_part(METADATA, TEXT, broker=field(1, 5) + field(2, 7)),
    payload_part(METADATA + field(11, 2), BATCH_OF_TWO),
    payload_part(METADATA + field(11, 2) + field(8, 1) + field(9, len(BATCH_OF_TWO)), lz4_block(BATCH_OF_TWO)),
    payload_part(METADATA + field(20, 10), MARKER),
    payload_part(METADATA + field(26, "u") + field(27, 3) + field(29, 1), TEXT),
]
FRAMES = [
    *(each.data for each in frames()),
    *(frame(6, field(1, 0), field(2, 3), rest=part) for part in PARTS * 20),
    *[ack(3, 9)] * 10,
]


BROKEN = ("malformed-body", "unknown-operation", "trailing-bytes", "limit-exceeded")
"""What findings of broken bytes are; what a message says may be worth others."""


def read(message: bytes) -> Tree:
    """Reads a frame by all ways; they must agree."""
    with within(10):  # far more than it takes: no loop without end
        tree, body = PULSAR.tree(message, CONTEXT), PULSAR.values(message, CONTEXT)
        PULSAR.info(body, CONTEXT)
        for side in (True, False):
            PULSAR.header(message[:512], side)
            PULSAR.probe(message[:512], side)
            PULSAR.conversation().step(0, message[:512], side)
    assert_tiles(tree)
    found = Body(fold_tree(tree).values, body.error, fold_tree(tree).findings)
    assert found == body or "nan" in repr(body).lower(), "NaN is not even equal to itself"
    return tree


@given(st.sampled_from(FRAMES), st.data())
def test_a_cut_gives_one_finding(message: bytes, data: st.DataObject) -> None:
    tree = read(message[: data.draw(st.integers(0, len(message) - 1))])
    assert [finding.code for finding in tree.findings if finding.code in BROKEN] == ["malformed-body"]


@given(st.sampled_from(FRAMES), st.data())
def test_a_mutation_never_raises_and_is_read_alike_both_ways(message: bytes, data: st.DataObject) -> None:
    read(damage(message, data))


@given(st.sampled_from(PARTS), st.data())
def test_a_payload_with_the_right_checksum(part: bytes, data: st.DataObject) -> None:
    """What is behind a checksum that fits is read the fast way, whatever it is."""
    begin = part.index(b"\x0e\x01") + 6
    content = bytearray(part[begin:])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    checked = b"\x0e\x01" + crc32c(bytes(content)).to_bytes(4) + content
    read(frame(6, field(1, 0), field(2, 3), rest=checked))


@given(st.binary(max_size=60), st.integers(0, 99))
def test_anything_in_a_frame(body: bytes, code: int) -> None:
    read(frame(code, body))
    read(sized(sized(body)))
    read(body)


SHORTEST = list({each.operation: each.data for each in sorted(frames(), key=lambda each: -len(each.data))}.values())
"""The shortest frame of each command that the vendor's serializer wrote."""


def test_each_command_cut_at_each_byte_and_changed_there() -> None:
    assert len(SHORTEST) == 70
    for number, message in enumerate(SHORTEST):
        for at in range(len(message)):
            if (at + number) % 2:
                read(message[:at])
            else:
                read(message[:at] + bytes([message[at] ^ (1 << at % 8)]) + message[at + 1 :])
