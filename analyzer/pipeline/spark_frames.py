"""The run as Spark sees it: splits of files, pointers, sorted pointers, rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING

from analyzer.capture.records import ScanState
from analyzer.errors import UserError
from analyzer.pipeline.sources import CaptureFile, CaptureGroups, CaptureSources
from analyzer.pipeline.spark_errors import shorten_java_error
from analyzer.tables.options import Options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from analyzer.pipeline.scan import FileSplit
    from analyzer.pipeline.state_file import OpenStates
    from analyzer.pipeline.task import TaskResult, TaskWork


TASKS_PER_CORE = 4
"""Files are read in at most as many tasks, if these are not too large; rows are made in half as many."""

SCAN_BYTES, ROW_TASK_BYTES, LARGEST_TASK = 4 << 20, 16 << 20, 2 << 30
"""Bytes of captures that are worth a task that scans, and one that makes rows; and what is too much for either."""


def split_files(
    spark: SparkSession,
    files: Sequence[CaptureFile],
    options: Options,
    begins: Mapping[int, ScanState] = MappingProxyType({}),
) -> list[FileSplit]:
    """Returns the splits of files. One task looks for the cuts of each file that is larger than a split.

    begins: where to read on in files of which the beginning was read before; they are one split each.
    """
    import pyarrow as pa

    from analyzer.pipeline.scan import build_splits, find_cuts, find_huge_files

    large = [number for number in find_huge_files(files, options.split) if number not in begins]
    if not large:
        return build_splits(files, begins)

    def hop_over(place: int) -> Iterator[pa.RecordBatch]:
        found = json.dumps(find_cuts(files[large[place]], options.split))
        yield pa.record_batch([[large[place]], [found]], ["file", "cuts"])

    tasks = min(len(large), TASKS_PER_CORE * count_cores(spark))
    rows = map_numbers(spark, len(large), hop_over, "file BIGINT, cuts STRING", tasks).collect()
    cuts = {
        row.file: [ScanState(at, records, time, tuple(known)) for at, records, time, known in json.loads(row.cuts)]
        for row in rows
    }
    return build_splits(files, begins, cuts)


def map_numbers(
    spark: SparkSession,
    count: int,
    function: Callable[[int], Iterator[pa.RecordBatch]],
    columns: str,
    tasks: int | None = None,
) -> DataFrame:
    """Returns what a function gives for the numbers from 0 to before `count`, as rows. tasks: by default as many."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from function(number)

    return spark.range(0, count, 1, tasks or count).mapInArrow(run, columns)


def read_pointers(
    spark: SparkSession,
    files: Sequence[CaptureFile],
    options: Options,
    begins: Mapping[int, ScanState] = MappingProxyType({}),
    partitions: int = 1,
) -> DataFrame:
    """Returns the pointers of files, and notes about each split. begins: as for split_files().

    partitions: how many make rows, so as often there is each note that all of them need. Payload travels with the
    pointers of all files if one of them is remote.
    """
    from analyzer.pipeline.pointers import POINTER_COLUMNS

    remote = read_contents(spark, files)
    chosen = options if remote is None else replace(options, shuffled=True)
    every = split_files(spark, files, options, begins)
    if not every:
        assert remote is not None
        return remote
    tasks = min(len(every), choose_task_count(files, SCAN_BYTES, TASKS_PER_CORE * count_cores(spark)))

    def scan_files(task: int) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.partition_keys import repeat_notes
        from analyzer.pipeline.progress import count_batches
        from analyzer.pipeline.scan import scan_splits

        for split in every[task::tasks]:  # large files lie beside one another
            size = split.count_bytes(files[split.file])
            for batch in count_batches(scan_splits([split], files, chosen), size, options.counts):
                yield repeat_notes(batch, partitions)

    local = map_numbers(spark, tasks, scan_files, POINTER_COLUMNS)
    return local if remote is None else local.unionAll(remote)


