"""How often bytes of messages came again, for many rows at once: the same as each row's packets tell."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.decode.packets import count_retransmissions, list_packet_numbers, list_packets
from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from tests.analyzer import wire
from tests.tui.driving import GOLDEN, KAFKA

CAPTURES = {
    "mixed": (KAFKA.with_name("mixed.pcapng"), 2),
    "an election": (GOLDEN / "k4_election.pcap.zst", 7),
    "none": (KAFKA, 0),
}


def told(session: Session) -> list[int]:
    """The same, one row at a time."""
    return [
        sum(bool(packet["retransmission"]) for packet in list_packets(session, row)) for row in range(len(session.rows))
    ]


@pytest.mark.parametrize("case", CAPTURES)
def test_of_captures(case: str) -> None:
    path, many = CAPTURES[case]
    with Session([path]).load() as session:
        rows = np.arange(len(session.rows))
        counts = count_retransmissions(session, rows).tolist()
        assert counts == told(session)
        assert np.count_nonzero(counts) == many
        assert count_retransmissions(session, rows[::-3]).tolist() == counts[::-3]
        assert (
            compile_filter("retransmissions > 0").select_rows(RowReader(session), range(len(rows))).tolist()
            == np.flatnonzero(counts).tolist()
        )
        assert (
            compile_filter("retransmissions").select_rows(RowReader(session), range(len(rows))).tolist()
            == np.flatnonzero(counts).tolist()
        )


@pytest.mark.parametrize("case", CAPTURES)
def test_each_packet_of_a_message(case: str) -> None:
    path, _ = CAPTURES[case]
    with Session([path]).load() as session:
        rows = np.arange(len(session.rows))
        expected = [(row, number) for row in rows.tolist() for number in packets_of(session, row)]
        places, numbers = list_packet_numbers(session, rows)
        assert list(zip(places.tolist(), numbers.tolist(), strict=True)) == expected
        reader = RowReader(session)
        several = next(row for row in rows.tolist() if len(packets_of(session, row)) > 1)
        for number in packets_of(session, several):
            remaining = [row for row, packet in expected if packet == number]
            for text in (f"frame.number == {number}", f"packets contains {number}", f"packets == {number}"):
                assert compile_filter(text).select_rows(reader, rows).tolist() == remaining


def packets_of(session: Session, row: int) -> list[int]:
    return sorted({int(packet["number"]) for packet in list_packets(session, row)})


def test_of_a_capture_in_which_all_comes_again(tmp_path: Path) -> None:
    (talk, *_) = wire.talks(KAFKA)
    segments = wire.segments(talk, wire.in_parts(Random(1)))
    for name, made in {
        "doubled": wire.doubled(segments),
        "later": wire.repeated_later(segments),
        "overlapping": wire.overlapping(segments, talk, Random(2)),
    }.items():
        with Session([wire.capture(tmp_path / name, made, talk)]).load() as session:
            rows = np.arange(len(session.rows))
            counts = count_retransmissions(session, rows)
            assert counts.tolist() == told(session)
            assert counts.any()
            early = count_retransmissions(session, rows, streaming=True)
            assert (early <= counts).all()
            assert early.tolist() == [
                sum(bool(each["retransmission"]) and int(each["number"]) <= last for each in list_packets(session, row))
                for row, last in enumerate(session.rows.column("last").tolist())
            ]
