"""What only Spark's file systems read: here files that are named by URIs and are kept from being opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.errors import UserError
from analyzer.pipeline import spark_frames
from analyzer.pipeline.scan import scan_splits
from analyzer.pipeline.sources import CaptureSources, find_captures
from analyzer.pipeline.spark_frames import read_pointers, read_sorted_pointers, split_files
from analyzer.tables.options import Options
from tests.analyzer.capture.writers import pcap
from tests.analyzer.pipeline import heaps
from tests.analyzer.pipeline.test_scan import as_one_process_reads, plain, straight

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def rows_of(frame: DataFrame) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Packets and notes."""
    every = frame.toArrow()
    return heaps.unbundled(every), heaps.merged(heaps.notes_in(every))


@pytest.fixture
def heap(tmp_path: Path) -> Path:
    frames = straight(heaps.traffic(Random(1), 150))
    contents = [pcap(frames[:60]), pcap(frames[60:90]), pcap(frames[90:]), b"no capture"]
    heaps.write_all(tmp_path / "a b", contents)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "one.pcap").write_bytes(pcap(frames))
    return tmp_path


@pytest.mark.slow
def test_splits_come_back_whole_from_spark(spark: SparkSession, heap: Path) -> None:
    files = find_captures([str(heap)]).files
    options = Options(split=4000, shuffled=True)
    chosen = split_files(spark, files, options)
    assert chosen == heaps.cut_up(files, 4000)
    assert len(chosen) > 2 * len(files)
    rows, _ = rows_of(read_pointers(spark, files, options))
    assert rows == heaps.unbundled(pa.Table.from_batches(scan_splits(chosen, files, options)))
    by_capture = [[row for row in rows if int(row["origin"]) >> 40 in of] for of in ({0, 1, 2}, {3})]  # type: ignore[call-overload]
    assert [plain(part) for part in by_capture] == [as_one_process_reads(files[:3]), as_one_process_reads(files[3:])]


@pytest.mark.slow
def test_files_that_spark_reads(spark: SparkSession, heap: Path) -> None:
    """A folder and a file by their URIs, beside a local one: payload of all travels."""
    uris = tuple(f"file:{heap}/{name}" for name in ("a b", "c/one.pcap"))
    local = find_captures([str(heap / "c")])
    found = spark_frames.list_remote_files(spark, CaptureSources(local.files, (), uris))
    assert [(file.capture, file.name, file.remote, file.found) for file in found.files] == [
        (0, "one.pcap", False, True),
        *((1, f"{number}.pcap", True, True) for number in range(4)),
        (2, "one.pcap", True, False),
    ]
    rows, notes = rows_of(read_sorted_pointers(spark, found.files, Options(partitions=2)))
    one = as_one_process_reads(local.files)
    assert plain([row for row in rows if int(row["origin"]) >> 40 in (0, 5)]) == sorted(one * 2)  # type: ignore[call-overload]
    assert [note["error"] for note in notes] == [None] * 6
    assert [note["path"] for note in notes if note["passed_over"]] == [found.files[4].path]
    assert {note["bytes"] for note in notes} == {file.size for file in found.files}


def test_a_file_that_is_too_large_for_spark(spark: SparkSession, heap: Path) -> None:
    (file,) = spark_frames.list_remote_files(spark, CaptureSources((), (), (f"file://{heap}/c",))).files
    rows, (note,) = rows_of(read_pointers(spark, [replace(file, size=1 << 31)], Options()))
    assert (rows, "Spark reads remote files of up to" in str(note["error"])) == ([], True)


@pytest.mark.parametrize("uri", ["file:/nowhere/at/all.pcap", "nosuch://host/file.pcap"])
def test_what_spark_cannot_read(spark: SparkSession, uri: str) -> None:
    with pytest.raises(UserError, match=f"Cannot read {uri}: .* Check the name"):
        spark_frames.list_remote_files(spark, CaptureSources((), (), (uri,)))
