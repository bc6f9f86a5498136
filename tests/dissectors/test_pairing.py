"""Pairing by a number: order does not matter, sides do, and nothing grows without bound."""

from __future__ import annotations

import pytest

from dissectors import pairing
from dissectors.api import MessageHeader, Role, State
from dissectors.pairing import PairByKey

ASK, ANSWER, ONEWAY = Role.REQUEST, Role.RESPONSE, Role.ONEWAY
CLIENT, SERVER = True, False


def header(prefix: bytes, from_client: bool) -> MessageHeader:
    """A message of two bytes: role and number."""
    role = Role(prefix[0])
    return MessageHeader(role, "ask" if role is ASK else None, correlation=prefix[1] or None)


def talk(*steps: tuple[Role, int, bool]) -> list[int | None]:
    conversation = PairByKey(header)
    return [conversation.step(at, bytes(step[:2]), step[2]).partner for at, step in enumerate(steps)]


CASES = {
    "in any order":
        ([(ASK, 1, CLIENT), (ASK, 2, CLIENT), (ANSWER, 2, SERVER), (ANSWER, 1, SERVER)], [None, None, 1, 0]),
    "each side has its own numbers":
        ([(ASK, 1, CLIENT), (ASK, 1, SERVER), (ANSWER, 1, CLIENT), (ANSWER, 1, SERVER)], [None, None, 1, 0]),
    "a number again before its answer":
        ([(ASK, 1, CLIENT), (ASK, 1, CLIENT), (ANSWER, 1, SERVER), (ANSWER, 1, SERVER)], [None, None, 0, 1]),
    "an answer twice":
        ([(ASK, 1, CLIENT), (ANSWER, 1, SERVER), (ANSWER, 1, SERVER)], [None, 0, None]),
    "no number": ([(ASK, 0, CLIENT), (ANSWER, 0, SERVER)], [None, None]),
    "one-way messages do not wait": ([(ONEWAY, 1, CLIENT), (ANSWER, 1, SERVER)], [None, None]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_partners(case: str) -> None:
    steps, partners = CASES[case]
    assert talk(*steps) == partners


def test_an_answer_tells_what_was_requested_and_an_orphan_is_a_guess() -> None:
    conversation = PairByKey(header)
    conversation.step(0, bytes((ASK, 1)), CLIENT)
    answer = conversation.step(1, bytes((ANSWER, 1)), SERVER).header
    orphan = conversation.step(2, bytes((ANSWER, 1)), SERVER).header
    assert (answer.operation, answer.state) == ("ask", State.COMPLETE)
    assert (orphan.operation, orphan.state) == (None, State.GUESSED)


def test_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "MOST_WAITING", 3)
    steps = [(ASK, number, CLIENT) for number in (1, 2, 3, 4)] + [(ANSWER, number, SERVER) for number in (1, 2, 4)]
    assert talk(*steps)[4:] == [None, 1, 3]
