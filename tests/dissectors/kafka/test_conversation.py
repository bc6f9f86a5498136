"""Who answers whom on a Kafka connection, message by message."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzer.decode.content import read_context, read_message
from analyzer.session import Session
from dissectors.api import Outcome, Role, State
from dissectors.kafka.body import decode_values
from dissectors.kafka.conversation import JOIN_GROUP, KafkaConversation, protocol_type

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"


@dataclass(frozen=True, slots=True)
class Ask:
    """A client's frame."""

    correlation: int
    key: int = 3
    version: int = 1
    body: bytes = b"\0\0\0\0"

    @property
    def frame(self) -> bytes:
        data = self.key.to_bytes(2) + self.version.to_bytes(2) + self.correlation.to_bytes(4) + b"\0\2me" + self.body
        return len(data).to_bytes(4) + data


@dataclass(frozen=True, slots=True)
class Answer:
    """A broker's frame."""

    correlation: int
    body: bytes = bytes(4)

    @property
    def frame(self) -> bytes:
        data = self.correlation.to_bytes(4) + self.body
        return len(data).to_bytes(4) + data


@dataclass(frozen=True, slots=True)
class Token:
    """A bare frame of SASL, from either side."""

    data: bytes
    client: bool = True

    @property
    def frame(self) -> bytes:
        return len(self.data).to_bytes(4) + self.data


Message = Ask | Answer | Token
HANDSHAKE = Ask(1, key=17, version=0, body=b"\0\5PLAIN")
AGREED = Answer(1, b"\0\0" + bytes(4))
REFUSED = Answer(1, b"\0\x21" + bytes(4))
SILENT = Ask(1, key=0, version=2, body=b"\0\0" + b"\0\0\x05\xdc" + bytes(4))
GSSAPI = b"\x60\x10\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" + b"x" * 8

# name: messages, and for each the index of the one that it answers
CASES: dict[str, tuple[list[Message], list[int | None]]] = {
    "one by one": ([Ask(1), Answer(1), Ask(2), Answer(2)], [None, 0, None, 2]),
    "pipelined": ([Ask(1), Ask(2), Ask(3), Answer(1), Answer(2), Answer(3)], [None] * 3 + [0, 1, 2]),
    "the same correlation again": ([Ask(0), Ask(0), Answer(0), Answer(0)], [None, None, 0, 1]),
    "acks=0 is never answered": ([SILENT, Ask(2), Answer(2)], [None, None, 1]),
    "a lost answer": ([Ask(1), Ask(2), Answer(2)], [None, None, 1]),
    "a lost request": ([Ask(1), Answer(2), Answer(1)], [None, None, 0]),
    "given up is given up": ([Ask(1), Ask(2), Answer(2), Answer(1)], [None, None, 1, None]),
    "an answer in front": ([Answer(1), Ask(1)], [None, None]),
    "an answer twice": ([Ask(1), Answer(1), Answer(1)], [None, 0, None]),
    "negative correlations": ([Ask(2**32 - 1), Answer(2**32 - 1)], [None, 0]),
    "SASL tokens": (
        [HANDSHAKE, AGREED, Token(b"\0me\0secret"), Token(b"", client=False), Ask(2), Answer(2)],
        [None, 0, None, 2, None, 4],
    ),
    "SASL in rounds": (
        [
            HANDSHAKE,
            AGREED,
            Token(b"n,,n=me"),
            Token(b"r=1", client=False),
            Token(b"c=biws"),
            Token(b"v=", client=False),
        ],
        [None, 0, None, 2, None, 4],
    ),
    "SASL refused": ([HANDSHAKE, REFUSED, Ask(2), Answer(2)], [None, 0, None, 2]),
    "bare GSSAPI": ([Token(GSSAPI), Token(b"yes", client=False), Ask(1), Answer(1)], [None, 0, None, 2]),
    "GSSAPI is an opener only": ([Ask(1), Answer(1), Token(GSSAPI), Answer(5)], [None, 0, None, None]),
}


