"""Guesses of a live capture have a budget: what exceeds it is shown without a guess, and says so."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from analyzer.messages import guess_budget
from analyzer.messages.guess_budget import GuessBudget
from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.guess_hints import SKIPPED
from dissectors.kafka import Kafka
from dissectors.zookeeper import ZooKeeper
from tests.analyzer.wire import SERVER, Talk, capture, rows_of, segments
from tests.dissectors.zookeeper.messages import reply, ustring

COUNT = 40
LIST_GROUPS = b"\0\0" + struct.pack(">ih6sh8s", 1, 6, b"orders", 8, b"consumer")


def answer(correlation: int) -> bytes:
    return struct.pack(">ii", len(LIST_GROUPS) + 4, correlation) + LIST_GROUPS


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    packets = segments(Talk(tuple((SERVER, answer(number)) for number in range(1, COUNT + 1))))
    return capture(tmp_path / "a.pcap", [each for each in packets if each.side == SERVER])


def list_guesses(session: Session) -> list[str]:
    """The rows that say `perhaps`, or that they were not guessed."""
    found = [str(row["info"]) + str(row["findings"]) for row in rows_of(session)]
    assert len(found) == COUNT
    return ["skipped" if "guess-skipped" in each else "guessed" for each in found if "guess" in each]


def test_what_exceeds_the_budget_says_so(captured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session([captured]).load() as session:
        assert list_guesses(session) == ["guessed"] * COUNT
        session.engine.guesses = GuessBudget()
        assert list_guesses(session) == ["guessed"] * COUNT
        assert session.engine.guesses.skipped == 0
        monkeypatch.setattr(guess_budget, "BURST", 0.0)
        session.engine.guesses = GuessBudget()
        assert list_guesses(session) == ["skipped"] * COUNT
        assert list_guesses(session) == ["skipped"] * COUNT
        assert session.engine.guesses.skipped == COUNT, "rows that are read again are counted once"


@pytest.mark.parametrize(
    ("dissector", "message"),
    [(Kafka(), answer(7)), (ZooKeeper(), reply(7, ustring("/orders")))],
    ids=["kafka", "zookeeper"],
)
def test_what_is_not_guessed_may_be_a_secret(dissector: Kafka | ZooKeeper, message: bytes) -> None:
    context = Context(Role.RESPONSE, extra=SKIPPED)
    body = dissector.values(message, context)
    assert [each.code for each in body.findings] == ["guess-skipped"]
    assert b"orders" not in repr(body.values).encode()
    assert [each.code for each in dissector.tree(message, context).findings] == ["guess-skipped"]
