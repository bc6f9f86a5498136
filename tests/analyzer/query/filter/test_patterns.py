"""Regular expressions are read by a library that takes time in proportion to the text, whatever they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Talk, capture, segments

NAMES, LONG = 34, 30_000
"""Topics, and letters in the name of each: a megabyte."""


def in_packets(data: bytes) -> Iterable[bytes]:
    return (data[at : at + 1400] for at in range(0, len(data), 1400))


def test_a_pattern_that_backtracks_elsewhere_ends(tmp_path: Path) -> None:
    topic = (LONG + 1).to_bytes(2) + b"a" * LONG + b"!"
    request = bytes.fromhex("0003 0000 00000007 0002 6d65") + NAMES.to_bytes(4) + topic * NAMES
    talk = Talk(((CLIENT, len(request).to_bytes(4) + request),))
    with Session([capture(tmp_path / "a.pcap", segments(talk, in_packets))]).load() as session:
        reader, rows = RowReader(session), np.arange(len(session.rows))
        name = "kafka.Metadata.request.topics.name"
        assert compile_filter(f"count({name}) == {NAMES} and len({name}) == {LONG + 1}").find_mask(
            reader, rows
        ).tolist() == [True]
        for pattern in ("(a+)+$", "(a|aa)+$", "(a*)*b", "(a|a?)+$"):
            for field in (name, "bytes", "text"):
                assert not compile_filter(f"{field} matches '^{pattern}'").find_mask(reader, rows).any()
        assert compile_filter(f"{name} matches '^(a+)+!$'").find_mask(reader, rows).all()
