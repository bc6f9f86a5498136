"""The logs of Delta: they name the files of the tables, and a batch once, whenever a run was killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra wireanalyze[delta] is not installed")
pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
from click.testing import CliRunner
from deltalake import DeltaTable

from analyzer.cli.pipeline import command
from analyzer.errors import UserError
from analyzer.pipeline import ring_capture
from analyzer.pipeline.delta_tables import add_batches, compact_tables, write_logs
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


@pytest.mark.parametrize("vacuumed", [False, True])
def test_batches_go_on_after_a_compaction(vacuumed: bool, tmp_path: Path) -> None:
    tables = str(tmp_path)
    write(tmp_path, PART.format(1) + "0", ROOT / "captures" / "kafka.pcap")
    write(tmp_path, PART.format(2) + "0", GOLDEN / "k24_sasl_v0.pcap.zst")
    add_batches(tables, PART, 2)
    rows, files = count(tmp_path, "messages"), len(DeltaTable(tmp_path / "messages").file_uris())
    compact_tables(tables)
    log = DeltaTable(tmp_path / "messages")
    assert len(log.file_uris()) < files
    if vacuumed:
        assert log.vacuum(0, dry_run=False, enforce_retention_duration=False)
    add_batches(tables, PART, 2)  # a run that was killed behind its compaction begins so
    assert count(tmp_path, "messages") == rows
    write(tmp_path, PART.format(3) + "0", GOLDEN / "k24_sasl_v0.pcap.zst")
    for _ in range(2):
        add_batches(tables, PART, 3)
        compact_tables(tables)
        assert count(tmp_path, "messages") == 2 * rows - 648
    assert DeltaTable(tmp_path / "messages").transaction_version("wireanalyze pipeline") == 3


def test_runs_that_compact(tmp_path: Path) -> None:
    (tmp_path / "ring").mkdir()
    tables, options = tmp_path / "tables", Options(fields=False, delta=True)
    ring = ring_capture.RingCapture(str(tmp_path / "state"), settle=0, compact=True)
    for name in ("a", "b"):
        shutil.copy(ROOT / "captures" / "kafka.pcap", tmp_path / "ring" / f"{name}.pcap")
        ring_capture.run(None, find_captures([str(tmp_path / "ring")]), str(tables), options, ring)
    names = DeltaTable(tables / "files").file_uris()
    assert DeltaTable(tables / "files").transaction_version("wireanalyze pipeline") == 2
    assert len({Path(name).parent for name in names}) == len(names)
    assert count(tables, "files") == 2


def test_compact_needs_a_delta_table_that_grows(tmp_path: Path) -> None:
    arguments = ["captures", "-o", str(tmp_path / "tables"), "--compact", "--state", str(tmp_path / "state")]
    with pytest.raises(UserError, match="--compact is for tables that grow"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
