"""Payload that travels: the same rows, and nobody opens a file but the scan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.pipeline import partition, pointers
from analyzer.pipeline.finish import add_required_tables
from analyzer.pipeline.scan import scan_splits
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.tables.arrow_columns import NOTES, TableBatch
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import TABLES
from tests.analyzer.pipeline.heaps import cut_up
from tests.analyzer.pipeline.test_partition import dealt_out, without_notes


def rows_of(files: tuple[CaptureFile, ...], scanned: pa.Table, options: Options, batch: int) -> list[TableBatch]:
    parts = dealt_out(scanned, 3, batch)
    return [
        found
        for part in parts
        for found in partition.build_rows(part, files, options, None, add_required_tables(TABLES))
    ]


@pytest.mark.slow
def test_rows_are_the_same_when_payload_travels(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of splits, of fragments, of compressed files; the captures are gone when rows are made."""
    monkeypatch.setattr(pointers, "HEAVY", 900)
    monkeypatch.setattr(partition, "ENOUGH", 50)
    shutil.copytree(house, tmp_path / "house")
    files = find_captures([str(tmp_path / "house")]).files
    there, travelling = Options(), Options(shuffled=True)
    plain, shuffled = (
        pa.Table.from_batches(scan_splits(cut_up(files, 20_000), files, options)) for options in (there, travelling)
    )
    expected = without_notes(rows_of(files, plain, there, 37))
    shutil.rmtree(tmp_path / "house")
    found = rows_of(files, shuffled, travelling, 37)
    notes = [json.loads(note) for each in found if each.table == NOTES for note in each.batch.column(0).to_pylist()]
    assert {note.get("error") for note in notes} == {None}
    assert without_notes(found) == expected
    assert len(expected["messages"]) > 1000
