"""The run as Spark sees it: splits of files, pointers, sorted pointers, rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from analyzer.capture.records import CaptureRange, ScanState
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from analyzer.pipeline.splits import Split

TASKS_A_CORE = 4
"""Files are read in at most as many tasks, if these are not too large; rows are made in half as many."""

SCANNED, WORKED_OFF, MOST_A_TASK = 4 << 20, 16 << 20, 2 << 30
"""Bytes of captures that are worth a task that scans, and one that makes rows; and what is too much for either."""


def split_up(
    spark: SparkSession,
    files: Sequence[CaptureFile],
    options: Options,
    begins: Mapping[int, ScanState] = MappingProxyType({}),
) -> list[Split]:
    """The splits of files; those that are larger than one are hopped over, each by one task.

    begins: where to read on in files of which the beginning was read before; they are one split each.
    """
    import pyarrow as pa

    from analyzer.pipeline.splits import Split, hop, huge, splits

    large = [number for number in huge(files, options.split) if number not in begins]
    if not large:
        return splits(files, {}, begins)

    def hop_over(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                number = large[place]
                found = [Split(number, CaptureRange(each)).text() for each in hop(files[number], options.split)]
                yield pa.record_batch([pa.array(found, pa.string())], ["split"])

    rows = spark.range(0, len(large), 1, min(len(large), TASKS_A_CORE * cores(spark)))
    cuts: dict[int, list[ScanState]] = {}
    for row in rows.mapInArrow(hop_over, "split STRING").collect():
        found = Split.of(row.split)
        assert found.stretch.begin is not None
        cuts.setdefault(found.file, []).append(found.stretch.begin)
    return splits(files, {file: sorted(each) for file, each in cuts.items()}, begins)


def scanned(
    spark: SparkSession, files: Sequence[CaptureFile], options: Options, splits: Sequence[Split] | None = None
) -> DataFrame:
    """The pointers of files, and a note about each split. splits: of those that tasks open, if they are known.

    Payload travels with the pointers of all files if one of them is remote.
    """
    from analyzer.pipeline.pointers import COLUMNS
    from analyzer.pipeline.remote import contents
    from analyzer.pipeline.splits import parcels

    remote = contents(spark, files)
    chosen = options if remote is None else replace(options, shuffled=True)
    every = split_up(spark, files, options) if splits is None else splits
    if not every:
        assert remote is not None
        return remote
    dealt = parcels(every, files, tasks(files, SCANNED, TASKS_A_CORE * cores(spark)))

    def scan_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.progress import counted
        from analyzer.pipeline.scan import scan
        from analyzer.pipeline.splits import unpacked

        for batch in batches:
            for number in batch.column(0).to_pylist():
                for split in unpacked(dealt[number]):
                    yield from counted(scan([split], files, chosen), split.bytes_of(files[split.file]), options.counts)

    local = spark.range(0, len(dealt), 1, len(dealt)).mapInArrow(scan_files, COLUMNS)
    return local if remote is None else local.unionAll(remote)


def tasks(files: Sequence[CaptureFile], worth: int, usual: int) -> int:
    """How many tasks there should be: fewer than usual if each had less than `worth` bytes, more if it had too much."""
    size = sum(file.size for file in files)
    return max(1, min(-(-size // worth), max(usual, size // MOST_A_TASK)))


def cores(spark: SparkSession) -> int:
    """Tasks that run at a time. Spark Connect does not say, but deals out a range to as many."""
    from pyspark.sql.functions import max, spark_partition_id

    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        return int(spark.sparkContext.defaultParallelism)
    (last,) = spark.range(1 << 16).select(spark_partition_id().alias("part")).agg(max("part")).collect()[0]
    return int(last) + 1


def sorted_pointers(
    spark: SparkSession,
    files: Sequence[CaptureFile],
    options: Options,
    splits: Sequence[Split] | None = None,
    opened: pa.RecordBatch | None = None,
) -> DataFrame:
    """The same, each connection in one partition and in the order of time. opened: rows of connections that go on."""
    import pyarrow as pa

    count = options.partitions or tasks(files, WORKED_OFF, TASKS_A_CORE // 2 * cores(spark))
    if opened is None:
        pointers = scanned(spark, files, options, splits)
    else:
        pointers = spark.createDataFrame(pa.Table.from_batches([opened]))
        pointers = scanned(spark, files, options, splits).unionAll(pointers) if files else pointers
    return pointers.repartition(count, "connection").sortWithinPartitions("connection", "place", "origin")
