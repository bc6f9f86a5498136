"""Cutting one half-stream into messages: in step, across gaps, and the hunt for the way back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.messages.framing import StreamFramer
from analyzer.tcp.reassembly import GAP, Piece
from dissectors.kafka import Kafka

KAFKA = Kafka()


class Memory:
    """A Reader over bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_bytes(self, location: int, length: int) -> bytes:
        assert location >= 0, "lost bytes must not be read"
        return self._data[location : location + length]


def request(correlation: int, body: bytes = b"\0\0\0\0") -> bytes:
    data = b"\0\3\0\1" + correlation.to_bytes(4) + b"\0\2me" + body
    return len(data).to_bytes(4) + data


def response(correlation: int, body: bytes = b"\xff" * 11) -> bytes:
    data = correlation.to_bytes(4) + body
    return len(data).to_bytes(4) + data


def pieces(data: bytes, cuts: Sequence[int], lost: Sequence[tuple[int, int]] = ()) -> list[Piece]:
    """`data` in segments that end at `cuts`; `lost` spans are gaps."""
    edges = sorted({0, len(data), *cuts, *(edge for span in lost for edge in span)})
    return [
        Piece(begin, GAP if any(a <= begin < b for a, b in lost) else begin, end - begin, number, number)
        for number, (begin, end) in enumerate(pairwise(edges))
    ]


def framed(data: bytes, parts: Sequence[Piece], *, client: bool = True, synced: bool = True) -> list[str]:
    """Frames as `begin-end`, with `raw` or `cut` behind."""
    framer, memory = StreamFramer(from_client=client, synced=synced), Memory(data)
    frames = [frame for part in parts for frame in framer.feed(part, KAFKA, memory)]
    frames += framer.flush(KAFKA, memory)
    for frame in frames:
        assert sum(piece.length for piece in frame.pieces) == frame.length
        assert frame.pieces[0].offset == frame.offset
    return [f"{frame.offset}-{frame.offset + frame.length}{' raw' * frame.raw}{' cut' * frame.cut}" for frame in frames]


R = [request(number) for number in range(1, 6)]
THREE = b"".join(R[:3])
ANSWERS = b"".join(response(number) for number in range(1, 6))
NOISE = b"\x99" * 30

# name: bytes, segment ends, lost spans, from the client, in step, frames
CASES: dict[str, tuple[bytes, list[int], list[tuple[int, int]], bool, bool, list[str]]] = {
    "one segment": (THREE, [], [], True, True, ["0-20", "20-40", "40-60"]),
    "a segment each": (THREE, [20, 40], [], True, True, ["0-20", "20-40", "40-60"]),
    "cut in a length": (THREE, [22, 41], [], True, True, ["0-20", "20-40", "40-60"]),
    "the last is not whole": (THREE[:50], [20], [], True, True, ["0-20", "20-40", "40-50 cut"]),
    "not even a length": (THREE[:42], [20], [], True, True, ["0-20", "20-40", "40-42 cut"]),
    "empty frames": (R[0] + bytes(8) + R[1], [], [], True, True, ["0-20", "20-24", "24-28", "28-48"]),
    "a gap inside a message": (THREE, [20, 40], [(25, 30)], True, True, ["0-20", "20-40", "40-60"]),
    "a gap of one message": (THREE, [20, 40], [(20, 40)], True, True, ["0-20", "40-60"]),
    "a gap over an edge": (THREE, [20, 40], [(30, 45)], True, True, ["0-20", "20-40", "45-60 raw"]),
    "a gap in a length": (THREE, [20, 40], [(21, 30)], True, True, ["0-20", "20-21 cut", "30-40 raw", "40-60"]),
    "a gap at the begin": (THREE, [20, 40], [(0, 20)], True, True, ["20-40", "40-60"]),
    "a gap at the end": (THREE, [20, 40], [(40, 60)], True, True, ["0-20", "20-40"]),
    "nonsense where a length should be": (
        R[0] + NOISE + R[1] + R[2],
        [20, 50],
        [],
        True,
        True,
        ["0-20", "20-50 raw", "50-70", "70-90"],
    ),
    "not in step, and it begins at once": (THREE, [20, 40], [], True, False, ["0-20", "20-40", "40-60"]),
    "not in step, in the middle of a message": (THREE[7:], [13], [], True, False, ["0-13 raw", "13-33", "33-53"]),
    "not in step, one segment": (THREE[7:], [], [], True, False, ["0-13 raw", "13-33", "33-53"]),
    "answers": (ANSWERS, [19, 38, 57, 76], [], False, False, ["0-19", "19-38", "38-57", "57-76", "76-95"]),
    "answers from the middle": (
        ANSWERS[6:],
        [13, 32, 51, 70],
        [],
        False,
        False,
        ["0-13 raw", "13-32", "32-51", "51-70", "70-89"],
    ),
    "a rival that claims much": (
        b"\0\1\0\0" + bytes(8) + b"\0\0" + NOISE + THREE,
        [44],
        [],
        True,
        False,
        ["0-44 raw", "44-64", "64-84", "84-104"],
    ),
    "only noise": (NOISE * 3, [30], [], True, False, ["0-90 raw"]),
}


