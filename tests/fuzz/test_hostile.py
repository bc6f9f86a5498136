"""Captures that somebody made to hurt: small files that ask for much time or memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.decode.bodies import decode_tree
from analyzer.session import Session
from tests.analyzer.messages.test_engine import answer, message
from tests.analyzer.wire import CLIENT, SERVER, Segment, capture, opening
from tests.effort import within_steps
from tests.fuzz.test_mutations import CONSTANT, FACTOR

MTU = 1400


def sent(side: int, data: bytes, begin: int = 0) -> list[Segment]:
    """Bytes in full segments."""
    return [Segment(side, begin + at, data[at : at + MTU]) for at in range(0, len(data), MTU)]


def peak(path: Path, use: Callable[[Session], object]) -> float:
    """The most memory that reading needs, in parts of what is allowed."""
    tracemalloc.start()
    try:
        with Session([path]).load() as session:
            use(session)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return used / (FACTOR * path.stat().st_size + CONSTANT)


def test_answers_that_fit_none_of_many_requests(tmp_path: Path) -> None:
    count = 10_000
    requests = b"".join(message(number) for number in range(count))
    answers = b"".join(answer(1_000_000 + number) for number in range(count))
    path = capture(tmp_path / "a.pcap", [*opening(), *sent(CLIENT, requests), *sent(SERVER, answers)])
    with within_steps(8_000_000), Session([path]).load() as session:  # some 2 million; each with each: 100 million
        assert len(session.rows) == 2 * count


def test_a_huge_gap_inside_a_message(tmp_path: Path) -> None:
    size, behind = 90_000_000, b"x" * 10
    head = size.to_bytes(4) + message(2)[4:]
    last = Segment(CLIENT, 20 + 4 + size - len(behind), behind)
    path = capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, message(1) + head), last])
    assert peak(path, lambda session: decode_tree(session, 1)) < 1


@pytest.mark.slow
def test_nothing_but_empty_frames(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, message(1)), *sent(CLIENT, bytes(1 << 20), 20)])
    assert peak(path, lambda session: len(session.rows)) < 1
