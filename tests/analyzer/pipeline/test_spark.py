"""The same on Spark, in Parquet files. All of it in one session."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow.parquet as pq

from analyzer.errors import UserError
from analyzer.pipeline import commit, finish, job
from analyzer.pipeline.sources import find_captures
from analyzer.pipeline.spark_errors import translate_spark_errors
from analyzer.tables import views
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import ALL_TABLES, VERSION, VERSION_KEY, build_schema
from tests.analyzer.pipeline.house import ROOT, Rows
from tests.analyzer.pipeline.written import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.parametrize(
    ("partitions", "split"),
    [(2, 20_000), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, 1 << 27), (7, 3_000), (64, 50_000)))],
)
def test_the_files_hold_what_one_process_finds(
    spark: SparkSession, house: Path, expected: Rows, tmp_path: Path, partitions: int, split: int
) -> None:
    found = find_captures([str(house)])
    report = job.run(spark, found, str(tmp_path), Options(partitions=partitions, split=split))
    assert written(tmp_path) == expected
    assert report.rows == {**{table: len(rows) for table, rows in expected.items()}, "files": len(found.files)}
    assert [finding["code"] for note in report.files for finding in note.findings] == ["damaged-capture"]
    assert sorted(os.listdir(tmp_path)) == sorted([commit.LOCK, *ALL_TABLES])


@pytest.mark.slow
def test_what_is_large_is_finished_by_tasks(
    spark: SparkSession, house: Path, expected: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names for ids and sums of sums, which this process does itself where there is little."""
    monkeypatch.setattr(finish, "SMALL_BYTES", 0)
    monkeypatch.setattr(finish, "TASK_BYTES", 1 << 14)
    folder = tmp_path / "x [1] {a,b}*?^%20=y\\z"
    job.run(spark, find_captures([str(house)]), str(folder), Options(partitions=3))
    assert written(folder) == expected


def test_spark_reads_what_was_written(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for what a failed task of the end has written: that is taken away."""

    def finish_run(spark: SparkSession, place: finish.RunFolder, *rest: Any) -> Any:
        finished = finish.finish_run(spark, place, *rest)
        stray = Path(place.folder, "summaries", "date=2026-11-21", "protocol=kafka", "part-0-7.parquet")
        assert stray.parent.is_dir()
        stray.write_bytes(b"PAR1")
        return finished

    monkeypatch.setattr(job, "finish_run", finish_run)
    (tmp_path / views.NAME).write_text("views of the tables of before")
    files = find_captures([str(ROOT / "captures" / "kafka.pcap")])
    report = job.run(spark, files, str(tmp_path), Options(fields=False))
    assert pq.read_table(tmp_path / "summaries").num_rows == report.rows["summaries"] > 0
    assert views.make_view("files") in (tmp_path / views.NAME).read_text()
    frame = spark.read.parquet(str(tmp_path / "messages"))
    assert sorted(frame.columns) == sorted(build_schema("messages", fields=False).names)
    (row,) = frame.where("operation = 'ApiVersions' and role = 'request'").groupBy("date", "protocol").count().collect()
    assert (str(row.date), row.protocol, row["count"] > 0) == ("2026-11-21", "kafka", True)
    for path in tmp_path.rglob("*.parquet"):
        assert pq.read_metadata(path).row_group(0).column(0).compression == "ZSTD"
        assert pq.read_schema(path).metadata[VERSION_KEY] == str(VERSION).encode()


def test_tables_are_not_replaced_unasked(tmp_path: Path) -> None:
    job.check_folder(str(tmp_path), overwrite=False)
    (tmp_path / "messages").mkdir()
    with pytest.raises(UserError, match="has tables already"):
        job.check_folder(str(tmp_path), overwrite=False)
    job.check_folder(str(tmp_path), overwrite=True)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "song.ogg").touch()
    with pytest.raises(UserError, match="it is not a table of this program"):
        job.check_folder(str(tmp_path), overwrite=True)


def test_a_failing_job_is_one_sentence_and_a_log(spark: SparkSession) -> None:
    from pyspark.sql import functions

    failing = spark.range(1).select(functions.raise_error(functions.lit("no such thing: here")))
    with pytest.raises(UserError) as reported, translate_spark_errors(Path("spark.log")):
        failing.collect()
    assert re.fullmatch(
        r"Spark could not finish: .*no such thing.*\. spark.log has Spark's output\.", str(reported.value)
    )
