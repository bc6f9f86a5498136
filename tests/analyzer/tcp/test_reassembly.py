"""Segments in, bytes in order out: the rules of analyzer.tcp.reassembly, one row each, and the property behind them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.tcp.reassembly import (
    GAP,
    GAP_AGE_NS,
    GAP_AGE_PACKETS,
    GAP_SEGMENTS,
    OPEN_AFTER_PACKETS,
    SNAPPED,
    WINDOW,
    HalfStream,
    Piece,
)

BASE = 1000


@dataclass(slots=True)
class Feed:
    """A half-stream whose payload bytes are their own stream offsets: `at` is a place in a made-up store."""

    half: HalfStream
    packet: int = 0
    now: int = 0

    def data(self, offset: int, length: int, captured: int | None = None, at: int | None = None) -> list[Piece]:
        self.packet += 1
        self.now += 1
        location = 10_000 + offset if at is None else at
        remaining = length if captured is None else captured
        return self.half.accept(BASE + offset & 0xFFFFFFFF, location, length, remaining, self.packet, self.now)


def opened() -> Feed:
    feed = Feed(HalfStream())
    feed.half.open(BASE - 1)
    return feed


def spans(pieces: list[Piece]) -> list[tuple[int, int, bool]]:
    return [(piece.offset, piece.end, piece.lost) for piece in pieces]


Arrival = tuple[int, int]
CASES: dict[str, tuple[list[Arrival], list[list[tuple[int, int]]]]] = {
    "in order": ([(0, 5), (5, 5)], [[(0, 5)], [(5, 10)]]),
    "swapped": ([(5, 5), (0, 5)], [[], [(0, 5), (5, 10)]]),
    "three, backwards": ([(10, 5), (5, 5), (0, 5)], [[], [], [(0, 5), (5, 10), (10, 15)]]),
    "twice": ([(0, 5), (0, 5)], [[(0, 5)], []]),
    "twice while it waits": ([(5, 5), (5, 5), (0, 5)], [[], [], [(0, 5), (5, 10)]]),
    "a retransmission that grew": ([(0, 5), (0, 8)], [[(0, 5)], [(5, 8)]]),
    "grown over what waits": ([(0, 2), (4, 2), (0, 8)], [[(0, 2)], [], [(2, 4), (4, 6), (6, 8)]]),
    "inside what waits": ([(4, 6), (6, 2), (0, 4)], [[], [], [(0, 4), (4, 10)]]),
    "around what waits": ([(4, 2), (2, 8), (0, 2)], [[], [], [(0, 2), (2, 4), (4, 6), (6, 10)]]),
    "older than the first byte": ([(-5, 3), (0, 5)], [[], [(0, 5)]]),
    "from before the first byte into it": ([(-5, 10), (5, 5)], [[(0, 5)], [(5, 10)]]),
    "keep-alive with a byte": ([(0, 5), (4, 1), (5, 5)], [[(0, 5)], [], [(5, 10)]]),
    "zero-window probe": ([(0, 5), (5, 1), (5, 5)], [[(0, 5)], [(5, 6)], [(6, 10)]]),
    "ahead of any window": ([(WINDOW + 1, 5), (0, 5)], [[], [(0, 5)]]),
}


@pytest.mark.parametrize("case", CASES)
def test_arrivals(case: str) -> None:
    arrivals, expected = CASES[case]
    feed = opened()
    assert [[(piece.offset, piece.end) for piece in feed.data(*arrival)] for arrival in arrivals] == expected
    assert feed.half.end() == []


def test_first_bytes_win_and_the_others_are_remembered() -> None:
    feed = opened()
    feed.data(0, 5, at=100)
    feed.data(0, 5, at=200)
    ((new, old),) = feed.half.retransmissions
    assert old is not None
    assert (new.at, old.at, new.offset, new.length) == (200, 100, 0, 5)


def test_bytes_of_long_ago_are_repeated_without_comparison() -> None:
    feed = opened()
    for offset in range(20):
        feed.data(offset, 1)
    feed.data(0, 2)
    assert [(new.offset, new.length, old) for new, old in feed.half.retransmissions] == [(0, 2, None)]


def test_snap_length_leaves_a_named_gap() -> None:
    feed = opened()
    assert [(piece.offset, piece.length, piece.at) for piece in feed.data(0, 10, captured=4)] == [
        (0, 4, 10_000),
        (4, 6, SNAPPED),
    ]
    assert feed.half.next == 10
    assert spans(feed.data(10, 5, captured=0)) == [(10, 15, True)]


def hole() -> Feed:
    feed = opened()
    feed.data(0, 5)
    feed.data(8, 2)
    return feed


def test_a_gap_waits_without_acknowledgement() -> None:
    feed = hole()
    for _ in range(GAP_AGE_PACKETS * 3):
        assert feed.half.tick(feed.now + 10 * GAP_AGE_NS) == []


@pytest.mark.parametrize("age", ["packets", "time"])
def test_an_acknowledged_gap_is_given_up_after_a_while(age: str) -> None:
    feed = hole()
    feed.half.acknowledge(BASE + 10)
    if age == "packets":
        for _ in range(GAP_AGE_PACKETS):
            assert feed.half.tick(feed.now) == []
        ready = feed.half.tick(feed.now)
    else:
        assert feed.half.tick(feed.now + GAP_AGE_NS) == []
        ready = feed.half.tick(feed.now + GAP_AGE_NS + 1)
    assert spans(ready) == [(5, 8, True), (8, 10, False)]
    assert [(gap.offset, gap.length, gap.at) for gap in feed.half.gaps] == [(5, 3, GAP)]


def test_acknowledging_less_than_the_gap_does_not_give_it_up() -> None:
    feed = hole()
    feed.half.acknowledge(BASE + 5)
    assert feed.half.tick(feed.now + 10 * GAP_AGE_NS) == []


def test_an_acknowledgement_from_nowhere_counts_for_nothing() -> None:
    feed = hole()
    feed.half.acknowledge(BASE + 5 + WINDOW + 1)
    assert feed.half.acknowledged == 0


def test_too_much_behind_a_gap_gives_it_up() -> None:
    feed = opened()
    for index in range(GAP_SEGMENTS + 1):
        feed.data(5 + 2 * index, 1)
    assert spans(feed.half.tick(feed.now)) == [(0, 5, True), (5, 6, False)]


def test_the_end_gives_everything_up() -> None:
    feed = opened()
    for offset in (2, 6):
        feed.data(offset, 2)
    assert spans(feed.half.end()) == [(0, 2, True), (2, 4, False), (4, 6, True), (6, 8, False)]
    assert [gap.length for gap in feed.half.gaps] == [2, 2]


def test_bytes_missing_before_a_fin_are_a_gap() -> None:
    feed = opened()
    feed.data(0, 5)
    assert spans(feed.half.lose_until(9, packet=7, time=1)) == [(5, 9, True)]
    assert feed.half.lose_until(9, packet=7, time=1) == []
    assert [gap.length for gap in feed.half.gaps] == [4]


# ---- without SYN


def test_it_opens_at_the_lowest_number_when_the_other_side_acknowledges() -> None:
    feed = Feed(HalfStream())
    assert feed.data(5, 5) == []
    assert feed.data(0, 5) == []
    assert spans(feed.half.acknowledge(BASE)) == [(0, 5, False), (5, 10, False)]
    assert feed.half.base == BASE
    assert not feed.half.by_syn


def test_it_opens_after_some_packets() -> None:
    feed = Feed(HalfStream())
    feed.data(0, 5)
    for _ in range(OPEN_AFTER_PACKETS):
        assert feed.half.tick(feed.now) == []
    assert spans(feed.half.tick(feed.now)) == [(0, 5, False)]


def test_it_opens_at_the_end() -> None:
    feed = Feed(HalfStream())
    feed.data(0, 5)
    feed.data(7, 5)
    assert spans(feed.half.end()) == [(0, 5, False), (5, 7, True), (7, 12, False)]


# ---- the property


@st.composite
def networks(draw: st.DrawFn) -> tuple[bytes, int, list[tuple[int, int]]]:
    """A string, its first sequence number, and segments that cover it in any order, with repeats and overlaps."""
    data = draw(st.binary(min_size=1, max_size=40))
    base = draw(st.integers(0, 0xFFFFFFFF) | st.integers(0xFFFFFFFF - 40, 0xFFFFFFFF))
    cuts = sorted(draw(st.sets(st.integers(1, len(data)), max_size=8)) | {0, len(data)})
    firm = list(pairwise(cuts))
    places = st.integers(0, len(data))
    loose = draw(st.lists(st.tuples(places, places), max_size=6))
    extra = [(min(pair), max(pair)) for pair in loose if pair[0] != pair[1]]
    return data, base, draw(st.permutations(firm + extra))


@given(networks())
def test_any_order_gives_the_string_once(network: tuple[bytes, int, list[tuple[int, int]]]) -> None:
    data, base, segments = network
    half = HalfStream()
    half.open(base - 1 & 0xFFFFFFFF)
    ready: list[Piece] = []
    for packet, (begin, end) in enumerate(segments):
        if end - begin == 1 and begin == half.next - 1:
            continue  # is a keep-alive, and its byte is there already
        ready += half.accept(base + begin & 0xFFFFFFFF, begin, end - begin, end - begin, packet, packet)
    ready += half.end()
    assert not half.gaps
    assert b"".join(data[piece.at : piece.at + piece.length] for piece in ready) == data
    assert [piece.offset for piece in ready] == [piece.at for piece in ready]
    arrived = sum(end - begin for begin, end in segments)
    assert sum(new.length for new, _ in half.retransmissions) <= arrived - len(data)


@given(networks(), st.data())
def test_with_losses_it_is_the_string_with_gaps(
    network: tuple[bytes, int, list[tuple[int, int]]], draw: st.DataObject
) -> None:
    _, base, segments = network
    remaining = draw.draw(st.lists(st.sampled_from(segments), max_size=len(segments)))
    half = HalfStream()
    half.open(base - 1 & 0xFFFFFFFF)
    seen = set()
    ready: list[Piece] = []
    for packet, (begin, end) in enumerate(remaining):
        if end - begin == 1 and begin == half.next - 1:
            continue
        seen |= set(range(begin, end))
        ready += half.accept(base + begin & 0xFFFFFFFF, begin, end - begin, end - begin, packet, packet)
    ready += half.end()
    place = 0
    for piece in ready:
        assert piece.offset == place
        place = piece.end
        assert all((offset in seen) != piece.lost for offset in range(piece.offset, piece.end))
    assert place == max(seen, default=-1) + 1
