"""What the first bytes of a frame tell: headers, and how much they look like Pulsar."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.pulsar import Pulsar
from dissectors.pulsar.commands import commands
from tests.dissectors.pulsar.frames import CONNECT, PING, ack, base, field, frame, lookup, send, sized

PULSAR = Pulsar()


@dataclass(frozen=True)
class Case:
    """A frame, its header, and the evidence of it as the client's, the broker's, and of nobody known."""

    name: str
    prefix: bytes
    header: MessageHeader
    probe: tuple[int, int, int]

    def __str__(self) -> str:
        return self.name


def header(
    operation: str | None,
    code: int | None,
    role: Role = Role.REQUEST,
    correlation: int | None = None,
    scope: str | None = None,
    client: str | None = None,
    state: State = State.COMPLETE,
) -> MessageHeader:
    return MessageHeader(role, operation, code, None, correlation, client, state, scope)


UNKNOWN = State.UNDECODED
LOOKUP = header("LOOKUP", 23, correlation=7, scope="request:")
CASES = [
    Case("ping", bytes.fromhex("00000009 00000005 0812920100"), header("PING", 18), (97, 97, 97)),
    Case("connect", CONNECT, header("CONNECT", 2, client="Pulsar-Test-v1"), (97, 0, 97)),
    Case("lookup", lookup(7), LOOKUP, (97, 0, 97)),
    Case("lookup, and more", lookup(7) + PING, LOOKUP, (97, 0, 97)),
    Case("lookup, cut behind its id", lookup(7)[:-1], header("LOOKUP", 23), (97, 0, 97)),
    Case("fields in another order", frame(23, field(2, 7), field(1, "t")), LOOKUP, (97, 0, 97)),
    Case("unknown fields before the id",
         frame(23, field(99, b"x"), b"\xfd\x01abcd", b"\xf9\x01abcdefgh", b"\xfb\x01\x08\x01\xfc\x01", field(2, 7)),
         LOOKUP, (97, 0, 97)),
    Case("the type behind the body", sized(sized(field(23, field(2, 7)) + field(1, 23))), LOOKUP, (40, 0, 40)),
    Case("the id behind much else", frame(23, field(1, "t" * 20_000), field(2, 7)), LOOKUP, (97, 0, 97)),
    Case("send", send(producer=1, sequence=4), header("SEND", 6, correlation=4, scope="send:1/"), (97, 0, 97)),
    Case("send without payload", frame(6, field(1, 1), field(2, 4)),
         header("SEND", 6, correlation=4, scope="send:1/"), (97, 0, 97)),
    Case("a push", frame(9, field(1, 0), rest=b"xx"), header("MESSAGE", 9, Role.PUSH), (0, 97, 97)),
    Case("ack", ack(3, None), header("ACK", 10, Role.ONEWAY), (97, 0, 97)),
    Case("a type without its body", bytes.fromhex("00000006 00000002 0806"), header("SEND", 6), (15, 0, 15)),
    Case("another body than the type says", sized(sized(field(1, 23) + field(13, field(1, 7)))), header("LOOKUP", 23),
         (0, 0, 0)),
    Case("a type that is in no table", bytes.fromhex("00000008 00000004 08631001"), header(None, 99, state=UNKNOWN),
         (15, 15, 15)),
    Case("a type beyond all bounds", sized(sized(field(1, 2**63))), header(None, None, state=UNKNOWN), (15, 15, 15)),
    Case("no type", sized(sized(field(2, b"abc"))), header(None, None, state=UNKNOWN), (0, 0, 0)),
    Case("bytes behind a command that has no payload", frame(23, field(1, "t"), field(2, 7), rest=b"x"), LOOKUP,
         (0, 0, 0)),
    Case("a size that is too large", (128 * 2**20 + 1).to_bytes(4) + sized(base(18, b"")), header("PING", 18),
         (0, 0, 0)),
    Case("nine bytes", PING[:9], HEADLESS, (0, 0, 0)),
    Case("ten bytes", PING[:10], header("PING", 18), (15, 15, 15)),
    Case("nothing", b"", HEADLESS, (0, 0, 0)),
    Case("a Kafka request", bytes.fromhex("00000014 0012 0003 00000001 0001 61 00 01 01 00") + bytes(7),
         header(None, None, state=UNKNOWN), (0, 0, 0)),
    Case("a ZooKeeper request", bytes.fromhex("00000014 00000001 00000003 00000001 2f00") + bytes(8),
         header(None, None, state=UNKNOWN), (0, 0, 0)),
    Case("a TLS hello", bytes.fromhex("16030100c8010000c40303") + bytes(20), header(None, None, state=UNKNOWN),
         (0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_header(case: Case) -> None:
    assert PULSAR.header(case.prefix, True) == case.header


@pytest.mark.parametrize("case", CASES, ids=str)
def test_probe(case: Case) -> None:
    assert tuple(PULSAR.probe(case.prefix, side) for side in (True, False, None)) == case.probe


def test_what_the_broker_sends_and_nobody_knows_is_a_push() -> None:
    assert PULSAR.header(bytes.fromhex("00000008 00000004 08631001"), False).role is Role.PUSH


def test_every_prefix_of_a_frame_can_be_requested() -> None:
    for message in (CONNECT, lookup(7), send(), ack(3, 9)):
        found = [PULSAR.probe(message[:length], True) for length in range(len(message) + 1)]
        assert found == sorted(found)
        assert found[-1] == 97
        for length in range(len(message)):
            PULSAR.header(message[:length], True)


def test_there_are_seventy_commands_and_each_is_known_by_its_first_bytes() -> None:
    assert len(commands()) == 70
    for code, command in commands().items():
        message = frame(code)
        assert PULSAR.header(message, True).operation == command.name
        assert PULSAR.probe(message, None) == 97
