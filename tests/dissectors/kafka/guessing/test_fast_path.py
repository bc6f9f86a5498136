"""Many answers without requests weighed in columns: the same as one by one."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.decode.content import read_messages
from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.guessing import fast_path
from dissectors.kafka.guessing.fast_path import LayoutSearch, guess_many
from dissectors.kafka.guessing.guess import candidates, choose_believed, format_hints, guess, read_hints
from dissectors.kafka.guessing.weighing.fast_path import ColumnScales
from tests.dissectors.kafka.nested.structured import framed
from tests.dissectors.kafka.truth import GOLDEN, frames

CAPTURES = ("k4_java_classic", "k4_java_admin", "k28_sweep", "k4_py_aio", "k11_sweep", "k4_java_share")


def answers(name: str) -> list[bytes]:
    path = Path(__file__).parents[3] / "golden" / "kafka" / f"{name}.pcap.zst"
    with Session([path]).load() as session:
        return read_messages(session, np.flatnonzero(session.rows.column("role")[:] == Role.RESPONSE))


def damage(messages: list[bytes], chance: Random) -> list[bytes]:
    """Messages of which each has some bytes changed, taken out or put in, behind the correlation id."""
    found = []
    for message in messages:
        body = bytearray(message[8:])
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(body) + 1)
            body[at : at + chance.randrange(3)] = chance.choices(
                (0, 1, 0xFF, chance.randrange(256)), k=chance.randrange(3)
            )
        found.append(framed(message[4:8] + bytes(body)))
    return found


def assert_same(messages: list[bytes]) -> None:
    assert guess_many(messages) == [guess(each) for each in messages]
    whole = [each for each in messages if len(each) >= 8]
    found = LayoutSearch(whole).list_candidates()
    for each, fits in zip(whole, found, strict=True):
        assert choose_believed(fits) == candidates(each)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("few", [1, 96])
@pytest.mark.parametrize("name", CAPTURES)
def test_real_answers(name: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where columns go on to the last message, so that none is left to the slow path, and where two are alike."""
    monkeypatch.setattr(ColumnScales, "few", few)
    monkeypatch.setattr(fast_path, "ALIKE", few + 1)
    monkeypatch.setattr(fast_path, "MANY", 2 * few)
    found = answers(name)
    assert len(found) > 100
    assert_same(found)
    assert_same(damage(found, Random(name)))


@pytest.mark.slow
@pytest.mark.parametrize("few", [1, 96])
def test_answers_of_random_values(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all layouts, among them tags that a layout knows and others."""
    monkeypatch.setattr(ColumnScales, "few", few)
    monkeypatch.setattr(fast_path, "ALIKE", few + 1)
    found = [each.data for each in frames(GOLDEN) if each.context.role is Role.RESPONSE and len(each.data) < 4096]
    assert_same(found)
    assert_same(damage(found, Random(1)))


def test_what_is_no_answer() -> None:
    chance = Random(2)
    found = [b"", b"\0\0\0", framed(b""), framed(b"\0\0\0\1"), struct.pack(">i", 9) + bytes(8)]
    found += [framed(chance.randbytes(chance.randrange(4, 80))) for _ in range(100)]
    assert guess_many(found) == [guess(each) for each in found]


def test_the_budget_is_that_of_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists use it up, in some messages sooner than in others."""
    monkeypatch.setattr("dissectors.kafka.guessing.guess._VALUES", 300)
    monkeypatch.setattr(ColumnScales, "few", 24)
    lists = [framed(bytes(4) + struct.pack(">i", count) + bytes(20 * count)) for count in range(1, 60)]
    assert_same(lists)
    monkeypatch.setattr(fast_path, "ALIKE", 25)
    chance = Random(3)
    ends = [bytes(chance.choices((0, 1, 255), k=8)) for _ in range(60)]
    assert_same([framed(bytes(4) + struct.pack(">i", 50) + bytes(992) + end) for end in ends])


def test_a_guess_is_read_back() -> None:
    for message in [*answers("k4_java_classic"), b"\0\0\0\1\0", framed(b"\0\0\0\1" + bytes(2))]:
        assert read_hints(format_hints(guess(message))) == guess(message)


def test_hints_say_what_guessing_says() -> None:
    kafka, plain = Kafka(), Context(Role.RESPONSE)
    for message in answers("k11_sweep"):
        hinted = Context(Role.RESPONSE, extra=format_hints(guess(message)))
        assert kafka.values(message, hinted) == kafka.values(message, plain)
        assert kafka.tree(message, hinted) == kafka.tree(message, plain)
