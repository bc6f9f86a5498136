"""What is said of one row is said of it among many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.row_findings import remarkable, remarks
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, SERVER, Segment, capture, opening

REQUEST = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff".replace(" ", ""))
ANSWER = bytes.fromhex("0000000c 00000007 00000000 00000000".replace(" ", ""))
EVERYTHING = [
    *opening(),
    Segment(CLIENT, 0, REQUEST),
    Segment(SERVER, 0, ANSWER),
    Segment(SERVER, 16, ANSWER),
    Segment(CLIENT, 22, REQUEST, kept=15),
    Segment(CLIENT, 44, REQUEST[:9]),
]


def test_one_table_for_both(tmp_path: Path) -> None:
    with Session([capture(tmp_path / "a.pcap", EVERYTHING)]).load() as session:
        rows = np.arange(len(session.rows))
        said = {row: [finding.code for finding in remarks(session.rows, row)] for row in rows.tolist()}
        assert set(remarkable(session.rows, rows).tolist()) == {row for row, codes in said.items() if codes}
        codes = {code for found in said.values() for code in found}
        assert codes == {"orphan-response", "cut-by-snaplen", "unfinished"}


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(tmp_path: Path, count: int) -> None:
    with Session([capture(tmp_path / "a.pcap", EVERYTHING)]).load() as session:
        assert len(remarkable(session.rows, np.arange(count))) == 0
