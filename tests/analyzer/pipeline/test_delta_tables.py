"""The logs of Delta: they name the files of the tables, and a batch once, whenever a run was killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra wireanalyze[delta] is not installed")
pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
from deltalake import DeltaTable

from analyzer.pipeline.delta_tables import add_batches, write_logs
from analyzer.pipeline.sources import find_captures
from analyzer.tables.options import Options
from analyzer.tables.parquet_files import ParquetSink
from analyzer.tables.table_schemas import TABLES, build_schema
from tests.analyzer.pipeline.house import GOLDEN, ROOT, build_all_tables

PART = "part-{:06}-"


def write(folder: Path, name: str, capture: Path) -> None:
    """The tables of a capture, as a task writes them."""
    sink = ParquetSink(str(folder), name)
    for found in build_all_tables(find_captures([str(capture)]).files, Options(fields=False)):
        sink.add(found)
    sink.close()


def count(folder: Path, table: str) -> int:
    rows = pa.table(DeltaTable(folder / table).to_pyarrow_table())
    assert set(rows.column_names) == set(build_schema(table, fields=False).names)
    return rows.num_rows


def test_tables_that_are_written_once(tmp_path: Path) -> None:
    write(tmp_path, "part-00000", ROOT / "captures" / "kafka.pcap")
    write_logs(str(tmp_path))
    assert {table: count(tmp_path, table) for table in TABLES if (tmp_path / table).exists()} == {
        "messages": 648, "exchanges": 324, "streams": 37, "records": 95, "summaries": 160, "names": 1,
    }  # fmt: skip


def test_each_batch_is_added_once(tmp_path: Path) -> None:
    write(tmp_path, PART.format(1) + "0", ROOT / "captures" / "kafka.pcap")
    for _ in range(2):
        add_batches(str(tmp_path), PART, 1)
        assert count(tmp_path, "messages") == 648
    write(tmp_path, PART.format(2) + "0", GOLDEN / "k24_sasl_v0.pcap.zst")
    write(tmp_path, PART.format(3) + "0", GOLDEN / "k24_sasl_v0.pcap.zst")
    add_batches(str(tmp_path), PART, 2)
    some = count(tmp_path, "messages")
    assert some > 648
    shutil.rmtree(tmp_path / "streams" / "_delta_log")  # killed before all tables had the batch
    add_batches(str(tmp_path), PART, 3)
    assert count(tmp_path, "messages") == 2 * some - 648
    assert count(tmp_path, "streams") > 37
    assert DeltaTable(tmp_path / "messages").transaction_version("wireanalyze pipeline") == 3
