"""What a run is asked for is done where the rows are made, in whatever process that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.pipeline.sources import find_captures
from analyzer.tables.options import Options
from dissectors.wire.budget import USUAL, allow
from tests.analyzer.pipeline.house import build_all_tables

CAPTURE = Path(__file__).parents[3] / "captures" / "kafka-4.4.pcap.zst"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    allow(USUAL)


@pytest.mark.parametrize(("size", "some"), [(USUAL, False), (100, True)])
def test_how_much_may_be_decompressed(size: int, some: bool) -> None:
    options = Options(decompressed=size)
    allow(USUAL)  # another process has not been told
    tables = build_all_tables(find_captures([str(CAPTURE)]).files, options)
    rows = [row for found in tables if found.table == "messages" for row in found.batch.to_pylist()]
    codes = {finding["code"] for row in rows for finding in row["findings"]}
    assert len(rows) == 559
    assert ("limit-exceeded" in codes) is some
