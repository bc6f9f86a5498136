"""Pulsar's frames with holes: the same body, or none; and frames printed together are the same bytes as each alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import lz4.block
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissectors.wire.message_template
from analyzer.session import Session
from dissectors.api import Body, Context, Role
from dissectors.pulsar import Pulsar
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.secret import Secret
from tests.analyzer.roads import Taken, hold_equal, taken
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, segments
from tests.dissectors.pulsar.frames import (
    CONNECT,
    CONNECTED,
    NO_ID,
    ack,
    error,
    field,
    frame,
    lookup,
    payload_part,
    produced,
    receipt,
    send,
    sized,
)
from tests.dissectors.pulsar.truth import frames
from tests.dissectors.symbolic import filled, find_symbolic_values

__all__ = ["taken"]

GOLDEN = Path(__file__).parents[2] / "golden" / "pulsar"
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 6650))
PULSAR = Pulsar()


def context(message: bytes, role: Role = Role.REQUEST) -> Context:
    return Context(role, message[9])


def told(body: Body) -> tuple[Any, ...]:
    return filled(body.values), body.error, body.findings


def is_same(message: bytes, role: Role = Role.REQUEST) -> bool:
    """Whether it has a shape; if so, its body is the decoder's."""
    made = PULSAR.template(message, context(message, role), None)
    if made is None:
        return False
    assert told(made.body) == told(PULSAR.values(message, context(message, role)))
    return True


def test_all_commands() -> None:
    """Only what is secret, what there is a finding about, and a text that is not plain stands for itself."""
    same = [is_same(each.data) for each in frames()]
    for each, found in zip(frames(), same, strict=True):
        body = PULSAR.values(each.data, context(each.data))
        assert found == (not body.findings and is_plain(body.values)), each.operation
    assert sum(same) > len(same) // 2


