"""The fast path says what header() and the Conversation say: of real frames, mutated ones, and through the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Outcome
from dissectors.pulsar import Pulsar
from dissectors.pulsar.conversation import PulsarConversation
from dissectors.pulsar.fast_path import FAST_PATH
from dissectors.wire.fast_path import HeaderView
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, in_parts, rows, segments
from tests.dissectors.fast_paths import Message, looks, recorded
from tests.dissectors.pulsar import frames as said
from tests.dissectors.pulsar.frames import (
    CONNECT,
    METADATA,
    NO_ID,
    PING,
    PONG,
    field,
    frame,
    payload_part,
    receipt,
    send,
)
from tests.dissectors.pulsar.test_conversation import CASES, replicated, watch
from tests.dissectors.pulsar.truth import frames

PULSAR = Pulsar()
GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "pulsar").glob("*.pcap.zst"))
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 6650))


def sure(messages: Sequence[Message], available: Sequence[int] | None = None) -> int:
    """Holds the rows that are sure against header() and look(); returns how many there are."""
    found = looks(FAST_PATH, messages, available, unsigned=True)
    for own, (message, from_client) in zip(found, messages, strict=True):
        if own is not None:
            plain = FAST_PATH.look(message, from_client)
            assert own.stepped == plain.stepped, message[:80].hex()
            if not plain.stepped:
                assert own.header == PULSAR.header(message, from_client), message[:80].hex()
                assert without_kind(own) == plain, message[:80].hex()
    return sum(own is not None for own in found)


def without_kind(look: HeaderView) -> HeaderView:
    """What has no key has no kind that counts."""
    return look._replace(kind=None) if look.key is None else look


# ---- headers


def test_what_servers_and_clients_sent() -> None:
    messages = recorded("pulsar")
    assert len(messages) > 2_000
    assert sure(messages) >= len(messages) - 4  # an unknown type, what is too short for one, a SEND without payload


def test_all_commands_as_the_vendor_writes_them() -> None:
    messages = [(each.data, side) for each in frames() for side in (True, False)]
    assert sure(messages) > 0.9 * len(messages)


def test_every_part_of_a_message() -> None:
    """Of a message in several segments only the first part is at hand; of one that is cut there is no more."""
    picked = {PULSAR.header(message, side).operation: (message[:400], side) for message, side in recorded("pulsar")}
    for message, side in picked.values():
        parts = range(len(message) + 1)
        sure([(message, side)] * len(parts), parts)
        sure([((part - 4).to_bytes(4) + message[4:part], side) for part in parts[4:]])


ALIKE = [
    (PING, PONG),
    (frame(9, field(1, 0)), said.sized(said.sized(field(1, 9) + field(2, b"abc")))),
    (frame(18), said.sized(said.sized(field(1, 18) + field(2, b"abc")))),
    (frame(13, field(1, 7)), frame(13, field(1, 8))),
    (frame(13, field(1, 7)), frame(13, field(1, 2**40))),
    (frame(23, field(1, "topic"), field(2, 7)), frame(23, field(1, "topic"), field(3, 7))),
]
"""Messages of one length, or of lengths that begin alike, that differ later."""


@pytest.mark.parametrize(("shown", "true"), [*ALIKE, *[pair[::-1] for pair in ALIKE]])
def test_only_bytes_of_the_message_count(shown: bytes, true: bytes) -> None:
    """What stands behind the part at hand is not the message's: another one may go on like this."""
    shown = true[:8] + shown[8:]
    alike = next(at for at in range(8, len(shown) + 1) if shown[:at] != true[:at] or at == len(shown)) - 1
    for part in range(alike + 1):
        (found,) = looks(FAST_PATH, [(shown, False)], [part], unsigned=True)
        assert found is None or without_kind(found) == FAST_PATH.look(true, False)


