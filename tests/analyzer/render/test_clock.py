"""Times as seconds: in columns, and one by one."""

from __future__ import annotations

import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.cells import flatten_cells
from analyzer.columns.values import PLAIN, CellStyle
from analyzer.config.model import TimeFormat
from analyzer.decode.rows import RowReader
from analyzer.render.clock import (
    SecondsColumn,
    TimeClock,
    find_start_time,
    format_clock,
    format_seconds,
    make_clock_cells,
)
from analyzer.session import Session

MIXED = Path(__file__).parents[3] / "captures" / "mixed.pcapng"
TIMES = [0, 1, -1, 999_999_999, 10**9, -(10**9), -1_500_000_000, 1_763_719_200_123_456_789, 2**62, -(2**62)]


@pytest.mark.parametrize("numbers", [TIMES, TIMES[:1], [*map(abs, TIMES)], [], [-5]])
def test_seconds_are_exact_however_they_are_written(numbers: list[int]) -> None:
    column = SecondsColumn(np.array(numbers, np.int64))
    texts = column.values()
    assert [int(Decimal(text).scaleb(9)) for text in texts] == numbers
    assert all(len(text.partition(".")[2]) == 9 for text in texts)
    quoted = column.cells(CellStyle("json", b"null", str.encode, b'"'))
    assert [flatten_cells(row).decode() for row in quoted] == [f'"{text}"' for text in texts]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0.000000000"), (-1, "-0.000000001"), (61 * 10**9 + 7, "61.000000007")]
)
def test_seconds(number: int, text: str) -> None:
    assert format_seconds(number) == text


@pytest.fixture(scope="module")
def session() -> Session:
    return Session([MIXED]).load()


def shown(session: Session, form: TimeFormat, *turns: list[int]) -> list[str]:
    """What a clock shows of rows that are printed in turns."""
    clock, reader, found = TimeClock(form), RowReader(session), []
    for turn in turns:
        rows = np.array(turn, np.int64)
        clock.set_next_rows(reader, rows)
        found += clock.read_column(reader, rows).values()
    return found


def test_delta_is_to_the_row_before_across_turns(session: Session) -> None:
    times = session.rows.column("time").tolist()
    order = [5, 3, 4, 200, 0]
    wanted = [format_seconds(times[row] - times[before]) for before, row in zip([5, *order], order, strict=False)]
    assert shown(session, "delta", order) == wanted
    assert shown(session, "delta", order[:2], [], order[2:3], order[3:]) == wanted


def test_parts_of_a_turn_are_requested_in_any_order(session: Session) -> None:
    """Those that are written one by one are asked again."""
    clock, reader = TimeClock("delta"), RowReader(session)
    rows = np.array([9, 2, 7, 1], np.int64)
    clock.set_next_rows(reader, rows)
    whole = clock.read_column(reader, rows).values()
    assert clock.read_column(reader, np.array([1, 9], np.int64)).values() == [whole[3], whole[0]]
    assert flatten_cells(clock.read_column(reader, rows[1:2]).cells(PLAIN)).decode() == whole[1]


def test_a_clock_is_a_part_of_the_time(session: Session) -> None:
    rows = np.arange(len(session.rows))
    times = RowReader(session).read_column("time", rows).values()
    assert [flatten_cells(row).decode() for row in make_clock_cells(session.rows.column("time"))] == [
        *map(format_clock, times)
    ]


def test_without_rows_nothing_has_begun(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    with Session([empty]).load() as nothing:
        assert find_start_time(nothing) == 0


@pytest.mark.parametrize("reader", ["native", "scapy"])
def test_the_first_packet_is_where_it_begins(reader: str) -> None:
    with Session([MIXED], reader="native" if reader == "native" else "scapy").load() as session:
        first = session.packets.files[0].first
        assert find_start_time(session) == first
        assert first is not None
        assert first < session.rows.cell("time", 0)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_counts_from_the_same_packet(session: Session) -> None:
    requested = ["-T", "fields", "-e", "frame.number", "-e", "frame.time_relative", "-e", "frame.time_epoch"]
    done = subprocess.run(
        ["tshark", "-n", "-r", MIXED, *requested], capture_output=True, text=True, check=True, timeout=60
    )
    packets = {int(number): times for number, *times in map(str.split, done.stdout.splitlines())}
    rows = list(range(len(session.rows)))
    wanted = [packets[last] for last in session.rows.column("last").tolist()]
    assert shown(session, "relative", rows) == [relative for relative, _ in wanted]
    assert shown(session, "epoch", rows) == [epoch for _, epoch in wanted]