def is_plain(value: Any) -> bool:
    """Whether all texts are ASCII, and nothing is a marker or a secret."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value.isascii() if isinstance(value, str) else not isinstance(value, EmbeddedValue | Secret)


def batch(*contents: bytes) -> bytes:
    return b"".join(sized(field(3, len(each)) + field(8, place)) + each for place, each in enumerate(contents))


TIME = 1_795_271_133_179
PLAIN = field(1, "p") + field(2, 3) + field(3, TIME)
OF_TWO = batch(b"one", b"three")
BATCH, LZ4, ZLIB = field(11, 2), field(8, 1), field(8, 2)
SIZE = field(9, len(OF_TWO))
BROKER = field(1, TIME) + field(2, 7)
LZ4_BLOCK = bytes(lz4.block.compress(OF_TWO, store_size=False))
SHAPES = {
    "a payload": send(PLAIN, b"hello"),
    "no payload": send(PLAIN, b""),
    "no checksum": send(PLAIN, b"hello", checksum=0),
    "the broker's metadata": frame(6, field(1, 1), field(2, 2), rest=payload_part(PLAIN, b"hello", broker=BROKER)),
    "only that": frame(6, field(1, 1), field(2, 2), rest=payload_part(PLAIN, b"x", broker=BROKER, checksum=0)),
    "a key and a property": send(PLAIN + field(6, "k") + field(4, field(1, "a") + field(2, "b")), b"hello"),
    "a batch": send(PLAIN + BATCH, OF_TWO),
    "a batch of one": send(PLAIN + field(11, 1), batch(b"x")),
    "compressed": send(PLAIN + LZ4 + SIZE, LZ4_BLOCK),
    "compressed to nothing": send(PLAIN + ZLIB + field(9, 0), zlib.compress(b"")),
    "a compressed batch": send(PLAIN + ZLIB + SIZE + BATCH, zlib.compress(OF_TWO)),
    "a chunk": send(PLAIN + field(26, "u") + field(27, 3) + field(28, 900) + field(29, 1), b"hello"),
    "encrypted": send(PLAIN + field(13, field(1, "k") + field(2, b"\xff\0")) + LZ4 + BATCH, b"\xff" * 40),
    "a marker without content": send(PLAIN + field(20, 21), b"hello"),
    "no partition": frame(7, field(1, 0), field(2, 9), field(3, field(1, 5) + field(2, 6) + field(3, NO_ID))),
    "an acknowledgment": ack(5, 8),
    "a field that nobody knows": frame(7, field(1, 0), field(2, 9), field(99, b"new")),
    "an error": error(9, 11),
    "a producer with a name": produced(4, 1),
}
ALONE = {
    "a wrong checksum": send(PLAIN, b"hello", checksum=1),
    "a marker": send(PLAIN + field(20, 10), field(1, 5)),
    "an unknown compression": send(PLAIN + field(8, 9) + SIZE, b"hello"),
    "compressed, and no size": send(PLAIN + LZ4, LZ4_BLOCK),
    "compressed to another size": send(PLAIN + ZLIB + field(9, 3), zlib.compress(OF_TWO)),
    "broken compression": send(PLAIN + ZLIB + SIZE, b"hello"),
    "a batch of fewer": send(PLAIN + field(11, 1), OF_TWO),
    "a batch of more": send(PLAIN + field(11, 3), OF_TWO),
    "a batch of none": send(PLAIN + field(11, 0), b""),
    "a batch of less than none": send(PLAIN + field(11, NO_ID), OF_TWO),
    "a key that is not plain": send(PLAIN + field(6, "größe"), b"hello"),
    "no producer": send(PLAIN[3:], b"hello"),
    "unknown magic": frame(6, field(1, 1), field(2, 2), rest=b"\x0e\x03" + sized(PLAIN)),
    "bytes behind a command": frame(23, field(1, "t"), field(2, 1), rest=b"more"),
    "a type behind its body": sized(sized(field(23, field(1, "t") + field(2, 1)) + field(1, 23))),
    "fields behind the body": sized(sized(field(1, 18) + field(18, b"") + field(99, 1))),
    "no command": sized(sized(field(1, 99))),
    "auth data": frame(2, field(1, "Pulsar"), field(3, b"hush")),
    "a field that nobody knows where secrets may be": frame(23, field(1, "t"), field(2, 1), field(99, b"hush")),
    "a finding": error(9, 16),
    "nothing": b"\0" * 10,
}


@pytest.mark.parametrize("case", SHAPES)
def test_what_has_a_shape(case: str) -> None:
    made = PULSAR.template(SHAPES[case], context(SHAPES[case]), None)
    assert made is not None
    assert find_symbolic_values(made.body.values) > 0
    assert is_same(SHAPES[case])


@pytest.mark.parametrize("case", ALONE)
def test_what_stands_for_itself(case: str) -> None:
    assert not is_same(ALONE[case])


@pytest.mark.parametrize("case", ["a batch", "the broker's metadata", "an acknowledgment"])
def test_every_cut_stands_for_itself(case: str) -> None:
    message = SHAPES[case]
    for end in range(10, len(message)):
        assert PULSAR.template(message[:end], context(message), None) is None


def test_an_answer_next_to_its_request() -> None:
    requested = lookup(300, "persistent://a/b/c")
    made = PULSAR.template(receipt(1, 2), context(receipt(1, 2)), (requested, context(requested)))
    assert made is not None
    assert made.builder.data == receipt(1, 2) + requested
    assert filled(made.body.values) == PULSAR.values(receipt(1, 2), context(receipt(1, 2))).values
    assert filled(made.body.request) == PULSAR.values(requested, context(requested)).values
    assert PULSAR.template(receipt(1, 2), context(receipt(1, 2)), (requested[:-1], context(requested))) is None


@given(st.sampled_from([*SHAPES.values(), *(each.data for each in frames())]), st.data())
def test_bytes_that_changed(message: bytes, chosen: st.DataObject) -> None:
    content = bytearray(message)
    for _ in range(chosen.draw(st.integers(1, 3))):
        content[chosen.draw(st.integers(10, len(content) - 1) if len(content) > 10 else st.just(9))] = chosen.draw(
            st.sampled_from((0, 1, 0x20, 0x7F, 0x80, 0xFF)) | st.integers(0, 255)
        )
    is_same(bytes(content))


# ---- printed together


@pytest.mark.parametrize("name", ["cpp4_codecs", "go4_txn", "java4_schemas"])
def test_of_real_captures(name: str, taken: Taken) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        for form in ("fields", "table"):
            before = taken.rows
            hold_equal(session, {form})
            assert taken.rows - before > len(session.rows) * 0.8


def said(random: Random, number: int) -> Iterator[tuple[int, bytes]]:
    """Messages as one client sends and gets them, some of them broken."""
    contents = [random.randbytes(random.choice((0, 1, 9, 200))) for _ in range(random.choice((1, 1, 2, 5)))]
    text = random.choice(("k", "key", "a" * 130, "größe", 'a"b', "end ", "x\ty"))
    metadata = field(1, random.choice(("p", "standalone-0-1"))) + field(2, number) + field(3, TIME + number)
    metadata += field(6, text) if random.random() < 0.4 else b""
    payload, codec = contents[0], random.choice((0, 0, 1, 2))
    if random.random() < 0.5:
        metadata, payload = metadata + field(11, len(contents) + (random.random() < 0.1)), batch(*contents)
    if codec:
        metadata += field(8, codec) + field(9, len(payload) + (random.random() < 0.1))
        payload = bytes(lz4.block.compress(payload, store_size=False)) if codec == 1 else zlib.compress(payload)
    wide = random.choice((number, number << 20, number << 50, NO_ID - number))
    place = field(1, wide) + field(2, number) + random.choice((b"", field(3, NO_ID), field(3, 1 << 33)))
    checksum = random.choice((None, None, None, 0, 7))
    broker = random.choice((None, field(1, TIME + number) + field(2, wide)))
    rest = payload_part(metadata, payload, broker=broker, checksum=checksum)
    yield CLIENT, frame(6, field(1, 0), field(2, number), rest=rest)
    yield SERVER, frame(7, field(1, 0), field(2, number), field(3, place))
    yield SERVER, frame(9, field(1, number % 3), field(2, place), rest=rest)
    yield CLIENT, ack(random.choice((1, 1, 2)), random.choice((None, number)))
    if not random.randrange(4):
        yield CLIENT, lookup(number, f"persistent://public/default/{text}")
        yield SERVER, random.choice((error(number, 3), error(number, 16), error(number, 99)))


def opened(folder: Path, random: Random, count: int, changes: float = 0.0) -> Session:
    writes = [(CLIENT, CONNECT), (SERVER, CONNECTED), (CLIENT, frame(5, field(1, "t"), field(2, 0), field(3, 1)))]
    for number in range(1, count):
        for side, message in said(random, number * random.choice((1, 1, 300))):
            changed = bytearray(message)
            if random.random() < changes:
                changed[random.randrange(12, len(message))] = random.choice((0, 1, 5, 127, 128, 255))
            writes.append((side, bytes(changed)))
    talk = Talk(tuple(writes), ENDS)
    return Session([capture(folder / "a.pcap", segments(talk), talk)]).load()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["table", "fields", "everything"])
def test_messages_of_all_kinds(tmp_path: Path, form: str, taken: Taken) -> None:
    with opened(tmp_path, Random(form), 60) as session:
        hold_equal(session, {form})
        assert taken.rows > len(session.rows) // 2


@pytest.mark.parametrize("seed", range(2))
def test_messages_in_which_bytes_have_changed(tmp_path: Path, seed: int, taken: Taken) -> None:
    """Lengths stay, so that all frames stay in step."""
    with opened(tmp_path, Random(seed), 50, 0.3) as session:
        hold_equal(session, {"table", "fields"})


def test_what_is_decompressed_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that holds more than may be open beside others stands for itself."""
    large = zlib.compress(bytes(3000))
    message = send(PLAIN + ZLIB + field(9, 3000), large)
    assert is_same(message)
    monkeypatch.setattr(dissectors.wire.message_template, "LARGE", 2999)
    assert not is_same(message)
