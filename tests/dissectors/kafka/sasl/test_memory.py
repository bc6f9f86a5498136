"""What a connection remembers of SASL, message by message."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from analyzer.decode.content import read_context
from analyzer.session import Session
from dissectors.kafka.sasl.exchange import Sasl
from tests.dissectors.kafka.test_conversation import GOLDEN, Answer, Ask, Message, Token, outcomes

ACCEPTED = b"\0\0\xff\xff" + bytes(4)
FAILED = b"\0\x3a\xff\xff" + bytes(4)


def handshake(number: int, mechanism: bytes, version: int = 1) -> Ask:
    return Ask(number, 17, version, len(mechanism).to_bytes(2) + mechanism)


def token(number: int, data: bytes) -> Ask:
    return Ask(number, 36, 0, len(data).to_bytes(4) + data)


def answered(number: int, data: bytes) -> Answer:
    return Answer(number, b"\0\0\xff\xff" + len(data).to_bytes(4) + data)


def hints(sender: str, mechanism: str | None = None, number: int = 0, again: bool = False) -> dict[str, str]:
    known = {} if mechanism is None else {"mechanism": mechanism, "round": str(number)}
    return {"sender": sender, **known, **({"again": "yes"} if again else {})}


AGREED = Answer(1, b"\0\0" + bytes(4))
REFUSED = Answer(1, b"\0\x21" + bytes(4))
SCRAM = "SCRAM-SHA-256"

CASES: dict[str, tuple[list[Message], list[Mapping[str, str] | None]]] = {
    "one round": (
        [handshake(1, b"PLAIN"), AGREED, token(2, b"\0a\0b"), Answer(2, ACCEPTED), Ask(3), Answer(3)],
        [None, None, hints("client", "PLAIN", 1), hints("server", "PLAIN", 1), None, None],
    ),
    "two rounds, and again": (
        [
            handshake(1, SCRAM.encode()), AGREED, token(2, b"n,,"), answered(2, b"r="), token(3, b"c="),
            answered(3, b"v="), Ask(4), handshake(5, b"PLAIN"), token(6, b"\0a\0b"), Answer(4), Answer(5, AGREED.body),
        ],
        [
            None, None, hints("client", SCRAM, 1), hints("server", SCRAM, 1), hints("client", SCRAM, 2),
            hints("server", SCRAM, 2), None, {"again": "yes"}, hints("client", "PLAIN", 1, True), None, None,
        ],
    ),
    "again without a handshake": (
        [handshake(1, b"PLAIN"), AGREED, token(2, b"\0a\0b"), Answer(2, ACCEPTED), token(3, b"\0a\0b")],
        [None, None, hints("client", "PLAIN", 1), hints("server", "PLAIN", 1), hints("client", "PLAIN", 1, True)],
    ),
    "failed is not again": (
        [handshake(1, b"PLAIN"), AGREED, token(2, b"\0a\0b"), Answer(2, FAILED), token(3, b"\0a\0c")],
        [None, None, hints("client", "PLAIN", 1), hints("server", "PLAIN", 1), hints("client", "PLAIN", 1)],
    ),
    "a refused mechanism": (
        [handshake(1, b"NTLM"), REFUSED, token(2, b"?")], [None, None, hints("client")],
    ),
    "a lost agreement": ([handshake(1, b"PLAIN"), token(2, b"?")], [None, hints("client", "PLAIN", 1)]),
    "no name of a mechanism": ([handshake(1, b"pl\x1bain"), token(2, b"?")], [None, hints("client")]),
    "a late capture": ([token(2, b"n,,"), answered(2, b"r=")], [hints("client"), hints("server")]),
    "bare tokens": (
        [handshake(1, b"PLAIN", 0), AGREED, Token(b"\0a\0b"), Token(b"", client=False), Ask(2)],
        [None, None, hints("client", "PLAIN", 1), hints("server", "PLAIN", 1), None],
    ),
    "bare GSSAPI": (
        [Token(b"\x60\x05xxxxx"), Token(b"x", client=False), Token(b"", client=True)],
        [hints("client", "GSSAPI", 1), hints("server", "GSSAPI", 1), hints("client", "GSSAPI", 2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_hints(case: str) -> None:
    messages, expected = CASES[case]
    assert [outcome.extra for outcome in outcomes(messages)] == expected


@pytest.mark.parametrize("cut", [8, 12, 14, 16, 20])
def test_cut_messages(cut: int) -> None:
    """What is cut of a handshake is at most not told: no other mechanism, and nobody else's round."""
    messages, whole = CASES["two rounds, and again"]
    for outcome, expected in zip(outcomes(messages, cut), whole, strict=True):
        reported = outcome.extra or {}
        assert reported.keys() <= {"sender", "mechanism", "round", "again"}
        assert reported.get("sender") in (None, (expected or {}).get("sender"))
        assert reported.get("mechanism") in (None, (expected or {}).get("mechanism"))


@pytest.mark.parametrize("name", ["k24_sasl_v0", "k4_errors"])
@pytest.mark.usefixtures("small_scale")
def test_both_roads_remember_the_same(name: str) -> None:
    """Contexts of all rows of a capture: message by message, in bulk, and wherever blocks are cut."""
    found = []
    for use_fast_path, block in ((False, 1 << 15), (True, 1 << 15), (True, 16), (True, 5), (False, 7)):
        with Session([GOLDEN / f"{name}.pcap.zst"], use_fast_path=use_fast_path, block=block).load() as session:
            found.append([read_context(session, row) for row in range(len(session.rows))])
    assert all(each == found[0] for each in found)
    assert any(context.extra for context in found[0])


def test_contexts_are_few() -> None:
    """However long an exchange goes on, whatever it calls itself."""
    memory = Sasl()
    step: list[Callable[[], Mapping[str, str]]] = [memory.send, lambda: memory.answer(failed=False, empty=False)]
    memory.ask("GSSAPI")
    assert len({tuple(step[turn % 2]().items()) for turn in range(1000)}) < 20