def choose_task_count(files: Sequence[CaptureFile], worth: int, usual: int) -> int:
    """Chooses the number of tasks so that each has at least `worth` bytes, and not too many."""
    size = sum(file.size for file in files)
    return max(1, min(-(-size // worth), max(usual, size // LARGEST_TASK)))


def count_cores(spark: SparkSession) -> int:
    """Returns how many tasks run at the same time.

    Spark Connect does not report it, so the parts of a range are counted.
    """
    from pyspark.sql.functions import max, spark_partition_id

    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        return int(spark.sparkContext.defaultParallelism)
    (last,) = spark.range(1 << 16).select(spark_partition_id().alias("part")).agg(max("part")).collect()[0]
    return int(last) + 1


def read_sorted_pointers(
    spark: SparkSession,
    files: Sequence[CaptureFile],
    options: Options,
    begins: Mapping[int, ScanState] = MappingProxyType({}),
    states: OpenStates | None = None,
) -> DataFrame:
    """Reads pointers, with each connection in one partition and in the order of time.

    begins: as for split_files(). states: of connections that go on.
    """
    from analyzer.pipeline.pointers import POINTER_COLUMNS
    from analyzer.pipeline.state_file import read_states

    count = options.partitions or choose_task_count(files, ROW_TASK_BYTES, TASKS_PER_CORE // 2 * count_cores(spark))
    found = [read_pointers(spark, files, options, begins, count)] if files else []
    if states is not None and states.paths:
        paths, captures = states

        def read_file(number: int) -> Iterator[pa.RecordBatch]:
            return read_states(paths[number], captures)

        found.append(map_numbers(spark, len(paths), read_file, POINTER_COLUMNS))
    pointers = reduce(type(found[0]).unionAll, found)
    return pointers.repartition(count, "connection").sortWithinPartitions("connection", "place", "origin")


def run_tasks(
    spark: SparkSession, begins: Mapping[int, ScanState], states: OpenStates, work: TaskWork
) -> Iterator[TaskResult]:
    """Runs both stages, and yields what tasks say; where they cannot write, also what they have written.

    begins: where to read on, by number of a file. states: of connections that go on.
    """
    from analyzer.pipeline.task import decode_result, encode_result

    files, options = work.files, work.options

    def run_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        for result in work.run_task(batches, f"{task.partitionId():05}-{task.taskAttemptId()}"):
            text, data = encode_result(result)
            yield pa.record_batch([[text], pa.array([data], pa.binary())], ["text", "data"])

    done = read_sorted_pointers(spark, files, options, begins, states).mapInArrow(run_task, "text STRING, data BINARY")
    if not options.shuffled:
        yield from (decode_result(row.text, row.data) for row in done.collect())
        return
    # Files come back one partition after the other; all of them have been made by then, many at a time.
    persisted: DataFrame = done.persist()
    try:
        persisted.count()
        yield from (decode_result(row.text, row.data) for row in persisted.toLocalIterator())
    finally:
        persisted.unpersist()


FORMAT = "binaryFile"


def list_remote_files(spark: SparkSession, sources: CaptureSources) -> CaptureSources:
    """Sources with the files of their URIs, each known by its URI. Raises UserError where there is none."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import unix_micros

    if not sources.remote:
        return sources
    named = CaptureGroups(sources.pattern)
    passed_over = list(sources.passed_over)
    for file in sources.files:
        named.add(file)
    for uri in sources.remote:
        try:
            reader = spark.read.format(FORMAT).option("recursiveFileLookup", "true")
            rows = reader.load(uri).select("path", "length", unix_micros("modificationTime").alias("changed")).collect()
        except (PySparkException, Py4JError) as error:
            reason = shorten_java_error(str(getattr(error, "java_exception", error)))
            raise UserError(f"Cannot read {uri}: {reason}. Check the name and Spark's access to it.") from error
        for row in rows:
            found = row.path.rstrip("/") != uri.rstrip("/")
            file = CaptureFile(row.path, -1, "", "", row.length, row.changed * 1000, False, True, found)
            problem = named.add(file)
            if problem is not None:
                passed_over.append(f"{problem} The file was skipped.")
    files = named.list_files()
    if not files:
        raise UserError("No capture was found. Give pcap or pcapng files, or folders with them.")
    return replace(sources, files=files, passed_over=tuple(passed_over), remote=())


def read_contents(spark: SparkSession, files: Sequence[CaptureFile]) -> DataFrame | None:
    """Returns the pointers of the remote ones among files, and a note about each; None if there is none."""
    from analyzer.pipeline.pointers import POINTER_COLUMNS

    numbers = {file.path: number for number, file in enumerate(files) if file.remote and not file.too_large}
    if not numbers:
        return None

    def scan_them(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.scan import scan_contents

        return scan_contents(batches, numbers, files)

    reader = spark.read.format(FORMAT).option("recursiveFileLookup", "true")
    return reader.load(list(numbers)).select("path", "content").mapInArrow(scan_them, POINTER_COLUMNS)