def from_client(message: Message) -> bool:
    return message.client if isinstance(message, Token) else isinstance(message, Ask)


def outcomes(messages: Sequence[Message], cut: int | None = None) -> list[Outcome]:
    """What a conversation says of each, all of them cut; it travels between two of them."""
    conversation, found = KafkaConversation(), []
    for handle, message in enumerate(messages):
        conversation = pickle.loads(pickle.dumps(conversation))
        found.append(conversation.step(handle, message.frame[:cut], from_client(message)))
    return found


@pytest.mark.parametrize("case", CASES)
def test_partners(case: str) -> None:
    messages, expected = CASES[case]
    assert [outcome.partner for outcome in outcomes(messages)] == expected


@pytest.mark.parametrize("case", [name for name in CASES if "SASL" in name or name == "bare GSSAPI"])
def test_tokens_are_raw_and_complete(case: str) -> None:
    messages, _ = CASES[case]
    for message, outcome in zip(messages, outcomes(messages), strict=True):
        header = outcome.header
        if isinstance(message, Token):
            assert (header.role, header.state, header.operation, header.correlation) == (
                Role.RAW,
                State.COMPLETE,
                None,
                None,
            )


def test_an_answer_takes_over_what_only_its_request_says() -> None:
    conversation = KafkaConversation()
    conversation.step(0, Ask(7).frame, True)
    header = conversation.step(1, Answer(7).frame, False).header
    assert (header.role, header.operation, header.code, header.version) == (Role.RESPONSE, "Metadata", 3, 1)
    assert (header.client, header.correlation, header.state) == ("me", 7, State.COMPLETE)


def test_an_orphan_is_a_guess() -> None:
    header = KafkaConversation().step(0, Answer(7).frame, False).header
    assert (header.role, header.operation, header.state) == (Role.RESPONSE, None, State.GUESSED)


def test_an_answer_is_no_surer_than_its_request() -> None:
    conversation = KafkaConversation()
    assert conversation.step(0, Ask(1, version=20).frame, True).header.state is State.GUESSED
    assert conversation.step(1, Answer(1).frame, False).header.state is State.GUESSED


def test_a_refused_api_versions_has_a_known_layout() -> None:
    conversation = KafkaConversation()
    conversation.step(0, Ask(1, key=18, version=20).frame, True)
    assert conversation.step(1, Answer(1, b"\0\x23" + bytes(4)).frame, False).header.state is State.COMPLETE


def test_a_group_knows_its_kind() -> None:
    conversation = KafkaConversation()
    join = Ask(1, key=11, version=0, body=b"\0\1g" + bytes(4) + b"\0\0" + b"\0\7connect" + bytes(4))
    sync = Ask(2, key=14, version=0, body=b"\0\1g" + bytes(4) + b"\0\0" + bytes(4))
    extras = [
        conversation.step(handle, message.frame, from_client(message)).extra
        for handle, message in enumerate((Ask(0), join, Answer(0), Answer(1), sync, Answer(2)))
    ]
    kind = {"protocolType": "connect"}
    assert extras == [None, kind, None, kind, kind, kind]


def test_the_kind_of_a_group_is_what_decoding_the_request_says() -> None:
    """The short way to it, on JoinGroups of every version that was recorded, and on all their beginnings."""
    versions = set()
    for name in ("k010_py_old", "k24_sasl_v0", "k4_java_classic", "k4_go_franz"):
        with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
            for row in range(len(session.rows)):
                context = read_context(session, row)
                if context.code != JOIN_GROUP or context.role is not Role.REQUEST or context.version in versions:
                    continue
                assert context.version is not None
                versions.add(context.version)
                message = read_message(session, row)
                for cut in range(len(message) + 1):
                    text = decode_values(message[:cut], context).values.get("protocolType")
                    expected = text if isinstance(text, str) else None
                    assert protocol_type(message[:cut], context.version) == expected, (name, row, cut)
    assert len(versions) > 2
