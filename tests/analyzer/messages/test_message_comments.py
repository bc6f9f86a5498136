"""Comments of rows: those on the packets that brought their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.packets import list_packets
from analyzer.session import Session
from tests.analyzer.commented import commented
from tests.analyzer.decode.test_rows import ANSWER, REQUEST
from tests.analyzer.wire import ACK, CLIENT, SERVER, Segment, frames, opening

HALF = len(REQUEST) // 2
PACKETS = [
    *opening(),  # 1, 2, 3
    Segment(CLIENT, 0, REQUEST[:HALF]),  # 4
    Segment(CLIENT, HALF, REQUEST[HALF:] + REQUEST),  # 5: the end of the first message, and all of the second
    Segment(SERVER, 0, b"", len(REQUEST), flags=ACK),  # 6
    Segment(CLIENT, 0, REQUEST[:HALF]),  # 7: once more
    Segment(SERVER, 0, ANSWER, 2 * len(REQUEST)),  # 8
]
COMMENTS: Mapping[int, Sequence[bytes]] = {
    1: [b"the SYN"],
    4: [b"the beginning", b"really"],
    5: [b"two messages"],
    6: [b"an ACK"],
    7: [b"came again"],
    8: [b"the answer"],
}
EXPECTED = [["the beginning", "really", "two messages"], ["two messages"], ["the answer"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return commented(tmp_path / "a.pcapng", frames(PACKETS), COMMENTS)


@pytest.mark.parametrize("block", [1, 32_768])
def test_rows_have_the_comments_of_the_packets_that_brought_them(path: Path, block: int) -> None:
    with Session([path], block=block).load() as session:
        assert [session.comments.read_row(row) for row in range(len(session.rows))] == EXPECTED
        places, texts = session.comments.read_rows(np.array([2, 0]))
        assert (places.tolist(), texts) == ([0, 1, 1, 1], [*EXPECTED[2], *EXPECTED[0]])


def test_a_stream_says_the_same_when_rows_close(path: Path) -> None:
    with Session([path], block=1) as session:
        found = [session.comments.read_row(row) for rows in session.grow() for row in rows]
    assert found == EXPECTED


def test_the_mask_is_of_rows_with_comments(tmp_path: Path) -> None:
    path = commented(tmp_path / "a.pcapng", frames(PACKETS), {8: [b"x"], 1: [b"y"]})
    with Session([path]).load() as session:
        rows = np.arange(len(session.rows))
        assert session.comments.has_comments
        assert session.comments.mask(rows).tolist() == [False, False, True]
        assert session.comments.mask(rows[:0]).tolist() == []


def test_a_message_is_shown_with_those_of_what_came_again(path: Path) -> None:
    with Session([path]).load() as session:
        found = session.comments.read_message(list_packets(session, 0))
        assert found == [*[(4, "the beginning"), (4, "really"), (5, "two messages"), (7, "came again")]]
        assert session.comments.read_packet(1) == ["the SYN"]
        assert session.comments.read_packet(2) == session.comments.read_packet(99) == []
        assert session.comments.read_first(2) == [(1, "the SYN"), (4, "the beginning")]


def test_a_packet_of_several_pieces_says_it_once(tmp_path: Path) -> None:
    middle = slice(4, 8)
    packets = [
        *opening(),
        Segment(CLIENT, 0, REQUEST[:4]),
        Segment(CLIENT, 8, REQUEST[8:]),
        Segment(CLIENT, 4, REQUEST[middle] + REQUEST[8:]),
    ]
    path = commented(tmp_path / "a.pcapng", frames(packets), {5: [b"early"], 6: [b"late"]})
    with Session([path]).load() as session:
        assert sorted(session.comments.read_row(0)) == ["early", "late"]


def test_without_comments_nothing_is_looked_up(tmp_path: Path) -> None:
    path = commented(tmp_path / "a.pcapng", frames(PACKETS), {})
    with Session([path]).load() as session:
        rows = np.arange(len(session.rows))
        assert not session.comments.has_comments
        assert (session.comments.read_row(0), session.comments.mask(rows).any()) == ([], False)
        assert session.comments.read_message(list_packets(session, 0)) == []
