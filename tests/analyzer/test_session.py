"""What a front end asks of a session: any row as bytes, values, tree and packets, also where bytes are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.values import TimeColumn, format_iso_time
from analyzer.decode.bodies import decode_tree, list_row_findings
from analyzer.decode.content import read_message
from analyzer.decode.packets import list_packets
from analyzer.decode.rows import RowReader
from analyzer.errors import CaptureError
from analyzer.session import Session
from tests.analyzer.capture.writers import T0
from tests.analyzer.decode.test_rows import ANSWER, REQUEST
from tests.analyzer.wire import ACK, CLIENT, FIN, SERVER, Segment, capture, opening, rows_of, snapped
from tests.dissectors.trees import assert_tiles

CUT = 14


@contextmanager
def loaded(tmp_path: Path, packets: Sequence[Segment], *, handshake: bool = True) -> Iterator[Session]:
    path = capture(tmp_path / "a.pcap", [*opening() * handshake, *packets])
    with Session([path]).load() as session:
        yield session


def codes(session: Session, row: int) -> list[str]:
    return [finding.code for finding in list_row_findings(session, row)]


SECOND = len(REQUEST)
"""Offset of the message that is not whole; a whole one in front of it says which protocol this is."""


def parts(*spans: tuple[int, int]) -> list[Segment]:
    return [Segment(CLIENT, 0, REQUEST), *(Segment(CLIENT, SECOND + a, REQUEST[a:b]) for a, b in spans)]


ALL = len(REQUEST)
FIN_BEHIND = Segment(CLIENT, SECOND + ALL, flags=FIN | ACK)
MISSING: dict[str, tuple[list[Segment], int, list[str]]] = {
    "a gap in the middle": (parts((0, CUT), (20, ALL)), ALL, ["gap"]),
    "a gap in the header": (parts((0, 5), (20, ALL)), ALL, ["gap"]),
    "a gap at the end": ([*parts((0, CUT)), FIN_BEHIND], ALL, ["gap"]),
    "the snap length": (snapped(parts((0, ALL)), CUT)[1:], ALL, ["cut-by-snaplen"]),
    "the snap length, twice": (snapped(parts((0, 12), (12, ALL)), 8)[1:], ALL, ["cut-by-snaplen"]),
    "the end of the capture": (parts((0, CUT)), CUT, ["unfinished"]),
    "the end in a length": (parts((0, 3)), 3, ["unfinished"]),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_message_that_is_not_whole(tmp_path: Path, case: str) -> None:
    packets, length, expected = MISSING[case]
    if packets[0].at != 0:
        packets = [Segment(CLIENT, 0, REQUEST), *packets]
    with loaded(tmp_path, packets) as session:
        _, row = rows_of(session)
        assert (row["state"], row["role"], row["offset"], row["length"]) == ("partial", "request", SECOND, length)
        assert codes(session, 1) == expected
        assert "malformed-body" not in [finding["code"] for finding in row["findings"]]
        tree = decode_tree(session, 1)
        assert_tiles(tree)
        assert len(tree.sources[0].data) == length


def test_a_gap_is_a_leaf_with_its_place(tmp_path: Path) -> None:
    packets, *_ = MISSING["a gap in the middle"]
    with loaded(tmp_path, packets) as session:
        leaves = [(field.spec.type, field.offset, field.length) for field in decode_tree(session, 1).fields[-2:]]
        assert leaves == [("gap", CUT, 20 - CUT), ("undecoded", 20, len(REQUEST) - 20)]
        assert read_message(session, 1) == REQUEST[:CUT]
        assert f"6 bytes are missing at offset {SECOND + CUT}" in session.findings[0].text


def test_packets_of_a_row_with_retransmissions(tmp_path: Path) -> None:
    packets = [
        Segment(CLIENT, 0, REQUEST[:10]),
        Segment(CLIENT, 0, REQUEST[:10]),
        Segment(CLIENT, 8, REQUEST[8:]),
        Segment(SERVER, 0, ANSWER, acked=len(REQUEST)),
    ]
    with loaded(tmp_path, packets) as session:
        found = [tuple(packet.values()) for packet in list_packets(session, 0)]
        assert [(number, offset, length, again) for number, _, offset, length, again in found] == [
            (4, 0, 10, False),
            (5, 0, 10, True),
            (6, 8, 2, True),
            (6, 10, len(REQUEST) - 10, False),
        ]
        assert [packet["retransmission"] for packet in list_packets(session, 1)] == [False]


def test_other_bytes_the_second_time(tmp_path: Path) -> None:
    with loaded(tmp_path, [Segment(CLIENT, 0, REQUEST), Segment(CLIENT, 0, REQUEST[:-1] + b"?")]) as session:
        assert read_message(session, 0) == REQUEST
        (finding,) = session.findings
        assert finding.code == "conflicting-overlap"
        assert "from the client" in finding.text
        assert "packet 5" in finding.text


def test_the_clock_goes_back(tmp_path: Path) -> None:
    packets = [Segment(CLIENT, 0, REQUEST), Segment(SERVER, 0, ANSWER, acked=len(REQUEST), time=T0)]
    with loaded(tmp_path, packets) as session:
        assert RowReader(session).read_columns(["latency_ns"], np.arange(2)) == [[None, -3_000_000]]
        assert codes(session, 1) == ["clock-went-back"]
        assert codes(session, 0) == []


def test_an_orphan(tmp_path: Path) -> None:
    with loaded(tmp_path, [Segment(SERVER, 0, ANSWER)]) as session:
        assert codes(session, 0) == ["orphan-response"]
        assert RowReader(session).read_columns(["latency_ns"], np.arange(1)) == [[None]]
        assert_tiles(decode_tree(session, 0))


def test_raw_bytes_are_one_leaf(tmp_path: Path) -> None:
    with loaded(tmp_path, [Segment(CLIENT, 0, b"GET / HTTP/1.1\r\n\r\n")]) as session:
        tree = decode_tree(session, 0)
        assert_tiles(tree)
        assert [finding.code for finding in tree.findings] == ["wrong-protocol"]
        assert session.findings == []


def test_who_sent_what_is_missing_is_known_afterwards(tmp_path: Path) -> None:
    """The gap is found before anybody knows which side opened the connection."""
    packets = [Segment(CLIENT, 0, REQUEST), Segment(CLIENT, 3 * len(REQUEST), REQUEST, acked=0)]
    with loaded(tmp_path, packets, handshake=False) as session:
        assert [finding.text.split(":")[0] for finding in session.findings] == ["stream 0, from the client"]


def test_rows_come_as_they_close(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, REQUEST), Segment(CLIENT, 26, REQUEST[:9])])
    with Session([path]) as session:
        assert [list(rows) for rows in session.grow()] == [[0], [1]]


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(CaptureError):
        Session([tmp_path / "missing.pcap"])


@pytest.mark.parametrize("time", [0, 1, -1, 1_785_585_600_123_456_789, -(1 << 63), (1 << 63) - 1, 10**9, 10**9 - 1])
def test_one_time_is_written_as_those_of_a_column(time: int) -> None:
    assert format_iso_time(time) == TimeColumn(np.array([time], np.int64)).values()[0]