@pytest.mark.parametrize("case", CASES)
def test_frames(case: str) -> None:
    data, cuts, lost, client, synced, expected = CASES[case]
    assert framed(data, pieces(data, cuts, lost), client=client, synced=synced) == expected


@pytest.mark.parametrize("case", [name for name, case in CASES.items() if not case[2]])
def test_byte_by_byte(case: str) -> None:
    data, _, _, client, synced, expected = CASES[case]
    assert framed(data, pieces(data, range(len(data))), client=client, synced=synced) == expected


def test_no_dissector_one_run() -> None:
    framer, memory = StreamFramer(from_client=True), Memory(THREE)
    parts = pieces(THREE, [20], [(40, 50)])
    frames = [frame for part in parts for frame in framer.feed(part, None, memory)] + list(framer.flush(None, memory))
    assert [(frame.offset, frame.length, frame.raw) for frame in frames] == [(0, 40, True), (50, 10, True)]


def test_what_follows_a_cut_message_is_not_in_step() -> None:
    data = THREE[:30] + THREE
    framer, memory = StreamFramer(from_client=True, synced=True), Memory(data)
    first, *rest = pieces(data, [30])
    assert [frame.length for frame in framer.feed(first, KAFKA, memory)] == [20]
    assert [(frame.length, frame.cut) for frame in framer.flush(KAFKA, memory)] == [(10, True)]
    assert [frame.offset for part in rest for frame in framer.feed(part, KAFKA, memory)] == [30, 50, 70]


@given(
    st.binary(max_size=120),
    st.sets(st.integers(1, 119)),
    st.tuples(st.integers(0, 119), st.integers(0, 60)),
    st.booleans(),
)
def test_frames_tile_what_is_not_lost(noise: bytes, cuts: set[int], gap: tuple[int, int], client: bool) -> None:
    data = R[0] + noise + R[1]
    lost = [(min(gap[0], len(data)), min(sum(gap), len(data)))] if gap[1] else []
    framer, memory = StreamFramer(from_client=client, synced=True), Memory(data)
    frames = [
        frame
        for part in pieces(data, [cut for cut in cuts if cut < len(data)], lost)
        for frame in framer.feed(part, KAFKA, memory)
    ]
    frames += framer.flush(KAFKA, memory)
    covered = [offset for frame in frames for offset in range(frame.offset, frame.offset + frame.length)]
    assert covered == sorted(set(covered))
    assert all(frame.length > 0 for frame in frames)
    remaining = {offset for offset in range(len(data)) if not any(a <= offset < b for a, b in lost)}
    assert remaining <= set(covered)