def mutated(message: bytes, changes: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Bytes exchanged, added and taken away near the beginning; the length prefix is true, as framing sees to."""
    body = bytearray(message[4:3_000])
    for at, removed, added in changes:
        body[at : at + removed] = added
    return len(body).to_bytes(4) + body


CHANGES = st.lists(st.tuples(st.integers(0, 48), st.integers(0, 4), st.binary(max_size=4)), min_size=1, max_size=3)


@given(st.lists(st.tuples(st.integers(0, 1 << 20), CHANGES, st.integers(0, 120)), min_size=1, max_size=8))
def test_mutated_messages(drawn: list[tuple[int, list[tuple[int, int, bytes]], int]]) -> None:
    pool = recorded("pulsar")
    messages = [(mutated(pool[at % len(pool)][0], changes), pool[at % len(pool)][1]) for at, changes, _ in drawn]
    sure(messages)
    sure(messages, [min(part, len(message)) for (_, _, part), (message, _) in zip(drawn, messages, strict=True)])


LONG = field(1, "t" * 300)
SURE = {
    "an id behind a long topic": frame(23, LONG, field(2, 7)),
    "an id behind several long fields": frame(23, LONG, field(4, "x" * 500), field(2, 7)),
    "an id of 64 bits": frame(23, field(1, "t"), field(2, 2**64 - 2)),
    "no id": frame(10, field(1, 1), field(3, b"abc")),
    "an id that stands for none": frame(15, field(1, 0), field(2, NO_ID)),
    "a producer of 64 bits": send(producer=2**63 + 1),
    "an unknown field before the id": frame(13, field(9, b"abc"), field(1, 7)),
}
UNSURE = {
    "an id twice": frame(7, field(1, 1), field(2, 5), field(1, 2)),
    "the highest id in front of the others": frame(7, field(4, 9), field(1, 1), field(2, 5)),
    "a tag of two bytes": frame(23, field(99, b"x"), field(2, 7)),
    "a fixed number": frame(23, b"\x09abcdefgh", field(2, 7)),
    "a number of eleven bytes": frame(23, b"\x18" + b"\xff" * 10 + b"\x01", field(2, 7)),
    "a size of five bytes": frame(23, b"\x0a\x82\x80\x80\x80\x00ab", field(2, 7)),
    "the type behind the body": said.sized(said.sized(field(23, field(2, 7)) + field(1, 23))),
    "a type that is in no table": frame(99),
    "too short for a type": said.sized(bytes(4)),
    "a body that is longer than the message": frame(23, field(1, "t"))[:-3],
    "a geo-replicator's message": replicated("12:5", 7),
    "its property behind much else": send(METADATA + field(4, "x" * 5_000) + replicated("1:1", 1)[40:]),
    "metadata that the message does not hold": frame(6, field(1, 1), field(2, 5), rest=b"\0\0\0\x40\x0a"),
    "an id behind all that is looked at": frame(23, field(1, "t" * PULSAR.prefix), field(2, 7)),
    "more fields than are read": frame(23, *[field(3, 1)] * 2_000, field(2, 7)),
}


@pytest.mark.parametrize("name", [*SURE, *UNSURE])
def test_what_is_read_in_columns(name: str) -> None:
    message = (SURE | UNSURE)[name]
    messages = [(message, True), (PING, True), (message, False)]
    assert sure(messages) == (3 if name in SURE else 1)


# ---- both roads


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("block", [5, 100, 32_768])
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name.partition(".")[0])
def test_the_two_roads_agree(path: Path, block: int) -> None:
    assert rows(path, use_fast_path=True, block=block) == rows(path, use_fast_path=False)


def agree(path: Path, talk: Talk, random: Random) -> None:
    for cut in (lambda data: [data], in_parts(random)):
        file = capture(path, segments(talk, cut), talk)
        expected = rows(file, use_fast_path=False)
        for block in (4, 40, 32_768):
            assert rows(file, use_fast_path=True, block=block) == expected


def talk(steps: Sequence[Message]) -> Talk:
    handshake = [(CLIENT, CONNECT), (SERVER, said.CONNECTED)]
    return Talk((*handshake, *((CLIENT if side else SERVER, message) for message, side in steps)), ENDS)


@pytest.mark.sampled(12)
@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("case", CASES)
def test_partners(tmp_path: Path, case: str) -> None:
    """What the Conversation's tests say, behind a handshake."""
    agree(tmp_path / "a.pcap", talk([(message, side) for side, message in CASES[case][0]]), Random(1))


def anything(random: Random) -> Message:
    """What one side can say, with few different ids, so that they meet; now and then something rare."""
    number, producer, from_client = random.randint(1, 4), random.randint(0, 1), random.random() < 0.5
    if random.random() < 0.06:
        return random.choice(RARE)(number), from_client
    either = [PING, PONG, frame(16, field(1, 0), field(2, number))]
    requested = [
        said.lookup(number),
        said.producer(number),
        said.ack(1, number),
        said.ack(1, None),
        frame(12, field(2, 3)),
    ]
    reported = [
        said.found(number),
        said.success(number),
        said.acked(number),
        said.produced(number),
        receipt(0, number, 5),
    ]
    requested += [send(producer=producer, sequence=number)] * 3
    reported += [receipt(producer, number, NO_ID)] * 3
    return random.choice(either + (requested if from_client else reported)), from_client


RARE: list[Callable[[int], bytes]] = [
    lambda number: CONNECT,
    lambda number: said.CONNECTED,
    lambda number: said.CHALLENGE,
    lambda number: said.AUTH_RESPONSE,
    lambda number: frame(99),
    lambda number: said.sized(b"abcd"),
    lambda number: said.error(number),
    lambda number: said.error(NO_ID),
    lambda number: said.produced(number, 0),
    lambda number: said.lookup(2**63),
    lambda number: said.found(2**63),
    lambda number: watch(70, number),
    lambda number: watch(71, number),
    lambda number: replicated(f"{number}:5", 10 + number),
    lambda number: send(METADATA * 50, b"x" * 9_000, sequence=number),
    lambda number: frame(8, field(1, 0), field(2, number), field(3, 9)),
    lambda number: frame(15, field(1, number % 2), field(2, NO_ID)),
]


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("seed", range(30))
def test_any_conversation(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    steps = [anything(random) for _ in range(60)]
    agree(tmp_path / "a.pcap", talk(steps), random)


@pytest.mark.usefixtures("small_scale")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_lost(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both roads are in doubt about the same answers, and for as long."""
    monkeypatch.setattr("dissectors.pulsar.conversation.LASTING", 15)
    random = Random(seed)
    whole = talk([anything(random) for _ in range(90)])
    packets = segments(whole)
    data = [index for index, each in enumerate(packets) if each.payload]
    for index in sorted(random.sample(data[10:-10], 3), reverse=True):
        del packets[index]
    file = capture(tmp_path / "a.pcap", packets, whole)
    expected = rows(file, use_fast_path=False)
    for block in (4, 40, 32_768):
        assert rows(file, use_fast_path=True, block=block) == expected


def test_the_bulk_road_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Conversation sees hardly anything of a connection on which nothing unusual is said."""
    seen = []
    step = PulsarConversation.step

    def counted(self: PulsarConversation, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        seen.append(handle)
        return step(self, handle, prefix, from_client)

    monkeypatch.setattr(PulsarConversation, "step", counted)
    pushed = frame(9, field(1, 0), field(2, field(1, 12) + field(2, 5)), rest=payload_part(METADATA, b"x"))
    steps: list[Message] = [(said.producer(1), True), (said.produced(1, 1), False)]
    for number in range(300):
        steps += [(send(sequence=number), True)] * 2 + [(receipt(0, number, NO_ID), False)] * 2
        steps += [
            (pushed, False),
            (said.ack(1, number), True),
            (said.acked(number), False),
            (PING, False),
            (PONG, True),
        ]
    found = rows(capture(tmp_path / "a.pcap", segments(talk(steps)), talk(steps)))
    assert len(found) == len(steps) + 2
    assert {row["client"] for row in found} == {"Pulsar-Test-v1"}
    assert len(seen) < 10
